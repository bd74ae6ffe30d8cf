//! The journal of hook events, read (spec H7, engineering-notes §8): one record is `AH1 <len> <ns> <pid> <event>`, a line
//! end, the body, a line end. Appended by many processes at once, cut off by a full disk, or written by somebody else:
//! what is no record is passed over, to the next line that begins one.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use agenthub_agy::hook_payload::{Dropped, Record};
use agenthub_store::{Store, StoreError};

use crate::places::Places;

mod health;

pub(crate) use health::faults;

/// Bound of one event's body.
const MOST_BODY: usize = 1 << 20;
/// The longest first line of a record.
const MOST_HEAD: usize = 128;
/// Bytes looked at together; more than the longest record.
const WINDOW: u64 = 4 << 20;
/// A journal that was read to its end and is longer than this is put aside.
const ROTATE_AT: u64 = 1 << 20;
/// A hook that had it open may still write for 2 s; after this much silence it is removed.
const QUIET: Duration = Duration::from_secs(10);
/// `agenthub-hook` writes no further than 64 MiB; what lies far beyond is not its own, and is not read.
const LONGEST: u64 = 80 << 20;
const MARK: &[u8] = b"\nAH1 ";

/// What stands in the journal, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Record(Record<'a>),
    Dropped(Dropped),
}

/// Takes `bytes` apart; says how many of them are done with. `last`: nothing will be added to them.
pub(crate) fn pieces(bytes: &[u8], last: bool) -> (Vec<Piece<'_>>, usize) {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|r| !r.is_empty()) {
        if rest.starts_with(b"\n") {
            at += 1;
            continue;
        }
        match record(rest) {
            Parsed::Record(record, length) => {
                pieces.push(Piece::Record(record));
                at += length;
            }
            Parsed::Incomplete if !last => break,
            Parsed::Incomplete => {
                pieces.push(Piece::Dropped(Dropped::Unreadable));
                at = bytes.len();
            }
            Parsed::Not(why) => {
                pieces.push(Piece::Dropped(why));
                at += match next_mark(rest) {
                    Some(next) => next,
                    None if last => rest.len(),
                    // The line that is being written may yet become a record.
                    None => rest.iter().rposition(|b| *b == b'\n').unwrap_or(rest.len()),
                };
            }
        }
    }
    (pieces, at)
}

enum Parsed<'a> {
    /// With its length in the journal.
    Record(Record<'a>, usize),
    Incomplete,
    Not(Dropped),
}

fn record(bytes: &[u8]) -> Parsed<'_> {
    let line = bytes.get(..MOST_HEAD).unwrap_or(bytes);
    let Some(end) = line.iter().position(|b| *b == b'\n') else {
        let may_grow = line.len() < MOST_HEAD && line.iter().zip(b"AH1 ").all(|(a, b)| a == b);
        return if may_grow { Parsed::Incomplete } else { Parsed::Not(Dropped::Unreadable) };
    };
    let Some((length, ns, pid, event)) = line.get(..end).and_then(head) else {
        return Parsed::Not(Dropped::Unreadable);
    };
    if length > MOST_BODY {
        return Parsed::Not(Dropped::TooLong);
    }
    let rest = bytes.get(end + 1..).unwrap_or_default();
    let within = rest.get(..length).unwrap_or(rest);
    // JSON has no line that begins like a record: where one stands, this one was cut off before it.
    let from = bytes.get(end..end + 1 + within.len()).unwrap_or_default();
    if next_mark(from).is_some() {
        return Parsed::Not(Dropped::Unreadable);
    }
    match rest.get(length) {
        Some(b'\n') => Parsed::Record(Record { event, ns, pid, body: within }, end + length + 2),
        Some(_) => Parsed::Not(Dropped::Unreadable),
        None => Parsed::Incomplete,
    }
}

/// `AH1 <len> <ns> <pid> <event>`.
fn head(line: &[u8]) -> Option<(usize, u64, u32, &str)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    if words.next()? != "AH1" {
        return None;
    }
    let head = (
        words.next()?.parse().ok()?,
        words.next()?.parse().ok()?,
        words.next()?.parse().ok()?,
        words.next()?,
    );
    words.next().is_none().then_some(head)
}

/// Where the next line begins that begins a record.
fn next_mark(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MARK.len()).position(|w| w == MARK).map(|at| at + 1)
}

/// One file of it, and how far it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// Its first line: which journal this is, whatever its name or inode.
    head: String,
    position: u64,
    /// Its length when nothing more could be taken from it.
    length: u64,
    since: Instant,
}

/// Bytes to take apart.
#[derive(Debug)]
pub(crate) struct Batch {
    path: PathBuf,
    head: String,
    position: u64,
    length: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) last: bool,
}

impl Batch {
    /// What the store keeps: which journal, and how far it is read once `taken` more bytes are done with.
    pub(crate) fn position(&self, taken: usize) -> (String, u64) {
        (self.head.clone(), self.position + taken as u64)
    }
}

/// The journal, and those that were put aside and may still grow.
#[derive(Debug)]
pub(crate) struct Journal {
    current: PathBuf,
    aside: Vec<PathBuf>,
    seen: HashMap<PathBuf, Seen>,
}

impl Journal {
    pub(crate) fn new(places: &Places) -> Journal {
        Journal { current: places.journal(), aside: Vec::new(), seen: HashMap::new() }
    }

    /// Looks for journals that another run of ours put aside.
    pub(crate) fn look_aside(&mut self) {
        let Some(files) = self.current.parent().and_then(|f| std::fs::read_dir(f).ok()) else { return };
        let is_aside = |p: &PathBuf| {
            let name = p.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_prefix("journal."));
            name.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        self.aside = files.filter_map(|f| Some(f.ok()?.path())).filter(is_aside).take(64).collect();
        self.aside.sort();
    }

    /// The next bytes that nobody has looked at; `None` when there are none.
    ///
    /// # Errors
    /// When the store does not say how far they were read.
    pub(crate) fn next(&mut self, store: &Store) -> Result<Option<Batch>, StoreError> {
        for path in self.aside.clone().into_iter().chain([self.current.clone()]) {
            if let Some(batch) = self.unread(&path, store)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn unread(&mut self, path: &Path, store: &Store) -> Result<Option<Batch>, StoreError> {
        let Some((mut file, length)) = open(path) else {
            self.seen.remove(path);
            return Ok(None);
        };
        let (length, too_long) = (length.min(LONGEST), length > LONGEST);
        let known = self.seen.get(path).cloned();
        let is_quiet = known.as_ref().is_some_and(|k| k.length == length && k.since.elapsed() >= QUIET);
        let last = is_quiet && *path != self.current;
        if known.as_ref().is_some_and(|k| k.length == length && !(last && k.position < length)) {
            return Ok(None);
        }
        let Some(head) = first_line(&mut file) else { return Ok(None) };
        let position = match known {
            Some(k) if k.head == head => k.position,
            _ => store.journal_position(&head)?,
        };
        // Shorter than what was read: another one with the same first line, or somebody cut it.
        let position = if position > length { 0 } else { position };
        let mut bytes = Vec::new();
        let window = WINDOW.min(length - position);
        let read =
            file.seek(SeekFrom::Start(position)).and_then(|_| file.take(window).read_to_end(&mut bytes));
        if read.is_err() || bytes.is_empty() {
            self.note(path, head, position, length);
            return Ok(None);
        }
        let last = last || (too_long && window == length - position);
        Ok(Some(Batch { path: path.to_owned(), head, position, length, bytes, last }))
    }

    fn note(&mut self, path: &Path, head: String, position: u64, length: u64) {
        let since = match self.seen.get(path) {
            Some(s) if s.head == head && s.length == length => s.since,
            _ => Instant::now(),
        };
        self.seen.insert(path.to_owned(), Seen { head, position, length, since });
    }

    /// `taken` bytes of the batch are stored. With nothing taken, and no more to read, the file waits for more.
    pub(crate) fn took(&mut self, batch: Batch, taken: usize) {
        let position = batch.position + taken as u64;
        let whole = batch.position + batch.bytes.len() as u64 >= batch.length;
        // Unless all of it was looked at, it is looked at again at once.
        let length = if whole { batch.length } else { u64::MAX };
        self.note(&batch.path, batch.head, position, length);
    }

    /// Puts a long journal aside, and removes those that are quiet and read to their end.
    ///
    /// # Errors
    /// When the store does not forget a journal that is gone.
    pub(crate) fn tidy(&mut self, store: &mut Store) -> Result<(), StoreError> {
        let done = |s: &Seen| s.position == s.length;
        if let Some(seen) = self.seen.get(&self.current).filter(|s| done(s) && s.length > ROTATE_AT).cloned()
        {
            let nth = (1u64..).find(|n| !self.numbered(*n).exists()).unwrap_or(1);
            let aside = self.numbered(nth);
            if std::fs::rename(&self.current, &aside).is_ok() {
                self.seen.remove(&self.current);
                self.seen.insert(aside.clone(), Seen { since: Instant::now(), ..seen });
                self.aside.push(aside);
            }
        }
        let over: Vec<PathBuf> = self
            .aside
            .iter()
            .filter(|p| self.seen.get(*p).is_some_and(|s| done(s) && s.since.elapsed() >= QUIET))
            .cloned()
            .collect();
        for path in over {
            // A hook that wrote this very moment had 10 s to end. One that is too long is somebody's: it stays.
            let length = open(&path).map(|(_, length)| length);
            if length.is_some_and(|l| l > LONGEST || self.seen.get(&path).is_none_or(|s| s.length != l)) {
                if length.is_some_and(|l| l > LONGEST) {
                    self.aside.retain(|p| *p != path);
                    self.seen.remove(&path);
                }
                continue;
            }
            if std::fs::remove_file(&path).is_ok() {
                self.aside.retain(|p| *p != path);
                if let Some(seen) = self.seen.remove(&path) {
                    store.forget_journal(&seen.head)?;
                }
            }
        }
        Ok(())
    }

    fn numbered(&self, nth: u64) -> PathBuf {
        let mut name = self.current.clone().into_os_string();
        name.push(format!(".{nth:06}"));
        name.into()
    }

    /// When there is something to tidy.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.aside.iter().filter_map(|p| self.seen.get(p)).map(|s| s.since + QUIET).min()
    }
}

/// A plain file of ours and its length; anything else at its place is not read.
fn open(path: &Path) -> Option<(File, u64)> {
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let m = file.metadata().ok()?;
    (m.is_file() && m.len() > 0 && health::is_mine(&m)).then_some((file, m.len()))
}

fn first_line(file: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MOST_HEAD as u64).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
}

#[cfg(test)]
mod tests;
