//! Runs on their way from their records to the board, and the sessions that are theirs (spec L5.1, L8).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use agenthub_agy as agy;
use agenthub_core::{Facts, LaneId, LockReading, Run, RunFacts, RunId, Session, SessionId, Time, Verdict};
use agenthub_store as store;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event};

use super::{Engine, LOCKS_EVERY};
use crate::{
    conversation::Found,
    places::Places,
    process::{Process, has_open, nearest},
    runs::{self, Life, Record},
};

/// Records stay for so long after their run left the board.
const KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// And no more than so many of runs that are over: the newest.
const MOST_KEPT: usize = 1_000;
/// agy's logs are asked about a session whose lock nobody holds this often, and for so long. What is not known by then is
/// asked for seldom, for as long as the session is active.
const LOGS_EVERY: Duration = Duration::from_secs(1);
const LOGS_FOR: Duration = Duration::from_secs(30);
const LOGS_SELDOM: Duration = Duration::from_secs(10);

/// The runs that have a record, and whose sessions are whose.
pub(super) struct Runs {
    folder: PathBuf,
    records: BTreeMap<RunId, Record>,
    /// The newest look at each session that a run has or had.
    sessions: HashMap<SessionId, (Time, Option<RunId>)>,
    /// The runs that the store knows of.
    stored: Option<Vec<RunId>>,
    /// Sessions that agy's logs were asked about without an answer.
    asked: HashMap<SessionId, Asked>,
    /// A run lives whose end will make no event.
    alone: bool,
    /// File events of the folder don't come.
    blind: bool,
}

/// When agy's logs were asked about a session, first and last.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: Instant,
    last: Instant,
}

impl Asked {
    /// Whether it is new: what agy writes a moment later may tell.
    fn is_new(self, now: Instant) -> bool {
        now < self.first + LOGS_FOR
    }

    fn is_due(self, now: Instant, is_active: bool) -> bool {
        match self.is_new(now) {
            true => self.last + LOGS_EVERY <= now,
            false => is_active && self.last + LOGS_SELDOM <= now,
        }
    }
}

impl Runs {
    pub(super) fn open(places: &Places, store: &store::Store) -> Result<Runs, store::StoreError> {
        let sessions = store.session_runs()?.into_iter().map(|(id, at, run)| (id, (at, run))).collect();
        Ok(Runs {
            folder: places.runs(),
            records: BTreeMap::new(),
            sessions,
            stored: None,
            asked: HashMap::new(),
            alone: false,
            blind: true,
        })
    }

    /// Calls `tell` for file events of the folder for as long as what is given back is kept.
    pub(super) fn watch(
        &mut self,
        places: &Places,
        tell: impl Fn() + Send + 'static,
    ) -> Option<RecommendedWatcher> {
        let watcher = places
            .make_runs()
            .map_err(notify::Error::io)
            .and_then(|()| {
                let mut w = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                    if event.map_or(true, |e| counts(&e.kind)) {
                        tell();
                    }
                })?;
                w.watch(&places.runs(), RecursiveMode::NonRecursive)?;
                Ok(w)
            })
            .inspect_err(|e| tracing::warn!("no file events of runs ({e}); they are looked at every second"))
            .ok();
        self.blind = watcher.is_none();
        watcher
    }

    pub(super) fn list(&self) -> Vec<Run> {
        self.records.values().map(|r| r.run.clone()).collect()
    }

    /// When to look again although no event came.
    pub(super) fn due(&self) -> Option<Duration> {
        let live = self.records.values().any(|r| r.run.facts.over().is_none());
        let now = Instant::now();
        // What agy writes into its logs makes no event, nor does, elsewhere, a lock that is let go of.
        let silent = self.alone
            || self.blind
            || self.asked.values().any(|asked| asked.is_new(now))
            || !cfg!(target_os = "linux");
        (live && silent).then_some(LOCKS_EVERY)
    }

    /// What is known of a session's run.
    pub(super) fn facts(&self, id: &SessionId) -> Facts {
        match self.sessions.get(id) {
            Some((at, run)) => Facts::from_run(*at, run.clone()),
            None => Facts::default(),
        }
    }

    /// The live run that has this process; `Some(None)` for one that is none's, `None` where that can't be told.
    fn owner(&self, pid: u32, roots: &[(Process, RunId)]) -> Option<Option<RunId>> {
        nearest(pid, |p| roots.iter().find(|(root, _)| *root == p).map(|(_, id)| id.clone()))
    }

    fn roots(&self) -> Vec<(Process, RunId)> {
        self.records.iter().flat_map(|(id, r)| r.roots().map(|p| (p, id.clone()))).collect()
    }
}

/// A record that came or grew, a lock that was let go of by whoever could write to it, and what was removed. Our own
/// reading makes other events.
fn counts(kind: &EventKind) -> bool {
    use event::{AccessKind, AccessMode, ModifyKind};
    matches!(
        kind,
        EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(_) | ModifyKind::Any)
            | EventKind::Access(AccessKind::Close(AccessMode::Write))
    )
}

impl Engine {
    /// Reads the records that are new or longer, and looks who of the others lives.
    pub(super) fn look_at_runs(&mut self) {
        let now = self.clock.now();
        let folder = self.runs.folder.clone();
        let listed: BTreeMap<RunId, u64> = runs::listed(&folder).into_iter().collect();
        self.runs.records.retain(|id, _| listed.contains_key(id));
        self.runs.alone = false;
        for (id, len) in listed {
            let known = self.runs.records.get(&id);
            if known.is_some_and(|r| r.len == len && r.run.facts.over().is_some()) {
                continue;
            }
            // Who lives is asked first: an end that is told in between is then read.
            let Some(record) = Record::read(&folder, &id) else { continue };
            let life = record.lives(&folder);
            let Some(mut record) = Record::read(&folder, &id) else { continue };
            if record.run.facts.end.get().is_none() {
                match life {
                    Life::Waited => record.join(RunFacts::from_life(now)),
                    Life::Alone => {
                        record.join(RunFacts::from_life(now));
                        self.runs.alone = true;
                    }
                    Life::None if record.run.facts.over().is_none() => {
                        record.join(RunFacts::from_loss(now));
                        if !self.places.keeps_nothing()
                            && let Err(e) = runs::lose(&folder, &id, now)
                        {
                            tracing::warn!("the end of run {id} can't be written down: {e}");
                        }
                    }
                    Life::None => {}
                }
            }
            if known.is_none() {
                let lane = LaneId::of_run(&id).0;
                if let Err(e) = self.store.set_run_lane(&id, &lane, &record.run.name) {
                    self.failed(&e);
                }
            }
            self.runs.records.insert(id, record);
        }
    }

    /// Removes the records of runs that left the board long ago (at each pass).
    pub(super) fn forget_runs(&mut self) {
        if self.places.keeps_nothing() {
            return;
        }
        let folder = self.runs.folder.clone();
        let since = self.clock.now().plus_ms(-self.windows.board_ms.saturating_add(KEPT_MS));
        let mut over: Vec<(Time, RunId)> =
            self.runs.records.iter().filter_map(|(id, r)| Some((r.run.facts.over()?, id.clone()))).collect();
        over.sort();
        let surplus = over.len().saturating_sub(MOST_KEPT);
        let old = over.into_iter().enumerate().filter(|(n, (at, _))| *n < surplus || *at < since);
        for (_, (_, id)) in old {
            match runs::remove(&folder, &id) {
                Ok(()) => {
                    self.runs.records.remove(&id);
                }
                Err(e) => tracing::warn!("the record of run {id} can't be removed: {e}"),
            }
        }
        runs::sweep(&folder);
        let kept: Vec<RunId> = self.runs.records.keys().cloned().collect();
        if self.runs.stored.as_ref() == Some(&kept) {
            return;
        }
        let moved = self.store.keep_runs(&kept, |tool, cwd, id| LaneId::of_parts(tool, cwd, id).0);
        match moved {
            Ok(()) => {
                let records = &self.runs.records;
                self.runs.sessions.retain(|_, (_, run)| run.as_ref().is_none_or(|r| records.contains_key(r)));
                self.runs.stored = Some(kept);
            }
            Err(e) => self.failed(&e),
        }
    }

    /// Whose processes hold these sessions open (L8).
    pub(super) fn note_holders(&mut self, held: &agy::presence::Held) {
        if self.runs.records.is_empty() && self.runs.sessions.is_empty() {
            return;
        }
        let roots = self.runs.roots();
        let mut found = Vec::new();
        for (id, pid) in held {
            let before = self.runs.sessions.get(id).and_then(|(_, run)| run.clone());
            let Some(pid) = *pid else { continue };
            if roots.is_empty() && before.is_none() {
                continue;
            }
            let Some(owner) = self.runs.owner(pid, &roots) else { continue };
            // The pid can be dead while a child of it holds the lock, and its number another's.
            let stranger = || has_open(pid, &self.home.presence_lock(id)) == Some(false);
            if owner != before && !stranger() {
                found.push((id.clone(), owner));
            }
        }
        for (id, run) in found {
            self.set_run(&id, run);
        }
        self.ask_logs(&roots);
    }

    /// Where no lock tells whose a session is, agy's log says which process made it.
    fn ask_logs(&mut self, roots: &[(Process, RunId)]) {
        let live = self.runs.records.values().filter(|r| r.run.facts.over().is_none());
        let Some(since) = live.filter_map(|r| r.run.facts.started).min().filter(|_| !roots.is_empty()) else {
            self.runs.asked.clear();
            return;
        };
        let now = Instant::now();
        let unknown: HashSet<SessionId> = self
            .followed
            .values()
            .map(|f| &f.session)
            .filter(|s| s.parent.is_none() && !self.runs.sessions.contains_key(&s.id))
            .filter(|s| s.facts.lock.get() != Some(&LockReading::Held))
            .filter(|s| s.facts.wrote.is_some_and(|t| agy::may_be_since(t, since)))
            .map(|s| s.id.clone())
            .collect();
        self.runs.asked.retain(|id, _| unknown.contains(id));
        let active: HashSet<&SessionId> =
            self.board.lanes.iter().flat_map(|l| l.sessions.iter().map(|s| &s.id)).collect();
        let asked = &self.runs.asked;
        let due = |id: &SessionId| asked.get(id).is_none_or(|a| a.is_due(now, active.contains(id)));
        let due: Vec<SessionId> = unknown.iter().filter(|id| due(id)).cloned().collect();
        if due.is_empty() {
            return;
        }
        let made = agy::log::creators(&self.home, since);
        for id in due {
            self.runs.asked.entry(id.clone()).or_insert(Asked { first: now, last: now }).last = now;
            let makers = made.iter().filter(|(made, _)| *made == id);
            let run = makers.filter_map(|(_, pid)| self.runs.owner(*pid, roots)?).next();
            if run.is_some() {
                self.runs.asked.remove(&id);
                self.set_run(&id, run);
            }
        }
    }

    /// A session is a run's from now on, or no run's any more.
    fn set_run(&mut self, id: &SessionId, run: Option<RunId>) {
        let at = self.clock.now();
        self.runs.sessions.insert(id.clone(), (at, run.clone()));
        let facts = self.runs.facts(id);
        let mut lane = run.as_ref().map(|r| LaneId::of_run(r).0);
        if let Some(f) = self.followed.get_mut(id) {
            f.session.facts = std::mem::take(&mut f.session.facts).joined(facts);
            lane = lane.or_else(|| Some(LaneId::of(&f.session).0));
        }
        let Some(lane) = lane.or_else(|| self.folder_lane(id)) else { return };
        let told = store::SessionRun { session: id.clone(), at, run, lane };
        match self.store.set_session_run(&told) {
            Ok(()) => self.stored = true,
            Err(e) => self.failed(&e),
        }
    }

    fn folder_lane(&self, id: &SessionId) -> Option<String> {
        let row = self.store.session(id).ok().flatten()?;
        Some(LaneId::of_parts(&row.tool, row.cwd.as_deref(), id.as_str()).0)
    }

    /// What a read found, with what is known of its run, before it is written down.
    pub(super) fn add_run(&self, found: &mut Found) {
        let (Some(session), Some(record)) = (&mut found.session, &mut found.change.session) else { return };
        if self.runs.sessions.is_empty() {
            return;
        }
        session.facts = std::mem::take(&mut session.facts).joined(self.runs.facts(&session.id));
        if let Some(run) = self.run_of(session).filter(|run| self.runs.records.contains_key(run)) {
            record.lane = LaneId::of_run(&run).0;
        }
    }

    /// The run of a session, or of what started it.
    fn run_of(&self, session: &Session) -> Option<RunId> {
        let parent = |id: &SessionId| self.followed.get(id).and_then(|f| f.session.parent.clone());
        let root = std::iter::successors(session.parent.clone(), |p| parent(p)).take(16).last();
        self.runs.sessions.get(root.as_ref().unwrap_or(&session.id))?.1.clone()
    }

    /// A turn that began after its run was over is somebody else's, and so is its session from then on.
    pub(super) fn note_taken_up(&mut self, sessions: &[Session], verdicts: &[Verdict]) {
        let taken = |s: &Session, v: &Verdict| {
            let run = self.runs.records.get(s.facts.run.get()?.as_ref()?)?;
            run.run.facts.over().filter(|over| v.turn_at > Some(*over))
        };
        let all: Vec<SessionId> = sessions
            .iter()
            .zip(verdicts)
            .filter(|(s, v)| taken(s, v).is_some())
            .map(|(s, _)| s.id.clone())
            .collect();
        for id in all {
            self.set_run(&id, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l08_whose_a_session_is_stays_a_question_while_the_session_is_active() {
        let first = Instant::now();
        let at = |s: u64| first + Duration::from_secs(s);
        let asked = |last: u64| Asked { first, last: at(last) };
        assert!(!asked(5).is_due(at(5), true) && asked(5).is_due(at(6), false));
        // A log that was not readable, a process that was just being made: for as long as it may matter.
        assert!(!asked(35).is_due(at(36), true));
        assert!(asked(35).is_due(at(3_600), true) && !asked(35).is_due(at(3_600), false));
    }
}
