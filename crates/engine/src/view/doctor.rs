//! What `doctor` finds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Lane, Problem};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    Note,
    Warning,
    Error,
}

/// One line of `agenthub doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Finding {
    pub level: Level,
    pub code: String,
    /// What it is about, in a few words.
    pub title: String,
    /// What is so.
    pub message: String,
    /// What to do about it; `null` only where all is well.
    pub advice: Option<String>,
}

/// Files that are unreadable for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ProblemGroup {
    /// As `Problem::code`.
    pub code: String,
    /// "12 files are no databases"
    pub message: String,
    pub advice: String,
    pub count: u32,
    /// The first few.
    pub files: Vec<String>,
}

/// `agenthub doctor --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DoctorDocument {
    pub schema: u32,
    pub version: String,
    pub agy_version: Option<String>,
    pub findings: Vec<Finding>,
    pub lanes: Vec<Lane>,
    /// All of them, but what a finding says of the whole folder.
    pub problems: Vec<Problem>,
    /// The same by reason, the most first.
    pub problem_groups: Vec<ProblemGroup>,
    pub counts: BTreeMap<String, u32>,
    /// What AgentHub cannot know, said openly.
    pub limits: Vec<String>,
}

/// A diagnostics bundle that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Bundle {
    pub schema: u32,
    pub file: String,
    /// The same as its owner knows it, `~` for the home folder.
    pub file_short: String,
    pub folder: String,
    /// The names of what is in it.
    pub entries: Vec<String>,
}
