//! What the person set: `settings.json` in the configuration folder (spec P3). Read whole, value by value, so that a bad one
//! costs no more than itself; written only when the person says so, and then only what they said.

mod document;
pub(crate) mod words;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_core::Windows;
use jiff::{civil, tz::TimeZone};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::{
    convert,
    view::{
        ErrorView, HostNote, NotificationSettings, SCHEMA, SettingProblem, Settings, SettingsView,
        ZoneSource, ZoneView,
    },
    way_out,
};

const NAME: &str = "settings.json";
/// A file that can't be read is kept under this name, with a number behind it.
const BROKEN: &str = "settings.broken-";
/// Settings are a page of text; whatever is larger is something else.
const LARGEST: u64 = 1 << 20;
/// A file that was written so recently may be half of what somebody's editor is about to write.
const AT_REST: Duration = Duration::from_secs(2);
/// What to do about a file that is still in its place, and about one that was put aside.
pub(crate) const CORRECT_IT: &str = "Correct it, or move it away.";
pub(crate) const NAME_IT_BACK: &str =
    "Correct it and give it back its name, or change a setting to begin anew.";
/// What to do about one that was put aside for new settings.
pub(crate) const TAKE_OVER: &str = "Correct the old file and take over from it what you want back.";
const MOST_PUT_ASIDE: usize = 16;
/// What this process did to files that could not be read, until somebody tells it.
static PUT_ASIDE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether there is something for [`take_put_aside`].
pub fn has_put_aside() -> bool {
    !PUT_ASIDE.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

/// What became of a settings file that this process could not read, in words: where it is now, and what is wrong in it. Whoever
/// takes it tells the person.
pub fn take_put_aside() -> Vec<String> {
    std::mem::take(&mut *PUT_ASIDE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Sections that are kept and may be set, although they are read elsewhere.
const ELSEWHERE: [&str; 1] = ["tracing"];

/// What tells one writing of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    modified: SystemTime,
    len: u64,
    #[cfg(unix)]
    inode: u64,
}

/// One reading of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) values: Settings,
    pub(crate) problems: Vec<SettingProblem>,
    pub(crate) file_problem: Option<String>,
    /// That file stands under another name now; else it is where it was.
    is_aside: bool,
    /// `None`: there is no file, or none that can be looked at.
    mark: Option<Mark>,
    /// It can't be read now, but may be whole in a moment.
    again: bool,
}

/// Where `settings.json` is.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
}

/// Why there are no values in the file.
enum Unusable {
    Missing,
    /// It is there, and can't be read.
    Unreadable(String),
    /// It was read, and is no JSON object.
    Broken(String),
}

impl SettingsFile {
    pub(crate) fn new(config_dir: &Path) -> SettingsFile {
        SettingsFile { path: config_dir.join(NAME) }
    }

    /// The settings in force. A file that is no JSON object is moved aside, once it has rested.
    pub(crate) fn read(&self) -> Reading {
        let mark = self.mark();
        let mut is_aside = false;
        let (object, file_problem, again) = match self.object() {
            Ok(object) => (object, None, false),
            Err(Unusable::Missing) => {
                let kept = self.kept_aside();
                is_aside = kept.is_some();
                (Map::new(), kept, false)
            }
            Err(Unusable::Unreadable(why)) => (
                Map::new(),
                Some(format!("{why} Until it can be read, defaults are in force. {CORRECT_IT}")),
                false,
            ),
            Err(Unusable::Broken(why)) => {
                let rests = mark.is_some_and(|m| m.rests());
                if rests && self.set_aside(&why, &format!("defaults are in force. {NAME_IT_BACK}")).is_ok() {
                    return self.read();
                }
                let path = convert::for_people(&self.path);
                let why = format!("{path} can't be read: {why}. Until it can, defaults are in force.");
                (Map::new(), Some(format!("{why} {CORRECT_IT}")), !rests)
            }
        };
        let (values, problems) = judge(&object);
        Reading { values, problems, file_problem, is_aside, mark, again }
    }

    /// Whether the file looks other than at that reading.
    pub(crate) fn has_changed_since(&self, reading: &Reading) -> bool {
        reading.again || self.mark() != reading.mark
    }

    /// Merges the person's patch (RFC 7386) into the file.
    ///
    /// # Errors
    /// `bad_settings` with the key when a value can't be or is not known; `io` when the file can't be read or written.
    pub(crate) fn merge(&self, patch: &Value) -> Result<(), ErrorView> {
        self.edit(|_| patch.clone()).map(drop)
    }

    /// Merges a patch that follows from what is set now. Nobody else sets something in between. Gives the name under which
    /// a file that was no JSON object is kept.
    ///
    /// # Errors
    /// As [`SettingsFile::merge`].
    pub(crate) fn edit(&self, patch: impl FnOnce(&Settings) -> Value) -> Result<Option<PathBuf>, ErrorView> {
        let bad = |key: &str, message: &str| error("bad_settings", format!("`{key}`: {message}"));
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let says = |e: io::Error| {
            let says = self.says(&e);
            ErrorView { message: format!("{} {}", says.message, way_out::of_io(&e)), ..says }
        };
        fs::create_dir_all(folder).map_err(says)?;
        // Two programs that change two settings at once must not undo each other.
        let lock = fs::File::create(folder.join(".settings.lock")).map_err(says)?;
        lock.lock().map_err(says)?;
        let (text, broken) = match self.text() {
            Ok(text) => (text, None),
            Err(Unusable::Missing) => (String::new(), None),
            Err(Unusable::Unreadable(why)) => return Err(error("io", format!("{why} {CORRECT_IT}"))),
            Err(Unusable::Broken(why)) => (String::new(), Some(why)),
        };
        let before = document::values(&text).unwrap_or_default();
        let (values, old) = judge(&before);
        let Value::Object(patch) = patch(&values) else {
            return Err(error("bad_settings", "Settings are changed by an object.".to_owned()));
        };
        let known = serde_json::to_value(Settings::default()).unwrap_or_default();
        if let Some(key) = unknown(&patch, &known) {
            return Err(bad(&key, "there is no such setting"));
        }
        let new = document::merged(&text, &patch).map_err(|e| bad(".", &e.to_string()))?;
        let after = document::values(&new).map_err(|e| error("bad_settings", e.to_string()))?;
        // What was bad before is not this patch's fault, unless it says it again.
        let fault = judge(&after).1.into_iter().find(|p| !old.contains(p) || names(&patch, &p.key));
        if let Some(p) = fault {
            return Err(bad(&p.key, &p.message));
        }
        if before == after && !text.is_empty() {
            return Ok(None);
        }
        let aside = match broken {
            Some(why) => {
                self.set_aside(&why, &format!("settings.json begins anew. {TAKE_OVER}")).map_err(says)?
            }
            None => None,
        };
        self.write(&format!("{new}\n")).map_err(says)?;
        Ok(aside)
    }

    /// Why the file's settings are lost to whoever changes one now: it is no JSON object, or is set aside already for that
    /// reason. `None` where all is well, and where it can't be read at all: then nothing can be changed either.
    pub(crate) fn lost(&self) -> Option<String> {
        match self.text() {
            Err(Unusable::Broken(why)) => Some(format!(
                "{} can't be read: {why}. What stands in it is not in force.",
                convert::for_people(&self.path)
            )),
            Err(Unusable::Missing) => self.kept_aside(),
            Ok(_) | Err(Unusable::Unreadable(_)) => None,
        }
    }

    pub(crate) fn view(&self, r: &Reading) -> SettingsView {
        SettingsView {
            schema: SCHEMA,
            path: convert::for_people(&self.path),
            values: r.values.clone(),
            problems: r.problems.clone(),
            file_problem: r.file_problem.clone(),
            zone: Zone::of(&r.values).view(),
        }
    }

    /// A section that is read elsewhere, and why there is none where the file can't be read.
    pub(crate) fn section(&self, name: &str) -> Result<Option<Value>, String> {
        match self.object() {
            Ok(mut object) => Ok(object.remove(name)),
            Err(Unusable::Missing) => Ok(None),
            Err(Unusable::Unreadable(why)) => Err(format!("{why} {CORRECT_IT}")),
            Err(Unusable::Broken(why)) => Err(why),
        }
    }

    fn object(&self) -> Result<Map<String, Value>, Unusable> {
        let text = self.text()?;
        document::values(&text).map_err(|e| Unusable::Broken(fault(&text, &e)))
    }

    /// The file's text, if it is a JSON object.
    fn text(&self) -> Result<String, Unusable> {
        let unreadable = |e: io::Error| match e.kind() {
            // Also a link into nothing.
            io::ErrorKind::NotFound => Unusable::Missing,
            io::ErrorKind::InvalidData => Unusable::Broken("it is not UTF-8 text".to_owned()),
            _ => Unusable::Unreadable(self.says(&e).message),
        };
        let meta = fs::metadata(&self.path).map_err(unreadable)?;
        if !meta.is_file() {
            let path = convert::for_people(&self.path);
            return Err(Unusable::Unreadable(format!("{path} is not a plain file.")));
        }
        if meta.len() > LARGEST {
            return Err(Unusable::Broken("it is larger than 1 MiB".to_owned()));
        }
        let text = fs::read_to_string(&self.path).map_err(unreadable)?;
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        document::values(text).map_err(|e| Unusable::Broken(fault(text, &e)))?;
        Ok(text.to_owned())
    }

    fn mark(&self) -> Option<Mark> {
        let meta = fs::metadata(&self.path).ok()?;
        Some(Mark {
            modified: meta.modified().ok()?,
            len: meta.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&meta),
        })
    }

    /// Moves the file to a name that nobody has; a link's own file stays where it is, and the link is moved. `why` is what is
    /// wrong in it, `then` what follows.
    /// Gives the new name; `None` when another process was faster.
    fn set_aside(&self, why: &str, then: &str) -> io::Result<Option<PathBuf>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let free = (now..now + 1_000)
            .map(|n| self.path.with_file_name(format!("{BROKEN}{n}.json")))
            .find(|p| fs::symlink_metadata(p).is_err());
        let aside = free.ok_or(io::ErrorKind::AlreadyExists)?;
        match fs::rename(&self.path, &aside) {
            // Another process was faster.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            done => {
                tracing::warn!(
                    "{} could not be read and is kept as {}",
                    self.path.display(),
                    aside.display()
                );
                done?;
                let told = format!(
                    "settings.json could not be read: {why}. It is kept as {}, and {then}",
                    convert::for_people(&aside)
                );
                let mut all = PUT_ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
                // A window takes nothing: there it is said as a note.
                all.truncate(MOST_PUT_ASIDE);
                all.push(told);
                Ok(Some(aside))
            }
        }
    }

    /// What to say about the newest file that was set aside, while no other has taken its place.
    fn kept_aside(&self) -> Option<String> {
        let folder = fs::read_dir(self.path.parent()?).ok()?;
        let names = folder.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let newest = names.filter(|n| n.starts_with(BROKEN)).max()?;
        let aside = SettingsFile { path: self.path.with_file_name(newest) };
        let why = match aside.text() {
            Err(Unusable::Broken(why) | Unusable::Unreadable(why)) => format!(": {why}"),
            _ => String::new(),
        };
        Some(format!(
            "settings.json could not be read{why}. It is kept as {}, and defaults are in force. {NAME_IT_BACK}",
            convert::for_people(&aside.path)
        ))
    }

    /// Replaces the file's bytes, through a link, with the mode that it had. Readers see the old file or the new one.
    fn write(&self, text: &str) -> io::Result<()> {
        let target = fs::canonicalize(&self.path).or_else(|e| match fs::read_link(&self.path) {
            // A link into nothing: the file is made where it points.
            Ok(to) => Ok(self.path.parent().unwrap_or(Path::new(".")).join(to)),
            Err(_) if e.kind() == io::ErrorKind::NotFound => Ok(self.path.clone()),
            Err(_) => Err(e),
        })?;
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(".agenthub-").tempfile_in(folder)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        if let Ok(meta) = fs::metadata(&target) {
            file.as_file().set_permissions(meta.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)?;
        Ok(())
    }

    fn says(&self, e: &io::Error) -> ErrorView {
        error("io", format!("{} can't be read or written: {e}.", convert::for_people(&self.path)))
    }
}

/// Why a text is no JSON object, where, and what to do: people write the file by hand.
fn fault(text: &str, e: &serde_json::Error) -> String {
    match agenthub_agy::hooks::json_fault(text) {
        Some(f) => format!("line {}, column {}: {}", f.line, f.column, f.what),
        None if !text.trim_start().starts_with('{') => "the whole must be one object, `{…}`".to_owned(),
        None => format!("line {}, column {} can't be read", e.line(), e.column()),
    }
}

impl Mark {
    fn rests(&self) -> bool {
        // A file from the future is not being written now.
        SystemTime::now().duration_since(self.modified).is_ok_and(|age| age >= AT_REST)
            || self.modified > SystemTime::now() + AT_REST
    }
}

impl Reading {
    /// What the board says about it.
    pub(crate) fn notes(&self) -> Vec<HostNote> {
        let note = |code: &str, message: String| HostNote { code: code.to_owned(), message };
        let mut notes = Vec::new();
        let code = if self.is_aside { "settings_reset" } else { "settings_unreadable" };
        notes.extend(self.file_problem.clone().map(|m| note(code, m)));
        if !self.problems.is_empty() {
            let each: Vec<String> =
                self.problems.iter().map(|p| format!("`{}`: {}", p.key, p.message)).collect();
            let message = format!("In settings.json defaults stand in for {}.", each.join("; "));
            notes.push(note("settings_bad", message));
        }
        notes.extend(Zone::of(&self.values).problem.map(|m| note("time_zone", m)));
        notes
    }
}

fn error(code: &str, message: String) -> ErrorView {
    ErrorView { code: code.to_owned(), message }
}

/// The values of a file, and what is wrong in it. Each value is tried on its own.
fn judge(object: &Map<String, Value>) -> (Settings, Vec<SettingProblem>) {
    let mut values = Settings::default();
    let mut problems = Vec::new();
    let Ok(Value::Object(defaults)) = serde_json::to_value(&values) else { return (values, problems) };
    let mut so_far = Value::Object(defaults.clone());
    try_each(object, &defaults, &mut Vec::new(), &mut |path, value| {
        let mut with = so_far.clone();
        let Some(slot) = path.iter().try_fold(&mut with, |v, key| v.get_mut(*key)) else { return };
        // A list would be taken for the fields of a section, in their order.
        let tried = if slot.is_object() {
            Err(words::must_be("an object, `{…}`", value))
        } else {
            *slot = value.clone();
            checked(&with).map_err(|e| match e {
                Fault::Value(wanted) => words::must_be(&wanted, value),
                Fault::Kind(e) => words::refused(&e, value),
                // Which numbers may stand there is told by one that never may.
                Fault::Number => {
                    if let Some(slot) = path.iter().try_fold(&mut with, |v, key| v.get_mut(*key)) {
                        *slot = u32::MAX.into();
                    }
                    match checked(&with) {
                        Err(Fault::Value(wanted)) => words::must_be(&wanted, value),
                        _ => words::must_be("a whole number", value),
                    }
                }
            })
        };
        match tried {
            Ok(settings) => (values, so_far) = (settings, with),
            Err(message) => problems.push(SettingProblem { key: path.join("."), message }),
        }
    });
    (values, problems)
}

/// What keeps values from being settings.
enum Fault {
    /// It is of the right kind. With what it must be.
    Value(String),
    /// Something else than the whole number that must stand there.
    Number,
    Kind(serde_json::Error),
}

fn checked(values: &Value) -> Result<Settings, Fault> {
    let settings = Settings::deserialize(values).map_err(|e| match words::is_about_a_whole_number(&e) {
        true => Fault::Number,
        false => Fault::Kind(e),
    })?;
    settings.check().map(|()| settings).map_err(Fault::Value)
}

/// Calls `try_one` for each value whose key is known, and for what stands in the place of a section.
fn try_each<'a>(
    object: &'a Map<String, Value>,
    defaults: &Map<String, Value>,
    path: &mut Vec<&'a str>,
    try_one: &mut dyn FnMut(&[&str], &Value),
) {
    for (key, value) in object {
        let Some(default) = defaults.get(key) else { continue };
        path.push(key);
        match (default, value) {
            (Value::Object(defaults), Value::Object(object)) => try_each(object, defaults, path, try_one),
            _ => try_one(path, value),
        }
        path.pop();
    }
}

/// The first key of a patch that is no setting. Taking one away is always right.
fn unknown(patch: &Map<String, Value>, known: &Value) -> Option<String> {
    patch.iter().find_map(|(key, value)| match (known.get(key), value) {
        (_, Value::Null) => None,
        (Some(known @ Value::Object(_)), Value::Object(patch)) => {
            unknown(patch, known).map(|rest| format!("{key}.{rest}"))
        }
        (Some(_), _) => None,
        (None, _) if ELSEWHERE.contains(&key.as_str()) => None,
        (None, _) => Some(key.clone()),
    })
}

/// Whether a patch sets the value with this key.
fn names(patch: &Map<String, Value>, key: &str) -> bool {
    let mut at = Some(patch);
    for part in key.split('.') {
        match at.and_then(|o| o.get(part)) {
            Some(Value::Object(o)) => at = Some(o),
            found => return found.is_some(),
        }
    }
    true
}

impl Settings {
    /// Whether each value is one that may be, beyond its type; else what the first must be that is not.
    fn check(&self) -> Result<(), String> {
        within(self.board_hours, 1, 720)?;
        within(self.quiet_minutes_with_hooks, 1, 1_440)?;
        within(self.quiet_minutes_without_hooks, 1, 1_440)?;
        if let Some(name) = &self.time_zone {
            TimeZone::get(name)
                .map_err(|_| "the IANA name of a time zone such as `Europe/Berlin`, or null".to_owned())?;
        }
        self.notifications.check()
    }

    /// The windows that the person set, in the place of those that they left alone.
    pub(crate) fn windows(&self, others: Windows) -> Windows {
        let default = Settings::default();
        let ms = |value: u32, default: u32, unit_ms: i64, other: i64| {
            if value == default { other } else { i64::from(value) * unit_ms }
        };
        let (minute, hour) = (60_000, 3_600_000);
        Windows {
            board_ms: ms(self.board_hours, default.board_hours, hour, others.board_ms),
            hook_quiet_ms: ms(
                self.quiet_minutes_with_hooks,
                default.quiet_minutes_with_hooks,
                minute,
                others.hook_quiet_ms,
            ),
            quiet_ms: ms(
                self.quiet_minutes_without_hooks,
                default.quiet_minutes_without_hooks,
                minute,
                others.quiet_ms,
            ),
            ..others
        }
    }
}

impl NotificationSettings {
    fn check(&self) -> Result<(), String> {
        within(self.min_turn_s, 0, 86_400)?;
        for text in [&self.quiet_hours.from, &self.quiet_hours.to] {
            time_of_day(text).ok_or("a time of day such as `22:00`")?;
        }
        if self.muted_lanes.len() > 1_000 || self.muted_lanes.iter().any(|l| l.len() > 8_192) {
            return Err("a list of at most 1000 ids of lanes".to_owned());
        }
        Ok(())
    }
}

/// `HH:MM`, as the settings write it.
pub(crate) fn time_of_day(text: &str) -> Option<civil::Time> {
    let (h, m) = text.split_once(':')?;
    let two = |s: &str| (s.len() == 2 && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse().ok());
    civil::Time::new(two(h)??, two(m)??, 0, 0).ok()
}

fn within(value: u32, least: u32, most: u32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("a whole number from {least} to {most}"))
}

/// The zone in which days are cut (spec S8), and how it came to be.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) zone: TimeZone,
    source: ZoneSource,
    problem: Option<String>,
}

impl Zone {
    /// The person's, else the system's.
    pub(crate) fn of(settings: &Settings) -> Zone {
        if let Some(zone) = settings.time_zone.as_ref().and_then(|name| TimeZone::get(name).ok()) {
            return Zone { zone, source: ZoneSource::Setting, problem: None };
        }
        let zone = TimeZone::system();
        if !zone.is_unknown() {
            return Zone { zone, source: ZoneSource::System, problem: None };
        }
        // Where nothing names a zone, UTC is what the C library takes, too; that needs no words.
        let problem = std::env::var_os("TZ").map(|tz| {
            let tz = tz.to_string_lossy();
            let tz: String = tz.chars().take(60).filter(|c| !c.is_control()).collect();
            format!(
                "The environment's time zone, TZ=`{tz}`, is none: days are cut in UTC. Set `time_zone` in the settings, \
                 or correct TZ."
            )
        });
        Zone { zone, source: ZoneSource::Fallback, problem }
    }

    fn view(&self) -> ZoneView {
        ZoneView { name: name_of(&self.zone), source: self.source, problem: self.problem.clone() }
    }
}

/// The zone's IANA name. A system whose zone is not known counts as UTC, under the name that Unicode has for that; one whose
/// zone has no name (a bare `/etc/localtime`, `TZ=CET-1`) is called `system`.
pub(crate) fn name_of(zone: &TimeZone) -> String {
    let nameless = if zone.is_unknown() { "Etc/Unknown" } else { "system" };
    zone.iana_name().unwrap_or(nameless).to_owned()
}

#[cfg(test)]
mod tests;
