//! Real data, where it is found: `AGENTHUB_SAMPLES`, else `../shared/samples` beside the repository.

use std::path::PathBuf;

use crate::{
    rig::{Rig, usd},
    root,
};

fn samples() -> Option<PathBuf> {
    let dir = match std::env::var_os("AGENTHUB_SAMPLES") {
        Some(dir) => PathBuf::from(dir),
        None => root().join("../shared/samples"),
    };
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no real samples at {} (set AGENTHUB_SAMPLES)", dir.display());
    None
}

#[test]
fn s03_the_real_conversation_is_counted_right() {
    let Some(samples) = samples() else { return };
    let rig = Rig::new();
    let id = "18ee78b4-4643-45db-85df-8abd89b51b1b";
    let real = samples.join("ingo-eichhorst__Irrlicht/conversations").join(format!("{id}.db"));
    std::fs::copy(real, rig.home.db(id)).unwrap();
    let doc = rig.json(&["session", id, "--json"]);
    let models: Vec<(i64, [u64; 5])> = doc["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| {
            let n = |key: &str| m["tokens"][key].as_u64().unwrap();
            let calls = m["calls"].as_u64().unwrap();
            (
                m["model_enum"].as_i64().unwrap(),
                [calls, n("input"), n("cache_read"), n("output"), n("thinking")],
            )
        })
        .collect();
    assert!(models.contains(&(1016, [3, 14_392, 40_697, 846, 843])), "{models:?}");
    assert!(models.contains(&(1050, [1, 46, 0, 5, 0])), "{models:?}");
    assert_eq!(models.len(), 2);
    // Its list price, to the last digit; and a model that no name is known of has none.
    let of = |number: i64| {
        let all = doc["models"].as_array().unwrap();
        all.iter().find(|m| m["model_enum"] == number).unwrap().clone()
    };
    assert_eq!(of(1016)["cost_usd"], "0.0470754");
    assert_eq!(of(1016)["price_row"], "gemini-3.1-pro-preview");
    assert_eq!(of(1016)["tokens_unpriced"], 0);
    assert_eq!(of(1050)["cost_usd"], serde_json::Value::Null);
    assert_eq!(of(1050)["price_row"], serde_json::Value::Null);
    assert_eq!(doc["cost_usd"], "0.0470754");
    assert_eq!(doc["unpriced_models"], serde_json::json!([of(1050)["model"]]));
    assert_eq!(doc["tokens_unpriced"], 51);
    let calls = doc["timeline"].as_array().unwrap().iter().filter(|e| e["kind"] == "call");
    assert_eq!(usd(calls.map(|e| &e["cost_usd"])), usd([&doc["cost_usd"]]));
    assert_eq!(doc["turns"], 3);
    let calls = doc["timeline"].as_array().unwrap().iter().filter(|e| e["kind"] == "call").count();
    assert_eq!(calls, 4, "three answers and the title");
    assert!(doc["timeline"].as_array().unwrap().iter().all(|e| e["approximate"] == false));
}
