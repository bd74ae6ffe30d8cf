//! Switching tracing on and off, and how it stands: settings, secrets, the hook in agy (spec R1).

use std::collections::BTreeMap;

use agenthub_core::Time;
use agenthub_otlp::{
    Destination, DestinationId, Header, Preset, Refusal, Secrets,
    queue::{Attempt, Queue},
};
use serde_json::{Value, json};

use super::{Tracer, TracingSettings, UserName, register};
use crate::{
    hooks::Hooks,
    settings::SettingsFile,
    view::{
        ErrorView, HooksAction, HooksState, SCHEMA, TracingAttempt, TracingChange, TracingContent,
        TracingDestination, TracingProblem, TracingStatus, TracingWish,
    },
};

/// What `agenthub trace install` and the window say.
#[derive(Clone, Debug, Default)]
pub struct Install {
    pub preset: Option<Preset>,
    pub endpoint: Option<String>,
    /// `name: value`, as the person wrote them.
    pub headers: Vec<String>,
    pub user: Option<UserName>,
    pub project: Option<String>,
    /// Of the plan that was shown.
    pub token: Option<String>,
}

impl Install {
    /// # Errors
    /// `bad_request` for a preset or a name of a user that is none.
    pub fn of(wish: &TracingWish) -> Result<Install, ErrorView> {
        let preset = match &wish.preset {
            None => None,
            Some(name) => Some(Preset::named(&name.to_lowercase()).ok_or_else(|| {
                let known: Vec<&str> = Preset::ALL.iter().map(|p| p.id()).collect();
                bad_request(format!("`{name}` is no preset; there are {}.", known.join(", ")))
            })?),
        };
        let user = match &wish.user {
            None => None,
            Some(name) => Some(
                serde_json::from_value(Value::from(name.as_str()))
                    .map_err(|_| bad_request(format!("`{name}` names no user: none, email or hashed.")))?,
            ),
        };
        Ok(Install {
            preset,
            endpoint: wish.endpoint.clone(),
            headers: wish.headers.clone(),
            user,
            project: wish.project.clone(),
            token: wish.token.clone(),
        })
    }
}

impl Tracer {
    fn settings_file(&self) -> SettingsFile {
        SettingsFile::new(&self.config.config_dir)
    }

    fn secrets_path(&self) -> std::path::PathBuf {
        self.config.config_dir.join("secrets.json")
    }

    pub(super) fn settings(&self) -> (TracingSettings, Vec<TracingProblem>) {
        let (section, broken) = match self.settings_file().section("tracing") {
            Ok(section) => (section, None),
            Err(why) => (None, Some(why)),
        };
        let (settings, problems) = TracingSettings::of(section.as_ref());
        let broken = broken.map(|message| TracingProblem { key: "settings.json".to_owned(), message });
        let problems = problems.into_iter().map(|p| TracingProblem { key: p.key, message: p.message });
        (settings, broken.into_iter().chain(problems).collect())
    }

    pub(super) fn secrets(&self) -> Result<Secrets, ErrorView> {
        let path = self.secrets_path();
        Secrets::read(&path).map_err(|e| ErrorView {
            code: "io".to_owned(),
            message: format!(
                "{} can't be read: {e}. Correct it, or delete it and set the headers anew.",
                path.display()
            ),
        })
    }

    pub(super) fn queue(&self) -> Queue {
        Queue::at(self.places.tracing().join("queue"), agenthub_otlp::queue::Limits::default())
    }

    /// Switches tracing on: settings and secrets, then the hook. In a dry run nothing is written.
    ///
    /// # Errors
    /// What is wrong with the endpoint or a header; the codes of H3 for agy's hooks.json.
    pub fn install(&self, wish: &Install, dry_run: bool) -> Result<TracingChange, ErrorView> {
        let (before, _) = self.settings();
        let mut secrets = self.secrets()?;
        let mut after = before.clone();
        let mut notes = Vec::new();
        let destination = self.destination(wish, &mut after, &mut secrets, &mut notes)?;
        if let Some(user) = wish.user {
            after.user = user;
        }
        after.enabled = true;
        if before.since.is_none() || !before.enabled {
            after.since = Some(self.now().rfc3339());
        }
        if after.destinations.is_empty() && after.file.is_none() {
            return Err(ErrorView {
                code: "bad_request".to_owned(),
                message: "Say where traces shall go: --endpoint URL, for example http://localhost:4318, or a --preset."
                    .to_owned(),
            });
        }
        let hooks = Hooks::tracing(&self.config)?;
        let mut plan = hooks.plan(HooksAction::Install)?;
        if !dry_run && wish.token.as_ref().is_some_and(|t| *t != plan.token) {
            return Err(ErrorView {
                code: "ECHANGED".to_owned(),
                message: format!(
                    "{} has changed since. Nothing was written; look at the new difference.",
                    plan.file
                ),
            });
        }
        notes.push("Sessions of agy that are open keep the hooks they started with.".to_owned());
        if !dry_run {
            if after != before {
                self.write_settings(&after)?;
            }
            if destination.is_some() && !wish.headers.is_empty() {
                self.write_secrets(&secrets)?;
            }
            if plan.changes {
                plan = hooks.apply(&plan.token)?;
            }
            if let Some(id) = &destination {
                // What a former set-up could not send may go now.
                self.queue().retry(id);
            }
        }
        let destination = destination.map(|d| d.to_string());
        Ok(TracingChange { schema: SCHEMA, plan, destination, notes, applied: !dry_run })
    }

    /// The destination that the wish names: changed where one of its endpoint is there, else added.
    fn destination(
        &self,
        wish: &Install,
        after: &mut TracingSettings,
        secrets: &mut Secrets,
        notes: &mut Vec<String>,
    ) -> Result<Option<DestinationId>, ErrorView> {
        let preset = wish.preset.unwrap_or_default();
        let Some(endpoint) = wish.endpoint.clone().or_else(|| wish.preset?.endpoint().map(str::to_owned))
        else {
            let asks = wish.preset.is_some() || !wish.headers.is_empty() || wish.project.is_some();
            return if asks {
                Err(bad_request(format!("{}: say its endpoint with --endpoint URL.", preset.id())))
            } else {
                Ok(None)
            };
        };
        let headers: Result<Vec<Header>, Refusal> = wish.headers.iter().map(|h| Header::parse(h)).collect();
        let headers = headers.map_err(refused)?;
        let known = after.destinations.iter_mut().find(|d| d.endpoint.trim() == endpoint.trim());
        let d = match known {
            Some(d) => d,
            None => {
                let id = DestinationId::free(preset, &after.destinations);
                after.destinations.push(Destination::new(id, preset, &endpoint));
                after.destinations.last_mut().ok_or_else(|| bad_request("no destination".to_owned()))?
            }
        };
        d.enabled = true;
        if wish.preset.is_some() {
            d.preset = preset;
        }
        if wish.project.is_some() {
            d.project.clone_from(&wish.project);
        }
        let checked = d.check().map_err(refused)?;
        notes.push(format!("Traces go to {checked}."));
        let id = d.id.clone();
        notes.extend(checked.doubt(!headers.is_empty() || secrets.of(&id).next().is_some()));
        for h in headers {
            secrets.set(&id, h);
        }
        Ok(Some(id))
    }

    fn write_settings(&self, after: &TracingSettings) -> Result<(), ErrorView> {
        let section = serde_json::to_value(after).unwrap_or_default();
        self.settings_file().merge(&json!({ "tracing": section }))
    }

    fn write_secrets(&self, secrets: &Secrets) -> Result<(), ErrorView> {
        let path = self.secrets_path();
        secrets.write(&path).map_err(|e| ErrorView {
            code: "io".to_owned(),
            message: format!("{} can't be written: {e}.", path.display()),
        })
    }

    /// Switches tracing off: the hook goes, with its script. `purge`: destinations, secrets and all that waits, too.
    ///
    /// # Errors
    /// The codes of H3; nothing else is taken away then.
    pub fn uninstall(&self, purge: bool, dry_run: bool) -> Result<TracingChange, ErrorView> {
        let hooks = Hooks::tracing(&self.config)?;
        let mut plan = hooks.plan(HooksAction::Remove)?;
        let mut notes = Vec::new();
        if !dry_run {
            if plan.changes {
                plan = hooks.apply(&plan.token)?;
            }
            if self.settings_file().section("tracing").is_ok_and(|s| s.is_some()) {
                let patch = if purge { Value::Null } else { json!({ "enabled": false }) };
                self.settings_file().merge(&json!({ "tracing": patch }))?;
            }
        }
        if purge {
            notes
                .push("Destinations, their headers and all that waited to be sent are gone, too.".to_owned());
            if !dry_run {
                self.purge()?;
            }
        } else {
            notes.push("Destinations and headers are kept; `--purge` takes them away.".to_owned());
        }
        Ok(TracingChange { schema: SCHEMA, plan, destination: None, notes, applied: !dry_run })
    }

    fn purge(&self) -> Result<(), ErrorView> {
        let says = |path: &std::path::Path, e: &std::io::Error| ErrorView {
            code: "io".to_owned(),
            message: format!("{} can't be removed: {e}.", path.display()),
        };
        let secrets = self.secrets_path();
        match std::fs::remove_file(&secrets) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(says(&secrets, &e)),
            _ => {}
        }
        self.queue().purge().map_err(|e| ErrorView { code: "io".to_owned(), message: e.to_string() })?;
        let folder = self.places.tracing();
        match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(says(&folder, &e)),
            _ => Ok(()),
        }
    }

    /// How it stands. Touches no network.
    ///
    /// # Errors
    /// When our folders can't be used.
    pub fn status(&self) -> Result<TracingStatus, ErrorView> {
        let (settings, mut problems) = self.settings();
        let secrets = self.secrets().unwrap_or_else(|e| {
            problems.push(TracingProblem { key: "secrets.json".to_owned(), message: e.message });
            Secrets::default()
        });
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
            user: serde_json::to_value(settings.user)
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default(),
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
            problems,
        })
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
                    enabled: d.enabled,
                    endpoint: checked.as_ref().map_or_else(|_| String::new(), ToString::to_string),
                    headers: secrets.of(&d.id).map(|(name, _)| name.as_str().to_owned()).collect(),
                    error: checked.err().map(refused),
                    waiting_spans: s.waiting_spans,
                    waiting_bytes: s.waiting_bytes,
                    oldest_at: s.oldest.map(Time::rfc3339),
                    sent_spans: s.sent_spans,
                    rejected_spans: s.rejected_spans,
                    refused_spans: s.refused_spans,
                    dropped_spans: s.dropped_spans,
                    failures: s.failures,
                    next_attempt_at: s.next_attempt.map(Time::rfc3339),
                    last: s.last.as_ref().map(attempt),
                    last_taken: s.last_taken.as_ref().map(attempt),
                }
            })
            .collect()
    }
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

pub(super) fn refused(r: Refusal) -> ErrorView {
    ErrorView { code: r.code.to_owned(), message: r.message }
}

fn bad_request(message: String) -> ErrorView {
    ErrorView { code: "bad_request".to_owned(), message }
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
    let hindered = destinations.iter().find(|d| d.enabled && (d.error.is_some() || d.failures > 0));
    match hindered {
        Some(d) => (
            format!("Tracing is on. {} did not take the last spans; {waiting} wait.", d.id),
            Some("Run `agenthub trace test` to see what the backend says.".to_owned()),
        ),
        None => say("Tracing is on.", None),
    }
}
