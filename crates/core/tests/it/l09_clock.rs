//! `next_change_at` is honest: until it the clock changes nothing, and nothing changes unannounced.

use agenthub_core::{Person, Run, Session, Time, Windows, board, board::verdicts, derive};
use proptest::{collection::vec, prelude::*};

use crate::l09_any_order::{facts, person, runs, sessions, time};

/// Far beyond every window from every time that the strategies make.
const LATER_S: i64 = 400_000_000;

/// Moments in `now..until`, both ends and the last microsecond included.
fn moments(now: Time, until: Option<Time>, parts: &[u16]) -> Vec<Time> {
    let end = until.unwrap_or(now.plus_ms(LATER_S * 1_000));
    let span = end.micros() - now.micros();
    let mut all: Vec<Time> = parts
        .iter()
        .map(|p| {
            // Denser near `now`, where the short windows are.
            let part = i128::from(*p) * i128::from(*p) * i128::from(*p);
            let us = i128::from(span - 1) * part / 65_535i128.pow(3);
            Time::from_micros(now.micros() + i64::try_from(us).unwrap())
        })
        .collect();
    all.push(Time::from_micros(end.micros() - 1));
    all
}

fn board_at(all: &[Session], runs: &[Run], person: &Person, t: Time) -> Vec<agenthub_core::Lane> {
    let mut lanes = board(all, runs, person, t, &Windows::default()).lanes;
    for s in lanes.iter_mut().flat_map(|l| &mut l.sessions) {
        // What is yet to come may be told more precisely later; it is no change.
        s.verdict.next_change_at = None;
    }
    lanes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn l09_a_verdict_changes_only_when_it_was_announced(
        facts in facts(), now in time(), parts in vec(any::<u16>(), 8), quiet_s in 1..300i64,
    ) {
        let windows = Windows { quiet_ms: quiet_s * 1_000, ..Windows::default() };
        let v = derive(&facts, None, now, &windows);
        for t in moments(now, v.next_change_at, &parts) {
            let mut later = derive(&facts, None, t, &windows);
            later.next_change_at = v.next_change_at;
            prop_assert_eq!(&later, &v, "at {:?}", t);
        }
    }

    #[test]
    fn l09_a_board_changes_only_when_it_was_announced(
        all in sessions(), runs in runs(), person in person(), now in time(), parts in vec(any::<u16>(), 8),
    ) {
        let windows = Windows::default();
        let lanes = board_at(&all, &runs, &person, now);
        let states: Vec<_> =
            verdicts(&all, &runs, now, &windows).into_iter().map(|v| (v.state, v.settled, v.outcome)).collect();
        let next = board(&all, &runs, &person, now, &windows).next_change_at;
        for t in moments(now, next, &parts) {
            prop_assert_eq!(&board_at(&all, &runs, &person, t), &lanes, "at {:?}", t);
            let later: Vec<_> =
                verdicts(&all, &runs, t, &windows).into_iter().map(|v| (v.state, v.settled, v.outcome)).collect();
            prop_assert_eq!(&later, &states, "at {:?}", t);
        }
    }

    #[test]
    fn l09_sleeping_until_the_next_change_comes_to_rest(
        all in sessions(), runs in runs(), person in person(), now in time(),
    ) {
        let windows = Windows::default();
        let mut now = now;
        // Each session has few windows to pass; an engine that sleeps by the announcements wakes few times.
        for _ in 0..all.len() * 5 + runs.len() + 1 {
            match board(&all, &runs, &person, now, &windows).next_change_at {
                Some(t) => now = t,
                None => return Ok(()),
            }
        }
        prop_assert!(false, "it wakes for ever");
    }
}
