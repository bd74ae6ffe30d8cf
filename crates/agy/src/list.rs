//! One pass over `conversations/`: which files there are, and what `stat` says of them. Nothing is opened.
//!
//! This runs at every poll over thousands of files (spec B2), so it looks at each as little as possible: one `readdir`,
//! one `stat` per database relative to the folder, and a second one only where the folder has a `-wal`.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use agenthub_core::SessionId;

use crate::{
    Fingerprint, Home, Problem, ProblemCode,
    fingerprint::{self, FileMark},
};

/// A conversation file that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: SessionId,
    pub fingerprint: Fingerprint,
    pub path: PathBuf,
}

/// What one pass found; both lists are sorted, by id and by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub problems: Vec<Problem>,
    /// The folder is there, and can't be listed: that no entry is here says nothing. The problem says why.
    pub unlistable: bool,
}

/// Lists all conversations. Never fails: what can't be listed is a problem.
pub fn list(home: &Home) -> Listing {
    let mut listing = Listing::default();
    let folder = home.conversations();
    match Names::of(&folder) {
        Ok(names) => names.look(&folder, &mut listing),
        Err(e) => {
            listing.problems.extend(folder_problem(home, &folder, &e));
            listing.unlistable = listing.problems.iter().any(|p| p.code != ProblemCode::NoHome);
        }
    }
    listing.entries.sort_by(|a, b| a.id.cmp(&b.id).then_with(|| a.path.cmp(&b.path)));
    // Names that differ only by case are one id; the usual spelling, in lower case, sorts last.
    let mut seen: HashMap<SessionId, usize> = HashMap::new();
    let entries = std::mem::take(&mut listing.entries);
    for e in entries {
        match seen.get(&e.id).and_then(|at| listing.entries.get_mut(*at)) {
            Some(first) => {
                let twin = std::mem::replace(first, e);
                let message = "another file has the same id".to_owned();
                listing.problems.push(problem(twin.path.file_name(), ProblemCode::NotAUuid, message));
            }
            None => {
                seen.insert(e.id.clone(), listing.entries.len());
                listing.entries.push(e);
            }
        }
    }
    listing.problems.sort();
    listing
}

/// Whether a path can't be followed to its end.
pub(crate) fn is_loop(e: &io::Error) -> bool {
    #[cfg(unix)]
    {
        e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = e;
        false
    }
}

/// The names in `conversations/` that matter, as `readdir` gives them.
#[derive(Default)]
struct Names {
    /// With a flag for those that `readdir` calls plain files.
    databases: Vec<(OsString, bool)>,
    logs: HashSet<OsString>,
    legacy: Vec<OsString>,
}

impl Names {
    fn of(folder: &Path) -> io::Result<Names> {
        let mut names = Names::default();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            if bytes.ends_with(b".db") {
                let plain = entry.file_type().is_ok_and(|t| t.is_file());
                names.databases.push((name, plain));
            } else if bytes.ends_with(b".db-wal") {
                names.logs.insert(name);
            } else if bytes.ends_with(b".pb") {
                names.legacy.push(name);
            }
        }
        Ok(names)
    }

    fn look(&self, folder: &Path, listing: &mut Listing) {
        let mut ids = HashSet::with_capacity(self.databases.len());
        let stat = Stat::of(folder);
        for (name, plain) in &self.databases {
            let Some(id) = name.to_str().and_then(|n| n.strip_suffix(".db")).and_then(SessionId::parse)
            else {
                let message = "its name is not a conversation's id".to_owned();
                listing.problems.push(problem(Some(name), ProblemCode::NotAUuid, message));
                continue;
            };
            ids.insert(id.clone());
            match self.fingerprint(folder, name, *plain, &stat) {
                Ok(f) if f.db.size == 0 => {
                    let message = "an empty file: agy made it before its first write".to_owned();
                    listing.problems.push(problem(Some(name), ProblemCode::Empty, message));
                }
                Ok(fingerprint) => {
                    listing.entries.push(Entry { id, fingerprint, path: folder.join(name) });
                }
                Err(e) => listing.problems.extend(file_problem(name, *plain, &e)),
            }
        }
        for name in &self.legacy {
            let id = name.to_str().and_then(|n| n.strip_suffix(".pb")).and_then(SessionId::parse);
            // Beside a database it is what `/fork` leaves; other names are none of agy's.
            if id.is_some_and(|id| !ids.contains(&id)) {
                let message = "written before agy 1.0.4, in a form that only agy can read".to_owned();
                listing.problems.push(problem(Some(name), ProblemCode::LegacyPb, message));
            }
        }
    }

    fn fingerprint(
        &self,
        folder: &Path,
        name: &OsString,
        plain: bool,
        stat: &Stat,
    ) -> io::Result<Fingerprint> {
        if !plain {
            // A link, whose `-wal` is beside the real file; or no file at all. Rare, so the long way.
            return fingerprint::fingerprint(&folder.join(name));
        }
        let db = stat.file(name)?;
        let mut log = name.clone();
        log.push("-wal");
        let wal = if self.logs.contains(&log) { stat.file(&log).ok().filter(|w| w.size > 0) } else { None };
        Ok(Fingerprint { db, wal })
    }
}

/// `stat` relative to an open folder: a quarter cheaper than by whole path.
#[cfg(unix)]
struct Stat(Option<std::os::fd::OwnedFd>, PathBuf);

#[cfg(unix)]
impl Stat {
    fn of(folder: &Path) -> Stat {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Stat(rustix::fs::open(folder, flags, Mode::empty()).ok(), folder.to_owned())
    }

    fn file(&self, name: &OsString) -> io::Result<FileMark> {
        let Some(folder) = &self.0 else { return fingerprint::mark(&self.1.join(name)) };
        let s = rustix::fs::statat(folder, name, rustix::fs::AtFlags::empty())?;
        if rustix::fs::FileType::from_raw_mode(s.st_mode) != rustix::fs::FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ by system")]
        let mark = FileMark {
            inode: s.st_ino as u64,
            mtime_ns: (s.st_mtime as i64)
                .saturating_mul(1_000_000_000)
                .saturating_add(s.st_mtime_nsec as i64),
            size: u64::try_from(s.st_size).unwrap_or(0),
        };
        Ok(mark)
    }
}

#[cfg(not(unix))]
struct Stat(PathBuf);

#[cfg(not(unix))]
impl Stat {
    fn of(folder: &Path) -> Stat {
        Stat(folder.to_owned())
    }

    fn file(&self, name: &OsString) -> io::Result<FileMark> {
        fingerprint::mark(&self.0.join(name))
    }
}

fn problem(name: Option<&std::ffi::OsStr>, code: ProblemCode, message: String) -> Problem {
    Problem { file: name.unwrap_or_default().to_string_lossy().into_owned(), code, message }
}

fn file_problem(name: &OsString, plain: bool, e: &io::Error) -> Option<Problem> {
    let (code, message) = match e.kind() {
        // Deleted between `readdir` and `stat`; a link that leads nowhere stays.
        io::ErrorKind::NotFound if plain => return None,
        io::ErrorKind::NotFound => (ProblemCode::NotAFile, "a symbolic link to nothing".to_owned()),
        io::ErrorKind::InvalidInput => (ProblemCode::NotAFile, "not a regular file".to_owned()),
        io::ErrorKind::PermissionDenied => (ProblemCode::Permission, "no permission to read it".to_owned()),
        _ if is_loop(e) => (ProblemCode::SymlinkLoop, "a symbolic link that leads to itself".to_owned()),
        _ => (ProblemCode::Busy, e.to_string()),
    };
    Some(problem(Some(name), code, message))
}

fn folder_problem(home: &Home, folder: &Path, e: &io::Error) -> Option<Problem> {
    let (file, code, message) = match e.kind() {
        io::ErrorKind::NotFound if home.cli().is_dir() => return None,
        io::ErrorKind::NotFound => {
            (home.cli(), ProblemCode::NoHome, "agy has not been used here: there is no such folder")
        }
        io::ErrorKind::PermissionDenied => {
            (folder.to_owned(), ProblemCode::Permission, "no permission to list it")
        }
        io::ErrorKind::NotADirectory => (folder.to_owned(), ProblemCode::NotAFile, "not a folder"),
        _ if is_loop(e) => {
            (folder.to_owned(), ProblemCode::SymlinkLoop, "a symbolic link that leads to itself")
        }
        _ => (folder.to_owned(), ProblemCode::Busy, "it can't be listed at this moment"),
    };
    Some(Problem { file: file.to_string_lossy().into_owned(), code, message: message.to_owned() })
}
