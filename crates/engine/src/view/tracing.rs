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
    pub host_name: bool,
    pub content: TracingContent,
    /// Products by the folder of their conversations, with their switches; others are on.
    pub surfaces: BTreeMap<String, bool>,
    /// Conversations of which a turn is under way, held, or not yet sent.
    #[ts(type = "number")]
    pub open_conversations: u64,
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
    pub enabled: bool,
    /// Without what is secret in it.
    pub endpoint: String,
    /// Names only: values are never shown.
    pub headers: Vec<String>,
    /// What hinders it, found without the network.
    pub error: Option<ErrorView>,
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
    /// Attempts in a row that did not go through.
    pub failures: u32,
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
    /// `null`: the preset's own, where it has one.
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
    /// How each destination stands afterwards; empty in a dry run.
    pub destinations: Vec<TracingDestination>,
    /// OTLP JSON, in a dry run only.
    #[ts(type = "unknown[]")]
    pub requests: Vec<serde_json::Value>,
}
