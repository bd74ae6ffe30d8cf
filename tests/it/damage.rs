//! What damages our own files while AgentHub runs, and that nothing is lost by it (Q3, H7).

use std::{os::unix::fs::FileExt as _, path::Path, time::Duration};

use agy_sim::{Call, Conversation, Turn, WorldSpec, build};
use serde_json::{Value, json};

use crate::rig::{Rig, uuid};

/// Overwrites all pages but the first few with what is no page, in place, and cuts the log off.
fn damage(store: &Path, from: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(store).unwrap();
    let length = file.metadata().unwrap().len();
    assert!(length > from + 8_192, "{length}");
    file.write_all_at(&vec![0xA5; usize::try_from(length - from).unwrap()], from).unwrap();
}

fn totals(doc: &Value) -> (u64, u64) {
    (doc["totals"]["total"].as_u64().unwrap(), doc["totals"]["calls"].as_u64().unwrap())
}

/// A world with one session whose file is gone, known to the store. What counts, and the session's id.
fn world(rig: &Rig) -> ((u64, u64), String) {
    build(&rig.home, &WorldSpec::new(10, 200)).unwrap();
    let id = uuid();
    let call = |n: u64| Call::model(1016).tokens(1_000 * n, 2, 0, 1).response_id(&format!("gone-{n}"));
    Conversation::new(&id)
        .title("The one that goes")
        .turn(Turn::prompt("Go").call(call(1)).call(call(2)))
        .write(&rig.home)
        .unwrap();
    let before = totals(&rig.json(&["sessions", "--json"]));
    std::fs::remove_file(rig.home.db(&id)).unwrap();
    let _ = std::fs::remove_file(rig.home.db(&id).with_extension("db-wal"));
    assert_eq!(totals(&rig.json(&["sessions", "--json"])), before);
    (before, id)
}

#[track_caller]
fn is_whole(rig: &Rig, right: (u64, u64), gone: &str) {
    let doc = rig.json(&["sessions", "--json"]);
    assert_eq!(totals(&doc), right);
    let session = rig.json(&["session", gone, "--json"]);
    assert_eq!(
        (session["name"].as_str(), session["tokens"]["input"].as_u64()),
        (Some("The one that goes"), Some(3_000))
    );
    assert_eq!(session["models"][0]["calls"], 2);
}

#[test]
fn q03_a_store_that_is_lost_is_filled_anew_and_calls_of_gone_files_stay() {
    let rig = Rig::new();
    let (right, gone) = world(&rig);
    let store = rig.data_dir().join("agenthub.db");
    // Damaged from its first byte on, in its middle, cut off, and deleted by its person.
    std::fs::write(&store, vec![7u8; 50_000]).unwrap();
    is_whole(&rig, right, &gone);
    damage(&store, 4_096);
    is_whole(&rig, right, &gone);
    let file = std::fs::OpenOptions::new().write(true).open(&store).unwrap();
    file.set_len(3 * 4_096).unwrap();
    is_whole(&rig, right, &gone);
    for side in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(rig.data_dir().join(format!("agenthub.db{side}")));
    }
    is_whole(&rig, right, &gone);
    // A file that comes back is read again, and counts once.
    let engine = rig.start();
    assert!(engine.host.session(&gone).unwrap().row.file_gone);
}

#[test]
fn q03_every_list_says_that_the_store_was_damaged() {
    let rig = Rig::new();
    let (_, gone) = world(&rig);
    for (n, list) in [
        &["sessions", "--json"][..],
        &["sessions"],
        &["session", &gone],
        &["session", &gone, "--json"],
        &["usage", "--csv"],
        &["lanes", "--json"],
        &["pricing", "list", "--json"],
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::write(rig.data_dir().join("agenthub.db"), vec![7u8; 50_000]).unwrap();
        let out = rig.agenthub(list);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{list:?}: {said}");
        let kept = format!("agenthub.db.damaged-{}", n + 1);
        assert!(said.contains("(store_rebuilt)") && said.contains(&kept), "{list:?}: {said}");
        assert!(!String::from_utf8_lossy(&rig.agenthub(list).stderr).contains("store_rebuilt"), "only once");
    }
}

#[test]
fn q03_watch_says_that_the_store_was_damaged_and_says_it_once() {
    use std::{
        io::{BufRead as _, BufReader},
        process::Stdio,
    };
    let rig = Rig::new();
    world(&rig);
    std::fs::write(rig.data_dir().join("agenthub.db"), vec![7u8; 50_000]).unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut watch =
        rig.command(&["watch"]).stdout(Stdio::piped()).stderr(log.reopen().unwrap()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("{\"schema\":1"), "documents alone: {first}");
    // Another board, with the same news on it.
    let mut agy = agy_sim::Live::start(&rig.home, agy_sim::LiveSpec::new(&uuid()).cwd("/w/atlas")).unwrap();
    agy.prompt("Go").unwrap();
    agy.call_begins().unwrap();
    assert!(lines.any(|l| l.unwrap().contains("/w/atlas")), "the lane never came");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let said = std::fs::read_to_string(log.path()).unwrap();
    assert_eq!(said.matches("(store_rebuilt)").count(), 1, "{said}");
    assert!(said.contains("agenthub.db.damaged-1"), "{said}");
}

#[test]
fn q03_a_store_that_is_damaged_while_the_engine_runs_is_rebuilt_and_said() {
    let rig = Rig::new();
    let (right, gone) = world(&rig);
    let engine = rig.start();
    // A lane that goes on, and what the person said.
    let id = rig.json(&["sessions", "--json"])["sessions"][0]["id"].as_str().unwrap().to_owned();
    let _ = engine.host.session(&id).unwrap();
    damage(&rig.data_dir().join("agenthub.db"), 0);
    let _ = std::fs::OpenOptions::new()
        .write(true)
        .open(rig.data_dir().join("agenthub.db-wal"))
        .and_then(|wal| wal.set_len(0));
    // Whoever asks finds out.
    let asked = engine.host.all_sessions();
    assert!(asked.is_err_and(|e| e.code == "store_damaged" && e.message.contains("try again")));
    engine.within(Duration::from_secs(60), "rebuilt", |s| {
        s.board.notes.iter().any(|n| n.code == "store_rebuilt") && s.board.scan.is_none()
    });
    engine.within(Duration::from_secs(60), "all is there again", |_| {
        engine.host.all_sessions().is_ok_and(|d| (d.totals.tokens.total, u64::from(d.totals.calls)) == right)
    });
    assert!(engine.host.session(&gone).unwrap().row.file_gone);
    assert!(rig.data_dir().join("agenthub.db.damaged-1").exists());
    assert!(engine.host.watch().borrow().board.notes.iter().all(|n| n.code != "source_failed"));
    drop(engine);
    is_whole(&rig, right, &gone);
}

#[test]
fn q03_what_the_person_deleted_stays_deleted_over_a_rebuild() {
    let rig = Rig::new();
    let (_, gone) = world(&rig);
    let engine = rig.start();
    engine.host.delete_session(&gone).unwrap();
    engine.until("it is hidden", |_| engine.host.session(&gone).is_err());
    drop(engine);
    std::fs::write(rig.data_dir().join("agenthub.db"), vec![7u8; 50_000]).unwrap();
    let out = rig.agenthub(&["session", &gone, "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn q03_a_damaged_file_of_the_persons_takes_nothing_along() {
    let rig = Rig::new();
    let (right, gone) = world(&rig);
    let ids: Vec<String> = rig.json(&["sessions", "--json"])["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .filter(|id| *id != gone)
        .take(2)
        .collect();
    let engine = rig.start();
    engine.host.delete_session(&ids[0]).unwrap();
    engine.until("it is hidden", |_| engine.host.session(&ids[0]).is_err());
    let person = rig.data_dir().join("person.db");
    // While the engine runs, then between two runs; in its depth, then from its first byte on.
    damage(&person, 4_096);
    engine.host.delete_session(&ids[1]).unwrap();
    engine.until("the other is hidden as well", |s| {
        engine.host.session(&ids[1]).is_err() && s.board.notes.iter().any(|n| n.code == "person_rebuilt")
    });
    assert!(engine.host.session(&ids[0]).is_err() && engine.host.session(&gone).is_ok());
    drop(engine);
    std::fs::write(&person, vec![7u8; 50_000]).unwrap();
    assert_eq!(rig.agenthub(&["session", &ids[0]]).status.code(), Some(1));
    assert_eq!(rig.agenthub(&["session", &ids[1]]).status.code(), Some(1));
    assert!(!rig.data_dir().join("agenthub.db.damaged-1").exists(), "the store was sound");
    // The copies of what is gone are there again.
    std::fs::write(rig.data_dir().join("agenthub.db"), vec![7u8; 50_000]).unwrap();
    let engine = rig.start();
    assert!(engine.host.session(&gone).unwrap().row.file_gone && engine.host.session(&ids[0]).is_err());
    for id in ids {
        engine.host.restore_session(&id).unwrap();
    }
    engine.within(Duration::from_secs(60), "all is counted", |_| {
        engine.host.all_sessions().is_ok_and(|d| (d.totals.tokens.total, u64::from(d.totals.calls)) == right)
    });
}

#[test]
fn q03_prices_of_ones_own_outlive_a_damaged_file_of_the_persons() {
    let rig = Rig::new();
    rig.json(&["pricing", "set", "gemini-9", "--input", "1", "--output", "2", "--json"]);
    rig.json(&["pricing", "set", "their-name", "--alias", "gemini-3.8-flash", "--json"]);
    rig.json(&["pricing", "set", "no-more", "--input", "1", "--json"]);
    rig.json(&["pricing", "unset", "no-more", "--json"]);
    let own = || {
        let models = rig.json(&["pricing", "list", "--json"])["models"].clone();
        let mut own: Vec<(Value, Value)> =
            models.as_array().unwrap().iter().map(|m| (m["model"].clone(), m["own"].clone())).collect();
        own.sort_by_key(|(model, _)| model.to_string());
        own
    };
    let before = own();
    assert_eq!(
        before.iter().map(|(m, _)| m.as_str().unwrap()).collect::<Vec<_>>(),
        ["gemini-9", "their-name"]
    );
    // Between two runs, then while an engine runs: another process meets the damage.
    let person = rig.data_dir().join("person.db");
    std::fs::write(&person, vec![7u8; 50_000]).unwrap();
    assert_eq!(own(), before);
    let engine = rig.start();
    let file = std::fs::OpenOptions::new().write(true).open(&person).unwrap();
    file.write_all_at(&[7u8; 4_096], 0).unwrap();
    assert_eq!(own(), before);
    engine.until("the running engine says what it was about", |s| {
        s.board.notes.iter().any(|n| n.code == "person_rebuilt" && n.message.contains("prices and aliases"))
    });
    rig.json(&["pricing", "unset", "gemini-9", "--json"]);
    drop(engine);
    std::fs::write(&person, vec![7u8; 50_000]).unwrap();
    assert_eq!(own(), before[1..], "what was taken back stays taken back");
    // With the store damaged as well nothing is left, and it is said what was lost.
    std::fs::write(&person, vec![7u8; 50_000]).unwrap();
    std::fs::write(rig.data_dir().join("agenthub.db"), vec![7u8; 50_000]).unwrap();
    let out = rig.agenthub(&["pricing", "list"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() && said.contains("prices and aliases"), "{said}");
}

/// A full disk, as far as one process can have it: it may not make any file longer.
#[cfg(target_os = "linux")]
#[test]
fn h7_a_full_disk_at_the_reader_loses_no_event() {
    use std::process::{Command, Stdio};
    let rig = Rig::new();
    let id = uuid();
    let wait = |what: &str, is: &dyn Fn() -> bool| {
        let patience = std::time::Instant::now() + Duration::from_secs(60);
        while !is() {
            assert!(
                std::time::Instant::now() < patience,
                "not yet: {what}\n{:#?}",
                rig.agenthub(&["doctor"])
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let plain = rig.command(&["watch"]);
    let mut command = Command::new("sh");
    // The signal would end it; a full disk sends none.
    command.args(["-c", "trap '' XFSZ; exec \"$0\" watch"]).arg(plain.get_program()).stdout(Stdio::null());
    // Its log is on that disk, too.
    command.stderr(tempfile::tempfile().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("DASHBOARD_ANTIGRAVITY_POLL_MS", "250");
    // agy is used here for the first time when the disk is full: nor may the folder be marked as another home's then.
    let away = rig.home.root().with_extension("away");
    std::fs::rename(rig.home.root(), &away).unwrap();
    let mut watch = command.spawn().unwrap();
    let pid = watch.id().to_string();
    let limit = |bytes: &str| {
        Command::new("prlimit")
            .args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")])
            .status()
            .is_ok_and(|s| s.success())
    };
    wait("its doorbell", &|| rig.data_dir().join("hooks/doorbell").exists());
    wait("its answer", &|| rig.agenthub(&["lanes"]).status.success());
    if !limit("1") {
        println!("skipped: there is no prlimit here");
        watch.kill().unwrap();
        watch.wait().unwrap();
        return;
    }
    assert!(!rig.data_dir().join("agy-home").exists());
    std::fs::rename(&away, rig.home.root()).unwrap();
    let transcript =
        rig.home.root().join(format!("antigravity-cli/brain/{id}/.system_generated/logs/transcript.jsonl"));
    let body = json!({ "conversationId": id, "workspacePaths": ["/w/atlas"], "transcriptPath": transcript,
                       "invocationNum": 0, "initialNumSteps": 0 })
    .to_string();
    let ns = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    std::fs::write(
        rig.data_dir().join("hooks/journal"),
        format!("AH1 {} {ns} 77 PreInvocation\n{body}\n", body.len()),
    )
    .unwrap();
    let doctor = || {
        let out = rig.agenthub(&["doctor", "--json"]);
        serde_json::from_slice::<Value>(&out.stdout).unwrap_or_default()
    };
    let has = |doc: &Value, code: &str| {
        doc["findings"].as_array().is_some_and(|f| f.iter().any(|f| f["code"] == code))
    };
    wait("that it can't be kept is said", &|| has(&doctor(), "source_failed"));
    assert_eq!(doctor()["counts"]["hook_events"], 0);
    assert!(limit("unlimited"));
    wait("the event is known", &|| doctor()["counts"]["hook_events"] == 1);
    wait("nothing is amiss any more", &|| !has(&doctor(), "source_failed"));
    watch.kill().unwrap();
    watch.wait().unwrap();
}
