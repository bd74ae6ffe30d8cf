//! Worlds are deterministic, and their right answers follow from their bytes: a second, naive count by a decoder of the
//! tests' own comes to the same sums.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agy_sim::{Home, Tokens, Truth, WorldSpec, build};
use rusqlite::Connection;

use crate::support::*;

fn files(folder: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>, root: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&path, out, root);
        } else if kind.is_file() && !path.to_string_lossy().ends_with("-shm") {
            out.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap_or_default());
        }
    }
}

/// A world's answer must not depend on the numbers of its files alone: every inner sum has to agree.
fn assert_sums(truth: &Truth) {
    let mut totals = agy_sim::Totals::default();
    for session in truth.sessions.values() {
        let mut tokens = Tokens::default();
        for (number, model) in &session.models {
            tokens.add(model.tokens);
            totals.calls += model.calls;
            let sum = totals.models.entry(*number).or_default();
            sum.calls += model.calls;
            sum.tokens.add(model.tokens);
        }
        assert_eq!(tokens, session.tokens, "{}", session.id);
        assert!(session.tokens.thinking <= session.tokens.output);
        totals.tokens.add(tokens);
        totals.sessions += 1;
        totals.calls_without_usage += session.calls_without_usage;
        for other in session.parent.iter().chain(&session.forked_from) {
            assert!(truth.sessions.contains_key(other), "{other} is named and not there");
        }
    }
    totals.rows = truth.totals.rows;
    assert_eq!(totals, truth.totals);
}

#[test]
fn the_same_seed_makes_the_same_bytes() {
    let spec = WorldSpec::new(6, 60).with_traps().seed(3);
    let (one, two) = (Home::temp().unwrap(), Home::temp().unwrap());
    let truths = [build(&one, &spec).unwrap(), build(&two, &spec).unwrap()];
    assert_eq!(truths[0], truths[1]);
    let mut bytes = [BTreeMap::new(), BTreeMap::new()];
    files(one.root(), &mut bytes[0], one.root());
    files(two.root(), &mut bytes[1], two.root());
    let names: Vec<_> = bytes[0].keys().collect();
    assert_eq!(names, bytes[1].keys().collect::<Vec<_>>());
    for (name, content) in &bytes[0] {
        // A WAL's frames are salted by SQLite at random.
        if !name.to_string_lossy().ends_with("-wal") {
            assert!(*content == bytes[1][name], "{} differs", name.display());
        }
    }
    let other = Home::temp().unwrap();
    assert_ne!(build(&other, &spec.seed(4)).unwrap(), truths[0]);
}

#[test]
fn a_world_without_traps_has_exactly_the_calls_asked_for() {
    let home = Home::temp().unwrap();
    let truth = build(&home, &WorldSpec::new(30, 400)).unwrap();
    assert_sums(&truth);
    assert_eq!((truth.totals.sessions, truth.totals.calls), (30, 400));
    assert!(truth.problems.is_empty());
    assert_eq!(
        naive_count(&home, &truth),
        truth.totals.models.iter().map(|(k, v)| (*k, (v.calls, v.tokens))).collect()
    );
}

#[test]
fn the_answers_about_a_world_of_traps_follow_from_its_bytes() {
    let home = Home::temp().unwrap();
    let truth = build(&home, &WorldSpec::new(5, 40).with_traps()).unwrap();
    assert_sums(&truth);
    assert_eq!(
        naive_count(&home, &truth),
        truth.totals.models.iter().map(|(k, v)| (*k, (v.calls, v.tokens))).collect()
    );
    let warned: u64 = truth.sessions.values().flat_map(|s| s.warnings.values()).sum();
    assert!(warned >= 16, "{warned}");
    assert!(truth.totals.calls_without_usage >= 4);
    for id in truth.sessions.values().filter(|s| s.forked_from.is_some()).map(|s| &s.id) {
        assert!(home.pb(id).exists(), "an opaque file stands beside a fork");
    }
}

#[test]
fn bad_files_fail_as_the_answer_says() {
    let home = Home::temp().unwrap();
    let truth = build(&home, &WorldSpec::new(1, 2).with_traps()).unwrap();
    let mut codes: Vec<&str> = truth.problems.iter().map(|p| p.code.as_str()).collect();
    for problem in &truth.problems {
        let path = home.conversations().join(&problem.file);
        let copy = tempfile::tempdir().unwrap();
        let copied = copy.path().join("x.db");
        let error = match fs::copy(&path, &copied) {
            Ok(_) => {
                let conn = Connection::open(&copied).unwrap();
                conn.query_row("SELECT count(*), sum(length(step_payload)) FROM steps", [], |_| Ok(())).err()
            }
            Err(_) => None,
        };
        let text = error.map(|e| e.to_string()).unwrap_or_default();
        let expected = match problem.code.as_str() {
            "not_a_database" => "not a database",
            "corrupt" => "malformed",
            "no_such_table" | "empty" => "no such table",
            _ => "",
        };
        assert!(text.contains(expected), "{problem:?}: {text}");
    }
    codes.sort_unstable();
    codes.dedup();
    let mut expected =
        vec!["corrupt", "empty", "legacy_pb", "no_such_table", "not_a_database", "not_a_file", "not_a_uuid"];
    expected.push("symlink_loop");
    codes.retain(|code| *code != "permission");
    assert_eq!(codes, expected);
}

type Sums = BTreeMap<u32, (u64, Tokens)>;
/// Key → model, tokens.
type Calls = BTreeMap<String, (u32, Tokens)>;

/// Counts every call of the home once, over all files, by the union rule of agy-format.md §3.6.
fn naive_count(home: &Home, truth: &Truth) -> Sums {
    let mut calls = Calls::new();
    for id in truth.sessions.keys() {
        let copy = tempfile::tempdir().unwrap();
        let copied = copy.path().join("x.db");
        fs::copy(home.db(id), &copied).unwrap();
        if home.wal(id).exists() {
            fs::copy(home.wal(id), copy.path().join("x.db-wal")).unwrap();
        }
        count_file(&Connection::open(copied).unwrap(), &mut calls);
    }
    let mut sums = Sums::new();
    for (model, tokens) in calls.into_values() {
        let sum = sums.entry(model).or_default();
        sum.0 += 1;
        sum.1.add(tokens);
    }
    sums
}

fn count_file(conn: &Connection, calls: &mut Calls) {
    let steps = blobs(conn, "SELECT metadata FROM steps ORDER BY idx");
    let gens = blobs(conn, "SELECT data FROM gen_metadata ORDER BY idx");
    for metadata in &steps {
        let Some(fields) = decode(metadata) else { continue };
        let place = format!("{:?}/{}", text_at(metadata, &[20, 1]), number_at(metadata, &[20, 2]));
        fields.iter().filter(|f| f.number == 9).for_each(|f| add(calls, &f.bytes, &place));
        for retry in fields.iter().filter(|f| f.number == 28) {
            add(calls, &bytes_at(&retry.bytes, &[2]).unwrap(), &place);
        }
    }
    for data in &gens {
        let Some(fields) = decode(data) else { continue };
        let Some(chat) = fields.iter().find(|f| f.number == 1) else { continue };
        // The planner step is the first of the row's steps; a call without ids is named by it in both rows.
        let planner = bytes_at(data, &[2]).and_then(|b| decode_first(&b)).unwrap();
        let metadata = &steps[planner as usize];
        let place = format!("{:?}/{}", text_at(metadata, &[20, 1]), number_at(metadata, &[20, 2]));
        let chat = decode(&chat.bytes).unwrap();
        chat.iter().filter(|f| f.number == 4).for_each(|f| add(calls, &f.bytes, &place));
        for retry in chat.iter().filter(|f| f.number == 17) {
            add(calls, &bytes_at(&retry.bytes, &[2]).unwrap(), &place);
        }
    }
}

fn decode_first(packed: &[u8]) -> Option<u64> {
    // A packed list decodes as a message only by accident, so read its first varint by hand.
    let mut value = 0;
    for (i, byte) in packed.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn add(calls: &mut Calls, usage: &[u8], place: &str) {
    let number = |field| number_at(usage, &[field]);
    if (2..=10).any(|field| field != 7 && field != 8 && number(field) > 1 << 40) {
        return;
    }
    let key = [11, 12, 7].into_iter().find_map(|field| text_at(usage, &[field]));
    let call = calls.entry(key.unwrap_or_else(|| place.to_owned())).or_default();
    call.0 = number(1) as u32;
    let tokens = &mut call.1;
    tokens.input = tokens.input.max(number(2));
    tokens.output = tokens.output.max(number(3));
    tokens.cache_write = tokens.cache_write.max(number(4));
    tokens.cache_read = tokens.cache_read.max(number(5));
    tokens.thinking = tokens.thinking.max(number(9));
}
