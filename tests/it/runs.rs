//! `agenthub run` with real processes, real locks and real signals: its lane follows the command, the command's sessions
//! stand in that lane only, and the command does not notice us.

mod engines;
mod passing;
mod terminal;

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use agenthub_engine::{
    Snapshot,
    view::{BoardLane, Outcome, State},
};
use agy_sim::{LiveSpec, SimProcess};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::rig::{Rig, Watched, uuid};

const CWD: &str = "/home/user/src/api-server";
/// What must come comes well before this, also on a machine that is busy with other tests.
const LATE: Duration = Duration::from_secs(90);

/// `agenthub run` with its own arguments and `--`, before the command.
fn run(rig: &Rig, own: &[&str]) -> Command {
    let mut c = rig.command(&["run"]);
    c.args(own).arg("--").current_dir(rig.home.root());
    c
}

/// agy-sim as the command of a run.
fn play(rig: &Rig, own: &[&str], args: &[&str]) -> SimProcess {
    play_by(rig, run(rig, own), args)
}

fn play_by(rig: &Rig, run: Command, args: &[&str]) -> SimProcess {
    // `spawn_by` puts its own words after the command: the program must be the last one so far.
    let mut command = run;
    command.arg(agy_sim::program().expect("agy-sim is built"));
    SimProcess::spawn_by(command, &rig.home, args).expect("agy-sim plays")
}

/// A shell script as the command of a run.
fn sh(rig: &Rig, own: &[&str], script: &str) -> Command {
    let mut c = run(rig, own);
    c.args(["sh", "-c", script]);
    c
}

/// The run lanes of a board, by name.
fn run_lane<'a>(s: &'a Snapshot, name: &str) -> Option<&'a BoardLane> {
    s.board.lanes.iter().find(|l| l.lane.run_id.is_some() && l.lane.name == name)
}

fn is(s: &Snapshot, name: &str, state: State) -> bool {
    run_lane(s, name).is_some_and(|l| l.lane.state == state)
}

/// The lines of all records.
fn records(rig: &Rig) -> Vec<Value> {
    let Ok(folder) = std::fs::read_dir(rig.data_dir().join("runs")) else { return Vec::new() };
    folder
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "run"))
        .flat_map(|p| {
            let text = std::fs::read_to_string(p).unwrap_or_default();
            text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect::<Vec<Value>>()
        })
        .collect()
}

/// Waits for a condition that no engine tells.
#[track_caller]
fn wait_for<T>(what: &str, is: impl Fn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(started.elapsed() < LATE, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process of the one command that was started.
fn command_pid(rig: &Rig) -> Pid {
    wait_for("the command's process", || {
        let pid = records(rig).iter().find_map(|l| l["started"]["pid"].as_i64())?;
        Pid::from_raw(i32::try_from(pid).unwrap())
    })
}

fn signal(pid: Pid, signal: Signal) {
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

impl Watched {
    /// Waits for a state of the run lane of this name.
    #[track_caller]
    fn run_is(&self, name: &str, state: State) -> BoardLane {
        let what = format!("{name} {state:?}");
        run_lane(&self.within(LATE, &what, |s| is(s, name, state)).0, name).unwrap().clone()
    }
}

#[test]
fn l08_a_runs_lane_follows_it_and_its_sessions_stand_there_only() {
    let rig = Rig::new();
    let engine = rig.start();
    // Another session in the same folder, which is nobody's run.
    let other = uuid();
    let mut plain = agy_sim::Live::start(&rig.home, LiveSpec::new(&other).cwd(CWD)).unwrap();
    plain.prompt("Look around").unwrap();
    let mut agy = play(&rig, &["--name", "nightly"], &["--cwd", CWD]);
    let id = agy.id().to_owned();
    agy.send("prompt Add soft-delete to invoices").unwrap();
    let (s, _) = engine.within(LATE, "running with its session", |s| {
        run_lane(s, "nightly").is_some_and(|l| l.lane.sessions == std::slice::from_ref(&id))
            && lane_without_run(s).is_some()
    });
    let running = run_lane(&s, "nightly").unwrap();
    assert_eq!((running.lane.state, running.lane.why.decided.source.as_str()), (State::Running, "run"));
    assert_eq!(
        (running.lane.tool.as_str(), running.lane.id.as_str()),
        ("antigravity", format!("run:{}", running.lane.run_id.as_deref().unwrap()).as_str())
    );
    assert_eq!(lane_without_run(&s).unwrap().lane.sessions, std::slice::from_ref(&other));

    agy.send("call").unwrap();
    agy.send("wait run_command {\"CommandLine\":\"cargo sqlx migrate run\"}").unwrap();
    let waiting = engine.run_is("nightly", State::Waiting);
    assert_eq!(waiting.lane.waiting_for.as_deref(), Some("run_command"));
    assert_eq!(waiting.lane.why.decided.source, "database");
    assert_eq!(waiting.lane.why.beat[0].source, "run");
    agy.send("allow").unwrap();
    engine.run_is("nightly", State::Running);
    agy.send("tool-end ok").unwrap();
    // A sub-agent of its session stands there too.
    let child = agy.send("subagent scout|Find the callers").unwrap();
    let (s, _) = engine.within(LATE, "the sub-agent", |s| {
        run_lane(s, "nightly").is_some_and(|l| l.lane.sessions.contains(&child))
    });
    assert_eq!(lane_without_run(&s).unwrap().lane.sessions, std::slice::from_ref(&other));
    agy.send("call").unwrap();
    agy.send(&format!("use {id}")).unwrap();
    agy.send("call").unwrap();
    agy.send("end-turn").unwrap();
    agy.quit().unwrap();
    let ended = engine.run_is("nightly", State::Idle);
    assert_eq!(
        (ended.lane.outcome, ended.lane.why.decided.fact.as_str()),
        (Outcome::Finished, "agy-sim ended (exit code 0)")
    );
    let (s, _) =
        engine.within(LATE, "settled", |s| run_lane(s, "nightly").is_some_and(|l| l.members.is_empty()));
    let lane = lane_without_run(&s).unwrap();
    assert_eq!(
        (lane.lane.state, lane.members.len()),
        (State::Running, 1),
        "the folder's own lane is untouched"
    );
    // What they used together is what the lane used.
    engine.within(LATE, "its tokens of today", |s| {
        let all = engine.host.session(&id).ok().and_then(|d| d.with_subagents);
        let today = run_lane(s, "nightly").and_then(|l| l.lane.tokens_today);
        all.is_some_and(|all| all.calls == 3 && today == Some(all.tokens))
    });
    // Lists know it, too: under its lane, by its name, and in no other.
    let row = engine.host.session(&id).unwrap().row;
    assert_eq!((row.lane_name.as_str(), row.lane_id.as_str()), ("nightly", ended.lane.id.as_str()));
    let query = |lane: &str| agenthub_engine::view::SessionsQuery {
        lane_id: Some(lane.to_owned()),
        ..Default::default()
    };
    let page = engine.host.sessions(&query(&ended.lane.id)).unwrap();
    assert_eq!(page.rows.iter().map(|r| &r.session.id).collect::<Vec<_>>(), [&id]);
    assert!(page.lanes.iter().any(|l| l.id == ended.lane.id && l.name == "nightly"), "{:?}", page.lanes);
    let page = engine.host.sessions(&query(&lane.lane.id)).unwrap();
    assert_eq!(page.rows.iter().map(|r| &r.session.id).collect::<Vec<_>>(), [&other]);

    // Remembered, by an engine that never saw the process.
    drop(engine);
    let engine = rig.start();
    let s = engine.host.watch().borrow().clone();
    assert!(is(&s, "nightly", State::Idle));
    assert_eq!(engine.host.session(&id).unwrap().row.lane_id, ended.lane.id);
}

fn lane_without_run(s: &Snapshot) -> Option<&BoardLane> {
    s.board.lanes.iter().find(|l| l.lane.run_id.is_none() && l.lane.cwd.as_deref() == Some(CWD))
}

#[test]
fn l08_a_session_that_is_taken_up_elsewhere_leaves_its_runs_lane() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig, &["--name", "nightly"], &["--cwd", CWD]);
    let id = agy.id().to_owned();
    agy.send("prompt Go").unwrap();
    agy.send("call").unwrap();
    agy.send("end-turn").unwrap();
    engine.within(LATE, "its session", |s| run_lane(s, "nightly").is_some_and(|l| !l.members.is_empty()));
    agy.quit().unwrap();
    engine.run_is("nightly", State::Idle);
    // `--continue` in a terminal: the same conversation, a process of nobody's run.
    let file = rig.home.presence(&id);
    let held = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    held.try_lock().expect("agy let go of it");
    rig.home
        .raw_db(&id, |db| {
            db.execute("UPDATE trajectory_meta SET source = source", [])?;
            Ok(())
        })
        .unwrap();
    let (s, _) = engine.within(LATE, "in its folder's lane", |s| {
        lane_without_run(s).is_some_and(|l| l.lane.sessions == std::slice::from_ref(&id))
    });
    assert!(run_lane(&s, "nightly").unwrap().members.is_empty());
    assert_eq!(engine.host.session(&id).unwrap().row.lane_name, "api-server");
}

#[test]
fn l08_without_a_lock_agys_log_tells_whose_a_session_is() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig, &["--name", "old agy"], &["--cwd", CWD, "--no-presence"]);
    let id = agy.id().to_owned();
    agy.send("prompt Go").unwrap();
    agy.send("wait run_command {\"CommandLine\":\"make\"}").unwrap();
    let waiting = engine.run_is("old agy", State::Waiting);
    assert_eq!(waiting.lane.sessions, std::slice::from_ref(&id));
    // Killed while it asked: the question is nobody's any more, and no quiet window is waited for.
    signal(command_pid(&rig), Signal::KILL);
    let failed = engine.run_is("old agy", State::Error);
    assert_eq!(failed.lane.why.decided.fact, "agy-sim was ended by SIGKILL");
    assert!(failed.lane.sessions.is_empty());
    assert_eq!(engine.host.session(&id).unwrap().row.session.outcome, Outcome::Unfinished);
    assert!(engine.host.watch().borrow().board.lanes.iter().all(|l| l.lane.run_id.is_some()));
}

#[test]
fn l08_files_may_carry_a_time_from_before_their_run() {
    let rig = Rig::new();
    let mut agy = play(&rig, &["--name", "old agy"], &["--cwd", CWD, "--no-presence"]);
    let id = agy.id().to_owned();
    agy.send("prompt Go").unwrap();
    agy.send("wait run_command {}").unwrap();
    // The kernel stamps files by its last tick, which on a fast machine is one from before the run began.
    let began = records(&rig).iter().find_map(|l| l["began"]["at_us"].as_u64()).expect("the run's record");
    let tick = std::time::UNIX_EPOCH + Duration::from_micros(began - 9_000);
    for (path, _) in crate::rig::tree(&rig.home.root().join("antigravity-cli")) {
        if path.is_file() {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(tick).unwrap();
        }
    }
    let engine = rig.start_polling();
    let waiting = engine.run_is("old agy", State::Waiting);
    assert_eq!(waiting.lane.sessions, std::slice::from_ref(&id));
    agy.quit().unwrap();
}

#[test]
fn l08_of_nested_runs_the_innermost_has_the_session() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut outer = run(&rig, &["--name", "outer"]);
    outer.arg(env!("CARGO_BIN_EXE_agenthub")).args(["run", "--name", "inner", "--"]);
    let mut agy = play_by(&rig, outer, &["--cwd", CWD]);
    agy.send("prompt Go").unwrap();
    let (s, _) = engine.within(LATE, "both, and the session", |s| {
        run_lane(s, "inner").is_some_and(|l| l.members.len() == 1)
    });
    assert!(is(&s, "outer", State::Running) && run_lane(&s, "outer").unwrap().members.is_empty());
    assert!(lane_without_run(&s).is_none());
    agy.quit().unwrap();
    engine.run_is("inner", State::Idle);
    engine.run_is("outer", State::Idle);
}

#[test]
fn l08_an_orphan_of_a_run_that_goes_on_is_still_its_own_and_one_that_outlives_it_is_not() {
    let rig = Rig::new();
    let engine = rig.start();
    let pipe = rig.home.root().join("commands");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let out = rig.home.root().join("answers");
    // Whoever started agy is gone at once; the run goes on until its stdin ends.
    let script = format!(
        "(\"$0\" play --home \"$1\" --cwd {CWD} <\"$2\" >\"$3\" 2>&1 &) ; echo started; read line; exit 0",
    );
    let mut command = sh(&rig, &["--name", "launcher"], &script);
    command.arg(agy_sim::program().unwrap()).arg(rig.home.root()).arg(&pipe).arg(&out);
    let mut launcher = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(launcher.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    let mut commands = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    commands.write_all(b"prompt Go\ntool run_command {\"CommandLine\":\"make\"}\n").unwrap();
    let (s, _) = engine.within(LATE, "the orphan's session", |s| {
        run_lane(s, "launcher").is_some_and(|l| l.members.len() == 1)
    });
    assert!(lane_without_run(&s).is_none());
    // The run ends; what it left behind works on, and is shown where it works.
    launcher.stdin.take().unwrap().write_all(b"end\n").unwrap();
    assert!(launcher.wait().unwrap().success());
    engine.run_is("launcher", State::Idle);
    let (s, _) = engine.within(LATE, "its own lane", |s| {
        lane_without_run(s).is_some_and(|l| l.lane.state == State::Running && l.members.len() == 1)
    });
    assert!(run_lane(&s, "launcher").unwrap().members.is_empty());
    commands.write_all(b"quit\n").unwrap();
}

#[test]
fn p6_nothing_of_the_commands_words_is_written_down() {
    let rig = Rig::new();
    let mut command = run(&rig, &[]);
    command.args(["sh", "-c", "exit 0", "the secret plan", "-p", "prompt words"]);
    assert!(command.env("AGENTHUB_LOG", "trace").output().unwrap().status.success());
    let lanes = rig.agenthub(&["lanes", "--json"]);
    let text = String::from_utf8(lanes.stdout).unwrap();
    assert!(text.contains("\"sh · ") && !text.contains("secret"), "{text}");
    for (path, _) in crate::rig::tree(&rig.data_dir()) {
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            for word in ["secret plan", "prompt words"] {
                let found = bytes.windows(word.len()).any(|w| w == word.as_bytes());
                assert!(!found, "{} holds the command's words", path.display());
            }
        }
    }
}

fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().expect("agenthub runs")
}

fn read_all(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).expect("text");
    text
}
