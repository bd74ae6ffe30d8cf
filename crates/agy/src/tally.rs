//! Sums over rows that are added up once and never read again. A conversation's answer is the tally of its old rows, kept
//! in the cursor, plus the tally of its newest rows, made anew at each read. So work does not grow with the session
//! (spec B3), and reading at once or bit by bit comes to the same.

use std::collections::BTreeSet;

use agenthub_core::{Model, Time};
use serde::{Deserialize, Serialize};

/// Where a hostile file would let a set grow without bound, it stops growing.
const MOST_ODD_CALLS: usize = 10_000;

/// A step, as the facts about turns and states need it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) idx: i64,
    pub(crate) step_type: i64,
    pub(crate) status: i64,
    pub(crate) created: Option<Time>,
    pub(crate) completed: Option<Time>,
    /// Hash of the execution's id, 0 for none.
    pub(crate) execution: u64,
    /// It starts a turn, at this time if it has one.
    pub(crate) starts_turn: bool,
    pub(crate) turn_at: Option<Time>,
    pub(crate) is_tool: bool,
    pub(crate) is_bad: bool,
    /// Hashed keys of its calls whose numbers don't add up.
    pub(crate) odd: Vec<u64>,
}

/// A row number with a time that may be missing, in the cursor's compact form.
pub(crate) type At = (i64, Option<i64>);

/// Sums over steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StepTally {
    pub(crate) turns: u64,
    pub(crate) tools: u64,
    pub(crate) bad: u64,
    pub(crate) odd: BTreeSet<u64>,
    /// The first step that has a time.
    pub(crate) first: Option<At>,
    pub(crate) first_user: Option<i64>,
    pub(crate) first_checkpoint: Option<i64>,
    /// The step that started the newest turn.
    pub(crate) turn: Option<At>,
    /// The newest step that belongs to an execution, and the hash of that one's id.
    pub(crate) execution: Option<(i64, u64)>,
}

impl StepTally {
    pub(crate) fn add(&mut self, s: &Step) {
        use crate::wire::step_type;
        self.turns += u64::from(s.starts_turn);
        self.tools += u64::from(s.is_tool);
        self.bad += u64::from(s.is_bad);
        insert(&mut self.odd, s.odd.iter().copied());
        if let Some(t) = s.created {
            self.first = least(self.first, Some((s.idx, Some(t.micros()))));
        }
        let kept = match s.step_type {
            step_type::USER_INPUT if s.starts_turn => Some(&mut self.first_user),
            step_type::CHECKPOINT if s.status == crate::wire::status::DONE => {
                Some(&mut self.first_checkpoint)
            }
            _ => None,
        };
        if let Some(kept) = kept {
            *kept = least(*kept, Some(s.idx));
        }
        if s.starts_turn {
            self.turn = self.turn.max(Some((s.idx, s.turn_at.map(Time::micros))));
        }
        if s.execution != 0 {
            self.execution = self.execution.max(Some((s.idx, s.execution)));
        }
    }

    #[must_use]
    pub(crate) fn plus(&self, o: &StepTally) -> StepTally {
        let mut odd = self.odd.clone();
        insert(&mut odd, o.odd.iter().copied());
        StepTally {
            turns: self.turns.saturating_add(o.turns),
            tools: self.tools.saturating_add(o.tools),
            bad: self.bad.saturating_add(o.bad),
            odd,
            first: least(self.first, o.first),
            first_user: least(self.first_user, o.first_user),
            first_checkpoint: least(self.first_checkpoint, o.first_checkpoint),
            turn: self.turn.max(o.turn),
            execution: self.execution.max(o.execution),
        }
    }
}

/// The newest call that speaks for the session's model and context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Newest {
    pub(crate) idx: i64,
    pub(crate) number: i32,
    pub(crate) id: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) used: u64,
    pub(crate) max: Option<u64>,
    pub(crate) parts: Vec<(String, u64)>,
}

impl Newest {
    pub(crate) fn model(&self) -> Model {
        Model { number: self.number, id: self.id.clone(), label: self.label.clone() }
    }
}

/// Sums over generator rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GenTally {
    pub(crate) bad: u64,
    pub(crate) without_usage: u64,
    pub(crate) odd: BTreeSet<u64>,
    pub(crate) newest: Option<Newest>,
}

impl GenTally {
    #[must_use]
    pub(crate) fn plus(&self, o: &GenTally) -> GenTally {
        let mut odd = self.odd.clone();
        insert(&mut odd, o.odd.iter().copied());
        GenTally {
            bad: self.bad.saturating_add(o.bad),
            without_usage: self.without_usage.saturating_add(o.without_usage),
            odd,
            newest: o.newest.clone().or_else(|| self.newest.clone()),
        }
    }
}

pub(crate) fn insert(set: &mut BTreeSet<u64>, more: impl Iterator<Item = u64>) {
    for h in more {
        if set.len() < MOST_ODD_CALLS {
            set.insert(h);
        }
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
