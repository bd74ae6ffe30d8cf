//! What the Sessions screen asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Rfc3339, SessionRow};

/// What the Sessions screen asks for. An absent field filters nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct SessionsQuery {
    /// Matched against name, folder and id, without case; also of sub-agents, for which the session is listed that has
    /// them inside.
    pub search: Option<String>,
    pub lane_id: Option<String>,
    /// Only the sub-agents that this session started; without it sub-agents are left out, for they are shown inside theirs.
    pub parent_id: Option<String>,
    pub model: Option<String>,
    /// RFC 3339: only sessions active at or after this.
    pub since: Option<Rfc3339>,
    #[serde(default)]
    pub period: Option<Period>,
    #[serde(default)]
    pub state: Option<ListedState>,
    pub sort: SessionsSort,
    pub ascending: bool,
    pub offset: u32,
    /// At most 500; 0 means 100.
    pub limit: u32,
}

/// Last active then, in the person's days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    Today,
    Yesterday,
    /// Today and the six days before.
    Week,
    /// Today and the 29 days before.
    Month,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// Active, and waiting or failed.
    NeedsYou,
    Running,
    Idle,
    Completed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum SessionsSort {
    #[default]
    Active,
    Started,
    Name,
    Tokens,
    /// Sessions without a price come last.
    Cost,
}

/// What a search found inside a session that it did not find itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct FoundInside {
    pub session_id: String,
    /// So many of its sub-agents match, at any depth.
    pub found: u32,
    /// The first of those by their start, with those between them and the session: each says who started it (`parent_id`).
    pub rows: Vec<SessionRow>,
}
