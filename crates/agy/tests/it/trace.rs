//! Turns as spans (spec §9 R2, R3, R6).

use std::collections::{BTreeMap, HashSet};

use agenthub_agy::{
    EntryState, Home, list,
    trace::{End, Told, Turn, trace, trace_from_transcript},
};
use agenthub_core::{
    CallKind, Model, SessionId, Tokens,
    trace::{CallSpan, Provider, ToolSpan},
};
use agy_sim::{
    Call, Clock, Conversation, Layout, Live, LiveSpec, Outcome, Quirk, ToolEnd, ToolUse, Turn as SimTurn,
};
use proptest::prelude::*;
use serde_json::json;

use crate::world::{home_of, scan};

const ID: &str = "2c6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";
const ALL: &dyn Fn(agenthub_core::trace::StepKey) -> bool = &|_| true;

fn told(home: &Home, id: &str) -> Told {
    let entry = list(home).entries.into_iter().find(|e| e.id.as_str() == id).unwrap();
    trace(home, &entry, ALL).unwrap()
}

fn calls(t: &Turn) -> impl Iterator<Item = &CallSpan> {
    t.span.calls.iter()
}

fn tools(t: &Turn) -> impl Iterator<Item = &ToolSpan> {
    t.span.calls.iter().flat_map(|c| &c.tools).chain(&t.span.tools)
}

fn sum(t: &Told) -> Tokens {
    t.turns.iter().flat_map(calls).filter_map(|c| c.tokens).sum()
}

fn ids(t: &Told) -> Vec<String> {
    let of = |t: &Turn| {
        let own = calls(t).map(|c| c.id).chain(tools(t).map(|t| t.id));
        std::iter::once(t.span.id).chain(own).map(|id| id.to_string()).collect::<Vec<_>>()
    };
    t.turns.iter().flat_map(of).collect()
}

/// A turn of 12 calls, of which 11 ask for a tool each.
fn long_turn() -> SimTurn {
    let mut turn = SimTurn::prompt("Fix the build");
    for i in 0..12_u64 {
        let mut call =
            Call::model(1016).tokens(1000 + i, 100 + i, 5000 + i, 50 + i).text(&format!("answer {i}"));
        if i < 11 {
            let tool = ToolUse::new("run_command", json!({"CommandLine": format!("make {i}")})).ms(37 + i);
            call = call.tool_use(tool.result(&format!("result {i}")));
        }
        turn = turn.call(call);
    }
    turn
}

#[test]
fn r2_a_turn_is_a_tree_of_calls_and_the_tools_that_each_asked_for() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let sim = agy_sim::Home::temp().unwrap();
        Conversation::new(ID).layout(layout).turn(long_turn()).write(&sim).unwrap();
        let told = told(&home_of(&sim), ID);
        assert_eq!(told.turns.len(), 1);
        let t = &told.turns[0];
        assert_eq!((calls(t).count(), tools(t).count(), t.span.tools.len()), (12, 11, 0), "{layout:?}");
        for (i, c) in calls(t).enumerate() {
            assert_eq!(c.output.as_deref(), Some(format!("answer {i}").as_str()));
            assert_eq!(c.kind, CallKind::Turn);
            let asked: Vec<_> = c.tools.iter().map(|t| t.result.clone().unwrap()).collect();
            let expected: Vec<_> = (i < 11).then(|| format!("result {i}")).into_iter().collect();
            assert_eq!(asked, expected, "{layout:?}: tool {i} stands below the call that asked for it");
            assert_eq!(c.tokens.unwrap().input, 1000 + i as u64);
            assert!(!c.extent.approximate && c.extent.duration_us() > 0);
            assert!(c.response_id.is_some() && c.failure.is_none());
        }
        for (i, tool) in tools(t).enumerate() {
            assert_eq!(tool.name, "run_command");
            assert!(tool.arguments.as_deref().unwrap().contains(&format!("make {i}")));
            assert!(tool.call_id.as_deref().unwrap().starts_with("call_"));
            // Below a second, and not zero.
            let us = tool.extent.duration_us();
            assert!((1_000..1_000_000).contains(&us) && !tool.extent.approximate, "{us}");
        }
        // Beside the spans: the step that each is, how it stands, how long it thought.
        let sides: BTreeMap<_, _> = t.sides.iter().map(|s| (s.span, s)).collect();
        assert_eq!(sides.len(), 12 + 11);
        for c in calls(t) {
            let s = sides[&c.id];
            assert!(s.thinking_us.is_some_and(|us| us > 0 && us <= c.extent.duration_us()), "{s:?}");
        }
        for (i, tool) in tools(t).enumerate() {
            let s = sides[&tool.id];
            assert_eq!((s.state, s.argument.clone()), (EntryState::Done, Some(format!("make {i}"))));
        }
        assert_eq!(t.span.prompt.as_deref(), Some("Fix the build"));
        assert_eq!(t.span.calls[0].input.as_deref(), Some("Fix the build"));
        assert_eq!(t.span.answer.as_deref(), Some("answer 11"));
        assert_eq!(t.span.finish_reason.as_deref(), Some("no_tool_call"));
        assert_eq!((t.end, t.is_settled, t.is_followed), (End::Execution, true, false));
        assert!(t.span.execution.is_some() && t.span.failure.is_none());
        assert_eq!(t.span.model.as_ref().unwrap().label.as_deref(), Some("Gemini 3.1 Pro (High)"));
        assert_ne!(t.span.provider, Provider::Google, "agy told the backend");
        let last = calls(t).last().unwrap();
        assert!(t.span.extent.from <= t.span.calls[0].extent.from && t.span.extent.to >= last.extent.to);
    }
}

#[test]
fn r2_retries_and_title_calls_are_calls_of_their_turn() {
    let sim = agy_sim::Home::temp().unwrap();
    let lost = agy_sim::Tokens { input: 90, output: 12, ..Default::default() };
    let turn = SimTurn::prompt("x").call(Call::model(1016).failed_attempt(lost));
    let title = agy_sim::Tokens { input: 46, output: 5, ..Default::default() };
    let rows = Conversation::new(ID)
        .layout(Layout::V1_0)
        .title("Fixing it")
        .title_tokens(Some(title))
        .turn(turn)
        .turn(SimTurn::prompt("y").call(Call::model(1016)))
        .write(&sim)
        .unwrap();
    let told = told(&home_of(&sim), ID);
    let t = &told.turns[0];
    let kinds: Vec<_> = calls(t)
        .map(|c| (c.kind, c.failure.as_ref().map(|f| f.kind.clone()), c.tokens.unwrap().input))
        .collect();
    assert_eq!(
        kinds,
        [
            (CallKind::Turn, Some("retried".to_owned()), 90),
            (CallKind::Turn, None, 2093),
            (CallKind::Background, None, 46)
        ]
    );
    assert_eq!(t.span.model.as_ref().unwrap().number, 1016, "not the title's");
    assert_eq!(told.turns[1].span.calls.len(), 1);
    let of = |t: agy_sim::Tokens| (t.input, t.output, t.cache_read, t.thinking);
    let (ours, truth) = (sum(&told), rows.session().tokens);
    assert_eq!((ours.input, ours.output, ours.cache_read, ours.thinking), of(truth));
}

#[test]
fn r2_r3_every_turn_of_every_trap_has_the_tokens_of_its_session() {
    let sim = agy_sim::Home::temp().unwrap();
    let truth = agy_sim::build(&sim, &agy_sim::WorldSpec::new(30, 400).with_traps()).unwrap();
    let home = home_of(&sim);
    let readable = scan(&home).reads;
    let mut seen = BTreeMap::new();
    let mut compared = 0;
    let mut forks = 0;
    for e in list(&home).entries.iter().filter(|e| readable.contains_key(&e.id)) {
        let told = trace(&home, e, ALL).unwrap();
        for id in ids(&told) {
            assert_eq!(seen.insert(id.clone(), e.id.clone()), None, "{id} is there once");
        }
        let s = &truth.sessions[e.id.as_str()];
        let ours = sum(&told);
        if s.forked_from.is_some() {
            // A fork that kept a call which its origin lost by a rewind owns it; told it was with the origin's turn.
            forks += 1;
            assert!(ours.total() <= s.tokens.total(), "{}: {ours:?} {s:?}", e.id);
            continue;
        }
        compared += 1;
        let t = s.tokens;
        let theirs = Tokens {
            input: t.input,
            output: t.output,
            cache_read: t.cache_read,
            cache_write: t.cache_write,
            thinking: t.thinking,
        };
        assert_eq!(ours, theirs, "{}: {}", e.id, s.name);
        let with_tools: usize = told.turns.iter().map(|t| tools(t).count()).sum();
        assert_eq!(with_tools as u64, s.tool_calls, "{}: {}", e.id, s.name);
    }
    assert!(compared > 60 && forks > 3, "{compared} {forks}");
}

#[test]
fn r2_copied_calls_of_a_fork_are_none() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let sim = agy_sim::Home::temp().unwrap();
        let origin =
            Conversation::new(ID).layout(layout).turn(long_turn()).turn(long_turn()).write(&sim).unwrap();
        let id = "3c6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";
        let last = origin.steps.last().unwrap().completed.unwrap();
        let fork = origin.fork(id, last.plus_ms(1000), None);
        Conversation::go_on(fork)
            .turn(SimTurn::prompt("other way").call(Call::model(1016)))
            .write(&sim)
            .unwrap();
        let told = told(&home_of(&sim), id);
        assert_eq!(told.turns.len(), 1, "{layout:?}: {told:?}");
        assert_eq!(told.turns[0].span.prompt.as_deref(), Some("other way"));
        assert_eq!((told.keys.len(), told.turns[0].span.calls.len()), (3, 1));
    }
}

#[test]
fn r3_a_call_whose_usage_is_damaged_everywhere_keeps_its_tools_and_its_output() {
    let damaged = |quirks: &[Quirk]| {
        let sim = agy_sim::Home::temp().unwrap();
        let call = Call::model(1016).text("looking").tool("list_dir", json!({"DirectoryPath": "/"}));
        let call = quirks.iter().fold(call, |c, q| c.quirk(*q));
        let turn = SimTurn::prompt("x").call(call).call(Call::model(1016));
        Conversation::new(ID).turn(turn).write(&sim).unwrap();
        told(&home_of(&sim), ID).turns.remove(0)
    };
    let whole = damaged(&[]);
    for quirks in [&[Quirk::NoUsage][..], &[Quirk::GarbageGen, Quirk::GarbageStep]] {
        let t = damaged(quirks);
        assert_eq!((t.span.calls.len(), t.span.tools.len()), (2, 0), "{quirks:?}");
        let call = &t.span.calls[0];
        assert_eq!(call.tokens, None, "{quirks:?}: unknown, not zero");
        assert_eq!(call.tools.len(), 1, "{quirks:?}");
        assert_eq!(call.output.as_deref(), Some("looking"), "{quirks:?}");
        assert_eq!(call.id, whole.span.calls[0].id, "{quirks:?}: the same call");
    }
    for quirk in [Quirk::GarbageGen, Quirk::GarbageStep, Quirk::NoStepUsage, Quirk::NoGen, Quirk::HugeGen] {
        let t = damaged(&[quirk]);
        assert_eq!(t.span.calls[0].tokens.map(|t| t.input), Some(2093), "{quirk:?}: one good copy is left");
        assert_eq!(t.span.calls[0].id, whole.span.calls[0].id, "{quirk:?}");
        assert_eq!(t.span.calls[0].tools.len(), 1, "{quirk:?}");
    }
}

#[test]
fn r2_r6_a_turn_told_from_the_transcript_is_the_same_turn_in_whole_seconds() {
    let sim = agy_sim::Home::temp().unwrap();
    let turn = long_turn().call(
        Call::model(1016)
            .tool_use(ToolUse::new("view_file", json!({})).outcome(Outcome::Failed).result("no file")),
    );
    Conversation::new(ID)
        .turn(turn)
        .turn(SimTurn::prompt("more").call(Call::model(1016)))
        .write(&sim)
        .unwrap();
    let home = home_of(&sim);
    let exact = told(&home, ID);
    let id = SessionId::parse(ID).unwrap();
    let whole = trace_from_transcript(&home, &id, ALL).unwrap();
    assert_eq!(ids(&exact), ids(&whole));
    assert_eq!(exact.keys, whole.keys);
    assert!(whole.from_transcript && whole.turns.iter().all(|t| t.span.from_transcript));
    for (a, b) in exact.turns.iter().zip(&whole.turns) {
        assert!(calls(b).all(|c| c.tokens.is_none() && c.extent.approximate));
        assert!(tools(b).all(|t| t.extent.approximate && t.extent.from.micros() % 1_000_000 == 0));
        let names = |t: &Turn| tools(t).map(|t| (t.name.clone(), t.result.clone())).collect::<Vec<_>>();
        assert_eq!(names(a).len(), names(b).len());
        assert_eq!(a.span.prompt, b.span.prompt);
        assert_eq!(a.span.answer, b.span.answer);
    }
    let failed = |t: &Told| tools(&t.turns[0]).filter(|t| t.failure.is_some()).count();
    assert_eq!((failed(&exact), failed(&whole)), (1, 1));
}

#[test]
fn r6_a_tool_names_the_conversations_that_it_started() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let sim = agy_sim::Home::temp().unwrap();
        let clock = Clock::manual(agy_sim::WORLD_END);
        let mut live = Live::start(&sim, LiveSpec::new(ID).layout(layout).clock(&clock)).unwrap();
        live.prompt("research it").unwrap();
        live.call_begins().unwrap();
        let call = live.plausible_call();
        live.call_ends(&call).unwrap();
        let mut child = live.subagent("Reader", "read it").unwrap();
        let child_id = child.id().to_owned();
        child.call().unwrap();
        child.end_turn().unwrap();
        live.subagent_reports(&child_id, "read").unwrap();
        live.call().unwrap();
        live.end_turn().unwrap();
        child.close().unwrap();
        live.close().unwrap();
        let home = home_of(&sim);
        let parent = told(&home, ID);
        let t = &parent.turns[0];
        let tool = tools(t).find(|t| t.name == "invoke_subagent").unwrap();
        let of =
            |t: &Turn| t.children.iter().map(|c| (c.tool, c.conversation.to_string())).collect::<Vec<_>>();
        assert_eq!(of(t), [(tool.id, child_id.clone())], "{layout:?}");
        // The link alone is enough, and so is the result alone.
        std::fs::remove_dir_all(home.brain(&parent.conversation)).unwrap();
        assert_eq!(of(&told(&home, ID).turns[0]), [(tool.id, child_id.clone())], "{layout:?}");
        let child = told(&home, &child_id);
        assert_eq!(child.parent, Some(parent.conversation.clone()));
        assert_eq!(child.turns[0].span.agent.name, "research");
        assert_eq!(child.turns[0].span.calls.len(), 1);
    }
}

#[test]
fn r7_a_turn_says_how_it_stands_by_its_rows() {
    let sim = agy_sim::Home::temp().unwrap();
    let home = home_of(&sim);
    let mut live = Live::start(&sim, LiveSpec::new(ID).clock(&Clock::manual(agy_sim::WORLD_END))).unwrap();
    let stands = || {
        let told = told(&home, ID);
        let t = told.turns.last().unwrap().clone();
        (t.end, t.is_settled, t.span.failure.map(|f| f.kind))
    };
    live.prompt("one").unwrap();
    assert_eq!(stands(), (End::Open, false, None));
    live.call_begins().unwrap();
    live.call_streams("half").unwrap();
    assert_eq!(stands(), (End::Open, false, None));
    let call = live.plausible_call();
    live.call_ends(&call).unwrap();
    live.tool_begins("run_command", json!({})).unwrap();
    assert_eq!(stands(), (End::Open, false, None));
    // Held: the execution has its row, a tool runs on.
    live.end_turn().unwrap();
    assert_eq!(stands(), (End::Execution, false, None));
    live.tool_ends(ToolEnd::ok()).unwrap();
    live.wakes("your command is done").unwrap();
    live.call_begins().unwrap();
    assert_eq!(stands(), (End::Open, false, None));
    let call = live.plausible_call();
    live.call_ends(&call).unwrap();
    live.end_turn().unwrap();
    assert_eq!(stands(), (End::Execution, true, None));
    let held = told(&home, ID);
    assert_eq!(held.turns.len(), 1, "one turn of two executions");
    let (first, last) = (&held.turns[0].span, calls(&held.turns[0]).last().unwrap());
    assert!(first.extent.to >= last.extent.to);

    live.prompt("two").unwrap();
    live.call_begins().unwrap();
    live.api_error(503, "overloaded").unwrap();
    assert_eq!(stands(), (End::Broken, true, Some("503".into())));
    live.prompt("three").unwrap();
    live.call_begins().unwrap();
    live.esc(agy_sim::Esc::StopReason).unwrap();
    assert_eq!(stands(), (End::Broken, true, Some("canceled".into())));
    live.close().unwrap();
    assert_eq!(told(&home, ID).turns.iter().map(|t| t.is_followed).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn r2_a_queued_message_starts_its_turn_when_it_is_taken_up() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = Live::start(&sim, LiveSpec::new(ID).clock(&Clock::manual(agy_sim::WORLD_END))).unwrap();
    live.prompt("one").unwrap();
    live.call_begins().unwrap();
    live.queue_prompt("two").unwrap();
    let call = live.plausible_call();
    live.call_ends(&call).unwrap();
    live.tool_begins("run_command", json!({})).unwrap();
    live.tool_ends(ToolEnd::ok()).unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    let step = live.take_up_queued().unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    live.close().unwrap();
    let told = told(&home_of(&sim), ID);
    let shape: Vec<_> = told.turns.iter().map(|t| (calls(t).count(), tools(t).count())).collect();
    assert_eq!(shape, [(2, 1), (1, 0)]);
    assert_eq!(told.keys[1].step, i64::from(step));
    assert!(told.turns[1].span.extent.from >= told.turns[0].span.extent.to);
}

#[test]
fn r6_a_rewind_within_a_turn_gives_new_ids() {
    let sim = agy_sim::Home::temp().unwrap();
    let clock = Clock::manual(agy_sim::WORLD_END);
    let mut live = Live::start(&sim, LiveSpec::new(ID).clock(&clock)).unwrap();
    live.prompt("one").unwrap();
    live.call().unwrap();
    let step = live.call().unwrap();
    live.end_turn().unwrap();
    let home = home_of(&sim);
    let before: HashSet<String> = ids(&told(&home, ID)).into_iter().collect();
    clock.advance(std::time::Duration::from_secs(5));
    live.rewind(step).unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    live.close().unwrap();
    let after: HashSet<String> = ids(&told(&home, ID)).into_iter().collect();
    assert_eq!((before.len(), after.len(), before.intersection(&after).count()), (3, 3, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Told twice, and told after more came, a turn is the same spans.
    #[test]
    fn r6_a_second_reading_has_the_same_ids(shape in proptest::collection::vec(proptest::collection::vec(0..3usize, 1..4), 1..4)) {
        let sim = agy_sim::Home::temp().unwrap();
        let mut live = Live::start(&sim, LiveSpec::new(ID).clock(&Clock::manual(agy_sim::WORLD_END))).unwrap();
        let home = home_of(&sim);
        let mut before: Vec<String> = Vec::new();
        for turn in shape {
            live.prompt("go").unwrap();
            for n in turn {
                live.call_begins().unwrap();
                let call = live.plausible_call();
                live.call_ends(&call).unwrap();
                for _ in 0..n {
                    live.tool_begins("view_file", json!({})).unwrap();
                    live.tool_ends(ToolEnd::ok()).unwrap();
                }
                let now = ids(&told(&home, ID));
                prop_assert!(before.iter().all(|id| now.contains(id)), "{before:?} {now:?}");
                before = now;
            }
            live.end_turn().unwrap();
        }
        let told = told(&home, ID);
        prop_assert_eq!(&ids(&told), &before);
        let all: HashSet<&String> = before.iter().collect();
        prop_assert_eq!(all.len(), before.len());
        prop_assert!(told.turns.iter().all(|t| t.is_settled));
    }
}

#[test]
fn q01_a_models_name_may_be_missing() {
    let sim = agy_sim::Home::temp().unwrap();
    let call = Call::model(1016).quirk(Quirk::NoGen);
    Conversation::new(ID).turn(SimTurn::prompt("x").call(call)).write(&sim).unwrap();
    let told = told(&home_of(&sim), ID);
    assert_eq!(told.turns[0].span.calls[0].model, Model { number: 1016, id: None, label: None });
}
