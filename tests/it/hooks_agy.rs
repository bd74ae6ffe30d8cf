//! The whole path of a hook, from a simulated agy that runs hooks as agy does to the board: agy must end as it would
//! without us, whatever became of AgentHub, and a turn is one running period.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use agenthub_core::SessionId;
use agenthub_engine::{
    Snapshot,
    view::{NoticeKind, Outcome, State},
};
use agenthub_store::Store;
use agy_sim::{Home, HookEvent, Live, LiveSpec, SimProcess, ToolEnd};
use serde_json::{Value, json};

use crate::rig::{Rig, lane, no_lane_of_a_sub_agent, uuid};

const CWD: &str = "/home/user/src/hooked";
const ID: &str = "0f9d2c4b-7a61-4e58-b3d2-c1e5a9f86d07";
/// What AgentHub asks agy for (H1).
const OURS: [&str; 3] = ["PreInvocation", "PostToolUse", "Stop"];

/// A home with our hooks installed.
struct Installed {
    rig: Rig,
}

impl Installed {
    fn new() -> Installed {
        crate::hooks_install::hook_program();
        let rig = Rig::new();
        let out = rig.agenthub(&["hooks", "install"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Installed { rig }
    }

    /// Takes away what agy wrote: the next run begins in an empty home.
    fn clear(&self) {
        std::fs::remove_dir_all(self.rig.home.cli()).unwrap();
        Home::create(self.rig.home.root()).unwrap();
    }

    fn journal(&self) -> String {
        std::fs::read_to_string(self.rig.data_dir().join("hooks/journal")).unwrap_or_default()
    }
}

/// What a run left: every row and every file of agy's, how it ended, and the hooks that it ran.
struct Run {
    left: BTreeMap<String, String>,
    hooks: Vec<Value>,
}

/// A run of two turns with tools and a sub-agent, by a process with a clock of its own, so that only a difference makes
/// a difference.
fn run(home: &Home, args: &[&str]) -> Run {
    let program = agy_sim::program().expect("agy-sim is built");
    let args = [&["--cwd", CWD, "--id", ID, "--clock", "1790000000"], args].concat();
    let mut agy = SimProcess::spawn(&program, home, &args).unwrap();
    let mut send = |line: &str| agy.send(line).unwrap();
    send("prompt Rename the crate");
    for command in ["cargo build", "cargo test"] {
        send("call");
        send(&format!("tool run_command {}", json!({ "CommandLine": command })));
        send("tool-end");
    }
    let child = send("subagent Reader|Find every caller");
    send(&format!("use {child}"));
    send("call");
    send("tool view_file {\"AbsolutePath\":\"/src/lib.rs\"}");
    send("tool-end fails");
    send("call");
    send("end-turn");
    send(&format!("close {child}"));
    send(&format!("use {ID}"));
    send(&format!("report {child} Two callers."));
    send("call");
    send("end-turn");
    send("prompt Thanks");
    send("call");
    send("end-turn");
    let hooks: Vec<Value> = serde_json::from_str(&send("hooks")).unwrap();
    agy.quit().expect("it ends with 0");
    Run { left: left(home), hooks }
}

/// Every row of the databases and every other file, with the home's own path taken out.
fn left(home: &Home) -> BTreeMap<String, String> {
    let root = home.root().display().to_string();
    let mut out = BTreeMap::new();
    let mut folders = vec![home.cli()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            let name = path.strip_prefix(home.root()).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "db") {
                out.insert(name, rows(&path).replace(&root, "~"));
            } else if path.extension().is_none_or(|e| e != "log") {
                // (The start's log counts the hooks.)
                out.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).replace(&root, "~"));
            }
        }
    }
    out
}

fn rows(db: &Path) -> String {
    let uri = format!("file:{}?immutable=1", db.display());
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let conn = rusqlite::Connection::open_with_flags(uri, flags).unwrap();
    let mut tables =
        conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
    let tables: Vec<String> = tables.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    let mut out = String::new();
    for table in tables {
        let mut select = conn.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            out += &table;
            for i in 0..columns {
                out.push(' ');
                match row.get_ref(i).unwrap() {
                    rusqlite::types::ValueRef::Blob(b) | rusqlite::types::ValueRef::Text(b) => {
                        // As text where it is text, so that the home's path is seen, and exact where it is not.
                        out.extend(b.iter().map(|b| {
                            if b.is_ascii_graphic() {
                                char::from(*b).to_string()
                            } else {
                                format!("\\{b:02x}")
                            }
                        }));
                    }
                    other => out += &format!("{other:?}"),
                }
            }
            out.push('\n');
        }
    }
    out
}

/// The run ended as one without hooks, and each hook answered once, with nothing, in time.
#[track_caller]
fn assert_untouched(run: &Run, plain: &Run) {
    for (name, text) in &plain.left {
        assert!(run.left.get(name) == Some(text), "{name} differs");
    }
    assert_eq!(run.left.keys().collect::<Vec<_>>(), plain.left.keys().collect::<Vec<_>>());
    let names =
        |run: &Run| run.hooks.iter().map(|h| h["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let count = |event: &str| names(run).iter().filter(|e| *e == event).count();
    assert_eq!(OURS.map(count), [6, 4, 3], "calls, tools, turns with the sub-agent's");
    for hook in &run.hooks {
        assert_eq!(
            (&hook["stdout"], &hook["exit"], &hook["timed_out"]),
            (&json!("{}\n"), &json!(0), &json!(false)),
            "{hook}"
        );
        assert!(hook["duration_us"].as_u64().unwrap() < 2_500_000, "{hook}");
    }
}

fn plain() -> Run {
    let home = Home::temp().unwrap();
    let run = run(&home, &[]);
    assert!(run.hooks.is_empty());
    assert!(run.left.len() >= 6, "{:?}", run.left.keys());
    run
}

/// One record for each hook that was run, in their order.
#[track_caller]
fn assert_written(journal: &str, run: &Run) {
    let heads: Vec<&str> = journal.lines().filter(|line| line.starts_with("AH1 ")).collect();
    let events: Vec<&str> = heads.iter().filter_map(|head| head.rsplit(' ').next()).collect();
    let ran: Vec<&str> = run.hooks.iter().map(|h| h["event"].as_str().unwrap()).collect();
    assert_eq!(events, ran);
    for hook in &run.hooks {
        assert!(journal.contains(hook["stdin"].as_str().unwrap()), "{hook}");
    }
}

#[test]
fn h06_with_the_app_closed_agy_ends_as_without_hooks() {
    let (plain, installed) = (plain(), Installed::new());
    for args in [&[][..], &["--empty-env"]] {
        let before = installed.journal().len();
        let run = run(&installed.rig.home, args);
        assert_untouched(&run, &plain);
        assert_written(&installed.journal()[before..], &run);
        if args.is_empty() {
            // A start that is killed in the middle, then a good one: each event counts once.
            let mut watch = installed.rig.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(30));
            watch.kill().unwrap();
            watch.wait().unwrap();
            let engine = installed.rig.start();
            assert_known(&installed.rig, &run);
            drop(engine);
        }
        installed.clear();
    }
}

#[test]
fn h06_with_the_app_killed_agy_ends_as_without_hooks() {
    let (plain, installed) = (plain(), Installed::new());
    let mut watch = installed.rig.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(watch.stdout.as_mut().unwrap()), &mut first)
        .unwrap();
    assert!(first.contains("lanes"), "{first}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let run = run(&installed.rig.home, &[]);
    assert_untouched(&run, &plain);
    assert_written(&installed.journal(), &run);
    let _engine = installed.rig.start();
    assert_known(&installed.rig, &run);
}

#[test]
fn h06_with_its_programs_deleted_agy_ends_as_without_hooks() {
    let (plain, installed) = (plain(), Installed::new());
    let data = installed.rig.data_dir();
    for gone in [data.join("bin"), data.clone()] {
        std::fs::remove_dir_all(&gone).unwrap();
        for args in [&[][..], &["--empty-env"]] {
            assert_untouched(&run(&installed.rig.home, args), &plain);
            installed.clear();
        }
        assert!(!gone.exists(), "nothing comes back");
    }
}

#[test]
fn h02_after_a_removal_agy_runs_no_hook() {
    let (plain, installed) = (plain(), Installed::new());
    assert!(installed.rig.agenthub(&["hooks", "remove"]).status.success());
    let run = run(&installed.rig.home, &[]);
    assert_eq!((run.hooks.len(), run.left == plain.left), (0, true));
    let left: Vec<_> = std::fs::read_dir(installed.rig.home.root().join("config")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn h06_a_big_tool_costs_agy_no_more_than_a_moment() {
    let installed = Installed::new();
    let mut agy = Live::start(&installed.rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    agy.prompt("Write it").unwrap();
    let began = Instant::now();
    agy.tool_begins("write_to_file", json!({ "CodeContent": "x".repeat(3 << 20) })).unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    println!("three mebibytes through the hook: {:?}", began.elapsed());
    let runs = agy.hooks().runs();
    assert_eq!((runs.len(), runs[0].event, runs[0].failed()), (1, HookEvent::PostToolUse, false));
    let journal = installed.journal();
    assert!(journal.len() < 1 << 20 && journal.contains(agy.id()), "an event without its body");
}

/// Waits until the store holds every event of this run, each once, and no other.
#[track_caller]
fn assert_known(rig: &Rig, run: &Run) {
    let ran = |event: &str| run.hooks.iter().filter(|h| h["event"] == event).count() as u64;
    let expected: BTreeMap<String, u64> = OURS.iter().map(|e| ((*e).to_owned(), ran(e))).collect();
    let mut of_session: BTreeMap<&str, usize> = BTreeMap::new();
    for hook in &run.hooks {
        *of_session.entry(hook["conversation"].as_str().unwrap()).or_default() += 1;
    }
    let began = Instant::now();
    loop {
        let store = Store::reader(&rig.data_dir().join("agenthub.db")).unwrap();
        let (accepted, dropped) = store.hook_counts().unwrap();
        let accepted: BTreeMap<String, u64> = accepted.into_iter().map(|c| (c.name, c.count)).collect();
        if accepted == expected {
            assert_eq!(dropped, []);
            for (id, count) in of_session {
                let (facts, cwd) = store.hook_facts(&SessionId::parse(id).unwrap()).unwrap();
                assert_eq!((facts.hooks.recent().len(), cwd.as_deref()), (count, Some(CWD)), "{id}");
            }
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{accepted:?} instead of {expected:?}, dropped {dropped:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn l09_a_turn_with_hooks_sub_agents_a_pause_and_a_lost_stop_is_one_running_period() {
    let installed = Installed::new();
    let engine = installed.rig.start();
    let mut agy = Live::start(&installed.rig.home, LiveSpec::new(&uuid()).cwd(CWD)).unwrap();
    let state = |s: &Snapshot| lane(s, CWD).map(|l| l.lane.state);
    let told = engine.record(
        || {
            agy.prompt("Refactor everything").unwrap();
            let mut children = Vec::new();
            for i in 0..20 {
                agy.call().unwrap();
                agy.tool_begins("view_file", json!({ "AbsolutePath": format!("/src/{i}.rs") })).unwrap();
                agy.tool_ends(if i % 5 == 0 { ToolEnd::fails() } else { ToolEnd::ok() }).unwrap();
                if i == 7 || i == 13 {
                    let mut child = agy.subagent("Reader", "Find every query").unwrap();
                    child.call().unwrap();
                    children.push(child);
                }
            }
            // One ends within the turn, the other and a command go on in the background.
            let mut first = children.remove(0);
            first.end_turn().unwrap();
            agy.subagent_reports(first.id(), "Two.").unwrap();
            agy.call().unwrap();
            agy.tool_begins("run_command", json!({ "CommandLine": "cargo test" })).unwrap();
            agy.end_turn().unwrap();
            let stop = agy.hooks().runs().pop().unwrap();
            assert_eq!((stop.event, &stop.input()["fullyIdle"]), (HookEvent::Stop, &json!(false)));
            engine.until("the pause is seen", |s| {
                lane(s, CWD)
                    .is_some_and(|l| l.lane.why.decided.source == "hook" && l.lane.state == State::Running)
            });
            // Its executor row is there: it must not make the lane idle.
            std::thread::sleep(Duration::from_secs(2));
            let mut second = children.remove(0);
            second.end_turn().unwrap();
            std::thread::sleep(Duration::from_millis(500));
            agy.tool_ends(ToolEnd::ok()).unwrap();
            agy.wakes("The command and the sub-agent finished.").unwrap();
            agy.call().unwrap();
            agy.lose_next_stop();
            agy.end_turn().unwrap();
        },
        |s| {
            state(s) == Some(State::Idle) && lane(s, CWD).is_some_and(|l| l.lane.outcome == Outcome::Finished)
        },
    );
    let mut states: Vec<State> = told.iter().filter_map(|s| state(s)).collect();
    states.dedup();
    // It may be seen before its prompt is there.
    let states: Vec<State> = states.into_iter().skip_while(|s| *s == State::Idle).collect();
    assert_eq!(states, [State::Running, State::Idle]);
    no_lane_of_a_sub_agent(&told);
    let last = lane(told.last().unwrap(), CWD).unwrap();
    assert_eq!(last.lane.why.decided.source, "database", "no Stop told it");
    assert!(agy.hooks().runs().iter().all(|run| !run.failed() && run.stdout == "{}\n"));
    // T3, U50: one notification, for the turn.
    let notices = |n: usize| {
        let (s, _) =
            engine.until("its notification", |s| s.notices.iter().map(|n| n.parts.len()).sum::<usize>() >= n);
        let parts = s.notices.iter().flat_map(|n| n.parts.clone());
        parts.map(|p| (p.kind, p.session_id)).collect::<Vec<_>>()
    };
    let ready = (NoticeKind::Ready, Some(agy.id().to_owned()));
    assert_eq!(notices(1), std::slice::from_ref(&ready));

    agy.prompt("And now?").unwrap();
    agy.call().unwrap();
    engine.until("a new turn", |s| state(s) == Some(State::Running));
    agy.end_turn().unwrap();
    engine.until("its end", |s| state(s) == Some(State::Idle));
    assert_eq!(notices(2), [ready.clone(), ready]);
}
