//! From facts and now to a state: one pure function (spec L5). It also says when the clock alone would change its answer.

mod lines;

use crate::{
    DbView, Evidence, Fact, Facts, LockReading, Time, Why,
    fact::{Live, NewestStep, StepRef},
};

/// What a person wants to know at a glance. Ordered: the later one is the worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Idle,
    Running,
    Waiting,
    Error,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Running => "running",
            State::Waiting => "waiting",
            State::Error => "error",
        }
    }
}

/// Whether agy still has the conversation open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Open,
    Gone,
    Unknown,
}

/// How the newest turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There was no turn yet.
    None,
    InProgress,
    Finished,
    Failed,
    /// The person stopped it.
    Canceled,
    /// agy went away in the middle.
    Unfinished,
    /// Nothing was written for so long that it counts as over; how it ended is not known.
    Quiet,
}

/// How long silence must last before it means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Quiet window of a session that has never sent a hook event, ms (L4).
    pub quiet_ms: i64,
    /// Quiet window of a session with any hook event, ms (L4).
    pub hook_quiet_ms: i64,
    /// A held Stop holds for this long at most, ms (L5.4).
    pub hold_ms: i64,
    /// An error message must be the last word for this long, ms (L5.6): agy may retry.
    pub error_ms: i64,
    /// Lanes stand on the board for this long after their last activity, ms. A wait of a session whose lock was never
    /// seen ends then, too: its agy may be long gone.
    pub board_ms: i64,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows {
            quiet_ms: 2 * 60_000,
            hook_quiet_ms: 10 * 60_000,
            hold_ms: 30 * 60_000,
            error_ms: 5_000,
            board_ms: 8 * 3_600_000,
        }
    }
}

/// The derived state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub state: State,
    /// Settled sessions are completed; the others are active.
    pub settled: bool,
    pub outcome: Outcome,
    pub since: Option<Time>,
    /// The waiting tool's name and what it wants; empty unless `state` is waiting.
    pub waiting: Option<crate::Waiting>,
    /// The step at work; empty unless `state` is running.
    pub doing: Option<Live>,
    /// When and with which words the newest turn failed.
    pub error: Option<(Option<Time>, Option<String>)>,
    /// When the newest turn began.
    pub turn_at: Option<Time>,
    pub last_activity: Option<Time>,
    pub why: Why,
    /// The clock alone changes the verdict then.
    pub next_change_at: Option<Time>,
}

impl Facts {
    pub fn presence(&self) -> Presence {
        match self.lock.get() {
            Some(LockReading::Held) => Presence::Open,
            // A hook that started after the reading was started by an agy that is there.
            Some(LockReading::NotListed) if self.ever_held && self.hooked() <= self.lock.at() => {
                Presence::Gone
            }
            Some(LockReading::NotListed) | None => Presence::Unknown,
        }
    }

    /// The newest write that is known of, else agy's own time of its newest step.
    pub(crate) fn written(&self) -> Option<Time> {
        self.wrote.or_else(|| self.db.get()?.newest.as_ref()?.at())
    }

    /// The newest hook event.
    fn hooked(&self) -> Option<Time> {
        self.hooks.newest().map(|e| e.at)
    }

    /// The newest sign of life (L4).
    pub(crate) fn activity(&self) -> Option<Time> {
        self.written().max(self.hooked())
    }
}

/// One line of L5 that holds: what it says, since when, and the evidence for it.
struct Line {
    state: State,
    outcome: Outcome,
    since: Option<Time>,
    at: Option<Time>,
    fact: Fact,
}

impl Line {
    const fn at(at: Option<Time>, state: State, outcome: Outcome, fact: Fact) -> Line {
        Line { state, outcome, since: at, at, fact }
    }
}

const NO_TURN: Line = Line::at(None, State::Idle, Outcome::None, Fact::NoTurn);

/// The state of a session at `now`. `others` is the newest activity of its sub-agents: while they work, it is not quiet.
pub fn derive(facts: &Facts, others: Option<Time>, now: Time, windows: &Windows) -> Verdict {
    derive_under(facts, Above::Unknown, others, now, windows)
}

/// What is known of the agy that a sub-agent lives in, where its own lock says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    Unknown,
    Open(Evidence),
    Gone(Evidence),
}

/// The same for a sub-agent.
pub(crate) fn derive_under(
    facts: &Facts,
    above: Above,
    others: Option<Time>,
    now: Time,
    windows: &Windows,
) -> Verdict {
    let empty = DbView::default();
    let db = facts.db.get().unwrap_or(&empty);
    let (mut presence, gone, above) = match above {
        Above::Gone(e) => (Presence::Gone, Some(e), None),
        Above::Open(e) => (facts.presence(), None, Some(e)),
        Above::Unknown => (facts.presence(), None, None),
    };
    let turn_at = lines::turn_start(facts, db, windows);
    let active = facts.activity();
    let last_activity = active.max(others);
    let mut next = NextChange { now, at: None };

    let known = lines::Known { facts, db, presence, wrote: facts.written(), turn_at };
    let mut lines = known.lines(windows, &mut next).into_iter();
    let first = lines.next().unwrap_or(NO_TURN);
    // Only one that is at a step stays with its parent: one that has said its last word settles in silence, or it would
    // stand there for as long as agy is open.
    let open = above.filter(|_| presence == Presence::Unknown && matches!(first.fact, Fact::StepLive { .. }));
    if open.is_some() {
        presence = Presence::Open;
    }
    let (mut state, mut outcome, mut since) =
        (first.state, first.outcome, first.since.or(turn_at).or(active));
    let held = first.fact == Fact::HookHeld;
    let quiet_ms = if facts.hooks.is_empty() { windows.quiet_ms } else { windows.hook_quiet_ms };
    let mut settled = false;
    let mut over: Option<Evidence> = None;

    // Whether nothing was written for `window`. Without any time there is nothing to wait for.
    let mut quiet_for = |window: i64| last_activity.is_none_or(|t| next.passed(t.plus_ms(window)));
    let quiet = |window: i64| Evidence {
        fact: Fact::Quiet { minutes: window / 60_000 },
        at: last_activity.map(|t| t.plus_ms(window)),
    };
    match presence {
        Presence::Gone => {
            settled = true;
            let gone = gone.unwrap_or(Evidence { fact: Fact::AgyGone, at: facts.lock.at() });
            if outcome == Outcome::InProgress {
                outcome = Outcome::Unfinished;
                since = gone.at.or(since);
            }
            over = Some(gone);
        }
        Presence::Unknown => {
            let window = if state == State::Waiting { windows.board_ms } else { quiet_ms };
            if !held && quiet_for(window) {
                settled = true;
                over = Some(quiet(window));
                if outcome == Outcome::InProgress {
                    outcome = Outcome::Quiet;
                    since = last_activity.or(since);
                }
            }
        }
        Presence::Open => {
            // Only a running that no live step holds up ends by silence: a tool may work for hours without a word.
            if state == State::Running && !held && db.live.is_none() && quiet_for(quiet_ms) {
                (state, outcome, since) = (State::Idle, Outcome::Quiet, last_activity.or(since));
                over = Some(quiet(quiet_ms));
            }
        }
    }
    if settled && state != State::Error {
        state = State::Idle;
    }

    let error = (outcome == Outcome::Failed).then(|| {
        let text = match (&first.fact, &db.newest) {
            (Fact::HookFailed { text }, _) if !text.is_empty() => Some(text.clone()),
            (_, Some(NewestStep::Error { text, .. })) => text.clone(),
            _ => None,
        };
        (first.at.or(active), text)
    });
    let line = |l: Line| Evidence { fact: l.fact, at: l.at };
    let first = line(first);
    let (decided, mut beat) = match over {
        Some(over) if state == State::Error => (first, vec![over]),
        Some(over) => (over, vec![first]),
        None => (first, Vec::new()),
    };
    beat.extend(lines.map(line));
    match presence {
        Presence::Open => {
            beat.push(open.unwrap_or(Evidence { fact: Fact::LockHeld, at: facts.lock.at() }));
        }
        Presence::Unknown => beat.push(Evidence { fact: Fact::LockUnknown, at: facts.lock.at() }),
        Presence::Gone => {}
    }
    Verdict {
        waiting: if state == State::Waiting { db.waiting.clone() } else { None },
        doing: if state == State::Running { db.live.clone() } else { None },
        state,
        settled,
        outcome,
        since,
        error,
        turn_at,
        last_activity,
        why: Why { decided, beat },
        next_change_at: next.at,
    }
}

impl NewestStep {
    fn step(&self) -> &StepRef {
        match self {
            NewestStep::Error { step, .. } | NewestStep::Canceled { step } | NewestStep::Other { step } => {
                step
            }
        }
    }

    fn at(&self) -> Option<Time> {
        self.step().at
    }
}

/// Collects the earliest moment still to come at which a comparison with the clock would turn out differently.
struct NextChange {
    now: Time,
    at: Option<Time>,
}

impl NextChange {
    /// Whether `t` has passed; if not, the verdict may change then.
    fn passed(&mut self, t: Time) -> bool {
        if t <= self.now {
            return true;
        }
        self.at = Some(self.at.map_or(t, |a| a.min(t)));
        false
    }
}
