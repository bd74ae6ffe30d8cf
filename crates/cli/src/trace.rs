//! `agenthub trace`: tracing as a person and a script use it.

pub(crate) mod args;
pub(crate) mod hook;

use std::time::Duration;

use agenthub_core::words::counted;
use agenthub_engine::{
    Clock, Config,
    tracer::{self, Patience, Tracer},
    view::{
        ErrorView, HooksState, TracingAttempt, TracingDestination, TracingStatus, TracingTests, TracingWish,
    },
};

use crate::{
    hooks,
    out::{self, age, safe},
    run::{Failed, Told},
};
use args::{Install, TraceCommand};

/// A child that a hook left behind ends by then, whatever it waits for (spec R4).
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) fn run(config: &Config, command: &TraceCommand) -> anyhow::Result<()> {
    let tracer = || Tracer::new(config, Clock::System).map_err(Failed);
    match command {
        TraceCommand::Status { json } => {
            let status = tracer()?.status().map_err(Failed)?;
            if *json { out::json(&status) } else { Ok(out::line(&told(&status, jiff::Timestamp::now()))?) }
        }
        TraceCommand::Install(install) => {
            let wish = wish(install)?;
            let change = tracer()?.install(&wish, install.dry_run).map_err(Failed)?;
            if command.json() {
                return out::json(&change);
            }
            out::line(&hooks::shown(&change.plan))?;
            for note in &change.notes {
                out::line(&safe(note))?;
            }
            let end = if install.dry_run { "Nothing was written (`--dry-run`)." } else { "Tracing is on." };
            Ok(out::line(end)?)
        }
        TraceCommand::Uninstall { purge, dry_run, json } => {
            let change = tracer()?.uninstall(*purge, *dry_run, None).map_err(Failed)?;
            if *json {
                return out::json(&change);
            }
            out::line(&hooks::shown(&change.plan))?;
            for note in &change.notes {
                out::line(&safe(note))?;
            }
            let end = if *dry_run { "Nothing was written (`--dry-run`)." } else { "Tracing is off." };
            Ok(out::line(end)?)
        }
        TraceCommand::Test { json } => {
            let tests = tracer()?.test().map_err(Failed)?;
            if *json {
                out::json(&tests)?;
            } else {
                out::line(&tested(&tests))?;
            }
            let not = tests.tests.iter().filter(|t| t.attempt.fate != "taken");
            if tests.ok { Ok(()) } else { Err(not_taken(not.map(|t| t.destination.as_str()))) }
        }
        TraceCommand::Export { session, dry_run, json } => {
            let done = tracer()?.export(session, *dry_run).map_err(Failed)?;
            let not = done.destinations.iter().filter(|d| d.enabled && !took(d)).map(|d| d.id.as_str());
            let end = if done.ok { Ok(()) } else { Err(not_taken(not)) };
            if *json {
                out::json(&done)?;
                return end;
            }
            if *dry_run {
                for r in &done.requests {
                    out::line(&serde_json::to_string(r)?)?;
                }
                return Ok(());
            }
            let mut lines = vec![format!(
                "{}: {}, {}.",
                safe(&done.session),
                counted(done.turns, "turn", "turns"),
                counted(done.spans, "span", "spans")
            )];
            lines.extend(done.destinations.iter().flat_map(|d| destination(d, jiff::Timestamp::now())));
            out::line(&lines.join("\n"))?;
            end
        }
        // Without an event there is nothing to take over.
        TraceCommand::Hook { .. } => Ok(()),
        TraceCommand::Work { limit_s } => work(config, Duration::from_secs(*limit_s)),
    }
}

/// The child that a hook left behind.
fn work(config: &Config, limit: Duration) -> anyhow::Result<()> {
    // Out of agy's session and process group: what ends agy must not end this.
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    std::thread::Builder::new().spawn(|| {
        std::thread::sleep(LONGEST);
        std::process::exit(1);
    })?;
    let tracer = Tracer::new(config, Clock::System).map_err(Failed)?;
    tracer.work(Patience::Waits, limit.min(LONGEST - Duration::from_secs(2)))?;
    Ok(())
}

fn wish(i: &Install) -> Result<tracer::Install, Failed> {
    let said = TracingWish {
        preset: i.preset.as_deref().map(safe),
        destination: i.destination.clone(),
        add: i.add,
        endpoint: i.endpoint.clone(),
        headers: i.headers.clone(),
        project: i.project.clone(),
        ..TracingWish::default()
    };
    let wish = tracer::Install::of(&said).map_err(Failed)?;
    Ok(tracer::Install { user: i.user.map(Into::into), ..wish })
}

fn told(s: &TracingStatus, now: jiff::Timestamp) -> String {
    let mut lines = vec![safe(&s.message)];
    if s.hook.state != HooksState::NotInstalled || s.enabled {
        lines.push(format!("Hook: {}", safe(&s.hook.message)));
    }
    for d in &s.destinations {
        lines.extend(destination(d, now));
    }
    lines.extend(s.file.iter().map(|f| format!("File: {}", safe(f))));
    let content = [
        ("prompts", s.content.prompts),
        ("answers", s.content.answers),
        ("thinking", s.content.thinking),
        ("tool arguments", s.content.arguments),
        ("tool results", s.content.results),
    ];
    let on: Vec<&str> = content.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if s.enabled {
        let content = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
        let nobody = if s.user_found == Some(false) { ", but no log of agy's names an address" } else { "" };
        lines.push(format!("Content that leaves: {content}. User: {}{nobody}.", s.user));
    }
    lines.extend(s.problems.iter().map(|p| format!("Warning: `{}`: {}", safe(&p.key), safe(&p.message))));
    lines.extend(s.advice.iter().map(|a| format!("→ {a}")));
    lines.join("\n")
}

fn destination(d: &TracingDestination, now: jiff::Timestamp) -> Vec<String> {
    let off = if d.enabled { "" } else { " (off)" };
    let mut lines = vec![format!("{}{off}: {}", safe(&d.id), safe(&d.endpoint))];
    if !d.headers.is_empty() {
        lines.push(format!("  headers: {}", safe(&d.headers.join(", "))));
    }
    lines.extend(d.error.iter().map(|e| format!("  {}", safe(&e.message))));
    lines.extend(d.doubt.iter().map(|doubt| format!("  Warning: {}", safe(doubt))));
    let counts = [
        ("sent", d.sent_spans),
        ("waiting", d.waiting_spans),
        ("rejected", d.rejected_spans),
        ("refused", d.refused_spans),
        ("dropped", d.dropped_spans),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(name, n)| *n > 0 || matches!(*name, "sent" | "waiting"))
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    lines.push(format!("  spans: {}", counts.join(", ")));
    lines.extend(d.last.iter().map(|a| format!("  last: {} ago, {}", age(Some(&a.at), now), answer(a))));
    lines
}

fn answer(a: &TracingAttempt) -> String {
    let status = a.http_status.map_or_else(String::new, |s| format!(" (HTTP {s})"));
    let words = if a.message.is_empty() { String::new() } else { format!(": {}", safe(&a.message)) };
    format!("{}{status} in {} ms{words}", a.fate.replace('_', " "), a.took_ms)
}

fn tested(tests: &TracingTests) -> String {
    let line = |t: &agenthub_engine::view::TracingTest| {
        let trace = t.trace_id.as_deref().map_or_else(String::new, |id| format!(", trace {id}"));
        format!("{}: {}{trace}", safe(&t.destination), answer(&t.attempt))
    };
    tests.tests.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the last answer was "all of it".
fn took(d: &TracingDestination) -> bool {
    d.waiting_spans == 0 && d.last.as_ref().is_none_or(|a| a.fate == "taken")
}

/// The exit code says it; what the backends said stands in the document already.
fn not_taken<'a>(by: impl Iterator<Item = &'a str>) -> anyhow::Error {
    let which: Vec<&str> = by.collect();
    let which = if which.is_empty() { "the backend".to_owned() } else { safe(&which.join(", ")) };
    Told(Failed(ErrorView { code: "not_taken".to_owned(), message: format!("Not taken by: {which}.") }))
        .into()
}
