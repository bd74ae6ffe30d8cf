//! What a backend gets of a turn (R2, R3, R6, R7, R12).

use agenthub_engine::{
    Clock,
    tracer::{Patience, Tracer},
};

use super::*;

#[test]
fn r2_r3_a_turn_of_twelve_calls_and_eleven_tools_is_there_once_nested_right_with_its_tokens() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Fix the build", 12);
    let spans = t.until("24 spans", |s| s.len() >= 24);
    agy.close().unwrap();
    assert_eq!((spans.len(), doubled(&spans)), (24, BTreeSet::new()));
    assert_eq!(t.backend.complaints(), Vec::<String>::new());
    let root = of_kind(&spans, "AGENT");
    let calls = of_kind(&spans, "LLM");
    let tools = of_kind(&spans, "TOOL");
    assert_eq!((root.len(), calls.len(), tools.len()), (1, 12, 11));
    assert_eq!(root[0].parent(), None);
    assert!(calls.iter().all(|c| c.parent() == Some(root[0].id())));
    for (call, tool) in calls.iter().zip(&tools) {
        assert_eq!(tool.parent(), Some(call.id()), "each tool below the call that asked for it");
        // Below a second, and not zero.
        assert!((1..1_000_000_000).contains(&tool.duration_ns()), "{}", tool.duration_ns());
    }
    assert_eq!(root[0].resource_text("service.name"), Some("antigravity"));
    assert_eq!(root[0].text("gen_ai.conversation.id"), Some(id.as_str()));
    assert!(
        !root[0].attributes.keys().any(|k| k.contains("usage") || k.contains("token") || k.contains("cost"))
    );
    // The same sums as the command line's.
    let session = t.rig.json(&["session", &id, "--json"]);
    let sum = |name: &str| calls.iter().filter_map(|c| c.int(name)).sum::<i64>();
    let told = |name: &str| session["tokens"][name].as_i64().unwrap();
    assert_eq!(sum("gen_ai.usage.input_tokens"), told("input") + told("cache_read") + told("cache_write"));
    assert_eq!(sum("gen_ai.usage.output_tokens"), told("output"));
    assert_eq!(sum("gen_ai.usage.cache_read.input_tokens"), told("cache_read"));
    assert_eq!(sum("llm.token_count.total"), told("total"));
    // Cost: each the nearest double of an exact decimal, and together the session's.
    let cost: f64 = calls.iter().map(|c| c.double("llm.cost.total").expect("a price")).sum();
    let exact: f64 = session["cost_usd"].as_str().unwrap().parse().unwrap();
    assert!(exact > 0.0 && (cost - exact).abs() < 1e-9, "{cost} {exact}");
}

#[test]
fn r7_u107_a_second_stop_sends_nothing_twice() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Once", 2);
    t.until("the turn", |s| distinct(s).len() == 4);
    let stop = agy.hooks().runs().iter().rfind(|r| r.event == agy_sim::HookEvent::Stop).unwrap().clone();
    let script = t.rig.home.root().join("config/agenthub-tracing.sh");
    for _ in 0..3 {
        let mut hook = std::process::Command::new(&script);
        let mut hook = hook
            .arg("Stop")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(hook.stdin.as_mut().unwrap(), stop.stdin.as_bytes()).unwrap();
        let out = hook.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "{}\n", "exactly one answer");
    }
    until("the events are worked on", || t.files("jobs", ".job").is_empty().then_some(()));
    turn(&mut agy, "Twice", 1);
    let spans = t.until("the next turn", |s| distinct(s).len() == 6);
    agy.close().unwrap();
    assert_eq!(doubled(&spans), BTreeSet::new());
}

#[test]
fn r7_rows_that_agy_flushes_after_the_stop_are_waited_for() {
    let t = Traced::new();
    let mut agy = t.agy(&uuid());
    agy.prompt("Late").unwrap();
    agy.hold_writes();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call()).unwrap();
    agy.end_turn_late().unwrap();
    // The child is at work, and has nothing to send yet.
    until("the event was heard", || t.files("jobs", ".job").is_empty().then_some(()));
    assert_eq!(t.backend.spans(), []);
    agy.flush().unwrap();
    let spans = t.until("the turn", |s| distinct(s).len() == 2);
    agy.close().unwrap();
    assert_eq!(of_kind(&spans, "LLM")[0].int("gen_ai.usage.output_tokens"), Some(20));
}

#[test]
fn r2_a_title_call_after_the_end_is_sent_by_itself() {
    let t = Traced::new();
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "Name me", 1);
    t.until("the turn", |s| distinct(s).len() == 2);
    agy.title_call("A name").unwrap();
    let spans = t.until("the title", |s| distinct(s).len() == 3);
    agy.close().unwrap();
    assert_eq!(doubled(&spans), BTreeSet::new(), "only what is new");
    let root = of_kind(&spans, "AGENT")[0].id();
    assert!(of_kind(&spans, "LLM").iter().all(|c| c.parent() == Some(root.clone())));
}

/// A held turn: an execution is over, a tool goes on in the background.
fn held(t: &Traced, id: &str) -> Live {
    let mut agy = t.agy(id);
    agy.prompt("Watch the build").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call()).unwrap();
    agy.tool_begins("run_command", json!({"CommandLine": "make watch"})).unwrap();
    agy.end_turn().unwrap();
    until("the Stop was heard", || t.files("jobs", ".job").is_empty().then_some(()));
    agy
}

#[test]
fn r7_a_held_turn_is_sent_when_it_ends_as_one_turn() {
    let t = Traced::new();
    let mut agy = held(&t, &uuid());
    t.work();
    assert_eq!(t.backend.spans(), [], "it may go on");
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.wakes("The build is done.").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call()).unwrap();
    agy.end_turn().unwrap();
    let spans = t.until("the turn", |s| distinct(s).len() == 4);
    agy.close().unwrap();
    assert_eq!(of_kind(&spans, "AGENT").len(), 1, "one turn of two executions");
    assert_eq!(doubled(&spans), BTreeSet::new());
}

#[test]
fn r7_a_held_turn_is_released_by_the_next_prompt() {
    let t = Traced::new();
    let mut agy = held(&t, &uuid());
    agy.prompt("Never mind").unwrap();
    agy.call_begins().unwrap();
    let spans = t.until("the first turn", |s| distinct(s).len() == 3);
    assert_eq!(of_kind(&spans, "AGENT").len(), 1);
    agy.call_ends(&plain_call()).unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.end_turn().unwrap();
    t.until("both turns", |s| of_kind(distinct(s).values(), "AGENT").len() == 2);
    agy.close().unwrap();
}

#[test]
fn r7_a_turn_that_is_held_for_half_an_hour_is_sent_as_incomplete_and_whole_when_it_ends() {
    let t = Traced::new();
    let mut agy = held(&t, &uuid());
    let now = agenthub_core::Time::from_micros(jiff::Timestamp::now().as_microsecond());
    let clock = Clock::hand(now.plus_ms(29 * 60_000));
    let app = Tracer::new(&t.rig.config(), clock.clone()).unwrap();
    app.work(Patience::Looks, Duration::from_secs(20)).unwrap();
    assert_eq!(t.backend.spans(), []);
    clock.set(now.plus_ms(31 * 60_000));
    // The hook's child may still be looking; the app comes again.
    let first = until("the part", || {
        app.work(Patience::Looks, Duration::from_secs(20)).unwrap();
        let spans = t.backend.spans();
        (distinct(&spans).len() == 3).then_some(spans)
    });
    let incomplete = |s: &[Received]| of_kind(s, "AGENT").last().map(|r| format!("{:?}", r.attributes));
    assert!(incomplete(&first).unwrap().contains("incomplete"), "{:?}", incomplete(&first));
    app.work(Patience::Looks, Duration::from_secs(20)).unwrap();
    assert_eq!(t.backend.spans().len(), 3, "once");
    // It ends after all.
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.wakes("The build is done.").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call()).unwrap();
    agy.end_turn().unwrap();
    let spans = t.until("the whole", |s| s.len() == 3 + 4);
    agy.close().unwrap();
    let whole = distinct(&spans);
    assert_eq!(whole.len(), 4, "the same ids again");
    assert!(!incomplete(&spans).unwrap().contains("incomplete"), "{:?}", incomplete(&spans));
    assert_eq!(first.iter().filter(|s| whole.contains_key(&(s.trace(), s.id()))).count(), 3);
}

#[test]
fn r6_s11_a_sub_agents_turns_hang_below_the_tool_that_started_it() {
    let t = Traced::new();
    let mut agy = t.agy(&uuid());
    let mut child = asks_around(&mut agy, &plain_call());
    let child_id = child.id().to_owned();
    let spans = t.until("all", |s| distinct(s).len() >= 6);
    assert_eq!(spans.iter().map(Received::trace).collect::<BTreeSet<_>>().len(), 1, "one trace");
    let by_conversation = |id: &str| {
        let of = |s: &&Received| s.text("gen_ai.conversation.id") == Some(id);
        of_kind(&spans, "AGENT").into_iter().find(of).unwrap().clone()
    };
    let inner = by_conversation(&child_id);
    let tool = spans.iter().find(|s| Some(s.id()) == inner.parent()).unwrap();
    assert_eq!((kind(tool), tool.text("tool.name")), ("TOOL", Some("invoke_subagent")));
    // It goes on after its parent's turn: its later turn comes to the same trace, and nothing twice.
    child.prompt("And once more").unwrap();
    child.call().unwrap();
    child.end_turn().unwrap();
    let spans = t.until("its later turn", |s| distinct(s).len() >= 8);
    child.close().unwrap();
    agy.close().unwrap();
    assert_eq!(spans.iter().map(Received::trace).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(of_kind(distinct(&spans).values(), "AGENT").len(), 3);
}

#[test]
fn r2_a_deleted_database_still_gives_the_turn_from_the_transcript() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    agy.prompt("Lost").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call().tool("run_command", json!({}))).unwrap();
    agy.tool_begins("run_command", json!({})).unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call()).unwrap();
    for path in [t.rig.home.db(&id), t.rig.home.wal(&id), t.rig.home.shm(&id)] {
        std::fs::remove_file(path).unwrap();
    }
    agy.end_turn().unwrap();
    let spans = t.until("the turn", |s| distinct(s).len() == 4);
    drop(agy);
    for call in of_kind(&spans, "LLM") {
        let is_tokens = |k: &String| k.starts_with("gen_ai.usage.") || k.starts_with("llm.token_count.");
        assert!(!call.attributes.keys().any(is_tokens), "{call:?}");
    }
    assert_eq!(of_kind(&spans, "TOOL").len(), 1);
    let text = format!("{:?}", of_kind(&spans, "AGENT")[0].attributes);
    assert!(text.contains("approximate") || text.contains("transcript"), "{text}");
}

#[test]
fn r12_turns_of_the_ide_are_traced_and_told_apart_and_have_a_switch() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "In the IDE", 1);
    t.until("the CLI's", |s| distinct(s).len() == 2);
    let stop = agy.hooks().runs().iter().rfind(|r| r.event == agy_sim::HookEvent::Stop).unwrap().clone();
    agy.close().unwrap();
    // The same files in the IDE's folder, and the hook that it would run.
    let root = t.rig.home.root();
    std::fs::rename(root.join("antigravity-cli"), root.join("antigravity-ide")).unwrap();
    let fire = || {
        let mut hook = t.rig.command(&["trace", "hook", "Stop"]);
        let mut hook =
            hook.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        let stdin = stop.stdin.replace("antigravity-cli", "antigravity-ide");
        std::io::Write::write_all(&mut hook.stdin.take().unwrap(), stdin.as_bytes()).unwrap();
        assert!(hook.wait().unwrap().success());
    };
    fire();
    let spans = t.until("the IDE's", |s| s.len() == 4);
    let surface = |s: &Received| s.resource.values().any(|v| format!("{v:?}").contains("antigravity-ide"));
    assert_eq!(spans.iter().filter(|s| surface(s)).count(), 2);
    // Switched off, nothing is sent.
    std::fs::remove_dir_all(t.rig.data_dir().join("tracing/turns")).unwrap();
    let path = t.rig.config().config_dir.join("settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    settings["tracing"]["surfaces"] = json!({"antigravity-ide": false});
    std::fs::write(&path, settings.to_string()).unwrap();
    fire();
    until("it was heard", || t.files("jobs", ".job").is_empty().then_some(()));
    t.work();
    assert_eq!(t.backend.spans().len(), 4);
}
