//! What tells that a conversation changed, from `stat` alone: inode, time and size of its file and of its `-wal`.

use std::{
    ffi::OsString,
    fs::Metadata,
    io,
    path::{Path, PathBuf},
};

use agenthub_core::Time;

/// One file's identity and age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileMark {
    /// 0 where the system has none (Windows).
    pub inode: u64,
    /// Nanoseconds since 1970, as the file system says.
    pub mtime_ns: i64,
    /// Bytes.
    pub size: u64,
}

/// A conversation as `stat` sees it. Equal fingerprints mean "nothing was written", up to the file system's clock:
/// see [`Fingerprint::is_racy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    pub db: FileMark,
    /// Only when it is not empty: readers leave empty ones behind, so an empty one says nothing (spec S1).
    pub wal: Option<FileMark>,
}

/// A file's time may lie this much before the clock's at its writing, ms: kernels stamp files by their last tick, some
/// milliseconds old, and the coarsest file systems in whole pairs of seconds.
pub const COARSE_MS: i64 = 2_000;

/// Whether a file that carries this time may have been written at the clock's `moment`, or later.
pub fn may_be_since(file: Time, moment: Time) -> bool {
    file.plus_ms(COARSE_MS) >= moment
}

impl Fingerprint {
    /// When the conversation was last written: the newer time of its file and its non-empty `-wal`.
    pub fn wrote(&self) -> Time {
        self.wal.map_or(self.db.wrote(), |w| w.wrote().max(self.db.wrote()))
    }

    /// Whether a write after the read at `read_at` could carry the same time: the kernel stamps files with a coarse
    /// clock. Look at such a file once more.
    pub fn is_racy(&self, read_at: Time) -> bool {
        self.wrote().plus_ms(COARSE_MS) > read_at
    }
}

impl std::fmt::Display for Fingerprint {
    /// `inode.mtime.size`, then the same of the `-wal` after a `+`. `parse` reads it back.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = |f: &mut std::fmt::Formatter<'_>, m: &FileMark| {
            write!(f, "{}.{}.{}", m.inode, m.mtime_ns, m.size)
        };
        mark(f, &self.db)?;
        if let Some(wal) = &self.wal {
            f.write_str("+")?;
            mark(f, wal)?;
        }
        Ok(())
    }
}

/// The text is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a fingerprint")]
pub struct NotAFingerprint;

impl std::str::FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(s: &str) -> Result<Fingerprint, NotAFingerprint> {
        fn mark(s: &str) -> Option<FileMark> {
            let mut parts = s.split('.');
            let inode = parts.next()?.parse().ok()?;
            let mtime_ns = parts.next()?.parse().ok()?;
            let size = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(FileMark { inode, mtime_ns, size })
        }
        let (db, wal) = match s.split_once('+') {
            Some((db, wal)) => (mark(db), Some(mark(wal).ok_or(NotAFingerprint)?)),
            None => (mark(s), None),
        };
        Ok(Fingerprint { db: db.ok_or(NotAFingerprint)?, wal })
    }
}

/// The fingerprint of one conversation file. Symlinks are followed, and the `-wal` is that of the real file.
///
/// # Errors
/// What `stat` says; the file may be anything but must exist. `InvalidInput` when it is no regular file.
pub fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    Ok(stat(path)?.1)
}

/// The mark of one regular file.
pub(crate) fn mark(path: &Path) -> io::Result<FileMark> {
    let m = std::fs::metadata(path)?;
    if m.is_file() { Ok(FileMark::of(&m)) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Everything that `stat` tells of a conversation before it is opened.
pub(crate) fn stat(path: &Path) -> io::Result<(PathBuf, Fingerprint, Metadata)> {
    let mut real = path.to_owned();
    let mut db = std::fs::symlink_metadata(path)?;
    if db.is_symlink() {
        real = std::fs::canonicalize(path)?;
        db = std::fs::metadata(&real)?;
    }
    if !db.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let wal = std::fs::metadata(beside(&real, "-wal")).ok().filter(|m| m.len() > 0);
    let fingerprint = Fingerprint { db: FileMark::of(&db), wal: wal.as_ref().map(FileMark::of) };
    Ok((real, fingerprint, db))
}

/// SQLite's companion of a database file, for example `<path>-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl FileMark {
    /// When the file was written, as the system stamped it.
    pub(crate) fn wrote(&self) -> Time {
        Time::from_micros(self.mtime_ns.div_euclid(1_000))
    }

    pub(crate) fn of(m: &Metadata) -> FileMark {
        #[cfg(unix)]
        let (inode, mtime_ns) = {
            use std::os::unix::fs::MetadataExt;
            (m.ino(), m.mtime().saturating_mul(1_000_000_000).saturating_add(m.mtime_nsec()))
        };
        #[cfg(not(unix))]
        let (inode, mtime_ns) = (0, m.modified().map_or(0, ns_of));
        FileMark { inode, mtime_ns, size: m.len() }
    }
}

#[cfg(not(unix))]
fn ns_of(t: std::time::SystemTime) -> i64 {
    match t.duration_since(std::time::UNIX_EPOCH) {
        Ok(d) => i64::try_from(d.as_nanos()).unwrap_or(i64::MAX),
        Err(e) => i64::try_from(e.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

/// A file's time of birth, where the system has one.
pub(crate) fn birth(m: &Metadata) -> Option<Time> {
    let d = m.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Time::plausible(i64::try_from(d.as_secs()).ok()?, i32::try_from(d.subsec_nanos()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l08_a_file_that_is_written_now_may_carry_an_earlier_time() {
        let now = Time::from_micros(1_800_000_000_000_000);
        assert!(may_be_since(now.plus_ms(-10), now) && may_be_since(now.plus_ms(60_000), now));
        assert!(!may_be_since(now.plus_ms(-COARSE_MS - 1), now));
    }

    #[test]
    fn s01_a_fingerprint_survives_its_text() {
        let db = FileMark { inode: 7, mtime_ns: -1_500, size: 4096 };
        let wal = Some(FileMark { inode: 8, mtime_ns: 2_000_000, size: 32 });
        for f in [Fingerprint { db, wal: None }, Fingerprint { db, wal }] {
            assert_eq!(f.to_string().parse(), Ok(f));
        }
        assert_eq!(Fingerprint { db, wal }.wrote(), Time::from_micros(2_000));
        for bad in ["", "1", "1.2", "1.2.3.4", "1.2.3+", "1.2.3+4", "a.b.c"] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(NotAFingerprint), "{bad}");
        }
    }
}
