//! Sending what waits, oldest first, and what each answer means for the batch that it was given to.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use agenthub_core::Time;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

use super::Queue;
use super::disk::{Folder, Read};
use super::entry::Entry;
use super::state::Attempt;
use crate::encode::{batch, spans_in};
use crate::send::unzipped;
use crate::{Answer, Batch, DestinationId, Fate, Transport};

/// Batches that a backend may fail at before it is left alone for now.
const FAILED_IN_A_PASS: usize = 3;
/// So often a backend may fail at a batch while it takes others; then the batch is the cause.
const BLAMED: u32 = 5;

/// Why something is sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// By the clock: back-off counts.
    Due,
    /// There is something new: back-off does not count, a backend's `Retry-After` does.
    New,
    /// The person asked.
    Asked,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing waits any more.
    Empty,
    /// Another process sends to this destination at the moment: it takes what waits along.
    Busy,
    /// It is not time yet.
    Paused,
    /// The time that was given is over.
    OutOfTime,
    /// The destination did not take it; see the last answer.
    HeldUp,
    /// The queue's folder could not be used.
    Unreadable,
}

/// What a pass did.
#[derive(Clone, Debug)]
pub struct Drained {
    pub ended: Ended,
    pub sent_spans: u64,
    pub rejected_spans: u64,
    /// Set aside, for the backend does not want them.
    pub refused_spans: u64,
    pub damaged: u64,
    pub last: Option<Answer>,
}

impl Queue {
    /// Sends what waits for each destination, all at the same time: one that hangs holds up no other. Returns by `until`.
    pub fn drain_all<T: Transport + Sync>(
        &self,
        targets: &[(DestinationId, T)],
        when: When,
        until: Instant,
        clock: impl Fn() -> Time + Sync,
    ) -> Vec<(DestinationId, Drained)> {
        let clock = &clock;
        std::thread::scope(|scope| {
            let running: Vec<_> = targets
                .iter()
                .map(|(id, to)| (id.clone(), scope.spawn(move || self.drain(id, to, when, until, clock))))
                .collect();
            running.into_iter().filter_map(|(id, thread)| Some((id, thread.join().ok()?))).collect()
        })
    }

    /// Sends what waits for one destination.
    pub fn drain(
        &self,
        id: &DestinationId,
        to: &impl Transport,
        when: When,
        until: Instant,
        clock: impl Fn() -> Time,
    ) -> Drained {
        let folder = self.folder(id);
        let mut pass = Pass {
            queue: self,
            id,
            folder: &folder,
            drained: Drained {
                ended: Ended::Empty,
                sent_spans: 0,
                rejected_spans: 0,
                refused_spans: 0,
                damaged: 0,
                last: None,
            },
            failed: Vec::new(),
            took: false,
            stuck: false,
        };
        if !folder.path().is_dir() {
            return pass.drained;
        }
        loop {
            pass.drained.ended = pass.run(to, when, until, &clock);
            // Whoever put something here meanwhile found the lock taken, and counts on this.
            if pass.drained.ended != Ended::Empty || !folder.has_entries() {
                return pass.drained;
            }
        }
    }
}

struct Pass<'a> {
    queue: &'a Queue,
    id: &'a DestinationId,
    folder: &'a Folder,
    drained: Drained,
    /// What the backend failed at in this pass.
    failed: Vec<Entry>,
    /// It took something in this pass.
    took: bool,
    /// A file could not be read, or not be taken away.
    stuck: bool,
}

/// What one entry's answer means for the pass.
enum Next {
    GoOn,
    /// These instead, first.
    Instead([Entry; 2]),
    Stop,
}

impl Pass<'_> {
    fn run(&mut self, to: &impl Transport, when: When, until: Instant, clock: &impl Fn() -> Time) -> Ended {
        self.queue.keep_within_limits(clock());
        let _sending = match self.folder.sending() {
            Ok(Some(lock)) => lock,
            Ok(None) => return Ended::Busy,
            Err(_) => return Ended::Unreadable,
        };
        self.meet(to.setup());
        let state = self.folder.state();
        if state.due_at(when, clock()).is_some() {
            return Ended::Paused;
        }
        for name in self.folder.misnamed() {
            self.set_aside(&name);
        }
        let mut waiting: VecDeque<Entry> = by_blame(self.folder.entries(), &state.blamed).into();
        while let Some(entry) = waiting.pop_front() {
            if Instant::now() >= until {
                return Ended::OutOfTime;
            }
            let read = match self.folder.read(&entry) {
                Read::Bytes(bytes) => decoded(&bytes).map(|request| (bytes, request)),
                Read::TooLarge => None,
                Read::Gone => continue,
                Read::Failed => {
                    self.stuck = true;
                    continue;
                }
            };
            let Some((gzipped, request)) = read else {
                self.set_aside(&entry.name());
                continue;
            };
            let batch = Batch { gzipped, spans: spans_in(&request) };
            let began = Instant::now();
            let answer = to.send(&batch, until.saturating_duration_since(began));
            let next = self.answered(&entry, request, &answer, clock(), began.elapsed());
            self.drained.last = Some(answer);
            match next {
                Next::GoOn => {}
                Next::Instead([first, second]) => {
                    waiting.push_front(second);
                    waiting.push_front(first);
                }
                Next::Stop => {
                    self.blame();
                    return Ended::HeldUp;
                }
            }
        }
        if !self.failed.is_empty() {
            // They were passed over for others; now there are no others.
            self.blame();
            self.held_up(clock());
            return Ended::HeldUp;
        }
        if self.stuck { Ended::Unreadable } else { Ended::Empty }
    }

    /// A destination that was set up anew begins anew, with what was refused before.
    fn meet(&self, setup: u64) {
        if self.folder.state().setup != setup {
            self.folder.accept_refused();
            self.queue.change(self.id, |state| {
                state.setup = setup;
                state.blamed.clear();
                state.went_through();
            });
        }
    }

    fn answered(
        &mut self,
        entry: &Entry,
        request: ExportTraceServiceRequest,
        answer: &Answer,
        now: Time,
        took: Duration,
    ) -> Next {
        let spans = spans_in(&request);
        match answer.fate {
            Fate::Taken | Fate::Partly => {
                // First: what is counted and not removed would be counted again.
                self.stuck |= !self.folder.remove(entry) && self.folder.has(entry);
                self.drained.sent_spans += spans;
                self.drained.rejected_spans += answer.rejected_spans;
                self.took = true;
            }
            Fate::Refused => self.refuse(entry, spans),
            Fate::TooLarge => match self.split(entry, request) {
                Some(halves) => {
                    self.note(answer, spans, now, took);
                    return Next::Instead(halves);
                }
                None => self.refuse(entry, spans),
            },
            Fate::Failed => self.failed.push(entry.clone()),
            Fate::Later | Fate::Misdirected => {}
        }
        let taken = answer.fate.is_taken();
        let stops = matches!(answer.fate, Fate::Later | Fate::Misdirected)
            || (answer.fate == Fate::Failed && self.failed.len() >= FAILED_IN_A_PASS);
        let random = fastrand::f64();
        let attempt = Attempt::new(now, spans, answer, took);
        self.queue.change(self.id, |state| {
            state.noted(attempt);
            if taken {
                state.sent_spans = state.sent_spans.saturating_add(spans);
                state.rejected_spans = state.rejected_spans.saturating_add(answer.rejected_spans);
                state.went_through();
            }
            if stops {
                state.held_up(answer, now, random);
            }
        });
        if stops { Next::Stop } else { Next::GoOn }
    }

    fn note(&self, answer: &Answer, spans: u64, now: Time, took: Duration) {
        let attempt = Attempt::new(now, spans, answer, took);
        self.queue.change(self.id, |state| state.noted(attempt));
    }

    fn held_up(&self, now: Time) {
        let Some(answer) = &self.drained.last else { return };
        let random = fastrand::f64();
        self.queue.change(self.id, |state| state.held_up(answer, now, random));
    }

    /// Where the backend took others, it is these that it fails at.
    fn blame(&mut self) {
        let failed = std::mem::take(&mut self.failed);
        if failed.is_empty() || !self.took {
            return;
        }
        let mut given_up = Vec::new();
        let there: Vec<String> = self.folder.entries().iter().map(Entry::name).collect();
        self.queue.change(self.id, |state| {
            for entry in failed {
                let times = state.blamed.entry(entry.name()).or_default();
                *times += 1;
                if *times >= BLAMED {
                    given_up.push(entry);
                }
            }
            state.blamed.retain(|name, _| there.contains(name));
        });
        for entry in given_up {
            self.refuse(&entry, entry.spans);
        }
    }

    fn refuse(&mut self, entry: &Entry, spans: u64) {
        if self.folder.refuse(entry) {
            self.drained.refused_spans += spans;
        } else {
            self.stuck |= self.folder.has(entry);
        }
    }

    /// Both halves are there before the whole is not.
    fn split(&self, entry: &Entry, request: ExportTraceServiceRequest) -> Option<[Entry; 2]> {
        let [first, second] = halves(request)?;
        let entries = entry.halves(spans_in(&first))?;
        for (entry, request) in entries.iter().zip([first, second]) {
            self.folder.write(entry, &batch(&request).gzipped).ok()?;
        }
        self.folder.remove(entry);
        Some(entries)
    }

    fn set_aside(&mut self, name: &str) {
        if self.folder.set_aside(name) {
            self.drained.damaged += 1;
            self.queue.change(self.id, |state| state.damaged += 1);
        } else {
            self.stuck = true;
        }
    }
}

/// Those that the backend did not fail at before the others, and the oldest first.
fn by_blame(mut entries: Vec<Entry>, blamed: &BTreeMap<String, u32>) -> Vec<Entry> {
    entries.sort_by_cached_key(|entry| blamed.get(&entry.name()).copied().unwrap_or(0));
    entries
}

/// The request in a file, if it is one of ours: with spans, and whole by its checksum.
fn decoded(gzipped: &[u8]) -> Option<ExportTraceServiceRequest> {
    let request = ExportTraceServiceRequest::decode(&unzipped(gzipped).ok()?[..]).ok()?;
    (spans_in(&request) > 0).then_some(request)
}

/// The same spans in two requests; `None` when there is one span.
fn halves(mut first: ExportTraceServiceRequest) -> Option<[ExportTraceServiceRequest; 2]> {
    let mut left = usize::try_from(spans_in(&first) / 2).ok().filter(|half| *half > 0)?;
    let mut second = first.clone();
    for (a, b) in first.resource_spans.iter_mut().zip(&mut second.resource_spans) {
        for (a, b) in a.scope_spans.iter_mut().zip(&mut b.scope_spans) {
            let here = left.min(a.spans.len());
            left -= here;
            a.spans.truncate(here);
            b.spans.drain(..here);
        }
    }
    Some([first, second])
}
