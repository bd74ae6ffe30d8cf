//! Hook events as a hook would write them, by hand, over live conversations of agy-sim: journal, doorbell, board.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{
    io::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use agenthub_core::Time;
use agenthub_engine::{
    Clock, Options, Snapshot,
    view::{DoctorDocument, Outcome, State, TimelineKind},
};
use agy_sim::{Esc, Live, LiveSpec, ToolEnd};
use serde_json::{Value, json};

use crate::rig::{Rig, Watched, lane, uuid};

const CWD: &str = "/home/user/src/api-server";

fn state_of(s: &Snapshot) -> Option<State> {
    lane(s, CWD).map(|l| l.lane.state)
}

fn play(rig: &Rig) -> Live {
    Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).expect("a live conversation")
}

/// What agy would write to a hook of this session.
fn body(rig: &Rig, id: &str, more: &Value) -> Value {
    let brain = rig.home.cli().join("brain").join(id);
    let mut body = json!({
        "conversationId": id,
        "transcriptPath": brain.join(".system_generated/logs/transcript_full.jsonl"),
        "artifactDirectoryPath": brain,
        "workspacePaths": [CWD],
        "modelName": "gemini-3.8-flash-high",
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn record(event: &str, body: &str) -> String {
    static PID: AtomicU64 = AtomicU64::new(100);
    let ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("AH1 {} {ns} {} {event}\n{body}\n", body.len(), PID.fetch_add(1, Ordering::Relaxed))
}

/// Into the journal by one write, without ringing.
fn append(rig: &Rig, text: &str) {
    let hooks = rig.data_dir().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let journal = std::fs::OpenOptions::new().create(true).append(true).open(hooks.join("journal"));
    journal.unwrap().write_all(text.as_bytes()).unwrap();
}

#[cfg(unix)]
fn ring(rig: &Rig) {
    let bell = std::os::unix::net::UnixDatagram::unbound().unwrap();
    bell.set_nonblocking(true).unwrap();
    // Nobody listens while the app is closed.
    let _ = bell.send_to(b"!", rig.data_dir().join("hooks/doorbell"));
}

#[cfg(not(unix))]
fn ring(_: &Rig) {}

fn tell(rig: &Rig, event: &str, id: &str, more: Value) {
    append(rig, &record(event, &body(rig, id, &more).to_string()));
    ring(rig);
}

fn call(rig: &Rig, id: &str, num: u32) {
    tell(rig, "PreInvocation", id, json!({ "invocationNum": num, "initialNumSteps": 1 }));
}

fn tool(rig: &Rig, id: &str) {
    let call = json!({ "toolCall": { "name": "run_command", "args": {} }, "stepIdx": 2, "error": "" });
    tell(rig, "PostToolUse", id, call);
}

fn stop(rig: &Rig, id: &str, idle: bool) {
    let more =
        json!({ "executionNum": 0, "terminationReason": "NO_TOOL_CALL", "error": "", "fullyIdle": idle });
    tell(rig, "Stop", id, more);
}

fn until(engine: &Watched, what: &str, state: State) -> std::sync::Arc<Snapshot> {
    engine.until(what, |s| state_of(s) == Some(state)).0
}

/// The state does not change for a while: later than the reading after a hook's.
fn stays(engine: &Watched, state: State, at_least: Duration) {
    let began = Instant::now();
    while began.elapsed() < at_least {
        assert_eq!(state_of(&engine.host.watch().borrow()), Some(state));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn decided(s: &Snapshot) -> (String, String) {
    let why = &lane(s, CWD).unwrap().lane.why.decided;
    (why.source.clone(), why.fact.clone())
}

#[test]
fn l01_a_hook_is_shown_before_the_database_has_it() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.hold_writes();
    call(&rig, &id, 0);
    let s = until(&engine, "running", State::Running);
    assert_eq!(decided(&s).0, "hook");
    agy.prompt("Rename the crate").unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    stop(&rig, &id, true);
    let s = until(&engine, "idle", State::Idle);
    assert_eq!((decided(&s).0.as_str(), lane(&s, CWD).unwrap().lane.outcome), ("hook", Outcome::Finished));
    agy.flush().unwrap();
    stays(&engine, State::Idle, Duration::from_millis(2_500));
}

#[test]
fn l01_the_database_first_and_then_the_hook_is_the_same() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    let late = |event: &str, more: Value| record(event, &body(&rig, &id, &more).to_string());
    let told = engine.record(
        || {
            agy.prompt("Rename the crate").unwrap();
            let began = late("PreInvocation", json!({ "invocationNum": 0 }));
            until(&engine, "running", State::Running);
            append(&rig, &began);
            ring(&rig);
            agy.call().unwrap();
            agy.tool_begins("run_command", json!({ "CommandLine": "ls" })).unwrap();
            agy.tool_ends(ToolEnd::ok()).unwrap();
            let ended = late("PostToolUse", json!({ "stepIdx": 2, "toolCall": { "name": "run_command" } }));
            agy.call().unwrap();
            agy.end_turn().unwrap();
            until(&engine, "idle", State::Idle);
            append(&rig, &ended);
            append(&rig, &late("Stop", json!({ "fullyIdle": true, "terminationReason": "NO_TOOL_CALL" })));
            ring(&rig);
        },
        |s| {
            lane(s, CWD).is_some_and(|l| {
                l.lane.state == State::Idle && l.lane.why.beat.iter().any(|e| e.source == "hook")
            })
        },
    );
    let mut states: Vec<State> = told.iter().filter_map(|s| state_of(s)).collect();
    states.dedup();
    let states: Vec<State> = states.into_iter().skip_while(|s| *s == State::Idle).collect();
    // The hook of the tool came late and was from before the end: nothing flapped.
    assert_eq!(states, [State::Running, State::Idle]);
    stays(&engine, State::Idle, Duration::from_millis(2_500));
}

#[test]
fn u36_a_lost_stop_ends_by_its_executor_row_and_the_next_prompt_is_a_new_turn() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Rename the crate").unwrap();
    call(&rig, &id, 0);
    agy.call().unwrap();
    until(&engine, "running", State::Running);
    agy.end_turn().unwrap();
    let s = until(&engine, "idle", State::Idle);
    assert_eq!(decided(&s).0, "database");
    let ended = lane(&s, CWD).unwrap().lane.since.clone();
    call(&rig, &id, 0);
    let s = until(&engine, "running again", State::Running);
    assert!(lane(&s, CWD).unwrap().lane.since > ended, "a new turn");
}

#[test]
fn h10_a_sub_agents_stop_does_not_end_its_parent() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Refactor everything").unwrap();
    call(&rig, &id, 0);
    agy.call().unwrap();
    let mut child = agy.subagent("Reader", "Find every query").unwrap();
    let of_child = child.id().to_owned();
    call(&rig, &of_child, 0);
    engine.until("both at work", |s| lane(s, CWD).is_some_and(|l| l.members.len() == 2));
    child.call().unwrap();
    child.end_turn().unwrap();
    stop(&rig, &of_child, true);
    engine.until("the sub-agent is idle", |s| {
        lane(s, CWD).is_some_and(|l| l.members.iter().any(|m| m.id == of_child && m.state == State::Idle))
    });
    stays(&engine, State::Running, Duration::from_millis(500));
    assert_eq!(engine.host.watch().borrow().board.lanes.len(), 1);
    tool(&rig, &id);
    agy.call().unwrap();
    agy.end_turn().unwrap();
    stop(&rig, &id, true);
    until(&engine, "idle", State::Idle);
}

#[test]
fn l05_4_a_pause_for_background_work_is_one_running_period() {
    let rig = Rig::new();
    let mut engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Build it in the background").unwrap();
    call(&rig, &id, 0);
    agy.call().unwrap();
    stop(&rig, &id, false);
    engine.until("held", |s| lane(s, CWD).is_some_and(|_| decided(s).1.contains("background")));
    // Its executor row is written while the work goes on.
    agy.end_turn().unwrap();
    stays(&engine, State::Running, Duration::from_millis(600));
    // L10: a restart assumes nothing stopped.
    drop(engine);
    engine = rig.start();
    stays(&engine, State::Running, Duration::from_millis(300));
    call(&rig, &id, 0);
    stays(&engine, State::Running, Duration::from_millis(300));
    stop(&rig, &id, true);
    until(&engine, "idle", State::Idle);
}

#[test]
fn l10_events_of_a_closed_app_are_known_at_its_next_start() {
    let rig = Rig::new();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Rename the crate").unwrap();
    drop(rig.start());
    call(&rig, &id, 0);
    let more = json!({ "terminationReason": "error", "error": "quota is used up", "fullyIdle": true });
    tell(&rig, "Stop", &id, more);
    let engine = rig.start();
    let s = until(&engine, "the error", State::Error);
    assert_eq!(lane(&s, CWD).unwrap().detail.as_deref(), Some("quota is used up"));
    drop(engine);
    // The journal is gone; the facts are kept.
    std::fs::remove_file(rig.data_dir().join("hooks/journal")).unwrap();
    let engine = rig.start();
    let s = until(&engine, "still the error", State::Error);
    assert_eq!(decided(&s).0, "hook");
    agy.close().unwrap();
    engine.until("settled, the error still there", |s| {
        lane(s, CWD).is_some_and(|l| l.members.is_empty() && l.lane.state == State::Error)
    });
    drop(engine);
    until(&rig.start(), "and after another start", State::Error);
    // The command line alone sees it as well.
    let lanes = rig.json(&["lanes", "--json"]);
    assert_eq!(lanes["lanes"][0]["state"], "error", "{lanes}");
}

#[test]
fn l05_2_an_answered_permission_is_cleared_by_a_hook() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Delete it all").unwrap();
    call(&rig, &id, 0);
    agy.tool_waits("run_command", json!({ "CommandLine": "rm -r target" })).unwrap();
    until(&engine, "waiting", State::Waiting);
    // A parallel tool's end does not take it off.
    tool(&rig, &id);
    std::thread::sleep(Duration::from_millis(300));
    stays(&engine, State::Waiting, Duration::from_millis(300));
    agy.allow().unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    tool(&rig, &id);
    until(&engine, "running", State::Running);
    agy.call_begins().unwrap();
    agy.esc(Esc::Canceled).unwrap();
    until(&engine, "idle after Esc", State::Idle);
}

#[test]
fn s06_a_folder_that_a_hook_has_set_stays() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd("/elsewhere")).unwrap();
    let id = agy.id().to_owned();
    agy.prompt("Hello").unwrap();
    engine.until("its own folder", |s| lane(s, "/elsewhere").is_some());
    call(&rig, &id, 0);
    engine.until("the hook's folder", |s| lane(s, CWD).is_some() && lane(s, "/elsewhere").is_none());
    tell(&rig, "PreInvocation", &id, json!({ "workspacePaths": [], "invocationNum": 1 }));
    agy.call().unwrap();
    stays(&engine, State::Running, Duration::from_millis(500));
    drop(engine);
    let engine = rig.start();
    engine.until("after a restart", |s| lane(s, CWD).is_some() && lane(s, "/elsewhere").is_none());
    assert_eq!(engine.host.session(&id).unwrap().row.session.cwd.as_deref(), Some(CWD));
}

#[test]
fn l01_a_session_is_shown_before_its_conversation_is_there() {
    let rig = Rig::new();
    let engine = rig.start();
    let id = uuid();
    call(&rig, &id, 0);
    let s = until(&engine, "running", State::Running);
    assert_eq!(lane(&s, CWD).unwrap().lane.sessions, std::slice::from_ref(&id));
    drop(engine);
    let engine = rig.start();
    until(&engine, "running after a restart", State::Running);
    let _agy = Live::start(&rig.home, LiveSpec::new(&id).cwd(CWD)).unwrap();
    engine.until("one session still", |s| lane(s, CWD).is_some_and(|l| l.members.len() == 1));
}

#[test]
fn l04_with_hooks_a_session_settles_after_ten_quiet_minutes() {
    let rig = Rig::new();
    let sim_clock = agy_sim::Clock::manual(agy_sim::At::now());
    let now = || Time::from_micros(sim_clock.peek().as_micros());
    let clock = Clock::hand(now());
    let config = agenthub_engine::Config { poll_ms: 250, ..rig.config() };
    let engine = rig.start_with(config, Options { clock: clock.clone(), ..Options::default() });
    let spec = LiveSpec::new(&uuid()).cwd(CWD).clock(&sim_clock).without_presence();
    let mut agy = Live::start(&rig.home, spec).unwrap();
    agy.prompt("Think about it").unwrap();
    call(&rig, agy.id(), 0);
    engine.until("running by a hook", |s| state_of(s) == Some(State::Running) && decided(s).0 == "hook");
    let began = now();
    clock.set(began.plus_ms(9 * 60_000));
    stays(&engine, State::Running, Duration::from_millis(600));
    clock.set(began.plus_ms(10 * 60_000 + 30_000));
    let (s, _) = engine.until("settled", |s| lane(s, CWD).is_some_and(|l| l.members.is_empty()));
    assert_eq!(lane(&s, CWD).unwrap().lane.outcome, Outcome::Quiet);
}

fn finding(doctor: &DoctorDocument, code: &str) -> String {
    doctor.findings.iter().find(|f| f.code == code).map(|f| f.message.clone()).unwrap_or_default()
}

#[test]
fn h08_what_is_not_the_clis_is_counted_and_changes_nothing() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Hello").unwrap();
    agy.call().unwrap();
    until(&engine, "running", State::Running);
    let ide = |p: &str| rig.home.root().join(p).join(&id).display().to_string();
    for path in [ide("antigravity/brain"), ide("antigravity-cli/../antigravity/brain"), "/etc/x".to_owned()] {
        tell(&rig, "Stop", &id, json!({ "transcriptPath": path }));
    }
    tell(&rig, "Stop", "not-a-uuid", json!({}));
    tell(&rig, "Stop", "../../../etc", json!({}));
    tell(&rig, "PreToolUse", &id, json!({}));
    tell(&rig, "SessionStart", &id, json!({}));
    append(&rig, &record("Stop", "[1, 2"));
    append(&rig, &record("Stop", &json!({ "conversationId": uuid() }).to_string()));
    // Cut off by a full disk; the next hook gives its own record a line of its own.
    append(&rig, &record("Stop", &body(&rig, &id, &json!({})).to_string())[..120]);
    append(&rig, "\ngarbage\n\0\u{1}\n");
    std::fs::write(rig.data_dir().join("hooks/dropped"), "fff.ewetlu").unwrap();
    tool(&rig, &id);
    engine.until("the tool is known", |s| {
        lane(s, CWD).is_some_and(|l| {
            std::iter::once(&l.lane.why.decided).chain(&l.lane.why.beat).any(|e| e.source == "hook")
        })
    });
    stays(&engine, State::Running, Duration::from_millis(300));
    let doctor = engine.host.doctor().unwrap();
    assert_eq!((doctor.counts["hook_events"], doctor.counts["hook_events_dropped"]), (1, 20));
    for (code, count) in [
        ("not_the_cli", 3),
        ("bad_id", 2),
        ("unknown_event", 3),
        ("not_kept", 1),
        ("empty", 2),
        ("unwritable", 1),
        ("late", 1),
        ("too_long", 1),
        ("bad_body", 1),
        ("no_conversation", 1),
        ("unreadable", 1),
        ("full", 3),
    ] {
        let message = finding(&doctor, &format!("hook_dropped_{code}"));
        assert!(message.starts_with(&format!("{count} ")), "{code}: {message:?}");
    }
    assert!(finding(&doctor, "hook_events").starts_with("Hook events: 1 PostToolUse; the last one at 20"));
}

#[test]
fn h08_an_event_without_its_body_is_activity() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let bare = json!({ "conversationId": agy.id() }).to_string();
    agy.prompt("Hello").unwrap();
    agy.end_turn().unwrap();
    until(&engine, "idle", State::Idle);
    append(&rig, &record("Stop", &bare));
    ring(&rig);
    stays(&engine, State::Idle, Duration::from_millis(300));
    append(&rig, &record("PreInvocation", &bare));
    ring(&rig);
    until(&engine, "running", State::Running);
}

#[cfg(target_os = "linux")]
#[test]
fn b05_from_a_hook_event_to_a_changed_board() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Hello").unwrap();
    for _ in 0..40 {
        agy.call().unwrap();
    }
    agy.end_turn().unwrap();
    until(&engine, "idle", State::Idle);
    let mut took = Vec::new();
    for i in 0..200 {
        let wanted = if i % 2 == 0 { State::Running } else { State::Idle };
        let began = Instant::now();
        if i % 2 == 0 {
            call(&rig, &id, 0);
        } else {
            stop(&rig, &id, true);
        }
        engine.until("the change", |s| state_of(s) == Some(wanted));
        took.push(began.elapsed());
    }
    took.sort();
    println!(
        "hook event to changed board: median {:?}, p95 {:?}, most {:?}",
        took[100], took[190], took[199]
    );
}

#[test]
fn s12_a_step_that_hook_and_database_know_is_one_entry_and_hooks_tell_what_only_they_know() {
    let rig = Rig::new();
    let engine = rig.start_polling();
    let mut agy = play(&rig);
    let id = agy.id().to_owned();
    agy.prompt("Go").unwrap();
    call(&rig, &id, 0);
    agy.call().unwrap();
    let step = agy.tool_begins("run_command", json!({ "CommandLine": "make" })).unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    for (name, step) in [("run_command", step), ("view_file", 99)] {
        let call = json!({ "toolCall": { "name": name, "args": {} }, "stepIdx": step, "error": "" });
        tell(&rig, "PostToolUse", &id, call);
    }
    let tools = || {
        // Before it was read for the first time it may be busy.
        let timeline = engine.host.session(&id).map(|detail| detail.timeline).unwrap_or_default();
        timeline.into_iter().filter(|e| e.kind == TimelineKind::Tool).collect::<Vec<_>>()
    };
    engine.until("the hook's own", |s| {
        state_of(s).is_some() && tools().iter().any(|e| e.name.as_deref() == Some("view_file"))
    });
    let told: Vec<_> = tools().iter().map(|e| (e.step, e.duration_ms.is_some())).collect();
    assert_eq!(told, [(Some(i64::from(step)), true), (Some(99), false)]);
    assert_eq!(engine.host.session(&id).unwrap().timeline_note, None);
    // The file and its transcript are gone: the hooks' course is what is left of it.
    agy.close().unwrap();
    for file in [rig.home.db(&id), rig.home.transcript(&id), rig.home.transcript_full(&id)] {
        let gone = std::fs::remove_file(file);
        assert!(gone.is_ok() || gone.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound));
    }
    engine.until("marked", |_| engine.host.session(&id).is_ok_and(|d| d.row.file_gone));
    let left = engine.host.session(&id).unwrap();
    let told: Vec<_> = left.timeline.iter().map(|e| (e.kind, e.turn, e.step)).collect();
    assert_eq!(
        told,
        [
            (TimelineKind::Prompt, 1, None),
            (TimelineKind::Call, 1, None),
            (TimelineKind::Tool, 1, Some(i64::from(step))),
            (TimelineKind::Tool, 1, Some(99)),
        ]
    );
    assert!(left.timeline_note.is_some_and(|n| n.contains("gone") && n.contains("hooks told")));
}
