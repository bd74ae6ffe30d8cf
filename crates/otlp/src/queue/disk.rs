//! The queue's files: made whole and renamed, read with limits, damaged ones set aside.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::entry::{ENDING, Entry};
use super::state::State;
use crate::DestinationId;

const PREFIX: &str = "to-";
const STATE: &str = "state.json";
const REFUSED: &str = "refused";
const DAMAGED: &str = "damaged";
const TEMPORARY: &str = ".new-";
/// What a killed process left half written.
const TEMPORARY_AGE: Duration = Duration::from_secs(60 * 60);
/// For somebody to look at; more teach nothing.
const DAMAGED_KEPT: usize = 20;
const LARGEST_DAMAGED: u64 = 1024 * 1024;
/// More than any batch of ours.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;
const LARGEST_STATE: u64 = 16 * 1024 * 1024;
/// What the smallest file takes up.
const BLOCK: u64 = 4096;
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// A lock between processes. It goes with the process that holds it.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a program that another thread starts at this moment holds a copy of the file until it
        // runs, and with it the lock.
        drop(self.0.unlock());
    }
}

impl Lock {
    fn open(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }

    /// `Ok(None)` when another holds it.
    pub(super) fn now(path: &Path) -> io::Result<Option<Lock>> {
        let file = Lock::open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    /// Waits a little: its holders are quick, unless one was stopped by a signal.
    pub(super) fn wait(path: &Path) -> Option<Lock> {
        let until = Instant::now() + LOCK_PATIENCE;
        let mut pause = Duration::from_millis(1);
        loop {
            match Lock::now(path) {
                Ok(Some(lock)) => return Some(lock),
                Ok(None) if Instant::now() < until => std::thread::sleep(pause),
                Ok(None) | Err(_) => return None,
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// One destination's files, or a part of them that was set aside.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// What reading an entry gave.
#[derive(Debug)]
pub(super) enum Read {
    Bytes(Vec<u8>),
    /// Dropped or replaced in the meantime.
    Gone,
    TooLarge,
    /// Not readable now; perhaps later.
    Failed,
}

impl Folder {
    pub(super) fn of(root: &Path, destination: &DestinationId) -> Folder {
        Folder(root.join(format!("{PREFIX}{destination}")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn refused(&self) -> Folder {
        Folder(self.0.join(REFUSED))
    }

    fn damaged(&self) -> PathBuf {
        self.0.join(DAMAGED)
    }

    /// For its owner alone: spans can hold what was written to a model.
    pub(super) fn make(&self) -> io::Result<()> {
        make_folder(&self.0)
    }

    /// The lock of whoever sends from here.
    pub(super) fn sending(&self) -> io::Result<Option<Lock>> {
        Lock::now(&self.0.join("sending.lock"))
    }

    /// Oldest first.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.names().filter_map(|name| Entry::parse(&name)).collect();
        entries.sort();
        entries
    }

    pub(super) fn has_entries(&self) -> bool {
        self.names().any(|name| Entry::parse(&name).is_some())
    }

    /// With what each takes up on disk.
    pub(super) fn entries_with_size(&self) -> Vec<(Entry, u64)> {
        let size = |entry: &Entry| fs::symlink_metadata(self.file(entry)).map_or(0, |found| found.len());
        let rounded = |size: u64| size.div_ceil(BLOCK).max(1).saturating_mul(BLOCK);
        self.entries().into_iter().map(|entry| (entry.clone(), rounded(size(&entry)))).collect()
    }

    /// Files that look like entries and have no name of ours.
    pub(super) fn misnamed(&self) -> Vec<String> {
        self.names().filter(|name| name.ends_with(ENDING) && Entry::parse(name).is_none()).collect()
    }

    /// Of plain files.
    fn names(&self) -> impl Iterator<Item = String> {
        let all = fs::read_dir(&self.0).into_iter().flatten().flatten();
        all.filter(|found| found.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|found| found.file_name().into_string().ok())
    }

    fn file(&self, entry: &Entry) -> PathBuf {
        self.0.join(entry.name())
    }

    pub(super) fn write(&self, entry: &Entry, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.0)?;
        file.write_all(bytes)?;
        // A name that is there after a power cut must have its bytes.
        file.as_file().sync_data()?;
        file.persist(self.file(entry))?;
        Ok(())
    }

    pub(super) fn read(&self, entry: &Entry) -> Read {
        let opened = match File::open(self.file(entry)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Read::Gone,
            Err(_) => return Read::Failed,
        };
        let mut bytes = Vec::new();
        match opened.take(LARGEST_FILE + 1).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 > LARGEST_FILE => Read::TooLarge,
            Ok(_) => Read::Bytes(bytes),
            Err(_) => Read::Failed,
        }
    }

    pub(super) fn has(&self, entry: &Entry) -> bool {
        self.file(entry).symlink_metadata().is_ok()
    }

    /// True when it was there and is gone.
    pub(super) fn remove(&self, entry: &Entry) -> bool {
        fs::remove_file(self.file(entry)).is_ok()
    }

    pub(super) fn refuse(&self, entry: &Entry) -> bool {
        let refused = self.refused();
        refused.make().is_ok() && fs::rename(self.file(entry), refused.file(entry)).is_ok()
    }

    /// What was refused waits again.
    pub(super) fn accept_refused(&self) {
        let refused = self.refused();
        for entry in refused.entries() {
            drop(fs::rename(refused.file(&entry), self.file(&entry)));
        }
    }

    /// True when it was there and is out of the way.
    pub(super) fn set_aside(&self, name: &str) -> bool {
        let (from, folder) = (self.0.join(name), self.damaged());
        let is_small = fs::symlink_metadata(&from).is_ok_and(|found| found.len() <= LARGEST_DAMAGED);
        let moved = is_small && make_folder(&folder).is_ok() && fs::rename(&from, folder.join(name)).is_ok();
        // Where it cannot be kept it must still not stand in the way.
        let gone = moved || fs::remove_file(&from).is_ok();
        let mut kept: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|found| found.path()).collect();
        kept.sort();
        for old in kept.iter().rev().skip(DAMAGED_KEPT) {
            drop(fs::remove_file(old));
        }
        gone
    }

    /// Throws away what killed processes left half written.
    pub(super) fn tidy(&self) {
        let now = SystemTime::now();
        for name in self.names().filter(|name| name.starts_with(TEMPORARY)) {
            let path = self.0.join(name);
            let written = fs::symlink_metadata(&path).and_then(|found| found.modified());
            if written.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > TEMPORARY_AGE)) {
                drop(fs::remove_file(&path));
            }
        }
    }

    /// What cannot be read is as if it were not there, and the next writing mends it.
    pub(super) fn state(&self) -> State {
        let mut text = Vec::new();
        let read =
            File::open(self.0.join(STATE)).and_then(|file| file.take(LARGEST_STATE).read_to_end(&mut text));
        read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    pub(super) fn write_state(&self, state: &State) {
        let written = || -> io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.0)?;
            serde_json::to_writer(&mut file, state)?;
            file.persist(self.0.join(STATE))?;
            Ok(())
        };
        // Counts: what they count is safe without them.
        drop(written());
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

pub(super) fn destinations(root: &Path) -> Vec<DestinationId> {
    let all = fs::read_dir(root).into_iter().flatten().flatten();
    let mut ids: Vec<DestinationId> = all
        .filter(|found| found.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|found| found.file_name().into_string().ok())
        .filter_map(|name| DestinationId::new(name.strip_prefix(PREFIX)?).ok())
        .collect();
    ids.sort();
    ids
}

pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
