//! Table `antigravity_conversations`: what was seen of each conversation file, and how far it was read.

use agenthub_core::{SessionId, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{Store, StoreError};

pub(crate) const CREATE: &str = "
CREATE TABLE antigravity_conversations (
    file        TEXT PRIMARY KEY,   -- the UUID of the file's name
    session_id  TEXT NOT NULL,      -- the same once it was read; '' while the file is unreadable
    fingerprint TEXT NOT NULL,      -- inode, mtime and size of the file and of a non-empty -wal; '' = look again
    cursor      TEXT NOT NULL,      -- the reader's own notes on how far it got
    read_at     INTEGER NOT NULL,   -- microseconds
    problem     TEXT,               -- why it could not be read, while it stays as it is
    message     TEXT,
    ever_held   INTEGER NOT NULL DEFAULT 0  -- its presence lock was seen held once
) WITHOUT ROWID;";

/// Why a file cannot be read, as long as it stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub code: String,
    pub message: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub id: SessionId,
    pub fingerprint: String,
    /// Empty when the file was never read to its end.
    pub cursor: String,
    pub read_at: Time,
    pub problem: Option<Verdict>,
    pub ever_held: bool,
}

fn row(r: &Row<'_>) -> rusqlite::Result<Option<Conversation>> {
    let file: String = r.get(0)?;
    let code: Option<String> = r.get(4)?;
    let message: Option<String> = r.get(5)?;
    Ok(SessionId::parse(&file).map(|id| Conversation {
        id,
        fingerprint: r.get(1).unwrap_or_default(),
        cursor: r.get(2).unwrap_or_default(),
        read_at: Time::from_micros(r.get(3).unwrap_or_default()),
        problem: code.map(|code| Verdict { code, message: message.unwrap_or_default() }),
        ever_held: r.get(6).unwrap_or_default(),
    }))
}

pub(crate) fn upsert(conn: &Connection, c: &Conversation) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO antigravity_conversations (file, session_id, fingerprint, cursor, read_at, problem, message, ever_held)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (file) DO UPDATE SET session_id = excluded.session_id, fingerprint = excluded.fingerprint,
             cursor = excluded.cursor, read_at = excluded.read_at, problem = excluded.problem,
             message = excluded.message, ever_held = ever_held OR excluded.ever_held",
    )?
    .execute(params![
        c.id.as_str(),
        if c.problem.is_some() { "" } else { c.id.as_str() },
        c.fingerprint,
        c.cursor,
        c.read_at.micros(),
        c.problem.as_ref().map(|p| p.code.as_str()),
        c.problem.as_ref().map(|p| p.message.as_str()),
        c.ever_held,
    ])?;
    Ok(())
}

pub(crate) fn forget_fingerprint(conn: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE antigravity_conversations SET fingerprint = '' WHERE file = ?1")?
        .execute([id.as_str()])?;
    Ok(())
}

impl Store {
    /// All rows without their cursors (which are long): what a pass compares with.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn conversations(&self) -> Result<Vec<Conversation>, StoreError> {
        self.read(|conn| {
            conn.prepare(
                "SELECT file, fingerprint, '', read_at, problem, message, ever_held FROM antigravity_conversations",
            )?
            .query_map([], row)?
            .filter_map(Result::transpose)
            .collect()
        })
    }

    /// One row with its cursor.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn conversation(&self, id: &SessionId) -> Result<Option<Conversation>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT file, fingerprint, cursor, read_at, problem, message, ever_held
                 FROM antigravity_conversations WHERE file = ?1",
            )?
            .query_row([id.as_str()], row)
            .optional()
            .map(Option::flatten)
        })
    }

    /// Remembers that presence locks were seen held, also of conversations that were not read yet.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_ever_held(&mut self, ids: &[SessionId]) -> Result<(), StoreError> {
        self.write(|tx| {
            for id in ids {
                tx.prepare_cached(
                    "INSERT INTO antigravity_conversations (file, session_id, fingerprint, cursor, read_at, ever_held)
                     VALUES (?1, '', '', '', 0, 1) ON CONFLICT (file) DO UPDATE SET ever_held = 1",
                )?
                .execute([id.as_str()])?;
            }
            Ok(())
        })
    }
}
