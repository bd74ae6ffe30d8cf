//! What is remembered of a destination: counts, the last attempts, and how long it is left alone. Nothing here decides
//! whether a span was sent.

use std::collections::BTreeMap;
use std::time::Duration;

use agenthub_core::Time;
use serde::{Deserialize, Serialize};

use super::When;
use crate::{Answer, Fate};

/// A backend that is away is asked again after 1 s, 2 s, … at most this.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// One that is set up wrongly will not mend itself by the second.
const FIRST_PAUSE_MISDIRECTED: Duration = Duration::from_secs(60);
const LONGEST_PAUSE_MISDIRECTED: Duration = Duration::from_secs(60 * 60);
/// No wait of ours is longer: beyond, the clock was set back.
const ABSURD_PAUSE_US: i64 = 7 * 60 * 60 * 1_000_000;

/// One try to send something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub at_us: i64,
    pub spans: u64,
    /// [`Fate::code`].
    pub fate: String,
    pub http_status: Option<u16>,
    pub message: String,
    pub rejected_spans: u64,
    pub took_ms: u64,
}

impl Attempt {
    pub fn new(at: Time, spans: u64, answer: &Answer, took: Duration) -> Attempt {
        Attempt {
            at_us: at.micros(),
            spans,
            fate: answer.fate.code().to_owned(),
            http_status: answer.http_status,
            message: answer.message.clone(),
            rejected_spans: answer.rejected_spans,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub const fn at(&self) -> Time {
        Time::from_micros(self.at_us)
    }

    pub fn is_taken(&self) -> bool {
        [Fate::Taken, Fate::Partly].iter().any(|fate| fate.code() == self.fate)
    }
}

/// `state.json` of a destination's folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    pub(super) failures: u32,
    /// Back-off, which new spans go past.
    pub(super) pause_until_us: Option<i64>,
    /// What the backend asked for, which nothing but the person goes past.
    pub(super) asked_until_us: Option<i64>,
    pub(super) last: Option<Attempt>,
    pub(super) last_taken: Option<Attempt>,
    pub(super) sent_spans: u64,
    pub(super) rejected_spans: u64,
    pub(super) dropped_batches: u64,
    pub(super) dropped_spans: u64,
    pub(super) damaged: u64,
    /// How often a backend failed at a batch while it took others.
    pub(super) blamed: BTreeMap<String, u32>,
    /// The settings that all this was learnt with.
    pub(super) setup: u64,
}

impl State {
    pub(super) fn noted(&mut self, attempt: Attempt) {
        if attempt.is_taken() {
            self.last_taken = Some(attempt.clone());
        }
        self.last = Some(attempt);
    }

    pub(super) fn went_through(&mut self) {
        self.failures = 0;
        self.pause_until_us = None;
        self.asked_until_us = None;
    }

    /// `random` is from 0 to 1: of many that wait for one backend, not all come back at once.
    pub(super) fn held_up(&mut self, answer: &Answer, now: Time, random: f64) {
        self.failures = self.failures.saturating_add(1);
        let pause = pause(answer.fate, self.failures).mul_f64(0.5 + 0.5 * random.clamp(0.0, 1.0));
        let after = |pause: Duration| {
            now.micros().saturating_add(i64::try_from(pause.as_micros()).unwrap_or(i64::MAX))
        };
        self.pause_until_us = Some(after(pause));
        self.asked_until_us = answer.retry_after.map(after);
    }

    /// Until when this destination is left alone.
    pub(super) fn not_before(&self, when: When) -> Option<Time> {
        let until = match when {
            When::Due => self.pause_until_us.max(self.asked_until_us),
            When::New => self.asked_until_us,
            When::Asked => None,
        };
        until.map(Time::from_micros)
    }

    /// The same, when it is still to come.
    pub(super) fn due_at(&self, when: When, now: Time) -> Option<Time> {
        self.not_before(when).filter(|until| {
            let left = until.micros().saturating_sub(now.micros());
            (1..=ABSURD_PAUSE_US).contains(&left)
        })
    }
}

fn pause(fate: Fate, failures: u32) -> Duration {
    let (first, longest) = match fate {
        Fate::Misdirected => (FIRST_PAUSE_MISDIRECTED, LONGEST_PAUSE_MISDIRECTED),
        _ => (Duration::from_secs(1), LONGEST_PAUSE),
    };
    first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(fate: Fate, retry_after: Option<u64>) -> Answer {
        Answer { retry_after: retry_after.map(Duration::from_secs), ..Answer::none(fate, "x") }
    }

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    #[test]
    fn r8_pauses_grow_to_a_limit_and_end_with_a_success() {
        let mut state = State::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            state.held_up(&answer(Fate::Later, None), at(0), 1.0);
            pauses.push(state.pause_until_us.unwrap() / 1_000_000);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        state.went_through();
        assert_eq!(state.due_at(When::Due, at(0)), None);

        state.held_up(&answer(Fate::Misdirected, None), at(0), 0.0);
        assert_eq!(state.due_at(When::Due, at(0)), Some(at(30)), "half of a minute at least");
    }

    #[test]
    fn r8_new_spans_go_past_a_pause_but_not_past_what_the_backend_asked_for() {
        let mut state = State::default();
        state.held_up(&answer(Fate::Later, Some(600)), at(0), 1.0);
        assert_eq!(state.due_at(When::Due, at(5)), Some(at(600)));
        assert_eq!(state.due_at(When::New, at(5)), Some(at(600)));
        assert_eq!(state.due_at(When::Asked, at(5)), None);
        assert_eq!(state.due_at(When::Due, at(600)), None);
        state.held_up(&answer(Fate::Later, None), at(600), 1.0);
        assert_eq!(state.due_at(When::Due, at(601)), Some(at(602)));
        assert_eq!(state.due_at(When::New, at(601)), None);
    }

    #[test]
    fn r8_a_clock_that_was_set_back_stops_nothing() {
        let mut state = State::default();
        state.held_up(&answer(Fate::Later, Some(3_600)), at(1_000_000), 1.0);
        assert_eq!(state.due_at(When::Due, at(0)), None);
    }

    #[test]
    fn q1_a_state_of_another_version_is_read_as_far_as_it_goes() {
        let read: State = serde_json::from_str(r#"{"failures": 3, "later": [1]}"#).unwrap();
        assert_eq!(read, State { failures: 3, ..State::default() });
    }
}
