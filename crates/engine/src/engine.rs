//! The one writer: a loop over a closed list of inputs that reads what changed, writes it down, and derives the board.

mod hooks;
mod notices;
mod prices;
mod publishing;
mod reading;
pub(crate) mod rebuild;
mod runs;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use agenthub_agy as agy;
use agenthub_core::{Board, LaneId, Person, Session, SessionId, Time, Windows};
use agenthub_store as store;
use tokio::sync::watch;

use crate::{
    Clock, Config,
    board_view::{self, Header},
    convert,
    doorbell::Doorbell,
    host::{Options, Snapshot},
    journal::Journal,
    places::{Held, Places},
    pricing,
    settings::{Reading, SettingsFile},
    view,
    watch::{News, Watcher},
};
use notices::Notices;

/// Everything that can wake the engine, beside the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    News(News),
    /// A hook wrote into the journal.
    Doorbell,
    /// A run began or ended, or may have.
    Runs,
    /// The person deleted, restored, dismissed or set something: it stands in their own files.
    Person,
    /// The store could not be read by a host: it may be damaged.
    Doubt,
    Stop,
}

/// A file is first read this long after an event: agy writes in bursts.
const SETTLE: Duration = Duration::from_millis(50);
/// At most four reads a second per file.
const LEAST_GAP: Duration = Duration::from_millis(250);
/// The kernel stamps file times with a coarse clock: a file that was written this shortly before it was read is looked
/// at once more (the racy-clean rule).
const RACY: Duration = Duration::from_secs(2);
/// Where open files change silently, the files of unsettled sessions are looked at this often (spec S1).
const STAT_EVERY: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(500)) };
/// How often locks are looked at when no file event tells that one was let go.
const LOCKS_EVERY: Duration = Duration::from_secs(1);
/// From this many files on, readers work in parallel and progress is shown.
const PARALLEL_FROM: usize = 16;
const BATCH: usize = 256;
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What is known of a file.
#[derive(Clone, Debug, Default)]
struct Known {
    /// `None`: to be read.
    fingerprint: Option<agy::Fingerprint>,
    /// It was there, and was looked into: should it go, its session is marked.
    was_here: bool,
    problem: Option<store::Verdict>,
    ever_held: bool,
}

/// A session that may stand on the board.
#[derive(Debug)]
struct Followed {
    session: Session,
    cursor: Option<agy::Cursor>,
}

pub(crate) struct Engine {
    clock: Clock,
    /// In force: `given`, but for what the person set.
    windows: Windows,
    given: Windows,
    settings_file: SettingsFile,
    settings: Reading,
    notices: Notices,
    /// It runs on, and so it has news to tell; an engine that looks once has none.
    watches: bool,
    poll: Duration,
    home: agy::Home,
    index: agy::Index,
    store: store::Store,
    persons: store::PersonStore,
    person: Person,
    deleted: HashSet<SessionId>,
    known: HashMap<SessionId, Known>,
    followed: HashMap<SessionId, Followed>,
    files: publishing::Files,
    held: Option<agy::presence::Held>,
    pending: BTreeMap<SessionId, Instant>,
    last_read: HashMap<SessionId, Instant>,
    listed_problems: Vec<view::Problem>,
    notes: BTreeMap<&'static str, String>,
    /// What this pass could not keep, in words: it stays said, whatever else could be kept.
    unkept: Option<String>,
    drift: Drift,
    header: Header,
    board: Board,
    usage: board_view::Usage,
    /// When the person's day began.
    day_from: Time,
    shelf: pricing::Shelf,
    /// When newer prices were last asked for.
    asked_prices: Option<Instant>,
    out: watch::Sender<Arc<Snapshot>>,
    told: Option<mpsc::Sender<Arc<Snapshot>>>,
    revision: u64,
    /// Something was written to the store since the last publication.
    stored: bool,
    places: Places,
    /// The data folder is held to agy's home.
    bound: bool,
    journal: Journal,
    runs: runs::Runs,
    /// There is a hook event in the store.
    hooked: bool,
    /// Sessions to be read again, since hooks spoke of them a moment ago.
    again: HashMap<SessionId, Instant>,
    /// Which file of the person's this is: one that took the place of a damaged one is younger.
    person_born: Option<Time>,
    /// The store is damaged, and to be begun anew.
    damaged: bool,
    rebuilds: u32,
    /// Held, not read; `None` where nothing is kept.
    _lock: Option<Held>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("known", &self.known.len())
            .field("followed", &self.followed.len())
            .finish()
    }
}

/// Whether agy's format moved: most rows of fresh files no longer decode (spec S5).
#[derive(Clone, Copy, Debug, Default)]
struct Drift {
    rows: u64,
    undecodable: u64,
}

impl Drift {
    const LEAST_ROWS: u64 = 20;

    fn moved(self) -> bool {
        self.rows >= Drift::LEAST_ROWS && self.undecodable * 2 > self.rows
    }
}

impl Engine {
    /// Opens the store under the lock that the caller holds, which only what keeps nothing needs not. Nothing is read yet. `since` is when this host began to watch.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub(crate) fn open(
        config: &Config,
        options: Options,
        places: &Places,
        lock: Option<Held>,
        since: Time,
        out: watch::Sender<Arc<Snapshot>>,
    ) -> Result<Engine, store::StoreError> {
        let Options { clock, windows, told } = options;
        let now = clock.now();
        let mut opened = store::Store::open(&places.store())?;
        let known_rows = |store: &store::Store| {
            store.session_runs()?;
            Ok((store.conversations()?, store.hook_counts()?.0))
        };
        let rows = match known_rows(&opened.store) {
            Err(e) if store::StoreError::is_damage(&e) => {
                opened.damaged = Some(opened.store.begin_anew()?);
                known_rows(&opened.store)
            }
            other => other,
        };
        let (conversations, hook_counts) = rows?;
        let persons = rebuild::persons(places, now)?;
        if opened.damaged.is_some() || opened.store.is_new() {
            opened.store.take_back_gone(&places.person())?;
        }
        opened.store.keep_gone(&places.person(), &[])?;
        let mut notes = BTreeMap::new();
        if let Some(damaged) = &opened.damaged {
            notes.insert("store_rebuilt", rebuild::note(damaged));
        }
        if persons.is_renewed() {
            notes.insert("person_rebuilt", rebuild::PERSON_NOTE.to_owned());
        }
        let home = places.agy_home(&config.gemini_dir);
        let mut known = HashMap::new();
        for c in conversations {
            // A verdict is tried again at each start, and so is a file that was written while it was read.
            let was_here = !c.fingerprint.is_empty() || c.problem.is_some();
            let fingerprint = c.fingerprint.parse::<agy::Fingerprint>().ok();
            let fingerprint = fingerprint.filter(|f| c.problem.is_none() && !f.is_racy(c.read_at));
            known.insert(c.id, Known { fingerprint, was_here, problem: c.problem, ever_held: c.ever_held });
        }
        let settings_file = SettingsFile::new(&config.config_dir);
        let settings = settings_file.read();
        let hooked = !hook_counts.is_empty();
        let runs = runs::Runs::open(places, &opened.store)?;
        let mut engine = Engine {
            runs,
            places: places.clone(),
            bound: false,
            journal: Journal::new(places),
            hooked,
            again: HashMap::new(),
            windows: settings.values.windows(windows),
            given: windows,
            settings_file,
            settings,
            notices: Notices::read(&persons, since)?,
            watches: false,
            poll: Duration::from_millis(config.poll_ms),
            home,
            index: agy::Index::default(),
            store: opened.store,
            persons,
            person: Person::default(),
            deleted: HashSet::new(),
            known,
            followed: HashMap::new(),
            files: publishing::Files::default(),
            held: None,
            pending: BTreeMap::new(),
            last_read: HashMap::new(),
            listed_problems: Vec::new(),
            notes,
            unkept: None,
            drift: Drift::default(),
            header: Header { gemini_dir: convert::for_people(&config.gemini_dir), ..Header::default() },
            board: Board::default(),
            usage: board_view::Usage::default(),
            day_from: Time::default(),
            shelf: pricing::Shelf::new(places),
            asked_prices: None,
            out,
            told,
            revision: 0,
            stored: true,
            person_born: None,
            damaged: false,
            rebuilds: 0,
            _lock: lock,
            clock,
        };
        engine.read_person()?;
        Ok(engine)
    }

    /// Runs until it is told to stop, or every sender is gone.
    pub(crate) fn run(mut self, inbox: &mpsc::Receiver<Input>, tell: mpsc::Sender<Input>) {
        self.watches = true;
        let rung = tell.clone();
        let _doorbell = Doorbell::hang(&self.places, move || {
            // The loop may be over already; the journal is read at the next start then.
            let _ = rung.send(Input::Doorbell);
        });
        let ran = tell.clone();
        let places = self.places.clone();
        let _runs = self.runs.watch(&places, move || {
            // The loop may be over already; the records are read at the next start then.
            let _ = ran.send(Input::Runs);
        });
        let synced = tell.clone();
        let mut watcher = Watcher::start(self.home.conversations(), self.home.presence(), move |n| {
            // The loop may be over already; then nobody needs the news.
            let _ = tell.send(Input::News(n));
        });
        let stop = |inbox: &mpsc::Receiver<Input>| matches!(inbox.try_recv(), Ok(Input::Stop));
        self.start_following();
        self.pass(&mut watcher, &|| stop(inbox));
        self.sync_prices(&synced);
        let mut poll_at = Instant::now() + self.poll;
        let mut locks_at = Instant::now() + LOCKS_EVERY;
        let mut runs_at = Instant::now();
        loop {
            let mut wake = self.wake(poll_at, locks_at, watcher.failure().is_some());
            if let Some(after) = self.runs.due() {
                wake = wake.min(runs_at + after);
            }
            let first = match self.next(inbox, wake) {
                Ok(input) => input,
                Err(mpsc::RecvError) => return,
            };
            let woken_by_clock = first.is_none();
            let mut everything = false;
            let mut presence = false;
            let mut rung = false;
            let mut ran = false;
            for input in first.into_iter().chain(inbox.try_iter()) {
                match input {
                    Input::Stop => return,
                    Input::Person => {
                        self.reread_person();
                        self.reread_notices();
                        everything |= self.settings_file.has_changed_since(&self.settings);
                    }
                    Input::Doubt => self.doubt(),
                    Input::News(News::Conversation(id)) => self.expect(id, SETTLE),
                    Input::Doorbell => rung = true,
                    Input::Runs => ran = true,
                    Input::News(News::Presence) => presence = true,
                    Input::News(News::Everything) => {
                        watcher.renew();
                        everything = true;
                    }
                }
            }
            everything |= self.mend();
            let now = Instant::now();
            if everything || now >= poll_at {
                self.pass(&mut watcher, &|| stop(inbox));
                self.sync_prices(&synced);
                poll_at = Instant::now() + self.poll;
                locks_at = Instant::now() + LOCKS_EVERY;
            } else {
                if STAT_EVERY.is_some() && woken_by_clock {
                    self.expect_changed();
                }
                let blind = watcher.failure().is_some();
                if ran || self.runs.due().is_some_and(|after| runs_at + after <= now) {
                    self.look_at_runs();
                    runs_at = Instant::now();
                    // Whoever holds a session now may be that run's.
                    presence = true;
                }
                if presence || (blind && now >= locks_at) {
                    self.look_at_locks();
                    locks_at = Instant::now() + LOCKS_EVERY;
                }
                if rung || self.journal.due().is_some_and(|due| due <= now) {
                    self.read_journal();
                }
                self.read_again();
                self.read_due();
                if woken_by_clock {
                    self.look_at_transcripts();
                }
                self.publish();
            }
        }
    }

    /// Waits for an input until `wake`; costs that are to be made anew are, meanwhile.
    fn next(
        &mut self,
        inbox: &mpsc::Receiver<Input>,
        wake: Instant,
    ) -> Result<Option<Input>, mpsc::RecvError> {
        while self.store.is_repricing() && Instant::now() < wake {
            match inbox.try_recv() {
                Ok(input) => return Ok(Some(input)),
                Err(mpsc::TryRecvError::Disconnected) => return Err(mpsc::RecvError),
                Err(mpsc::TryRecvError::Empty) => self.reprice(),
            }
            if !self.store.is_repricing() {
                // There is something to publish.
                return Ok(None);
            }
        }
        match inbox.recv_timeout(wake.saturating_duration_since(Instant::now())) {
            Ok(input) => Ok(Some(input)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(mpsc::RecvError),
        }
    }

    /// Looks once at everything and publishes: what a command without a running engine needs.
    pub(crate) fn once(&mut self) {
        self.reprice_all();
        self.start_following();
        self.pass_without_events(&|| false);
        // What it writes may show that the store is damaged.
        if self.mend() {
            self.pass_without_events(&|| false);
        }
    }

    /// When to wake if nothing happens.
    fn wake(&self, poll_at: Instant, locks_at: Instant, blind: bool) -> Instant {
        let now = Instant::now();
        let mut wake = poll_at;
        for due in
            [self.pending.values().min().copied(), self.again.values().min().copied(), self.journal.due()]
        {
            wake = wake.min(due.unwrap_or(wake));
        }
        let changes = [self.board.next_change_at, self.notices.due];
        if let Some(change) = changes.into_iter().flatten().min() {
            // Never more than one wake a second for the clock's sake.
            let ms = change.ms_since(self.clock.now()).clamp(20, 3_600_000);
            wake = wake.min(now + Duration::from_millis(u64::try_from(ms).unwrap_or(1_000)));
        }
        let unsettled = self.board.lanes.iter().any(|l| !l.sessions.is_empty());
        if unsettled && let Some(every) = STAT_EVERY {
            wake = wake.min(now + every);
        }
        if unsettled && blind {
            wake = wake.min(locks_at);
        }
        wake
    }

    fn expect(&mut self, id: SessionId, after: Duration) {
        let mut due = Instant::now() + after;
        if let Some(last) = self.last_read.get(&id) {
            due = due.max(*last + LEAST_GAP);
        }
        let slot = self.pending.entry(id).or_insert(due);
        *slot = (*slot).min(due);
    }

    /// Looks at the files of unsettled sessions where no event tells of a change.
    fn expect_changed(&mut self) {
        let changed: Vec<SessionId> = self
            .followed
            .keys()
            .filter(|id| {
                let seen = self.known.get(*id).and_then(|k| k.fingerprint);
                agy::fingerprint(&self.home.conversation(id)).ok() != seen
            })
            .cloned()
            .collect();
        for id in changed {
            self.expect(id, Duration::ZERO);
        }
    }

    /// Sessions that may stand on the board are read at each start: their state is derived anew from agy's own rows.
    fn start_following(&mut self) {
        let now = self.clock.now();
        self.look_at_runs();
        self.held = agy::presence::held(&self.home);
        let held: Vec<SessionId> = self.held.iter().flat_map(|held| held.keys().cloned()).collect();
        let since = now.plus_ms(-self.windows.board_ms);
        let errors_since = self.person.errors_since.unwrap_or(now);
        match self.store.recent(since, errors_since, &held) {
            Ok(ids) => {
                for id in ids {
                    if let Some(k) = self.known.get_mut(&id) {
                        k.fingerprint = None;
                    }
                }
            }
            Err(e) => self.failed(&e),
        }
        self.follow_hooked(since);
    }

    /// Takes up the settings, if the file has changed.
    fn reread_settings(&mut self) {
        if !self.settings_file.has_changed_since(&self.settings) {
            return;
        }
        self.settings = self.settings_file.read();
        let windows = self.settings.values.windows(self.given);
        if windows != self.windows {
            self.windows = windows;
            self.reread_person();
            // Sessions that had left the board may stand on it again.
            self.start_following();
        }
    }

    fn reread_person(&mut self) {
        if let Err(e) = self.read_person() {
            self.failed(&e);
        }
    }

    fn read_person(&mut self) -> Result<(), store::StoreError> {
        // Opened anew: another host may have had to replace it.
        self.persons = rebuild::persons(&self.places, self.clock.now())?;
        self.store.price_by(self.shelf.now()?.book)?;
        self.store.keep_own_prices(&store::PersonStore::prices_in(&self.places.person())?)?;
        let born = self.persons.born_at()?;
        let replaced = self.person_born.replace(born).is_some_and(|before| before != born);
        if replaced || self.persons.is_renewed() {
            self.notes.insert("person_rebuilt", rebuild::PERSON_NOTE.to_owned());
            for (lane, at) in &self.person.dismissed {
                self.persons.dismiss(&store::Dismissal { lane: lane.0.clone(), at: *at })?;
            }
            self.store.keep_gone(&self.places.person(), &[])?;
        }
        let deleted = self.persons.deleted()?;
        self.store.set_deleted(&deleted)?;
        self.person.dismissed =
            self.persons.dismissals()?.into_iter().map(|d| (LaneId(d.lane), d.at)).collect();
        self.deleted = deleted.into_iter().collect();
        // What failed before AgentHub was there is history: it was seen, or it no longer matters.
        self.person.errors_since = Some(born.plus_ms(-self.windows.board_ms));
        self.stored = true;
        Ok(())
    }
}
