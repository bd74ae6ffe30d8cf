//! Which turns are to be sent now: a pure question over a conversation's rows, what its hooks told, and what was sent
//! before (spec R7).

use agenthub_agy::trace::{End, Turn};
use agenthub_core::Time;
use serde::{Deserialize, Serialize};

/// A held turn is sent unfinished after this.
pub(crate) const HELD_MS: i64 = 30 * 60_000;
/// Rows that agy flushes after a Stop are waited for so long.
pub(crate) const SETTLING_MS: i64 = 10_000;
/// A turn that broke without a Stop, or whose Stop was lost, is over after this silence.
const SILENT_MS: i64 = 2 * 60_000;
/// A step that began so long after a Stop shows that another hook made agy go on.
const AFTER_STOP_MS: i64 = 250;

/// What hooks told of a conversation: the newest of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Heard {
    #[serde(with = "micros", skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<Time>,
    #[serde(with = "micros", skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<Time>,
    #[serde(with = "micros", skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<Time>,
    #[serde(with = "micros", skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<Time>,
}

mod micros {
    use agenthub_core::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(t: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        t.map(Time::micros).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Time::from_micros))
    }
}

/// How a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It may still go on.
    Runs,
    /// It was stopped, and its last rows are still to come.
    Settles,
    Over,
    /// It may still go on, but nobody should wait for it any longer.
    Abandoned,
}

/// `wrote`: when agy wrote the conversation last.
pub(crate) fn stands(turn: &Turn, heard: &Heard, wrote: Time, now: Time) -> Stands {
    if turn.is_followed {
        return Stands::Over;
    }
    let from = turn.span.extent.from;
    // A transcript's whole seconds may lie before the moment itself, never after it.
    let of_turn = |t: Option<Time>| t.filter(|t| *t >= from);
    let (stopped, held) = (of_turn(heard.stopped), of_turn(heard.held));
    let sign = [Some(wrote), heard.last].into_iter().flatten().max().unwrap_or(wrote);
    let silent_ms = now.ms_since(sign);
    if held.is_some() && held > stopped {
        // Written to or not: what counts is that nothing ended it.
        let since = [held, heard.last].into_iter().flatten().max().unwrap_or(now);
        return if now.ms_since(since) >= HELD_MS { Stands::Abandoned } else { Stands::Runs };
    }
    if let Some(stopped) = stopped {
        let went_on = turn.newest_step_at.is_some_and(|t| t.ms_since(stopped) > AFTER_STOP_MS);
        // agy writes the row of the end after the Stop. After a part that was held there is an older such row: then the file
        // must have been written since (its time can be some milliseconds behind the hook's clock).
        let is_fresh = held.is_none() || wrote >= stopped;
        let is_told = turn.span.from_transcript || (turn.is_settled && is_fresh);
        return match (went_on, is_told) {
            (true, _) if turn.end == End::Open && silent_ms >= HELD_MS => Stands::Abandoned,
            // It ends by another Stop; a lost one shows by silence.
            (true, false) => Stands::Runs,
            (true, true) if silent_ms < SETTLING_MS => Stands::Runs,
            (_, true) => Stands::Over,
            (false, false) if now.ms_since(stopped) >= SETTLING_MS => Stands::Over,
            (false, false) => Stands::Settles,
        };
    }
    match turn.end {
        End::Execution | End::Broken if silent_ms >= SILENT_MS => Stands::Over,
        _ if silent_ms >= HELD_MS => Stands::Abandoned,
        _ => Stands::Runs,
    }
}

/// What was sent of a turn before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// Marked incomplete, with this digest.
    Incomplete(u64),
    Whole(u64),
}

/// What is to be sent of it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    All {
        incomplete: bool,
    },
    /// The spans that changed or came since.
    Changes,
}

/// `digest` is that of the turn as it is now, as if it were complete.
pub(crate) fn due(stands: Stands, sent: Sent, digest: u64) -> Due {
    match (stands, sent) {
        (Stands::Over, Sent::Nothing | Sent::Incomplete(_)) => Due::All { incomplete: false },
        (Stands::Over, Sent::Whole(old)) if old != digest => Due::Changes,
        (Stands::Abandoned, Sent::Nothing) => Due::All { incomplete: true },
        (Stands::Abandoned, Sent::Incomplete(old)) if old != digest => Due::All { incomplete: true },
        _ => Due::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use agenthub_core::{
        SessionId,
        trace::{Agent, Extent, Provider, SpanIds, StepKey, TurnSpan},
    };

    use super::*;

    const BEGAN: i64 = 1_000_000_000;

    fn at(ms: i64) -> Time {
        Time::from_millis(BEGAN + ms)
    }

    fn turn(end: End, is_settled: bool, newest_step_ms: i64) -> Turn {
        let conversation = SessionId::parse("18ee78b4-4643-45db-85df-8abd89b51b1b").unwrap();
        let key = StepKey { step: 0, second: 0 };
        let id = SpanIds { conversation: &conversation, turn: key }.turn();
        let span = TurnSpan {
            id,
            extent: Extent::new(at(0), at(newest_step_ms), false),
            conversation,
            execution: None,
            agent: Agent::default(),
            model: None,
            provider: Provider::default(),
            finish_reason: None,
            failure: None,
            incomplete: false,
            from_transcript: false,
            prompt: None,
            answer: None,
            calls: Vec::new(),
            tools: Vec::new(),
        };
        let newest_step_at = Some(at(newest_step_ms));
        let (children, sides) = (Vec::new(), Vec::new());
        Turn { key, span, children, end, is_followed: false, is_settled, newest_step_at, sides }
    }

    fn heard(stopped: Option<i64>, held: Option<i64>, last: i64) -> Heard {
        Heard { stopped: stopped.map(at), held: held.map(at), begun: None, last: Some(at(last)) }
    }

    #[test]
    fn r7_a_stop_ends_the_turn_once_its_rows_are_there() {
        let stop = heard(Some(5_000), None, 5_000);
        let whole = turn(End::Execution, true, 4_000);
        assert_eq!(stands(&whole, &stop, at(5_010), at(5_020)), Stands::Over);
        // The file's time can be a little behind; but after a part that was held an older row says nothing.
        assert_eq!(stands(&whole, &stop, at(4_998), at(5_020)), Stands::Over);
        let after_held = heard(Some(5_000), Some(4_500), 5_000);
        assert_eq!(stands(&whole, &after_held, at(4_900), at(5_020)), Stands::Settles);
        let late = turn(End::Open, false, 4_000);
        assert_eq!(stands(&late, &stop, at(5_010), at(6_000)), Stands::Settles);
        assert_eq!(stands(&late, &stop, at(5_010), at(5_000 + SETTLING_MS)), Stands::Over, "bounded");
        // A Stop of an earlier turn ends nothing.
        assert_eq!(stands(&late, &heard(Some(-1), None, 0), at(4_000), at(5_000)), Stands::Runs);
    }

    #[test]
    fn r7_another_hook_can_make_agy_go_on_after_a_stop() {
        let goes_on = turn(End::Open, false, 7_000);
        let stop = heard(Some(5_000), None, 5_000);
        assert_eq!(stands(&goes_on, &stop, at(7_000), at(20_000)), Stands::Runs);
        assert_eq!(stands(&goes_on, &stop, at(7_000), at(7_000 + HELD_MS)), Stands::Abandoned);
        let ended = turn(End::Execution, true, 7_000);
        assert_eq!(stands(&ended, &heard(Some(9_000), None, 9_000), at(9_010), at(9_020)), Stands::Over);
    }

    #[test]
    fn r7_a_held_turn_waits_for_its_final_stop_the_next_prompt_or_half_an_hour() {
        let held = turn(End::Execution, true, 4_000);
        let h = heard(None, Some(5_000), 5_000);
        assert_eq!(stands(&held, &h, at(5_010), at(5_000 + HELD_MS - 1)), Stands::Runs);
        assert_eq!(stands(&held, &h, at(5_010), at(5_000 + HELD_MS)), Stands::Abandoned);
        // A sign of life begins the wait anew.
        let woken = heard(None, Some(5_000), 60_000);
        assert_eq!(stands(&held, &woken, at(60_000), at(5_000 + HELD_MS)), Stands::Runs);
        let over = heard(Some(70_000), Some(5_000), 70_000);
        assert_eq!(stands(&held, &over, at(70_010), at(70_020)), Stands::Over);
        let followed = Turn { is_followed: true, ..held };
        assert_eq!(stands(&followed, &h, at(5_010), at(6_000)), Stands::Over);
    }

    #[test]
    fn r7_a_turn_without_a_stop_is_over_by_its_rows_and_silence() {
        let none = Heard::default();
        for end in [End::Broken, End::Execution] {
            let t = turn(end, true, 4_000);
            assert_eq!(
                stands(&t, &none, at(4_000), at(4_000 + SILENT_MS - 1)),
                Stands::Runs,
                "it may try again"
            );
            assert_eq!(stands(&t, &none, at(4_000), at(4_000 + SILENT_MS)), Stands::Over);
        }
        let open = turn(End::Open, false, 4_000);
        assert_eq!(stands(&open, &none, at(4_000), at(4_000 + HELD_MS - 1)), Stands::Runs);
        assert_eq!(stands(&open, &none, at(4_000), at(4_000 + HELD_MS)), Stands::Abandoned);
    }

    #[test]
    fn r7_u107_nothing_is_sent_twice_and_what_was_incomplete_is_sent_whole() {
        let all = |incomplete| Due::All { incomplete };
        for (stands, sent, expected) in [
            (Stands::Over, Sent::Nothing, all(false)),
            (Stands::Over, Sent::Whole(7), Due::Nothing),
            (Stands::Over, Sent::Whole(8), Due::Changes),
            (Stands::Over, Sent::Incomplete(7), all(false)),
            (Stands::Abandoned, Sent::Nothing, all(true)),
            (Stands::Abandoned, Sent::Incomplete(7), Due::Nothing),
            (Stands::Abandoned, Sent::Incomplete(8), all(true)),
            (Stands::Abandoned, Sent::Whole(8), Due::Nothing),
            (Stands::Runs, Sent::Nothing, Due::Nothing),
            (Stands::Settles, Sent::Nothing, Due::Nothing),
        ] {
            assert_eq!(due(stands, sent, 7), expected, "{stands:?} {sent:?}");
        }
    }
}
