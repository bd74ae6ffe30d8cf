//! Many conversations at once: readers in parallel, one writer, progress on the way.

use std::{
    collections::HashMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use agenthub_agy as agy;
use agenthub_core::{SessionId, Time};

use crate::conversation::{self, Found};

/// What the readers need.
pub(crate) struct Work<'a> {
    pub(crate) home: &'a agy::Home,
    pub(crate) index: &'a agy::Index,
    pub(crate) entries: &'a [agy::Entry],
    pub(crate) cursors: &'a HashMap<SessionId, agy::Cursor>,
    pub(crate) ever_held: &'a (dyn Fn(&SessionId) -> bool + Sync),
    pub(crate) now: Time,
}

/// So many conversations go from a reader to the writer at once: waking a thread for each costs more than it brings.
const HANDFUL: usize = 16;
/// More readers than this bring nothing: the writer is the narrow place then.
const MOST_READERS: usize = 4;

/// Reads all entries; `take` gets what was found in batches, on this thread. It says whether to go on.
pub(crate) fn scan(work: &Work<'_>, batch: usize, mut take: impl FnMut(Vec<Found>) -> bool) {
    let next = AtomicUsize::new(0);
    let readers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_READERS);
    std::thread::scope(|threads| {
        let (tell, found) = mpsc::sync_channel::<Vec<Found>>(batch * 2 / HANDFUL);
        for _ in 0..readers.min(work.entries.len()) {
            let tell = tell.clone();
            let next = &next;
            threads.spawn(move || {
                let read = |entry: &agy::Entry| {
                    let held = (work.ever_held)(&entry.id);
                    let cursor = work.cursors.get(&entry.id);
                    conversation::read(work.home, work.index, entry, cursor, held, work.now)
                };
                loop {
                    let from = next.fetch_add(HANDFUL, Ordering::Relaxed);
                    let mine = work.entries.get(from..).unwrap_or_default();
                    let found: Vec<Found> = mine.iter().take(HANDFUL).map(read).collect();
                    if found.is_empty() || tell.send(found).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut full = Vec::with_capacity(batch);
        for mut handful in found {
            full.append(&mut handful);
            if full.len() >= batch {
                let go_on = take(std::mem::replace(&mut full, Vec::with_capacity(batch)));
                if !go_on {
                    next.store(work.entries.len(), Ordering::Relaxed);
                    return;
                }
            }
        }
        if !full.is_empty() {
            take(full);
        }
    });
}
