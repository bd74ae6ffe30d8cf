//! Stores in memory, as copies and as nothing.

use agenthub_store::{Filter, InMemory, PersonStore, Store};

use crate::world::{at, call, change, open, record};

fn sessions(store: &std::path::Path) -> u32 {
    Store::reader(store).unwrap().totals(&Filter::default()).unwrap().sessions
}

#[test]
fn h7_a_copy_has_what_the_store_has_and_takes_what_the_store_does_not_get() {
    let dir = tempfile::tempdir().unwrap();
    let (path, person) = (dir.path().join("agenthub.db"), dir.path().join("person.db"));
    let mut store = open(&path);
    store.apply(&[change(record(1), vec![call("r1", 5)])]).unwrap();
    let copied = || {
        let memory = InMemory::copied(&path, &person).unwrap();
        assert_eq!(sessions(memory.store()), 1);
        let mut copy = Store::open(memory.store()).unwrap().store;
        copy.apply(&[change(record(2), vec![call("r2", 7)])]).unwrap();
        let persons = PersonStore::open(memory.person(), at(1)).unwrap();
        assert_eq!(persons.born_at().unwrap(), at(1));
        copy.take_back_gone(memory.person()).unwrap();
        assert!(PersonStore::prices_in(memory.person()).unwrap().is_empty());
        assert_eq!((sessions(memory.store()), sessions(&path)), (2, 1));
    };
    // While it is open a part of it stands in its log.
    copied();
    drop(store);
    copied();
    assert!(!person.exists());
}

#[test]
fn h7_what_can_not_be_copied_is_an_empty_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agenthub.db");
    for bytes in [None, Some(&b""[..]), Some(&[7u8; 9_000])] {
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        let memory = InMemory::copied(&path, &path).unwrap();
        assert!(Store::open(memory.store()).unwrap().store.is_new());
        assert_eq!(sessions(memory.store()), 0);
    }
}
