//! Opens one of agy's databases without leaving a trace beside it (engineering-notes §1).

use std::{
    fmt::Write as _,
    fs::File,
    io::{Cursor, Read as _},
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use tempfile::TempDir;

use crate::{Fingerprint, Home, ReadError, fingerprint::beside, vfs};

/// A database that only a hostile file keeps busy for longer than this.
const DEADLINE: Duration = Duration::from_secs(60);
/// Instructions of SQLite's machine between two looks at the clock.
const LOOK_EVERY: i32 = 1_000_000;

/// The largest file, in bytes, that is read in one go where all rows are wanted. Beyond it the payloads, which nobody asks
/// for, are most of a file.
const MOST_AT_ONCE: u64 = 2 * 1024 * 1024;

/// How much of a conversation its reader is going to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every row.
    All,
    /// The newest rows, or some.
    Part,
}

/// An open database. Never kept: our lock would make agy skip its last checkpoint.
pub(crate) struct Opened {
    pub(crate) conn: Connection,
    /// Dropped, and so removed, after the connection.
    _private: Option<TempDir>,
}

/// Opens the database at `real` (no symlink) in the way that its files ask for.
///
/// # Errors
/// SQLite's own; the file may be anything.
pub(crate) fn open(real: &Path, seen: &Fingerprint, home: &Home, extent: Extent) -> rusqlite::Result<Opened> {
    if !vfs::register() {
        return Err(other("SQLite refused the read-only layer"));
    }
    if seen.wal.is_none() {
        if extent == Extent::All && seen.db.size <= MOST_AT_ONCE {
            return at_once(real, seen.db.size);
        }
        return connect(&uri(real, "&immutable=1"), None);
    }
    if beside(real, "-shm").exists() {
        return connect(&uri(real, "&readonly_shm=1"), None);
    }
    // agy died, or its files were copied here: SQLite must build the log's index, which it can't in memory when the
    // `-shm` is missing. So it gets copies that are ours.
    let folder = private_folder(home).map_err(|e| other(&format!("no private copy: {e}")))?;
    let copy = folder.path().join("copy.db");
    let copied = std::fs::copy(real, &copy)
        .and_then(|_| std::fs::copy(beside(real, "-wal"), beside(&copy, "-wal")))
        .and_then(|_| make_writable(&copy));
    copied.map_err(|e| other(&format!("no private copy: {e}")))?;
    let conn = Connection::open_with_flags(
        &copy,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    prepared(conn, Some(folder))
}

/// A closed conversation of `size` bytes, read in one go: SQLite asks the system for each page, and copies it twice.
///
/// That a file which is written meanwhile may come out torn is seen by the fingerprint after the read, as for any other.
fn at_once(real: &Path, size: u64) -> rusqlite::Result<Opened> {
    /// Where a database's first bytes say which versions of SQLite may write and read it.
    const VERSIONS: std::ops::Range<usize> = 18..20;
    let cannot = |e: std::io::Error| other(&format!("the file can't be read: {e}"));
    let too_large = |_| other("the file is too large");
    let bytes = usize::try_from(size).map_err(too_large)?;
    let mut file = File::open(real).map_err(cannot)?;
    let mut head = Vec::with_capacity(VERSIONS.end);
    file.by_ref().take(VERSIONS.end as u64).read_to_end(&mut head).map_err(cannot)?;
    if let Some(versions) = head.get_mut(VERSIONS)
        && versions == [2, 2]
    {
        // "With a log beside it", which a database in memory can't have, and a file without one does not need.
        versions.fill(1);
    }
    let mut conn = Connection::open_in_memory_with_flags(
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.deserialize_read_exact(MAIN_DB, Cursor::new(head).chain(file), bytes, true)?;
    // Pages are then used where they lie, without a copy in SQLite's cache.
    conn.pragma_update(None, "mmap_size", i64::try_from(size).map_err(too_large)?)?;
    prepared(conn, None)
}

fn connect(uri: &str, private: Option<TempDir>) -> rusqlite::Result<Opened> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    prepared(Connection::open_with_flags(uri, flags)?, private)
}

fn prepared(mut conn: Connection, private: Option<TempDir>) -> rusqlite::Result<Opened> {
    conn.busy_timeout(Duration::from_millis(250))?;
    let end = Instant::now() + DEADLINE;
    // A view in place of a table may compute for ever.
    conn.progress_handler(LOOK_EVERY, Some(move || Instant::now() > end))?;
    Ok(Opened { conn, _private: private })
}

fn private_folder(home: &Home) -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("agenthub-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    match home.private() {
        Some(parent) => {
            std::fs::create_dir_all(parent)?;
            builder.tempdir_in(parent)
        }
        None => builder.tempdir(),
    }
}

/// A copy has the mode of its original, which may be read-only.
fn make_writable(copy: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(copy, std::fs::Permissions::from_mode(0o600))?;
        std::fs::set_permissions(beside(copy, "-wal"), std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    {
        for path in [copy.to_owned(), beside(copy, "-wal")] {
            let mut p = std::fs::metadata(&path)?.permissions();
            #[expect(clippy::permissions_set_readonly_false, reason = "not a Unix")]
            p.set_readonly(false);
            std::fs::set_permissions(&path, p)?;
        }
        Ok(())
    }
}

/// A `file:` URI; every byte that could mean something in it is percent-encoded, so any path is one.
fn uri(path: &Path, more: &str) -> String {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let text = format!("/{}", path.to_string_lossy().replace('\\', "/"));
    #[cfg(not(unix))]
    let bytes = text.as_bytes();
    let mut uri = String::from("file:");
    for b in bytes {
        match b {
            b'/' | b'-' | b'_' | b'.' | b':' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*b));
            }
            _ => {
                let _ = write!(uri, "%{b:02X}");
            }
        }
    }
    let _ = write!(uri, "?mode=ro&vfs={}{more}", vfs::NAME);
    uri
}

fn other(message: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error { code: ErrorCode::CannotOpen, extended_code: rusqlite::ffi::SQLITE_CANTOPEN },
        Some(message.to_owned()),
    )
}

/// What SQLite's error means, provided that the files stood still. `path` is looked at for its permissions only.
pub(crate) fn verdict(e: &rusqlite::Error, path: &Path) -> ReadError {
    let (code, message) = match e {
        rusqlite::Error::SqliteFailure(e, m) => (e.code, m.clone().unwrap_or_else(|| e.to_string())),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.code, msg.clone()),
        // A value of another type than the schema says, and the like: the content is at fault.
        other => return ReadError::Corrupt(other.to_string()),
    };
    match code {
        ErrorCode::NotADatabase => ReadError::NotADatabase,
        ErrorCode::DatabaseCorrupt => ReadError::Corrupt(message),
        ErrorCode::Unknown if message.contains("no such table") || message.contains("no such column") => {
            ReadError::NoSuchTable(message)
        }
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied
            if !readable(path) =>
        {
            ReadError::Permission
        }
        // Our own deadline: no healthy conversation takes that long.
        ErrorCode::OperationInterrupted => ReadError::Corrupt("it could not be read to its end".to_owned()),
        _ => ReadError::Busy(message),
    }
}

/// Asks for the permission without opening: an open and close here would drop SQLite's locks of this process.
fn readable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        rustix::fs::access(path, rustix::fs::Access::READ_OK) != Err(rustix::io::Errno::ACCESS)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        true
    }
}
