//! That no command shows part of what there is as if it were all: what could not be kept, read or taken up is said.

use agy_sim::{Call, Conversation, Turn};
use serde_json::Value;

use crate::rig::{Rig, uuid};

fn conversation(rig: &Rig, title: &str) -> String {
    let id = uuid();
    let call = Call::model(1016).tokens(1_000, 2, 0, 1).response_id(&format!("r-{id}"));
    Conversation::new(&id).title(title).turn(Turn::prompt("Go").call(call)).write(&rig.home).unwrap();
    id
}

/// What a command printed, and what it said beside that.
#[track_caller]
fn both(rig: &Rig, args: &[&str]) -> (String, String) {
    let out = rig.agenthub(args);
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{args:?}: {said}");
    (String::from_utf8(out.stdout).unwrap(), said)
}

/// Makes one folder what another one is.
#[cfg(unix)]
fn put_back(from: &std::path::Path, to: &std::path::Path) {
    let _ = std::fs::remove_dir_all(to);
    assert!(std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Runs `agenthub` where no file can become longer than so many blocks of 512 bytes, which is a full disk for one process.
#[cfg(unix)]
pub(crate) fn without_room(rig: &Rig, blocks: u32, args: &[&str]) -> std::process::Output {
    let plain = rig.command(args);
    let mut command = std::process::Command::new("sh");
    // The signal would end it; a full disk sends none.
    command
        .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")])
        .arg(plain.get_program())
        .args(args);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.output().unwrap()
}

#[cfg(unix)]
#[test]
fn q3_a_first_read_that_finds_no_room_fails_and_says_what_to_do() {
    let rig = Rig::new();
    // The store is there; what is to be put into it comes now.
    assert!(rig.agenthub(&["lanes"]).status.success());
    let first = rig.data_dir().with_extension("first");
    put_back(&rig.data_dir(), &first);
    let ids: Vec<String> = (0..40).map(|n| conversation(&rig, &format!("Number {n}"))).collect();
    for args in [
        &["sessions"][..],
        &["sessions", "--json"],
        &["session", &ids[0], "--json"],
        &["usage"],
        &["usage", "--csv"],
        &["lanes"],
        &["lanes", "--json"],
        &["lanes", "--dismiss", "atlas"],
        &["pricing", "list"],
        &["pricing", "status", "--json"],
    ] {
        put_back(&first, &rig.data_dir());
        let out = without_room(&rig, 96, args);
        let (told, said) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
        assert_eq!(out.status.code(), Some(1), "{args:?}: {told}{said}");
        assert!(said.contains("could not be kept") && said.contains("room"), "{args:?}: {said}");
        assert!(said.ends_with("try again. (store)\n") && said.lines().count() == 1, "{args:?}: {said}");
        if args.contains(&"--json") {
            let doc: Value = serde_json::from_str(&told).unwrap();
            assert!(doc["error"]["code"] == "store" && doc["totals"].is_null(), "{doc}");
        } else {
            assert_eq!(told, "", "{args:?}");
        }
    }
    // Who asks what is wrong is told that.
    put_back(&first, &rig.data_dir());
    let out = without_room(&rig, 96, &["doctor", "--json"]);
    let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
    let found = |f: &Value| f["code"] == "source_failed" && f["level"] == "error";
    assert!(out.status.success() && doc["findings"].as_array().unwrap().iter().any(found), "{doc}");
    // With room all of it is there.
    assert_eq!(rig.json(&["sessions", "--json"])["totals"]["sessions"], 40);
}

#[test]
fn q3_a_part_that_could_not_be_kept_is_not_forgotten_over_one_that_could() {
    let rig = Rig::new();
    assert!(rig.agenthub(&["lanes"]).status.success());
    // More than are written at a time.
    for _ in 0..300 {
        conversation(&rig, "One of many");
    }
    let unkept = conversation(&rig, "The one that finds no room");
    let store = rusqlite::Connection::open(rig.data_dir().join("agenthub.db")).unwrap();
    store
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON session WHEN NEW.name = 'The one that finds no room'
             BEGIN SELECT RAISE(ABORT, 'no room'); END",
        )
        .unwrap();
    let out = rig.agenthub(&["sessions", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    store.execute_batch("DROP TRIGGER full").unwrap();
    drop(store);
    assert_eq!(rig.json(&["sessions", "--json"])["totals"]["sessions"], 301);
    assert_eq!(rig.json(&["session", &unkept, "--json"])["turns"], 1);
}

#[test]
fn s10_whoever_sums_says_which_files_are_not_in_it() {
    let rig = Rig::new();
    conversation(&rig, "Sound");
    let (text, said) = both(&rig, &["usage"]);
    assert!(!text.contains('△') && said.is_empty(), "{text}{said}");
    assert_eq!(rig.json(&["usage", "--json"])["problems"], serde_json::json!([]));
    for _ in 0..2 {
        std::fs::write(rig.home.db(&uuid()), vec![7u8; 9_000]).unwrap();
    }
    let list = rig.json(&["sessions", "--json"])["problems"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    for by in ["day", "model", "project", "session"] {
        assert_eq!(rig.json(&["usage", "--by", by, "--json"])["problems"], list, "{by}");
    }
    let same = "△ 2 files are no SQLite databases (not_a_database): ";
    for args in [&["sessions"][..], &["usage"], &["usage", "--by", "model"]] {
        let (text, said) = both(&rig, args);
        assert!(text.contains(same) && said.is_empty(), "{args:?}: {text}{said}");
    }
    // A table for programs has no place for it.
    let (table, said) = both(&rig, &["usage", "--csv"]);
    assert!(!table.contains('△') && said.contains("2 files could not be read"), "{table}{said}");
    for args in [&["lanes"][..], &["pricing", "list"]] {
        let (text, said) = both(&rig, args);
        assert!(text.contains("2 files could not be read"), "{args:?}: {text}");
        assert!(text.contains("`agenthub doctor`") && said.is_empty(), "{args:?}: {text}{said}");
    }
}

#[test]
fn s10_a_folder_that_cannot_be_listed_is_in_the_document_of_the_usage() {
    let rig = Rig::new();
    conversation(&rig, "Sound");
    let folder = rig.home.db("x").parent().unwrap().to_owned();
    std::fs::remove_dir_all(&folder).unwrap();
    // What is unreadable for everybody: a file in the folder's place.
    std::fs::write(&folder, "").unwrap();
    let problems = rig.json(&["usage", "--json"])["problems"].clone();
    assert_eq!(problems, rig.json(&["sessions", "--json"])["problems"]);
    assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
    for args in [&["usage"][..], &["pricing", "list"]] {
        let (text, said) = both(&rig, args);
        assert!(said.contains("(unreadable_folder)") && !text.contains("could not be read"), "{text}{said}");
    }
    let (text, _) = both(&rig, &["lanes"]);
    assert_eq!(text.matches("can't be listed").count(), 1, "{text}");
    assert!(!text.contains("could not be read"), "{text}");
}

#[test]
fn p3_a_bad_setting_is_said_by_every_list() {
    let rig = Rig::new();
    let id = conversation(&rig, "Sound");
    let folder = rig.config().config_dir;
    std::fs::create_dir_all(&folder).unwrap();
    for bad in ["\"Mars/X\"", "7"] {
        std::fs::write(folder.join("settings.json"), format!("{{ \"time_zone\": {bad} }}")).unwrap();
        for args in [
            &["usage"][..],
            &["usage", "--json"],
            &["usage", "--csv"],
            &["sessions"],
            &["session", &id],
            &["lanes", "--json"],
            &["pricing", "list"],
        ] {
            let (_, said) = both(&rig, args);
            assert!(said.contains("`time_zone`") && said.contains("(settings_bad)"), "{args:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        }
        let (text, _) = both(&rig, &["lanes"]);
        assert_eq!(text.matches("`time_zone`").count(), 1, "{text}");
    }
    std::fs::write(folder.join("settings.json"), "{ \"time_zone\": \"Asia/Tokyo\" }").unwrap();
    let (text, said) = both(&rig, &["usage"]);
    assert!(text.contains("Asia/Tokyo") && said.is_empty(), "{text}{said}");
}

#[test]
fn s10_a_session_whose_file_cannot_be_read_is_not_called_missing() {
    let rig = Rig::new();
    conversation(&rig, "Sound");
    let damaged = "dab0dab0-0000-4000-8000-000000000001";
    std::fs::write(rig.home.db(damaged), vec![7u8; 9_000]).unwrap();
    let old = "feedbeef-0000-4000-8000-000000000001";
    std::fs::write(rig.home.db(old).with_extension("pb"), "old").unwrap();
    let problems = rig.json(&["sessions", "--json"])["problems"].clone();
    let refused = |id: &str| {
        let out = rig.agenthub(&["session", id, "--json"]);
        let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
        let text = |key: &str| doc["error"][key].as_str().unwrap().to_owned();
        let status = if text("code") == "bad_request" { 2 } else { 1 };
        assert_eq!(out.status.code(), Some(status), "{id}: {doc}");
        (text("code"), text("message"))
    };
    for (id, code, advice) in [(damaged, "not_a_database", "backup"), (old, "legacy_pb", "Open it")] {
        let all = problems.as_array().unwrap();
        let own = all.iter().find(|p| p["code"] == code).unwrap()["message"].as_str().unwrap().to_owned();
        // Also by a beginning that no other has.
        for asked in [id, &id[..8], &id.to_uppercase(), &id[..9].to_uppercase()] {
            let (found, message) = refused(asked);
            assert_eq!(found, "unreadable", "{message}");
            assert!(message.contains(id) && !message.contains("There is no session"), "{message}");
            assert!(message.contains(&own) && message.contains(advice), "{own}: {message}");
        }
    }
    let said = String::from_utf8(rig.agenthub(&["session", damaged]).stderr).unwrap();
    assert!(said.contains("(unreadable)") && said.lines().count() == 1, "{said}");
    // What is in two files, and what is in none.
    let other = "feedbeef-0000-4000-8000-000000000002";
    std::fs::write(rig.home.db(other), vec![7u8; 9_000]).unwrap();
    let (code, message) = refused("feedbeef");
    assert_eq!(code, "bad_request", "{message}");
    assert!(message.contains(old) && message.contains(other), "{message}");
    assert_eq!(refused("00000000-0000-4000-8000-000000000000").0, "not_found");
    assert_eq!(refused("feedbeee").0, "not_found");
}
