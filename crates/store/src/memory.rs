//! A store and a person's file in memory, for a look that is to be had although nothing can be written.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

/// Two databases in memory. Every connection of this process opens them by their names, as it would open files by their paths,
/// for as long as this lives.
#[derive(Debug)]
pub struct InMemory {
    store: Named,
    person: Named,
}

impl InMemory {
    /// Empty ones.
    ///
    /// # Errors
    /// When SQLite has no memory for them.
    pub fn new() -> Result<InMemory, StoreError> {
        Ok(InMemory { store: Named::empty()?, person: Named::empty()? })
    }

    /// Copies of these two files, which are only read. Of a file that is not there, or can't be read whole, an empty one.
    ///
    /// # Errors
    /// As [`InMemory::new`].
    pub fn copied(store: &Path, person: &Path) -> Result<InMemory, StoreError> {
        Ok(InMemory { store: Named::copy_of(store)?, person: Named::copy_of(person)? })
    }

    /// What to open in the place of the store's path.
    pub fn store(&self) -> &Path {
        &self.store.name
    }

    /// What to open in the place of the path of the person's file.
    pub fn person(&self) -> &Path {
        &self.person.name
    }
}

#[derive(Debug)]
struct Named {
    name: PathBuf,
    /// SQLite lets go of what is in memory with the last connection to it.
    _kept: Mutex<Connection>,
}

impl Named {
    fn empty() -> Result<Named, StoreError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = PathBuf::from(format!("file:/agenthub-{next}?vfs=memdb"));
        let kept =
            Connection::open(&name).map_err(|source| StoreError::Sqlite { path: name.clone(), source })?;
        Ok(Named { name, _kept: Mutex::new(kept) })
    }

    fn copy_of(file: &Path) -> Result<Named, StoreError> {
        if file.is_file() {
            for from in [Some(file.to_owned()), at_rest(file)].into_iter().flatten() {
                let copy = Named::empty()?;
                match copy_into(&from, &copy.name) {
                    Ok(()) => return Ok(copy),
                    Err(e) => tracing::warn!("{} can't be read as it is: {e}", file.display()),
                }
            }
        }
        Named::empty()
    }
}

/// Not SQLite's backup, which takes over that a store has a write-ahead log; what is in memory can have none.
fn copy_into(from: &Path, to: &Path) -> rusqlite::Result<()> {
    let from = Connection::open_with_flags(from, READING)?;
    from.busy_timeout(std::time::Duration::from_secs(5))?;
    // Nor may it need room on a disk.
    from.execute_batch("PRAGMA temp_store = MEMORY")?;
    from.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    Ok(())
}

/// Also a database in memory is opened so, by its name.
pub(crate) const READING: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX).union(OpenFlags::SQLITE_OPEN_URI);

/// Whether there is something to open: a file, or what is in memory for as long as it has a name.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists() || path.to_str().is_some_and(|name| name.ends_with("?vfs=memdb"))
}

/// The file as one that nobody writes, if so it is: then SQLite needs no file of its own beside it, for which there may be no
/// room. `None` while something stands in its write-ahead log, which would be passed over.
fn at_rest(file: &Path) -> Option<PathBuf> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(log).is_ok_and(|m| m.len() > 0) {
        return None;
    }
    let path = std::path::absolute(file).ok()?;
    let path = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let path = if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path };
    Some(format!("file:{path}?immutable=1").into())
}
