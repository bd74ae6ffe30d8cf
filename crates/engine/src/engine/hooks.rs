//! Hook events on their way from the journal to the facts of their sessions.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use agenthub_agy::{self as agy, hook_payload};
use agenthub_core::{LaneId, Session, SessionId, Time, Tool};
use agenthub_store as store;

use super::{Engine, Followed};
use crate::{
    conversation::{self, Found},
    journal::{Piece, pieces},
};

/// agy writes some rows after its hooks: the database is read once more this long after the last event, and then says what
/// became of a tool.
const READ_AGAIN: Duration = Duration::from_millis(2_100);
/// Events of sessions that were silent for so long are let go.
const KEPT_MS: i64 = 90 * 24 * 3_600_000;

impl Engine {
    /// Takes in what the journal holds, and reads the databases of the sessions that it speaks of.
    pub(super) fn read_journal(&mut self) {
        let mut touched = BTreeSet::new();
        loop {
            let batch = match self.journal.next(&self.store) {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(e) => {
                    self.failed(&e);
                    break;
                }
            };
            let now = self.clock.now();
            let (found, taken) = pieces(&batch.bytes, batch.last);
            let mut change = store::HookChange {
                journal: Some(batch.position(taken)),
                at: now,
                ..store::HookChange::default()
            };
            for piece in found {
                match self.accepted(piece, now) {
                    Ok(record) => change.records.push(record),
                    Err(why) => count(&mut change.dropped, why.name()),
                }
            }
            if (!change.records.is_empty() || !change.dropped.is_empty() || taken > 0)
                && let Err(e) = self.store.apply_hooks(&change)
            {
                // Nothing was written: the same bytes are read again at the next ring or pass.
                self.failed(&e);
                break;
            }
            self.notes.remove("source_failed");
            self.hooked |= !change.records.is_empty();
            touched.extend(change.records.into_iter().map(|r| r.session));
            self.journal.took(batch, taken);
        }
        // What only memory knows of it was not read for good.
        if !self.places.keeps_nothing()
            && let Err(e) = self.journal.tidy(&mut self.store)
        {
            self.failed(&e);
        }
        for id in &touched {
            self.take_hooks(id);
        }
        if !touched.is_empty() {
            let again = Instant::now() + READ_AGAIN;
            self.again.extend(touched.iter().map(|id| (id.clone(), again)));
            self.read_now(touched);
        }
    }

    fn accepted(&self, piece: Piece<'_>, now: Time) -> Result<store::HookRecord, hook_payload::Dropped> {
        let record = match piece {
            Piece::Record(record) => record,
            Piece::Dropped(why) => return Err(why),
        };
        // A panic there would be our bug; it costs this one event.
        let decoded = catch_unwind(AssertUnwindSafe(|| hook_payload::decode(&self.home, &record, now)));
        let a = decoded.unwrap_or(Err(hook_payload::Dropped::BadBody))?;
        Ok(store::HookRecord { session: a.session, cwd: a.cwd, event: a.event })
    }

    /// Joins the stored events of a session to its facts. A session that nobody follows yet is followed: its conversation
    /// may be written later than its first hook.
    fn take_hooks(&mut self, id: &SessionId) {
        let (facts, cwd) = match self.store.hook_facts(id) {
            Ok(found) => found,
            Err(e) => return self.failed(&e),
        };
        if let Some(f) = self.followed.get_mut(id) {
            f.session.facts = std::mem::take(&mut f.session.facts).joined(facts);
            f.session.cwd = cwd.or(f.session.cwd.take());
            return;
        }
        let since = self.clock.now().plus_ms(-self.windows.board_ms);
        if facts.hooks.newest().is_none_or(|e| e.at < since) {
            return;
        }
        let row = self.store.session(id).ok().flatten();
        if row.as_ref().is_some_and(|r| r.file_gone) && !self.home.conversation(id).exists() {
            return;
        }
        let parent = row.as_ref().and_then(|r| SessionId::parse(r.parent.as_deref()?));
        let session = Session {
            id: id.clone(),
            tool: Tool::Antigravity,
            name: row.as_ref().and_then(|r| r.name.clone()),
            cwd: cwd.or_else(|| row.as_ref()?.cwd.clone()),
            parent,
            started_at: row.as_ref().and_then(|r| r.started_at),
            facts,
        };
        let held = self.held.as_ref().map(|h| h.contains_key(id));
        let mut session = conversation::with_lock(session, held, self.clock.now());
        session.facts = std::mem::take(&mut session.facts).joined(self.runs.facts(id));
        session.facts.ever_held |= self.known.get(id).is_some_and(|k| k.ever_held);
        let cursor = self.cursor(id);
        self.followed.insert(id.clone(), Followed { session, cursor });
    }

    /// Reads these conversations at once, whatever their files look like: a hook says that there is news.
    fn read_now(&mut self, ids: impl IntoIterator<Item = SessionId>) {
        let mut found = Vec::new();
        for id in ids {
            let path = self.home.conversation(&id);
            let Ok(fingerprint) = agy::fingerprint(&path) else { continue };
            self.pending.remove(&id);
            found.push(self.read_one(&agy::Entry { id, fingerprint, path }));
        }
        self.keep(found);
        // A session that begins takes its lock without an event.
        self.look_at_locks();
    }

    /// The second look at sessions whose hooks have been silent for a while.
    pub(super) fn read_again(&mut self) {
        let now = Instant::now();
        let due: Vec<SessionId> =
            self.again.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
        if due.is_empty() {
            return;
        }
        for id in &due {
            self.again.remove(id);
        }
        self.read_now(due);
    }

    /// What hooks told of a session goes with what its file says, before it is written down.
    pub(super) fn add_hooks(&self, found: &mut Found) {
        let (Some(session), Some(record)) = (&mut found.session, &mut found.change.session) else { return };
        if !self.hooked {
            return;
        }
        let Ok((facts, cwd)) = self.store.hook_facts(&session.id) else { return };
        session.facts = std::mem::take(&mut session.facts).joined(facts);
        if let Some(cwd) = cwd {
            record.cwd = Some(cwd.clone());
            session.cwd = Some(cwd);
            record.lane = LaneId::of(session).0;
        }
        conversation::judge_with_hooks(record, session, self.clock.now());
    }

    /// Sessions that hooks spoke of lately are on the board at each start, also those whose file is not there yet.
    pub(super) fn follow_hooked(&mut self, since: Time) {
        self.journal.look_aside();
        let now = self.clock.now();
        let forgotten = self.store.forget_hooks_before(now.plus_ms(-KEPT_MS));
        match forgotten.and_then(|()| self.store.hooked_since(since)) {
            Ok(ids) => {
                for id in ids {
                    self.hooked = true;
                    if let Some(k) = self.known.get_mut(&id) {
                        k.fingerprint = None;
                    }
                    self.take_hooks(&id);
                }
            }
            Err(e) => self.failed(&e),
        }
    }
}

fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str) {
    match counts.iter_mut().find(|(n, _)| *n == name) {
        Some((_, n)) => *n += 1,
        None => counts.push((name, 1)),
    }
}
