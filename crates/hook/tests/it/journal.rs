//! What one event leaves behind, and many at once.

use crate::{ID, Place, record, run};

#[test]
fn h7_an_event_is_one_record_in_a_private_file() {
    let place = Place::new("one");
    place.event(&["PreInvocation"], br#"{"conversationId":"x"}"#);
    place.event(&["Stop", "antigravity"], b"{}\n");
    let bodies = place.records();
    assert_eq!(bodies[0], ("PreInvocation".to_owned(), br#"{"conversationId":"x"}"#.to_vec()));
    assert_eq!(bodies[1], ("Stop".to_owned(), b"{}\n".to_vec()));
    assert_eq!(bodies.len(), 2);
    assert!(!place.dropped().exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |p: &std::path::Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.journal()), 0o600);
        assert_eq!(mode(place.journal().parent().unwrap()), 0o700);
    }
}

#[test]
fn h7_the_stamp_is_of_the_start_and_not_of_the_end_of_its_input() {
    let place = Place::new("stamp");
    let mut child = place.command(&["Stop"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let later = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{}").unwrap();
    assert!(child.wait().unwrap().success());
    let bytes = std::fs::read(place.journal()).unwrap();
    let ns: u128 = std::str::from_utf8(&bytes).unwrap().split(' ').nth(2).unwrap().parse().unwrap();
    assert!(ns < later - 200_000_000, "{ns} {later}");
}

#[test]
fn h7_four_processes_at_once_tear_no_record() {
    let place = Place::new("torn");
    std::thread::scope(|threads| {
        for writer in 0u8..4 {
            let place = &place;
            threads.spawn(move || {
                for n in 0..40usize {
                    let body = vec![b'a' + writer; 40_000 + n * 5_000];
                    place.event(&["PostToolUse"], &body);
                }
            });
        }
    });
    let bytes = std::fs::read(place.journal()).unwrap();
    let mut at = 0;
    let mut whole = 0;
    while at < bytes.len() {
        // A writer that looked while another wrote begins on a line of its own.
        if bytes[at] == b'\n' {
            at += 1;
            continue;
        }
        let (_, body, length) = record(&bytes[at..]).unwrap_or_else(|| panic!("torn at {at}"));
        assert!(body.iter().all(|b| *b == body[0]), "two events in one record at {at}");
        at += length;
        whole += 1;
    }
    assert_eq!(whole, 160);
}

#[test]
fn h7_a_full_journal_drops_and_counts() {
    let place = Place::new("full");
    place.event(&["Stop"], b"{}");
    let file = std::fs::OpenOptions::new().write(true).open(place.journal()).unwrap();
    file.set_len((64 << 20) - 10).unwrap();
    for _ in 0..3 {
        place.event(&["Stop"], b"{}");
    }
    assert_eq!(std::fs::metadata(place.journal()).unwrap().len(), (64 << 20) - 10);
    assert_eq!(place.count_dropped(), 3);
}

#[test]
fn h7_a_record_after_one_that_was_cut_is_not_lost_with_it() {
    let place = Place::new("cut");
    place.event(&["Stop"], br#"{"n":1}"#);
    let mut bytes = std::fs::read(place.journal()).unwrap();
    bytes.truncate(bytes.len() - 4);
    std::fs::write(place.journal(), &bytes).unwrap();
    place.event(&["Stop"], br#"{"n":2}"#);
    place.event(&["Stop"], br#"{"n":3}"#);
    let bodies: Vec<_> = place.records().into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [br#"{"n":2}"#.to_vec(), br#"{"n":3}"#.to_vec()]);
}

#[test]
fn h7_a_set_variable_wins() {
    let place = Place::new("set");
    let other = place.root.join("elsewhere");
    let mut c = place.command(&["Stop"]);
    c.env("AGENTHUB_HOOK_JOURNAL", &other);
    run(c, b"{}");
    assert!(!place.journal().exists());
    assert_eq!(crate::records(&std::fs::read(other).unwrap()).len(), 1);
}

#[test]
fn h6_without_any_variable_it_works() {
    let place = Place::new("bare");
    let mut c = place.command(&["Stop"]);
    c.env_clear();
    run(c, b"{}");
    let mut c = place.command(&["PostToolUse"]);
    c.env_clear().env("ANTIGRAVITY_CONVERSATION_ID", ID);
    run(c, b"");
    let body = format!(r#"{{"conversationId":"{ID}"}}"#).into_bytes();
    assert_eq!(place.records()[1], ("PostToolUse".to_owned(), body));
}
