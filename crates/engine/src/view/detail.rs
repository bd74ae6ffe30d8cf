//! One session, whole: what the Session screen shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Rfc3339, SessionRow, TimelineEntry, Tokens, Totals, Why};

/// The tokens in the prompt of the newest call, against what the model holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Context {
    #[ts(type = "number")]
    pub used: u64,
    #[ts(type = "number | null")]
    pub max: Option<u64>,
    pub parts: Vec<ContextPart>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ContextPart {
    pub name: String,
    #[ts(type = "number")]
    pub tokens: u64,
}

/// What the Session screen shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionDetail {
    #[serde(flatten)]
    pub row: SessionRow,
    pub since: Option<Rfc3339>,
    pub why: Why,
    pub context: Option<Context>,
    /// One for each turn in `timeline`, in order.
    pub turn_sums: Vec<TurnSum>,
    pub timeline: Vec<TimelineEntry>,
    /// The timeline was cut; the newest entries are shown.
    pub timeline_cut: bool,
    /// Why there is no or only an approximate timeline; `null` when there is nothing to explain.
    pub timeline_note: Option<String>,
    /// Its sub-agents, oldest first.
    pub subagents: Vec<SessionRow>,
    /// What it and all sub-agents below it used, at any depth; `null` when it has none.
    pub with_subagents: Option<Totals>,
    pub forks: Vec<SessionRef>,
    pub parent: Option<SessionRef>,
    pub origin: Option<SessionRef>,
}

/// What a turn took and used, as far as its timeline tells. Copied calls are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TurnSum {
    pub turn: u32,
    pub at: Option<Rfc3339>,
    pub approximate: bool,
    /// From its first entry to the end of its last; `null` while it is under way or where times are missing.
    #[ts(type = "number | null")]
    pub duration_ms: Option<i64>,
    pub calls: u32,
    pub tools: u32,
    /// `null`: no call of it told its usage.
    pub tokens: Option<Tokens>,
    pub cost_usd: Option<String>,
    /// As in a session.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionRef {
    pub id: String,
    pub name: String,
}
