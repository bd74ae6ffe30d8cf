//! The course of a session (spec S12).

use agenthub_agy::{EntryKind, EntryState, TimelineEntry, list, timeline};
use agy_sim::{Clock, Layout, Live, LiveSpec, ToolEnd, ToolUse};
use serde_json::json;

use crate::world::home_of;

const ID: &str = "2c6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";

fn play(sim: &agy_sim::Home, layout: Layout) {
    let clock = Clock::manual(agy_sim::WORLD_END);
    let mut live = Live::start(sim, LiveSpec::new(ID).layout(layout).clock(&clock)).unwrap();
    live.prompt("fix it").unwrap();
    let test = json!({"CommandLine": "cargo test", "Cwd": "/w"});
    live.call_begins().unwrap();
    let mut call = live.plausible_call();
    call.tools.push(ToolUse::new("run_command", test.clone()));
    live.call_ends(&call).unwrap();
    live.tool_waits("run_command", test).unwrap();
    live.allow().unwrap();
    live.tool_ends(ToolEnd::ok()).unwrap();
    live.call().unwrap();
    live.tool_waits("run_command", json!({"CommandLine": "rm -rf /"})).unwrap();
    live.deny().unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    live.title_call("Fixing it").unwrap();
    live.prompt("more").unwrap();
    live.checkpoint_compaction("what was").unwrap();
    live.call_begins().unwrap();
    live.api_error(503, "overloaded").unwrap();
    live.close().unwrap();
}

fn line(e: &TimelineEntry) -> String {
    let name = if e.kind == EntryKind::Call { None } else { e.name.as_deref() };
    let tokens = if e.tokens.is_some() { " tokens" } else { "" };
    format!("{} {} {}{tokens} {}", e.turn, e.kind.name(), e.state.name(), name.unwrap_or(""))
        .trim_end()
        .to_owned()
}

#[test]
fn s12_a_timeline_tells_prompts_calls_tools_waits_and_errors() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let sim = agy_sim::Home::temp().unwrap();
        play(&sim, layout);
        let home = home_of(&sim);
        let t = timeline(&home, &list(&home).entries[0]).unwrap();
        let lines: Vec<String> = t.entries.iter().map(line).collect();
        let expected = [
            "1 prompt done",
            "1 call done tokens",
            "1 wait done run_command",
            "1 tool done run_command",
            "1 call done tokens",
            "1 wait denied run_command",
            "1 tool denied run_command",
            "1 call done tokens",
            "1 call done tokens",
            "2 prompt done",
            "2 checkpoint done",
            "2 call done tokens",
            "2 call failed",
            "2 error failed",
        ];
        assert_eq!(lines, expected, "{layout:?}");
        assert!(!t.truncated && !t.from_transcript && t.warnings.is_empty());
        assert!(t.entries.iter().all(|e| e.at.is_some() && !e.approximate));
        let tool = &t.entries[3];
        assert!(tool.args.as_deref().unwrap().contains("cargo test"));
        assert!(tool.duration_ms.is_some());
        assert_eq!(t.entries[0].text.as_deref(), Some("fix it"));
        assert_eq!(t.entries.last().unwrap().text.as_deref(), Some("overloaded"));
        assert!(t.entries[1].text.is_some() && t.entries[1].call.is_some() && t.entries[1].model.is_some());
    }
}

#[test]
fn s12_a_database_that_cant_be_read_is_told_from_the_transcript() {
    let sim = agy_sim::Home::temp().unwrap();
    play(&sim, Layout::V1_2);
    let home = home_of(&sim);
    let entry = list(&home).entries.remove(0);
    std::fs::write(sim.db(ID), "no database any more ".repeat(300)).unwrap();
    let t = timeline(&home, &entry).unwrap();
    assert!(t.from_transcript);
    assert!(t.entries.iter().all(|e| e.approximate && e.tokens.is_none()));
    let tools: Vec<_> = t.entries.iter().filter(|e| e.kind == EntryKind::Tool).collect();
    assert!(tools.iter().any(|e| e.state == EntryState::Done && e.args.is_some()), "{:?}", t.entries);
    assert_eq!(t.entries[0].kind, EntryKind::Prompt);
    std::fs::remove_dir_all(home.brain(&entry.id)).unwrap();
    assert!(timeline(&home, &entry).is_err());
}
