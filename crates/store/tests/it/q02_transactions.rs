//! Q2: what was read and the cursor that says so are one transaction.

use agenthub_store::{Conversation, Filter, Store, Verdict};

use crate::world::{World, at, call, change, conversation, dump, id, open, record};

/// From now on the store refuses a session of this name.
fn refuse(w: &World, name: &str) {
    w.sql()
        .execute_batch(&format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON session WHEN NEW.name = '{name}' BEGIN SELECT RAISE(ABORT, 'no'); END"
        ))
        .unwrap();
}

#[test]
fn q02_a_batch_that_fails_leaves_everything_as_before() {
    for filled in [false, true] {
        let mut w = World::new();
        if filled {
            w.apply(&[change(record(0), vec![call("a", 100)])]);
        }
        refuse(&w, "boom");
        let before = w.dump();
        let boom = agenthub_store::SessionRecord { name: Some("boom".into()), ..record(2) };
        let batch = [
            change(record(0), vec![call("a", 200), call("b", 1)]),
            change(record(1), vec![call("c", 1)]),
            change(boom, vec![]),
            change(record(3), vec![call("d", 1)]),
        ];
        let e = w.store.apply(&batch).unwrap_err().to_string();
        assert!(e.contains("store.db"), "{e}");
        assert_eq!(w.dump(), before);
        // The same calls count when they come again, though they were seen in the batch that failed.
        w.apply(&batch[..2]);
        w.apply(&batch[3..]);
        assert_eq!(w.inputs(4), [201, 1, 0, 1]);
    }
}

#[test]
fn q02_killed_between_two_transactions_it_opens_as_it_was() {
    let mut w = World::new();
    for n in 0..20 {
        let calls = (0..=n).map(|i| call(&format!("r{i}"), 10)).collect();
        w.apply(&[change(record(n), calls)]);
        // What a kill -9 leaves on the disk: both files as they are, and no checkpoint.
        let killed = w.dir().join(format!("killed-{n}.db"));
        std::fs::copy(w.path(), &killed).unwrap();
        std::fs::copy(w.dir().join("store.db-wal"), w.dir().join(format!("killed-{n}.db-wal"))).unwrap();
        let store = open(&killed);
        assert_eq!(dump(&rusqlite::Connection::open(&killed).unwrap()), w.dump());
        let totals = store.totals(&Filter::default()).unwrap();
        assert_eq!((totals.sessions as usize, totals.sum.calls as usize), (n + 1, n + 1));
        assert_eq!(store.conversations().unwrap().len(), n + 1);
    }
}

#[test]
fn q02_a_torn_write_ahead_log_is_a_shorter_history() {
    let mut w = World::new();
    for n in 0..6 {
        w.apply(&[change(record(n), vec![call(&format!("r{n}"), 10)])]);
    }
    let wal = std::fs::read(w.dir().join("store.db-wal")).unwrap();
    for cut in (0..wal.len()).step_by(1_777) {
        let torn = w.dir().join("torn.db");
        std::fs::copy(w.path(), &torn).unwrap();
        std::fs::write(w.dir().join("torn.db-wal"), &wal[..cut]).unwrap();
        let store = open(&torn);
        let totals = store.totals(&Filter::default()).unwrap();
        // Each session is there with its calls and its cursor, or not at all.
        assert_eq!(totals.sessions, totals.sum.calls, "cut at {cut}");
        assert_eq!(store.conversations().unwrap().len(), totals.sessions as usize);
        drop(store);
        for side in ["torn.db", "torn.db-wal", "torn.db-shm"] {
            let _ = std::fs::remove_file(w.dir().join(side));
        }
    }
}

#[test]
fn s10_a_file_that_cannot_be_read_keeps_what_was_known_of_its_session() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![call("a", 100)])]);
    let corrupt = Verdict { code: "corrupt".into(), message: "database disk image is malformed".into() };
    let unreadable = Conversation {
        fingerprint: "f2".into(),
        cursor: String::new(),
        read_at: at(9),
        problem: Some(corrupt),
        ..conversation(0)
    };
    w.apply(&[agenthub_store::Change { conversation: unreadable.clone(), session: None, sightings: vec![] }]);
    assert_eq!(w.store.conversation(&id(0)).unwrap(), Some(unreadable));
    assert_eq!(w.inputs(1), [100]);
    let named = |w: &World| -> String {
        w.sql().query_row("SELECT session_id FROM antigravity_conversations", [], |r| r.get(0)).unwrap()
    };
    assert_eq!(named(&w), "");
    w.apply(&[change(record(0), vec![])]);
    assert_eq!(named(&w), id(0).as_str());
    assert_eq!(w.store.conversation(&id(0)).unwrap().unwrap().problem, None);
}

#[test]
fn l03_a_lock_that_was_seen_held_stays_so() {
    let mut w = World::new();
    // Before its file was read at all; a read that knows nothing of locks does not forget it.
    w.store.set_ever_held(&[id(0), id(1)]).unwrap();
    w.apply(&[change(record(0), vec![])]);
    w.reopen();
    let held: Vec<bool> = w.store.conversations().unwrap().iter().map(|c| c.ever_held).collect();
    assert_eq!(held, [true, true]);
    assert_eq!(w.store.conversation(&id(1)).unwrap().unwrap().fingerprint, "");
}

#[test]
fn s07_a_file_that_is_gone_is_looked_at_when_it_is_back() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![call("a", 1)])]);
    w.store.set_file_gone(agenthub_core::Tool::Antigravity, &[id(0)], true).unwrap();
    assert_eq!(w.store.conversation(&id(0)).unwrap().unwrap().fingerprint, "");
    assert!(w.store.session(&id(0)).unwrap().unwrap().file_gone);
    w.apply(&[change(record(0), vec![])]);
    assert!(!w.store.session(&id(0)).unwrap().unwrap().file_gone);
    w.store.set_file_gone(agenthub_core::Tool::Antigravity, &[id(0)], true).unwrap();
    w.store.set_file_gone(agenthub_core::Tool::Antigravity, &[id(0)], false).unwrap();
    assert!(!w.store.session(&id(0)).unwrap().unwrap().file_gone);
}

#[test]
fn a_reader_sees_what_is_committed_and_writes_nothing() {
    let mut w = World::new();
    let reader = Store::reader(&w.path()).unwrap();
    w.apply(&[change(record(0), vec![call("a", 1)])]);
    assert_eq!(reader.totals(&Filter::default()).unwrap().sum.calls, 1);
    assert!(Store::reader(&w.path()).unwrap().apply(&[change(record(1), vec![])]).is_err());
    assert!(Store::reader(&w.dir().join("none.db")).is_err());
}
