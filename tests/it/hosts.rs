//! Two hosts on one data folder, and the command line's likeness to the engine.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Stdio},
};

use agenthub_engine::view::State;
use agy_sim::{Live, LiveSpec};
use serde_json::Value;

use crate::rig::{Rig, lane, uuid};

const CWD: &str = "/home/user/src/atlas";

struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(rig: &Rig) -> Watch {
        let mut child = rig.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watch { child, lines }
    }

    /// Reads lines until one satisfies `is`. A missing one would hang; the test runner's own limit ends that.
    fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "watch ended");
            let v: Value = serde_json::from_str(&line).expect("each line is a document");
            assert_eq!(v["schema"], 1);
            if is(&v) {
                return v;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn state(v: &Value) -> Option<&str> {
    v["lanes"].as_array()?.iter().find(|l| l["cwd"] == CWD)?["state"].as_str()
}

#[test]
fn p07_a_second_host_follows_the_first_and_takes_over_when_it_ends() {
    let rig = Rig::new();
    let mut first = Watch::start(&rig);
    first.until(|v| v["lanes"].as_array().is_some_and(Vec::is_empty));
    let mut second = Watch::start(&rig);
    second.until(|v| v["lanes"].as_array().is_some_and(Vec::is_empty));
    let mut agy = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Go").unwrap();
    let a = first.until(|v| state(v) == Some("running"));
    let b = second.until(|v| state(v) == Some("running"));
    assert_eq!(a["lanes"][0]["id"], b["lanes"][0]["id"]);
    // A third that asks once gets the engine's board.
    assert_eq!(state(&rig.json(&["lanes", "--json"])), Some("running"));
    drop(first);
    agy.call().unwrap();
    agy.end_turn().unwrap();
    second.until(|v| state(v) == Some("idle"));
}

#[test]
fn p07_what_the_person_says_in_a_client_reaches_the_engine() {
    let rig = Rig::new();
    let id = uuid();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&id).cwd(CWD)).unwrap();
    agy.prompt("Go").unwrap();
    let mut engine = Watch::start(&rig);
    engine.until(|v| state(v) == Some("running"));
    let client = rig.start();
    client.until("the engine's board", |s| lane(s, CWD).is_some_and(|l| l.lane.state == State::Running));
    client.host.delete_session(&id).unwrap();
    engine.until(|v| v["lanes"].as_array().is_some_and(Vec::is_empty));
    client.until("gone here too", |s| s.board.lanes.is_empty());
}

#[cfg(unix)]
#[test]
fn watch_ends_cleanly_when_it_is_told_to() {
    let rig = Rig::new();
    let mut watch = Watch::start(&rig);
    watch.until(|_| true);
    let pid = watch.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(watch.child.wait().unwrap().success());
}
