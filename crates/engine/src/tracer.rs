//! Traces: agy's turns, sent to the backends that the person chose (spec §9).
//!
//! The way through: agy's hook leaves a `job` and a child behind it ([`receive`]); whoever works next ([`Tracer::work`])
//! asks which turns are `due`, makes their `tree`, takes away what may not leave (`privacy`), and puts them into the
//! `outbox`. What was sent stands in the `register`.

mod change;
mod due;
mod export;
mod hook;
mod job;
mod outbox;
pub(crate) mod privacy;
mod register;
mod settings;
mod setup;
mod standing;
mod switching;
pub(crate) mod tree;
mod work;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use agenthub_agy::{Home, Surface};
use agenthub_core::Time;

use crate::{Clock, Config, places::Places, pricing, view::ErrorView};
use outbox::Spool;
use tree::Forest;
use work::Work;

pub use agenthub_otlp::Preset;
pub use hook::receive;
pub use privacy::Content;
pub use settings::{Problem, TracingSettings, UserName};
pub use setup::Install;
pub use work::{Patience, Worked};

/// The tracer of one agy home, as seen from one data folder.
pub struct Tracer {
    config: Config,
    places: Places,
    clock: Clock,
    shelf: pricing::Shelf,
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Tracer {
    /// # Errors
    /// When our data folder is another home's, or the current folder, from which paths may be relative, is unknown.
    pub fn new(config: &Config, clock: Clock) -> Result<Tracer, ErrorView> {
        let config = config.absolute()?;
        let places = Places::tried(&config.data_dir);
        places.may_belong_to(&config.gemini_dir)?;
        let shelf = pricing::Shelf::new(&places);
        Ok(Tracer { config, places, clock, shelf })
    }

    /// Whether the person switched it on.
    pub fn is_on(&self) -> bool {
        self.settings().0.is_on()
    }

    /// Does what there is to do: hook events, turns that are due, spans that wait to be sent. Returns after `limit`.
    ///
    /// # Errors
    /// When our folders can't be used. Nothing is lost: the next one goes on.
    pub fn work(&self, patience: Patience, limit: Duration) -> anyhow::Result<Worked> {
        let until = Instant::now() + limit;
        let (settings, problems) = self.settings();
        for p in &problems {
            tracing::debug!("in the settings, `{}`: {}", p.key, p.message);
        }
        if !settings.is_on() {
            // Events of a time in which it is off are not looked at later.
            let _ = fs::remove_dir_all(self.jobs());
            let _ = fs::remove_dir_all(self.open());
            return Ok(Worked::default());
        }
        let mut spool = Spool::new(self).map_err(|e| anyhow::anyhow!(e.message))?;
        let mut work = Work { tracer: self, settings, outbox: &mut spool, patience, until };
        let worked = work.run();
        match patience {
            Patience::Waits => spool.drain_patiently(until),
            Patience::Looks => spool.drain_due(until),
        }
        worked
    }

    /// Works on its own as long as an engine runs, until `ended` is dropped at its other end: what hooks left, turns that
    /// were held too long, and backends that were away (R7, R8).
    pub(crate) fn keep_working(config: Config, clock: Clock, ended: std::sync::mpsc::Receiver<()>) {
        use std::sync::mpsc::RecvTimeoutError::Timeout;

        const FIRST: Duration = Duration::from_secs(2);
        const EVERY: Duration = Duration::from_secs(30);
        const LIMIT: Duration = Duration::from_secs(25);
        let work = move || {
            let mut wait = FIRST;
            while ended.recv_timeout(wait) == Err(Timeout) {
                wait = EVERY;
                let tracer = Tracer::new(&config, clock.clone());
                let Ok(tracer) = tracer.map_err(|e| tracing::warn!("tracing: {}", e.message)) else {
                    continue;
                };
                if tracer.is_on()
                    && let Err(e) = tracer.work(Patience::Looks, LIMIT)
                {
                    tracing::warn!("tracing: {e:#}");
                }
            }
        };
        // Nobody waits for it: cut off anywhere, it loses nothing.
        if let Err(e) = std::thread::Builder::new().name("agenthub-tracer".to_owned()).spawn(work) {
            tracing::warn!("tracing is left to the hooks: {e}");
        }
    }

    fn jobs(&self) -> PathBuf {
        self.places.tracing().join("jobs")
    }

    fn turns(&self) -> PathBuf {
        self.places.tracing().join("turns")
    }

    fn open(&self) -> PathBuf {
        self.places.tracing().join("open")
    }

    fn locks(&self) -> PathBuf {
        self.places.tracing().join("locks")
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn home(&self, surface: &Surface) -> Home {
        Home::new(self.config.gemini_dir.clone())
            .with_private_copies_in(self.places.copies())
            .of_surface(surface.clone())
    }

    fn forest(&self, surface: &Surface, settings: &TracingSettings) -> Forest {
        // Without the person's own prices a cost would be wrong: then there is none.
        let now = self.shelf.now().map_err(|e| tracing::warn!("prices can't be read: {e}"));
        Forest::new(self.home(surface), &self.home(&Surface::CLI), settings, now.ok().map(|n| n.book))
    }
}

/// When hooks told something last, by event.
pub(crate) fn last_hooks(places: &Places) -> Vec<(String, Time)> {
    let folder = places.tracing();
    let mut last: BTreeMap<&'static str, Time> = BTreeMap::new();
    let mut note = |event, at: Option<Time>| {
        if let Some(at) = at {
            last.entry(event).and_modify(|t| *t = (*t).max(at)).or_insert(at);
        }
    };
    // Only conversations in which something happened lately; older ones tell nothing newer.
    for (surface, id) in register::conversations(&folder.join("open"), ".open") {
        let heard =
            register::Register::read(&register::file(&folder.join("turns"), &surface, &id, ".json")).heard;
        note("Stop", heard.stopped.max(heard.held));
        note("PreInvocation", heard.begun);
    }
    last.into_iter().map(|(event, at)| (event.to_owned(), at)).collect()
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, bytes)
}
