//! Opening, migrating, and the one way to write: a list of changes in one transaction.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_core::{SessionId, Sighting, Tool, price::Book};
use rusqlite::{Connection, TransactionBehavior, config::DbConfig};

use crate::{
    Conversation, SessionRecord, calls, conversations, costs, deletions, hooks, listing, memory::READING,
    models, own_prices, rollup, runs, sessions, writing::Writing,
};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store at {} could not be used: {source}", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("the store at {} was made by a newer AgentHub (format {found}, this one knows {known}): update AgentHub, or set AGENTHUB_DATA_DIR to another folder", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl StoreError {
    /// Whether the file is damaged, so that only a new one helps.
    pub fn is_damage(&self) -> bool {
        self.damaged().is_some()
    }

    /// The damaged file.
    pub fn damaged(&self) -> Option<&Path> {
        match self {
            StoreError::Sqlite { path, source } if is_damage(source) => Some(path),
            _ => None,
        }
    }

    /// Whether there was no room to write.
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Sqlite { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull))
    }

    /// Whether another program held it for longer than was waited.
    pub fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self, StoreError::Sqlite { source, .. }
            if matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked)))
    }
}

/// Each step is run once, in order, and never changed after it has been released: new ones are added at the end.
pub(crate) const MIGRATIONS: &[&[&str]] = &[
    &[sessions::CREATE, conversations::CREATE, models::CREATE, calls::CREATE],
    &[hooks::CREATE],
    &[runs::CREATE],
    &[costs::CREATE],
    &[listing::CREATE],
    &[rollup::CREATE, models::ADD_PRICES, costs::CREATE_REPRICING, listing::DROP_SUMS],
    &[listing::NARROW],
    &[own_prices::CREATE],
    // What sessions are searched by is folded anew.
    &[],
];
/// How many steps there are: the format of a store, as it says itself.
pub const FORMAT: usize = MIGRATIONS.len();
/// Of the steps above, the one that has all sums be made anew.
const COSTS_STEP: i64 = 4;

/// And the one that has what is searched folded anew.
const FOLD_STEP: i64 = 9;

/// What one read of one conversation brings into the store.
#[derive(Clone, Debug)]
pub struct Change {
    pub conversation: Conversation,
    /// `None` when the file could not be read: what is known of the session stays as it is.
    pub session: Option<SessionRecord>,
    pub sightings: Vec<Sighting>,
}

/// A connection to the store. One process writes (the engine); any number read.
#[derive(Debug)]
pub struct Store {
    pub(crate) conn: Connection,
    path: PathBuf,
    /// There while the store is filled for the first time.
    fresh: Option<Fresh>,
    /// The store was empty when it was opened, and what a first filling leaves for its end is still to be done.
    pub(crate) filling: bool,
    /// The sums are rolled up, and have to be kept so.
    pub(crate) rolled_up: bool,
    /// What calls cost.
    pub(crate) book: Arc<Book>,
    /// There while costs are made anew.
    pub(crate) repricing: Option<costs::Repricing>,
}

/// What is known of a store that was empty a moment ago.
#[derive(Debug, Default)]
struct Fresh {
    sessions: sessions::Fresh,
    calls: calls::Fresh,
}

/// An open store, and whether it had to be made anew.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    /// The damaged file, kept beside the new one, when the store could not be opened and was rebuilt (spec Q3).
    pub damaged: Option<PathBuf>,
}

impl Store {
    /// Opens or makes the store for writing. A damaged file is kept aside under another name and a new one is begun:
    /// agy's files still hold what it held.
    ///
    /// # Errors
    /// When the file cannot be opened or made, or is from a newer AgentHub.
    pub fn open(path: &Path) -> Result<Opened, StoreError> {
        match Store::open_once(path) {
            Err(StoreError::Sqlite { source, .. }) if is_damage(&source) => {
                let aside =
                    keep_aside(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
                Ok(Opened { store: Store::open_once(path)?, damaged: Some(aside) })
            }
            Err(e) => Err(e),
            Ok(store) => Ok(Opened { store, damaged: None }),
        }
    }

    fn open_once(path: &Path) -> Result<Store, StoreError> {
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let mut conn = Connection::open(path).map_err(fail)?;
        prepare(&conn).map_err(fail)?;
        conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA journal_mode = WAL;").map_err(fail)?;
        let found: i64 = conn.query_row("PRAGMA user_version", [], |r| r.get(0)).map_err(fail)?;
        let known = i64::try_from(FORMAT).unwrap_or(i64::MAX);
        if found > known {
            return Err(StoreError::Newer { path: path.to_owned(), found, known });
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        for steps in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            for sql in *steps {
                tx.execute_batch(sql).map_err(fail)?;
            }
        }
        if (1..COSTS_STEP).contains(&found) {
            calls::recount(&tx).map_err(fail)?;
        }
        if (1..FOLD_STEP).contains(&found) {
            sessions::fold_search_anew(&tx).map_err(fail)?;
        }
        tx.pragma_update(None, "user_version", known).map_err(fail)?;
        tx.commit().map_err(fail)?;
        let empty: bool =
            conn.query_row("SELECT NOT EXISTS (SELECT 1 FROM session)", [], |r| r.get(0)).map_err(fail)?;
        if empty {
            // Rolled up anew when it is filled.
            conn.execute_batch("DELETE FROM rolled_up; DELETE FROM used;").map_err(fail)?;
            calls::drop_key_index(&conn).map_err(fail)?;
            // The first filling is one long write: its log is moved into the database once, afterwards.
            conn.pragma_update(None, "wal_autocheckpoint", 0).map_err(fail)?;
        } else {
            // A first filling that was killed left them out.
            calls::index_keys(&conn).and_then(|()| listing::index(&conn)).map_err(fail)?;
        }
        let fresh = empty.then(Fresh::default);
        let rolled_up = rollup::is_there(&conn).map_err(fail)?;
        Ok(Store {
            conn,
            path: path.to_owned(),
            fresh,
            filling: empty,
            rolled_up,
            book: Arc::default(),
            repricing: None,
        })
    }

    /// Leaves a store that turned out to be damaged, keeps its file aside, and begins a new one in its place. Says where
    /// the damaged one is.
    ///
    /// # Errors
    /// When the file can't be moved, or no new one can be made; until it is done nothing can be read or written.
    pub fn begin_anew(&mut self) -> Result<PathBuf, StoreError> {
        let path = self.path.clone();
        let io = |source| StoreError::Io { path: path.clone(), source };
        // Closed before it is moved: some systems don't move what is open.
        let nothing = Connection::open_in_memory().map_err(|e| self.failed(e))?;
        drop(std::mem::replace(&mut self.conn, nothing));
        let aside = if path.exists() { keep_aside(&path).map_err(io)? } else { path.clone() };
        let book = Arc::clone(&self.book);
        *self = Store::open_once(&path)?;
        self.price_by(book)?;
        Ok(aside)
    }

    /// Whether the file can be read whole, seen with a new connection.
    pub fn is_sound(path: &Path) -> bool {
        let check = |store: Store| {
            store.read(|conn| conn.query_row("PRAGMA quick_check(1)", [], |r| r.get::<_, String>(0)))
        };
        match Store::reader(path).and_then(check) {
            Ok(answer) => answer == "ok",
            Err(e) => !e.is_damage(),
        }
    }

    /// A second connection that can only read.
    ///
    /// # Errors
    /// When there is no store yet, or it cannot be opened.
    pub fn reader(path: &Path) -> Result<Store, StoreError> {
        let fail = |source| StoreError::Sqlite { path: path.to_owned(), source };
        let conn = Connection::open_with_flags(path, READING).map_err(fail)?;
        prepare(&conn).map_err(fail)?;
        Ok(Store {
            conn,
            path: path.to_owned(),
            fresh: None,
            filling: false,
            rolled_up: false,
            book: Arc::default(),
            repricing: None,
        })
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: self.path.clone(), source }
    }

    pub(crate) fn read<T>(
        &self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        f(&self.conn).map_err(|e| self.failed(e))
    }

    /// Everything that `f` asks is answered as of one moment, whatever is written meanwhile.
    ///
    /// # Errors
    /// When SQLite refuses, and what `f` gives.
    pub fn at_once<T, E: From<StoreError>>(&self, f: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        if !self.conn.is_autocommit() {
            // Within another one: it is that one's moment.
            return f(self);
        }
        let moment = self.conn.unchecked_transaction().map_err(|e| self.failed(e))?;
        let answer = f(self);
        // Nothing was written; how it ends says nothing.
        drop(moment);
        answer
    }

    /// Runs `f` in one transaction: all of it is written, or nothing.
    pub(crate) fn write<T>(
        &mut self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        in_transaction(&mut self.conn, f).map_err(|e| self.failed(e))
    }

    /// The same for what changes sums: those that are rolled up follow in the same transaction.
    pub(crate) fn write_sums<T>(
        &mut self,
        f: impl FnOnce(&mut Writing<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let (book, rolled_up, repricing) = (Arc::clone(&self.book), self.rolled_up, self.repricing.take());
        let written = self.write(|tx| {
            let mut w = Writing::new(tx, &book, rolled_up, repricing.as_ref());
            let value = f(&mut w)?;
            w.finish()?;
            Ok(value)
        });
        self.repricing = repricing;
        written
    }

    /// Writes all changes, or none: what was read, the totals that follow from it, and the cursor (spec Q2, S7).
    ///
    /// # Errors
    /// When SQLite refuses; nothing was written then.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        // The keys of a transaction that did not happen would not be in the store: on an error the set is not put back.
        let mut fresh = self.fresh.take();
        self.write_sums(|w| {
            let mut placed = Vec::new();
            for c in changes {
                if let Some(session) = &c.session {
                    let (sessions, calls) = fresh.as_mut().map(|f| (&mut f.sessions, &mut f.calls)).unzip();
                    let written = sessions::upsert(w, session, sessions)?;
                    placed.extend(written.placed.then_some(written.sid));
                    calls::add(w, written.sid, &c.sightings, calls)?;
                }
                conversations::upsert(w.conn, &c.conversation)?;
            }
            deletions::hide_placed(w, &placed)
        })?;
        self.fresh = fresh;
        Ok(())
    }

    /// Ends the first filling: from now on keys are looked up in the store itself.
    pub fn first_filling_done(&mut self) {
        self.fresh = None;
        if !std::mem::take(&mut self.filling) {
            return;
        }
        // SQLite's usual number of pages. What can't be had here is had at the next open; until then the store is slower.
        let done = calls::index_keys(&self.conn)
            .and_then(|()| listing::index(&self.conn))
            .and_then(|()| self.conn.pragma_update(None, "wal_autocheckpoint", 1_000));
        if let Err(e) = done {
            tracing::warn!("the store is slower until its next start: {e}");
        }
    }

    /// Marks sessions whose files are gone from agy's folder, and those that are back.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_file_gone(&mut self, tool: Tool, ids: &[SessionId], gone: bool) -> Result<(), StoreError> {
        self.write(|tx| {
            for id in ids {
                sessions::set_file_gone(tx, tool, id, gone)?;
                if gone {
                    conversations::forget_fingerprint(tx, id)?;
                }
            }
            Ok(())
        })
    }
}

/// Runs `f` in one transaction: all of it is written, or nothing.
pub(crate) fn in_transaction<T>(
    conn: &mut Connection,
    f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = f(&tx)?;
    tx.commit()?;
    Ok(value)
}

fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    conn.set_prepared_statement_cache_capacity(64);
    // A statement takes a list of numbers as one value, `rarray(?)`.
    rusqlite::vtab::array::load_module(conn)?;
    // SQLite is built with STAT4, which compiles a statement anew for each new value that is bound to it, in search of a
    // better plan. Ours have one plan each; without this, looking up 55,000 calls takes three times as long.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;")
}

pub(crate) fn is_damage(e: &rusqlite::Error) -> bool {
    // A file that ends before its last page was cut.
    let cut = e.sqlite_error().is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ);
    cut || matches!(
        e.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    )
}

/// Renames a damaged store and its side files to the first free `<name>.damaged-N`.
pub(crate) fn keep_aside(path: &Path) -> std::io::Result<PathBuf> {
    let named = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let aside = (1..)
        .map(|n| named(&format!(".damaged-{n}")))
        .find(|p| !p.exists())
        .unwrap_or_else(|| named(".damaged"));
    std::fs::rename(path, &aside)?;
    for side in ["-wal", "-shm"] {
        let mut kept = aside.clone().into_os_string();
        kept.push(side);
        match std::fs::rename(named(side), kept) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(aside)
}
