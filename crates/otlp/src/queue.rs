//! What could not be sent yet, on disk (R8): a folder for each destination, a file for each batch.
//!
//! A file that is there has not been taken, and nothing else says so: hence a kill at any moment loses no span, and at worst
//! sends one again, with the same ids. Files are made whole and renamed into place. One process at a time sends to a
//! destination, by a lock that dies with it. Everything else here is counts, which may be a little behind after a kill.
//!
//! Whatever lies in the folder is somebody else's word: it is read with limits, and what is damaged is set aside.

mod disk;
mod drain;
mod entry;
mod state;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthub_core::Time;
use agenthub_core::trace::SpanId;

pub use drain::{Drained, Ended, When};
pub use state::Attempt;

use crate::{Batch, DestinationId};
use disk::Folder;
use entry::Entry;
use state::State;

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// As files take it up on disk.
    pub bytes: u64,
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 256 * 1024 * 1024, age: Duration::from_secs(7 * 24 * 60 * 60) }
    }
}

/// The queue could not be written or read: where, and why. What to do about that is for whoever tells it.
#[derive(Debug, thiserror::Error)]
#[error("The queue of traces at {place} can't be {what}: {why}.")]
pub struct QueueError {
    pub place: String,
    pub what: &'static str,
    pub why: io::Error,
}

impl QueueError {
    fn of(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> QueueError {
        move |why| QueueError { place: path.display().to_string(), what, why }
    }
}

/// The queue of one data folder. Any number of processes may hold it at once.
#[derive(Clone, Debug)]
pub struct Queue {
    root: PathBuf,
    limits: Limits,
}

/// How it stands with one destination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    pub waiting_batches: u64,
    pub waiting_spans: u64,
    pub waiting_bytes: u64,
    /// Since when the oldest waits.
    pub oldest: Option<Time>,
    /// What the backend does not want: kept until the destination is set up differently, or too old.
    pub refused_batches: u64,
    pub refused_spans: u64,
    /// Files that were no batches.
    pub damaged: u64,
    /// Given up for age or space.
    pub dropped_batches: u64,
    pub dropped_spans: u64,
    pub sent_spans: u64,
    /// Of those that were sent, what the backend says it dropped.
    pub rejected_spans: u64,
    /// Attempts in a row that did not go through.
    pub failures: u32,
    /// When it is tried again by itself; `None` when nothing waits or nothing holds it back.
    pub next_attempt: Option<Time>,
    pub last: Option<Attempt>,
    pub last_taken: Option<Attempt>,
}

impl Queue {
    /// Touches no file.
    pub fn at(root: PathBuf, limits: Limits) -> Queue {
        Queue { root, limits }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps a turn's batches for a destination. When it returns, they are on disk. What still waited of the same turn is
    /// replaced: the newer export holds all of it, under the same ids.
    pub fn put(
        &self,
        to: &DestinationId,
        turn: SpanId,
        batches: &[Batch],
        now: Time,
    ) -> Result<(), QueueError> {
        if batches.is_empty() {
            return Ok(());
        }
        let folder = self.folder(to);
        folder.make().map_err(QueueError::of(folder.path(), "written"))?;
        let before: Vec<Entry> =
            folder.entries().into_iter().filter(|entry| entry.turn == turn_key(turn)).collect();
        let of = u32::try_from(batches.len()).unwrap_or(u32::MAX);
        let mut written = Vec::new();
        for (part, batch) in (0..of).zip(batches) {
            let entry = Entry { since: now, turn: turn_key(turn), part, of, spans: batch.spans };
            folder.write(&entry, &batch.gzipped).map_err(QueueError::of(folder.path(), "written"))?;
            written.push(entry);
        }
        // Only now, so that a kill in between leaves one of the two whole.
        for old in before.iter().filter(|old| !written.contains(old)) {
            folder.remove(old);
        }
        self.keep_within_limits(now);
        Ok(())
    }

    /// Drops what is too old or too much, the oldest first, of all destinations together. `put` and `drain` do it, too.
    pub fn keep_within_limits(&self, now: Time) {
        // Another process that is at it does the same.
        let Some(_held) = self.bookkeeping() else { return };
        let oldest_kept =
            now.micros().saturating_sub(i64::try_from(self.limits.age.as_micros()).unwrap_or(i64::MAX));
        let mut all = Vec::new();
        for id in self.destinations() {
            let folder = self.folder(&id);
            folder.tidy();
            for place in [folder.clone(), folder.refused()] {
                all.extend(
                    place
                        .entries_with_size()
                        .into_iter()
                        .map(|(entry, size)| (entry, size, place.clone(), id.clone())),
                );
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut total: u64 = all.iter().map(|(_, size, ..)| size).sum();
        for (entry, size, place, id) in &all {
            if entry.since.micros() >= oldest_kept && total <= self.limits.bytes {
                break;
            }
            if place.remove(entry) {
                self.change_held(id, |state| {
                    state.dropped_batches += 1;
                    state.dropped_spans = state.dropped_spans.saturating_add(entry.spans);
                });
            }
            total = total.saturating_sub(*size);
        }
    }

    pub fn standing(&self, of: &DestinationId) -> Standing {
        let folder = self.folder(of);
        let state = folder.state();
        let (waiting, refused) = (folder.entries_with_size(), folder.refused().entries());
        let spans = |all: &mut dyn Iterator<Item = u64>| all.fold(0_u64, u64::saturating_add);
        Standing {
            waiting_batches: waiting.len() as u64,
            waiting_spans: spans(&mut waiting.iter().map(|(entry, _)| entry.spans)),
            waiting_bytes: waiting.iter().map(|(_, size)| size).sum(),
            oldest: waiting.iter().map(|(entry, _)| entry.since).min(),
            refused_batches: refused.len() as u64,
            refused_spans: spans(&mut refused.iter().map(|entry| entry.spans)),
            damaged: state.damaged,
            dropped_batches: state.dropped_batches,
            dropped_spans: state.dropped_spans,
            sent_spans: state.sent_spans,
            rejected_spans: state.rejected_spans,
            failures: state.failures,
            next_attempt: state.not_before(When::Due).filter(|_| !waiting.is_empty()),
            last: state.last,
            last_taken: state.last_taken,
        }
    }

    /// When there is something to send to one of these by itself: `now` where nothing holds it back.
    pub fn next_due(&self, of: &[DestinationId], now: Time) -> Option<Time> {
        let waits = |id: &&DestinationId| self.folder(id).has_entries();
        let due = |id: &DestinationId| self.folder(id).state().due_at(When::Due, now).unwrap_or(now).max(now);
        of.iter().filter(waits).map(due).min()
    }

    /// Every destination that has a folder here, those included that the settings no longer have.
    pub fn destinations(&self) -> Vec<DestinationId> {
        disk::destinations(&self.root)
    }

    /// Notes an attempt that went around the queue, such as a test.
    pub fn note(&self, of: &DestinationId, attempt: Attempt) {
        let folder = self.folder(of);
        if folder.make().is_ok()
            && let Some(_held) = self.bookkeeping()
        {
            self.change_held(of, |state| state.noted(attempt));
        }
    }

    /// What was refused waits again, and nothing holds it back: the person asked.
    pub fn retry(&self, destination: &DestinationId) {
        self.folder(destination).accept_refused();
        self.change(destination, |state| {
            state.blamed.clear();
            state.went_through();
        });
    }

    /// Throws away all that waits for a destination, and what was counted.
    pub fn forget(&self, destination: &DestinationId) -> Result<(), QueueError> {
        let folder = self.folder(destination);
        disk::remove_tree(folder.path()).map_err(QueueError::of(folder.path(), "emptied"))
    }

    /// Throws the whole queue away.
    pub fn purge(&self) -> Result<(), QueueError> {
        disk::remove_tree(&self.root).map_err(QueueError::of(&self.root, "emptied"))
    }

    fn folder(&self, of: &DestinationId) -> Folder {
        Folder::of(&self.root, of)
    }

    /// Held for a moment only, by whoever changes counts.
    fn bookkeeping(&self) -> Option<disk::Lock> {
        disk::Lock::wait(&self.root.join("counts.lock"))
    }

    /// Only with the bookkeeping lock in hand.
    fn change_held(&self, of: &DestinationId, change: impl FnOnce(&mut State)) {
        let folder = self.folder(of);
        let mut state = folder.state();
        change(&mut state);
        folder.write_state(&state);
    }

    fn change(&self, of: &DestinationId, change: impl FnOnce(&mut State)) {
        // Without the lock for seconds, somebody stopped in the middle: a count is worth less than going on.
        if let Some(_held) = self.bookkeeping() {
            self.change_held(of, change);
        }
    }
}

fn turn_key(turn: SpanId) -> u64 {
    u64::from_be_bytes(*turn.bytes())
}
