//! What only the person could say: deleted sessions and dismissed errors; and what they were told (`notices.rs`).
//!
//! It lives in a file of its own, which a rebuild of the store leaves alone (spec Q3). Any host may write it; the engine
//! reads it anew when it is told to.

use std::path::{Path, PathBuf};

use agenthub_core::{SessionId, Time};
use rusqlite::{Connection, params};

use crate::{
    StoreError,
    memory::{READING, is_there},
    notices,
    open::{self, is_damage, keep_aside},
    own_prices,
};

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS deletion (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dismissal (lane TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS birth (at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS model_price (
    model       TEXT PRIMARY KEY,
    alias       TEXT,                -- the model that prices it; else USD for a million tokens, as it was typed:
    input       TEXT,
    cache_read  TEXT,
    cache_write TEXT,
    output      TEXT,
    at          INTEGER NOT NULL
) WITHOUT ROWID;";

/// What the person set for a model: an alias, or rates in USD for a million tokens as decimal text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPrice {
    pub model: String,
    pub alias: Option<String>,
    pub input: Option<String>,
    pub cache_read: Option<String>,
    pub cache_write: Option<String>,
    pub output: Option<String>,
}

/// A lane's error that the person has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dismissal {
    pub lane: String,
    pub at: Time,
}

/// The person's own file.
#[derive(Debug)]
pub struct PersonStore {
    conn: Connection,
    path: PathBuf,
    renewed: bool,
}

impl PersonStore {
    /// Opens or makes the file. `now` is kept as the moment from which AgentHub has been watching, the first time.
    ///
    /// A damaged file is kept aside under another name, and a new one is begun.
    ///
    /// # Errors
    /// When it cannot be opened or made.
    pub fn open(path: &Path, now: Time) -> Result<PersonStore, StoreError> {
        match PersonStore::open_once(path, now) {
            Err(StoreError::Sqlite { source, .. }) if is_damage(&source) => {
                let aside =
                    keep_aside(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
                tracing::error!("{} was damaged; it is kept as {}", path.display(), aside.display());
                Ok(PersonStore { renewed: true, ..PersonStore::open_once(path, now)? })
            }
            other => other,
        }
    }

    fn open_once(path: &Path, now: Time) -> Result<PersonStore, StoreError> {
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let conn = Connection::open(path).map_err(fail)?;
        conn.busy_timeout(std::time::Duration::from_secs(5)).map_err(fail)?;
        // One transaction, so that making the file waits for the disk once.
        let tx = rusqlite::Transaction::new_unchecked(&conn, rusqlite::TransactionBehavior::Immediate)
            .map_err(fail)?;
        tx.execute_batch(CREATE).map_err(fail)?;
        tx.execute_batch(notices::CREATE).map_err(fail)?;
        tx.execute("INSERT INTO birth SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM birth)", [now.micros()])
            .map_err(fail)?;
        tx.commit().map_err(fail)?;
        // It is small, and rarely opened: what is damaged in it is found now, and not when it is needed.
        let sound: String = conn.query_row("PRAGMA quick_check(1)", [], |r| r.get(0)).map_err(fail)?;
        if sound != "ok" {
            let damage = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            return Err(fail(rusqlite::Error::SqliteFailure(damage, Some(sound))));
        }
        Ok(PersonStore { conn, path: path.to_owned(), renewed: false })
    }

    /// Whether it had to take the place of a damaged one just now.
    pub fn is_renewed(&self) -> bool {
        self.renewed
    }

    /// Runs `f` in one transaction: all of it is written, or nothing.
    pub(crate) fn write<T>(
        &mut self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        open::in_transaction(&mut self.conn, f)
            .map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }

    pub(crate) fn run<T>(&self, f: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        f(&self.conn).map_err(|source| StoreError::Sqlite { path: self.path.clone(), source })
    }

    /// When AgentHub first ran on this data folder.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn born_at(&self) -> Result<Time, StoreError> {
        self.run(|c| c.query_row("SELECT min(at) FROM birth", [], |r| r.get(0).map(Time::from_micros)))
    }

    /// # Errors
    /// When SQLite refuses.
    pub fn delete(&self, id: &SessionId, at: Time) -> Result<(), StoreError> {
        self.run(|c| {
            c.execute("INSERT OR IGNORE INTO deletion VALUES (?1, ?2)", params![id.as_str(), at.micros()])
        })?;
        Ok(())
    }

    /// # Errors
    /// When SQLite refuses.
    pub fn restore(&self, id: &SessionId) -> Result<(), StoreError> {
        self.run(|c| c.execute("DELETE FROM deletion WHERE id = ?1", [id.as_str()]))?;
        Ok(())
    }

    /// Ids of all deleted sessions.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn deleted(&self) -> Result<Vec<SessionId>, StoreError> {
        let ids: Vec<String> =
            self.run(|c| c.prepare("SELECT id FROM deletion")?.query_map([], |r| r.get(0))?.collect())?;
        Ok(ids.iter().filter_map(|id| SessionId::parse(id)).collect())
    }

    /// # Errors
    /// When SQLite refuses.
    pub fn dismiss(&self, d: &Dismissal) -> Result<(), StoreError> {
        self.run(|c| {
            c.execute(
                "INSERT INTO dismissal VALUES (?1, ?2) ON CONFLICT (lane) DO UPDATE SET at = max(at, excluded.at)",
                params![d.lane, d.at.micros()],
            )
        })?;
        Ok(())
    }

    /// # Errors
    /// When SQLite refuses.
    pub fn dismissals(&self) -> Result<Vec<Dismissal>, StoreError> {
        self.run(|c| {
            c.prepare("SELECT lane, at FROM dismissal")?
                .query_map([], |r| Ok(Dismissal { lane: r.get(0)?, at: Time::from_micros(r.get(1)?) }))?
                .collect()
        })
    }

    /// Sets a model's price or alias, in place of the one before.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_price(&self, p: &OwnPrice, at: Time) -> Result<(), StoreError> {
        self.run(|c| {
            c.execute(
                "INSERT OR REPLACE INTO model_price (model, alias, input, cache_read, cache_write, output, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![p.model, p.alias, p.input, p.cache_read, p.cache_write, p.output, at.micros()],
            )
        })?;
        Ok(())
    }

    /// Takes a model's price or alias back; says whether there was one.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn clear_price(&self, model: &str) -> Result<bool, StoreError> {
        Ok(self.run(|c| c.execute("DELETE FROM model_price WHERE model = ?1", [model]))? > 0)
    }

    /// All prices and aliases of the person's own in the file at `path`, by model. Makes no file, and waits for nobody.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn prices_in(path: &Path) -> Result<Vec<OwnPrice>, StoreError> {
        if !is_there(path) {
            return Ok(Vec::new());
        }
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let conn = Connection::open_with_flags(path, READING).map_err(fail)?;
        conn.busy_timeout(std::time::Duration::from_secs(5)).map_err(fail)?;
        let read = || -> rusqlite::Result<Vec<OwnPrice>> {
            // A file of an older AgentHub has no such table until it is next opened for writing.
            if !conn.table_exists(None, "model_price")? {
                return Ok(Vec::new());
            }
            own_prices::all(&conn, "model_price")
        };
        read().map_err(fail)
    }
}
