//! What a person says about one place that spans go to: what stands in `settings.json`. Its headers are apart, in
//! [`Secrets`](crate::Secrets).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Endpoint, Preset, Refusal};

/// Names a destination in settings, secrets and the queue, where it is a folder's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DestinationId(String);

impl DestinationId {
    pub const LONGEST: usize = 40;

    pub fn new(id: &str) -> Result<DestinationId, Refusal> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if id.is_empty() || id.len() > Self::LONGEST || !id.bytes().all(plain) || id.starts_with('-') {
            return Err(Refusal::new(
                "destination_refused",
                format!(
                    "A destination's id has 1 to {} small letters, digits and `-`, and begins with no `-`.",
                    Self::LONGEST
                ),
            ));
        }
        Ok(DestinationId(id.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `phoenix`, and where that is taken `phoenix-2`.
    pub fn free(preset: Preset, taken: &[Destination]) -> DestinationId {
        let name = preset.id();
        let names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}-{n}")));
        let mut free = names.filter(|name| taken.iter().all(|d| d.id.0 != *name));
        DestinationId(free.next().unwrap_or_else(|| name.to_owned()))
    }
}

impl TryFrom<String> for DestinationId {
    type Error = Refusal;

    fn try_from(id: String) -> Result<DestinationId, Refusal> {
        DestinationId::new(&id)
    }
}

impl From<DestinationId> for String {
    fn from(id: DestinationId) -> String {
        id.0
    }
}

impl fmt::Display for DestinationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which names a span's attributes get (R5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiles {
    #[default]
    Both,
    /// OpenTelemetry's conventions for generative AI, `gen_ai.*`.
    GenAi,
    /// OpenInference, `llm.*`: Phoenix and Arize.
    OpenInference,
}

impl Profiles {
    pub const fn gen_ai(self) -> bool {
        matches!(self, Profiles::Both | Profiles::GenAi)
    }

    pub const fn open_inference(self) -> bool {
        matches!(self, Profiles::Both | Profiles::OpenInference)
    }
}

/// OpenTelemetry renamed it lately, and some backends know only the old name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheWriteName {
    #[default]
    CacheWrite,
    CacheCreation,
}

/// One place that spans go to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    pub id: DestinationId,
    #[serde(default)]
    pub preset: Preset,
    #[serde(default = "yes")]
    pub enabled: bool,
    /// As the person wrote it; [`Destination::endpoint`] reads it.
    pub endpoint: String,
    /// No `/v1/traces` is appended, whatever the endpoint's path is.
    #[serde(default)]
    pub exact_path: bool,
    /// PEM. Where it is set, these certificates are trusted instead of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    #[serde(default = "timeout")]
    pub timeout_s: u32,
    #[serde(default = "yes")]
    pub gzip: bool,
    #[serde(default)]
    pub profiles: Profiles,
    #[serde(default)]
    pub cache_write_name: CacheWriteName,
    /// `openinference.project.name`, by which Phoenix and Arize sort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Keys of a later version: kept as they are.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

const fn yes() -> bool {
    true
}

const fn timeout() -> u32 {
    Destination::TIMEOUT_S
}

impl Destination {
    /// OpenTelemetry's own default.
    pub const TIMEOUT_S: u32 = 10;
    pub const LONGEST_TIMEOUT_S: u32 = 60;
    pub const LONGEST_PROJECT: usize = 200;

    pub fn new(id: DestinationId, preset: Preset, endpoint: &str) -> Destination {
        Destination {
            id,
            preset,
            enabled: true,
            endpoint: endpoint.trim().to_owned(),
            exact_path: false,
            ca_file: None,
            timeout_s: timeout(),
            gzip: true,
            profiles: Profiles::Both,
            cache_write_name: preset.cache_write_name(),
            project: None,
            unknown: serde_json::Map::new(),
        }
    }

    pub fn endpoint(&self) -> Result<Endpoint, Refusal> {
        Endpoint::parse(&self.endpoint, self.exact_path)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s.clamp(1, Self::LONGEST_TIMEOUT_S).into())
    }

    /// Everything that can be told without the network.
    pub fn check(&self) -> Result<Endpoint, Refusal> {
        let refused = |message: String| Err(Refusal::new("destination_refused", message));
        if !(1..=Self::LONGEST_TIMEOUT_S).contains(&self.timeout_s) {
            return refused(format!(
                "A timeout is 1 to {} seconds, not {}.",
                Self::LONGEST_TIMEOUT_S,
                self.timeout_s
            ));
        }
        if let Some(file) = &self.ca_file
            && !file.is_absolute()
        {
            // The hook runs in whatever folder agy runs in.
            return refused(format!("The certificates' file `{}` must be a whole path.", file.display()));
        }
        if let Some(project) = &self.project
            && (project.trim().is_empty()
                || project.len() > Self::LONGEST_PROJECT
                || project.contains(char::is_control))
        {
            return refused(format!(
                "A project's name has 1 to {} characters, none of them a line break.",
                Self::LONGEST_PROJECT
            ));
        }
        self.endpoint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> DestinationId {
        DestinationId::new(text).unwrap()
    }

    #[test]
    fn r4_an_id_is_safe_as_a_folders_name() {
        for good in ["phoenix", "a", "my-2nd", &"a".repeat(40)] {
            assert_eq!(id(good).as_str(), good);
        }
        for bad in ["", ".", "..", "a/b", "A", "-a", "a b", "ä", "a\0", &"a".repeat(41)] {
            assert!(DestinationId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn r4_a_second_destination_of_a_kind_gets_a_name_of_its_own() {
        let mut all = Vec::new();
        for expected in ["jaeger", "jaeger-2", "jaeger-3"] {
            let free = DestinationId::free(Preset::Jaeger, &all);
            assert_eq!(free.as_str(), expected);
            all.push(Destination::new(free, Preset::Jaeger, "http://localhost:4318"));
        }
    }

    #[test]
    fn p3_settings_are_read_with_defaults_and_keep_what_they_do_not_know() {
        let text = r#"{"id": "x", "endpoint": "http://localhost:4318", "later": {"a": 1}}"#;
        let read: Destination = serde_json::from_str(text).unwrap();
        assert_eq!(read.preset, Preset::Collector);
        assert!(read.enabled && read.gzip && !read.exact_path);
        assert_eq!((read.timeout_s, read.profiles), (10, Profiles::Both));
        let again: Destination = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        assert_eq!(serde_json::to_value(&read).unwrap()["later"]["a"], 1);
    }

    #[test]
    fn p3_every_value_is_checked() {
        let good = Destination::new(id("x"), Preset::Collector, "http://localhost:4318");
        assert!(good.check().is_ok());
        let refused = |change: &dyn Fn(&mut Destination)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.check().unwrap_err().message
        };
        assert!(refused(&|d| d.timeout_s = 0).contains("1 to 60"));
        assert!(refused(&|d| d.timeout_s = 61).contains("1 to 60"));
        assert!(refused(&|d| d.ca_file = Some("ca.pem".into())).contains("whole path"));
        assert!(refused(&|d| d.project = Some(" ".into())).contains("project"));
        assert!(refused(&|d| d.project = Some("a\nb".into())).contains("project"));
        assert!(refused(&|d| d.endpoint = "localhost".into()).contains("scheme"));
    }
}
