//! Opening: migrations, newer formats, damage.

use agenthub_store::{Filter, Store, StoreError};
use rusqlite::Connection;

use crate::world::{World, at, call, change, open, record};

fn version(conn: &Connection) -> i64 {
    conn.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap()
}

#[test]
fn q03_an_empty_file_is_migrated_from_version_0() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["absent.db", "empty.db"] {
        let path = dir.path().join(name);
        if name == "empty.db" {
            std::fs::write(&path, b"").unwrap();
        }
        drop(open(&path));
        let conn = Connection::open(&path).unwrap();
        assert!(version(&conn) >= 1);
        let schema = crate::world::rows(&conn, "SELECT name, sql FROM sqlite_schema");
        drop(open(&path));
        assert_eq!(
            crate::world::rows(&conn, "SELECT name, sql FROM sqlite_schema"),
            schema,
            "a second start changes nothing"
        );
    }
}

#[test]
fn q03_a_newer_format_is_refused_and_left_alone() {
    let w = World::new();
    let conn = w.sql();
    let known = version(&conn);
    conn.pragma_update(None, "user_version", known + 6).unwrap();
    let before = w.dump();
    let e = Store::open(&w.path()).unwrap_err();
    assert!(matches!(e, StoreError::Newer { found, .. } if found == known + 6));
    assert_eq!(
        e.to_string(),
        format!(
            "the store at {} was made by a newer AgentHub (format {}, this one knows {known}): update AgentHub, or set \
             AGENTHUB_DATA_DIR to another folder",
            w.path().display(),
            known + 6
        )
    );
    assert_eq!(w.dump(), before);
    assert!(!w.dir().join("store.db.damaged-1").exists());
}

#[test]
fn q03_a_damaged_store_is_kept_aside_and_a_new_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let damages: [fn(&mut Vec<u8>); 3] = [
        |b| *b = b"this is a text file, and a long one: ".repeat(99),
        // The header is whole, the schema page is not.
        |b| b[100..4_000].fill(0xA5),
        |b| b.truncate(b.len() / 2),
    ];
    for (n, damage) in damages.iter().enumerate() {
        let mut store = open(&path);
        store.apply(&[change(record(0), vec![call("a", 1)])]).unwrap();
        drop(store);
        let mut bytes = std::fs::read(&path).unwrap();
        damage(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let opened = Store::open(&path).unwrap();
        let aside = opened.damaged.unwrap_or_else(|| panic!("damage {n} was not noticed"));
        assert_eq!(aside, dir.path().join(format!("store.db.damaged-{}", n + 1)));
        assert_eq!(std::fs::read(&aside).unwrap(), bytes);
        let mut store = opened.store;
        assert_eq!(store.totals(&Filter::default()).unwrap().sessions, 0);
        store.apply(&[change(record(0), vec![call("a", 1)])]).unwrap();
        drop(store);
    }
}

#[test]
fn a_store_that_cannot_be_opened_says_where() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("no/such/folder/store.db")] {
        let e = Store::open(&path).unwrap_err().to_string();
        assert!(e.contains(&path.display().to_string()), "{e}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn q02_calls_are_looked_up_after_a_restart_in_the_first_filling() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![call("a", 1)])]);
    w.reopen();
    w.apply(&[change(record(1), vec![call("a", 1)])]);
    w.store.first_filling_done();
    w.apply(&[change(record(2), vec![call("a", 1), call("b", 1)])]);
    assert_eq!(w.store.totals(&Filter::default()).unwrap().sum.calls, 2);
    assert_eq!(w.store.conversations().unwrap()[0].read_at, at(0));
}
