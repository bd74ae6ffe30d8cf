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

/// Makes one folder what another one is.
#[cfg(unix)]
fn put_back(from: &std::path::Path, to: &std::path::Path) {
    let _ = std::fs::remove_dir_all(to);
    assert!(std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Runs `agenthub` where no file can become longer than some pages, which is a full disk for one process.
#[cfg(unix)]
fn without_room(rig: &Rig, args: &[&str]) -> std::process::Output {
    let plain = rig.command(args);
    let mut command = std::process::Command::new("sh");
    // The signal would end it; a full disk sends none.
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 96; exec \"$0\" \"$@\""])
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
        let out = without_room(&rig, args);
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
    let out = without_room(&rig, &["doctor", "--json"]);
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
