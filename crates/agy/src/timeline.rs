//! The course of one session, told on demand (spec S12).

use std::collections::BTreeMap;

use agenthub_core::{CallKey, Model, SessionId, Time, Tokens};

use crate::{Entry, Home, ReadError, WarningCode, open, read, transcript};

mod database;
mod lines;

pub(crate) use database::{is_subagent, planner_state, telling_argument, tool_state};

/// Entries of one timeline, and characters of one text (spec S12).
const MOST_ENTRIES: usize = 20_000;
const MOST_TEXT: usize = 2_000;

/// What an entry of the timeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    Prompt,
    Call,
    Tool,
    Wait,
    Error,
    Checkpoint,
    Subagent,
}

impl EntryKind {
    pub const fn name(self) -> &'static str {
        match self {
            EntryKind::Prompt => "prompt",
            EntryKind::Call => "call",
            EntryKind::Tool => "tool",
            EntryKind::Wait => "wait",
            EntryKind::Error => "error",
            EntryKind::Checkpoint => "checkpoint",
            EntryKind::Subagent => "subagent",
        }
    }
}

/// How an entry of the timeline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryState {
    Done,
    Running,
    Waiting,
    Failed,
    Canceled,
    Denied,
}

impl EntryState {
    pub const fn name(self) -> &'static str {
        match self {
            EntryState::Done => "done",
            EntryState::Running => "running",
            EntryState::Waiting => "waiting",
            EntryState::Failed => "failed",
            EntryState::Canceled => "canceled",
            EntryState::Denied => "denied",
        }
    }
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    pub kind: EntryKind,
    /// From 1; 0 before the first prompt.
    pub turn: u32,
    /// agy's step number; `None` for a call that no step shows.
    pub step: Option<i64>,
    pub at: Option<Time>,
    /// The time is a whole second from the transcript, or the file's.
    pub approximate: bool,
    pub duration_ms: Option<i64>,
    /// A tool's name, a model's label; `None` where nothing names it.
    pub name: Option<String>,
    pub state: EntryState,
    /// Of calls only; `None` is unknown, not zero.
    pub tokens: Option<Tokens>,
    /// Prompt, answer or error text, cut to 2,000 characters.
    pub text: Option<String>,
    /// Of calls only.
    pub call: Option<CallKey>,
    /// Of tools only: the arguments' JSON, cut.
    pub args: Option<String>,
    /// Of tools only: the argument that tells most of what it does, on one line: a path, a command, a question.
    pub argument: Option<String>,
    /// Of calls only.
    pub model: Option<Model>,
}

/// The course of a session, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    pub entries: Vec<TimelineEntry>,
    pub warnings: BTreeMap<WarningCode, u64>,
    /// Whether the oldest entries were left out, for the session is too long to be told whole.
    pub truncated: bool,
    /// Whether the database could not be read, and this is from the transcript.
    pub from_transcript: bool,
}

/// Tells the session's course from its database, or from its transcript if the database can't be read. Of a very long
/// session the newest part is told.
///
/// # Errors
/// The database's error, when there is no transcript either.
pub fn timeline(home: &Home, entry: &Entry) -> Result<Timeline, ReadError> {
    let told = read::still(home, entry, open::Extent::Part, |at| {
        database::tell(&at.opened.conn, home, &entry.id, at.seen.wrote())
    });
    told.or_else(|e| from_transcript(home, &entry.id).ok_or(e))
}

/// The course that the session's transcript tells: whole seconds, no tokens. `None` without one that can be read.
pub fn from_transcript(home: &Home, id: &SessionId) -> Option<Timeline> {
    // The full one has whole texts and arguments that are encoded once.
    let paths = [true, false].map(|full| home.transcript(id, full));
    paths.iter().find_map(|p| transcript::read(p).ok()).map(|t| lines::tell(&t))
}

impl TimelineEntry {
    /// An entry of which nothing more is known yet.
    pub const fn new(kind: EntryKind, turn: u32, step: Option<i64>) -> TimelineEntry {
        TimelineEntry {
            kind,
            turn,
            step,
            at: None,
            approximate: false,
            duration_ms: None,
            name: None,
            state: EntryState::Done,
            tokens: None,
            text: None,
            call: None,
            args: None,
            argument: None,
            model: None,
        }
    }
}
