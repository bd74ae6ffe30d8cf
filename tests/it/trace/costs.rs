//! What a call cost is the same in a backend as in the window and on the command line (R3, M4).

use conformance::Names;
use otlp_receiver::conformance;

use super::*;

#[test]
fn r3_each_calls_cost_is_the_nearest_double_of_the_sessions_exact_decimal() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Fix the build", 4);
    // A model that has no price, and calls above the tier for long prompts.
    agy.prompt("Now with another model").unwrap();
    agy.call_begins_with(4_242).unwrap();
    agy.call_ends(&Call::model(4_242).tokens(100, 20, 3_000, 5)).unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&Call::model(1016).tokens(300_000, 500, 10_000, 100)).unwrap();
    agy.end_turn().unwrap();
    let spans = t.until("both turns", |s| distinct(s).len() >= 8 + 3);
    agy.close().unwrap();
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);

    let session = t.rig.json(&["session", &id, "--json"]);
    let timeline = session["timeline"].as_array().unwrap();
    let (mut priced, mut gaps) = (0, 0);
    for call in of_kind(&spans, "LLM") {
        let response = call.text("gen_ai.response.id").unwrap();
        let entry = timeline.iter().find(|e| e["kind"] == "call" && e["call"] == response).unwrap();
        match entry["cost_usd"].as_str() {
            Some(exact) => {
                priced += 1;
                assert_eq!(call.double("llm.cost.total"), Some(exact.parse().unwrap()), "{exact}");
                assert_eq!(call.text("agenthub.price"), Some("complete"));
            }
            None => {
                gaps += 1;
                assert_eq!(
                    (call.double("llm.cost.total"), call.text("agenthub.price")),
                    (None, Some("missing"))
                );
                assert!(call.int("llm.token_count.total").is_some(), "a gap in prices is none in usage");
            }
        }
    }
    assert_eq!((priced, gaps), (5, 1));
}
