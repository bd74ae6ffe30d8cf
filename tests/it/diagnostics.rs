//! Q4: a diagnostics bundle can be shared as it is, whatever stood where it was made.

use std::io::Read as _;

use agy_sim::{Call, Conversation, Turn};
use serde_json::json;

use crate::rig::{Rig, uuid};

/// Each stands somewhere in the world below, and nowhere in a bundle.
const PRIVATE: [&str; 14] = [
    "Rewrite the merger announcement",
    "merger",
    "The quarterly figures are attached",
    "ada@example.com",
    "ada.lovelace",
    "AIzaSyA0123456789012345678901234567890",
    "hunter2-hunter2",
    "project-nightingale",
    "Nightingale plan",
    "honeycomb.internal.example.com",
    "x-honeycomb-team",
    "notes about my health.db",
    "my health",
    "secret-of-a-key-we-do-not-know",
];

/// A world with something private in every place that a bundle is made from.
fn world() -> (Rig, String) {
    let rig = Rig::new();
    let id = uuid();
    Conversation::new(&id)
        .cwd("/home/ada.lovelace/project-nightingale")
        .title("Nightingale plan")
        .turn(
            Turn::prompt(
                "Rewrite the merger announcement; the key is AIzaSyA0123456789012345678901234567890",
            )
            .call(
                Call::model(1016).tokens(1, 2, 3, 1).text("The quarterly figures are attached").tool(
                    "run_command",
                    json!({ "CommandLine": "curl -u ada@example.com:hunter2-hunter2 x" }),
                ),
            ),
        )
        .write(&rig.home)
        .unwrap();
    std::fs::write(rig.home.conversations().join("notes about my health.db"), "my health").unwrap();
    let config = rig.config().config_dir;
    std::fs::create_dir_all(&config).unwrap();
    let settings = json!({
        "notifications": { "muted_lanes": ["antigravity:/home/ada.lovelace/project-nightingale"], "min_turn_s": "hunter2-hunter2" },
        "helper": { "api_key": "secret-of-a-key-we-do-not-know" },
    });
    std::fs::write(config.join("settings.json"), settings.to_string()).unwrap();
    std::fs::create_dir_all(rig.data_dir()).unwrap();
    let log = "2026-12-01T08:00:00Z  WARN agenthub_engine: something was refused\n\
        2026-12-01T08:00:01Z  WARN agenthub_engine: ada@example.com in /home/ada.lovelace/x with token=hunter2-hunter2\n";
    std::fs::write(rig.data_dir().join("log"), log).unwrap();
    (rig, id)
}

/// The files of a bundle, by their names.
fn unpacked(file: &std::path::Path) -> Vec<(String, String)> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.name().unwrap().rsplit('/').next().unwrap().to_owned(), text)
        })
        .collect()
}

#[test]
fn q4_a_bundle_says_what_is_wrong_and_nothing_private() {
    let (rig, id) = world();
    let said = rig.agenthub(&["sessions", "--json"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("Nightingale plan"), "it was read: {said:?}");
    let header = "x-honeycomb-team: hunter2-hunter2";
    let endpoint = "https://honeycomb.internal.example.com/v1/AIzaSyA0123456789012345678901234567890";
    let installed = rig.agenthub(&["trace", "install", "--endpoint", endpoint, "--header", header]);
    assert!(installed.status.success(), "{installed:?}");

    let file = rig.data_dir().join("for-support.zip");
    let name = file.to_str().unwrap();
    let doc = rig.json(&["doctor", "--bundle", name, "--json"]);
    let files = unpacked(&file);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(json!(names), doc["entries"]);
    for wanted in [
        "doctor.json",
        "system.json",
        "settings.json",
        "hooks.json",
        "tracing.json",
        "prices.json",
        "log.txt",
    ] {
        assert!(names.contains(&wanted), "{names:?}");
    }
    let bytes = std::fs::read(&file).unwrap();
    for (name, text) in &files {
        for private in PRIVATE {
            assert!(!text.contains(private), "{name} has `{private}`:\n{text}");
        }
    }
    // Nor in any other part of the archive.
    for private in PRIVATE {
        assert!(!bytes.windows(private.len()).any(|w| w == private.as_bytes()), "{private}");
    }
    // And it is of use.
    let text = |name: &str| files.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let parsed = |name: &str| serde_json::from_str::<serde_json::Value>(&text(name)).unwrap();
    let doctor = parsed("doctor.json");
    assert_eq!(doctor["counts"]["sessions"], 1, "{doctor}");
    assert_eq!(doctor["problems"].as_array().unwrap().len(), 1, "{doctor}");
    assert!(
        doctor["findings"].as_array().unwrap().iter().any(|f| f["code"] == "unreadable_files"),
        "{doctor}"
    );
    assert!(parsed("system.json")["store"]["format"].as_u64() > Some(5));
    assert_eq!(parsed("settings.json")["values"]["notifications"]["muted_lanes"], 1);
    assert_eq!(parsed("settings.json")["problems"], json!(["notifications.min_turn_s"]));
    assert_eq!(parsed("tracing.json")["destinations"].as_array().unwrap().len(), 1);
    assert!(text("log.txt").contains("something was refused"));
    assert!(
        text("log.txt").contains("[e-mail]") && text("log.txt").contains("[secret]"),
        "{}",
        text("log.txt")
    );
    let _ = id;

    // Never over a file that is there, and nothing half written where it can't be.
    let again = rig.agenthub(&["doctor", "--bundle", name]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("Name another file"), "{again:?}");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let nowhere = rig.data_dir().join("no/such/folder/x.zip");
    let refused = rig.agenthub(&["doctor", "--bundle", nowhere.to_str().unwrap(), "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(said["error"]["code"], "io", "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("choose another one"), "{said}");
}
