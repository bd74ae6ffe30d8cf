//! A session's turns as spans (spec §9 R2): from its database, or from its transcript when the database can't be read.
//!
//! Told is what this one conversation holds. Sub-agents are named, not read; prices, the person's choices about content
//! and whether a turn is over by what hooks told are for the caller.

use agenthub_core::{
    SessionId, Time,
    trace::{SpanId, StepKey, TurnSpan},
};

use crate::{Entry, EntryState, Home, ReadError, fingerprint, open, read, text, transcript};

mod calls;
mod children;
mod database;
mod lines;
mod tools;
mod turns;

/// What a conversation says of its turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub conversation: SessionId,
    /// The conversation whose sub-agent this is.
    pub parent: Option<SessionId>,
    /// The turns that were asked for, in their order. A turn in which nothing is this conversation's own (a fork copies
    /// turns) is none.
    pub turns: Vec<Turn>,
    /// The key of every turn, in order, also of those that were not asked for.
    pub keys: Vec<StepKey>,
    /// When agy wrote last.
    pub wrote: Time,
    pub from_transcript: bool,
}

/// One turn, and how it stands by the conversation's own rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub key: StepKey,
    /// Without the turns of sub-agents.
    pub span: TurnSpan,
    /// Which conversations its tools started.
    pub children: Vec<Child>,
    pub end: End,
    /// Another turn began after it.
    pub is_followed: bool,
    /// Nothing of it is still to be written: its last execution has its row, no step is open, its last call is whole.
    pub is_settled: bool,
    /// When the newest of its steps began.
    pub newest_step_at: Option<Time>,
    /// Of the spans that a step stands for, in the steps' order. None from a transcript.
    pub sides: Vec<Side>,
}

/// What is known of a span beside what is sent: for a person who looks at the turn on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub span: SpanId,
    pub step: i64,
    pub state: EntryState,
    /// Of a tool: the argument that tells most of what it does, on one line.
    pub argument: Option<String>,
    /// Of a call: how long it thought before it answered, in microseconds. `None` where agy does not tell.
    pub thinking_us: Option<i64>,
}

/// How a turn ended, by its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its last execution has its row. A held turn has one, too.
    Execution,
    /// By an error or by the person; agy writes no row then, and sends no Stop.
    Broken,
    /// Its rows don't say.
    Open,
}

/// A conversation that a tool started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    pub tool: SpanId,
    pub conversation: SessionId,
}

/// Characters of one text. The person's own limit is lower; this one keeps a tree from filling the memory.
const MOST_TEXT: usize = 256 << 10;

fn cut(s: &str) -> String {
    text::cut(s, MOST_TEXT)
}

/// The conversation's file, found by its id alone; `None` when there is none.
pub fn find(home: &Home, id: &SessionId) -> Option<Entry> {
    let path = home.conversation(id);
    Some(Entry { id: id.clone(), fingerprint: fingerprint::fingerprint(&path).ok()?, path })
}

/// Tells the turns that `want` asks for from the conversation's database.
///
/// # Errors
/// See [`ReadError`]; [`trace_from_transcript`] may still know something then.
pub fn trace(home: &Home, entry: &Entry, want: &dyn Fn(StepKey) -> bool) -> Result<Told, ReadError> {
    read::still(home, entry, open::Extent::Part, |at| {
        database::tell(&at.opened.conn, home, &entry.id, at.seen.wrote(), want)
    })
}

/// Tells the turns from the conversation's transcript: whole seconds, no tokens, no title calls. `None` when there is
/// none.
pub fn trace_from_transcript(home: &Home, id: &SessionId, want: &dyn Fn(StepKey) -> bool) -> Option<Told> {
    // The full one has whole texts and arguments that are encoded once.
    let paths = [true, false].map(|full| home.transcript(id, full));
    let told = paths.iter().find_map(|p| transcript::read(p).ok())?;
    Some(lines::tell(home, id, &told, want))
}
