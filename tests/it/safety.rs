//! What AgentHub must not do to agy's folder (P5), and what a kill must not do to AgentHub (Q2).

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use agy_sim::{WorldSpec, build};

use crate::rig::{Rig, tree};

#[test]
fn p05_reading_leaves_agys_whole_folder_as_it_was() {
    let rig = Rig::new();
    // With a live-looking conversation, one whose writer died, and every bad file.
    build(&rig.home, &WorldSpec::new(20, 200).with_traps()).unwrap();
    std::fs::write(rig.home.root().join("settings.json"), "{ \"security\": {} }\n").unwrap();
    std::fs::create_dir_all(rig.home.root().join("tmp/abc")).unwrap();
    std::fs::write(rig.home.root().join("tmp/abc/logs.json"), "[]").unwrap();
    std::fs::write(rig.home.root().join("config/hooks.json"), "{}").unwrap();
    let before = tree(rig.home.root());
    let ids: Vec<String> = rig.json(&["sessions", "--json"])["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .collect();
    rig.json(&["lanes", "--json"]);
    rig.json(&["usage", "--by", "model", "--json"]);
    rig.json(&["doctor", "--json"]);
    for id in &ids {
        rig.json(&["session", id, "--json"]);
    }
    let engine = rig.start();
    for id in &ids {
        engine.host.session(id).unwrap();
    }
    engine.host.stop();
    let after = tree(rig.home.root());
    let paths = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    let changed: Vec<_> = paths
        .into_iter()
        .filter(|p| before.get(*p) != after.get(*p))
        .map(|p| (p, before.get(p), after.get(p)))
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn q02_killed_while_it_reads_it_counts_the_same_afterwards() {
    let rig = Rig::new();
    let truth = build(&rig.home, &WorldSpec::new(1_200, 6_000)).unwrap();
    let store = rig.data_dir().join("agenthub.db");
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |m| m.len());
    let written = || size(&store) + size(&store.with_extension("db-wal"));
    let mut killed = 0;
    for round in 0..6 {
        let mut watch = rig.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
        // Each round is killed a little further into the first scan.
        let enough = 100_000 + round * 250_000;
        let deadline = Instant::now() + Duration::from_secs(60);
        while written() < enough && watch.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the store never grew to {enough}: {}", written());
            std::thread::yield_now();
        }
        killed += u32::from(watch.try_wait().unwrap().is_none());
        watch.kill().unwrap();
        watch.wait().unwrap();
    }
    assert_eq!(killed, 6);
    let doc = rig.json(&["sessions", "--json"]);
    assert_eq!(doc["totals"]["total"], truth.totals.tokens.total());
    assert_eq!(doc["sessions"].as_array().unwrap().len(), truth.sessions.len());
    let calls = doc["totals"]["calls"].as_u64().unwrap();
    assert_eq!(calls, truth.totals.calls);
}

#[test]
fn q03_a_damaged_store_is_rebuilt_and_kept_aside() {
    let rig = Rig::new();
    let truth = build(&rig.home, &WorldSpec::new(10, 100)).unwrap();
    rig.json(&["sessions", "--json"]);
    let store = rig.data_dir().join("agenthub.db");
    std::fs::write(&store, vec![7u8; 50_000]).unwrap();
    let doc = rig.json(&["sessions", "--json"]);
    assert_eq!(doc["totals"]["total"], truth.totals.tokens.total());
    assert!(rig.data_dir().join("agenthub.db.damaged-1").exists());
}

#[test]
fn q03_a_damaged_file_of_the_persons_is_kept_aside() {
    let rig = Rig::new();
    rig.json(&["sessions", "--json"]);
    std::fs::write(rig.data_dir().join("person.db"), vec![7u8; 5_000]).unwrap();
    rig.json(&["doctor", "--json"]);
    assert!(rig.data_dir().join("person.db.damaged-1").exists());
}

#[test]
fn a_data_folder_is_of_one_home() {
    let rig = Rig::new();
    let truth = build(&rig.home, &WorldSpec::new(5, 50)).unwrap();
    rig.json(&["sessions", "--json"]);
    let other = Rig::new();
    let gemini = other.home.root().to_string_lossy().into_owned();
    let out = rig.agenthub(&["--gemini-dir", &gemini, "sessions", "--json"]);
    assert_eq!(out.status.code(), Some(1));
    let doc: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(doc["error"]["code"], "other_home");
    assert_eq!(rig.json(&["sessions", "--json"])["totals"]["total"], truth.totals.tokens.total());
}
