//! Records in a row, cut, glued, hostile; files that grow, are put aside and come back.

use super::*;

fn of(event: &str, body: &str) -> String {
    format!("AH1 {} 17 4 {event}\n{body}\n", body.len())
}

/// Event names and bodies, `!` for what was dropped, and how many bytes are left.
fn shown(journal: &[u8], last: bool) -> (Vec<String>, usize) {
    let (all, taken) = pieces(journal, last);
    let show = |p: &Piece<'_>| match p {
        Piece::Record(r) => format!("{}:{}", r.event, String::from_utf8_lossy(r.body)),
        Piece::Dropped(why) => format!("!{}", why.name()),
    };
    (all.iter().map(show).collect(), journal.len() - taken)
}

#[track_caller]
fn check(journal: &str, expected: &[&str], left: usize) {
    let (all, rest) = shown(journal.as_bytes(), false);
    assert_eq!(
        (all.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), rest),
        (expected, left),
        "{journal:?}"
    );
}

#[test]
fn h07_whole_records_are_taken_in_order() {
    let two = of("Stop", "{}") + &of("PreInvocation", "{\n\"a\": 1}");
    check(&two, &["Stop:{}", "PreInvocation:{\n\"a\": 1}"], 0);
    check("", &[], 0);
    check("\n\n", &[], 0);
    check(&format!("\n{two}\n"), &["Stop:{}", "PreInvocation:{\n\"a\": 1}"], 0);
    check(&of("Stop", ""), &["Stop:"], 0);
    let (all, _) = pieces(two.as_bytes(), false);
    assert!(matches!(all[0], Piece::Record(Record { ns: 17, pid: 4, .. })));
}

#[test]
fn h07_a_cut_record_is_skipped_to_the_next_and_never_misread() {
    let next = of("Stop", "{}");
    let whole = of("PreInvocation", "{\"conversationId\":\"x\"}");
    for cut in 1..whole.len() - 1 {
        let start = &whole[..cut];
        // At the end it may still be written on.
        let waits = whole.len() - cut;
        assert!(waits > 0);
        check(start, &[], cut);
        assert_eq!(shown(start.as_bytes(), true), (vec!["!unreadable".to_owned()], 0), "{start:?}");
        // The hook gives the next one a line of its own.
        check(&format!("{start}\n{next}"), &["!unreadable", "Stop:{}"], 0);
    }
    // A length that reaches into the next record, and exactly to its end.
    for length in [10, next.len() + 1, next.len() + 2, next.len() + 40] {
        let lie = format!("AH1 {length} 17 4 Stop\n{{}}\n{next}{next}");
        let (all, _) = shown(lie.as_bytes(), false);
        assert_eq!(all, ["!unreadable", "Stop:{}", "Stop:{}"], "{length}");
    }
}

#[test]
fn h07_what_is_no_record_is_passed_over() {
    let next = of("Stop", "{}");
    for bad in [
        "hello\n",
        "AH1\n",
        "AH1 x 17 4 Stop\n{}\n",
        "AH1 2 17 4\n{}\n",
        "AH1 2 17 4 Stop more\n{}\n",
        "AH1 -2 17 4 Stop\n{}\n",
        "AH1 2 17 99999999999 Stop\n{}\n",
        "AH2 2 17 4 Stop\n{}\n",
        "AH1 1 17 4 Stop\n{}\n",
        "AH1 99999999999999999999 17 4 Stop\n{}\n",
    ] {
        check(&format!("{bad}{next}"), &["!unreadable", "Stop:{}"], 0);
    }
    check(&format!("AH1 1048577 17 4 Stop\n{{}}\n{next}"), &["!too_long", "Stop:{}"], 0);
    // No end in sight: it is not kept for ever.
    check(&"x".repeat(1_000), &["!unreadable"], 0);
    check("x\ny\nAH", &["!unreadable"], 2);
}

#[test]
fn q01_any_bytes_are_taken_apart_in_any_portions() {
    let mut seed = 7u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let parts = ["AH1 ", "2 17 4 Stop", "\n", "{}", "\nAH1 2 17 4 Stop\n{}\n", "x", " ", "AH1 30 1 1 Stop\n"];
    for _ in 0..20_000 {
        let text: String = (0..next() % 12).map(|_| parts[next() as usize % parts.len()]).collect();
        let (whole, _) = pieces(text.as_bytes(), true);
        let records = |all: &[Piece<'_>]| all.iter().filter(|p| matches!(p, Piece::Record(_))).count();
        // The same in two portions, as it is read while it is written.
        let cut = next() as usize % (text.len() + 1);
        let (first, taken) = pieces(&text.as_bytes()[..cut], false);
        let (second, _) = pieces(&text.as_bytes()[taken..], true);
        assert!(records(&first) + records(&second) >= records(&whole), "{text:?} at {cut}");
    }
}

struct World {
    places: Places,
    store: Store,
    journal: Journal,
    _dir: tempfile::TempDir,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(&dir.path().join("data")).unwrap();
    places.make_hooks().unwrap();
    let store = Store::open(&places.store()).unwrap().store;
    World { journal: Journal::new(&places), places, store, _dir: dir }
}

impl World {
    fn append(&self, text: &str) {
        use std::io::Write;
        let mut f =
            std::fs::OpenOptions::new().create(true).append(true).open(self.places.journal()).unwrap();
        f.write_all(text.as_bytes()).unwrap();
    }

    fn read(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(batch) = self.journal.next(&self.store).unwrap() {
            let (found, left) = shown(&batch.bytes, batch.last);
            let taken = batch.bytes.len() - left;
            let journal = Some(batch.position(taken));
            self.store.apply_hooks(&agenthub_store::HookChange { journal, ..Default::default() }).unwrap();
            self.journal.took(batch, taken);
            all.extend(found);
        }
        self.journal.tidy(&mut self.store).unwrap();
        all
    }

    fn restart(&mut self) {
        self.journal = Journal::new(&self.places);
        self.journal.look_aside();
    }
}

#[test]
fn h07_it_is_read_once_and_goes_on_after_a_restart() {
    let mut w = world();
    assert_eq!(w.read(), [""; 0]);
    w.append(&of("Stop", "1"));
    assert_eq!(w.read(), ["Stop:1"]);
    assert_eq!(w.read(), [""; 0]);
    w.append(&of("Stop", "2")[..10]);
    assert_eq!(w.read(), [""; 0]);
    w.append(&of("Stop", "2")[10..]);
    assert_eq!(w.read(), ["Stop:2"]);
    w.append(&of("Stop", "3"));
    w.restart();
    assert_eq!(w.read(), ["Stop:3"]);
    // Another journal at its place, which is not shorter.
    std::fs::remove_file(w.places.journal()).unwrap();
    w.append(&(of("PostToolUse", "4") + &of("Stop", &"5".repeat(200))));
    assert_eq!(w.read().len(), 2);
    std::fs::remove_file(w.places.journal()).unwrap();
    std::fs::create_dir(w.places.journal()).unwrap();
    assert_eq!(w.read(), [""; 0]);
}

#[test]
fn h07_a_long_journal_is_put_aside_and_read_on_until_it_is_quiet() {
    let mut w = world();
    let long = "x".repeat(600_000);
    w.append(&(of("Stop", &long) + &of("Stop", &long)));
    let mut late = std::fs::OpenOptions::new().append(true).open(w.places.journal()).unwrap();
    assert_eq!(w.read().len(), 2);
    assert!(!w.places.journal().exists());
    // A hook that had it open writes on; another begins a new one.
    use std::io::Write;
    late.write_all(of("Stop", "late").as_bytes()).unwrap();
    w.append(&of("Stop", "new"));
    assert_eq!(w.read(), ["Stop:late", "Stop:new"]);
    late.write_all(&of("Stop", "later").as_bytes()[..10]).unwrap();
    w.restart();
    assert_eq!(w.read(), [""; 0]);
    assert!(w.journal.due().is_some());
    // Ten seconds later.
    let past = Instant::now().checked_sub(QUIET).unwrap();
    w.journal.seen.values_mut().for_each(|s| s.since = past);
    assert_eq!(w.read(), ["!unreadable"]);
    w.journal.seen.values_mut().for_each(|s| s.since = past);
    assert_eq!(w.read(), [""; 0]);
    let names: Vec<_> =
        std::fs::read_dir(w.places.hooks()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names, ["journal"]);
    assert_eq!(w.journal.due(), None);
}

#[test]
fn q01_a_journal_that_hooks_cannot_have_written_is_read_so_far_and_put_aside() {
    let mut w = world();
    w.append(&of("Stop", "1"));
    std::fs::OpenOptions::new().append(true).open(w.places.journal()).unwrap().set_len(1 << 40).unwrap();
    let all = w.read();
    assert_eq!(all.first().map(String::as_str), Some("Stop:1"));
    assert!(all.iter().skip(1).all(|p| p == "!unreadable"), "{all:?}");
    // Its first line is another one, as a time and a process make it.
    w.append(&of("PostToolUse", "2"));
    assert_eq!(w.read(), ["PostToolUse:2"]);
    let past = Instant::now().checked_sub(QUIET).unwrap();
    w.journal.seen.values_mut().for_each(|s| s.since = past);
    assert_eq!(w.read(), [""; 0]);
    assert_eq!(w.journal.due(), None);
    let codes: Vec<_> = faults(&w.places).iter().map(|f| f.code).collect();
    assert_eq!(codes, ["journal_too_long"]);
    w.restart();
    assert_eq!(w.read(), [""; 0]);
}

/// What stands in the way, and what is said of it.
#[track_caller]
fn finds(code: &str, hinder: impl FnOnce(&Places)) {
    let mut w = world();
    hinder(&w.places);
    let found = faults(&w.places);
    assert_eq!(found.iter().map(|f| f.code).collect::<Vec<_>>(), [code]);
    assert!(found[0].message.contains("data") && found[0].advice.ends_with('.'), "{found:?}");
    // Whatever it is, reading goes on.
    assert_eq!(w.read(), [""; 0]);
}

#[test]
fn h07_each_thing_that_hinders_the_journal_has_its_code() {
    assert_eq!(faults(&world().places), []);
    finds("journal_not_a_file", |p| std::fs::create_dir(p.journal()).unwrap());
    finds("journal_folder", |p| {
        std::fs::remove_dir_all(p.hooks()).unwrap();
        std::fs::write(p.hooks(), "mine").unwrap();
    });
    let full = world();
    full.append("AH1 ");
    std::fs::OpenOptions::new().append(true).open(full.places.journal()).unwrap().set_len(64 << 20).unwrap();
    assert_eq!(faults(&full.places).iter().map(|f| f.code).collect::<Vec<_>>(), ["journal_full"]);
}

#[cfg(unix)]
#[test]
fn h07_each_thing_that_hinders_the_doorbell_has_its_code() {
    finds("doorbell_taken", |p| std::fs::write(p.doorbell(), "mine").unwrap());
    finds("journal_not_a_file", |p| std::os::unix::fs::symlink("/etc/passwd", p.journal()).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let places = Places::make(&dir.path().join("data".repeat(30))).unwrap();
    places.make_hooks().unwrap();
    assert_eq!(faults(&places).iter().map(|f| f.code).collect::<Vec<_>>(), ["doorbell_too_long"]);
}

#[cfg(unix)]
#[test]
fn h07_a_journal_of_somebody_elses_is_not_read() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a file away");
        return;
    }
    finds("journal_not_ours", |p| {
        std::fs::write(p.journal(), of("Stop", "1")).unwrap();
        std::os::unix::fs::chown(p.journal(), Some(12_345), None).unwrap();
    });
    finds("journal_folder", |p| std::os::unix::fs::chown(p.hooks(), Some(12_345), None).unwrap());
}
