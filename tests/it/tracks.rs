//! The lanes' tracks in time (spec §7).

use agenthub_engine::view::{LaneTrack, SegmentKind, State, Tracks, TracksQuery};
use agy_sim::{At, Live, LiveSpec, ToolEnd, demo};
use serde_json::json;

use crate::rig::{Rig, Watched, lane, uuid};

const CWD: &str = "/home/user/src/atlas";
const OTHER: &str = "/home/user/src/billing";

fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).unwrap().to_string()
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn ask(w: &Watched, lanes: &[&str]) -> Tracks {
    ask_since(w, 60, lanes)
}

fn ask_since(w: &Watched, minutes: i64, lanes: &[&str]) -> Tracks {
    let query = TracksQuery {
        since: rfc3339(now_ms() - minutes * 60_000),
        until: None,
        lanes: lanes.iter().map(|l| (*l).to_owned()).collect(),
    };
    w.host.tracks(&query).unwrap()
}

fn track<'a>(t: &'a Tracks, w: &Watched, cwd: &str) -> &'a LaneTrack {
    let board = w.host.watch().borrow().clone();
    let id = &lane(&board, cwd).unwrap().lane.id;
    t.lanes.iter().find(|l| l.lane_id == *id).unwrap()
}

/// Kinds, and whether they go on.
fn told(t: &LaneTrack) -> Vec<(SegmentKind, bool)> {
    t.segments.iter().map(|s| (s.kind, s.to_ms.is_none())).collect()
}

#[test]
fn w1_a_lane_is_a_track_in_time_and_follows_its_turn() {
    use SegmentKind::{Turn, Wait};
    let rig = Rig::new();
    let w = rig.start();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    let mut other = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(OTHER)).unwrap();
    let before = now_ms();
    agy.prompt("Migrate").unwrap();
    agy.call().unwrap();
    agy.tool_waits("run_command", json!({"CommandLine": "make"})).unwrap();
    other.prompt("Bill").unwrap();
    other.call().unwrap();
    let is = |cwd, state| {
        w.until(&format!("{cwd} {state:?}"), |s| lane(s, cwd).is_some_and(|l| l.lane.state == state));
    };
    is(CWD, State::Waiting);
    is(OTHER, State::Running);

    let t = ask(&w, &[]);
    let here = track(&t, &w, CWD);
    assert_eq!(told(here), [(Turn, true), (Wait, true)]);
    assert!(here.segments[0].from_ms >= before - 1 && here.segments[0].from_ms <= t.until_ms);
    assert!(!here.cut && here.segments.iter().all(|s| !s.approximate));
    assert_eq!(told(track(&t, &w, OTHER)), [(Turn, true)]);

    agy.allow().unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    other.call_begins().unwrap();
    other.api_error(429, "quota exhausted").unwrap();
    is(CWD, State::Idle);
    is(OTHER, State::Error);
    let t = ask(&w, &[]);
    assert!(told(track(&t, &w, CWD)).iter().all(|(_, open)| !open), "{t:#?}");
    let broke = track(&t, &w, OTHER);
    assert_eq!(told(broke), [(Turn, false), (SegmentKind::Error, false)]);
    let apart = broke.segments[0].to_ms.unwrap() - broke.segments[1].from_ms;
    assert!(apart.abs() < 1_000, "it broke where it ended, and not {apart} ms off");

    // Only the lanes that were asked for.
    let one = ask(&w, &[&track(&t, &w, CWD).lane_id.clone()]);
    assert_eq!(one.lanes.len(), 1);
    agy.close().unwrap();
    other.close().unwrap();
}

#[test]
fn w1_a_turn_that_agy_left_behind_ends_with_its_last_write() {
    let rig = Rig::new();
    let w = rig.start();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Migrate").unwrap();
    agy.call_begins().unwrap();
    w.until("running", |s| lane(s, CWD).is_some_and(|l| l.lane.state == State::Running));
    assert_eq!(told(track(&ask(&w, &[]), &w, CWD)), [(SegmentKind::Turn, true)]);
    agy.kill().unwrap();
    w.until("settled", |s| lane(s, CWD).is_some_and(|l| l.lane.sessions.is_empty()));
    assert_eq!(told(track(&ask(&w, &[]), &w, CWD)), [(SegmentKind::Turn, false)]);
}

#[test]
fn w1_a_sub_agent_works_in_its_parents_lane() {
    let rig = Rig::new();
    let w = rig.start();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Look everywhere").unwrap();
    agy.call().unwrap();
    let mut child = agy.subagent("Searcher", "find it").unwrap();
    child.call().unwrap();
    w.until("both", |s| lane(s, CWD).is_some_and(|l| l.members.len() == 2));
    let t = ask(&w, &[]);
    assert_eq!(t.lanes.len(), 1, "{t:#?}");
    // Their turns overlap, so that they are one.
    assert_eq!(told(&t.lanes[0]).iter().filter(|(k, _)| *k == SegmentKind::Turn).count(), 1);
    child.close().unwrap();
    agy.close().unwrap();
}

#[test]
fn w1_the_demos_lanes_were_at_work_in_every_span_and_all_of_it_is_over() {
    let rig = Rig::new();
    let newest = demo::fill_today(&rig.home, 7, At::now()).unwrap();
    let w = rig.start();
    w.until("every lane", |s| s.board.lanes.len() == newest.len() && s.board.scan.is_none());
    let board = w.host.watch().borrow().clone();
    for l in &board.board.lanes {
        assert_eq!((l.lane.state, l.lane.sessions.len()), (State::Idle, 0), "{}", l.lane.name);
    }
    assert!(board.notices.is_empty(), "{:#?}", board.notices);
    for (minutes, turns) in [(15, 1), (60, 2), (480, 2)] {
        let t = ask_since(&w, minutes, &[]);
        assert_eq!(t.lanes.len(), newest.len());
        for lane in &t.lanes {
            let told = told(lane);
            let of = |kind| told.iter().filter(|(k, _)| *k == kind).count();
            assert!(told.iter().all(|(_, open)| !open) && !lane.cut, "{minutes}: {told:?}");
            assert!(of(SegmentKind::Turn) >= turns && of(SegmentKind::Tool) > 0, "{minutes}: {told:?}");
        }
        let all = t.lanes.iter().flat_map(told).map(|(kind, _)| kind).collect::<Vec<_>>();
        assert!(all.contains(&SegmentKind::Wait), "{minutes}: {all:?}");
        assert!(minutes < 480 || all.contains(&SegmentKind::Error), "{all:?}");
    }
}

#[test]
fn a_stretch_that_makes_no_sense_is_refused() {
    let rig = Rig::new();
    let w = rig.start();
    let ask = |since: &str, until: Option<&str>| {
        let q = TracksQuery { since: since.into(), until: until.map(Into::into), lanes: Vec::new() };
        w.host.tracks(&q)
    };
    for (since, until) in [
        ("yesterday", None),
        ("2026-11-30T08:00:00Z", Some("noon")),
        ("2026-01-01T00:00:00Z", None),
        ("9999-01-01T00:00:00Z", None),
    ] {
        assert_eq!(ask(since, until).unwrap_err().code, "bad_request", "{since} {until:?}");
    }
    assert!(ask(&rfc3339(now_ms()), None).unwrap().lanes.is_empty());
}
