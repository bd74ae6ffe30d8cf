//! Deriving the board and telling everybody who watches.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use agenthub_core::{
    Board, LaneId, Session, SessionId, Time,
    board::{board_of, lanes_of, verdicts},
};
use agenthub_store as store;

use super::Engine;
use crate::{
    board_view::{self, LiveState},
    conversation,
    host::Snapshot,
    pricing,
    settings::Zone,
    view,
};

/// Which conversations had a file when that was first asked since the last pass. A board is published many times a second while
/// agents work, and the disk may be slow; what comes meanwhile is read, and then not asked for here.
#[derive(Debug, Default)]
pub(super) struct Files(HashMap<SessionId, bool>);

impl Files {
    fn has(&mut self, id: &SessionId, look: impl FnOnce() -> bool) -> bool {
        if let Some(known) = self.0.get(id) {
            return *known;
        }
        let found = look();
        self.0.insert(id.clone(), found);
        found
    }

    /// A pass begins.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

impl Engine {
    /// Derives the board, and tells everybody if it or the store changed.
    pub(super) fn publish(&mut self) {
        let unread = self.unread_parents();
        let sessions = self.followed_sessions(&unread);
        let now = self.clock.now();
        let runs = self.runs.list();
        let verdicts = verdicts(&sessions, &runs, now, &self.windows);
        self.note_taken_up(&sessions, &verdicts);
        let board = board_of(&sessions, &verdicts, &runs, &self.person, now, &self.windows);
        let problems = self.problems();
        self.header.problems_total = u32::try_from(problems.len()).unwrap_or(u32::MAX);
        let day_from = pricing::day_start(now, &Zone::of(&self.settings.values).zone);
        let new_day = day_from != self.day_from;
        self.day_from = day_from;
        if self.stored {
            match self.store.count(&store::Filter { roots_only: true, ..store::Filter::default() }) {
                Ok(n) => self.header.sessions_total = n,
                Err(e) => self.failed(&e),
            }
        }
        if self.stored || new_day {
            let lanes = lanes_of(&sessions, &verdicts, &runs);
            let stands = sessions.iter().map(|s| s.id.as_str()).zip(lanes).collect();
            self.usage = self.usage_of(&board, &stands);
        }
        self.header.notes = self
            .notes
            .iter()
            .map(|(code, message)| view::HostNote { code: (*code).to_owned(), message: message.clone() })
            .chain(self.settings.notes())
            .collect();
        let states: HashMap<String, LiveState> =
            sessions.iter().zip(&verdicts).map(|(s, v)| (s.id.to_string(), LiveState::of(v))).collect();
        let mut view = board_view::board_view(&board, &self.header, &self.usage);
        let before = self.out.borrow().clone();
        view.revision = before.board.revision;
        view.as_of = before.board.as_of.clone();
        let settings = self.settings_file.view(&self.settings);
        let notices = self.shown_notices(now);
        let same = view == *before.board
            && states == before.states
            && problems == before.problems
            && settings == *before.settings
            && notices == before.notices;
        self.board = board;
        if !same || self.stored {
            self.stored = false;
            self.tell(
                Snapshot { board: Arc::new(view), states, problems, settings: Arc::new(settings), notices },
                now,
            );
        }
        // After the board is told: the disk is waited for here.
        if self.announce(&sessions, &verdicts, &runs, now) {
            let newest = Snapshot::clone(&self.out.borrow());
            self.tell(Snapshot { notices: self.shown_notices(now), ..newest }, now);
        }
    }

    fn tell(&mut self, mut snapshot: Snapshot, now: Time) {
        self.revision += 1;
        let board = Arc::make_mut(&mut snapshot.board);
        board.revision = self.revision;
        board.as_of = now.rfc3339();
        let snapshot = Arc::new(snapshot);
        if let Some(told) = &self.told {
            // Whoever listened may have gone.
            let _ = told.send(Arc::clone(&snapshot));
        }
        self.out.send_replace(snapshot);
    }

    /// All followed sessions that the person has not deleted, nor what started them. A sub-agent that was read before its parent
    /// waits for it: alone it would stand as a lane of its own, which ended while its parent works.
    fn followed_sessions(&self, unread: &HashSet<SessionId>) -> Vec<Session> {
        let parent = |s: &Session| s.parent.as_ref().and_then(|p| self.followed.get(p)).map(|f| &f.session);
        let deleted = |s: &Session| {
            std::iter::successors(Some(s), |s| parent(s)).take(16).any(|s| self.deleted.contains(&s.id))
        };
        let shown = |s: &&Session| !deleted(s) && !s.parent.as_ref().is_some_and(|p| unread.contains(p));
        self.followed.values().map(|f| &f.session).filter(shown).cloned().collect()
    }

    /// What started a followed session, has a file, stands for nothing yet, and of which there is news: it is about to be read
    /// again, or was not read so far, nor found to be none.
    fn unread_parents(&mut self) -> HashSet<SessionId> {
        let (followed, known, home, pending) = (&self.followed, &self.known, &self.home, &self.pending);
        let never_read =
            |id: &SessionId| known.get(id).is_none_or(|k| k.fingerprint.is_none() && k.problem.is_none());
        let is_unread =
            |id: &&SessionId| !followed.contains_key(*id) && (pending.contains_key(*id) || never_read(id));
        let parents = followed.values().filter_map(|f| f.session.parent.as_ref()).filter(is_unread);
        let files = &mut self.files;
        parents.filter(|id| files.has(id, || home.conversation(id).exists())).cloned().collect()
    }

    /// What the lanes and sessions of a board used. `stands` has the lane of each followed session by its id.
    fn usage_of(&self, board: &Board, stands: &HashMap<&str, LaneId>) -> board_view::Usage {
        let ids: Vec<SessionId> =
            board.lanes.iter().flat_map(|l| l.sessions.iter().map(|s| s.id.clone())).collect();
        let mut usage = board_view::Usage::default();
        if !ids.is_empty() {
            let f = store::Filter { ids: Some(ids), ..store::Filter::default() };
            let rows = self.store.sessions(&f, store::Sort::Active, false, 0, 1_000).unwrap_or_default();
            usage.sessions = rows
                .into_iter()
                .map(|r| {
                    let model_label = conversation::Details::parse(&r.details).model_label;
                    (r.id, board_view::Used { model: r.model, model_label, sum: r.sum })
                })
                .collect();
        }
        if !board.lanes.is_empty() {
            let stands = |id: &str| stands.get(id).map(|lane| lane.0.clone());
            usage.today = self.store.lanes_since(self.day_from.slot(), stands).unwrap_or_default();
        }
        usage
    }

    fn problems(&self) -> Vec<view::Problem> {
        let mut all = self.listed_problems.clone();
        for (id, k) in &self.known {
            if let Some(v) = &k.problem {
                all.push(conversation::problem_of(id, v));
            }
        }
        all.sort();
        all.dedup_by(|a, b| a.file == b.file);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_asked_once_for_each_file_until_the_next_pass() {
        let ids =
            [1, 2].map(|n| SessionId::parse(&format!("00000000-0000-4000-8000-00000000000{n}")).unwrap());
        let mut files = Files::default();
        let mut asked = 0;
        for _ in 0..3 {
            for (id, there) in ids.iter().zip([true, false]) {
                let look = || {
                    asked += 1;
                    there
                };
                assert_eq!(files.has(id, look), there);
            }
        }
        assert_eq!(asked, 2);
        files.forget();
        assert!(files.has(&ids[1], || true), "it came meanwhile");
    }
}
