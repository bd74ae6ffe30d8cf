//! One turn as the tree that tracing sends, for the Session screen's waterfall.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Rfc3339, StepState, Tokens};

/// A turn of a session: turn → model calls → the tools that each asked for → the turns of sub-agents that they started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TurnTree {
    /// The step that began the turn.
    #[ts(type = "number")]
    pub step: i64,
    /// As a backend has it; `null` for a sub-agent's turn, which stands in its parent's trace.
    pub trace_id: Option<String>,
    /// When it began: what every `offset_us` counts from.
    pub at: Rfc3339,
    /// `null` while it is under way.
    #[ts(type = "number | null")]
    pub duration_us: Option<i64>,
    /// Times are whole seconds, or taken from a neighbour.
    pub approximate: bool,
    /// Told from the transcript, for the database can't be read: no tokens.
    pub from_transcript: bool,
    /// Of all calls, sub-agents' included; `null`: none of them told its usage.
    pub tokens: Option<Tokens>,
    /// Of all calls that have a price, sub-agents' included, as a decimal; `null`: none has.
    pub cost_usd: Option<String>,
    /// A parent before its children, children in their order; the turn itself is the first.
    pub spans: Vec<TreeSpan>,
    /// More spans than are shown: the oldest are here.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum TreeSpanKind {
    Turn,
    Call,
    Tool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TreeSpan {
    /// As a backend has it.
    pub id: String,
    pub parent: Option<String>,
    /// 0 for the turn itself.
    pub depth: u32,
    pub kind: TreeSpanKind,
    /// The session that it is of: a sub-agent has its own.
    pub session: String,
    /// An agent's, a model's or a tool's.
    pub name: String,
    /// A model's name for people.
    pub label: Option<String>,
    /// Where it stands in its session's timeline, where a step of agy's is known.
    #[ts(type = "number | null")]
    pub step: Option<i64>,
    pub at: Rfc3339,
    /// Microseconds after the turn's start; below 0 only where clocks disagree.
    #[ts(type = "number")]
    pub offset_us: i64,
    /// Microseconds; `null` while it is under way, or where agy does not tell.
    #[ts(type = "number | null")]
    pub duration_us: Option<i64>,
    pub approximate: bool,
    pub state: StepState,
    /// A word for how it failed, as in `error.type`: `error`, `canceled`, `denied`, `retried`, …
    pub failure: Option<String>,
    /// Of calls: a title or summary that agy asked for by itself.
    pub background: bool,
    /// Of calls: how much of `duration_us` went into thinking before the answer began; `null` where agy does not tell.
    #[ts(type = "number | null")]
    pub thinking_us: Option<i64>,
    /// Of calls; `null` is unknown, not zero. Of turns and tools, what the calls below them used, `null` without any.
    pub tokens: Option<Tokens>,
    /// Likewise; a decimal.
    pub cost_usd: Option<String>,
    /// Those of `tokens` that have no price.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
    /// A turn's prompt, a call's answer, a tool's most telling argument: on this machine alone, and cut.
    pub text: Option<String>,
}
