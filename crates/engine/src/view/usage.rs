//! The shapes of what was used: `agenthub usage`, and the Usage screen: one range, cut by day and model, by model, and by
//! project. All sums agree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Problem, Tokens, Totals};

/// What a sum is cut by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum UsageBy {
    Day,
    Model,
    Project,
    Session,
}

impl UsageBy {
    pub const fn name(self) -> &'static str {
        match self {
            UsageBy::Day => "day",
            UsageBy::Model => "model",
            UsageBy::Project => "project",
            UsageBy::Session => "session",
        }
    }
}

/// The days that the Usage screen shows, in the person's zone; all but `last_month` and `custom` go up to today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum UsageRange {
    Week,
    #[default]
    Days30,
    Days90,
    ThisMonth,
    LastMonth,
    All,
    /// From `since` until `until` of the question; one that is absent is open.
    Custom,
}

/// What is ranked and drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum UsageMeasure {
    #[default]
    Cost,
    Tokens,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct UsageScreenQuery {
    pub range: UsageRange,
    pub measure: UsageMeasure,
    /// Of a `custom` range: the first day, such as `2026-11-01`.
    pub since: Option<String>,
    /// The last day, included.
    pub until: Option<String>,
}

/// What one bar covers: days, and for long ranges weeks or months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum UsageStep {
    Day,
    Week,
    Month,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageScreen {
    /// The IANA name of the zone in which days are cut.
    pub time_zone: String,
    /// The first and the last day, `YYYY-MM-DD`; `null`: there is no call with a time.
    pub since: Option<String>,
    pub until: Option<String>,
    pub step: UsageStep,
    /// Oldest first, without a gap: a day without calls is a bar without parts.
    pub bars: Vec<UsageBar>,
    /// Calls whose time is not known: in no bar, and in all sums of the range `all`.
    pub untimed: Option<UsageRow>,
    /// The first in the measure first.
    pub models: Vec<UsageModel>,
    pub projects: Vec<UsageProject>,
    pub totals: Totals,
    /// How many of the sessions in `totals` are sub-agents, which lists show inside the session that started them.
    pub subagents: u32,
    /// How much of the prompts came from the cache, in percent; `null` where nothing is known.
    pub cached_percent: Option<u8>,
}

/// A day, a week or a month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageBar {
    /// Its key is its first day.
    #[serde(flatten)]
    pub row: UsageRow,
    /// Its last day.
    pub until: String,
    /// In the order of `models`; what the colourless ones used is one part at the end.
    pub parts: Vec<UsagePart>,
}

/// What one model used in a bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsagePart {
    /// Its place in `models`; `null`: all that have no colour.
    pub model: Option<u32>,
    pub calls: u32,
    /// `null`: no call told its usage.
    #[ts(type = "number | null")]
    pub tokens_total: Option<u64>,
    pub cost_usd: Option<String>,
    /// As in a session.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageModel {
    #[serde(flatten)]
    pub row: UsageRow,
    /// 1 to 5, the same for this model wherever it stands; `null` for those that are too many to tell apart.
    pub colour: Option<u8>,
    /// Its colour is another model's, too: drawn with stripes.
    pub striped: bool,
    /// The row that prices its calls of today; `null`: none.
    pub price_row: Option<String>,
    /// Why there is no price, or not for which parts, and what to do; `null` when all is priced.
    pub hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageProject {
    /// Its key is the folder; its label the folder's name.
    #[serde(flatten)]
    pub row: UsageRow,
    /// The folder as its owner knows it, `~` for the home folder.
    pub folder: Option<String>,
}

/// What an export holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    Csv,
    Json,
}

/// Where an export was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Exported {
    pub file: String,
    /// The same as its owner knows it, `~` for the home folder.
    pub file_short: String,
    pub folder: String,
    pub rows: u32,
}

/// `agenthub usage --by … --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageDocument {
    pub schema: u32,
    /// `day`, `model`, `project` or `session`.
    pub by: String,
    /// The IANA name of the zone in which days are cut; `system` for the system's where it has no name, `Etc/Unknown` (which is
    /// UTC) where that is not known.
    pub time_zone: String,
    pub rows: Vec<UsageRow>,
    /// What could not be read, and so is in no row nor in the totals: the same as in `agenthub sessions --json`.
    pub problems: Vec<Problem>,
    pub totals: Totals,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UsageRow {
    /// The day, the model's id, the folder or the session's id; `null` for "not known".
    pub key: Option<String>,
    /// For people: the model's label, the session's name; else the key.
    pub label: String,
    pub calls: u32,
    pub calls_without_usage: u32,
    /// Calls whose time is approximate.
    pub calls_approximate: u32,
    pub tokens: Option<Tokens>,
    /// As in a session.
    pub cost_usd: Option<String>,
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
}
