//! Installing AgentHub's hook in agy's configuration, on the person's command only (spec P5, H1 to H5).
//!
//! What to write is decided in `agenthub_agy::hooks`, purely; here it is read, shown, and written. A plan is shown with a
//! token; applying the token makes the plan anew and refuses when it has become another one.

mod files;
mod memory;
mod program;
mod status;

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use agenthub_agy::hooks::{
    self, Code, Edit, Entry, Forwarder, Forwarding, Hook, LineKind, NamedHook, Refusal, VERSION, Warning,
};

use crate::{
    Config,
    convert::for_people,
    places::Places,
    settings::SettingsFile,
    view::{
        DiffKind, DiffLine, ErrorView, FileChange, HooksAction, HooksPlan, HooksStatus, HooksWarning, SCHEMA,
    },
};
use files::Found;
use memory::{Backup, Memory};

/// The hook of one agy home, as seen from one data folder.
#[derive(Debug)]
pub struct Hooks {
    /// Which of the two named hooks.
    which: Hook,
    places: Places,
    settings: SettingsFile,
    config_dir: PathBuf,
    home: PathBuf,
    /// agy's configuration folder.
    folder: PathBuf,
}

/// A plan with what is needed to carry it out.
struct Intent {
    action: HooksAction,
    hooks_json: Found,
    edit: Edit,
    /// What stands at the forwarder's path.
    script: Script,
    text: String,
    /// The hook program is not there yet.
    comes: bool,
    memory: Memory,
}

/// What stands at the forwarder's path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Script {
    Nothing,
    Ours {
        version: u32,
        text: String,
        executable: bool,
    },
    /// With what to say about it.
    Foreign(String),
}

impl Hooks {
    /// # Errors
    /// When the current folder, from which paths may be relative, is unknown.
    /// `other_home` when the data folder is another home's: its journal is held to that home, and the one copy of the
    /// hook program would go with the hook of either.
    pub fn new(config: &Config) -> Result<Hooks, ErrorView> {
        Hooks::of(config, Hook::Watch)
    }

    /// The tracer's hook (spec R1).
    ///
    /// # Errors
    /// As [`Hooks::new`].
    pub fn tracing(config: &Config) -> Result<Hooks, ErrorView> {
        Hooks::of(config, Hook::Tracing)
    }

    fn of(config: &Config, which: Hook) -> Result<Hooks, ErrorView> {
        let whole = config.absolute()?;
        let places = Places::tried(&whole.data_dir);
        places.may_belong_to(&config.gemini_dir)?;
        Ok(Hooks {
            which,
            places,
            home: config.gemini_dir.clone(),
            settings: SettingsFile::new(&config.config_dir),
            config_dir: whole.config_dir,
            folder: whole.gemini_dir.join("config"),
        })
    }

    /// What an action would change. Writes nothing.
    ///
    /// # Errors
    /// One of the codes of H3; `not_found` when there is nothing to undo.
    pub fn plan(&self, action: HooksAction) -> Result<HooksPlan, ErrorView> {
        Ok(self.shown(&self.intend(action)?, false))
    }

    /// Does what was shown under this token.
    ///
    /// # Errors
    /// `ECHANGED` when something has changed since; the codes of H3; `bad_request` for a token that is none.
    pub fn apply(&self, token: &str) -> Result<HooksPlan, ErrorView> {
        let name = token.split('-').next().unwrap_or_default();
        let action = HooksAction::ALL.into_iter().find(|a| a.name() == name);
        let action = action.ok_or_else(|| ErrorView {
            code: "bad_request".to_owned(),
            message: "This is no token of a plan.".to_owned(),
        })?;
        let _one_at_a_time = self.lock()?;
        let intent = self.intend(action)?;
        if intent.token() != token {
            return Err(error(files::changed(&intent.hooks_json.named)));
        }
        self.places.belongs_to(&self.home)?;
        self.carry_out(&intent).map_err(error)?;
        Ok(self.shown(&intent, true))
    }

    /// How the hook stands.
    pub fn status(&self) -> HooksStatus {
        status::status(self)
    }

    /// Whether hooks.json has our hook, switched on or off.
    pub(crate) fn is_there(&self) -> bool {
        files::find(&self.hooks_json()).is_ok_and(|found| self.is_in(found.bytes.as_deref()))
    }

    /// Whether hooks.json would have our hook after an action.
    ///
    /// # Errors
    /// As [`Hooks::plan`].
    pub(crate) fn would_be_there(&self, action: HooksAction) -> Result<bool, ErrorView> {
        Ok(self.is_in(self.intend(action)?.edit.new.as_deref()))
    }

    /// Brings the forwarder and the hook program up to date, if our hook is installed (spec H4). hooks.json is left alone,
    /// and what was removed stays removed. Another build's forwarder is left alone while its program is there.
    ///
    /// # Errors
    /// What hinders it; nothing is half done.
    pub fn refresh(&self) -> Result<(), ErrorView> {
        if !self.settings.read().values.refresh_hooks {
            return Ok(());
        }
        let found = files::find(&self.hooks_json()).map_err(error)?;
        let report = hooks::report(found.bytes.as_deref(), &self.hook()).map_err(error)?;
        if !matches!(report.entry, Entry::On | Entry::Off) {
            return Ok(());
        }
        let forwarder = self.forwarder();
        let text = forwarder.text().map_err(error)?;
        let stale = match self.script() {
            Script::Nothing => true,
            Script::Foreign(_) => return Ok(()),
            Script::Ours { version, text: old, executable } => {
                let abandoned = || hooks::program_of(&old).is_none_or(|p| !files::is_program(&p));
                if version > VERSION
                    || !(forwarder.shares_folder_with(&old) || version < VERSION || abandoned())
                {
                    return Ok(());
                }
                old != text || !executable
            }
        };
        let _one_at_a_time = self.lock()?;
        self.places.make_hooks().map_err(|e| error(files::refusal(&e, &self.places.hooks())))?;
        program::bring(self.places.data_dir(), self.which).map_err(error)?;
        if stale {
            files::put(&self.script_path(), text.as_bytes(), 0o755).map_err(error)?;
        }
        Ok(())
    }

    fn hooks_json(&self) -> PathBuf {
        self.folder.join("hooks.json")
    }

    fn script_path(&self) -> PathBuf {
        self.folder.join(self.which.file_name())
    }

    fn memory_path(&self) -> PathBuf {
        self.memory_of(self.which)
    }

    fn memory_of(&self, which: Hook) -> PathBuf {
        self.places.hooks().join(match which {
            Hook::Watch => "installer.json",
            Hook::Tracing => "installer-tracing.json",
        })
    }

    fn hook(&self) -> NamedHook {
        self.hook_of(self.which)
    }

    fn hook_of(&self, which: Hook) -> NamedHook {
        let script = self.folder.join(which.file_name());
        match which {
            Hook::Watch => NamedHook::agenthub(script),
            Hook::Tracing => NamedHook::tracing(script),
        }
    }

    const fn other(&self) -> Hook {
        match self.which {
            Hook::Watch => Hook::Tracing,
            Hook::Tracing => Hook::Watch,
        }
    }

    fn forwarder(&self) -> Forwarder {
        let program = program::copy_in(self.places.data_dir(), self.which);
        match self.which {
            Hook::Watch => Forwarder::Watch {
                program,
                journal: self.places.journal(),
                doorbell: self.places.doorbell(),
                dropped: self.places.journal_dropped(),
            },
            Hook::Tracing => Forwarder::Tracing {
                program,
                data: self.places.data_dir().to_owned(),
                config: self.config_dir.clone(),
                gemini: self.folder.parent().unwrap_or(Path::new("/")).to_owned(),
            },
        }
    }

    fn lock(&self) -> Result<std::fs::File, ErrorView> {
        let path = self.places.data_dir().join("hooks.lock");
        let says = |e: std::io::Error| error(files::refusal(&e, &path));
        let file = std::fs::File::create(&path).map_err(says)?;
        file.lock().map_err(says)?;
        Ok(file)
    }

    fn script(&self) -> Script {
        let path = self.script_path();
        let foreign = |why: String| Script::Foreign(format!("{} {why}", path.display()));
        let meta = match std::fs::metadata(&path) {
            Ok(meta) => meta,
            // A link that leads nowhere is somebody's, too.
            Err(_) if path.is_symlink() => return foreign("is a link that leads nowhere.".to_owned()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Script::Nothing,
            Err(e) => return foreign(format!("can't be looked at: {e}.")),
        };
        if !meta.is_file() {
            return foreign("is not a plain file.".to_owned());
        }
        if !files::is_mine(&meta) {
            return foreign("belongs to another user.".to_owned());
        }
        if meta.len() > 64 << 10 {
            return foreign("is not AgentHub's.".to_owned());
        }
        match std::fs::read(&path) {
            Err(e) => foreign(format!("can't be read: {e}.")),
            Ok(bytes) => match self.which.recognise(&bytes) {
                None => foreign("is not AgentHub's.".to_owned()),
                Some(version) => Script::Ours {
                    version,
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                    executable: files::is_program(&path),
                },
            },
        }
    }

    fn forwarding(&self) -> Forwarding {
        let right = self.forwarder().text().unwrap_or_default();
        match self.script() {
            Script::Nothing => Forwarding::Missing,
            Script::Foreign(_) => Forwarding::Foreign,
            Script::Ours { text, .. } if !hooks::program_of(&text).is_some_and(|p| files::is_program(&p)) => {
                Forwarding::Missing
            }
            Script::Ours { version, text, executable } => {
                let newer = version > VERSION;
                if executable && (newer || text == right) { Forwarding::Works } else { Forwarding::Stale }
            }
        }
    }

    fn intend(&self, action: HooksAction) -> Result<Intent, ErrorView> {
        self.intended(action).map_err(|e| match e {
            Hindrance::Refused(r) => error(r),
            Hindrance::NothingToUndo => ErrorView {
                code: "not_found".to_owned(),
                message: "There is nothing to undo: AgentHub has not written this hooks.json.".to_owned(),
            },
            Hindrance::NoHome => ErrorView {
                code: "no_home".to_owned(),
                message: format!(
                    "{} is not agy's home: no agy has used it. Start `agy` once, or name its home (--gemini-dir or \
                     AGENTHUB_GEMINI_DIR); nothing was changed.",
                    for_people(&self.home)
                ),
            },
        })
    }

    fn intended(&self, action: HooksAction) -> Result<Intent, Hindrance> {
        let text = self.forwarder().text()?;
        let hooks_json = files::find(&self.hooks_json())?;
        let script = self.script();
        let memory = Memory::read(&self.memory_path());
        let current = hooks_json.bytes.as_deref();
        let mut edit = match action {
            HooksAction::Install => {
                if !agenthub_agy::Home::new(self.home.clone()).is_agys() {
                    return Err(Hindrance::NoHome);
                }
                if let Script::Foreign(what) = &script {
                    let advice = "Move it away, then try again; nothing was changed.";
                    return Err(Refusal::new(Code::Foreign, format!("{what} {advice}")).into());
                }
                hooks::install(current, &self.hook())?
            }
            HooksAction::Remove => {
                let mut edit = hooks::remove(current, &self.hook())?;
                if let Script::Foreign(what) = &script {
                    let message = format!("{what} It is left where it is.");
                    edit.warnings.push(Warning { code: "foreign_forwarder", message });
                }
                edit
            }
            HooksAction::Undo => {
                let backup = memory.backup.as_ref().filter(|b| Path::new(&b.file) == hooks_json.named);
                let backup = backup.ok_or(Hindrance::NothingToUndo)?;
                let ours = backup.after.as_ref().map(String::as_bytes);
                if current != ours {
                    let since = hooks::difference(ours, current);
                    return Err(files::changed_since_ours(&hooks_json.named, &since).into());
                }
                let new = backup.before.clone().map(String::into_bytes);
                Edit { changed: new.as_deref() != current, empty: false, new, warnings: Vec::new() }
            }
        };
        // A file that we made, left with no hook, goes; one behind a link stays, for the link is somebody's.
        // Either of our two hooks may have made it.
        let named = hooks_json.named.to_string_lossy();
        let made = memory.made.contains(&*named)
            || Memory::read(&self.memory_of(self.other())).made.contains(&*named);
        if action == HooksAction::Remove && edit.changed && edit.empty && made && !hooks_json.is_linked() {
            edit.new = None;
        }
        if edit.changed {
            hooks_json.may_be_written()?;
        }
        let installs = self.is_in(edit.new.as_deref());
        if installs && let Err(missing) = program::can_be_brought(self.places.data_dir(), self.which) {
            edit.warnings.push(Warning { code: "no_program", message: missing.message });
        }
        let comes = installs && !files::is_program(&program::copy_in(self.places.data_dir(), self.which));
        let missing = files::missing_folders(&hooks_json.target);
        if let Some(deepest) = missing.last().filter(|_| edit.new.is_some() && hooks_json.is_linked()) {
            let message = format!(
                "{} is a link into the folder {}, which is not there: it is made, and stays with an empty hooks.json when \
                 the hook is removed.",
                hooks_json.named.display(),
                deepest.display()
            );
            edit.warnings.push(Warning { code: "makes_folder", message });
        }
        Ok(Intent { action, hooks_json, edit, script, text, comes, memory })
    }

    fn carry_out(&self, intent: &Intent) -> Result<(), Refusal> {
        let Intent { hooks_json, edit, .. } = intent;
        let text = |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
        self.places.make_hooks().map_err(|e| files::refusal(&e, &self.places.hooks()))?;
        let installs = self.is_in(edit.new.as_deref());
        let mut folders = files::missing_folders(&hooks_json.target);
        folders.extend(files::missing_folders(&self.script_path()));
        let folders: BTreeSet<PathBuf> = folders.into_iter().collect();
        // As if nothing had been tried: no program and no script that nobody starts.
        let undone = |refusal: Refusal| {
            if installs && intent.script == Script::Nothing {
                let _ = std::fs::remove_file(self.script_path());
            }
            if intent.comes {
                program::discard(self.places.data_dir(), self.which);
            }
            files::remove_empty(folders.clone());
            refusal
        };
        if installs {
            program::bring(self.places.data_dir(), self.which)?;
            self.write_script(intent).map_err(undone)?;
        }
        if edit.changed {
            let Memory { made, folders: before, .. } = &intent.memory;
            let mut memory = Memory { made: made.clone(), folders: before | &folders, backup: None };
            let backup = Backup {
                file: hooks_json.named.to_string_lossy().into_owned(),
                before: text(hooks_json.bytes.as_deref()),
                after: text(edit.new.as_deref()),
            };
            let before = hooks_json.bytes.as_deref();
            memory.note(backup, ![Hook::Watch, Hook::Tracing].into_iter().any(|w| self.has(w, before)));
            let written = memory.write(&self.memory_path()).and_then(|()| match &edit.new {
                Some(new) => hooks_json.write(new),
                None => hooks_json.delete(),
            });
            if let Err(refusal) = written {
                // No backup of what was not written, either.
                let _ = intent.memory.write(&self.memory_path());
                return Err(undone(refusal));
            }
        }
        if !installs {
            if matches!(intent.script, Script::Ours { .. }) {
                let path = self.script_path();
                std::fs::remove_file(&path).map_err(|e| files::refusal(&e, &path))?;
            }
            program::discard(self.places.data_dir(), self.which);
            // Either of our two hooks may have made them.
            for path in [self.which, self.other()].map(|which| self.memory_of(which)) {
                let mut memory = Memory::read(&path);
                let left = files::remove_empty(memory.folders.clone());
                if left != memory.folders {
                    memory.folders = left;
                    memory.write(&path)?;
                }
            }
        }
        Ok(())
    }

    fn is_in(&self, bytes: Option<&[u8]>) -> bool {
        self.has(self.which, bytes)
    }

    fn has(&self, which: Hook, bytes: Option<&[u8]>) -> bool {
        hooks::report(bytes, &self.hook_of(which)).is_ok_and(|r| matches!(r.entry, Entry::On | Entry::Off))
    }

    fn write_script(&self, intent: &Intent) -> Result<(), Refusal> {
        match &intent.script {
            Script::Foreign(what) => Err(Refusal::new(Code::Foreign, what.clone())),
            Script::Ours { text, executable: true, .. } if *text == intent.text => Ok(()),
            _ => files::put(&self.script_path(), intent.text.as_bytes(), 0o755),
        }
    }

    fn shown(&self, intent: &Intent, done: bool) -> HooksPlan {
        let found = &intent.hooks_json;
        let lines = |old, new| {
            let lines = hooks::difference(old, new).into_iter();
            lines.map(|l| DiffLine { kind: kind(l.kind), text: l.text }).collect()
        };
        let forwarder_change = self.script_change(intent);
        let changes = intent.edit.changed || forwarder_change != FileChange::None || intent.comes;
        let script = match &intent.script {
            Script::Ours { text, .. } => Some(text.as_bytes()),
            Script::Nothing | Script::Foreign(_) => None,
        };
        HooksPlan {
            schema: SCHEMA,
            action: intent.action,
            token: intent.token(),
            file: found.named.display().to_string(),
            target: found.is_linked().then(|| found.target.display().to_string()),
            file_short: for_people(&found.named),
            target_short: found.is_linked().then(|| for_people(&found.target)),
            changes,
            applied: done && changes,
            difference: lines(found.bytes.as_deref(), intent.edit.new.as_deref()),
            forwarder: self.script_path().display().to_string(),
            forwarder_short: for_people(&self.script_path()),
            forwarder_change,
            forwarder_difference: match forwarder_change {
                FileChange::None => Vec::new(),
                FileChange::Created | FileChange::Changed => lines(script, Some(intent.text.as_bytes())),
                FileChange::Removed => lines(script, None),
            },
            warnings: warnings(&intent.edit.warnings),
        }
    }

    /// Whether the forwarder comes, goes, or changes.
    fn script_change(&self, intent: &Intent) -> FileChange {
        let installs = self.is_in(intent.edit.new.as_deref());
        match &intent.script {
            Script::Nothing if installs => FileChange::Created,
            Script::Nothing | Script::Foreign(_) => FileChange::None,
            Script::Ours { .. } if !installs => FileChange::Removed,
            Script::Ours { text, executable: true, .. } if *text == intent.text => FileChange::None,
            Script::Ours { .. } => FileChange::Changed,
        }
    }
}

impl Intent {
    /// Another one when anything is different that was looked at.
    fn token(&self) -> String {
        let mut h = DefaultHasher::new();
        (&self.hooks_json.target, &self.hooks_json.bytes, &self.edit.new).hash(&mut h);
        (&self.script, &self.text, self.comes).hash(&mut h);
        format!("{}-{:016x}", self.action.name(), h.finish())
    }
}

/// Why there is no plan.
enum Hindrance {
    Refused(Refusal),
    NothingToUndo,
    NoHome,
}

impl From<Refusal> for Hindrance {
    fn from(r: Refusal) -> Hindrance {
        Hindrance::Refused(r)
    }
}

fn error(r: Refusal) -> ErrorView {
    ErrorView { code: r.code.name().to_owned(), message: r.message }
}

fn warnings(all: &[Warning]) -> Vec<HooksWarning> {
    all.iter().map(|w| HooksWarning { code: w.code.to_owned(), message: w.message.clone() }).collect()
}

const fn kind(k: LineKind) -> DiffKind {
    match k {
        LineKind::Same => DiffKind::Same,
        LineKind::Removed => DiffKind::Removed,
        LineKind::Added => DiffKind::Added,
        LineKind::Place => DiffKind::Place,
    }
}
