//! Table `hook_event`: the accepted hook events of each session, and beside it what was counted and how far the journal
//! was read. All that one reading of the journal brings is one transaction (spec H7).

use agenthub_core::{EventId, Facts, HookEvent, HookKind, SessionId, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{Store, StoreError};

pub(crate) const CREATE: &str = "
CREATE TABLE hook_event (
    session TEXT NOT NULL,
    at      INTEGER NOT NULL,   -- microseconds; as it was when it was first stored
    ns      INTEGER NOT NULL,   -- with pid: which record of the journal it is
    pid     INTEGER NOT NULL,
    kind    TEXT NOT NULL,      -- invocation, tool, held, stop, seen
    number  INTEGER,            -- of the invocation, or of the tool's step
    text    TEXT,               -- the tool's name, or the error
    reason  TEXT,               -- of a stop
    PRIMARY KEY (session, at, ns, pid)
) WITHOUT ROWID;
CREATE UNIQUE INDEX hook_event_once ON hook_event (ns, pid, session);
CREATE TABLE hook_folder (      -- the folder that a hook has set stays (spec S6)
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    cwd     TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE hook_count (       -- accepted events by agy's name of the event, dropped ones by reason
    what    TEXT NOT NULL,      -- accepted, dropped
    name    TEXT NOT NULL,
    count   INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID;
CREATE TABLE hook_journal (     -- how far each journal file was read
    file     TEXT PRIMARY KEY,  -- its first line, which no other journal has
    position INTEGER NOT NULL
) WITHOUT ROWID;";

/// How many events of a session are kept, beside the newest of each kind. Never fewer than its facts hold.
const KEPT: i64 = 256;

/// An accepted event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRecord {
    pub session: SessionId,
    /// Where the hook said that the session works.
    pub cwd: Option<String>,
    pub event: HookEvent,
}

/// What one reading of a journal brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookChange {
    pub records: Vec<HookRecord>,
    /// Dropped records by their reason.
    pub dropped: Vec<(&'static str, u64)>,
    /// The journal's first line, and how far it is read now.
    pub journal: Option<(String, u64)>,
    /// When this was read.
    pub at: Time,
}

/// How often something came, and when last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCount {
    pub name: String,
    pub count: u64,
    pub last_at: Time,
}

fn signed(n: u64) -> i64 {
    i64::from_ne_bytes(n.to_ne_bytes())
}

fn unsigned(n: i64) -> u64 {
    u64::from_ne_bytes(n.to_ne_bytes())
}

fn event(r: &Row<'_>) -> rusqlite::Result<Option<HookEvent>> {
    let kind: String = r.get(3)?;
    let number: Option<i64> = r.get(4)?;
    let text: Option<String> = r.get(5)?;
    let kind = match kind.as_str() {
        "invocation" => HookKind::Invocation { num: number.and_then(|n| u32::try_from(n).ok()) },
        "tool" => HookKind::Tool { name: text, step: number },
        "held" => HookKind::HeldStop,
        "stop" => HookKind::Stop { error: text, reason: r.get::<_, Option<String>>(6)?.unwrap_or_default() },
        "seen" => HookKind::Seen,
        _ => return Ok(None),
    };
    let id = EventId { ns: unsigned(r.get(1)?), pid: r.get(2)? };
    Ok(Some(HookEvent { at: Time::from_micros(r.get(0)?), id, kind }))
}

const COLUMNS: &str = "at, ns, pid, kind, number, text, reason";

/// Writes an event down, unless it is there; gives it as it was stored first.
fn insert(conn: &Connection, r: &HookRecord) -> rusqlite::Result<Option<HookEvent>> {
    let (session, id) = (r.session.as_str(), r.event.id);
    let (kind, number, text, reason) = match &r.event.kind {
        HookKind::Invocation { num } => ("invocation", num.map(i64::from), None, None),
        HookKind::Tool { name, step } => ("tool", *step, name.as_deref(), None),
        HookKind::HeldStop => ("held", None, None, None),
        HookKind::Stop { error, reason } => ("stop", None, error.as_deref(), Some(reason.as_str())),
        HookKind::Seen => ("seen", None, None, None),
    };
    let new = conn
        .prepare_cached(
            "INSERT INTO hook_event (session, at, ns, pid, kind, number, text, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![session, r.event.at.micros(), signed(id.ns), id.pid, kind, number, text, reason])?;
    if new > 0 {
        return Ok(None);
    }
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM hook_event WHERE ns = ?1 AND pid = ?2 AND session = ?3"
    ))?
    .query_row(params![signed(id.ns), id.pid, session], event)
    .optional()
    .map(Option::flatten)
}

/// Lets go of what no fact of the session can need: all but the newest events, and the newest of each kind.
fn bound(conn: &Connection, session: &SessionId) -> rusqlite::Result<()> {
    let oldest: Option<i64> = conn
        .prepare_cached("SELECT at FROM hook_event WHERE session = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2")?
        .query_row(params![session.as_str(), KEPT], |r| r.get(0))
        .optional()?;
    let Some(oldest) = oldest else { return Ok(()) };
    conn.prepare_cached(
        "DELETE FROM hook_event WHERE session = ?1 AND at < ?2 AND (at, ns, pid) NOT IN (
             SELECT at, ns, pid FROM (
                 SELECT at, ns, pid, row_number() OVER (
                     PARTITION BY kind, kind = 'invocation' AND number IS 0 ORDER BY at DESC, ns DESC, pid DESC) AS nth
                 FROM hook_event WHERE session = ?1) WHERE nth = 1)",
    )?
    .execute(params![session.as_str(), oldest])?;
    Ok(())
}

fn count(conn: &Connection, what: &str, name: &str, more: u64, at: Time) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO hook_count (what, name, count, last_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (what, name) DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
    )?
    .execute(params![what, name, i64::try_from(more).unwrap_or(i64::MAX), at.micros()])?;
    Ok(())
}

impl Store {
    /// Writes accepted events, counts and the journal's position, or nothing. Gives the events as they are kept: the time
    /// of one that was stored before stays.
    ///
    /// # Errors
    /// When SQLite refuses; nothing was written then.
    pub fn apply_hooks(&mut self, change: &HookChange) -> Result<Vec<HookRecord>, StoreError> {
        self.write(|tx| {
            let mut kept = Vec::with_capacity(change.records.len());
            let mut sessions: Vec<&SessionId> = Vec::new();
            for r in &change.records {
                let mut r = r.clone();
                match insert(tx, &r)? {
                    Some(before) => r.event = before,
                    None => count(tx, "accepted", r.event.kind.event_name(), 1, r.event.at)?,
                }
                if let Some(cwd) = &r.cwd {
                    tx.prepare_cached(
                        "INSERT INTO hook_folder (session, at, cwd) VALUES (?1, ?2, ?3)
                         ON CONFLICT (session) DO UPDATE SET at = excluded.at, cwd = excluded.cwd
                         WHERE (excluded.at, excluded.cwd) > (at, cwd)",
                    )?
                    .execute(params![r.session.as_str(), r.event.at.micros(), cwd])?;
                }
                kept.push(r);
            }
            sessions.extend(change.records.iter().map(|r| &r.session));
            sessions.sort();
            sessions.dedup();
            for session in sessions {
                bound(tx, session)?;
            }
            for (reason, n) in &change.dropped {
                count(tx, "dropped", reason, *n, change.at)?;
            }
            if let Some((file, position)) = &change.journal {
                tx.prepare_cached(
                    "INSERT INTO hook_journal (file, position) VALUES (?1, ?2)
                     ON CONFLICT (file) DO UPDATE SET position = excluded.position",
                )?
                .execute(params![file, i64::try_from(*position).unwrap_or(i64::MAX)])?;
            }
            Ok(kept)
        })
    }

    /// How far the journal that begins with `file` was read.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn journal_position(&self, file: &str) -> Result<u64, StoreError> {
        self.read(|conn| {
            let position: Option<i64> = conn
                .prepare_cached("SELECT position FROM hook_journal WHERE file = ?1")?
                .query_row([file], |r| r.get(0))
                .optional()?;
            Ok(position.and_then(|p| u64::try_from(p).ok()).unwrap_or(0))
        })
    }

    /// Forgets a journal that is gone.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn forget_journal(&mut self, file: &str) -> Result<(), StoreError> {
        self.write(|tx| tx.execute("DELETE FROM hook_journal WHERE file = ?1", [file]).map(|_| ()))
    }

    /// The facts that the kept events of a session give, and the folder that a hook has set.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn hook_facts(&self, id: &SessionId) -> Result<(Facts, Option<String>), StoreError> {
        self.read(|conn| {
            let facts = conn
                .prepare_cached(&format!("SELECT {COLUMNS} FROM hook_event WHERE session = ?1"))?
                .query_map([id.as_str()], event)?
                .filter_map(Result::transpose)
                .try_fold(Facts::default(), |facts, e| e.map(|e| facts.joined(Facts::from_hook(e))))?;
            let cwd = conn
                .prepare_cached("SELECT cwd FROM hook_folder WHERE session = ?1")?
                .query_row([id.as_str()], |r| r.get(0))
                .optional()?;
            Ok((facts, cwd))
        })
    }

    /// The kept events of a session, oldest first.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn hook_events(&self, id: &SessionId) -> Result<Vec<HookEvent>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM hook_event WHERE session = ?1 ORDER BY at, ns, pid"
            ))?
            .query_map([id.as_str()], event)?
            .filter_map(Result::transpose)
            .collect()
        })
    }

    /// Sessions with a hook event since then.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn hooked_since(&self, since: Time) -> Result<Vec<SessionId>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT DISTINCT session FROM hook_event WHERE at >= ?1")?
                .query_map([since.micros()], |r| r.get::<_, String>(0))?
                .filter_map(|r| r.map(|id| SessionId::parse(&id)).transpose())
                .collect()
        })
    }

    /// Accepted events by agy's name of the event, and dropped ones by reason.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn hook_counts(&self) -> Result<(Vec<HookCount>, Vec<HookCount>), StoreError> {
        self.read(|conn| {
            let of = |what: &str| -> rusqlite::Result<Vec<HookCount>> {
                conn.prepare_cached(
                    "SELECT name, count, last_at FROM hook_count WHERE what = ?1 ORDER BY name",
                )?
                .query_map([what], |r| {
                    let count: i64 = r.get(1)?;
                    Ok(HookCount {
                        name: r.get(0)?,
                        count: u64::try_from(count).unwrap_or(0),
                        last_at: Time::from_micros(r.get(2)?),
                    })
                })?
                .collect()
            };
            Ok((of("accepted")?, of("dropped")?))
        })
    }

    /// Lets go of the events of sessions that nobody has hooked since then, and of all but their folders.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn forget_hooks_before(&mut self, at: Time) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(
                "DELETE FROM hook_event WHERE session IN (
                     SELECT session FROM hook_event GROUP BY session HAVING max(at) < ?1)",
                [at.micros()],
            )
            .map(|_| ())
        })
    }
}
