//! Reads one conversation: opens it, reads what is new since the cursor, closes it again.

use std::{
    collections::{BTreeMap, HashMap},
    fs::Metadata,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agenthub_core::{DbView, Model, SessionId, Sighting, Time};

use crate::{
    Cursor, Entry, Fingerprint, Home, Index, ReadError,
    fingerprint::{self, beside},
    list, meta,
    open::{self, Extent, Opened},
    scan::{Scan, scan},
    tally, transcript, view, wire,
};

/// What is odd in a conversation that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningCode {
    /// Rows that don't decode, or that hold an impossible number; they are skipped (spec S5).
    UndecodableRow,
    /// Calls whose output is not thinking + response (spec S4).
    UsageMismatch,
}

impl WarningCode {
    pub const fn name(self) -> &'static str {
        match self {
            WarningCode::UndecodableRow => "undecodable_row",
            WarningCode::UsageMismatch => "usage_mismatch",
        }
    }
}

/// What a conversation was copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRef {
    /// `None` where agy named only the trajectory: then it is the session that has, or had, this
    /// [`Meta::trajectory_id`].
    pub conversation: Option<SessionId>,
    pub trajectory: Option<String>,
}

/// Who and where a session is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// agy's title, else the first prompt's first line; at most 80 characters (spec S6).
    pub name: Option<String>,
    /// The workspace folder, decoded.
    pub cwd: Option<String>,
    /// That of the newest generator row with usage, so never that of a title call.
    pub model: Option<Model>,
    /// Set on sub-agents, where their file says who started them.
    pub parent: Option<SessionId>,
    pub forked_from: Option<ForkRef>,
    pub is_subagent: bool,
    pub trajectory_id: Option<String>,
    /// Metadata blob, else first step, else transcript.
    pub started_at: Option<Time>,
    /// The metadata blob's own time only: it ranks the owners of a call (spec S3).
    pub created_at: Option<Time>,
}

/// How full the model's window was at the newest call (spec S13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Tokens in the prompt: input + cache read.
    pub used: u64,
    /// The window's size, where agy says it.
    pub max: Option<u64>,
    /// agy's estimate of the parts, for example ("Tools", 5_300); empty where the newest row has none.
    pub parts: Vec<(String, u64)>,
}

/// What one read of a conversation gives.
///
/// `sightings` are those of the rows that were read now; all the rest is absolute, over the whole session, and does not
/// depend on whether it was read at once or bit by bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Just before the read transaction began.
    pub as_of: Time,
    /// Whether everything was read, not only what is new since the cursor.
    pub complete: bool,
    pub fingerprint: Fingerprint,
    /// When the file was born, where the system knows.
    pub birth: Option<Time>,
    pub meta: Meta,
    pub view: DbView,
    /// One per key, sorted by key.
    pub sightings: Vec<Sighting>,
    pub turns: u64,
    pub tool_calls: u64,
    /// Model calls of the present rows that no usage message tells of. Each is a sighting without tokens, too.
    pub calls_without_usage: u64,
    pub context: Option<Context>,
    pub warnings: BTreeMap<WarningCode, u64>,
    /// How many rows of all tables were looked at now: with `warnings`, the engine tells a moved format (spec S5).
    pub rows: u64,
    pub cursor: Cursor,
}

/// Reads the conversation `entry`, all of it or what is new since `cursor`. `now` is the time that the result carries
/// as [`Read::as_of`].
///
/// At most one thread of this process reads a conversation at a time; a second one waits. The entry's fingerprint is
/// not looked at: the result has its own, taken before the read and found the same after it.
///
/// # Errors
/// See [`ReadError`]. An error is a verdict only if the files stood still during the read.
pub fn read(
    home: &Home,
    entry: &Entry,
    cursor: Option<&Cursor>,
    now: Time,
    index: &Index,
) -> Result<Read, ReadError> {
    let extent = if cursor.is_some() { Extent::Part } else { Extent::All };
    still(home, entry, extent, |at| {
        let db = &at.opened.conn;
        let scan = scan(db, &entry.id, at.seen.db.inode, cursor)?;
        let bytes = (at.seen, fingerprint::birth(at.metadata));
        assemble(home, entry, scan, db, now, index, bytes)
    })
}

/// A conversation while it is open, in a read transaction.
pub(crate) struct OpenAt<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) seen: Fingerprint,
    pub(crate) metadata: &'a Metadata,
}

/// How often a conversation that changes under the read is read again at once.
const TRIES: u32 = 3;

/// Opens the conversation and lets `f` read it, until the files stood still while it did.
pub(crate) fn still<T>(
    home: &Home,
    entry: &Entry,
    extent: Extent,
    f: impl Fn(&OpenAt<'_>) -> rusqlite::Result<T>,
) -> Result<T, ReadError> {
    let _one_at_a_time = lock_of(&entry.id);
    let mut last = ReadError::Busy("it changed during every try".into());
    for _ in 0..TRIES {
        let (real, seen, metadata) = fingerprint::stat(&entry.path).map_err(|e| stat_error(&e))?;
        if seen.db.size == 0 {
            return Err(ReadError::Empty);
        }
        if std::fs::metadata(beside(&real, "-journal")).is_ok_and(|m| m.len() > 0) {
            // A new file starts in rollback mode for an instant.
            return Err(ReadError::Busy("agy is making the file".into()));
        }
        let result = open::open(&real, &seen, home, extent).and_then(|opened| {
            if seen.wal.is_some() {
                // One snapshot for all statements. An immutable file is one anyway.
                opened.conn.execute_batch("BEGIN")?;
            }
            f(&OpenAt { opened: &opened, seen, metadata: &metadata })
        });
        let after = fingerprint::stat(&entry.path).map_err(|e| stat_error(&e))?.1;
        if after != seen {
            continue;
        }
        match result {
            Ok(t) => return Ok(t),
            Err(e) => {
                last = open::verdict(&e, &real);
                // A transient failure may come from a change between the first stat and the open.
                if last.is_verdict() || last == ReadError::Permission {
                    return Err(last);
                }
            }
        }
    }
    Err(last)
}

fn stat_error(e: &std::io::Error) -> ReadError {
    match e.kind() {
        std::io::ErrorKind::PermissionDenied => ReadError::Permission,
        std::io::ErrorKind::InvalidInput => ReadError::NotAFile,
        _ if list::is_loop(e) => ReadError::SymlinkLoop,
        _ => ReadError::Busy(e.to_string()),
    }
}

/// One reader per conversation in this process: the private copy opens files that another reader's SQLite may hold
/// locks on, and closing them would drop those. Conversations share a fixed number of locks.
fn lock_of(id: &SessionId) -> MutexGuard<'static, ()> {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    static LAST: Mutex<()> = Mutex::new(());
    let n = usize::try_from(wire::hash(id.as_str().as_bytes()) % 64).unwrap_or(0);
    LOCKS.get(n).unwrap_or(&LAST).lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the rows say, with what only single rows and agy's other files know.
fn assemble(
    home: &Home,
    entry: &Entry,
    scan: Scan,
    db: &rusqlite::Connection,
    now: Time,
    index: &Index,
    (seen, birth): (Fingerprint, Option<Time>),
) -> rusqlite::Result<Read> {
    let Scan { head, complete, calls, steps, gens, newest, executions, bad_executions, rows, mut cursor } =
        scan;
    let view = view::view(db, &steps, &newest, &executions)?;
    let (references, bad_references) = meta::references(db, head.max.reference.is_some())?;
    let bad = steps.bad
        + gens.bad
        + bad_executions
        + bad_references
        + u64::from(matches!(head.about, Some(Err(_))));
    let mut odd = steps.odd.clone();
    tally::insert(&mut odd, gens.odd.iter().copied());
    // Asked only for calls that the database has no time for, which is rare.
    let mut times: Option<HashMap<i64, Time>> = None;
    let sightings = calls.sightings(seen.wrote(), |step| {
        let times = times.get_or_insert_with(|| transcript::step_times(home, &entry.id));
        times.get(&step).copied()
    });
    let places = meta::Places { home, index, id: &entry.id, db, steps: &steps };
    let meta = places.meta(head, &references, &gens, &mut cursor)?;
    let newest_call = gens.newest.as_ref();
    let mut warnings = BTreeMap::new();
    for (code, n) in [
        (WarningCode::UndecodableRow, bad),
        (WarningCode::UsageMismatch, u64::try_from(odd.len()).unwrap_or(u64::MAX)),
    ] {
        if n > 0 {
            warnings.insert(code, n);
        }
    }
    Ok(Read {
        as_of: now,
        complete,
        fingerprint: seen,
        birth,
        meta,
        view,
        sightings,
        turns: steps.turns,
        tool_calls: steps.tools,
        calls_without_usage: gens.without_usage,
        context: newest_call.map(|n| Context { used: n.used, max: n.max, parts: n.parts.clone() }),
        warnings,
        rows,
        cursor,
    })
}
