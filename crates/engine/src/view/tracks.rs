//! The shapes of the lanes' tracks in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::Rfc3339;

/// Which stretch of time to tell, of which lanes of the board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TracksQuery {
    pub since: Rfc3339,
    /// `null`: until now.
    pub until: Option<Rfc3339>,
    /// Ids; empty: all lanes of the board.
    pub lanes: Vec<String>,
}

/// The lanes' tracks: `board`'s picture of the past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Tracks {
    #[ts(type = "number")]
    pub since_ms: i64,
    #[ts(type = "number")]
    pub until_ms: i64,
    /// In the board's order.
    pub lanes: Vec<LaneTrack>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct LaneTrack {
    pub lane_id: String,
    /// By their beginnings. What is too close together to be told apart at this span is one.
    pub segments: Vec<Segment>,
    /// There is more than is told.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum SegmentKind {
    Turn,
    /// Waiting for work in the background.
    Held,
    Tool,
    Wait,
    /// A moment: it ends where it begins.
    Error,
}

/// A stretch of a lane's time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Segment {
    pub kind: SegmentKind,
    #[ts(type = "number")]
    pub from_ms: i64,
    /// `null`: it goes on.
    #[ts(type = "number | null")]
    pub to_ms: Option<i64>,
    /// Whole seconds, from the transcript.
    pub approximate: bool,
}
