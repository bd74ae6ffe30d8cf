//! Standard input and arguments as they should not be.

use std::{
    io::Write,
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{ID, Place, ends, run};

fn id_alone() -> Vec<u8> {
    format!(r#"{{"conversationId":"{ID}"}}"#).into_bytes()
}

#[test]
fn h6_what_is_not_known_is_dropped_and_counted() {
    let place = Place::new("unknown");
    place.event(&["PreToolUse"], b"{}");
    place.event(&["Stop", "claude"], b"{}");
    place.event(&[], b"{}");
    place.event(&["--nonsense"], b"{}");
    assert_eq!(place.count_dropped(), 4);
    assert!(!place.journal().exists());
}

#[test]
fn h6_an_input_that_is_closed_or_empty_needs_an_id() {
    let place = Place::new("closed");
    place.event(&["Stop"], b"");
    let mut c = place.command(&["Stop"]);
    c.stdin(Stdio::null()).env("ANTIGRAVITY_CONVERSATION_ID", "../../etc");
    assert!(c.status().unwrap().success());
    assert_eq!(place.count_dropped(), 2);
    let mut c = place.command(&["Stop"]);
    c.env("ANTIGRAVITY_CONVERSATION_ID", ID);
    run(c, b" \n");
    assert_eq!(place.records(), [("Stop".to_owned(), id_alone())]);
}

#[cfg(unix)]
#[test]
fn h6_no_input_at_all_is_like_an_empty_one() {
    let place = Place::new("none");
    let hook = place.command(&["Stop"]);
    let mut c = std::process::Command::new("sh");
    c.arg("-c").arg(r#"exec "$0" "$@" <&- >&- 2>&-"#).arg(hook.get_program()).args(hook.get_args());
    c.env("ANTIGRAVITY_CONVERSATION_ID", ID);
    assert!(c.status().unwrap().success());
    assert_eq!(place.records(), [("Stop".to_owned(), id_alone())]);
}

#[test]
fn h7_a_hundred_megabytes_are_read_to_their_end_and_go_on_without_their_body() {
    let place = Place::new("huge");
    let mut c = place.command(&["PostToolUse"]);
    let mut child = c.env("ANTIGRAVITY_CONVERSATION_ID", ID).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let part = vec![b'x'; 1 << 20];
    let started = Instant::now();
    let mut written = 0;
    // On a machine that takes longer than the limit it may stop reading before: agy is not kept.
    while written < 100 && input.write_all(&part).is_ok() {
        written += 1;
    }
    assert!(written == 100 || started.elapsed() > Duration::from_millis(1_200), "stopped at {written} MB");
    drop(input);
    assert!(ends(&mut child).0.success());
    assert_eq!(place.records(), [("PostToolUse".to_owned(), id_alone())]);
}

#[test]
fn h7_exactly_a_mebibyte_is_kept() {
    let place = Place::new("bound");
    place.event(&["PostToolUse"], &vec![b'x'; 1 << 20]);
    place.event(&["PostToolUse"], &vec![b'x'; (1 << 20) + 1]);
    let lengths: Vec<_> = place.records().iter().map(|(_, body)| body.len()).collect();
    assert_eq!(lengths, [1 << 20]);
    assert_eq!(place.count_dropped(), 1);
}

#[test]
fn h6_an_input_that_is_never_closed_ends_within_two_seconds() {
    // The program waits 1.5 s; what a crowded machine adds to that is not its fault, so one of five has to be in time.
    let took: Vec<Duration> = std::iter::repeat_with(ends_without_an_end_of_input)
        .take(5)
        .scan(false, |in_time, took| {
            let before = std::mem::replace(in_time, took < Duration::from_secs(2));
            (!before).then_some(took)
        })
        .collect();
    assert!(took.iter().all(|took| *took > Duration::from_millis(1_400)), "{took:?}");
    assert!(took.iter().any(|took| *took < Duration::from_secs(2)), "{took:?}");
}

/// What a hook keeps of an input that stays open, and how long it waits for the rest.
fn ends_without_an_end_of_input() -> Duration {
    let place = Place::new("open");
    let started = Instant::now();
    let mut child = place.command(&["Stop"]).env("ANTIGRAVITY_CONVERSATION_ID", ID).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(br#"{"conversationId""#).unwrap();
    let (status, _) = ends(&mut child);
    let took = started.elapsed();
    assert!(status.success());
    assert_eq!(place.records(), [("Stop".to_owned(), id_alone())]);
    drop(input);
    took
}

#[test]
fn q1_a_body_is_kept_as_it_is_whatever_it_is() {
    let place = Place::new("bytes");
    let bodies: [&[u8]; 4] = [b"not json", b"\xff\xfe\0", b"\nAH1 2 1 1 Stop\n{}\n", b"AH1 "];
    for body in bodies {
        place.event(&["Stop"], body);
    }
    let found: Vec<_> = place.records().into_iter().map(|(_, body)| body).collect();
    assert_eq!(found, bodies.map(<[u8]>::to_vec));
}
