//! The whole path of a trace: a simulated agy that runs hooks as agy does, the hook and the child that it leaves behind,
//! and a backend that decodes what comes.

mod change;
mod costs;
mod doctor;
mod faults;
#[cfg(unix)]
mod half;
mod large;
mod privacy;
mod setup;
mod tree;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use agy_sim::{Call, HookEnvironment, HookOptions, Live, LiveSpec, ToolEnd};
use otlp_receiver::{Received, Receiver};
use serde_json::json;

use crate::rig::{Rig, uuid};

const CWD: &str = "/home/user/src/traced";

/// A home whose turns are traced to a backend of the test's.
struct Traced {
    rig: Rig,
    backend: Receiver,
}

impl Traced {
    fn new() -> Traced {
        Traced::with(&[])
    }

    fn with(args: &[&str]) -> Traced {
        let (rig, backend) = (Rig::new(), Receiver::start());
        let url = backend.url();
        let out = rig.agenthub(&[&["trace", "install", "--endpoint", &url], args].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Traced { rig, backend }
    }

    /// agy, whose hooks get nothing of the environment.
    fn agy(&self, id: &str) -> Live {
        let hooks = HookOptions { environment: HookEnvironment::Empty, ..HookOptions::default() };
        Live::start(&self.rig.home, LiveSpec::new(id).cwd(CWD).hooks(hooks)).unwrap()
    }

    /// Does by itself what a hook's child or the app would do.
    fn work(&self) {
        let out = self.rig.agenthub(&["trace", "work", "--limit-s", "20"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// Waits until `is` holds for what the backend has.
    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        until(what, || {
            let spans = self.backend.spans();
            is(&spans).then_some(spans)
        })
    }

    /// The files of the tracer with this end.
    fn files(&self, folder: &str, end: &str) -> Vec<String> {
        let mut out = Vec::new();
        let mut folders = vec![self.rig.data_dir().join("tracing").join(folder)];
        while let Some(folder) = folders.pop() {
            for f in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
                if f.path().is_dir() {
                    folders.push(f.path());
                } else if f.path().to_string_lossy().ends_with(end) {
                    out.push(f.path().display().to_string());
                }
            }
        }
        out.sort();
        out
    }
}

#[track_caller]
fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One turn of `calls` calls, of which all but the last ask for a tool each.
fn turn(agy: &mut Live, prompt: &str, calls: usize) {
    agy.prompt(prompt).unwrap();
    for i in 1..=calls {
        agy.call_begins().unwrap();
        let mut call = agy.plausible_call().text(&format!("{prompt}: answer {i}"));
        if i < calls {
            call = call.tool("run_command", json!({"CommandLine": format!("make {i}")}));
        }
        agy.call_ends(&call).unwrap();
        if i < calls {
            agy.tool_begins("run_command", json!({"CommandLine": format!("make {i}")})).unwrap();
            agy.tool_ends(ToolEnd::ok()).unwrap();
        }
    }
    agy.end_turn().unwrap();
}

/// A turn whose first call starts a sub-agent, which is done with its own turn, and reports; the sub-agent.
fn asks_around(agy: &mut Live, first: &Call) -> Live {
    agy.prompt("Ask around").unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(first).unwrap();
    let mut child = agy.subagent("Reader", "Read it").unwrap();
    child.call().unwrap();
    child.end_turn().unwrap();
    agy.subagent_reports(child.id(), "Read.").unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    child
}

fn plain_call() -> Call {
    Call::model(1016).tokens(100, 20, 3000, 5)
}

/// The different spans; each must say the same whenever it came.
fn distinct(spans: &[Received]) -> BTreeMap<(String, String), Received> {
    spans.iter().map(|s| ((s.trace(), s.id()), s.clone())).collect()
}

/// Ids that came more than once.
fn doubled(spans: &[Received]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    spans.iter().filter(|s| !seen.insert((s.trace(), s.id()))).map(Received::id).collect()
}

fn kind(s: &Received) -> &str {
    s.text("openinference.span.kind").unwrap_or_default()
}

fn of_kind<'a>(spans: impl IntoIterator<Item = &'a Received>, k: &str) -> Vec<&'a Received> {
    spans.into_iter().filter(|s| kind(s) == k).collect()
}
