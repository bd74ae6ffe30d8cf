//! A store in a folder of its own, and short words for what goes into it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthub_core::{
    AtSource, CallKey, CallKind, Model, SessionId, Sighting, Stamp, Time, Tokens, Tool, price::Book,
};
use agenthub_store::{Change, Conversation, SessionRecord, Store};
use rusqlite::{Connection, types::Value};

/// 2026-07-01T00:00:00Z.
const START_MS: i64 = 1_782_864_000_000;

pub(crate) fn at(s: i64) -> Time {
    Time::from_millis(START_MS + s * 1_000)
}

pub(crate) fn id(n: usize) -> SessionId {
    SessionId::parse(&format!("{n:08x}-0000-4000-8000-000000000000")).unwrap()
}

pub(crate) fn record(n: usize) -> SessionRecord {
    SessionRecord {
        id: id(n),
        tool: Tool::Antigravity,
        name: None,
        cwd: None,
        lane: format!("antigravity#{}", id(n)),
        parent: None,
        fork: None,
        trajectory: None,
        model: None,
        started_at: None,
        created_at: None,
        birth_at: None,
        last_activity: None,
        error_at: None,
        turns: 0,
        tool_calls: 0,
        details: String::new(),
    }
}

pub(crate) fn conversation(n: usize) -> Conversation {
    Conversation {
        id: id(n),
        fingerprint: "f1".into(),
        cursor: "c1".into(),
        read_at: at(0),
        problem: None,
        ever_held: false,
    }
}

pub(crate) fn change(session: SessionRecord, sightings: Vec<Sighting>) -> Change {
    Change {
        conversation: Conversation { id: session.id.clone(), ..conversation(0) },
        session: Some(session),
        sightings,
    }
}

/// A call that used `input` tokens in and 10 out, 4 of them thinking.
pub(crate) fn call(key: &str, input: u64) -> Sighting {
    Sighting {
        key: CallKey(key.into()),
        kind: CallKind::Turn,
        model: Model { number: 1_016, id: Some("gemini-3.1-pro".into()), label: None },
        tokens: Some(Tokens { input, output: 10, cache_read: 0, cache_write: 0, thinking: 4 }),
        stamp: Some(Stamp { source: AtSource::Request, at: at(0) }),
    }
}

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) store: Store,
}

impl World {
    pub(crate) fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("store.db"));
        World { dir, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Closes and opens it again.
    pub(crate) fn reopen(&mut self) {
        let elsewhere = open(&self.dir.path().join("elsewhere.db"));
        drop(std::mem::replace(&mut self.store, elsewhere));
        self.store = open(&self.path());
    }

    pub(crate) fn apply(&mut self, changes: &[Change]) {
        self.store.apply(changes).unwrap();
    }

    /// Has all costs be by a book; says whether any had to be made anew.
    pub(crate) fn price(&mut self, book: Arc<Book>) -> bool {
        let stale = self.store.price_by(book).unwrap();
        while self.store.reprice(1).unwrap() {}
        stale
    }

    /// A second connection, for what the public API rightly cannot do.
    pub(crate) fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(crate) fn dump(&self) -> BTreeMap<String, Vec<Vec<Value>>> {
        dump(&self.sql())
    }

    /// Total tokens of input that each of sessions 0.. owns.
    pub(crate) fn inputs(&self, sessions: usize) -> Vec<u64> {
        (0..sessions).map(|n| self.store.session(&id(n)).unwrap().map_or(0, |s| s.sum.tokens.input)).collect()
    }
}

pub(crate) fn open(path: &Path) -> Store {
    let opened = Store::open(path).unwrap();
    assert_eq!(opened.damaged, None);
    opened.store
}

/// Every row of every table.
pub(crate) fn dump(conn: &Connection) -> BTreeMap<String, Vec<Vec<Value>>> {
    let names: Vec<String> = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
        .unwrap()
        .query_map([], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    names.into_iter().map(|name| (name.clone(), rows(conn, &format!("SELECT * FROM \"{name}\"")))).collect()
}

pub(crate) fn rows(conn: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = conn.prepare(sql).unwrap();
    let columns = statement.column_count();
    let mut rows: Vec<Vec<Value>> = statement
        .query_map([], |r| (0..columns).map(|i| r.get(i)).collect())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    rows.sort_by_key(|r| format!("{r:?}"));
    rows
}
