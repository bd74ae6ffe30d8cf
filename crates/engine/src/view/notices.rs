//! The shapes of notifications: what was told, what was held back, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{LaneName, Rfc3339};

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// A turn is over, and it is the person's turn.
    Ready,
    /// agy went away in the middle of a turn.
    Ended,
    Failed,
    Waiting,
    /// Several within two seconds, of more than one kind.
    Several,
    /// The person asked for it, to see whether it arrives.
    Test,
}

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum NoticeFate {
    /// On its way.
    Pending,
    Shown,
    /// Held back, by a setting or because no desktop app ran; `why` says which.
    Held,
    /// The system did not take it; `why` has its words.
    Refused,
}

/// One thing that a notification tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct NoticePart {
    pub kind: NoticeKind,
    pub lane_id: Option<String>,
    pub lane_name: String,
    pub session_id: Option<String>,
    pub session_name: Option<String>,
    /// The tool that waits.
    pub tool: Option<String>,
    /// What it wants to do, or why the turn failed.
    pub detail: Option<String>,
    #[ts(type = "number | null")]
    pub duration_ms: Option<i64>,
    /// Of the turn; `null` where it is not known.
    #[ts(type = "number | null")]
    pub tokens: Option<u64>,
    /// Exact decimal; `null` where there is no price.
    pub cost_usd: Option<String>,
}

/// A notification, as it is in the history and as hosts show it. Texts are of one line each but `body`, and hold no
/// characters that control or turn a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Notification {
    #[ts(type = "number")]
    pub id: i64,
    pub at: Rfc3339,
    /// Grows when another thing is told with it, in the place of the one that is shown.
    #[ts(type = "number")]
    pub round: i64,
    pub kind: NoticeKind,
    pub urgent: bool,
    pub sound: bool,
    /// "api-server is ready"
    pub title: String,
    /// "3 min 12 s · 41 k tokens · $0.12"; empty when there is nothing to add.
    pub body: String,
    /// Where a click leads: the lane that needs the person most.
    pub lane_id: Option<String>,
    pub session_id: Option<String>,
    pub parts: Vec<NoticePart>,
    pub fate: NoticeFate,
    /// Why it was not shown, in words.
    pub why: Option<String>,
}

/// The Notifications screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct NotificationsDocument {
    pub schema: u32,
    pub do_not_disturb: bool,
    /// It is the person's quiet hours now.
    pub quiet_now: bool,
    pub muted_lanes: Vec<LaneName>,
    /// So many are kept.
    pub kept: u32,
    /// Newest first.
    pub rows: Vec<Notification>,
}
