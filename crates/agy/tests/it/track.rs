//! What went on in a stretch of time.

use std::time::Duration;

use agenthub_agy::{Span, SpanKind, Track, list, track};
use agenthub_core::Time;
use agy_sim::{Clock, Layout, Live, LiveSpec, ToolEnd, trajectory::reason};
use serde_json::json;

use crate::world::home_of;

const ID: &str = "2c6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";

/// A conversation by a clock that stands still between verbs, and its spans in seconds since it began.
struct Play {
    sim: agy_sim::TempHome,
    clock: Clock,
    start: Time,
}

impl Play {
    fn begin(layout: Layout) -> (Play, Live) {
        let sim = agy_sim::Home::temp().unwrap();
        let clock = Clock::manual(agy_sim::WORLD_END);
        let start = now(&clock);
        let live = Live::start(&sim, LiveSpec::new(ID).layout(layout).clock(&clock)).unwrap();
        (Play { sim, clock, start }, live)
    }

    /// So many seconds pass.
    fn pass(&self, s: u64) {
        self.clock.advance(Duration::from_secs(s));
    }

    fn track(&self, since_s: i64) -> Track {
        let home = home_of(&self.sim);
        track(&home, &list(&home).entries[0], self.start.plus_ms(since_s * 1000)).unwrap()
    }

    fn told(&self, since_s: i64) -> Vec<String> {
        let s = |t: Time| t.ms_since(self.start).div_euclid(1000);
        let line = |span: &Span| match (span.kind, span.to) {
            (SpanKind::Error, _) => format!("Error {}", s(span.from)),
            (kind, Some(to)) => format!("{kind:?} {}-{}", s(span.from), s(to)),
            (kind, None) => format!("{kind:?} {}-", s(span.from)),
        };
        self.track(since_s).spans.iter().map(line).collect()
    }
}

fn now(clock: &Clock) -> Time {
    let since = clock.peek().system_time().duration_since(std::time::UNIX_EPOCH).unwrap();
    Time::from_micros(i64::try_from(since.as_micros()).unwrap())
}

#[test]
fn w1_a_turn_its_tools_and_its_waits_have_their_times() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let (play, mut live) = Play::begin(layout);
        live.prompt("fix it").unwrap();
        live.call_begins().unwrap();
        play.pass(10);
        let call = live.plausible_call();
        live.call_ends(&call).unwrap();
        live.tool_begins("view_file", json!({"AbsolutePath": "/w/a"})).unwrap();
        play.pass(5);
        live.tool_ends(ToolEnd::ok()).unwrap();
        live.tool_waits("run_command", json!({"CommandLine": "make"})).unwrap();
        play.pass(60);
        assert_eq!(play.told(0), ["Turn 0-", "Tool 10-15", "Wait 15-"], "{layout:?}");
        live.allow().unwrap();
        play.pass(20);
        assert_eq!(play.told(0).last().unwrap(), "Tool 75-");
        live.tool_ends(ToolEnd::ok()).unwrap();
        live.call().unwrap();
        live.end_turn().unwrap();
        play.pass(600);
        let over = play.told(0);
        assert_eq!(&over[..2], ["Turn 0-95", "Tool 10-15"], "{layout:?}");
        assert_eq!(&over[2..], ["Wait 15-75", "Tool 75-95"], "{layout:?}");
        live.close().unwrap();
    }
}

#[test]
fn w1_a_denied_tool_did_not_run_and_a_broken_turn_has_its_error() {
    let (play, mut live) = Play::begin(Layout::V1_2);
    live.prompt("go").unwrap();
    live.call().unwrap();
    live.tool_waits("run_command", json!({"CommandLine": "rm -rf /"})).unwrap();
    play.pass(30);
    live.deny().unwrap();
    live.call_begins().unwrap();
    play.pass(4);
    live.api_error(503, "overloaded").unwrap();
    assert_eq!(play.told(0), ["Turn 0-34", "Wait 0-30", "Error 34"]);
    // The next turn takes nothing from it; one that agy itself gave up is an error without a step.
    play.pass(60);
    live.prompt("again").unwrap();
    live.call().unwrap();
    play.pass(6);
    live.call().unwrap();
    live.end_turn_with(reason::ERROR).unwrap();
    assert_eq!(play.told(0)[3..], ["Turn 94-100", "Error 100"]);
    live.close().unwrap();
}

#[test]
fn w1_between_two_executions_of_a_turn_agy_was_held() {
    let (play, mut live) = Play::begin(Layout::V1_2);
    live.prompt("build").unwrap();
    live.call().unwrap();
    play.pass(5);
    live.call().unwrap();
    live.end_turn().unwrap();
    play.pass(100);
    live.wakes("the build is done").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    assert_eq!(play.told(0), ["Turn 0-105", "Held 5-105"]);
    live.close().unwrap();
}

#[test]
fn w1_a_queued_message_starts_its_turn_when_agy_takes_it_up() {
    let (play, mut live) = Play::begin(Layout::V1_2);
    live.prompt("one").unwrap();
    live.call_begins().unwrap();
    play.pass(10);
    live.queue_prompt("two").unwrap();
    let call = live.plausible_call();
    live.call_ends(&call).unwrap();
    live.tool_begins("view_file", json!({"AbsolutePath": "/w/a"})).unwrap();
    play.pass(10);
    live.tool_ends(ToolEnd::ok()).unwrap();
    live.end_turn().unwrap();
    play.pass(1);
    live.take_up_queued().unwrap();
    live.call_begins().unwrap();
    play.pass(9);
    assert_eq!(play.told(0), ["Turn 0-20", "Tool 10-20", "Turn 21-"]);
    live.kill().unwrap();
}

#[test]
fn w1_only_what_touches_the_stretch_is_told_and_a_long_turn_from_its_beginning() {
    let (play, mut live) = Play::begin(Layout::V1_2);
    for _ in 0..3 {
        live.prompt("go").unwrap();
        live.call().unwrap();
        play.pass(50);
        live.call().unwrap();
        live.end_turn().unwrap();
        play.pass(50);
    }
    assert_eq!(play.told(160), ["Turn 100-150", "Turn 200-250"][1..]);
    assert_eq!(play.told(120), ["Turn 100-150", "Turn 200-250"]);
    live.prompt("and now for long").unwrap();
    for i in 0..60 {
        live.tool_begins("view_file", json!({"AbsolutePath": format!("/w/{i}")})).unwrap();
        play.pass(10);
        live.tool_ends(ToolEnd::ok()).unwrap();
    }
    live.end_turn().unwrap();
    let late = play.told(880);
    assert_eq!(late[0], "Turn 300-900");
    assert_eq!(late.len(), 4, "{late:?}");
    assert!(!play.track(880).cut);
    live.close().unwrap();
}
