//! Runs on disk: what `agenthub run` writes down of its command, and how it is read again.
//!
//! A run is a fact in the data folder, so that it needs no engine, and an engine that comes later knows it. It has two files:
//! `<id>.run`, to which each fact is appended as one line of JSON, and `<id>.lock`, which the run's own process holds locked
//! while it lives: the kernel lets go of it at any death, and no number of a process has to be believed. The command's
//! arguments are not written down: prompts are private.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use agenthub_agy as agy;
use agenthub_core::{Run, RunEnd, RunFacts, RunId, Time, Tool, board::folder_name};
use serde::{Deserialize, Serialize};

use crate::{
    Clock, Config,
    places::Places,
    process::{Process, machine},
    view::ErrorView,
    way_out,
};

/// What a person, and whoever reads the board, sees of a name.
const LONGEST_NAME: usize = 80;
/// A record is a few short lines; more is somebody else's file.
const LARGEST_RECORD: u64 = 64 * 1024;

/// A command that is about to be run.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    /// What its lane is called; else the command and its folder.
    pub name: Option<&'a str>,
    pub program: &'a OsStr,
    pub cwd: Option<&'a Path>,
}

/// One line of a record: one fact. Lines that are not known are left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Began(Began),
    /// The command's own process.
    Started(Process),
    Ended {
        at_us: i64,
        #[serde(flatten)]
        how: How,
    },
    /// Written by an engine that found nobody alive and no end.
    Lost {
        at_us: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Began {
    at_us: i64,
    name: Option<String>,
    program: String,
    cwd: Option<String>,
    /// The process that waits for the command.
    waits: Option<Process>,
    /// Where its number means something.
    machine: String,
    /// The lock is held; a file system without locks leaves only the numbers.
    locked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Code(i32),
    Signal(i32),
    NotStarted(String),
}

/// The record of a run, kept by the process that waits for the command.
#[derive(Debug)]
pub struct RunRecord {
    id: RunId,
    file: PathBuf,
    lock: PathBuf,
    /// Open, and locked, for as long as this lives.
    held: File,
}

impl RunRecord {
    /// Writes down that a run begins. Its lane is on the board from now on.
    ///
    /// # Errors
    /// `io` when the data folder can't be written.
    pub fn begin(config: &Config, run: &NewRun<'_>) -> Result<RunRecord, ErrorView> {
        let failed = |e: io::Error, what: &Path| ErrorView {
            code: "io".to_owned(),
            message: format!(
                "The run can't be written down in {}: {e}. {}",
                what.display(),
                way_out::of_io(&e)
            ),
        };
        let places = Places::make(&config.data_dir).map_err(|e| failed(e, &config.data_dir))?;
        let folder = places.runs();
        places.make_runs().and_then(|()| begin(&folder, run)).map_err(|e| failed(e, &folder))
    }

    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Writes down which process the command is.
    ///
    /// # Errors
    /// When it can't be written; the run goes on without.
    pub fn started(&self, pid: u32) -> io::Result<()> {
        match Process::of(pid) {
            Some(process) => append(&self.file, &Line::Started(process)),
            // It is over already, or this system tells nothing of it.
            None => Ok(()),
        }
    }

    /// Writes down how the run ended, and lets go of it.
    ///
    /// # Errors
    /// When it can't be written: the board will say that it ended without finishing.
    pub fn ended(self, how: &RunEnd) -> io::Result<()> {
        let how = match how {
            RunEnd::Exited(code) => How::Code(*code),
            RunEnd::Killed(signal) => How::Signal(*signal),
            RunEnd::NotStarted(reason) => How::NotStarted(reason.clone()),
        };
        append(&self.file, &Line::Ended { at_us: now().micros(), how })?;
        let RunRecord { held, lock, .. } = self;
        drop(held);
        // What is left behind is removed with its record.
        let _ = std::fs::remove_file(lock);
        Ok(())
    }
}

fn now() -> Time {
    Clock::default().now()
}

fn begin(folder: &Path, run: &NewRun<'_>) -> io::Result<RunRecord> {
    let at = now();
    let (id, lock, held) = (0..16)
        .find_map(|n| {
            let id = RunId::parse(&format!("{:x}-{:x}", at.micros() + n, std::process::id()))?;
            let path = folder.join(format!("{id}.lock"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => Some(Ok((id, path, file))),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => None,
                Err(e) => Some(Err(e)),
            }
        })
        .unwrap_or_else(|| Err(io::Error::other("no free name")))?;
    let written = write(folder, &id, run, at, held.lock().is_ok());
    match written {
        Ok(file) => Ok(RunRecord { id, file, lock, held }),
        Err(e) => {
            // It belongs to no record that it could be removed with.
            let _ = std::fs::remove_file(&lock);
            Err(e)
        }
    }
}

/// Writes that a run begins into a record of its own.
fn write(folder: &Path, id: &RunId, run: &NewRun<'_>, at: Time, locked: bool) -> io::Result<PathBuf> {
    let program = run.program.to_string_lossy();
    let began = Began {
        at_us: at.micros(),
        name: run.name.and_then(plain),
        program: folder_name(&program).and_then(plain).unwrap_or_else(|| "a command".to_owned()),
        cwd: run.cwd.map(|c| c.to_string_lossy().into_owned()),
        waits: Process::of(std::process::id()),
        machine: machine(),
        locked,
    };
    // Whole or not at all: it is renamed into its place.
    let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    new.write_all(line(&Line::Began(began))?.as_bytes())?;
    let file = folder.join(format!("{id}.run"));
    new.persist_noclobber(&file).map_err(|e| e.error)?;
    Ok(file)
}

/// One line, cut, without what a terminal would obey.
fn plain(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    Some(text.trim().to_owned()).filter(|t| !t.is_empty())
}

/// Starts on a new line, so that a line which a death cut short spoils no other.
fn line(line: &Line) -> io::Result<String> {
    Ok(format!("\n{}\n", serde_json::to_string(line)?))
}

fn append(file: &Path, fact: &Line) -> io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(line(fact)?.as_bytes())
}

/// What a record says.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) run: Run,
    began: Began,
    child: Option<Process>,
    /// How long the file was: it only grows.
    pub(crate) len: u64,
}

impl Record {
    /// `None` for a file that is no record, or is not there.
    pub(crate) fn read(folder: &Path, id: &RunId) -> Option<Record> {
        let mut bytes = Vec::new();
        let file = File::open(file_of(folder, id)).ok()?;
        file.take(LARGEST_RECORD).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut began = None;
        let mut child = None;
        let mut facts = RunFacts::default();
        for line in text.lines().filter_map(|l| serde_json::from_str(l).ok()) {
            let fact = match line {
                Line::Began(b) => {
                    let at = Time::from_micros(b.at_us);
                    began.get_or_insert(b);
                    RunFacts::from_start(at)
                }
                Line::Started(process) => {
                    child = Some(process);
                    continue;
                }
                Line::Ended { at_us, how } => {
                    let how = match how {
                        How::Code(code) => RunEnd::Exited(code),
                        How::Signal(signal) => RunEnd::Killed(signal),
                        How::NotStarted(reason) => RunEnd::NotStarted(reason),
                    };
                    RunFacts::from_end(Time::from_micros(at_us), how)
                }
                Line::Lost { at_us } => RunFacts::from_loss(Time::from_micros(at_us)),
            };
            facts = facts.joined(fact);
        }
        let began = began?;
        let run = Run {
            id: id.clone(),
            name: name_of(&began),
            program: began.program.clone(),
            tool: if agy::is_agy(&began.program) { Tool::Antigravity } else { Tool::Command },
            cwd: began.cwd.clone(),
            facts,
        };
        Some(Record { run, began, child, len: u64::try_from(bytes.len()).unwrap_or(u64::MAX) })
    }

    pub(crate) fn join(&mut self, facts: RunFacts) {
        self.run.facts = std::mem::take(&mut self.run.facts).joined(facts);
    }

    /// Whether the run's own process, or the command itself, lives.
    pub(crate) fn lives(&self, folder: &Path) -> Life {
        let waits = match self.began.locked.then(|| is_locked(&lock_of(folder, &self.run.id))) {
            Some(Ok(held)) => held,
            // No lock to ask: its number and its start.
            Some(Err(_)) | None => self.numbers(self.began.waits),
        };
        if waits {
            // A death shows at once only where it frees a lock.
            return if self.began.locked { Life::Waited } else { Life::Alone };
        }
        if self.numbers(self.child) { Life::Alone } else { Life::None }
    }

    fn numbers(&self, process: Option<Process>) -> bool {
        self.began.machine == machine() && process.is_some_and(Process::lives)
    }

    /// The processes whose descendants belong to the run, while it lives.
    pub(crate) fn roots(&self) -> impl Iterator<Item = Process> {
        let here = self.began.machine == machine() && self.run.facts.over().is_none();
        self.began.waits.into_iter().chain(self.child).filter(move |_| here)
    }
}

/// Who of a run is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Its own process, which will tell the end.
    Waited,
    /// Its end will make no event: the command without the process that waited for it, or no lock.
    Alone,
    None,
}

fn file_of(folder: &Path, id: &RunId) -> PathBuf {
    folder.join(format!("{id}.run"))
}

fn lock_of(folder: &Path, id: &RunId) -> PathBuf {
    folder.join(format!("{id}.lock"))
}

/// Whether somebody holds the lock. Asking takes it shared, for a moment, on a descriptor that can only read.
fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        // Removed when the run was over.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// "agy · api-server": what was run, and where.
fn name_of(began: &Began) -> String {
    match (&began.name, began.cwd.as_deref().and_then(folder_name)) {
        (Some(name), _) => name.clone(),
        (None, Some(folder)) => format!("{} · {folder}", began.program),
        (None, None) => began.program.clone(),
    }
}

/// The runs that have a record, with the lengths of their files.
pub(crate) fn listed(folder: &Path) -> Vec<(RunId, u64)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter_map(|f| {
            let id = RunId::parse(f.file_name().to_str()?.strip_suffix(".run")?)?;
            Some((id, f.metadata().ok().filter(std::fs::Metadata::is_file)?.len()))
        })
        .collect()
}

/// Writes down that nobody saw how a run ended.
pub(crate) fn lose(folder: &Path, id: &RunId, at: Time) -> io::Result<()> {
    append(&file_of(folder, id), &Line::Lost { at_us: at.micros() })
}

/// Removes the record of a run.
pub(crate) fn remove(folder: &Path, id: &RunId) -> io::Result<()> {
    std::fs::remove_file(file_of(folder, id))?;
    // It is there only if the run's own process was killed.
    let _ = std::fs::remove_file(lock_of(folder, id));
    Ok(())
}

/// Removes what a process that was killed while it began a run left behind.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for f in entries.filter_map(Result::ok) {
        let name = f.file_name();
        let name = name.to_string_lossy();
        let left = match name.strip_suffix(".lock") {
            Some(id) => !folder.join(format!("{id}.run")).exists(),
            None => name.starts_with(".new-"),
        };
        let old =
            f.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > LEFT));
        if left && old {
            // The next sweep tries again.
            let _ = std::fs::remove_file(f.path());
        }
    }
}

/// A run that begins takes less.
const LEFT: std::time::Duration = std::time::Duration::from_secs(3_600);

#[cfg(test)]
mod tests;
