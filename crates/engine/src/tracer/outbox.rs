//! Where finished turns go: to each destination's queue on disk, and to the file that the person named.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use agenthub_core::trace::{SpanId, Trace};
use agenthub_otlp::{
    CacheWriteName, Destination, DestinationId, Encoding, Profiles, Queue, Sender, Target,
    file::write_json_lines,
    queue::{Drained, When},
};

use super::{Tracer, change::SetUp, settings::TracingSettings};
use crate::{view::ErrorView, way_out};

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

/// The outbox of a data folder. It follows the settings: what the person changes while a child works counts at once.
pub(crate) struct Spool<'a> {
    tracer: &'a Tracer,
    queue: Queue,
    set_up: SetUp,
    /// Something new waits since the last sending.
    fresh: bool,
    /// Why the file that the person named could not be written last.
    pub(crate) file_failed: Option<String>,
}

impl<'a> Spool<'a> {
    /// # Errors
    /// When the secrets can't be read.
    pub(crate) fn new(tracer: &'a Tracer) -> Result<Spool<'a>, ErrorView> {
        Ok(Spool { tracer, queue: tracer.queue(), set_up: tracer.set_up()?, fresh: false, file_failed: None })
    }

    /// Reads the settings anew; `true` where they are others now.
    fn follow(&mut self) -> bool {
        match self.tracer.set_up() {
            Ok(now) => std::mem::replace(&mut self.set_up, now) != self.set_up,
            Err(e) => {
                tracing::warn!("tracing goes on with the settings from before: {}", e.message);
                false
            }
        }
    }

    fn enabled(&self) -> impl Iterator<Item = &Destination> {
        self.set_up.settings.destinations.iter().filter(|d| d.enabled)
    }

    /// What can be sent to now. A destination that is set up wrongly keeps what waits for it, and status says why.
    fn targets(&self) -> Vec<(DestinationId, Target)> {
        let target = |d: &Destination| Some((d.id.clone(), Target::new(d, &self.set_up.secrets).ok()?));
        self.enabled().filter_map(target).collect()
    }

    /// Sends what waits, whether tracing is switched on or not: a person asked, or it is known to be.
    pub(crate) fn drain(&self, when: When, until: Instant) -> Vec<(DestinationId, Drained)> {
        let clock = self.tracer.clock.clone();
        self.queue.drain_all(&self.targets(), when, until, move || clock.now())
    }

    /// The same with the settings as they are now, and nothing where tracing was switched off meanwhile.
    pub(crate) fn drain_due(&mut self, until: Instant) {
        self.follow();
        if self.set_up.settings.is_on() {
            self.drain(When::Due, until);
        }
    }

    /// Waits for backends that are away, while there is time, as long as their next attempt lies in it.
    pub(crate) fn drain_patiently(&mut self, until: Instant) {
        /// Between two looks at the settings.
        const LOOK: Duration = Duration::from_millis(500);
        loop {
            self.drain_due(until);
            if !self.set_up.settings.is_on() {
                return;
            }
            let now = self.tracer.now();
            let ids: Vec<DestinationId> = self.enabled().map(|d| d.id.clone()).collect();
            let Some(next) = self.queue.next_due(&ids, now) else { return };
            let pause = Duration::from_millis(u64::try_from(next.ms_since(now)).unwrap_or(0).max(100));
            let wakes = Instant::now() + pause;
            if wakes >= until {
                return;
            }
            // Another endpoint may take what this one did not.
            while Instant::now() < wakes && !self.follow() {
                std::thread::sleep(LOOK.min(wakes.saturating_duration_since(Instant::now())));
            }
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
        self.follow();
        let sender = sender(&self.set_up.settings);
        for d in self.enabled() {
            let batches = Encoding::for_destination(d, sender.clone()).batches_of(trace, &wanted);
            let kept = self.queue.put(&d.id, place, &batches, self.tracer.now());
            kept.map_err(|e| io::Error::new(e.why.kind(), e))?;
        }
        self.fresh = true;
        if let Some(path) = &self.set_up.settings.file {
            let encoding = Encoding::new(Profiles::Both, CacheWriteName::CacheWrite, sender);
            let mut lines = Vec::new();
            write_json_lines(&mut lines, &encoding.requests_of(trace, &wanted))?;
            // A file that can't be written holds up no backend; status and doctor say so.
            if let Err(e) = append(path, &lines) {
                let said = format!("{} can't be written: {e}.", path.display());
                if self.enabled().next().is_none() {
                    return Err(io::Error::new(e.kind(), said));
                }
                tracing::warn!("traces can't be written to the file that was named: {e}");
                self.file_failed = Some(format!("{said} {}", way_out::of_io(&e)));
            }
        }
        Ok(())
    }

    fn send(&mut self, until: Instant) {
        let when = if std::mem::take(&mut self.fresh) { When::New } else { When::Due };
        self.follow();
        if self.set_up.settings.is_on() {
            self.drain(when, until);
        }
    }
}

/// One write, so that lines of two processes do not mix. A line that a full disk cut short stays one of its own, and spoils none
/// of these.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    if file.metadata()?.is_file() && ends_within_a_line(path) {
        return file.write_all(&[b"\n", bytes].concat());
    }
    file.write_all(bytes)
}

/// `false` also where it may not be read.
fn ends_within_a_line(path: &Path) -> bool {
    let mut last = [b'\n'];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_ok() && last != *b"\n"
}

/// What would be sent.
pub(crate) fn as_json(settings: &TracingSettings, trace: &Trace) -> Vec<serde_json::Value> {
    let encoding = Encoding::new(Profiles::Both, CacheWriteName::CacheWrite, sender(settings));
    encoding.requests(trace).iter().map(agenthub_otlp::file::json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_a_line_that_was_cut_short_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("traces.jsonl");
        append(&path, b"{\"a\":1}\n").unwrap();
        append(&path, b"{\"b\":").unwrap();
        append(&path, b"{\"c\":3}\n{\"d\":4}\n").unwrap();
        append(&path, b"{\"e\":5}\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["{\"a\":1}", "{\"b\":", "{\"c\":3}", "{\"d\":4}", "{\"e\":5}"]);
    }
}
