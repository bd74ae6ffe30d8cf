//! The shapes of tracing: how it stands with the hook and each destination, and what its commands did.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ErrorView, HooksPlan, HooksStatus, Rfc3339};

/// `agenthub trace status --json`, and Settings → Tracing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingStatus {
    pub schema: u32,
    /// Whether the person switched it on.
    pub enabled: bool,
    /// One sentence.
    pub message: String,
    pub advice: Option<String>,
    /// Turns that ended before are not sent by themselves.
    pub since: Option<Rfc3339>,
    pub hook: HooksStatus,
    pub destinations: Vec<TracingDestination>,
    /// OTLP JSON lines are appended to this file, too.
    pub file: Option<String>,
    /// `none`, `email` or `hashed`.
    pub user: String,
    /// Whether agy's logs name the signed-in person's address; `null` where it is not asked for.
    pub user_found: Option<bool>,
    pub host_name: bool,
    pub content: TracingContent,
    /// Products by the folder of their conversations, with their switches; others are on.
    pub surfaces: BTreeMap<String, bool>,
    /// Conversations of which a turn is under way, held, or not yet sent.
    #[ts(type = "number")]
    pub open_conversations: u64,
    /// What all queues together may hold; beyond it the oldest is dropped.
    #[ts(type = "number")]
    pub most_waiting_bytes: u64,
    /// What is wrong in the settings, with what stands in for it.
    pub problems: Vec<TracingProblem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingProblem {
    pub key: String,
    pub message: String,
}

/// What people and models wrote, by kind: whether it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingContent {
    pub prompts: bool,
    pub answers: bool,
    pub thinking: bool,
    pub arguments: bool,
    pub results: bool,
    /// Characters of one text.
    pub longest: u32,
}

/// One place that spans go to, and how it stands with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingDestination {
    pub id: String,
    pub preset: String,
    /// The preset's, for people.
    pub name: String,
    pub enabled: bool,
    /// Without what is secret in it.
    pub endpoint: String,
    /// Names only: values are never shown.
    pub headers: Vec<String>,
    /// By which Phoenix and Arize sort.
    pub project: Option<String>,
    /// The attributes' names: `both`, `gen_ai` or `open_inference`.
    pub profiles: String,
    /// What hinders it, found without the network.
    pub error: Option<ErrorView>,
    /// What works, but is likely not meant.
    pub doubt: Option<String>,
    #[ts(type = "number")]
    pub waiting_spans: u64,
    #[ts(type = "number")]
    pub waiting_bytes: u64,
    pub oldest_at: Option<Rfc3339>,
    #[ts(type = "number")]
    pub sent_spans: u64,
    /// Of those that were sent, what the backend says it dropped.
    #[ts(type = "number")]
    pub rejected_spans: u64,
    /// Not wanted by the backend; kept until the destination is changed, or too old.
    #[ts(type = "number")]
    pub refused_spans: u64,
    /// Given up for age or space.
    #[ts(type = "number")]
    pub dropped_spans: u64,
    /// Files in its queue that were none of ours, and were set aside.
    #[ts(type = "number")]
    pub damaged: u64,
    /// Attempts in a row that did not go through.
    pub failures: u32,
    /// The newest request was not taken, be it a test.
    pub held_up: bool,
    pub next_attempt_at: Option<Rfc3339>,
    pub last: Option<TracingAttempt>,
    pub last_taken: Option<TracingAttempt>,
}

/// One request, and what the backend said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingAttempt {
    pub at: Rfc3339,
    #[ts(type = "number")]
    pub spans: u64,
    /// `taken`, `partly_taken`, `unavailable`, `failed`, `misdirected`, `too_large` or `refused`.
    pub fate: String,
    /// `null`: no answer came.
    pub http_status: Option<u16>,
    /// The backend's own words, for people.
    pub message: String,
    #[ts(type = "number")]
    pub rejected_spans: u64,
    #[ts(type = "number")]
    pub took_ms: u64,
}

/// What a person says when they switch tracing on, or change a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct TracingWish {
    /// `phoenix`, `arize`, `langfuse`, `honeycomb`, `jaeger`, `grafana`, `collector` or `atatus`.
    pub preset: Option<String>,
    /// A destination by its own name; `null`: the one with this endpoint, else the only one of this preset, else a new one.
    pub destination: Option<String>,
    /// A new one, whatever is there.
    pub add: bool,
    /// `null`: as it is; of a new one the preset's own, where it has one.
    pub endpoint: Option<String>,
    /// `name: value`.
    pub headers: Vec<String>,
    /// `none`, `email` or `hashed`; `null` leaves it as it is.
    pub user: Option<String>,
    pub project: Option<String>,
    /// Of the plan that was shown: another one is not carried out.
    pub token: Option<String>,
}

/// `agenthub trace install --json` and `uninstall --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingChange {
    pub schema: u32,
    /// The hook.
    pub plan: HooksPlan,
    /// The destination that was added or changed.
    pub destination: Option<String>,
    /// For people: what else is changed, and what to know.
    pub notes: Vec<String>,
    /// `false` in a dry run.
    pub applied: bool,
}

/// A change that touches no file of agy's. What is `null` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct TracingPatch {
    pub enabled: Option<bool>,
    /// `none`, `email` or `hashed`.
    pub user: Option<String>,
    pub host_name: Option<bool>,
    pub content: TracingContentPatch,
    /// By the folders of products.
    pub surfaces: BTreeMap<String, bool>,
    /// A whole path, or empty to write no file.
    pub file: Option<String>,
    pub destination: Option<TracingDestinationPatch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct TracingContentPatch {
    pub prompts: Option<bool>,
    pub answers: Option<bool>,
    pub thinking: Option<bool>,
    pub arguments: Option<bool>,
    pub results: Option<bool>,
    pub longest: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct TracingDestinationPatch {
    pub id: String,
    /// With its headers and what waits for it.
    pub remove: bool,
    pub enabled: Option<bool>,
    pub endpoint: Option<String>,
    /// `name: value`; others stay, unless the endpoint leads to another server.
    pub headers: Vec<String>,
    /// Empty takes it away.
    pub project: Option<String>,
    pub profiles: Option<String>,
}

/// What there is to know of a change that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingSaved {
    pub notes: Vec<String>,
}

/// What Settings → Tracing shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingScreen {
    #[serde(flatten)]
    pub status: TracingStatus,
    /// The products that share agy's hooks, each with its switch.
    pub products: Vec<TracingSurface>,
    pub presets: Vec<TracingPreset>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingSurface {
    pub folder: String,
    /// For people.
    pub name: String,
    pub on: bool,
}

/// A backend that settings are ready for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingPreset {
    pub id: String,
    pub name: String,
    /// `null`: only the person's account tells it.
    pub endpoint: Option<String>,
    /// What an address of theirs looks like, or where it stands.
    pub hint: String,
    pub headers: Vec<TracingHeader>,
    /// It shows a project's name.
    pub sorts_by_project: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingHeader {
    pub name: String,
    /// What to write, with the part to fill in in capitals.
    pub value: String,
    pub needed: bool,
}

/// `agenthub trace test --json`: one span went to each destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingTests {
    pub schema: u32,
    /// Whether every destination took it.
    pub ok: bool,
    pub tests: Vec<TracingTest>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingTest {
    pub destination: String,
    pub endpoint: String,
    /// To look for it in the backend; `null` when nothing could be sent.
    pub trace_id: Option<String>,
    pub attempt: TracingAttempt,
}

/// `agenthub trace export --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracingExport {
    pub schema: u32,
    /// The session that was sent: of a sub-agent, the one at its root.
    pub session: String,
    #[ts(type = "number")]
    pub turns: u64,
    #[ts(type = "number")]
    pub spans: u64,
    /// Whether every destination that is switched on took all of it; `true` in a dry run.
    pub ok: bool,
    /// How each destination stands afterwards; empty in a dry run.
    pub destinations: Vec<TracingDestination>,
    /// OTLP JSON, in a dry run only.
    #[ts(type = "unknown[]")]
    pub requests: Vec<serde_json::Value>,
}
