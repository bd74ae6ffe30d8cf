//! Finding what changed, reading it, and writing it down with its cursor.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use agenthub_agy as agy;
use agenthub_core::{Facts, LockReading, Presence, Session, SessionId, Time, Tool, board::verdicts};

use super::{BATCH, Engine, Followed, PARALLEL_FROM, PROGRESS_EVERY, RACY};
use crate::{
    conversation::{self, Found},
    convert, scan, view,
    watch::Watcher,
};

/// A chain of parents is followed no further.
const MOST_ABOVE: usize = 64;

impl Engine {
    pub(super) fn pass(&mut self, watcher: &mut Watcher, stop: &dyn Fn() -> bool) {
        watcher.arrange();
        match watcher.failure() {
            Some(why) => {
                let text = format!("File events don't come ({why}); changes show at the next poll.");
                self.notes.insert("poll_only", text);
            }
            None => {
                self.notes.remove("poll_only");
            }
        }
        self.pass_without_events(stop);
    }

    /// One look at all of agy's conversations.
    pub(super) fn pass_without_events(&mut self, stop: &dyn Fn() -> bool) {
        // One that looks once owes word of all that failed, since it began.
        if self.watches {
            self.unkept = None;
        }
        self.reread_settings();
        self.files.forget();
        let renamed: HashSet<SessionId> = self.index.refresh(&self.home).into_iter().collect();
        let listing = agy::list(&self.home);
        self.listed_problems = listing.problems.iter().map(convert::problem).collect();
        self.note_home(&listing);
        let here: HashSet<&SessionId> = listing.entries.iter().map(|e| &e.id).collect();
        if !listing.unlistable {
            self.forget_gone(&here);
        }
        let to_read: Vec<agy::Entry> = listing
            .entries
            .iter()
            .filter(|e| {
                let known = self.known.get(&e.id).and_then(|k| k.fingerprint);
                known != Some(e.fingerprint) || renamed.contains(&e.id)
            })
            .cloned()
            .collect();
        self.look_at_runs();
        self.look_at_locks();
        self.read_all(to_read, stop);
        self.store.first_filling_done();
        self.read_journal();
        self.read_again();
        self.header.agy_version = agy::version(&self.home).or(self.header.agy_version.take());
        self.look_at_transcripts();
        self.stop_following();
        self.forget_runs();
        if let Some(said) = self.unkept.take() {
            self.notes.insert("source_failed", said);
        }
        self.publish();
        // After what it was read for is told: views are right without, and nobody is to wait for it.
        if let Err(e) = self.store.roll_up() {
            tracing::warn!("sums are slower until the next pass: {e}");
        }
    }

    /// Holds the data folder to this home, once agy is there: a home that was mistyped must not have it.
    fn bind_home(&mut self, listing: &agy::Listing) {
        let here = listing.problems.iter().all(|p| p.code != agy::ProblemCode::NoHome);
        if self.bound || !here || self.places.keeps_nothing() {
            return;
        }
        match self.places.belongs_to(self.home.root()) {
            Ok(()) => self.bound = true,
            Err(e) => tracing::error!("{} ({})", e.message, e.code),
        }
    }

    fn note_home(&mut self, listing: &agy::Listing) {
        self.bind_home(listing);
        if listing.problems.iter().any(|p| p.code == agy::ProblemCode::NoHome) {
            let text = format!(
                "agy has not been used here yet: there are no conversations in {}. If its home is elsewhere, name it \
                 (--gemini-dir or AGENTHUB_GEMINI_DIR).",
                self.header.gemini_dir
            );
            self.notes.insert("no_home", text);
        } else {
            self.notes.remove("no_home");
        }
        let why = listing.problems.first().filter(|_| listing.unlistable);
        match why {
            Some(p) => {
                let here = convert::for_people(&self.home.conversations());
                let text = format!("agy's conversations in {here} can't be listed: {}.", p.message);
                self.notes.insert("unreadable_folder", text);
            }
            None => {
                self.notes.remove("unreadable_folder");
            }
        }
    }

    /// Marks the sessions whose files are gone. Their numbers stay.
    fn forget_gone(&mut self, here: &HashSet<&SessionId>) {
        let gone: Vec<SessionId> = self
            .known
            .iter()
            .filter(|(id, k)| k.was_here && !here.contains(id))
            .map(|(id, _)| id.clone())
            .collect();
        if gone.is_empty() {
            return;
        }
        let marked = self.store.set_file_gone(Tool::Antigravity, &gone, true);
        // agy's files can't give their calls back any more: a copy is kept where a rebuild leaves it alone.
        match marked.and_then(|()| self.store.keep_gone(&self.places.person(), &gone)) {
            Ok(()) => {
                for id in gone {
                    self.known.remove(&id);
                    self.followed.remove(&id);
                    self.pending.remove(&id);
                }
                self.stored = true;
            }
            Err(e) => self.failed(&e),
        }
    }

    fn read_all(&mut self, entries: Vec<agy::Entry>, stop: &dyn Fn() -> bool) {
        if entries.len() < PARALLEL_FROM {
            let found = entries.iter().map(|e| self.read_one(e)).collect();
            self.keep(found);
            return;
        }
        let total = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let cursors: HashMap<SessionId, agy::Cursor> =
            entries.iter().filter_map(|e| Some((e.id.clone(), self.cursor(&e.id)?))).collect();
        let ever_held: HashSet<SessionId> =
            self.known.iter().filter(|(_, k)| k.ever_held).map(|(id, _)| id.clone()).collect();
        let home = self.home.clone();
        let index = std::mem::take(&mut self.index);
        let work = scan::Work {
            home: &home,
            index: &index,
            entries: &entries,
            cursors: &cursors,
            ever_held: &|id| ever_held.contains(id),
            now: self.clock.now(),
        };
        let mut done = 0;
        let mut shown = Instant::now();
        self.header.scan = Some(view::Scan { done, total });
        self.publish();
        scan::scan(&work, BATCH, |found| {
            done += u32::try_from(found.len()).unwrap_or(0);
            self.keep(found);
            if shown.elapsed() >= PROGRESS_EVERY {
                self.header.scan = Some(view::Scan { done, total });
                self.publish();
                shown = Instant::now();
            }
            !stop()
        });
        self.header.scan = None;
        self.index = index;
    }

    pub(super) fn read_due(&mut self) {
        let now = Instant::now();
        let due: Vec<SessionId> =
            self.pending.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
        let mut found = Vec::new();
        for id in due {
            self.pending.remove(&id);
            let path = self.home.conversation(&id);
            // A file that went, or is no conversation, is the next pass's matter: it knows the whole folder.
            let Ok(fingerprint) = agy::fingerprint(&path) else { continue };
            let known = self.known.get(&id).and_then(|k| k.fingerprint);
            if known == Some(fingerprint) && !fingerprint.is_racy(self.clock.now()) {
                continue;
            }
            found.push(self.read_one(&agy::Entry { id, fingerprint, path }));
        }
        if !found.is_empty() {
            self.keep(found);
            // A session that begins takes its lock without an event.
            self.look_at_locks();
        }
    }

    pub(super) fn cursor(&self, id: &SessionId) -> Option<agy::Cursor> {
        if let Some(f) = self.followed.get(id) {
            return f.cursor.clone();
        }
        if !self.known.contains_key(id) {
            return None;
        }
        let row = self.store.conversation(id).ok().flatten()?;
        agy::Cursor::from_json(&row.cursor)
    }

    pub(super) fn read_one(&mut self, entry: &agy::Entry) -> Found {
        let cursor = self.cursor(&entry.id);
        let ever_held = self.known.get(&entry.id).is_some_and(|k| k.ever_held);
        conversation::read(&self.home, &self.index, entry, cursor.as_ref(), ever_held, self.clock.now())
    }

    /// Of sessions that call each other parent the one that is found last counts as nobody's sub-agent: else each would be
    /// inside another, and so in no list, and a silent one.
    fn break_circles(&self, found: &mut [Found]) {
        let mut parents: HashMap<SessionId, Option<SessionId>> = HashMap::new();
        for f in found {
            let (Some(session), Some(record)) = (&mut f.session, &mut f.change.session) else { continue };
            let above = |id: &SessionId| match parents.get(id) {
                Some(parent) => parent.clone(),
                // What can't be looked up now is looked at when it is written.
                None => self.store.parent(id).ok().flatten(),
            };
            let mut chain = std::iter::successors(record.parent.clone(), above).take(MOST_ABOVE);
            if chain.any(|id| id == record.id) {
                (record.parent, session.parent) = (None, None);
            }
            parents.insert(record.id.clone(), record.parent.clone());
        }
    }

    /// Writes down what was found, cursor and all, and follows the sessions that may stand on the board.
    pub(super) fn keep(&mut self, mut found: Vec<Found>) {
        if found.is_empty() {
            return;
        }
        self.break_circles(&mut found);
        for f in &mut found {
            self.add_hooks(f);
            self.add_run(f);
        }
        let (changes, rest): (Vec<_>, Vec<_>) = found
            .into_iter()
            .map(|f| (f.change, (f.session, f.cursor, f.fingerprint, f.decoded, f.again)))
            .unzip();
        if let Err(e) = self.store.apply(&changes) {
            // Nothing was written and nothing is remembered: the next pass reads it all again.
            self.failed(&e);
            return;
        }
        self.notes.remove("source_failed");
        self.stored = true;
        let now = self.clock.now();
        let fresh_since = now.plus_ms(-7 * 24 * 3_600_000);
        for (change, (session, cursor, fingerprint, decoded, again)) in changes.into_iter().zip(rest) {
            let id = change.conversation.id;
            let known = self.known.entry(id.clone()).or_default();
            let was = std::mem::replace(&mut known.problem, change.conversation.problem);
            known.was_here = true;
            known.fingerprint = if again { None } else { Some(fingerprint) };
            if let Some(p) = known.problem.as_ref().filter(|p| was.as_ref() != Some(*p)) {
                tracing::warn!(session = %id, code = p.code, "{}", p.message);
            }
            self.last_read.insert(id.clone(), Instant::now());
            if again {
                self.expect(id.clone(), Duration::from_secs(1));
            } else if fingerprint.is_racy(now) {
                self.expect(id.clone(), RACY);
            }
            if let Some((rows, undecodable)) = decoded.filter(|_| fingerprint.wrote() >= fresh_since) {
                self.drift.rows += rows;
                self.drift.undecodable += undecodable;
            }
            let error_at = change.session.as_ref().and_then(|s| s.error_at);
            if let Some(session) = session {
                self.follow(session, cursor, error_at, now);
            }
        }
        if self.drift.moved() {
            self.notes.insert(
                "schema_drift",
                "Most rows of new conversations can't be read: agy's format has moved. Update AgentHub; numbers of \
                 new sessions are incomplete until then."
                    .to_owned(),
            );
        }
    }

    fn follow(&mut self, session: Session, cursor: Option<agy::Cursor>, error_at: Option<Time>, now: Time) {
        let held = self.held.as_ref().map(|h| h.contains_key(&session.id));
        let since = Some(now.plus_ms(-self.windows.board_ms));
        let hooked = session.facts.hooks.newest().map(|e| e.at);
        let recent = session.facts.wrote >= since || hooked >= since;
        let failed = error_at.is_some() && error_at >= self.person.errors_since;
        let id = session.id.clone();
        let mut session = conversation::with_lock(session, held, now);
        if let Some(before) = self.followed.remove(&id) {
            session.facts = session.facts.joined(before.session.facts);
            session.name = session.name.or(before.session.name);
            session.cwd = session.cwd.or(before.session.cwd);
            session.parent = session.parent.or(before.session.parent);
        } else if !(recent || failed || held == Some(true)) {
            return;
        }
        self.followed.insert(id, Followed { session, cursor });
    }

    /// Lets go of sessions that left the board for good.
    fn stop_following(&mut self) {
        let now = self.clock.now();
        let since = now.plus_ms(-self.windows.board_ms);
        let sessions: Vec<Session> = self.followed.values().map(|f| f.session.clone()).collect();
        let errors_since = self.person.errors_since;
        for (s, v) in sessions.iter().zip(verdicts(&sessions, &self.runs.list(), now, &self.windows)) {
            let failed = v.error.as_ref().is_some_and(|(at, _)| at.or(v.last_activity) >= errors_since);
            let recent = v.last_activity >= Some(since);
            if v.settled && !failed && !recent {
                self.followed.remove(&s.id);
            }
        }
        self.last_read.retain(|id, _| self.followed.contains_key(id));
    }

    pub(super) fn look_at_locks(&mut self) {
        let Some(mut held) = agy::presence::held(&self.home) else {
            self.note_holders(&agy::presence::Held::new());
            return;
        };
        // The kernel serves its list in pieces, and a lock can be missed while others come and go: what was held is
        // only let go when a second reading agrees.
        let lost = |f: &Followed| {
            f.session.facts.lock.get() == Some(&LockReading::Held) && !held.contains_key(&f.session.id)
        };
        if self.followed.values().any(lost) {
            held.extend(agy::presence::held(&self.home).into_iter().flatten());
        }
        let now = self.clock.now();
        let mut new = Vec::new();
        for id in held.keys() {
            let known = self.known.entry(id.clone()).or_default();
            if !known.ever_held {
                known.ever_held = true;
                new.push(id.clone());
            }
        }
        if !new.is_empty()
            && let Err(e) = self.store.set_ever_held(&new)
        {
            self.failed(&e);
        }
        let mut gone = Vec::new();
        for f in self.followed.values_mut() {
            let reading = Some(held.contains_key(&f.session.id));
            let session = f.session.clone();
            let before = session.facts.presence();
            f.session = conversation::with_lock(session, reading, now);
            if before != Presence::Gone && f.session.facts.presence() == Presence::Gone {
                gone.push(f.session.id.clone());
            }
        }
        // What agy wrote last says whether it went in the middle of a turn.
        for id in gone {
            if let Some(k) = self.known.get_mut(&id) {
                k.fingerprint = None;
            }
            self.expect(id, Duration::ZERO);
        }
        // A conversation that was opened again after a long rest stands on the board although it says nothing yet.
        let opened: Vec<SessionId> =
            held.keys().filter(|id| !self.followed.contains_key(*id)).cloned().collect();
        self.note_holders(&held);
        self.held = Some(held);
        for id in opened {
            if self.home.conversation(&id).exists()
                && let Some(k) = self.known.get_mut(&id)
            {
                k.fingerprint = None;
                self.expect(id, Duration::ZERO);
            }
        }
    }

    /// A transcript counts as activity, and nothing tells us of its changes.
    pub(super) fn look_at_transcripts(&mut self) {
        let active: BTreeSet<SessionId> =
            self.board.lanes.iter().flat_map(|l| l.sessions.iter().map(|s| s.id.clone())).collect();
        for id in active {
            let written = agy::transcript::transcript_mtime(&self.home, &id);
            if let (Some(at), Some(f)) = (written, self.followed.get_mut(&id)) {
                f.session.facts = std::mem::take(&mut f.session.facts).joined(Facts::from_write(at));
            }
        }
    }
}
