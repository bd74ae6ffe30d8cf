//! The lines of L5 that look at one turn: what the database and the hooks say of it.

use super::{Line, NO_TURN, NextChange, Outcome, Presence, State, Windows};
use crate::{
    DbView, Fact, Facts, Time,
    fact::{NewestStep, TurnEnd},
    hook::{StopEnd, Work},
};

/// A view that was read this long after a tool's end knows of it: what it says of the turn is newer (an interrupted
/// tool's hook is stamped after its step).
const SETTLED_MS: i64 = 2_000;
/// agy writes an execution's row when all its Stop hooks have run, each of which may take as long as agy lets it, ms.
const STOPPING_MS: i64 = 60_000;

/// What the lines are judged from.
pub(super) struct Known<'a> {
    pub(super) facts: &'a Facts,
    pub(super) db: &'a DbView,
    pub(super) presence: Presence,
    pub(super) wrote: Option<Time>,
    pub(super) turn_at: Option<Time>,
}

/// When the newest turn began, as the database and the hooks tell it (H9).
pub(super) fn turn_start(facts: &Facts, db: &DbView, windows: &Windows) -> Option<Time> {
    let turn_at = db.turn.as_ref().and_then(|s| s.at);
    let stopped_between = |from: Time, to: Time| {
        facts.hooks.recent().iter().any(|e| e.is_final_stop() && e.at >= from && e.at <= to)
    };
    let ended_between = |from: Time, to: Time| {
        let end = db.end.as_ref().and_then(|e| e.at);
        end.is_some_and(|e| e >= from && e < to) || stopped_between(from, to)
    };
    let opens = |p: &crate::hook::Prompt| {
        // A prompt that only silence suggests is none while the database has the turn open.
        p.told || turn_at.is_none_or(|t| p.at < t || db.end.is_some() || stopped_between(t, p.at))
    };
    let prompt = facts.hooks.prompts(windows.hold_ms).find(opens).map(|p| p.at);
    match (prompt, turn_at) {
        // agy writes the user's step, and then calls: one turn, unless one ended in between.
        (Some(p), Some(t)) if p >= t && p.ms_since(t) < SETTLED_MS && !ended_between(t, p) => Some(t),
        (p, t) => p.max(t),
    }
}

impl<'a> Known<'a> {
    /// The lines 2 and 4 to 9 of L5 that hold, strongest first.
    pub(super) fn lines(&self, windows: &Windows, next: &mut NextChange) -> Vec<Line> {
        let db = self.db;
        let mut lines = Vec::new();
        if let Some(w) = db.waiting.as_ref().filter(|_| self.presence != Presence::Gone && !self.is_stale()) {
            lines.push(Line::at(
                w.step.at,
                State::Waiting,
                Outcome::InProgress,
                Fact::StepWaits { step: w.step.idx, tool: w.tool.clone() },
            ));
        }
        if let Some(held) = self.facts.hooks.held()
            && !next.passed(held.plus_ms(windows.hold_ms))
        {
            lines.push(self.running(Some(held), Fact::HookHeld));
        }
        let (end, stop) = (self.db_end(), self.stop());
        lines.extend(end_lines(end, stop));
        match &db.newest {
            Some(NewestStep::Error { step, text }) if self.work_after(step.at).is_none() => {
                // With agy gone nobody is left who could try again.
                // Where agy has written for itself since, that is what the file's time tells of.
                let aside = step.at.filter(|at| self.db.aside >= Some(*at));
                let calm_at = aside.or(self.wrote).or(step.at).map(|t| t.plus_ms(windows.error_ms));
                if self.presence == Presence::Gone || calm_at.is_none_or(|t| next.passed(t)) {
                    lines.push(Line::at(
                        step.at,
                        State::Error,
                        Outcome::Failed,
                        Fact::ErrorMessage { step: step.idx, text: text.clone() },
                    ));
                }
            }
            Some(NewestStep::Canceled { step })
                if db.live.is_none() && self.work_after(step.at).is_none() =>
            {
                lines.push(Line::at(
                    step.at,
                    State::Idle,
                    Outcome::Canceled,
                    Fact::Canceled { step: step.idx },
                ));
            }
            _ => {}
        }
        // `since` of a running turn is its prompt's time, not that of the tool which happens to be at work.
        if let Some(live) = &db.live {
            let at = db.turn.as_ref().and_then(|t| t.at).or(live.step.at);
            let fact = Fact::StepLive { step: live.step.idx, tool: live.tool.clone() };
            lines.push(self.running(at, fact));
        }
        let stopped = self.facts.hooks.stop().map(|s| s.at);
        if let Some(w) = self.work().filter(|w| end.is_none() && Some(w.at) > stopped) {
            let fact = match w.tool {
                Some(tool) => Fact::HookTool { tool: tool.map(str::to_owned) },
                None => Fact::HookCall,
            };
            lines.push(self.running(Some(w.at), fact));
        }
        match &db.turn {
            Some(turn) if db.end.is_none() || lines.is_empty() => {
                lines.push(self.running(turn.at, Fact::PromptOpen { step: turn.idx }));
            }
            None if self.facts.hooks.is_empty() => lines.push(NO_TURN),
            _ => {}
        }
        lines
    }

    fn running(&self, at: Option<Time>, fact: Fact) -> Line {
        let since = self.turn_at.or(at);
        Line { since, ..Line::at(at, State::Running, Outcome::InProgress, fact) }
    }

    /// Whether a hook told something that the newest view cannot know.
    fn is_stale(&self) -> bool {
        self.facts.hooks.newest().map(|e| e.at) > self.facts.db.at()
    }

    /// The newest turn's execution, finished, with no later step at work.
    fn finished(&self) -> Option<&'a TurnEnd> {
        let live_after = |idx: i64| self.db.live.as_ref().is_some_and(|l| l.step.idx > idx);
        self.db.end.as_ref().filter(|e| !live_after(e.last_step))
    }

    /// The newest sign of hooks that agy is at work.
    fn work(&self) -> Option<Work<'a>> {
        let hooks = &self.facts.hooks;
        let is_over = |tool: Time| match &self.db.newest {
            Some(NewestStep::Error { .. } | NewestStep::Canceled { .. }) => self.db.live.is_none(),
            _ => self.finished().is_some_and(|end| !self.is_of_pause(end, tool)),
        };
        let settled = |t: Time| self.facts.db.at() >= Some(t.plus_ms(SETTLED_MS));
        let tool = hooks.tool().filter(|t| !(settled(t.at) && is_over(t.at)));
        match (hooks.invocation(), tool) {
            (Some(i), Some(t)) if t.at > i.at => Some(t),
            (i, t) => i.or(t),
        }
    }

    /// Whether this execution is the one that a held Stop closed, and the tool a piece of the work which it left in the
    /// background: another piece may be at work, or agy about to take up what came of it. The turn goes on in the next
    /// execution (spec §1), however long that takes to begin.
    fn is_of_pause(&self, end: &TurnEnd, tool: Time) -> bool {
        let held = self.facts.hooks.held_before(tool);
        held.zip(end.at).is_some_and(|(held, end)| end <= held.plus_ms(STOPPING_MS) && end <= tool)
    }

    /// The same, if it is later than `at`; without a time, than the read of the database.
    fn work_after(&self, at: Option<Time>) -> Option<Work<'a>> {
        self.work().filter(|w| Some(w.at) > at.or(self.facts.db.at()))
    }

    /// The end that the database tells, unless a hook knows of work after it.
    fn db_end(&self) -> Option<&'a TurnEnd> {
        self.finished().filter(|e| self.work_after(e.at).is_none())
    }

    /// The end that a final Stop tells: later than the newest prompt, any sign of work and any step at work.
    fn stop(&self) -> Option<StopEnd<'a>> {
        let stop = self.facts.hooks.stop()?;
        let db = self.db;
        let later = |t: Option<Time>| t.is_some_and(|t| t > stop.at);
        let user_step = db.turn.as_ref().and_then(|t| t.at);
        if later(user_step) || self.work_after(Some(stop.at)).is_some() {
            return None;
        }
        let live = db.live.as_ref().map(|l| l.step.at.or(self.facts.db.at()));
        // agy flushes late: a step is at work only if some step is newer than the Stop.
        let at_work =
            live.is_some_and(|live| later(live) || later(db.newest.as_ref().and_then(NewestStep::at)));
        (!at_work).then_some(stop)
    }
}

/// Line 5: the ends that are told, the one that decides first. An error beats an end without one, whoever tells it, and
/// the database knows best.
fn end_lines(end: Option<&TurnEnd>, stop: Option<StopEnd<'_>>) -> Vec<Line> {
    let db = end.map(|e| {
        let outcome = match e.reason {
            1 => Outcome::Failed,
            2 => Outcome::Canceled,
            _ => Outcome::Finished,
        };
        let fact = match outcome {
            Outcome::Failed => Fact::TurnFailed { reason: e.reason },
            _ => Fact::TurnEnded { reason: e.reason },
        };
        (outcome, e.at, fact)
    });
    let hook = stop.map(|s| {
        let outcome = match (s.error, s.reason) {
            (Some(_), _) => Outcome::Failed,
            (None, "USER_CANCELED") => Outcome::Canceled,
            (None, _) => Outcome::Finished,
        };
        let fact = match s.error {
            Some(text) => Fact::HookFailed { text: text.to_owned() },
            None => Fact::HookEnded { reason: s.reason.to_owned() },
        };
        (outcome, Some(s.at), fact)
    });
    let mut all: Vec<_> = db.into_iter().chain(hook).collect();
    all.sort_by_key(|(outcome, ..)| match outcome {
        Outcome::Failed => 0,
        Outcome::Canceled => 1,
        _ => 2,
    });
    all.into_iter()
        .map(|(outcome, at, fact)| {
            let state = if outcome == Outcome::Failed { State::Error } else { State::Idle };
            Line::at(at, state, outcome, fact)
        })
        .collect()
}
