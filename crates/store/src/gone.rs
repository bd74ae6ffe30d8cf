//! Sessions whose files are gone from agy's folder: the one thing of the store that agy's files can't give back.
//!
//! A copy of them and of their calls is kept in the person's own file, as plain rows, and taken from there when the store
//! had to be begun anew (spec Q3).

use std::path::Path;

use agenthub_core::{SessionId, Time, Tool};
use rusqlite::{Connection, Row, params};

use crate::{Change, Conversation, Lineage, SessionRecord, Store, StoreError, calls, open::is_damage};

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS person.gone_session (
    id TEXT PRIMARY KEY, tool TEXT NOT NULL, name TEXT, cwd TEXT, lane TEXT NOT NULL, parent TEXT, fork INTEGER NOT NULL,
    origin TEXT, origin_trajectory TEXT, trajectory TEXT, model TEXT, started_at INTEGER, created_at INTEGER,
    birth_at INTEGER, last_activity INTEGER, error_at INTEGER, turns INTEGER NOT NULL, tool_calls INTEGER NOT NULL,
    details TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS person.gone_call (
    id TEXT NOT NULL, key TEXT NOT NULL, kind INTEGER NOT NULL, usage INTEGER NOT NULL, input INTEGER NOT NULL,
    output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, thinking INTEGER NOT NULL,
    at INTEGER, at_source INTEGER, number INTEGER NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (id, key)
) WITHOUT ROWID;";

/// Gone sessions that have no copy yet.
const NEW: &str = "s.file_gone = 1 AND s.id NOT IN (SELECT id FROM person.gone_session)";

/// Sessions are taken back in portions of this size.
const PORTION: usize = 256;

impl Store {
    /// Whether nothing was ever read into it.
    pub fn is_new(&self) -> bool {
        self.filling
    }

    /// Copies sessions whose files are gone into the person's file: these, and all that have no copy there yet.
    ///
    /// # Errors
    /// When SQLite refuses; the copies are as they were then.
    pub fn keep_gone(&mut self, person: &Path, ids: &[SessionId]) -> Result<(), StoreError> {
        let any: bool = self.read(|conn| {
            conn.query_row("SELECT EXISTS (SELECT 1 FROM session WHERE file_gone = 1)", [], |r| r.get(0))
        })?;
        if !any {
            return Ok(());
        }
        self.beside(person, |store| {
            store.write(|tx| {
                for id in ids {
                    tx.execute("DELETE FROM person.gone_session WHERE id = ?1", [id.as_str()])?;
                }
                tx.execute(
                    &format!(
                        "INSERT OR REPLACE INTO person.gone_call
                         SELECT s.id, c.key, c.kind, c.usage, c.input, c.output, c.cache_read, c.cache_write, c.thinking,
                             c.at, c.at_source, m.number, m.name, m.label
                         FROM main.session AS s JOIN main.sighting AS c USING (sid) JOIN main.model AS m USING (mid)
                         WHERE {NEW}"
                    ),
                    [],
                )?;
                tx.execute(
                    &format!(
                        "INSERT INTO person.gone_session
                         SELECT s.id, s.tool, s.name, s.cwd, s.lane, s.parent, s.fork_depth > 0,
                             iif(s.origin_trajectory IS NULL, s.origin, NULL), s.origin_trajectory, s.trajectory, s.model,
                             s.started_at, s.created_at, s.birth_at, s.last_activity, s.error_at, s.turns, s.tool_calls,
                             s.details
                         FROM main.session AS s WHERE {NEW}"
                    ),
                    [],
                )?;
                Ok(())
            })
        })
    }

    /// Takes the sessions back that the person's file has copies of and the store does not know. Says how many.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn take_back_gone(&mut self, person: &Path) -> Result<usize, StoreError> {
        let found = self.beside(person, |store| store.read(copies))?;
        for portion in found.chunks(PORTION) {
            self.apply(portion)?;
        }
        let ids: Vec<SessionId> = found.iter().map(|c| c.conversation.id.clone()).collect();
        self.set_file_gone(Tool::Antigravity, &ids, true)?;
        Ok(ids.len())
    }

    /// Runs `f` with the person's file at hand as `person`.
    fn beside<T>(
        &mut self,
        person: &Path,
        f: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let path = person.to_string_lossy().into_owned();
        let attached = self.read(|conn| conn.execute("ATTACH DATABASE ?1 AS person", [path]).map(|_| ()));
        let done = attached.and_then(|()| {
            let done = self.read(|conn| conn.execute_batch(CREATE)).and_then(|()| f(self));
            // Statements that were prepared with it hold it.
            self.conn.flush_prepared_statement_cache();
            let left = self.read(|conn| conn.execute_batch("DETACH DATABASE person"));
            done.and_then(|value| left.map(|()| value))
        });
        // SQLite does not say which of the two is damaged.
        done.map_err(|e| match e {
            StoreError::Sqlite { source, .. } if is_damage(&source) && !Store::is_sound(person) => {
                StoreError::Sqlite { path: person.to_owned(), source }
            }
            e => e,
        })
    }
}

/// What the person's file has and the store has not.
fn copies(conn: &Connection) -> rusqlite::Result<Vec<Change>> {
    let mut all = conn.prepare(
        "SELECT id, name, cwd, lane, parent, fork, origin, origin_trajectory, trajectory, model, started_at, created_at,
             birth_at, last_activity, error_at, turns, tool_calls, details
         FROM person.gone_session WHERE tool = ?1 AND id NOT IN (SELECT id FROM main.session) ORDER BY id",
    )?;
    let records: Vec<SessionRecord> = all
        .query_map([Tool::Antigravity.name()], record)?
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    let mut sightings = conn.prepare(
        "SELECT key, kind, usage, input, output, cache_read, cache_write, thinking, at, at_source, number, name, label
         FROM person.gone_call WHERE id = ?1 ORDER BY key",
    )?;
    records
        .into_iter()
        .map(|session| {
            let found = sightings.query_map(params![session.id.as_str()], calls::from_columns)?;
            Ok(Change {
                conversation: Conversation {
                    id: session.id.clone(),
                    fingerprint: String::new(),
                    cursor: String::new(),
                    read_at: Time::from_micros(0),
                    problem: None,
                    ever_held: false,
                },
                sightings: found.collect::<Result<_, _>>()?,
                session: Some(session),
            })
        })
        .collect()
}

fn record(r: &Row<'_>) -> rusqlite::Result<Option<SessionRecord>> {
    let Some(id) = SessionId::parse(&r.get::<_, String>(0)?) else { return Ok(None) };
    let other = |n| r.get::<_, Option<String>>(n).map(|id| id.as_deref().and_then(SessionId::parse));
    let time = |n| r.get::<_, Option<i64>>(n).map(|t| t.map(Time::from_micros));
    let fork: bool = r.get(5)?;
    let lineage = Lineage { conversation: other(6)?, trajectory: r.get(7)? };
    Ok(Some(SessionRecord {
        id,
        tool: Tool::Antigravity,
        name: r.get(1)?,
        cwd: r.get(2)?,
        lane: r.get(3)?,
        parent: other(4)?,
        fork: fork.then_some(lineage),
        trajectory: r.get(8)?,
        model: r.get(9)?,
        started_at: time(10)?,
        created_at: time(11)?,
        birth_at: time(12)?,
        last_activity: time(13)?,
        error_at: time(14)?,
        turns: r.get(15)?,
        tool_calls: r.get(16)?,
        details: r.get(17)?,
    }))
}
