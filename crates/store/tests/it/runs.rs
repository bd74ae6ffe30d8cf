//! L8: whose a session is, kept over a restart, and what becomes of it when the run's record is gone.

use agenthub_core::{RunId, SessionId, Time};
use agenthub_store::{SessionRun, Store};

use crate::world::{World, change, id, record};

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn theirs(session: &SessionId, at: i64, of: Option<&str>, lane: &str) -> SessionRun {
    SessionRun {
        session: session.clone(),
        at: Time::from_millis(at),
        run: of.map(run),
        lane: lane.to_owned(),
    }
}

fn lane(store: &Store, session: &SessionId) -> String {
    store.session(session).unwrap().unwrap().lane
}

#[test]
fn l08_the_latest_look_counts_whatever_comes_last() {
    let mut w = World::new();
    let s = id(1);
    w.apply(&[change(record(1), Vec::new())]);
    w.store.set_session_run(&theirs(&s, 5, Some("r"), "run:r")).unwrap();
    w.store.set_session_run(&theirs(&s, 4, None, "else")).unwrap();
    assert_eq!(w.store.session_runs().unwrap(), [(s.clone(), Time::from_millis(5), Some(run("r")))]);
    assert_eq!(lane(&w.store, &s), "run:r");
    w.store.set_session_run(&theirs(&s, 6, None, "antigravity:/w")).unwrap();
    assert_eq!(w.store.session_runs().unwrap(), [(s.clone(), Time::from_millis(6), None)]);
    assert_eq!(lane(&w.store, &s), "antigravity:/w");
    // One that is not written yet.
    w.store.set_session_run(&theirs(&id(2), 6, Some("q"), "run:q")).unwrap();
    assert_eq!(w.store.session_runs().unwrap().len(), 2);
}

#[test]
fn l08_a_run_that_is_forgotten_leaves_its_sessions_to_their_folder() {
    let mut w = World::new();
    let (gone, kept) = (id(1), id(2));
    for (n, session, r) in [(1, &gone, "r"), (2, &kept, "q")] {
        w.apply(&[change(record(n), Vec::new())]);
        w.store.set_run_lane(&run(r), &format!("run:{r}"), &format!("agy · {r}")).unwrap();
        w.store.set_session_run(&theirs(session, 5, Some(r), &format!("run:{r}"))).unwrap();
    }
    assert_eq!(w.store.run_lane_name("run:r").unwrap().as_deref(), Some("agy · r"));
    let folder = |tool: &str, cwd: Option<&str>, id: &str| format!("{tool}|{}|{id}", cwd.unwrap_or("-"));
    w.store.keep_runs(&[run("q")], folder).unwrap();
    let row = w.store.session(&gone).unwrap().unwrap();
    assert_eq!(row.lane, folder(&row.tool, row.cwd.as_deref(), row.id.as_str()));
    assert_eq!(lane(&w.store, &kept), "run:q");
    assert_eq!(w.store.run_lane_name("run:r").unwrap(), None);
    assert_eq!(w.store.session_runs().unwrap(), [(kept, Time::from_millis(5), Some(run("q")))]);
}
