//! T5 and L10: the history of notices, and what is done with, in the person's own file.

use agenthub_core::{Announced, Subject, Time};
use agenthub_store::{NoticeFate, NoticeRow, PersonStore};

fn row(at: i64, content: &str) -> NoticeRow {
    let content = content.to_owned();
    NoticeRow { id: 0, at: Time::from_micros(at), round: 0, fate: NoticeFate::Pending, why: None, content }
}

fn announced(end: i64) -> Announced {
    Announced { end: Some(Time::from_micros(end)), wait: Some((Time::from_micros(end + 1), 7)) }
}

#[test]
fn q2_a_notice_and_what_it_announces_are_kept_together_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("person.db");
    let mut p = PersonStore::open(&path, Time::from_micros(1)).unwrap();
    let one = (Subject("a".into()), announced(5));
    assert_eq!(p.keep_notices(&[row(5, "x"), row(6, "y")], std::slice::from_ref(&one)).unwrap(), [1, 2]);
    // Somebody else holds the file: nothing of it is written.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE notice SET content = 'z' WHERE id = 1").unwrap();
    let two = (Subject("b".into()), announced(9));
    p.keep_notices(&[row(9, "w")], std::slice::from_ref(&two)).unwrap_err();
    other.execute_batch("ROLLBACK").unwrap();
    drop(p);
    let mut p = PersonStore::open(&path, Time::from_micros(2)).unwrap();
    assert_eq!(p.announced().unwrap(), std::slice::from_ref(&one));
    assert_eq!(p.notices(9).unwrap().iter().map(|r| r.content.as_str()).collect::<Vec<_>>(), ["y", "x"]);
    p.keep_notices(&[row(9, "w")], std::slice::from_ref(&two)).unwrap();
    assert_eq!(p.announced().unwrap(), [one.clone(), two.clone()]);
    p.forget_announced_before(Time::from_micros(7)).unwrap();
    assert_eq!(p.announced().unwrap(), [two]);
}

#[test]
fn t5_one_host_takes_a_notice_up_and_the_last_two_hundred_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("person.db");
    let mut p = PersonStore::open(&path, Time::from_micros(1)).unwrap();
    for n in 0..250 {
        p.keep_notices(&[row(n, "x")], &[]).unwrap();
    }
    let rows = p.notices(1_000).unwrap();
    assert_eq!((rows.len(), rows[0].id, rows[199].id), (200, 250, 51));
    let other = PersonStore::open(&path, Time::from_micros(1)).unwrap();
    assert!(p.claim_notice(250, 0).unwrap());
    assert!(!other.claim_notice(250, 0).unwrap());
    // What is added to it is taken up anew, and only as it is now.
    let grown = NoticeRow { round: 1, ..rows[0].clone() };
    assert_eq!(p.keep_notices(std::slice::from_ref(&grown), &[]).unwrap(), [250]);
    assert!(!other.claim_notice(250, 0).unwrap());
    assert!(other.claim_notice(250, 1).unwrap());
    p.refuse_notice(250, "no daemon").unwrap();
    let newest = p.notices(1).unwrap().remove(0);
    assert_eq!((newest.fate, newest.why.as_deref()), (NoticeFate::Refused, Some("no daemon")));
}
