//! What a later read of a session replaces, and what it does not.

use agenthub_store::{Filter, SessionRecord, Sort};

use crate::world::{World, at, change, id, record};

#[test]
fn s06_a_name_and_a_folder_once_known_are_kept() {
    let mut w = World::new();
    let full = SessionRecord {
        name: Some("Fix the parser".into()),
        cwd: Some("/w/api".into()),
        lane: "antigravity:/w/api".into(),
        parent: Some(id(7)),
        model: Some("gemini-3.1-pro".into()),
        started_at: Some(at(1)),
        last_activity: Some(at(5)),
        turns: 3,
        ..record(0)
    };
    w.apply(&[change(full, vec![])]);
    let before = w.store.session(&id(0)).unwrap().unwrap();
    w.apply(&[change(SessionRecord { turns: 4, ..record(0) }, vec![])]);
    let after = w.store.session(&id(0)).unwrap().unwrap();
    assert_eq!(after, agenthub_store::SessionRow { turns: 4, ..before });
    for search in ["parser", "/w/api", "00000000-0000"] {
        let f = Filter { search: Some(search.into()), ..Filter::default() };
        assert_eq!(w.store.totals(&f).unwrap().sessions, 1, "{search}");
    }
    // Another name, another folder: the newer one.
    let moved = SessionRecord {
        name: Some("Fix the lexer".into()),
        cwd: Some("/w/web".into()),
        lane: "antigravity:/w/web".into(),
        last_activity: Some(at(3)),
        ..record(0)
    };
    w.apply(&[change(moved, vec![])]);
    let row = w.store.session(&id(0)).unwrap().unwrap();
    assert_eq!((row.name.as_deref(), row.cwd.as_deref()), (Some("Fix the lexer"), Some("/w/web")));
    assert_eq!(row.lane, "antigravity:/w/web");
    // Activity does not go back.
    assert_eq!(row.last_activity, Some(at(5)));
    let f = Filter { search: Some("parser".into()), ..Filter::default() };
    assert_eq!(w.store.sessions(&f, Sort::Active, false, 0, 9).unwrap(), []);
}

#[test]
fn a_folder_that_becomes_known_moves_the_session_to_its_lane() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![])]);
    w.apply(&[change(
        SessionRecord { cwd: Some("/w/api".into()), lane: "antigravity:/w/api".into(), ..record(0) },
        vec![],
    )]);
    assert_eq!(w.store.session(&id(0)).unwrap().unwrap().lane, "antigravity:/w/api");
}
