//! Live conversations, played by agy-sim while the engine watches, with no hook installed.

use std::{path::Path, time::Duration};

use agenthub_core::Time;
use agenthub_engine::{
    Clock, Options, Snapshot,
    view::{Outcome, State},
};
use agy_sim::{Call, Esc, Live, LiveSpec, SimProcess, ToolEnd};
use serde_json::json;

use crate::rig::{Rig, lane, no_lane_of_a_sub_agent, uuid};

const CWD: &str = "/home/user/src/api-server";
/// What the spec promises from a write to a changed lane (B5); the bound of a wait, so that a slow machine fails late.
const SECOND: Duration = Duration::from_secs(1);
/// Room for a machine that is busy with other tests.
const SLOW: u32 = 20;

fn state_of(s: &Snapshot) -> Option<State> {
    lane(s, CWD).map(|l| l.lane.state)
}

fn play(rig: &Rig) -> Live {
    Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).expect("a live conversation")
}

#[test]
fn l05_a_turn_runs_waits_runs_and_ends_without_a_hook() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let seen = |what: &str, state: State| {
        let (s, took) = engine.within(SECOND * SLOW, what, |s| state_of(s) == Some(state));
        println!("{what}: {took:?}");
        s
    };
    agy.prompt("Add soft-delete to invoices").unwrap();
    seen("running after a prompt", State::Running);
    agy.call().unwrap();
    agy.tool_waits("run_command", json!({ "CommandLine": "cargo sqlx migrate run", "Cwd": CWD })).unwrap();
    let s = seen("waiting at a permission", State::Waiting);
    let waiting = lane(&s, CWD).unwrap();
    assert_eq!(waiting.lane.waiting_for.as_deref(), Some("run_command"));
    assert_eq!(waiting.detail.as_deref(), Some("cargo sqlx migrate run"));
    assert_eq!(waiting.lane.why.decided.source, "database");
    agy.allow().unwrap();
    seen("running again", State::Running);
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let s = seen("idle at the end", State::Idle);
    let lane = lane(&s, CWD).unwrap();
    assert_eq!(lane.lane.outcome, Outcome::Finished);
    assert_eq!(lane.members.len(), 1, "the session stays active while agy has it open");
    assert!(lane.members[0].tokens_total.unwrap() > 0);
}

#[test]
fn u41_a_denied_permission_takes_the_waiting_off() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    agy.prompt("Delete it all").unwrap();
    agy.tool_waits("run_command", json!({ "CommandLine": "rm -r target" })).unwrap();
    engine.until("waiting", |s| state_of(s) == Some(State::Waiting));
    agy.deny().unwrap();
    engine.until("no longer waiting", |s| state_of(s) == Some(State::Running));
    agy.call_begins().unwrap();
    agy.esc(Esc::Canceled).unwrap();
    let (s, _) = engine.until("idle after Esc", |s| state_of(s) == Some(State::Idle));
    assert_eq!(lane(&s, CWD).unwrap().lane.outcome, Outcome::Canceled);
}

#[test]
fn l05_an_api_error_without_a_stop_is_an_error_and_a_new_turn_clears_it() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    agy.prompt("Summarise the log").unwrap();
    agy.api_error(429, "RESOURCE_EXHAUSTED").unwrap();
    let (s, took) = engine.until("error", |s| state_of(s) == Some(State::Error));
    println!("error after {took:?} (5 s of silence)");
    assert_eq!(lane(&s, CWD).unwrap().lane.outcome, Outcome::Failed);
    assert_eq!(s.board.summary.line, "1 failed");
    agy.prompt("Try again").unwrap();
    engine.until("running", |s| state_of(s) == Some(State::Running));
}

/// Puts a conversation into `home` as agy leaves it between its first transaction, which makes the tables, and its second,
/// which brings the first rows: those of `full`. The second is under way; calling what is returned commits it.
fn only_begun(home: &agy_sim::Home, id: &str, full: &Path) -> impl FnOnce() + use<> {
    let begun = full.with_extension("begun");
    std::fs::copy(full, &begun).unwrap();
    let tables: Vec<String> = {
        let db = rusqlite::Connection::open(&begun).unwrap();
        let mut query = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let tables: Vec<String> = query.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        for table in &tables {
            db.execute(&format!("DELETE FROM {table}"), []).unwrap();
        }
        tables
    };
    std::fs::create_dir_all(home.conversations()).unwrap();
    std::fs::rename(&begun, home.db(id)).unwrap();
    let db = rusqlite::Connection::open(home.db(id)).unwrap();
    db.execute("ATTACH ?1 AS full", [full.to_str().unwrap()]).unwrap();
    db.execute_batch("BEGIN").unwrap();
    for table in &tables {
        db.execute(&format!("INSERT INTO main.{table} SELECT * FROM full.{table}"), []).unwrap();
    }
    move || db.execute_batch("COMMIT").unwrap()
}

/// agy makes a file's tables in one transaction and its first rows in the next. What is read in between says nothing of the
/// folder or the parent, and a lane of its own would be gone a moment later.
#[test]
fn s01_a_conversation_that_says_nothing_yet_has_no_lane() {
    let rig = Rig::new();
    let elsewhere = agy_sim::Home::temp().unwrap();
    let id = uuid();
    let mut agy = Live::start(&elsewhere, LiveSpec::new(&id).cwd(CWD)).unwrap();
    agy.prompt("Add soft-delete to invoices").unwrap();
    agy.close().unwrap();
    let goes_on = only_begun(&rig.home, &id, &elsewhere.db(&id));

    let engine = rig.start();
    engine.until("read and stored", |_| engine.host.session(&id).is_ok());
    assert!(engine.host.watch().borrow().board.lanes.is_empty());
    let told = engine
        .record(goes_on, |s| lane(s, CWD).is_some_and(|l| l.lane.sessions == std::slice::from_ref(&id)));
    assert!(told.iter().flat_map(|s| &s.board.lanes).all(|l| l.lane.cwd.as_deref() == Some(CWD)));
}

/// A file that was just read is left alone for a moment. A sub-agent that begins and ends meanwhile is read before the rows
/// that started it, and stood for its parent's lane: finished, where its parent works.
#[test]
fn l06_a_sub_agent_waits_for_a_parent_that_said_nothing_when_it_was_read() {
    let rig = Rig::new();
    let elsewhere = agy_sim::Home::temp().unwrap();
    let id = uuid();
    let mut agy = Live::start(&elsewhere, LiveSpec::new(&id).cwd(CWD)).unwrap();
    agy.prompt("Refactor everything").unwrap();
    agy.call().unwrap();
    let mut sub = agy.subagent("Reader", "Find every query").unwrap();
    let child = sub.id().to_owned();
    sub.prompt("Find every query").unwrap();
    sub.call().unwrap();
    sub.end_turn().unwrap();
    sub.close().unwrap();
    agy.close().unwrap();
    let goes_on = only_begun(&rig.home, &id, &elsewhere.db(&id));
    let begins = rig.home.db(&child).with_extension("begins");
    std::fs::copy(elsewhere.db(&child), &begins).unwrap();

    let engine = rig.start();
    engine.until("the parent read and stored", |_| engine.host.session(&id).is_ok());
    let told = engine.record(
        || {
            goes_on();
            std::fs::rename(&begins, rig.home.db(&child)).unwrap();
        },
        |s| lane(s, CWD).is_some_and(|l| l.lane.sessions.contains(&id) && l.lane.sessions.contains(&child)),
    );
    for l in told.iter().flat_map(|s| &s.board.lanes) {
        assert!(l.lane.sessions.contains(&id), "a sub-agent alone is no lane: {l:#?}");
    }
}

#[test]
fn l07_an_error_stays_until_it_is_dismissed() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    agy.prompt("Summarise the log").unwrap();
    agy.api_error(500, "INTERNAL").unwrap();
    let (s, _) = engine.until("error", |s| state_of(s) == Some(State::Error));
    let id = lane(&s, CWD).unwrap().lane.id.clone();
    agy.close().unwrap();
    engine.until("settled, the error still there", |s| {
        lane(s, CWD).is_some_and(|l| l.members.is_empty() && l.lane.state == State::Error)
    });
    engine.host.dismiss(&id).unwrap();
    engine.until("dismissed", |s| state_of(s) == Some(State::Idle));
    drop(engine);
    let engine = rig.start();
    engine.until("still dismissed after a restart", |s| state_of(s) == Some(State::Idle));
}

#[test]
fn l05_a_headless_refusal_is_idle() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    agy.prompt("Run the tests").unwrap();
    agy.call().unwrap();
    engine.until("running", |s| state_of(s) == Some(State::Running));
    agy.headless_refusal("run_command", json!({ "CommandLine": "cargo test" })).unwrap();
    engine.until("idle", |s| state_of(s) == Some(State::Idle));
}

#[test]
fn l03_killed_in_the_middle_it_settles_and_is_marked() {
    let rig = Rig::new();
    let engine = rig.start();
    let program = agy_sim::program().expect("agy-sim is built");
    let mut agy = SimProcess::spawn(&program, &rig.home, &["--cwd", CWD]).expect("agy-sim plays");
    agy.send("prompt Rename the crate").unwrap();
    agy.send("call").unwrap();
    agy.send("tool run_command {\"CommandLine\":\"cargo build\"}").unwrap();
    engine.until("running, lock seen", |s| {
        lane(s, CWD).is_some_and(|l| {
            l.lane.state == State::Running
                && l.lane.why.beat.iter().any(|e| e.source == "presence" && e.fact.contains("holds"))
        })
    });
    let id = agy.id().to_owned();
    agy.kill().unwrap();
    let (s, took) = engine.within(Duration::from_secs(2) * SLOW, "settled", |s| {
        lane(s, CWD).is_some_and(|l| l.members.is_empty())
    });
    println!("settled after {took:?}");
    let l = lane(&s, CWD).unwrap();
    assert_eq!((l.lane.state, l.lane.outcome), (State::Idle, Outcome::Unfinished));
    let detail = engine.host.session(&id).unwrap();
    assert_eq!(detail.row.session.outcome, Outcome::Unfinished);
    // Whoever has no notifications reads it, too.
    let told = rig.json(&["lanes", "--json"]);
    assert_eq!(told["lanes"][0]["outcome"], "unfinished", "{told}");
    for command in [&["lanes"][..], &["sessions"], &["session", &id]] {
        let text = String::from_utf8(rig.agenthub(command).stdout).unwrap();
        assert!(text.contains("nded without finishing"), "{command:?}: {text}");
    }
    assert!(
        detail.timeline.iter().any(|e| e.name.as_deref() == Some("run_command")),
        "rows of the -wal are told"
    );
}

#[test]
fn l04_a_quiet_session_settles_after_two_minutes() {
    let rig = Rig::new();
    let start = agy_sim::At::now();
    let sim_clock = agy_sim::Clock::manual(start);
    let clock = Clock::hand(Time::from_micros(start.as_micros()));
    let config = agenthub_engine::Config { poll_ms: 250, ..rig.config() };
    let engine = rig.start_with(config, Options { clock: clock.clone(), ..Options::default() });
    let spec = LiveSpec::new(&uuid()).cwd(CWD).clock(&sim_clock).without_presence();
    let mut agy = Live::start(&rig.home, spec).unwrap();
    agy.prompt("Think about it").unwrap();
    agy.call_begins().unwrap();
    engine.until("running", |s| state_of(s) == Some(State::Running));
    let now = Time::from_micros(sim_clock.peek().as_micros());
    clock.set(now.plus_ms(110_000));
    // The next pass is a quarter of a second away: what it says of 110 s is that nothing changed.
    agy.call_streams("still here").unwrap();
    engine.until("still running after 110 s", |s| state_of(s) == Some(State::Running));
    let now = Time::from_micros(sim_clock.peek().as_micros());
    clock.set(now.plus_ms(121_000));
    let (s, _) = engine.until("settled", |s| lane(s, CWD).is_some_and(|l| l.members.is_empty()));
    let l = lane(&s, CWD).unwrap();
    assert_eq!((l.lane.state, l.lane.outcome), (State::Idle, Outcome::Quiet));
    assert_eq!(l.lane.why.decided.source, "clock");
}

#[test]
fn l09_a_turn_of_twenty_tools_and_a_sub_agent_is_one_running_period() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let told = engine.record(
        || {
            agy.prompt("Refactor everything").unwrap();
            let mut child = None;
            for i in 0..20 {
                agy.call().unwrap();
                agy.tool_begins("view_file", json!({ "AbsolutePath": format!("/src/{i}.rs") })).unwrap();
                if i == 7 {
                    let mut sub = agy.subagent("Reader", "Find every query").unwrap();
                    sub.prompt("Find every query").unwrap();
                    sub.call().unwrap();
                    sub.end_turn().unwrap();
                    child = Some(sub);
                }
                agy.tool_ends(if i % 5 == 0 { ToolEnd::fails() } else { ToolEnd::ok() }).unwrap();
            }
            agy.call().unwrap();
            engine.until("all of it read", |s| state_of(s) == Some(State::Running));
            agy.end_turn().unwrap();
            drop(child);
        },
        // Not the idle of the first moment, when its prompt is not there yet.
        |s| lane(s, CWD).is_some_and(|l| l.lane.state == State::Idle && l.lane.outcome == Outcome::Finished),
    );
    let mut states: Vec<State> = told.iter().filter_map(|s| state_of(s)).collect();
    states.dedup();
    // It may be seen before its prompt is there.
    let states: Vec<State> = states.into_iter().skip_while(|s| *s == State::Idle).collect();
    assert_eq!(states, [State::Running, State::Idle]);
    no_lane_of_a_sub_agent(&told);
}

#[test]
fn s03_rewind_fork_and_late_rows_are_followed_live() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let first = agy.prompt("One").unwrap();
    agy.call_ends_with(Call::model(1016).tokens(100, 10, 5, 1).response_id("call-1"));
    agy.end_turn().unwrap();
    agy.prompt("Two").unwrap();
    agy.call_ends_with(Call::model(1016).tokens(200, 20, 0, 2).response_id("call-2"));
    agy.end_turn().unwrap();
    let id = agy.id().to_owned();
    let total = |engine: &crate::rig::Watched| {
        engine.host.session(&id).ok().and_then(|d| d.row.session.tokens).map(|t| t.total)
    };
    engine.until("both calls", |_| total(&engine) == Some(335));
    let _ = first;
    agy.rewind(first).unwrap();
    agy.prompt("One, again").unwrap();
    agy.call_ends_with(Call::model(1016).tokens(1_000, 30, 0, 3).response_id("call-3"));
    agy.end_turn().unwrap();
    engine.until("a rewind takes nothing away", |_| total(&engine) == Some(335 + 1_030));
    let fork = agy.fork().unwrap();
    let fork_id = fork.id().to_owned();
    engine.until("the fork is listed, with no call of its own", |_| {
        engine.host.session(&fork_id).is_ok_and(|d| {
            d.row.session.forked_from.as_deref() == Some(id.as_str())
                && d.row.session.tokens.is_some_and(|t| t.total == 0)
        })
    });
    assert_eq!(total(&engine), Some(335 + 1_030));
    // Rows that come after the end of the turn count without any further sign (user-reports 5).
    agy.prompt("Three").unwrap();
    agy.hold_writes();
    agy.call_ends_with(Call::model(1016).tokens(5_000, 0, 0, 0).response_id("call-4"));
    agy.flush().unwrap();
    engine.until("late rows", |_| total(&engine) == Some(335 + 1_030 + 5_000));
}

/// A whole call of one verb.
trait WholeCall {
    fn call_ends_with(&mut self, call: Call);
}

impl WholeCall for Live {
    fn call_ends_with(&mut self, call: Call) {
        self.call_begins().unwrap();
        self.call_ends(&call).unwrap();
    }
}
