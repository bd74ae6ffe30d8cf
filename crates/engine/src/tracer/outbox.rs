//! Where finished turns go: to each destination's queue on disk, and to the file that the person named.

use std::{
    collections::HashSet,
    fs::File,
    io,
    time::{Duration, Instant},
};

use agenthub_core::trace::{SpanId, Trace};
use agenthub_otlp::{
    CacheWriteName, DestinationId, Encoding, Profiles, Queue, Secrets, Sender, Target,
    file::write_json_lines,
    queue::{Drained, When},
};

use super::settings::TracingSettings;
use crate::Clock;

/// Takes turns, so that they outlive this process.
pub(crate) trait Outbox {
    /// `only`: not the whole tree, but these spans of it.
    ///
    /// # Errors
    /// When it can't be written; the turn counts as not sent then.
    fn put(&mut self, trace: &Trace, only: Option<&HashSet<SpanId>>) -> io::Result<()>;

    /// Sends what waits, as far as the backends are there, until then.
    fn send(&mut self, until: Instant);
}

/// The outbox of a data folder.
pub(crate) struct Spool<'a> {
    pub(crate) queue: Queue,
    pub(crate) settings: &'a TracingSettings,
    pub(crate) secrets: &'a Secrets,
    pub(crate) sender: Sender,
    pub(crate) clock: Clock,
    /// Something new waits since the last sending.
    fresh: bool,
}

impl<'a> Spool<'a> {
    pub(crate) fn new(
        queue: Queue,
        settings: &'a TracingSettings,
        secrets: &'a Secrets,
        clock: Clock,
    ) -> Spool<'a> {
        Spool { queue, settings, secrets, sender: sender(settings), clock, fresh: false }
    }

    /// What can be sent to now. A destination that is set up wrongly keeps what waits for it, and status says why.
    fn targets(&self) -> Vec<(DestinationId, Target)> {
        let enabled = self.settings.destinations.iter().filter(|d| d.enabled);
        enabled.filter_map(|d| Some((d.id.clone(), Target::new(d, self.secrets).ok()?))).collect()
    }

    pub(crate) fn drain(&self, when: When, until: Instant) -> Vec<(DestinationId, Drained)> {
        let clock = self.clock.clone();
        self.queue.drain_all(&self.targets(), when, until, move || clock.now())
    }

    /// Waits for backends that are away, while there is time, as long as their next attempt lies in it.
    pub(crate) fn drain_patiently(&self, until: Instant) {
        let ids: Vec<DestinationId> =
            self.settings.destinations.iter().filter(|d| d.enabled).map(|d| d.id.clone()).collect();
        loop {
            self.drain(When::Due, until);
            let now = self.clock.now();
            let Some(next) = self.queue.next_due(&ids, now) else { return };
            let pause = Duration::from_millis(u64::try_from(next.ms_since(now)).unwrap_or(0).max(100));
            if Instant::now() + pause >= until {
                return;
            }
            std::thread::sleep(pause);
        }
    }
}

/// What the resource says of us.
pub(crate) fn sender(settings: &TracingSettings) -> Sender {
    Sender {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: settings.host_name.then(host_name).flatten(),
    }
}

fn host_name() -> Option<String> {
    #[cfg(unix)]
    {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        (!name.is_empty()).then_some(name)
    }
    #[cfg(not(unix))]
    {
        std::env::var("COMPUTERNAME").ok()
    }
}

impl Outbox for Spool<'_> {
    fn put(&mut self, trace: &Trace, only: Option<&HashSet<SpanId>>) -> io::Result<()> {
        let wanted = |id: SpanId| only.is_none_or(|o| o.contains(&id));
        // A part does not stand for the whole that may still wait: it has a place of its own in the queue.
        let place = match only {
            None => trace.turn.id,
            Some(ids) => {
                let mut ids: Vec<SpanId> = ids.iter().copied().collect();
                ids.sort();
                let bytes: Vec<u8> = ids.iter().flat_map(|id| *id.bytes()).chain(*trace.id.bytes()).collect();
                SpanId::from_random(&bytes)
            }
        };
        for d in self.settings.destinations.iter().filter(|d| d.enabled) {
            let batches = Encoding::for_destination(d, self.sender.clone()).batches_of(trace, &wanted);
            self.queue.put(&d.id, place, &batches, self.clock.now()).map_err(io::Error::other)?;
            self.fresh = true;
        }
        if let Some(path) = &self.settings.file {
            let encoding = Encoding::new(Profiles::Both, CacheWriteName::CacheWrite, self.sender.clone());
            let mut lines = Vec::new();
            write_json_lines(&mut lines, &encoding.requests_of(trace, &wanted))?;
            append(path, &lines)?;
        }
        Ok(())
    }

    fn send(&mut self, until: Instant) {
        let when = if std::mem::take(&mut self.fresh) { When::New } else { When::Due };
        self.drain(when, until);
    }
}

/// One write, so that lines of two processes do not mix.
fn append(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, bytes)
}

/// What would be sent.
pub(crate) fn as_json(settings: &TracingSettings, trace: &Trace) -> Vec<serde_json::Value> {
    let encoding = Encoding::new(Profiles::Both, CacheWriteName::CacheWrite, sender(settings));
    encoding.requests(trace).iter().map(agenthub_otlp::file::json).collect()
}
