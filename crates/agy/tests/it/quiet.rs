//! Reading leaves no trace (spec P5), and bad files are told as what they are (spec S10).

use std::{collections::BTreeMap, path::Path};

use agenthub_agy::{Home, Index, ProblemCode, ReadError, list, presence, read, timeline, version};
use agenthub_core::Time;
use agy_sim::{Clock, Live, LiveSpec};

use crate::world::{home_of, scan};

const ID: &str = "1a6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";

/// Every name below `folder`, with kind, mode, times and bytes.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for f in std::fs::read_dir(folder).unwrap() {
        let path = f.unwrap().path();
        let m = std::fs::symlink_metadata(&path).unwrap();
        let bytes = if m.is_file() { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let hash = bytes.iter().fold(7u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
        let facts = format!("{:?} {:?} {} {hash:x}", m.permissions(), m.modified().unwrap(), m.len());
        out.insert(path.display().to_string(), facts);
        if m.is_dir() {
            out.extend(tree(&path));
        }
    }
    out
}

#[test]
fn p05_reading_leaves_the_whole_home_as_it_was() {
    let sim = agy_sim::Home::temp().unwrap();
    agy_sim::build(&sim, &agy_sim::WorldSpec::new(8, 60).with_traps()).unwrap();
    let clock = Clock::manual(agy_sim::WORLD_END);
    let mut live = Live::start(&sim, LiveSpec::new(ID).clock(&clock)).unwrap();
    live.prompt("x").unwrap();
    live.call().unwrap();
    live.kill().unwrap();
    let wal = std::fs::metadata(sim.wal(ID)).unwrap().len();
    assert!(wal > 0, "the killed one has rows in its -wal");
    let before = tree(sim.root());
    let home = home_of(&sim);
    for _ in 0..2 {
        scan(&home);
        for e in &list(&home).entries {
            let _ = timeline(&home, e);
        }
        presence::held(&home);
        version(&home);
    }
    let after = tree(sim.root());
    for (path, facts) in &after {
        assert_eq!(before.get(path), Some(facts), "{path}");
    }
    assert_eq!(before.len(), after.len());
    // A plain read-only open would have left both beside a closed conversation.
    let plain = list(&home).entries.into_iter().find(|e| e.fingerprint.wal.is_none()).unwrap();
    let conn = rusqlite::Connection::open_with_flags(&plain.path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
        .unwrap();
    let _: i64 = conn.query_row("SELECT count(*) FROM steps", [], |r| r.get(0)).unwrap();
    drop(conn);
    assert!(tree(sim.root()).len() > after.len(), "the read-only layer is needed no more");
}

#[test]
fn s10_no_home_and_no_conversations_are_told_apart() {
    let temp = tempfile::tempdir().unwrap();
    let home = Home::new(temp.path().join(".gemini"));
    let codes = |home: &Home| list(home).problems.iter().map(|p| p.code).collect::<Vec<_>>();
    assert_eq!(codes(&home), [ProblemCode::NoHome]);
    std::fs::create_dir_all(home.cli()).unwrap();
    assert_eq!(codes(&home), []);
    std::fs::write(home.conversations(), "").unwrap();
    assert_eq!(codes(&home), [ProblemCode::NotAFile]);
    assert_eq!(Index::load(&home).refresh(&home), []);
}

#[cfg(unix)]
#[test]
fn s10_links_and_odd_files_are_told_as_what_they_are() {
    use std::os::unix::fs::symlink;
    let sim = agy_sim::Home::temp().unwrap();
    agy_sim::Conversation::new(ID)
        .turn(agy_sim::Turn::prompt("hi").call(agy_sim::Call::model(1016)))
        .write(&sim)
        .unwrap();
    let home = home_of(&sim);
    let elsewhere = sim.root().join("elsewhere.db");
    std::fs::rename(sim.db(ID), &elsewhere).unwrap();
    symlink(&elsewhere, sim.db(ID)).unwrap();
    let other = |n: u8| format!("{n:08}-6a2a-4d59-8a11-5b4f0e1d2c3b");
    symlink(sim.db(&other(1)), sim.db(&other(1))).unwrap();
    symlink("/nowhere/at/all", sim.db(&other(2))).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(sim.db(&other(3))).status();
    std::fs::write(sim.conversations().join("notes.txt"), "").unwrap();

    let listing = list(&home);
    assert_eq!(listing.entries.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), [ID]);
    let r = read(&home, &listing.entries[0], None, Time::default(), &Index::default()).unwrap();
    assert_eq!((r.turns, r.sightings.len()), (1, 1));
    let codes: Vec<_> = listing.problems.iter().map(|p| p.code).collect();
    let mut expected = vec![ProblemCode::SymlinkLoop, ProblemCode::NotAFile];
    if fifo.is_ok_and(|s| s.success()) {
        expected.push(ProblemCode::NotAFile);
    }
    assert_eq!(codes, expected);
}

#[test]
fn s10_an_error_is_a_verdict_only_where_it_is_one() {
    let sim = agy_sim::Home::temp().unwrap();
    let home = home_of(&sim);
    let text = |n: usize| "no database at all ".repeat(n);
    std::fs::write(sim.db(ID), text(200)).unwrap();
    let entry = list(&home).entries.remove(0);
    let go = || read(&home, &entry, None, Time::default(), &Index::default());
    assert_eq!(go(), Err(ReadError::NotADatabase));
    std::fs::write(sim.db(ID), "").unwrap();
    assert_eq!(go(), Err(ReadError::Empty));
    std::fs::remove_file(sim.db(ID)).unwrap();
    assert!(!go().unwrap_err().is_verdict(), "gone is not bad");
    std::fs::create_dir(sim.db(ID)).unwrap();
    assert_eq!(go(), Err(ReadError::NotAFile));
}

#[test]
fn q01_a_view_that_never_ends_does_not_hang_the_reader() {
    let sim = agy_sim::Home::temp().unwrap();
    let conn = rusqlite::Connection::open(sim.db(ID)).unwrap();
    conn.execute_batch(
        "CREATE TABLE gen_metadata (idx INTEGER PRIMARY KEY, data BLOB);
         CREATE VIEW steps AS WITH RECURSIVE n(idx) AS (SELECT 1 UNION ALL SELECT idx + 1 FROM n)
           SELECT idx, 3 AS step_type, 3 AS status, NULL AS metadata, NULL AS step_payload FROM n;",
    )
    .unwrap();
    drop(conn);
    let home = home_of(&sim);
    let began = std::time::Instant::now();
    assert_eq!(scan_one(&home).unwrap_err().code(), ProblemCode::NoSuchTable);
    assert!(began.elapsed().as_secs() < 5);
}

fn scan_one(home: &Home) -> Result<(), ReadError> {
    let entry = list(home).entries.remove(0);
    read(home, &entry, None, Time::default(), &Index::default()).map(drop)
}

#[test]
fn s02_a_large_conversation_reads_as_a_small_one() {
    let sim = agy_sim::Home::temp().unwrap();
    agy_sim::build(&sim, &agy_sim::WorldSpec::new(6, 60)).unwrap();
    let home = home_of(&sim);
    let all = || {
        let index = Index::load(&home);
        let mut found = Vec::new();
        for e in list(&home).entries {
            let r = read(&home, &e, None, Time::from_micros(0), &index).unwrap();
            found.push((e.id, r.meta, r.view, r.sightings, r.turns, r.rows, r.warnings));
        }
        found
    };
    let small = all();
    assert!(small.iter().any(|s| !s.3.is_empty()));
    let is_closed = |e: &agenthub_agy::Entry| e.fingerprint.wal.is_none();
    let closed: Vec<_> = list(&home).entries.into_iter().filter(is_closed).collect();
    assert!(!closed.is_empty());
    for e in closed {
        let conn = rusqlite::Connection::open(&e.path).unwrap();
        conn.execute_batch("CREATE TABLE filler(x); INSERT INTO filler VALUES (zeroblob(3000000))").unwrap();
        conn.close().unwrap();
        assert!(std::fs::metadata(&e.path).unwrap().len() > 3_000_000, "beyond what is read in one go");
    }
    assert_eq!(all(), small);
}
