//! The one door for hosts: start, watch the board, ask, say.

mod bundle;
mod doctor;
mod prices;
mod traces;
mod whole;

use std::{
    collections::HashMap,
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use agenthub_agy as agy;
use agenthub_core::{SessionId, Time, Windows};
use agenthub_store as store;
use tokio::sync::watch;

use crate::{
    Clock, Config, Hooks, UsageBy, UsageQuery,
    board_view::LiveState,
    engine::{Engine, Input, rebuild},
    listing, notices,
    places::Places,
    port, pricing, queries,
    settings::{SettingsFile, Zone},
    tracer::Tracer,
    tracks, usage,
    view::{
        self, BoardView, ErrorView, HooksAction, HooksPlan, HooksStatus, LanesDocument, Notification,
        NotificationsDocument, Problem, SCHEMA, SessionDetail, SessionDocument, SessionsDocument,
        SessionsPage, SessionsQuery, SettingsView, Tracks, TracksQuery, UsageDocument, WholeEntry,
    },
    way_out,
};

/// Everything that the engine tells, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub board: Arc<BoardView>,
    pub(crate) states: HashMap<String, LiveState>,
    pub(crate) problems: Vec<Problem>,
    pub settings: Arc<SettingsView>,
    /// The newest notifications, newest first: a host that can shows those that are pending.
    pub notices: Arc<Vec<Notification>>,
}

impl Snapshot {
    /// The board as `lanes` and `watch` print it.
    pub fn lanes(&self) -> LanesDocument {
        LanesDocument { schema: SCHEMA, lanes: self.board.lanes.iter().map(|l| l.lane.clone()).collect() }
    }
}

/// What tests turn: the clock and the windows, and an ear for all that is told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub clock: Clock,
    pub windows: Windows,
    /// Gets every snapshot that the engine of this process tells, in order. [`Host::watch`] shows only the newest to one
    /// who comes late.
    pub told: Option<mpsc::Sender<Arc<Snapshot>>>,
}

/// What all threads of a host share.
struct Shared {
    config: Config,
    settings: SettingsFile,
    options: Options,
    places: Places,
    /// Why nothing is kept, where that is so.
    unusable: Option<ErrorView>,
    shelf: pricing::Shelf,
    out: watch::Sender<Arc<Snapshot>>,
    /// Where the engine of this process takes its inputs, while it runs.
    mailbox: Mutex<Option<mpsc::Sender<Input>>>,
    stopping: Mutex<bool>,
    stopped: Condvar,
    /// Wakes a client that waits on the port.
    hang_up: tokio::sync::Notify,
    /// What was read for the lanes' tracks.
    tracks: Mutex<tracks::Cache>,
    /// Whether agy's logs name an address, and when that was looked for.
    address: Mutex<Option<(Instant, bool)>>,
    /// When this host began to watch.
    since: Time,
}

/// A running engine, or a client of the one that already runs on the same data folder (spec P7). When that one ends,
/// the client takes over.
pub struct Host {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("data_dir", &self.shared.places.data_dir()).finish()
    }
}

/// How long a look waits for another one, which may be the first on a large home.
const SOON: Duration = Duration::from_secs(30);

impl Host {
    /// Starts the engine, or joins the running one. Returns at once: the first scan shows in the board's `scan`.
    ///
    /// # Errors
    /// When the data folder cannot be made or its store cannot be opened.
    pub fn start(config: Config) -> Result<Host, ErrorView> {
        Host::start_with(config, Options::default())
    }

    /// The same with another clock or other windows.
    ///
    /// # Errors
    /// As [`Host::start`].
    pub fn start_with(config: Config, options: Options) -> Result<Host, ErrorView> {
        let shared = Arc::new(Shared::new(config, options)?);
        let engine = shared.engine()?;
        let thread = std::thread::Builder::new()
            .name("agenthub-engine".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.supervise(engine)
            })
            .map_err(|e| ErrorView {
                code: "io".to_owned(),
                message: format!("No thread could be started: {e}. End some other programs, then try again."),
            })?;
        Ok(Host { shared, thread: Some(thread) })
    }

    /// Looks once: asks the running engine, or else scans everything itself, in this call.
    ///
    /// # Errors
    /// As [`Host::start`]; `other_engine` when the running engine does not answer.
    pub fn once(config: Config, options: Options) -> Result<Host, ErrorView> {
        let shared = Arc::new(Shared::new(config, options)?);
        let began = Instant::now();
        loop {
            if let Some(mut engine) = shared.engine()? {
                engine.once();
                break;
            }
            match port::ask(&shared.places.port()) {
                Ok(snapshot) => {
                    shared.out.send_replace(Arc::new(snapshot));
                    break;
                }
                // Another command that looks once answers nobody, and is soon done; an engine that starts will answer.
                Err(_) if began.elapsed() < SOON => {
                    shared.pause(Duration::from_millis(20));
                }
                Err(e) => {
                    return Err(ErrorView {
                        code: "other_engine".to_owned(),
                        message: format!(
                            "Another AgentHub works on {} and has not answered for {} s: {e}. Try again, or end it.",
                            shared.places.data_dir().display(),
                            SOON.as_secs()
                        ),
                    });
                }
            }
        }
        Ok(Host { shared, thread: None })
    }

    /// Everything that the engine tells, now and at each change.
    pub fn watch(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.shared.out.subscribe()
    }

    /// Where agy's home is.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// A page of sessions. Blocks for a store query: not for a UI thread.
    ///
    /// # Errors
    /// `bad_request` for a query that does not parse, `store` when the store fails.
    pub fn sessions(&self, query: &SessionsQuery) -> Result<SessionsPage, ErrorView> {
        let zone = self.time_zone();
        self.asked(|reader| {
            let (now, home) = (self.snapshot(), &self.shared.config.gemini_dir);
            listing::page(reader, &now, query, self.now(), &zone, &self.prices()?.book, home)
        })
    }

    /// All sessions, sub-agents included, newest first. Blocks.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn all_sessions(&self) -> Result<SessionsDocument, ErrorView> {
        self.sessions_with(None)
    }

    /// The same of those sessions alone, sub-agents among them, whose name, folder or id has `words` in it.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn sessions_with(&self, words: Option<&str>) -> Result<SessionsDocument, ErrorView> {
        self.asked(|reader| queries::all(reader, &self.snapshot(), &self.prices()?.book, words))
    }

    /// One session with its timeline, read from agy's file on demand, as the window shows it. Blocks.
    ///
    /// # Errors
    /// `not_found`, `unreadable` when its file can't be read, or `store` when the store fails.
    pub fn session(&self, id: &str) -> Result<SessionDetail, ErrorView> {
        let (detail, whole) = self.whole_session(id)?;
        Ok(SessionDetail { timeline: whole.into_iter().map(|e| e.entry).collect(), ..detail })
    }

    /// The same with the timeline by itself, and in it all that is known of each step. Blocks.
    ///
    /// # Errors
    /// As [`Host::session`].
    pub fn whole_session(&self, id: &str) -> Result<(SessionDetail, Vec<WholeEntry>), ErrorView> {
        let snapshot = self.snapshot();
        let at = queries::Place {
            home: &self.shared.home(),
            now: self.now(),
            windows: &snapshot.settings.values.windows(self.shared.options.windows),
            zone: &self.time_zone(),
            book: &self.prices()?.book,
        };
        self.asked(|reader| queries::detail(reader, &snapshot, &at, id))
    }

    /// The same as `agenthub session` prints it.
    ///
    /// # Errors
    /// As [`Host::session`].
    pub fn session_document(&self, id: &str) -> Result<SessionDocument, ErrorView> {
        let (detail, timeline) = self.whole_session(id)?;
        Ok(SessionDocument { schema: SCHEMA, session: detail.row.session, timeline })
    }

    /// What each lane of the board did in a stretch of time. Reads those of agy's files that changed since the last
    /// question. Blocks.
    ///
    /// # Errors
    /// `bad_request` for times that do not parse or are too far apart, `store` when the store fails.
    pub fn tracks(&self, query: &TracksQuery) -> Result<Tracks, ErrorView> {
        self.asked(|reader| {
            let mut cache = self.shared.tracks.lock().unwrap_or_else(PoisonError::into_inner);
            tracks::tracks(reader, &self.snapshot(), &self.shared.home(), &mut cache, query, self.now())
        })
    }

    /// Sums by day, model, project or session. Blocks.
    ///
    /// # Errors
    /// `bad_request` for a range or zone that does not parse, `store` when the store fails.
    pub fn usage(&self, query: &UsageQuery) -> Result<UsageDocument, ErrorView> {
        let (zone, now) = (self.time_zone(), self.snapshot());
        self.asked(|reader| usage::at_once(reader, query, &zone, &now.problems))
    }

    /// What the Usage screen shows. Blocks.
    ///
    /// # Errors
    /// `bad_request` for a custom range that is none, `store` when the store fails.
    pub fn usage_screen(&self, query: &view::UsageScreenQuery) -> Result<view::UsageScreen, ErrorView> {
        let zone = self.time_zone();
        let book = self.prices()?.book;
        self.asked(|reader| usage::screen(reader, query, &book, self.now(), &zone))
    }

    /// Writes the sums of a screen's range into a folder, under a name that is free. Blocks.
    ///
    /// # Errors
    /// `bad_request` for a custom range that is none, `io` when it can't be written, `store` when the store fails.
    pub fn usage_export(
        &self,
        by: UsageBy,
        asked: &view::UsageScreenQuery,
        format: view::ExportFormat,
        folder: &std::path::Path,
    ) -> Result<view::Exported, ErrorView> {
        let (zone, now) = (self.time_zone(), self.snapshot());
        let what = (by, asked, format);
        self.asked(|reader| usage::export(reader, what, self.now(), &zone, &now.problems, folder))
    }

    /// What installing, removing or undoing the hooks would change. Writes nothing. Blocks.
    ///
    /// # Errors
    /// The codes of spec H3; `not_found` when there is nothing to undo.
    pub fn hooks_plan(&self, action: HooksAction) -> Result<HooksPlan, ErrorView> {
        self.hooks()?.plan(action)
    }

    /// Does what a plan with this token showed. Blocks.
    ///
    /// # Errors
    /// `ECHANGED` when something has changed since; else as [`Host::hooks_plan`].
    pub fn hooks_apply(&self, token: &str) -> Result<HooksPlan, ErrorView> {
        self.hooks()?.apply(token)
    }

    /// Takes back the last write of hooks.json. Blocks.
    ///
    /// # Errors
    /// As [`Host::hooks_plan`].
    pub fn hooks_undo(&self) -> Result<HooksPlan, ErrorView> {
        let hooks = self.hooks()?;
        hooks.apply(&hooks.plan(HooksAction::Undo)?.token)
    }

    /// How the hooks stand. Blocks.
    ///
    /// # Errors
    /// `io` when our own folders can't be found.
    pub fn hooks_status(&self) -> Result<HooksStatus, ErrorView> {
        Ok(self.hooks()?.status())
    }

    fn hooks(&self) -> Result<Hooks, ErrorView> {
        Hooks::new(&self.shared.config)
    }

    /// The settings in force, read anew. Blocks.
    pub fn settings(&self) -> SettingsView {
        self.shared.settings.view(&self.shared.settings.read())
    }

    /// Merges a patch (RFC 7386) into the settings; the running engine follows at once, here or in another process. Blocks.
    ///
    /// # Errors
    /// `bad_settings` naming the key that can't be so, and nothing is written; `io` when the file can't be.
    pub fn set_settings(&self, patch: &serde_json::Value) -> Result<SettingsView, ErrorView> {
        self.shared.settings.merge(patch)?;
        self.have_engine_look();
        Ok(self.settings())
    }

    /// The history of notifications, those that were held back included. Blocks.
    ///
    /// # Errors
    /// `store` when it can't be read.
    pub fn notifications(&self) -> Result<NotificationsDocument, ErrorView> {
        let settings = self.settings().values;
        let rows = self.person(|p| p.notices(store::PersonStore::NOTICES))?;
        let board = Arc::clone(&self.snapshot().board);
        let lane_name = |id: &str| match board.lanes.iter().find(|l| l.lane.id == id) {
            Some(l) => l.lane.name.clone(),
            None => {
                let folder = id.split_once(':').and_then(|(_, path)| agenthub_core::board::folder_name(path));
                folder.unwrap_or(id).to_owned()
            }
        };
        Ok(notices::document(&rows, &settings, &Zone::of(&settings), self.now(), lane_name))
    }

    /// Whether a lane's notifications are held back. Blocks.
    ///
    /// # Errors
    /// As [`Host::set_settings`].
    pub fn mute_lane(&self, lane_id: &str, mute: bool) -> Result<SettingsView, ErrorView> {
        self.shared.settings.edit(|now| {
            let mut muted = now.notifications.muted_lanes.clone();
            muted.retain(|l| l != lane_id);
            if mute {
                muted.push(lane_id.to_owned());
            }
            serde_json::json!({ "notifications": { "muted_lanes": muted } })
        })?;
        self.have_engine_look();
        Ok(self.settings())
    }

    /// Whether all notifications are held back. Blocks.
    ///
    /// # Errors
    /// As [`Host::set_settings`].
    pub fn mute(&self, mute: bool) -> Result<SettingsView, ErrorView> {
        self.set_settings(&serde_json::json!({ "notifications": { "do_not_disturb": mute } }))
    }

    /// Writes a notification into the history that says no more than that it arrived. Whoever asks for it shows it, whatever
    /// the settings hold back. Blocks.
    ///
    /// # Errors
    /// `store` when it can't be written.
    pub fn test_notification(&self) -> Result<Notification, ErrorView> {
        let row = notices::test_row(self.now());
        let mut persons = self.open_person()?;
        let ids = persons.keep_notices(std::slice::from_ref(&row), &[]).map_err(|e| store_error(&e))?;
        let row = store::NoticeRow { id: ids.first().copied().unwrap_or_default(), ..row };
        self.have_engine_look();
        notices::notification(&row, &self.settings().values, self.now()).ok_or_else(|| ErrorView {
            code: "internal".to_owned(),
            message: "The notification could not be written.".to_owned(),
        })
    }

    /// Takes a pending notification up to show it; `false` when another host did. Blocks.
    ///
    /// # Errors
    /// `store` when it can't be written.
    pub fn take_notification(&self, n: &Notification) -> Result<bool, ErrorView> {
        let taken = self.person(|p| p.claim_notice(n.id, n.round))?;
        self.have_engine_look();
        Ok(taken)
    }

    /// The system did not show a notification, for this reason. Blocks.
    ///
    /// # Errors
    /// `store` when it can't be written.
    pub fn notification_refused(&self, id: i64, why: &str) -> Result<(), ErrorView> {
        self.say(|p| p.refuse_notice(id, why))
    }

    /// The person has seen the lane's error (spec L7).
    ///
    /// # Errors
    /// `store` when it cannot be written down.
    pub fn dismiss(&self, lane_id: &str) -> Result<(), ErrorView> {
        let d = store::Dismissal { lane: lane_id.to_owned(), at: self.now() };
        self.say(|p| p.dismiss(&d))
    }

    /// Hides a session for good, its sub-agents with it; its calls go on belonging to it (spec S9).
    ///
    /// # Errors
    /// `not_found`, or `store` when it cannot be written down.
    pub fn delete_session(&self, id: &str) -> Result<(), ErrorView> {
        let id = parse(id)?;
        self.say(|p| p.delete(&id, self.now()))
    }

    /// Undoes `delete_session`.
    ///
    /// # Errors
    /// `not_found`, or `store` when it cannot be written down.
    pub fn restore_session(&self, id: &str) -> Result<(), ErrorView> {
        let id = parse(id)?;
        self.say(|p| p.restore(&id))
    }

    /// Ends the engine: what is being read is finished or dropped, nothing is left behind.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        *self.shared.stopping.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.stopped.notify_all();
        self.shared.hang_up.notify_one();
        self.shared.tell(Input::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic there was logged where it happened.
            let _ = thread.join();
        }
    }

    fn now(&self) -> Time {
        self.shared.options.clock.now()
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.out.borrow().clone()
    }

    fn prices(&self) -> Result<pricing::Now, ErrorView> {
        self.shared.shelf.now().or_else(|e| {
            if !e.is_damage() {
                return Err(store_error(&e));
            }
            // Replaced by one with what is still known.
            self.open_person()?;
            self.have_engine_look();
            self.shared.shelf.now().map_err(|e| store_error(&e))
        })
    }

    fn reader(&self) -> Result<store::Store, ErrorView> {
        store::Store::reader(&self.shared.places.store()).map_err(|e| store_error(&e))
    }

    /// Asks the store. One that turns out to be damaged is begun anew: by the running engine, which is told, else at once.
    fn asked<T>(&self, ask: impl Fn(&store::Store) -> Result<T, ErrorView>) -> Result<T, ErrorView> {
        let once = || self.reader().and_then(|reader| ask(&reader));
        let answer = once();
        if !matches!(&answer, Err(e) if e.code == DAMAGED) || self.shared.tell(Input::Doubt) {
            return answer;
        }
        match self.shared.engine() {
            Ok(Some(mut engine)) if self.thread.is_none() => {
                engine.doubt();
                engine.once();
                once()
            }
            // Somebody else's engine finds out by itself.
            _ => answer,
        }
    }

    /// Writes into the person's own file and has the engine look, here or in the other process.
    fn say(
        &self,
        f: impl FnOnce(&store::PersonStore) -> Result<(), store::StoreError>,
    ) -> Result<(), ErrorView> {
        self.person(f)?;
        self.have_engine_look();
        Ok(())
    }

    fn person<T>(
        &self,
        f: impl FnOnce(&store::PersonStore) -> Result<T, store::StoreError>,
    ) -> Result<T, ErrorView> {
        f(&self.open_person()?).map_err(|e| store_error(&e))
    }

    fn open_person(&self) -> Result<store::PersonStore, ErrorView> {
        rebuild::persons(&self.shared.places, self.now()).map_err(|e| store_error(&e))
    }

    fn have_engine_look(&self) {
        if !self.shared.tell(Input::Person) {
            // Without an answer the other engine reads it at its next start.
            let _ = port::look(&self.shared.places.port());
        }
    }

    /// The zone in which the person's days and times are told.
    pub fn time_zone(&self) -> jiff::tz::TimeZone {
        Zone::of(&self.snapshot().settings.values).zone
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn new(config: Config, options: Options) -> Result<Shared, ErrorView> {
        let places = Places::made(&config)?;
        places.may_belong_to(&config.gemini_dir)?;
        Ok(Shared::over(places, config, options))
    }

    fn over(places: Places, config: Config, options: Options) -> Shared {
        let since = options.clock.now();
        let settings = SettingsFile::new(&config.config_dir);
        let first = Snapshot { settings: Arc::new(settings.view(&settings.read())), ..Snapshot::default() };
        Shared {
            config,
            settings,
            options,
            shelf: pricing::Shelf::new(&places),
            places,
            unusable: None,
            out: watch::channel(Arc::new(first)).0,
            mailbox: Mutex::new(None),
            stopping: Mutex::new(false),
            stopped: Condvar::new(),
            hang_up: tokio::sync::Notify::new(),
            tracks: Mutex::default(),
            address: Mutex::default(),
            since,
        }
    }

    fn home(&self) -> agy::Home {
        self.places.agy_home(&self.config.gemini_dir)
    }

    /// The engine, if nobody else runs one on this data folder.
    fn engine(&self) -> Result<Option<Engine>, ErrorView> {
        let lock = match self.places.keeps_nothing() {
            true => None,
            false => match self.places.lock().map_err(|e| self.places.unwritable(&e))? {
                None => return Ok(None),
                held => held,
            },
        };
        Engine::open(&self.config, self.options.clone(), &self.places, lock, self.since, self.out.clone())
            .map(Some)
            .map_err(|e| store_error(&e))
    }

    fn tell(&self, input: Input) -> bool {
        let mailbox = self.mailbox.lock().unwrap_or_else(PoisonError::into_inner);
        mailbox.as_ref().is_some_and(|m| m.send(input).is_ok())
    }

    /// Runs the engine, or follows the one that runs elsewhere until it ends, until this host is stopped.
    fn supervise(&self, mut engine: Option<Engine>) {
        while !self.is_stopping() {
            match engine.take() {
                Some(engine) => self.run(engine),
                None => port::follow(&self.places.port(), &self.out, &self.hang_up),
            }
            if self.pause(Duration::from_millis(200)) {
                return;
            }
            match self.engine() {
                Ok(e) => engine = e,
                Err(e) => tracing::error!("{}", e.message),
            }
        }
    }

    fn run(&self, engine: Engine) {
        for hooks in [Hooks::new(&self.config), Hooks::tracing(&self.config)] {
            if let Err(e) = hooks.and_then(|hooks| hooks.refresh()) {
                tracing::warn!("the hooks could not be brought up to date: {} ({})", e.message, e.code);
            }
        }
        // Ends with this engine.
        let (_tracing, ended) = mpsc::channel();
        Tracer::keep_working(self.config.clone(), self.options.clock.clone(), ended);
        let (tell, inbox) = mpsc::channel();
        let look = tell.clone();
        let port = port::serve(&self.places.port(), self.out.subscribe(), move || {
            // The engine may have ended; then nobody needs to look.
            let _ = look.send(Input::Person);
        });
        if let Err(e) = &port {
            tracing::warn!("other hosts can't ask this engine: {e}");
        }
        *self.mailbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell.clone());
        // A stop that came before the mailbox stood would be missed otherwise.
        if !self.is_stopping() {
            engine.run(&inbox, tell);
        }
        *self.mailbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, unless the host is stopped meanwhile; says whether it was.
    fn pause(&self, at_most: Duration) -> bool {
        let stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.stopped.wait_timeout_while(stopping, at_most, |stopping| !*stopping);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn parse(id: &str) -> Result<SessionId, ErrorView> {
    SessionId::parse(id).ok_or_else(|| not_found(id))
}

pub(crate) fn not_found(id: &str) -> ErrorView {
    ErrorView { code: "not_found".to_owned(), message: format!("There is no session `{id}`.") }
}

pub(crate) fn store_error(e: &store::StoreError) -> ErrorView {
    let code = if e.is_damage() { DAMAGED } else { "store" };
    let message = way_out::of_store(e).map_or_else(|| e.to_string(), |way| format!("{e}. {way}"));
    ErrorView { code: code.to_owned(), message }
}

const DAMAGED: &str = "store_damaged";
