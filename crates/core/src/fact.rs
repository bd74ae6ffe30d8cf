//! What is known of a session. Facts are kept, never a state: the state is derived from them (`derive.rs`).
//!
//! Merging is a join: commutative, associative, idempotent. So neither the order nor the repetition of delivery can
//! matter, whichever source was quicker (spec L9).

use crate::{HookEvent, Hooks, RunId, Time};

/// The newest of all values of one kind, by its own time; the value breaks a tie, so that the join stays commutative.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Latest<T>(Option<(Time, T)>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Latest(None)
    }
}

impl<T: Ord> Latest<T> {
    pub fn new(at: Time, value: T) -> Latest<T> {
        Latest(Some((at, value)))
    }

    pub fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, v)| v)
    }

    pub fn at(&self) -> Option<Time> {
        self.0.as_ref().map(|(at, _)| *at)
    }

    #[must_use]
    pub fn joined(self, o: Latest<T>) -> Latest<T> {
        Latest(self.0.max(o.0))
    }
}

/// A step of the conversation: its number, and agy's own time for it where it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepRef {
    pub idx: i64,
    pub at: Option<Time>,
}

/// A step that asks its person something: a permission, or a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    pub step: StepRef,
    /// The tool that waits, for example `run_command`; `None` where the row does not name one.
    pub tool: Option<String>,
    /// What it wants to do, one line, cut; for example the command.
    pub detail: Option<String>,
}

/// A step that is at work: pending, running, generating or queued behind a running one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Live {
    pub step: StepRef,
    pub tool: Option<String>,
    pub detail: Option<String>,
}

/// The finished execution that ended the newest turn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnEnd {
    /// `completed_at` of its last step (agy's own time, never that of our read).
    pub at: Option<Time>,
    pub last_step: i64,
    /// agy's termination reason (agy-format §6.4); 1 is an error.
    pub reason: i32,
}

/// What the newest step of all says by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NewestStep {
    /// An error message (type 17), with its text, one line, cut.
    Error {
        step: StepRef,
        text: Option<String>,
    },
    /// Canceled or interrupted, or a planner that the person stopped.
    Canceled {
        step: StepRef,
    },
    Other {
        step: StepRef,
    },
}

/// One conversation database, as one read transaction saw it. Step times are agy's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DbView {
    /// The user step that started the newest turn.
    pub turn: Option<StepRef>,
    /// How the newest turn ended, if it did.
    pub end: Option<TurnEnd>,
    /// A step of the newest turn that waits for the person.
    pub waiting: Option<Waiting>,
    /// The newest step of the newest turn that is at work.
    pub live: Option<Live>,
    /// The newest step that is part of the conversation.
    pub newest: Option<NewestStep>,
    /// When agy wrote last for itself: a title, a summary. That says nothing of the turn.
    pub aside: Option<Time>,
}

/// What the list of held locks said about this conversation's presence lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockReading {
    NotListed,
    Held,
}

/// All facts of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The newest database snapshot, by the time when its read transaction began.
    pub db: Latest<DbView>,
    /// The newest presence reading.
    pub lock: Latest<LockReading>,
    /// Whether the lock was ever seen held, in this run of ours or an earlier one. Only then is "not listed" an exit:
    /// in another PID namespace the list is empty.
    pub ever_held: bool,
    /// The newest write to the conversation's files or its transcript, by their modification times.
    pub wrote: Option<Time>,
    /// Its accepted hook events.
    pub hooks: Hooks,
    /// The newest reading of whose process has the session: one of a run's, or of none (L8). Nothing is read while nobody
    /// has it, so a run that ended keeps its sessions.
    pub run: Latest<Option<RunId>>,
}

impl Facts {
    #[must_use]
    pub fn joined(self, o: Facts) -> Facts {
        Facts {
            db: self.db.joined(o.db),
            lock: self.lock.joined(o.lock),
            ever_held: self.ever_held || o.ever_held,
            wrote: self.wrote.max(o.wrote),
            hooks: self.hooks.joined(o.hooks),
            run: self.run.joined(o.run),
        }
    }

    /// The fact that a read of the database gives.
    pub fn from_db(as_of: Time, view: DbView) -> Facts {
        Facts { db: Latest::new(as_of, view), ..Facts::default() }
    }

    /// The fact that a look at the list of locks gives.
    pub fn from_lock(at: Time, reading: LockReading) -> Facts {
        Facts { lock: Latest::new(at, reading), ever_held: reading == LockReading::Held, ..Facts::default() }
    }

    /// The fact that a file's modification time gives.
    pub fn from_write(at: Time) -> Facts {
        Facts { wrote: Some(at), ..Facts::default() }
    }

    /// The fact that an accepted hook event gives.
    pub fn from_hook(event: HookEvent) -> Facts {
        Facts { hooks: Hooks::of(event), ..Facts::default() }
    }

    /// The fact that a look at the process gives which has the session.
    pub fn from_run(at: Time, run: Option<RunId>) -> Facts {
        Facts { run: Latest::new(at, run), ..Facts::default() }
    }
}
