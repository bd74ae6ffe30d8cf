//! S9: a session deleted in AgentHub stays deleted, and rows of other tools are never touched.

use agenthub_core::Tool;
use agenthub_store::{By, Filter, Lineage, SessionRecord, Sort};

use crate::world::{World, call, change, id, record, rows};

fn below(n: usize, parent: usize) -> SessionRecord {
    SessionRecord { parent: Some(id(parent)), ..record(n) }
}

fn listed(w: &World) -> Vec<usize> {
    let all = w.store.sessions(&Filter::default(), Sort::Active, true, 0, 100).unwrap();
    all.iter().map(|s| (0..20).find(|n| id(*n) == s.id).unwrap()).collect()
}

#[test]
fn s09_deleted_stays_deleted_when_the_file_changes() {
    let mut w = World::new();
    w.apply(&[change(record(0), vec![call("a", 100)]), change(record(1), vec![call("b", 1)])]);
    w.store.set_deleted(&[id(0)]).unwrap();
    assert_eq!(listed(&w), [1]);
    w.apply(&[change(
        SessionRecord { name: Some("more".into()), turns: 9, ..record(0) },
        vec![call("c", 100)],
    )]);
    assert_eq!(listed(&w), [1]);
    w.reopen();
    w.apply(&[change(record(0), vec![call("d", 100)])]);
    assert_eq!(listed(&w), [1]);
    assert_eq!(w.store.session(&id(0)).unwrap(), None);
    assert_eq!(w.store.totals(&Filter::default()).unwrap().sum.tokens.input, 1);
    assert_eq!(w.store.usage(By::Model, 0, i64::MAX).unwrap()[0].sum.tokens.input, 1);
    assert_eq!(w.store.recent(crate::world::at(-9), crate::world::at(-9), &[]).unwrap(), []);
    // Restored, it has all that was read meanwhile.
    w.store.set_deleted(&[]).unwrap();
    assert_eq!(w.inputs(2), [300, 1]);
}

#[test]
fn s09_sub_agents_go_with_it_also_those_that_come_later() {
    let mut w = World::new();
    w.apply(&[
        change(record(0), vec![]),
        change(below(1, 0), vec![]),
        change(below(2, 1), vec![]),
        change(record(3), vec![]),
    ]);
    w.store.set_deleted(&[id(0)]).unwrap();
    assert_eq!(listed(&w), [3]);
    w.apply(&[change(below(4, 0), vec![call("a", 1)])]);
    w.apply(&[change(below(5, 2), vec![call("b", 1)])]);
    assert_eq!(listed(&w), [3]);
    w.reopen();
    // The child is read before the one between it and the deleted one; its parent becomes known late.
    w.apply(&[change(below(7, 6), vec![])]);
    assert_eq!(listed(&w), [3, 7]);
    w.apply(&[change(below(6, 0), vec![])]);
    assert_eq!(listed(&w), [3]);
    w.apply(&[change(record(8), vec![])]);
    w.apply(&[change(below(8, 1), vec![])]);
    assert_eq!(listed(&w), [3]);
    w.store.set_deleted(&[id(1)]).unwrap();
    assert_eq!(listed(&w), [0, 3, 4, 6, 7]);
    w.store.set_deleted(&[]).unwrap();
    assert_eq!(listed(&w), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn q03_a_rebuilt_store_knows_the_deletions_before_it_reads() {
    let mut w = World::new();
    w.store.set_deleted(&[id(0)]).unwrap();
    w.apply(&[change(record(0), vec![call("a", 1)]), change(below(1, 0), vec![call("b", 1)])]);
    assert_eq!(listed(&w), [0usize; 0]);
}

#[test]
fn s09_parents_in_a_circle_can_be_deleted() {
    let mut w = World::new();
    w.apply(&[change(below(0, 1), vec![]), change(below(1, 0), vec![]), change(below(2, 2), vec![])]);
    w.store.set_deleted(&[id(0), id(2)]).unwrap();
    assert_eq!(listed(&w), [0usize; 0]);
}

#[test]
fn s09_a_deleted_session_keeps_its_calls() {
    let mut w = World::new();
    let fork =
        SessionRecord { fork: Some(Lineage { conversation: Some(id(0)), trajectory: None }), ..record(1) };
    w.apply(&[
        change(record(0), vec![call("a", 100)]),
        change(fork.clone(), vec![call("a", 100), call("b", 7)]),
    ]);
    w.store.set_deleted(&[id(0)]).unwrap();
    // The fork's numbers do not jump, not even when it is read again.
    w.apply(&[change(fork, vec![call("a", 100), call("b", 7)])]);
    assert_eq!(w.inputs(2), [0, 7]);
    w.store.set_deleted(&[]).unwrap();
    assert_eq!(w.inputs(2), [100, 7]);
}

#[test]
fn s09_rows_of_other_tools_are_never_touched() {
    let mut w = World::new();
    // Rows that hang on ours in every way: the same id, a parent, an origin and a trajectory of ours.
    let foreign = |id: &str, parent: &str, origin: &str, origin_trajectory: &str, hidden: u8| {
        format!(
            "INSERT INTO session (tool, id, name, cwd, lane, search, parent, origin, origin_trajectory, trajectory, fork_depth,
                 created_at, turns, tool_calls, details, hidden, calls, input)
             VALUES ('other', '{id}', 'n', '/w', 'other:/w', 'n', {parent}, {origin}, {origin_trajectory}, 't', 7, 5, 1, 1,
                 '{{}}', {hidden}, 3, 33);"
        )
    };
    let ours = format!("'{}'", id(0));
    w.sql()
        .execute_batch(
            &[
                foreign(id(0).as_str(), "NULL", "NULL", "NULL", 0),
                foreign("foreign-1", &ours, &ours, "NULL", 0),
                foreign("foreign-2", "NULL", "NULL", "'t'", 1),
                "INSERT INTO model (mid, number, name, label) VALUES (900, 1, 'other', 'Other');".into(),
                "INSERT INTO sighting SELECT 'k', sid, 0, 900, 1, 11, 0, 0, 0, 0, 1, 0 FROM session;".into(),
                "INSERT INTO total SELECT sid, 1, 900, 0, 0, 3, 0, 33, 0, 0, 0, 0, 0, 33, 0, 0 FROM session;"
                    .into(),
                "CREATE TABLE other_things (a, b); INSERT INTO other_things VALUES (1, x'00ff');".into(),
            ]
            .concat(),
        )
        .unwrap();
    let foreign_rows = |w: &World| {
        [
            rows(&w.sql(), "SELECT * FROM session WHERE tool = 'other'"),
            rows(&w.sql(), "SELECT * FROM sighting WHERE mid = 900"),
            rows(&w.sql(), "SELECT * FROM total WHERE mid = 900"),
            rows(&w.sql(), "SELECT * FROM model WHERE mid = 900"),
            rows(&w.sql(), "SELECT * FROM other_things"),
        ]
    };
    let before = foreign_rows(&w);
    assert_eq!(before[0].len(), 3);
    w.reopen();
    let first = SessionRecord { trajectory: Some("t".into()), ..record(0) };
    w.apply(&[change(first.clone(), vec![call("a", 100)])]);
    w.apply(&[change(SessionRecord { trajectory: Some("u".into()), ..first }, vec![call("a", 200)])]);
    let fork = SessionRecord {
        fork: Some(Lineage { conversation: None, trajectory: Some("t".into()) }),
        ..record(1)
    };
    w.apply(&[change(fork, vec![call("a", 100)]), change(below(2, 0), vec![])]);
    w.store.set_file_gone(Tool::Antigravity, &[id(0)], true).unwrap();
    w.store.set_deleted(&[id(0)]).unwrap();
    w.store.set_deleted(&[]).unwrap();
    assert_eq!(foreign_rows(&w), before);
    // Nothing of ours is taken for a fork of theirs.
    let origin: Option<String> = w
        .sql()
        .query_row("SELECT origin FROM session WHERE tool <> 'other' AND id LIKE '00000001%'", [], |r| {
            r.get(0)
        })
        .unwrap();
    assert_eq!(origin, None);
    // What is known of our session with the same id is ours.
    let row =
        w.store.sessions(&Filter { search: None, ..Filter::default() }, Sort::Active, true, 0, 9).unwrap();
    assert!(row.iter().any(|s| s.tool == "antigravity" && s.sum.tokens.input == 200));
}
