//! The shapes of the hooks' installer: what it would change, and how the hooks stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ErrorView, Rfc3339};

/// What a person can do about the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum HooksAction {
    /// Install, or bring up to date.
    Install,
    Remove,
    /// Take back the last write; twice, and it is as before.
    Undo,
}

impl HooksAction {
    pub const ALL: [HooksAction; 3] = [HooksAction::Install, HooksAction::Remove, HooksAction::Undo];

    pub const fn name(self) -> &'static str {
        match self {
            HooksAction::Install => "install",
            HooksAction::Remove => "remove",
            HooksAction::Undo => "undo",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    Same,
    Removed,
    Added,
    /// `@@ -1,4 +1,9 @@`
    Place,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DiffLine {
    pub kind: DiffKind,
    /// Without its line end.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HooksWarning {
    /// Closed list: `pre_tool_use`, `post_tool_use`, `flat_tool_entry`, `switched_on`, `foreign_forwarder`, `makes_folder`,
    /// `no_program`: that would be refused.
    pub code: String,
    pub message: String,
}

/// What installing, removing or undoing would change, or has changed: `agenthub hooks install --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HooksPlan {
    pub schema: u32,
    pub action: HooksAction,
    /// To apply exactly this.
    pub token: String,
    pub file: String,
    /// Where the file really is, when its path is a link.
    pub target: Option<String>,
    /// The same as their owner knows them, `~` for the home folder.
    pub file_short: String,
    pub target_short: Option<String>,
    /// `false`: everything is as it should be, and nothing is written.
    pub changes: bool,
    /// Whether they were made: `false` in a plan, and in a dry run.
    pub applied: bool,
    /// Of hooks.json; empty when only the forwarder changes.
    pub difference: Vec<DiffLine>,
    pub forwarder: String,
    pub forwarder_short: String,
    pub forwarder_change: FileChange,
    /// Of the script that agy starts; empty when it stays as it is.
    pub forwarder_difference: Vec<DiffLine>,
    pub warnings: Vec<HooksWarning>,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    None,
    Created,
    Changed,
    Removed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum HooksState {
    NotInstalled,
    Installed,
    SwitchedOff,
    Incomplete,
    StaleCommand,
    TargetMissing,
    /// Somebody else's hook or script has the place of ours.
    Foreign,
    /// hooks.json is no file that agy or we can read; `error` says why.
    Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum HooksEventState {
    Installed,
    /// On purpose: another tool's hook has it.
    LeftOut,
    Missing,
    Stale,
    Unwanted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HooksEvent {
    pub event: String,
    pub state: HooksEventState,
    pub last_at: Option<Rfc3339>,
}

/// `agenthub hooks status --json`, and the hooks card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HooksStatus {
    pub schema: u32,
    pub state: HooksState,
    pub message: String,
    pub advice: Option<String>,
    pub file: String,
    /// Where the file really is, when its path is a link.
    pub target: Option<String>,
    /// agy's configuration folder, in which both files stand.
    pub folder: String,
    /// The same as their owner knows them, `~` for the home folder.
    pub file_short: String,
    pub target_short: Option<String>,
    pub forwarder: String,
    pub forwarder_short: String,
    pub program: String,
    pub events: Vec<HooksEvent>,
    /// `null`: no event was seen yet.
    pub last_event_at: Option<Rfc3339>,
    /// Other named hooks with `PreToolUse`, which can block agy.
    pub pre_tool_use: Vec<String>,
    /// Other named hooks with `PostToolUse`; agy was seen to run only one of two.
    pub post_tool_use: Vec<String>,
    pub warnings: Vec<HooksWarning>,
    /// Why hooks.json can't be used as it is, or what has the place of our hook.
    pub error: Option<ErrorView>,
    pub can_undo: bool,
    pub notes: Vec<String>,
}
