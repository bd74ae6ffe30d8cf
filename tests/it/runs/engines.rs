//! Runs with engines that come late, go, and come again, and runs that are killed.

use agenthub_core::Time;
use agenthub_engine::{Clock, Options};

use super::*;

/// A run that lives until its stdin ends.
fn cat(rig: &Rig, own: &[&str]) -> Child {
    run(rig, own).arg("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn l05_1_no_engine_is_needed_and_one_that_comes_late_knows() {
    let rig = Rig::new();
    let child = cat(&rig, &["--name", "early"]);
    command_pid(&rig);
    let lane = |rig: &Rig| rig.json(&["lanes", "--json"])["lanes"][0].clone();
    assert_eq!((&lane(&rig)["state"], &lane(&rig)["name"]), (&"running".into(), &"early".into()));
    let engine = rig.start();
    engine.run_is("early", State::Running);
    // The engine goes, and the run with nobody looking.
    drop(engine);
    end(child);
    assert_eq!(lane(&rig)["state"], "idle");
    let engine = rig.start();
    assert!(is(&engine.host.watch().borrow(), "early", State::Idle));
}

#[test]
fn l10_an_engine_that_is_started_again_says_the_same() {
    let rig = Rig::new();
    let mut agy = play(&rig, &["--name", "r"], &["--cwd", CWD]);
    agy.send("prompt Go").unwrap();
    agy.send("wait run_command {}").unwrap();
    for _ in 0..3 {
        let engine = rig.start();
        let lane = engine.run_is("r", State::Waiting);
        assert_eq!((lane.members.len(), lane.lane.waiting_for.as_deref()), (1, Some("run_command")));
        assert!(lane_without_run(&engine.host.watch().borrow()).is_none());
    }
    agy.quit().unwrap();
}

#[test]
fn l05_1_a_killed_command_is_an_error() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig, &["--name", "r"], &["--cwd", CWD]);
    agy.send("prompt Go").unwrap();
    agy.send("wait run_command {}").unwrap();
    engine.run_is("r", State::Waiting);
    signal(command_pid(&rig), Signal::KILL);
    let lane = engine.run_is("r", State::Error);
    assert_eq!(
        (lane.lane.outcome, lane.detail.as_deref()),
        (Outcome::Failed, Some("agy-sim was ended by SIGKILL"))
    );
    engine.host.dismiss(&lane.lane.id).unwrap();
    engine.run_is("r", State::Idle);
    let engine = {
        drop(engine);
        rig.start()
    };
    assert!(is(&engine.host.watch().borrow(), "r", State::Idle), "still dismissed after a restart");
}

#[test]
fn l07_a_failed_run_is_dismissed_from_the_command_line_too() {
    let rig = Rig::new();
    for (name, code) in [("nightly", "3"), ("good", "0")] {
        sh(&rig, &["--name", name], &format!("exit {code}")).status().unwrap();
    }
    let lanes = || {
        let doc = rig.json(&["lanes", "--json"]);
        let lanes = doc["lanes"].as_array().unwrap().clone();
        lanes.iter().map(|l| format!("{} {}", l["name"], l["state"]).replace('"', "")).collect::<Vec<_>>()
    };
    assert!(lanes().contains(&"nightly error".to_owned()));
    // With an engine that runs, and which follows.
    let engine = rig.start();
    for (what, status) in [("nightly", Some(0)), ("good", Some(2)), ("nobody", Some(1))] {
        let out = rig.agenthub(&["lanes", "--dismiss", what]);
        assert_eq!(out.status.code(), status, "{what}: {}", String::from_utf8_lossy(&out.stderr));
    }
    engine.run_is("nightly", State::Idle);
    drop(engine);
    assert!(lanes().contains(&"nightly idle".to_owned()));
}

#[test]
fn l05_1_who_waits_is_killed_and_the_command_works_on() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig, &["--name", "r"], &["--cwd", CWD]);
    agy.send("prompt Go").unwrap();
    engine.within(LATE, "its session", |s| run_lane(s, "r").is_some_and(|l| l.members.len() == 1));
    let command = command_pid(&rig);
    signal(Pid::from_raw(i32::try_from(agy.pid()).unwrap()).unwrap(), Signal::KILL);
    // It still plays, and its lane still follows it.
    agy.send("wait run_command {}").unwrap();
    engine.run_is("r", State::Waiting);
    agy.send("allow").unwrap();
    engine.run_is("r", State::Running);
    signal(command, Signal::KILL);
    let lane = engine.run_is("r", State::Error);
    assert_eq!(lane.lane.outcome, Outcome::Unfinished);
    assert!(lane.lane.why.decided.fact.contains("ended without finishing"), "{:?}", lane.lane.why);
    assert!(records(&rig).iter().any(|l| l["lost"]["at_us"].is_i64()), "the moment is kept");
    let since = lane.lane.since;
    drop(engine);
    let engine = rig.start();
    let again = run_lane(&engine.host.watch().borrow(), "r").unwrap().lane.since.clone();
    assert_eq!(again, since);
}

#[test]
fn l05_1_both_killed_while_nobody_looked_is_seen_by_the_next_engine() {
    let rig = Rig::new();
    let mut child = cat(&rig, &["--name", "r"]);
    let command = command_pid(&rig);
    child.kill().unwrap();
    child.wait().unwrap();
    // Its stdin ended with the pipe's other end; if it is still there, it is killed.
    let _ = rustix::process::kill_process(command, Signal::KILL);
    wait_for("both gone", || {
        let doc = rig.json(&["lanes", "--json"]);
        (doc["lanes"][0]["state"] == "error").then_some(())
    });
    let engine = rig.start();
    assert_eq!(run_lane(&engine.host.watch().borrow(), "r").unwrap().lane.outcome, Outcome::Unfinished);
}

#[test]
fn a_hundred_runs_at_once_are_a_hundred_lanes_and_leave_one_small_file_each() {
    let rig = Rig::new();
    let engine = rig.start();
    let names: Vec<String> = (0..100).map(|n| format!("run {n}")).collect();
    let children: Vec<Child> = names.iter().map(|name| cat(&rig, &["--name", name])).collect();
    engine.within(LATE, "all running", |s| {
        s.board.summary.running == 100 && names.iter().all(|n| is(s, n, State::Running))
    });
    for child in children {
        end(child);
    }
    engine.within(LATE, "all idle", |s| s.board.summary.idle == 100);
    let left: Vec<_> = std::fs::read_dir(rig.data_dir().join("runs")).unwrap().map(|f| f.unwrap()).collect();
    assert_eq!(left.len(), 100);
    assert!(left.iter().all(|f| f.metadata().unwrap().len() < 2_048));
}

#[test]
fn old_records_are_removed_a_week_after_their_lane_left_the_board() {
    let rig = Rig::new();
    let mut agy = play(&rig, &["--name", "old"], &["--cwd", CWD]);
    agy.send("prompt Go").unwrap();
    let id = agy.id().to_owned();
    {
        let engine = rig.start();
        engine.within(LATE, "its session", |s| run_lane(s, "old").is_some_and(|l| l.members.len() == 1));
        agy.send("end-turn").unwrap();
        agy.quit().unwrap();
        engine.run_is("old", State::Idle);
    }
    let later = |days: i64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let clock = Clock::hand(
            Time::from_micros(i64::try_from(now.as_micros()).unwrap()).plus_ms(days * 86_400_000),
        );
        rig.start_with(rig.config(), Options { clock, ..Options::default() })
    };
    let engine = later(5);
    assert!(engine.host.watch().borrow().board.lanes.is_empty(), "it left the board");
    assert_eq!(engine.host.session(&id).unwrap().row.lane_name, "old");
    drop(engine);
    let engine = later(8);
    assert_eq!(std::fs::read_dir(rig.data_dir().join("runs")).unwrap().count(), 0);
    assert_eq!(engine.host.session(&id).unwrap().row.lane_name, "api-server", "its sessions stay");
}
