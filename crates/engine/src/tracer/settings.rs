//! The section `tracing` of settings.json, and where its secrets are. Read value by value: a bad one costs no more than
//! itself (spec P3).

use std::{collections::BTreeMap, path::PathBuf};

use agenthub_agy::Surface;
use agenthub_core::Time;
use agenthub_otlp::Destination;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::privacy::Content;
use crate::settings::words::{must_be, refused};

/// How a user is named in traces (spec R9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserName {
    #[default]
    None,
    Email,
    /// SHA-256 of the address in lower case, in hexadecimal: the same person is the same user, and has no name.
    Hashed,
}

/// The person's choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracingSettings {
    pub enabled: bool,
    /// When it was switched on (RFC 3339): turns that ended before are not sent by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    pub destinations: Vec<Destination>,
    pub user: UserName,
    /// Whether the resource names this machine.
    pub host_name: bool,
    pub content: Content,
    /// By folder; all are on unless said otherwise (R12).
    pub surfaces: BTreeMap<String, bool>,
    /// OTLP JSON lines are appended to this file, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// What stands among the destinations and is none: somebody wrote it, so it stays in the file.
    #[serde(skip)]
    pub(crate) strangers: Vec<Value>,
}

/// A value that can't be used, and what stands in for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub key: String,
    pub message: String,
}

impl TracingSettings {
    /// From the section's value.
    pub(crate) fn of(section: Option<&Value>) -> (TracingSettings, Vec<Problem>) {
        let mut problems = Vec::new();
        let empty = Map::new();
        let object = match section {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(o)) => o,
            Some(other) => {
                let message = format!("{}; defaults stand in", must_be("an object, `{…}`", other));
                problems.push(Problem { key: "tracing".to_owned(), message });
                &empty
            }
        };
        let mut field = Field { object, place: "tracing", problems: &mut problems };
        let mut settings = TracingSettings {
            enabled: field.value("enabled"),
            since: field.value("since"),
            destinations: Vec::new(),
            user: field.value("user"),
            host_name: field.value("host_name"),
            content: Content::default(),
            surfaces: BTreeMap::new(),
            file: field.value("file"),
            strangers: Vec::new(),
        };
        let surfaces: Map<String, Value> = field.value("surfaces");
        let all: Vec<Value> = field.value("destinations");
        let written: Map<String, Value> = field.value("content");
        settings.content = content(&written, &mut problems);
        let mut field = Field { object: &surfaces, place: "tracing.surfaces", problems: &mut problems };
        for folder in surfaces.keys() {
            if let Some(on) = field.given(folder) {
                settings.surfaces.insert(folder.clone(), on);
            }
        }
        for (n, one) in all.into_iter().enumerate() {
            let key = || format!("tracing.destinations.{n}");
            let wrong = match serde_json::from_value::<Destination>(one.clone()) {
                Ok(d) if settings.destinations.iter().any(|o| o.id == d.id) => {
                    vec![(key(), format!("the name `{}` is taken by an earlier one", d.id))]
                }
                Ok(d) => {
                    typos(d.unknown.keys(), &DESTINATION, &key(), &mut problems);
                    settings.destinations.push(d);
                    continue;
                }
                Err(e) => faults(&one, &e, &key()),
            };
            problems.extend(wrong.into_iter().map(|(key, message)| {
                let message = format!("{message}; nothing is sent there");
                Problem { key, message }
            }));
            settings.strangers.push(one);
        }
        typos(object.keys(), &TRACING, "tracing", &mut problems);
        typos(written.keys(), &CONTENT, "tracing.content", &mut problems);
        if let Some(file) = settings.file.take_if(|f| !f.is_absolute()) {
            let message = must_be("a whole path", &Value::from(file.to_string_lossy()));
            problems.push(Problem { key: "tracing.file".to_owned(), message });
        }
        (settings, problems)
    }

    /// The section as it stands in the file.
    pub(crate) fn section(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut section)) = serde_json::to_value(self) else { return Map::new() };
        if let Some(Value::Array(all)) = section.get_mut("destinations") {
            all.extend(self.strangers.iter().cloned());
        }
        section
    }

    pub(crate) fn since(&self) -> Option<Time> {
        let t: jiff::Timestamp = self.since.as_deref()?.parse().ok()?;
        Some(Time::from_micros(t.as_microsecond()))
    }

    pub(crate) fn wants(&self, surface: &Surface) -> bool {
        self.surfaces.get(surface.folder()).copied().unwrap_or(true)
    }

    /// Whether anything is to be done at all.
    pub(crate) fn is_on(&self) -> bool {
        self.enabled && (self.file.is_some() || self.destinations.iter().any(|d| d.enabled))
    }
}

const TRACING: [&str; 8] =
    ["enabled", "since", "destinations", "user", "host_name", "content", "surfaces", "file"];
const CONTENT: [&str; 6] = ["prompts", "answers", "thinking", "arguments", "results", "longest"];
const DESTINATION: [&str; 11] = [
    "id",
    "preset",
    "enabled",
    "endpoint",
    "exact_path",
    "ca_file",
    "timeout_s",
    "gzip",
    "profiles",
    "cache_write_name",
    "project",
];

/// What is wrong in what should be a destination: each value that can't be, by its key, else what the whole lacks.
fn faults(one: &Value, e: &serde_json::Error, key: &str) -> Vec<(String, String)> {
    let whole = || vec![(key.to_owned(), refused(e, one))];
    let Value::Object(fields) = one else { return whole() };
    let sound = json!({ "id": "x", "endpoint": "" });
    let found: Vec<_> = fields
        .iter()
        .filter_map(|(name, value)| {
            let mut with = sound.clone();
            with.as_object_mut()?.insert(name.clone(), value.clone());
            let e = Destination::deserialize(&with).err()?;
            Some((format!("{key}.{name}"), refused(&e, value)))
        })
        .collect();
    if found.is_empty() { whole() } else { found }
}

/// An unknown key may be a later version's, so it stays and means nothing; one that is almost a known one is a slip of the
/// person's, who waits for it to work.
fn typos<'k>(
    keys: impl Iterator<Item = &'k String>,
    known: &[&str],
    place: &str,
    problems: &mut Vec<Problem>,
) {
    const MOST_SLIPS: usize = 2;
    for key in keys.filter(|k| !known.contains(&k.as_str()) && k.len() > MOST_SLIPS) {
        let near = |k: &&&str| strsim::damerau_levenshtein(k, &key.to_ascii_lowercase()) <= MOST_SLIPS;
        if let Some(meant) = known.iter().find(near) {
            let message = format!("there is no such setting; is it `{meant}`?");
            problems.push(Problem { key: format!("{place}.{key}"), message });
        }
    }
}

/// The switches of what leaves, each by itself: a bad one is off.
fn content(object: &Map<String, Value>, problems: &mut Vec<Problem>) -> Content {
    let mut field = Field { object, place: "tracing.content", problems };
    let content = Content {
        prompts: field.value("prompts"),
        answers: field.value("answers"),
        thinking: field.value("thinking"),
        arguments: field.value("arguments"),
        results: field.value("results"),
        longest: field.given("longest").unwrap_or(Content::LONGEST),
    };
    if (1..=Content::MOST).contains(&content.longest) {
        return content;
    }
    let wanted = format!("a whole number from 1 to {}", Content::MOST);
    let message = format!("{}; the default stands in", must_be(&wanted, &content.longest.into()));
    problems.push(Problem { key: "tracing.content.longest".to_owned(), message });
    Content { longest: Content::LONGEST, ..content }
}

struct Field<'a> {
    object: &'a Map<String, Value>,
    /// The key of that object.
    place: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Field<'_> {
    fn value<T: DeserializeOwned + Default>(&mut self, key: &str) -> T {
        self.given(key).unwrap_or_default()
    }

    /// `None` where nothing is given, or nothing that can be.
    fn given<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.object.get(key).filter(|v| !v.is_null())?;
        match serde_json::from_value(value.clone()) {
            Ok(value) => Some(value),
            Err(e) => {
                let message = format!("{}; the default stands in", refused(&e, value));
                self.problems.push(Problem { key: format!("{}.{key}", self.place), message });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(v: Value) -> (TracingSettings, Vec<String>) {
        let (s, problems) = TracingSettings::of(Some(&v));
        (s, problems.into_iter().map(|p| p.key).collect())
    }

    #[test]
    fn p3_r1_all_is_off_unless_it_was_switched_on() {
        let (s, problems) = TracingSettings::of(None);
        assert_eq!((s.is_on(), problems), (false, Vec::new()));
        assert_eq!(s, TracingSettings::default());
        assert!(s.wants(&Surface::CLI), "but each product, once it is");
    }

    #[test]
    fn p3_a_bad_value_costs_no_more_than_itself() {
        let (s, problems) = of(json!({
            "enabled": true, "user": "loud", "content": {"prompts": true, "longest": "x"}, "file": "here",
            "destinations": [{"id": "a", "endpoint": "http://localhost:4318"}, 7, {"id": "a", "endpoint": "x"}],
            "surfaces": {"antigravity-ide": false, "antigravity-cli": "off"}, "later": 1
        }));
        assert_eq!(
            problems,
            [
                "tracing.user",
                "tracing.content.longest",
                "tracing.surfaces.antigravity-cli",
                "tracing.destinations.1",
                "tracing.destinations.2",
                "tracing.file"
            ]
        );
        assert!(s.is_on() && s.user == UserName::None && s.content.prompts);
        for (longest, counts) in [(json!(-1), Content::LONGEST), (json!(0), Content::LONGEST), (json!(1), 1)]
        {
            let (s, _) = of(json!({"content": {"prompts": true, "answers": "yes", "longest": longest}}));
            assert_eq!(s.content, Content { prompts: true, longest: counts, ..Content::default() });
        }
        let (_, problems) = TracingSettings::of(Some(&json!({
            "enabled": "yes", "content": {"longest": 0}, "file": "here", "user": 5,
            "destinations": [
                {"id": "a", "endpoint": "http://localhost:4318", "timeout_s": "abc", "gzip": 1},
                {"id": "A b", "endpoint": "http://localhost:4318"}, {"id": "c"}, 7
            ]
        })));
        let told: Vec<String> = problems.iter().map(|p| format!("{} {}", p.key, p.message)).collect();
        let wanted = [
            "tracing.enabled it must be `true` or `false`, and is \"yes\"",
            "tracing.user it must be text in double quotes, and is 5",
            "tracing.content.longest it must be a whole number from 1 to 200000, and is 0",
            "tracing.destinations.0.gzip it must be `true` or `false`, and is 1; nothing is sent there",
            "tracing.destinations.0.timeout_s it must be a whole number, and is \"abc\"; nothing is sent there",
            "tracing.destinations.1.id A destination's id has 1 to 40 small letters, digits and `-`",
            "tracing.destinations.2 it lacks `endpoint`; nothing is sent there",
            "tracing.destinations.3 it must be an object, `{…}`, and is 7; nothing is sent there",
            "tracing.file it must be a whole path, and is \"here\"",
        ];
        assert_eq!(told.len(), wanted.len(), "{told:#?}");
        for (told, wanted) in told.iter().zip(wanted) {
            assert!(told.starts_with(wanted), "{told}\n{wanted}");
        }
        assert_eq!(s.destinations.len(), 1);
        assert!(!s.wants(&Surface::named("antigravity-ide").unwrap()) && s.wants(&Surface::CLI));
        assert_eq!(of(json!([])).1, ["tracing"]);
        // What is no destination stays in the file, behind those that are.
        let all = s.section()["destinations"].as_array().unwrap().clone();
        assert_eq!((all.len(), all[0]["id"].clone(), all[1].clone()), (3, json!("a"), json!(7)));
    }

    #[test]
    fn p3_a_slip_in_a_key_is_told_and_a_later_version_s_key_is_not() {
        let (_, problems) = TracingSettings::of(Some(&json!({
            "enabeld": true, "contents": {}, "retention_days": 7, "content": {"promts": true, "images": true},
            "destinations": [{"id": "a", "endpoint": "http://localhost:4318", "profile": "gen_ai", "later": 1}]
        })));
        let told: Vec<(&str, &str)> =
            problems.iter().map(|p| (p.key.as_str(), p.message.split('`').nth(1).unwrap())).collect();
        assert_eq!(
            told,
            [
                ("tracing.destinations.0.profile", "profiles"),
                ("tracing.contents", "content"),
                ("tracing.enabeld", "enabled"),
                ("tracing.content.promts", "prompts"),
            ]
        );
    }

    #[test]
    fn p3_what_is_written_is_read_again() {
        let (s, _) = of(json!({
            "enabled": true, "since": "2026-11-30T10:00:00Z", "user": "hashed", "host_name": true,
            "content": {"answers": true}, "file": "/tmp/x.jsonl",
            "destinations": [{"id": "a", "endpoint": "http://localhost:4318", "later": {"x": 1}}]
        }));
        let (again, problems) = of(serde_json::to_value(&s).unwrap());
        assert_eq!((again, problems), (s.clone(), Vec::new()));
        assert_eq!(s.since().unwrap().rfc3339(), "2026-11-30T10:00:00.000Z");
    }
}
