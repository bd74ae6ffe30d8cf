//! How tracing stands, in words and numbers. Touches no network.

use std::collections::BTreeMap;

use agenthub_agy::{Surface, account};
use agenthub_core::{Time, words::counted};
use agenthub_otlp::{
    Preset, Secrets,
    queue::{Attempt, Limits},
};
use serde::Serialize;

use super::{Tracer, TracingSettings, UserName, register, setup::refused};
use crate::{
    convert::for_people,
    hooks::Hooks,
    view::{
        ErrorView, HooksState, SCHEMA, TracingAttempt, TracingContent, TracingDestination, TracingHeader,
        TracingPreset, TracingProblem, TracingScreen, TracingStatus, TracingSurface,
    },
};

/// The products that share agy's hooks, by their folder, with their names for people.
const SURFACES: [(&str, &str); 3] = [
    ("antigravity-cli", "Antigravity CLI"),
    ("antigravity-ide", "Antigravity IDE and editor extension"),
    ("antigravity", "Antigravity desktop app"),
];

impl Tracer {
    /// How it stands. Touches no network.
    ///
    /// # Errors
    /// When our folders can't be used.
    pub fn status(&self) -> Result<TracingStatus, ErrorView> {
        self.status_with(&|| self.finds_address())
    }

    /// Whether agy's logs, or its list of accounts, name the person who is signed in.
    pub(crate) fn finds_address(&self) -> bool {
        account::email(&self.home(&Surface::CLI)).is_some()
    }

    /// The same, where looking for the signed-in person's address is another's business: it reads logs.
    ///
    /// # Errors
    /// As [`Tracer::status`].
    pub(crate) fn status_with(&self, finds_address: &dyn Fn() -> bool) -> Result<TracingStatus, ErrorView> {
        let (settings, mut problems) = self.settings();
        let secrets = self.secrets().unwrap_or_else(|e| {
            problems.push(TracingProblem { key: "secrets.json".to_owned(), message: e.message });
            Secrets::default()
        });
        problems.extend(self.open_secrets());
        if let Some(file) =
            settings.file.as_ref().filter(|f| !f.parent().is_some_and(std::path::Path::is_dir))
        {
            let message =
                format!("the folder of {} is not there, so nothing is written to it", for_people(file));
            problems.push(TracingProblem { key: "tracing.file".to_owned(), message });
        }
        let hook = Hooks::tracing(&self.config)?.status();
        let destinations = self.destinations(&settings, &secrets);
        let (message, advice) = message(&settings, hook.state, &destinations);
        let c = &settings.content;
        Ok(TracingStatus {
            schema: SCHEMA,
            enabled: settings.enabled,
            message,
            advice,
            since: settings.since().map(Time::rfc3339),
            hook,
            destinations,
            file: settings.file.as_ref().map(|f| f.display().to_string()),
            user: word(&settings.user),
            user_found: (settings.user != UserName::None).then(finds_address),
            host_name: settings.host_name,
            content: TracingContent {
                prompts: c.prompts,
                answers: c.answers,
                thinking: c.thinking,
                arguments: c.arguments,
                results: c.results,
                longest: c.longest,
            },
            surfaces: settings.surfaces.iter().map(|(k, v)| (k.clone(), *v)).collect::<BTreeMap<_, _>>(),
            open_conversations: u64::try_from(register::conversations(&self.open(), ".open").len())
                .unwrap_or(0),
            most_waiting_bytes: Limits::default().bytes,
            problems,
        })
    }

    /// The folders of agy's home that hold conversations, copies left out: each is a product of its own.
    fn products(&self) -> impl Iterator<Item = String> {
        let folders = std::fs::read_dir(&self.config.gemini_dir).into_iter().flatten().flatten();
        folders
            .filter(|f| f.path().join("conversations").is_dir())
            .filter_map(|f| f.file_name().into_string().ok())
            .filter(|name| Surface::named(name).is_some() && !name.ends_with("-backup"))
    }

    /// A file of secrets that others on this machine can read.
    #[cfg(unix)]
    fn open_secrets(&self) -> Option<TracingProblem> {
        use std::os::unix::fs::PermissionsExt as _;

        let path = self.secrets_path();
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| TracingProblem {
            key: "secrets.json".to_owned(),
            message: format!(
                "{} holds keys, and others on this machine may read or change it (mode {mode:o}). Only you should: `chmod 600`.",
                for_people(&path)
            ),
        })
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "as on Unix")]
    fn open_secrets(&self) -> Option<TracingProblem> {
        None
    }

    /// What the window shows: how it stands, and what can be chosen.
    ///
    /// # Errors
    /// As [`Tracer::status`].
    pub(crate) fn screen(&self, finds_address: &dyn Fn() -> bool) -> Result<TracingScreen, ErrorView> {
        let status = self.status_with(finds_address)?;
        let on = |folder: &str| status.surfaces.get(folder).copied().unwrap_or(true);
        let is_known = |folder: &String| SURFACES.iter().any(|(f, _)| f == folder);
        let mut others: Vec<String> = status.surfaces.keys().cloned().chain(self.products()).collect();
        others.retain(|f| !is_known(f));
        others.sort();
        others.dedup();
        let known = SURFACES.map(|(folder, name)| (folder.to_owned(), name.to_owned()));
        let products = known
            .into_iter()
            .chain(others.into_iter().map(|f| (f.clone(), f)))
            .map(|(folder, name)| TracingSurface { on: on(&folder), folder, name })
            .collect();
        let presets = Preset::ALL.into_iter().map(preset).collect();
        Ok(TracingScreen { status, products, presets })
    }

    pub(super) fn destinations(
        &self,
        settings: &TracingSettings,
        secrets: &Secrets,
    ) -> Vec<TracingDestination> {
        let queue = self.queue();
        settings
            .destinations
            .iter()
            .map(|d| {
                let s = queue.standing(&d.id);
                let checked = d.check();
                TracingDestination {
                    id: d.id.to_string(),
                    preset: d.preset.id().to_owned(),
                    name: d.preset.name().to_owned(),
                    project: d.project.clone(),
                    profiles: word(&d.profiles),
                    enabled: d.enabled,
                    endpoint: checked.as_ref().map_or_else(|_| String::new(), ToString::to_string),
                    headers: secrets.of(&d.id).map(|(name, _)| name.as_str().to_owned()).collect(),
                    doubt: checked.as_ref().ok().and_then(|e| e.doubt(secrets.of(&d.id).next().is_some())),
                    error: checked.err().map(refused),
                    waiting_spans: s.waiting_spans,
                    waiting_bytes: s.waiting_bytes,
                    oldest_at: s.oldest.map(Time::rfc3339),
                    sent_spans: s.sent_spans,
                    damaged: s.damaged,
                    rejected_spans: s.rejected_spans,
                    refused_spans: s.refused_spans,
                    dropped_spans: s.dropped_spans,
                    failures: s.failures,
                    held_up: s.failures > 0 || s.last.as_ref().is_some_and(|a| !a.is_taken()),
                    next_attempt_at: s.next_attempt.map(Time::rfc3339),
                    last: s.last.as_ref().map(attempt),
                    last_taken: s.last_taken.as_ref().map(attempt),
                }
            })
            .collect()
    }
}

fn preset(p: Preset) -> TracingPreset {
    let header = |h: &agenthub_otlp::preset::HeaderHint| TracingHeader {
        name: h.name.to_owned(),
        value: h.value.to_owned(),
        needed: h.needed,
    };
    TracingPreset {
        id: p.id().to_owned(),
        name: p.name().to_owned(),
        endpoint: p.endpoint().map(str::to_owned),
        hint: p.endpoint_hint().to_owned(),
        headers: p.headers().iter().map(header).collect(),
        sorts_by_project: matches!(p, Preset::Phoenix | Preset::Arize),
    }
}

/// As it stands in the settings.
fn word(of: &impl Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

pub(super) fn attempt(a: &Attempt) -> TracingAttempt {
    TracingAttempt {
        at: a.at().rfc3339(),
        spans: a.spans,
        fate: a.fate.clone(),
        http_status: a.http_status,
        message: a.message.clone(),
        rejected_spans: a.rejected_spans,
        took_ms: a.took_ms,
    }
}

fn message(
    settings: &TracingSettings,
    hook: HooksState,
    destinations: &[TracingDestination],
) -> (String, Option<String>) {
    let install = "Run `agenthub trace install --endpoint URL`; `--dry-run` shows what it would change.";
    let say = |message: &str, advice: Option<&str>| (message.to_owned(), advice.map(str::to_owned));
    if !settings.enabled {
        return say("Tracing is off.", Some(install));
    }
    if !settings.is_on() {
        return say("Tracing is on, but has no destination.", Some(install));
    }
    match hook {
        HooksState::Installed => {}
        HooksState::NotInstalled => {
            return say(
                "Tracing is on, but its hook is not installed in agy.",
                Some("Run `agenthub trace install`."),
            );
        }
        _ => {
            return say(
                "Tracing is on, but its hook in agy is not as it should be.",
                Some("Run `agenthub trace install`."),
            );
        }
    }
    let waiting: u64 = destinations.iter().map(|d| d.waiting_spans).sum();
    let hindered = destinations.iter().find(|d| d.enabled && (d.error.is_some() || d.held_up));
    match hindered {
        Some(d) => (
            format!(
                "Tracing is on. {} did not take the last spans; {}.",
                d.id,
                counted(waiting, "waits", "wait")
            ),
            Some("Run `agenthub trace test` to see what the backend says.".to_owned()),
        ),
        None => say("Tracing is on.", None),
    }
}
