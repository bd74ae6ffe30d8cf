//! What only the person could say outlives the store.

use agenthub_store::{Dismissal, PersonStore};

use crate::world::{at, id};

#[test]
fn s09_the_persons_word_outlives_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("person.db");
    let p = PersonStore::open(&path, at(5)).unwrap();
    assert_eq!((p.born_at().unwrap(), p.deleted().unwrap()), (at(5), vec![]));
    p.delete(&id(1), at(6)).unwrap();
    p.delete(&id(1), at(7)).unwrap();
    p.delete(&id(0), at(8)).unwrap();
    p.restore(&id(0)).unwrap();
    p.restore(&id(9)).unwrap();
    for t in [9, 20, 10] {
        p.dismiss(&Dismissal { lane: "antigravity:/w/api".into(), at: at(t) }).unwrap();
    }
    drop(p);
    let p = PersonStore::open(&path, at(99)).unwrap();
    // Born once; the latest dismissal holds, in whatever order two hosts said it.
    assert_eq!((p.born_at().unwrap(), p.deleted().unwrap()), (at(5), vec![id(1)]));
    assert_eq!(p.dismissals().unwrap(), [Dismissal { lane: "antigravity:/w/api".into(), at: at(20) }]);
    // Another host has it open, too.
    let other = PersonStore::open(&path, at(99)).unwrap();
    other.delete(&id(2), at(99)).unwrap();
    assert_eq!(p.deleted().unwrap(), [id(1), id(2)]);
}
