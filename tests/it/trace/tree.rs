//! The Session screen's waterfall and what a backend gets are one tree.

use agenthub_engine::view::{StepState, TreeSpan, TreeSpanKind, TurnTree};

use super::*;

fn step_of(t: &Traced, id: &str, turn: u32) -> i64 {
    let session = t.rig.json(&["session", id, "--json"]);
    let prompt = |e: &&serde_json::Value| e["kind"] == "prompt" && e["turn"] == turn;
    session["timeline"].as_array().unwrap().iter().find(prompt).unwrap()["step"].as_i64().unwrap()
}

fn of(tree: &TurnTree, kind: TreeSpanKind) -> Vec<&TreeSpan> {
    tree.spans.iter().filter(|s| s.kind == kind).collect()
}

#[test]
fn the_waterfall_has_the_spans_of_the_trace_with_sub_agents_times_tokens_and_cost() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Another turn", 1);
    t.until("the first turn", |s| distinct(s).len() == 2);
    let asks = agy.plausible_call().text("I ask");
    let child = asks_around(&mut agy, &asks);
    let child_id = child.id().to_owned();
    let spans = t.until("all", |s| distinct(s).len() >= 2 + 6);
    child.close().unwrap();
    agy.close().unwrap();

    let engine = t.rig.start();
    let tree = engine.host.turn_tree(&id, step_of(&t, &id, 2)).unwrap();
    let sent: BTreeMap<String, &Received> =
        spans.iter().filter(|s| Some(s.trace()) == tree.trace_id).map(|s| (s.id(), s)).collect();
    assert_eq!(
        tree.spans.iter().map(|s| &s.id).collect::<BTreeSet<_>>(),
        sent.keys().collect::<BTreeSet<_>>()
    );
    for s in &tree.spans {
        let r = sent[&s.id];
        assert_eq!(s.parent, r.parent(), "{s:?}");
        if let Some(us) = s.duration_us {
            assert_eq!(u64::try_from(us).unwrap() * 1_000, r.duration_ns(), "{s:?}");
        }
        assert_eq!(
            s.tokens
                .as_ref()
                .filter(|_| s.kind == TreeSpanKind::Call)
                .map(|t| i64::try_from(t.total).unwrap()),
            r.int("llm.token_count.total")
        );
        let cost = s.cost_usd.as_ref().filter(|_| s.kind == TreeSpanKind::Call);
        assert_eq!(cost.map(|c| c.parse::<f64>().unwrap()), r.double("llm.cost.total"));
        assert_eq!(s.state, StepState::Done);
    }
    let kinds: Vec<(TreeSpanKind, u32)> = tree.spans.iter().map(|s| (s.kind, s.depth)).collect();
    let (turn, call, tool) = (TreeSpanKind::Turn, TreeSpanKind::Call, TreeSpanKind::Tool);
    assert_eq!(kinds, [(turn, 0), (call, 1), (tool, 2), (turn, 3), (call, 4), (call, 1)]);
    assert_eq!(tree.spans[0].text.as_deref(), Some("Ask around"));
    assert_eq!(tree.spans[1].text.as_deref(), Some("I ask"));
    assert!(of(&tree, tool)[0].duration_us > Some(0) && of(&tree, tool)[0].step.is_some());
    assert!(
        of(&tree, call).iter().all(|c| c.thinking_us.is_some_and(|us| us >= 0 && Some(us) <= c.duration_us))
    );
    // The sub-agent's use stands on its tool, and once in the whole.
    assert_eq!(of(&tree, tool)[0].tokens, of(&tree, call)[1].tokens);
    assert_eq!(of(&tree, turn)[1].session, child_id);
    let sum: u64 = of(&tree, call).iter().filter_map(|c| c.tokens.as_ref()).map(|t| t.total).sum();
    assert_eq!(tree.tokens.as_ref().unwrap().total, sum);
    assert_eq!(tree.cost_usd, tree.spans[0].cost_usd);

    // A sub-agent's own turn is told from its own session.
    let own = engine.host.turn_tree(&child_id, 0).unwrap();
    assert_eq!((own.trace_id, own.spans.len()), (None, 2));
    assert_eq!(own.spans[1].id, of(&tree, call)[1].id);
    for (id, step) in [(id.as_str(), -1), (&*uuid(), 0)] {
        assert_eq!(engine.host.turn_tree(id, step).unwrap_err().code, "not_found");
    }
}

#[test]
fn the_waterfall_of_a_turn_under_way_says_what_runs_and_what_waits() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    agy.prompt("Migrate").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call().tool("run_command", json!({"CommandLine": "make"}))).unwrap();
    agy.tool_waits("run_command", json!({"CommandLine": "make"})).unwrap();
    let engine = t.rig.start();
    let tree = engine.host.turn_tree(&id, step_of(&t, &id, 1)).unwrap();
    assert_eq!(tree.duration_us, None);
    assert_eq!((tree.spans[0].state, tree.spans[0].duration_us), (StepState::Running, None));
    let tool = of(&tree, TreeSpanKind::Tool)[0].clone();
    assert_eq!(
        (tool.state, tool.duration_us, tool.text.as_deref()),
        (StepState::Waiting, None, Some("make"))
    );
    agy.allow().unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let tree = engine.host.turn_tree(&id, step_of(&t, &id, 1)).unwrap();
    assert!(tree.duration_us.is_some() && tree.spans.iter().all(|s| s.state == StepState::Done), "{tree:#?}");
    agy.close().unwrap();
}
