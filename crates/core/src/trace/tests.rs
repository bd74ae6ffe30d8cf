//! The tree's own rules.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::CallKey;

const A: &str = "18ee78b4-4643-45db-85df-8abd89b51b1b";
const B: &str = "28ee78b4-4643-45db-85df-8abd89b51b1b";

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

#[test]
fn r6_ids_are_pinned_for_ever() {
    // Backends hold these: a change would double every turn that is sent again.
    let conversation = session(A);
    let turn = StepKey::new(0, Some(Time::from_micros(1_782_640_471_867_081)));
    let ids = SpanIds { conversation: &conversation, turn };
    let call = CallKey("r:abc".into());
    assert_eq!(
        [
            TraceId::of(&conversation, &turn).to_string(),
            ids.turn().to_string(),
            ids.answer(StepKey { step: 3, second: 1_782_640_475 }).to_string(),
            ids.call(&call).to_string(),
            ids.tool(StepKey { step: 4, second: 1_782_640_476 }).to_string(),
        ],
        PINNED
    );
}

const PINNED: [&str; 5] = [
    "4d5af6f28c82042ca39a41cd89b0cd4a",
    "653e5dda2006d87b",
    "d5c38ebedf342275",
    "ceed72ffca8c02f5",
    "6ced5312ec73f205",
];

#[test]
fn r6_a_turn_told_by_whole_seconds_is_the_same_turn() {
    let exact = StepKey::new(7, Some(Time::from_micros(1_782_640_471_999_999)));
    let whole = StepKey::new(7, Some(Time::from_micros(1_782_640_471_000_000)));
    assert_eq!(TraceId::of(&session(A), &exact), TraceId::of(&session(A), &whole));
}

proptest! {
    /// Everything that differs in what names it has another id, whatever its kind.
    #[test]
    fn r6_different_things_have_different_ids(steps in proptest::collection::hash_set(0i64..1000, 1..20)) {
        let (a, b) = (session(A), session(B));
        let mut seen = HashSet::new();
        let mut n = 0;
        for conversation in [&a, &b] {
            for step in &steps {
                let ids = SpanIds { conversation, turn: StepKey { step: *step, second: 9 } };
                let other = SpanIds { conversation, turn: StepKey { step: *step, second: 10 } };
                for ids in [ids, other] {
                    let text = CallKey(step.to_string());
                    seen.extend([ids.turn(), ids.answer(ids.turn), ids.tool(ids.turn), ids.call(&text)]);
                    n += 4;
                }
            }
        }
        prop_assert_eq!(seen.len(), n);
    }

    #[test]
    fn r2_no_span_ends_before_it_starts(from in any::<i64>(), to in any::<i64>()) {
        let e = Extent::new(Time::from_micros(from), Time::from_micros(to), false);
        prop_assert!(e.to >= e.from && e.duration_us() >= 0);
    }
}

fn turn(n: i64, calls: Vec<CallSpan>) -> TurnSpan {
    let conversation = session(A);
    let ids = SpanIds { conversation: &conversation, turn: StepKey { step: n, second: 0 } };
    TurnSpan {
        id: ids.turn(),
        extent: Extent::new(Time::from_micros(n), Time::from_micros(n), false),
        conversation: conversation.clone(),
        execution: None,
        agent: Agent::default(),
        model: None,
        provider: Provider::default(),
        finish_reason: None,
        failure: None,
        incomplete: false,
        from_transcript: false,
        prompt: None,
        answer: None,
        calls,
        tools: Vec::new(),
    }
}

fn call(n: i64, tools: Vec<ToolSpan>) -> CallSpan {
    let conversation = session(A);
    let ids = SpanIds { conversation: &conversation, turn: StepKey { step: 0, second: 0 } };
    CallSpan {
        id: ids.answer(StepKey { step: n, second: 0 }),
        extent: Extent::new(Time::from_micros(n), Time::from_micros(n), false),
        kind: CallKind::Turn,
        model: Model::default(),
        request_model: None,
        provider: Provider::default(),
        response_id: None,
        finish_reason: None,
        failure: None,
        tokens: Some(Tokens { input: 1, ..Tokens::default() }),
        cost: None,
        input: None,
        output: None,
        thinking: None,
        tools,
    }
}

fn tool(n: i64, turns: Vec<TurnSpan>) -> ToolSpan {
    let conversation = session(A);
    let ids = SpanIds { conversation: &conversation, turn: StepKey { step: 0, second: 0 } };
    ToolSpan {
        id: ids.tool(StepKey { step: n, second: 0 }),
        extent: Extent::new(Time::from_micros(n), Time::from_micros(n), false),
        name: "view_file".into(),
        call_id: None,
        arguments: None,
        result: None,
        failure: None,
        turns,
    }
}

#[test]
fn r2_a_walk_meets_parents_before_children_and_each_span_once() {
    let child = turn(50, vec![call(51, vec![]), call(52, vec![tool(53, vec![])])]);
    let root = turn(1, vec![call(2, vec![tool(3, vec![child]), tool(4, vec![])]), call(5, vec![])]);
    let (root_id, child_id) =
        (root.id, SpanIds { conversation: &session(A), turn: StepKey { step: 50, second: 0 } }.turn());
    let trace = Trace {
        id: TraceId::of(&session(A), &StepKey { step: 1, second: 0 }),
        surface: "antigravity-cli".into(),
        user: None,
        turn: root,
    };
    let visits = trace.visits();
    let order: Vec<i64> = visits.iter().map(|v| v.span.extent().from.micros()).collect();
    assert_eq!(order, [1, 2, 3, 50, 51, 52, 53, 4, 5]);
    let mut seen = HashSet::new();
    for v in &visits {
        assert!(v.parent.is_none_or(|p| seen.contains(&p)), "a parent comes first");
        assert!(seen.insert(v.span.id()), "each once");
    }
    let inner = visits.iter().find(|v| v.span.extent().from.micros() == 53).unwrap();
    assert_eq!((inner.turn.id, visits[8].turn.id), (child_id, root_id));
    assert_eq!(trace.tokens().input, 4);
}

#[test]
fn r3_a_cost_is_the_sum_of_its_priced_parts() {
    let d = |s: &str| Some(s.parse::<Decimal>().unwrap());
    let cost = CallCost { input: d("0.1"), cache_read: d("0.02"), cache_write: None, output: d("0.2") };
    assert_eq!((cost.prompt(), cost.total()), (d("0.12"), d("0.32")));
    assert_eq!(CallCost::default().total(), None, "no price is not zero");
}

proptest! {
    /// The same cost as everywhere, also where a part has no rate.
    #[test]
    fn r3_m4_the_parts_of_a_cost_are_the_cost(
        tokens in (0..3_000_000_u64, 0..3_000_000_u64, 0..3_000_000_u64, 0..3_u64),
        rates in [proptest::option::of(1..9_000_u32), proptest::option::of(1..9_000_u32), proptest::option::of(1..9_000_u32),
            proptest::option::of(1..9_000_u32)],
    ) {
        let t = Tokens { input: tokens.0, output: tokens.1, cache_read: tokens.2, cache_write: tokens.3, thinking: 0 };
        let [input, cache_read, cache_write, output] =
            rates.map(|rate| rate.map(|n| Rate::parse(&format!("{n}e-9")).unwrap()));
        let rates = Rates { input, cache_read, cache_write, output };
        prop_assume!(!rates.is_empty());
        let known = rates.cost(&t).known(1, &t).map(|usd| usd.decimal());
        prop_assert_eq!(CallCost::of(&rates, &t).total(), known);
    }
}
