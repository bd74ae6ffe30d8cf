//! Switching tracing on, and changing it: settings, secrets (spec R1).

use std::path::Path;

use agenthub_agy::Surface;
use agenthub_core::words::{counted, plural};
use agenthub_otlp::{Preset, Queue, Refusal, Secrets, queue::QueueError};
use serde_json::{Value, json};

use super::{
    Content, Tracer, TracingSettings, UserName,
    change::{Said, SetUp, Which, headers},
    register,
    switching::as_shown,
};
use crate::{
    convert::for_people,
    hooks::Hooks,
    settings::{SettingsFile, TAKE_OVER},
    view::{
        ErrorView, HooksAction, SCHEMA, TracingChange, TracingDestinationPatch, TracingPatch, TracingProblem,
        TracingSaved, TracingWish,
    },
    way_out,
};

/// What `agenthub trace install` and the window say.
#[derive(Clone, Debug, Default)]
pub struct Install {
    pub preset: Option<Preset>,
    /// A destination by its own name.
    pub destination: Option<String>,
    /// A further destination, whatever is there.
    pub add: bool,
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
        Ok(Install {
            preset,
            destination: wish.destination.clone(),
            add: wish.add,
            endpoint: wish.endpoint.clone(),
            headers: wish.headers.clone(),
            user: wish.user.as_deref().map(user_named).transpose()?,
            project: wish.project.clone(),
            token: wish.token.clone(),
        })
    }
}

fn user_named(name: &str) -> Result<UserName, ErrorView> {
    serde_json::from_value(Value::from(name))
        .map_err(|_| bad_request(format!("`{name}` names no user: none, email or hashed.")))
}

impl Tracer {
    pub(super) fn settings_file(&self) -> SettingsFile {
        SettingsFile::new(&self.config.config_dir)
    }

    pub(super) fn secrets_path(&self) -> std::path::PathBuf {
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

    /// Settings and secrets that belong together: whoever moves a destination takes its secret away before, and puts the
    /// new one in place after. So between two equal looks at the settings the secrets are theirs, or missing.
    ///
    /// # Errors
    /// When the secrets can't be read.
    pub(super) fn set_up(&self) -> Result<SetUp, ErrorView> {
        const LOOKS: usize = 4;
        let mut settings = self.settings().0;
        for _ in 0..LOOKS {
            let secrets = self.secrets()?;
            let again = self.settings().0;
            if again == settings {
                return Ok(SetUp { settings, secrets });
            }
            settings = again;
        }
        // Somebody changes them all the time: rather no secret than another server's.
        Ok(SetUp { settings, secrets: Secrets::default() })
    }

    pub(super) fn queue(&self) -> Queue {
        Queue::at(self.places.tracing().join("queue"), agenthub_otlp::queue::Limits::default())
    }

    /// Switches tracing on: the hook, then settings and secrets. In a dry run nothing is written, and what fails leaves all as it
    /// was.
    ///
    /// # Errors
    /// What is wrong with the endpoint or a header; the codes of H3 for agy's hooks.json.
    pub fn install(&self, wish: &Install, dry_run: bool) -> Result<TracingChange, ErrorView> {
        let before = SetUp { settings: self.settings().0, secrets: self.secrets()? };
        let mut after = before.clone();
        let mut notes: Vec<String> = self.settings_file().lost().into_iter().collect();
        let which = Which { preset: wish.preset, id: wish.destination.clone(), add: wish.add };
        let said = Said {
            endpoint: wish.endpoint.clone(),
            headers: headers(&wish.headers)?,
            project: wish.project.clone(),
            ..Said::default()
        };
        let destination = after.install(&which, said, &mut notes)?;
        if let Some(user) = wish.user {
            after.settings.user = user;
        }
        self.switch(&before.settings, &mut after.settings, true);
        if after.settings.destinations.is_empty() && after.settings.file.is_none() {
            return Err(bad_request(
                "Say where traces shall go: --endpoint URL, for example http://localhost:4318, or a --preset."
                    .to_owned(),
            ));
        }
        let hooks = Hooks::tracing(&self.config)?;
        let mut plan = hooks.plan(HooksAction::Install)?;
        if !dry_run {
            as_shown(&plan, wish.token.as_deref())?;
        }
        notes.push("Sessions of agy that are open keep the hooks they started with.".to_owned());
        if !dry_run {
            let (done, aside) = self.with_hook(&hooks, plan, || self.write(&before, &after, &[]))?;
            plan = done;
            notes.extend(aside);
            if let Some(id) = &destination {
                // What a former set-up could not send may go now.
                self.queue().retry(id);
            }
        }
        let destination = destination.map(|d| d.to_string());
        Ok(TracingChange { schema: SCHEMA, plan, destination, notes, applied: !dry_run })
    }

    /// Changes what needs no change of agy's files. Gives what there is to know of it.
    ///
    /// # Errors
    /// `bad_settings` for a value that can't be, `not_found` for a destination that is none; nothing is written then.
    pub fn set(&self, patch: &TracingPatch) -> Result<TracingSaved, ErrorView> {
        let before = SetUp { settings: self.settings().0, secrets: self.secrets()? };
        let mut after = before.clone();
        let mut notes: Vec<String> = self.settings_file().lost().into_iter().collect();
        // What the person says is written, also where it is what a bad value in the file counts as.
        let mut said = Vec::new();
        let s = &mut after.settings;
        if let Some(on) = patch.enabled {
            if on && s.destinations.is_empty() && s.file.is_none() {
                return Err(bad_request("There is no destination yet: add one first.".to_owned()));
            }
            self.switch(&before.settings, s, on);
            said.push("enabled");
        }
        if let Some(user) = &patch.user {
            s.user = user_named(user)?;
            said.push("user");
        }
        if let Some(on) = patch.host_name {
            s.host_name = on;
            said.push("host_name");
        }
        said.extend(content(&mut s.content, patch)?);
        for (folder, on) in &patch.surfaces {
            let surface = Surface::named(folder)
                .ok_or_else(|| bad("surfaces", "a product is named by its folder in agy's home"))?;
            s.surfaces.insert(surface.folder().to_owned(), *on);
            said.push("surfaces");
        }
        if let Some(file) = &patch.file {
            s.file = file_named(file)?;
            said.push("file");
        }
        let mut gone = None;
        let mut anew = None;
        match &patch.destination {
            Some(d) if d.remove => gone = Some(after.remove(&d.id)?),
            Some(d) => {
                let id = after.named(&d.id)?;
                after.amend(&id, amended(d)?, &mut notes)?;
                anew = Some(id);
            }
            None => {}
        }
        notes.extend(self.write(&before, &after, &said)?);
        if let Some(id) = gone {
            self.queue().forget(&id).map_err(|e| Tracer::stays(&e))?;
        }
        if let Some(id) = anew {
            self.queue().retry(&id);
        }
        Ok(TracingSaved { notes })
    }

    pub(super) fn switch(&self, before: &TracingSettings, after: &mut TracingSettings, on: bool) {
        after.enabled = on;
        if on && (before.since.is_none() || !before.enabled) {
            after.since = Some(self.now().rfc3339());
        }
    }

    /// Writes what is different, and what was `said`, in an order in which no secret ever stands beside another server's
    /// address. Gives what there is to know about a file that could not be read.
    fn write(
        &self,
        before: &SetUp,
        after: &SetUp,
        said: &[&'static str],
    ) -> Result<Option<String>, ErrorView> {
        let gone: Vec<_> = before
            .settings
            .destinations
            .iter()
            .map(|old| (&old.id, after.settings.destinations.iter().find(|new| new.id == old.id)))
            .filter(|(id, new)| {
                let old = before.settings.destinations.iter().find(|d| d.id == **id);
                old.map(|d| &d.endpoint) != new.map(|d| &d.endpoint)
            })
            .map(|(id, _)| id.clone())
            .collect();
        let mut meanwhile = before.secrets.clone();
        gone.iter().for_each(|id| meanwhile.forget(id));
        if meanwhile != before.secrets {
            self.write_secrets(&meanwhile)?;
        }
        let written = self.write_settings(&before.settings, &after.settings, said).and_then(|aside| {
            if after.secrets == meanwhile {
                return Ok(aside);
            }
            self.write_secrets(&after.secrets).map(|()| aside).inspect_err(|_| {
                // No destination without the header that it was to have.
                let _ = self.write_settings(&after.settings, &before.settings, said);
            })
        });
        let aside = written.inspect_err(|_| {
            let is_back = self.settings().0.destinations == before.settings.destinations;
            if is_back && meanwhile != before.secrets {
                let _ = self.write_secrets(&before.secrets);
            }
        })?;
        Ok(aside.map(|path| {
            format!(
                "What could not be read is kept as {}. settings.json begins anew. {TAKE_OVER}",
                for_people(&path)
            )
        }))
    }

    pub(super) fn write_settings(
        &self,
        before: &TracingSettings,
        after: &TracingSettings,
        said: &[&'static str],
    ) -> Result<Option<std::path::PathBuf>, ErrorView> {
        let (old, mut new) = (before.section(), after.section());
        let stays =
            |key: &String, value: &Value| old.get(key) == Some(value) && !said.contains(&key.as_str());
        new.retain(|key, value| !stays(key, value));
        let kept = after.section();
        let gone = old.keys().filter(|key| !kept.contains_key(*key));
        new.extend(gone.map(|key| (key.clone(), Value::Null)));
        if new.is_empty() {
            return Ok(None);
        }
        self.settings_file().edit(|_| json!({ "tracing": new }))
    }

    fn write_secrets(&self, secrets: &Secrets) -> Result<(), ErrorView> {
        let path = self.secrets_path();
        secrets
            .write(&path)
            .map_err(|e| io(format!("{} can't be written: {e}. {}", path.display(), way_out::of_io(&e))))
    }

    pub(super) fn has_section(&self) -> bool {
        self.settings_file().section("tracing").is_ok_and(|s| s.is_some())
    }

    /// What a purge takes away, by name.
    pub(super) fn what_goes(&self, would: bool) -> Vec<String> {
        let settings = self.settings().0;
        let secrets = self.secrets().unwrap_or_default();
        let queue = self.queue();
        let mut ids: Vec<_> = settings.destinations.iter().map(|d| d.id.clone()).collect();
        let others = queue.destinations().into_iter().chain(secrets.destinations().into_iter().cloned());
        for id in others {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let goes = if would { "Would go:" } else { "Gone:" };
        let mut notes: Vec<String> = ids
            .iter()
            .map(|id| {
                let place = settings.destinations.iter().find(|d| d.id == *id);
                let place =
                    place.and_then(|d| d.endpoint().ok()).map_or_else(String::new, |e| format!(" ({e})"));
                let names: Vec<String> = secrets.of(id).map(|(n, _)| format!("`{n}`")).collect();
                let s = queue.standing(id);
                let spans = s.waiting_spans.saturating_add(s.refused_spans);
                let more = [
                    (!names.is_empty()).then(|| {
                        format!("{} {}", plural(names.len(), "its header", "its headers"), names.join(", "))
                    }),
                    (spans > 0)
                        .then(|| format!("{} for it", counted(spans, "span that waits", "spans that wait"))),
                ];
                let more: Vec<String> = more.into_iter().flatten().collect();
                let more =
                    if more.is_empty() { String::new() } else { format!(", with {}", more.join(" and ")) };
                format!("{goes} destination {id}{place}{more}.")
            })
            .collect();
        let open = register::conversations(&self.open(), ".open").len();
        if open > 0 {
            let open = counted(open, "conversation that is", "conversations that are");
            notes.push(format!("{goes} what is noted of {open} under way."));
        }
        let paths = [self.secrets_path(), self.places.tracing()];
        notes.extend(paths.iter().filter(|p| p.exists()).map(|p| format!("{goes} {}", for_people(p))));
        if self.has_section() {
            notes.push(format!("{goes} the section `tracing` of settings.json."));
        }
        if notes.is_empty() {
            notes.push("Nothing of tracing was there to take away.".to_owned());
        }
        notes
    }

    /// What to say when what waits can't be taken away.
    fn stays(e: &QueueError) -> ErrorView {
        io(format!("{e} {}", way_out::of_io(&e.why)))
    }

    pub(super) fn purge(&self) -> Result<(), ErrorView> {
        let says = |path: &Path, e: &std::io::Error| {
            io(format!("{} can't be removed: {e}. {}", path.display(), way_out::of_io(e)))
        };
        let secrets = self.secrets_path();
        match std::fs::remove_file(&secrets) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(says(&secrets, &e)),
            _ => {}
        }
        self.queue().purge().map_err(|e| Tracer::stays(&e))?;
        let folder = self.places.tracing();
        match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(says(&folder, &e)),
            _ => Ok(()),
        }
    }
}

fn content(c: &mut Content, patch: &TracingPatch) -> Result<Option<&'static str>, ErrorView> {
    let p = &patch.content;
    let switches = [
        (&mut c.prompts, p.prompts),
        (&mut c.answers, p.answers),
        (&mut c.thinking, p.thinking),
        (&mut c.arguments, p.arguments),
        (&mut c.results, p.results),
    ];
    let mut is_said = false;
    for (switch, said) in switches {
        if let Some(on) = said {
            *switch = on;
            is_said = true;
        }
    }
    if let Some(longest) = p.longest {
        if !(1..=Content::MOST).contains(&longest) {
            return Err(bad("content.longest", &format!("it is a whole number from 1 to {}", Content::MOST)));
        }
        c.longest = longest;
        is_said = true;
    }
    Ok(is_said.then_some("content"))
}

fn file_named(text: &str) -> Result<Option<std::path::PathBuf>, ErrorView> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let path = Path::new(text);
    if !path.is_absolute() {
        // The hook runs in whatever folder agy runs in.
        return Err(bad("file", "it is a whole path"));
    }
    if path.is_dir() || !path.parent().is_some_and(Path::is_dir) {
        return Err(bad("file", "it is a file in a folder that is there"));
    }
    Ok(Some(path.to_owned()))
}

fn amended(d: &TracingDestinationPatch) -> Result<Said, ErrorView> {
    let profiles = match &d.profiles {
        None => None,
        Some(name) => Some(
            serde_json::from_value(Value::from(name.as_str()))
                .map_err(|_| bad("profiles", "it is both, gen_ai or open_inference"))?,
        ),
    };
    Ok(Said {
        endpoint: d.endpoint.clone().filter(|e| !e.trim().is_empty()),
        headers: headers(&d.headers)?,
        project: d.project.clone(),
        profiles,
        enabled: d.enabled,
    })
}

pub(super) fn refused(r: Refusal) -> ErrorView {
    ErrorView { code: r.code.to_owned(), message: r.message }
}

pub(super) fn bad_request(message: String) -> ErrorView {
    ErrorView { code: "bad_request".to_owned(), message }
}

fn bad(key: &str, message: &str) -> ErrorView {
    ErrorView { code: "bad_settings".to_owned(), message: format!("`tracing.{key}`: {message}.") }
}

pub(super) fn io(message: String) -> ErrorView {
    ErrorView { code: "io".to_owned(), message }
}
