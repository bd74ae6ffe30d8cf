//! Where nothing can be written, doctor says all that can be known, and every other command what to do.

use std::path::Path;

use agy_sim::{Call, Conversation, Turn};
use serde_json::Value;

use crate::{
    incomplete::without_room,
    rig::{Rig, uuid},
};

fn conversation(rig: &Rig) -> String {
    let id = uuid();
    let call = Call::model(1016).tokens(1_000, 2, 0, 1).response_id(&format!("r-{id}"));
    let now = agy_sim::At::now().plus_ms(-60_000);
    Conversation::new(&id)
        .cwd("/w/atlas")
        .at(now)
        .turn(Turn::prompt("Go").call(call))
        .write(&rig.home)
        .unwrap();
    id
}

/// What doctor says where nothing can be kept; all that it says in a better world stands beside it.
#[track_caller]
fn unusable(told: &[u8], sessions: u32, data_dir: &Path) -> String {
    let doc: Value = serde_json::from_slice(told).unwrap();
    let findings = doc["findings"].as_array().unwrap();
    let found: Vec<&Value> = findings.iter().filter(|f| f["code"] == "store_unusable").collect();
    assert!(found.len() == 1 && found[0]["level"] == "error", "{doc:#}");
    assert_eq!(found[0]["title"], "Data folder");
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains(data_dir.to_str().unwrap()) && message.contains("kept nowhere"), "{message}");
    let advice = found[0]["advice"].as_str().unwrap();
    assert!(!message.contains(advice), "twice: {message}");
    assert_eq!(doc["counts"]["sessions"], sessions, "{doc:#}");
    assert_eq!(doc["lanes"].as_array().map(Vec::len), Some(1), "{doc:#}");
    for code in ["reading", "hooks_not_installed"] {
        assert!(findings.iter().any(|f| f["code"] == code), "{code}: {doc:#}");
    }
    advice.to_owned()
}

#[test]
fn h7_doctor_needs_no_room() {
    let rig = Rig::new();
    conversation(&rig);
    let data = rig.data_dir();
    let doctor = |args: &[&str]| {
        let out = without_room(&rig, 0, args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    };
    // AgentHub was never used before.
    let advice = unusable(&doctor(&["doctor", "--json"]), 1, &data);
    assert!(advice.contains("room"), "{advice}");
    // What only the store knows is told, too.
    let gone = conversation(&rig);
    assert_eq!(rig.json(&["sessions", "--json"])["totals"]["sessions"], 2);
    std::fs::remove_file(rig.home.db(&gone)).unwrap();
    unusable(&doctor(&["doctor", "--json"]), 2, &data);
    let text = String::from_utf8(doctor(&["doctor"])).unwrap();
    assert!(text.contains("✕ The store at") && text.contains("\n  → "), "{text}");
    // With room there is nothing to say of it, and nothing was lost.
    let doc = rig.json(&["doctor", "--json"]);
    assert!(doc["findings"].as_array().unwrap().iter().all(|f| f["code"] != "store_unusable"), "{doc:#}");
    assert_eq!(doc["counts"]["sessions"], 2);
}

#[test]
fn h7_doctor_and_its_bundle_need_no_data_folder() {
    let rig = Rig::new();
    conversation(&rig);
    let data = rig.data_dir();
    // What nobody can write, root included: a file in the folder's place.
    std::fs::write(&data, "mine").unwrap();
    let out = rig.agenthub(&["doctor", "--json"]);
    let advice = unusable(&out.stdout, 1, &data);
    assert!(advice.contains("in the way") && advice.contains("AGENTHUB_DATA_DIR"), "{advice}");
    assert!(out.status.success());
    let file = data.with_extension("zip");
    let bundle = rig.json(&["doctor", "--bundle", file.to_str().unwrap(), "--json"]);
    assert!(bundle["entries"].as_array().unwrap().iter().any(|e| e == "doctor.json"), "{bundle}");
    let mut zip = zip::ZipArchive::new(std::fs::File::open(&file).unwrap()).unwrap();
    let at =
        (0..zip.len()).find(|n| zip.by_index(*n).unwrap().name().unwrap().ends_with("doctor.json")).unwrap();
    let doc: Value = serde_json::from_reader(zip.by_index(at).unwrap()).unwrap();
    assert_eq!(doc["counts"]["sessions"], 1, "{doc:#}");
    assert!(doc["findings"].as_array().unwrap().iter().any(|f| f["code"] == "store_unusable"), "{doc:#}");
    assert_eq!(std::fs::read_to_string(&data).unwrap(), "mine");
    // Who lists goes on saying what to do.
    let said = String::from_utf8(rig.agenthub(&["lanes"]).stderr).unwrap();
    assert!(said.contains("can't be made") && said.contains("in the way"), "{said}");
}

#[test]
fn h7_a_store_of_a_newer_agenthub_is_a_finding_of_doctor() {
    let rig = Rig::new();
    conversation(&rig);
    assert!(rig.agenthub(&["lanes"]).status.success());
    let store = rusqlite::Connection::open(rig.data_dir().join("agenthub.db")).unwrap();
    store.pragma_update(None, "user_version", 9_000).unwrap();
    drop(store);
    let out = rig.agenthub(&["doctor", "--json"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    unusable(&out.stdout, 1, &rig.data_dir());
}

#[test]
fn h7_whoever_finds_no_room_says_what_to_do() {
    crate::hooks_install::hook_program();
    let rig = Rig::new();
    let id = conversation(&rig);
    let endpoint = ["--endpoint", "http://localhost:4318"];
    for args in [
        &["lanes"][..],
        &["session", &id],
        &[&["trace", "install"][..], &endpoint].concat(),
        &[&["trace", "install", "--header", "a: b"][..], &endpoint].concat(),
        &["hooks", "install"],
        &["pricing", "set", "m", "--input", "1"],
    ] {
        let out = without_room(&rig, 0, args);
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success(), "{args:?}: {said}");
        assert!(said.contains("room"), "{args:?}: {said}");
    }
}
