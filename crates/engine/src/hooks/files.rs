//! Other people's files: found through their links, and written so that nothing but their bytes changes (spec H2).

use std::{
    collections::BTreeSet,
    fs::Metadata,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use agenthub_agy::hooks::{Code, Line, LineKind, MOST_BYTES, Refusal, too_big};

use crate::way_out;

/// What stands at a path, behind all links.
#[derive(Debug)]
pub(super) struct Found {
    /// As it is known to everybody else.
    pub(super) named: PathBuf,
    /// Where its bytes are, or would be.
    pub(super) target: PathBuf,
    /// `None`: nothing is there, or a link that leads nowhere.
    pub(super) bytes: Option<Vec<u8>>,
    meta: Option<Metadata>,
}

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Follows the links of `path` and reads what is there.
///
/// # Errors
/// `ELOOP`, `ENOTAFILE`, `ETOOBIG`, or `EREADONLY` for what can't be read.
pub(super) fn find(path: &Path) -> Result<Found, Refusal> {
    let mut target = path.to_owned();
    for _ in 0..=MOST_LINKS {
        let meta = match std::fs::symlink_metadata(&target) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Found { named: path.to_owned(), target, bytes: None, meta: None });
            }
            Err(e) => return Err(refusal(&e, &target)),
        };
        if meta.is_symlink() {
            let to = std::fs::read_link(&target).map_err(|e| refusal(&e, &target))?;
            target = target.parent().unwrap_or(Path::new("")).join(to);
            continue;
        }
        if !meta.is_file() {
            return Err(Refusal::new(
                Code::NotAFile,
                format!("{} is not a plain file. Move it away, then try again.", target.display()),
            ));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX) + 1;
        std::fs::File::open(&target)
            .and_then(|f| f.take(most).read_to_end(&mut bytes))
            .map_err(|e| refusal(&e, &target))?;
        if bytes.len() > MOST_BYTES {
            return Err(too_big());
        }
        return Ok(Found { named: path.to_owned(), target, bytes: Some(bytes), meta: Some(meta) });
    }
    Err(looping(path))
}

fn looping(path: &Path) -> Refusal {
    Refusal::new(
        Code::Loop,
        format!("{} is a link that leads to itself. Remove or correct it, then try again.", path.display()),
    )
}

/// What the system said, as one of the codes.
pub(super) fn refusal(e: &io::Error, path: &Path) -> Refusal {
    use io::ErrorKind as Kind;
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return looping(path);
    }
    let path = path.display();
    match e.kind() {
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Refusal::new(
            Code::ReadOnly,
            format!("{path} can't be read and written by you ({e}). Allow that, then try again."),
        ),
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Refusal::new(
            Code::NoSpace,
            format!("There is no room to write {path} ({e}). It stays as it was; make room, then try again."),
        ),
        Kind::NotADirectory | Kind::IsADirectory => Refusal::new(
            Code::NotAFile,
            format!("{path} is not a plain file in a folder ({e}). Move what is in the way, then try again."),
        ),
        _ => Refusal::new(Code::Io, format!("{path} can't be read or written: {e}. {}", way_out::of_io(e))),
    }
}

pub(super) fn changed(path: &Path) -> Refusal {
    Refusal::new(
        Code::Changed,
        format!("{} has changed since. Nothing was written; look at the new difference.", path.display()),
    )
}

/// Nothing is undone that somebody has built on; `since` is what has changed.
pub(super) fn changed_since_ours(path: &Path, since: &[Line]) -> Refusal {
    const MOST: usize = 40;
    let line = |l: &Line| {
        let sign = match l.kind {
            LineKind::Same => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
            LineKind::Place => "",
        };
        // It is somebody's text on its way to a terminal.
        let text: String = l.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("\n{sign}{text}")
    };
    let more = if since.len() > MOST { "\n…" } else { "" };
    let shown: String = since.iter().take(MOST).map(line).collect();
    Refusal::new(
        Code::Changed,
        format!(
            "{} has changed since AgentHub wrote it, so that is not undone and nothing was written. Take the entry out \
             with `remove`, or edit the file. What has changed since:{shown}{more}",
            path.display()
        ),
    )
}

impl Found {
    pub(super) fn is_linked(&self) -> bool {
        self.named != self.target
    }

    /// Whether writing it would respect its owner's wishes; that the system would let us is not enough.
    ///
    /// # Errors
    /// `ENOTOURS`, `EREADONLY`.
    pub(super) fn may_be_written(&self) -> Result<(), Refusal> {
        let Some(meta) = &self.meta else { return Ok(()) };
        if !is_mine(meta) {
            return Err(Refusal::new(
                Code::NotOurs,
                format!(
                    "{} belongs to another user. Let that user do this, or make it yours, then try again.",
                    self.target.display()
                ),
            ));
        }
        #[cfg(unix)]
        let writable = std::os::unix::fs::MetadataExt::mode(meta) & 0o200 != 0;
        #[cfg(not(unix))]
        let writable = !meta.permissions().readonly();
        if writable {
            return Ok(());
        }
        Err(Refusal::new(
            Code::ReadOnly,
            format!("{} is read-only. Make it writable, then try again.", self.target.display()),
        ))
    }

    fn still_so(&self) -> Result<(), Refusal> {
        let now = find(&self.named)?;
        if now.bytes == self.bytes && now.target == self.target { Ok(()) } else { Err(changed(&self.named)) }
    }

    /// Replaces the bytes, if they are still those that were found. Readers see the old file or the new one.
    ///
    /// # Errors
    /// `ECHANGED`, or what the system says.
    pub(super) fn write(&self, new: &[u8]) -> Result<(), Refusal> {
        let says = |e: io::Error| refusal(&e, &self.target);
        let folder = self.target.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(says)?;
        let mut file = tempfile::Builder::new().prefix(".agenthub-").tempfile_in(folder).map_err(says)?;
        file.write_all(new).map_err(says)?;
        if let Some(meta) = &self.meta {
            keep_owner(file.as_file(), meta).map_err(says)?;
            file.as_file().set_permissions(meta.permissions()).map_err(says)?;
        }
        file.as_file().sync_all().map_err(says)?;
        self.still_so()?;
        if self.bytes.is_some() {
            file.persist(&self.target).map_err(|e| says(e.error))?;
        } else {
            file.persist_noclobber(&self.target).map_err(|e| match e.error.kind() {
                io::ErrorKind::AlreadyExists => changed(&self.named),
                _ => says(e.error),
            })?;
        }
        Ok(())
    }

    /// Removes the file itself, if it is still as it was found; a link to it stays.
    ///
    /// # Errors
    /// `ECHANGED`, or what the system says.
    pub(super) fn delete(&self) -> Result<(), Refusal> {
        self.still_so()?;
        std::fs::remove_file(&self.target).map_err(|e| refusal(&e, &self.target))
    }
}

/// The folders on the way to a file that are not there yet, the outermost first.
pub(super) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let is_missing = |f: &&Path| {
        let found = std::fs::symlink_metadata(f);
        !f.as_os_str().is_empty() && found.is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    };
    let mut all: Vec<PathBuf> = file.ancestors().skip(1).take_while(is_missing).map(Path::to_owned).collect();
    all.reverse();
    all
}

/// Removes those of these folders that are empty; outer ones come first. Gives those that are still there.
pub(super) fn remove_empty(folders: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let left: Vec<PathBuf> = folders.into_iter().rev().filter(|f| std::fs::remove_dir(f).is_err()).collect();
    left.into_iter().filter(|f| f.is_dir()).collect()
}

/// Puts a file of ours in place by rename, whatever was there.
///
/// # Errors
/// What the system says.
pub(super) fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Refusal> {
    let says = |e: io::Error| refusal(&e, path);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(says)?;
    let mut file = tempfile::Builder::new().prefix(".agenthub-").tempfile_in(folder).map_err(says)?;
    file.write_all(bytes).map_err(says)?;
    #[cfg(unix)]
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode)).map_err(says)?;
    #[cfg(not(unix))]
    let _ = mode;
    file.as_file().sync_all().map_err(says)?;
    file.persist(path).map_err(|e| says(e.error))?;
    Ok(())
}

#[cfg(unix)]
pub(super) fn is_mine(meta: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(meta) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(super) fn is_mine(_: &Metadata) -> bool {
    true
}

/// The owner is us, or we would not be here; the group may be another one.
#[cfg(unix)]
fn keep_owner(file: &std::fs::File, meta: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let now = file.metadata()?;
    if now.gid() == meta.gid() && now.uid() == meta.uid() {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(meta.uid()), Some(meta.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &std::fs::File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether the person may start it.
pub(super) fn is_program(path: &Path) -> bool {
    let Ok(meta) = std::fs::metadata(path) else { return false };
    #[cfg(unix)]
    let startable = std::os::unix::fs::MetadataExt::mode(&meta) & 0o111 != 0;
    #[cfg(not(unix))]
    let startable = true;
    meta.is_file() && startable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h3_what_changed_between_reading_and_writing_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hooks.json");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        // It came, it changed, it went.
        let nothing = find(&path).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert_eq!(nothing.write(b"ours").unwrap_err().code, Code::Changed);
        let theirs = find(&path).unwrap();
        std::fs::write(&path, "newer!").unwrap();
        assert_eq!(theirs.write(b"ours").unwrap_err().code, Code::Changed);
        assert_eq!(theirs.delete().unwrap_err().code, Code::Changed);
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"newer!".to_vec(), 1));
        let newer = find(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(newer.write(b"ours").unwrap_err().code, Code::Changed);
        assert_eq!(names(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn h2_a_link_that_was_turned_elsewhere_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "same").unwrap();
        std::fs::write(at("b"), "same").unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let found = find(&at("link")).unwrap();
        std::fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        assert_eq!(found.write(b"ours").unwrap_err().code, Code::Changed);
        let found = find(&at("link")).unwrap();
        found.write(b"ours").unwrap();
        assert_eq!(
            (std::fs::read(at("a")).unwrap(), std::fs::read(at("b")).unwrap()),
            (b"same".to_vec(), b"ours".to_vec())
        );
        assert!(at("link").is_symlink());
    }
}
