//! Sending on the person's word: a test, or a session once more (spec R11).

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use agenthub_agy::Surface;
use agenthub_core::SessionId;
use agenthub_otlp::{
    DestinationId, Encoding, Target,
    probe::Probe,
    queue::{Drained, Ended, When},
};

use super::{
    Tracer, TracingSettings,
    outbox::{Outbox, Spool, as_json, sender},
    setup::{bad_request, io, refused},
    standing::attempt,
};
use crate::{
    queries::{ambiguous, beginning, unread},
    view::{ErrorView, SCHEMA, TracingAttempt, TracingExport, TracingTest, TracingTests},
    way_out,
};

/// So long the command waits for backends.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many ids are named where several begin alike.
const MOST_NAMED: usize = 5;

impl Tracer {
    /// Sends one span to each destination that is switched on, past the queue.
    ///
    /// # Errors
    /// `bad_request` without any destination, `tracing_off` while tracing is off.
    pub fn test(&self) -> Result<TracingTests, ErrorView> {
        let (settings, _) = self.settings();
        let secrets = self.secrets()?;
        let enabled: Vec<_> = settings.destinations.iter().filter(|d| d.enabled).collect();
        if enabled.is_empty() {
            return Err(bad_request(
                "There is no destination to test. Run `agenthub trace install --endpoint URL`.".to_owned(),
            ));
        }
        may_send(&settings, "`agenthub trace status` shows what is kept")?;
        let now = self.now();
        let mut tests = Vec::new();
        for d in enabled {
            let test = match Target::new(d, &secrets) {
                Ok(target) => {
                    let encoding = Encoding::for_destination(d, sender(&settings));
                    let probe = Probe::send(&target, &encoding, now, d.timeout());
                    let told = probe.attempt(now);
                    self.queue().note(&d.id, told.clone());
                    TracingTest {
                        destination: d.id.to_string(),
                        endpoint: probe.endpoint,
                        trace_id: Some(probe.trace_id),
                        attempt: attempt(&told),
                    }
                }
                Err(r) => TracingTest {
                    destination: d.id.to_string(),
                    endpoint: String::new(),
                    trace_id: None,
                    attempt: TracingAttempt {
                        at: now.rfc3339(),
                        spans: 0,
                        fate: "misdirected".to_owned(),
                        http_status: None,
                        message: refused(r).message,
                        rejected_spans: 0,
                        took_ms: 0,
                    },
                },
            };
            tests.push(test);
        }
        let ok = tests.iter().all(|t| t.attempt.fate == "taken");
        Ok(TracingTests { schema: SCHEMA, ok, tests })
    }

    /// Sends every turn of a session once more, under the same ids, or shows what would be sent.
    ///
    /// # Errors
    /// `not_found` for a session that left neither a database nor a transcript, `bad_request` without any destination or
    /// for the beginning of several ids, `tracing_off` while tracing is off and it is no dry run.
    pub fn export(&self, session: &str, dry_run: bool) -> Result<TracingExport, ErrorView> {
        let not_found = || ErrorView {
            code: "not_found".to_owned(),
            message: format!(
                "There is no session {} in {}. `agenthub sessions` lists them.",
                session.chars().take(60).collect::<String>(),
                self.config.gemini_dir.display()
            ),
        };
        let id = self.named(session)?.ok_or_else(not_found)?;
        let mut spool = Spool::new(self)?;
        let (settings, _) = self.settings();
        let enabled: Vec<_> =
            settings.destinations.iter().filter(|d| d.enabled).map(|d| d.id.clone()).collect();
        if !dry_run && enabled.is_empty() && settings.file.is_none() {
            return Err(bad_request(
                "There is no destination to send to. Run `agenthub trace install --endpoint URL`.".to_owned(),
            ));
        }
        if !dry_run {
            may_send(&settings, "`--dry-run` shows what would be sent")?;
        }
        let surface = self.surface_of(&id).ok_or_else(not_found)?;
        let forest = self.forest(&surface, &settings);
        let root = forest.root(&id);
        let told = forest.told(&root, &|_| true).ok_or_else(|| {
            unread::conversation(&self.home(&surface), &root, "sent").unwrap_or_else(not_found)
        })?;
        let unkept = |e: std::io::Error| io(format!("{e} {}", way_out::of_io(&e)));
        let queue = self.queue();
        let before: Vec<_> = enabled.iter().map(|id| queue.standing(id)).collect();
        let (mut spans, mut requests) = (0, Vec::new());
        for turn in &told.turns {
            let (mut trace, _) = forest.tree(&root, turn);
            trace.turn.incomplete = !turn.is_followed && !told.from_transcript && !turn.is_settled;
            spans += u64::try_from(trace.visits().len()).unwrap_or(0);
            if dry_run {
                requests.extend(as_json(&settings, &trace));
            } else {
                spool.put(&trace, None).map_err(unkept)?;
            }
        }
        let (mut destinations, mut ok) = (Vec::new(), true);
        if !dry_run {
            if let Some(why) = spool.file_failed.take() {
                return Err(io(why));
            }
            let drained = all_of_it(&spool, Instant::now() + PATIENCE);
            // What another process sent for us counts, too.
            ok = enabled.iter().zip(&before).all(|(id, before)| {
                let now = queue.standing(id);
                let is_empty = drained.iter().any(|(of, d)| of == id && d.ended == Ended::Empty);
                is_empty
                    && now.refused_spans <= before.refused_spans
                    && now.rejected_spans <= before.rejected_spans
            });
            destinations = self.destinations(&settings, &self.secrets()?);
        }
        let turns = u64::try_from(told.turns.len()).unwrap_or(0);
        let session = root.to_string();
        Ok(TracingExport { schema: SCHEMA, session, turns, spans, ok, destinations, requests })
    }

    /// The session of this id, or the only one whose id begins so: in agy's folders, for the store has the CLI's alone.
    fn named(&self, session: &str) -> Result<Option<SessionId>, ErrorView> {
        if let Some(id) = SessionId::parse(session) {
            return Ok(Some(id));
        }
        let start = beginning(session)?;
        let mut found = BTreeSet::new();
        for surface in self.surfaces() {
            let home = self.home(&surface);
            let brain = home.cli().join("brain");
            for entry in
                [home.conversations(), brain].iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten()
            {
                let name =
                    entry.ok().map(|e| e.file_name().to_string_lossy().into_owned()).unwrap_or_default();
                let id = SessionId::parse(name.strip_suffix(".db").unwrap_or(&name));
                found.extend(id.filter(|id| id.as_str().starts_with(&start)));
            }
        }
        if found.len() > 1 {
            let which: Vec<String> = found.iter().take(MOST_NAMED).map(ToString::to_string).collect();
            return Err(ambiguous(session, &which));
        }
        Ok(found.pop_first())
    }

    /// Where the conversation is: the CLI's folder, else that of another product.
    fn surface_of(&self, id: &SessionId) -> Option<Surface> {
        let has = |s: &Surface| {
            let home = self.home(s);
            home.conversation(id).exists() || home.brain(id).exists()
        };
        self.surfaces().into_iter().find(has)
    }

    /// The CLI first, then other products in agy's home.
    fn surfaces(&self) -> Vec<Surface> {
        let folders = std::fs::read_dir(&self.config.gemini_dir).into_iter().flatten();
        let others = folders.filter_map(|f| Surface::named(f.ok()?.file_name().to_str()?));
        std::iter::once(Surface::CLI).chain(others).collect()
    }
}

/// No connection is made while tracing is off, whoever asks (spec P4).
///
/// # Errors
/// `tracing_off`, with what else there is to do.
fn may_send(settings: &TracingSettings, instead: &str) -> Result<(), ErrorView> {
    if settings.enabled {
        return Ok(());
    }
    let message = format!(
        "Tracing is off, so nothing is sent. `agenthub trace install` switches it on again, with the destinations that are \
         kept; {instead}."
    );
    Err(ErrorView { code: "tracing_off".to_owned(), message })
}

/// Sends until nothing waits. A child that sends to the same backend just now takes ours along, so it is waited for.
fn all_of_it(spool: &Spool<'_>, until: Instant) -> Vec<(DestinationId, Drained)> {
    const BETWEEN: Duration = Duration::from_millis(100);
    loop {
        let drained = spool.drain(When::Asked, until);
        if drained.iter().all(|(_, d)| d.ended != Ended::Busy) || Instant::now() + BETWEEN >= until {
            return drained;
        }
        std::thread::sleep(BETWEEN);
    }
}
