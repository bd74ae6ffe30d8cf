//! The shapes that leave the engine: `--json` documents and what the page shows, defined once.
//!
//! TypeScript types are made from these (`bindings`), and a test holds the committed file to them.

mod detail;
mod doctor;
mod hooks;
mod listing;
mod notices;
mod pricing;
mod settings;
mod tracing;
mod tracks;
mod usage;
mod waterfall;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use detail::{Context, ContextPart, SessionDetail, SessionRef, TurnSum};
pub use doctor::{Bundle, DoctorDocument, Finding, Level, ProblemGroup};
pub use hooks::{
    DiffKind, DiffLine, FileChange, HooksAction, HooksEvent, HooksEventState, HooksPlan, HooksState,
    HooksStatus, HooksWarning,
};
pub use notices::{NoticeFate, NoticeKind, NoticePart, Notification, NotificationsDocument};
pub use settings::{
    NoticeSwitch, NotificationSettings, PriceSettings, QuietHours, SettingProblem, Settings, SettingsView,
    ZoneSource, ZoneView,
};

pub use listing::{FoundInside, ListedState, Period, SessionsQuery, SessionsSort};

pub use pricing::{
    EarlierPrice, LongRates, ModelPrice, OwnPrice, PriceChanges, PriceMatch, PriceOrigin, PriceRates,
    PriceRow, PriceTable, PricedModel, PricingSet, PricingStatus, PricingView, Vendor,
};

pub use tracing::{
    TracingAttempt, TracingChange, TracingContent, TracingContentPatch, TracingDestination,
    TracingDestinationPatch, TracingExport, TracingHeader, TracingPatch, TracingPreset, TracingProblem,
    TracingSaved, TracingScreen, TracingStatus, TracingSurface, TracingTest, TracingTests, TracingWish,
};
pub use tracks::{LaneTrack, Segment, SegmentKind, Tracks, TracksQuery};
pub use usage::{
    ExportFormat, Exported, UsageBar, UsageBy, UsageDocument, UsageMeasure, UsageModel, UsagePart,
    UsageProject, UsageRange, UsageRow, UsageScreen, UsageScreenQuery, UsageStep,
};

pub use waterfall::{TreeSpan, TreeSpanKind, TurnTree};

/// The version of every document. A new major number means that a name changed its meaning or went away.
pub const SCHEMA: u32 = 1;

/// RFC 3339, UTC, milliseconds.
pub type Rfc3339 = String;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Idle,
    Running,
    Waiting,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Active,
    Completed,
}

/// How a session's newest turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    None,
    InProgress,
    Finished,
    Failed,
    Canceled,
    Unfinished,
    Quiet,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Evidence {
    pub fact: String,
    /// `hook`, `database`, `presence`, `run` or `clock`.
    pub source: String,
    pub at: Option<Rfc3339>,
}

/// The fact that decided a state, and those that it beat, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Why {
    #[serde(flatten)]
    pub decided: Evidence,
    pub beat: Vec<Evidence>,
}

/// One tool in one folder, or one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Lane {
    pub id: String,
    pub tool: String,
    pub name: String,
    pub cwd: Option<String>,
    /// Set on the lane of a command that `agenthub run` started.
    pub run_id: Option<String>,
    pub state: State,
    /// How its newest turn stands: `unfinished` when agy went away in the middle of it.
    pub outcome: Outcome,
    pub since: Option<Rfc3339>,
    /// The name of the tool that waits for its person.
    pub waiting_for: Option<String>,
    pub why: Why,
    /// Ids of the active sessions.
    pub sessions: Vec<String>,
    /// What its sessions used since midnight in the person's zone; `null`: nothing, or it is not known.
    pub tokens_today: Option<Tokens>,
    /// USD; `null`: no price.
    pub cost_usd_today: Option<String>,
    /// Tokens of theirs that are not in the cost, for want of a price.
    #[ts(type = "number")]
    pub tokens_unpriced_today: u64,
}

/// `agenthub lanes --json`, and each line of `watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct LanesDocument {
    pub schema: u32,
    pub lanes: Vec<Lane>,
}

/// A lane with what only the window and the tray show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BoardLane {
    #[serde(flatten)]
    pub lane: Lane,
    pub last_activity_at: Option<Rfc3339>,
    /// The folder as its owner knows it, `~` for the home folder.
    pub folder: Option<String>,
    /// One line below the name: what it asks, does, or failed at; `null` when there is nothing to say.
    pub detail: Option<String>,
    /// The tool that `detail` belongs to.
    pub detail_tool: Option<String>,
    pub members: Vec<BoardSession>,
}

/// An active session in its lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BoardSession {
    pub id: String,
    pub name: String,
    pub parent_id: Option<String>,
    pub state: State,
    pub since: Option<Rfc3339>,
    pub outcome: Outcome,
    pub why: Why,
    pub model: Option<String>,
    /// agy's name of the model for people; `null` where it has none.
    pub model_label: Option<String>,
    /// `null`: no call told its usage.
    #[ts(type = "number | null")]
    pub tokens_total: Option<u64>,
    /// `null`: no price.
    pub cost_usd: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Summary {
    pub error: u32,
    pub waiting: u32,
    pub running: u32,
    pub idle: u32,
    /// "1 failed · 2 running"; "No lanes" when there is none.
    pub line: String,
    /// The worst state of all lanes; `null` on an empty board.
    pub worst: Option<State>,
}

/// How far a long read is, in conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Scan {
    pub done: u32,
    pub total: u32,
}

/// Something that the person should know about AgentHub itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct HostNote {
    /// Closed list: `no_home`, `unreadable_folder`, `schema_drift`, `poll_only`, `store_rebuilt`, `person_rebuilt`, `settings_unreadable`, `settings_reset`, `settings_bad`, `time_zone`,
    /// `other_engine`, `source_failed`; the desktop host adds `no_tray` and `no_notifications`.
    pub code: String,
    pub message: String,
}

/// What the tray and the Lanes screen draw from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct BoardView {
    /// Counts every change of the store or the board; a screen that shows older numbers asks again.
    #[ts(type = "number")]
    pub revision: u64,
    pub as_of: Rfc3339,
    pub summary: Summary,
    pub lanes: Vec<BoardLane>,
    /// `null` when no long read is under way.
    pub scan: Option<Scan>,
    pub sessions_total: u32,
    pub problems_total: u32,
    pub notes: Vec<HostNote>,
    pub agy_version: Option<String>,
    /// agy's home, as the person knows it (`~` for the home folder).
    pub gemini_dir: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Tokens {
    #[ts(type = "number")]
    pub input: u64,
    #[ts(type = "number")]
    pub output: u64,
    #[ts(type = "number")]
    pub cache_read: u64,
    #[ts(type = "number")]
    pub cache_write: u64,
    /// Part of `output`.
    #[ts(type = "number")]
    pub thinking: u64,
    #[ts(type = "number")]
    pub total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelUsage {
    pub model: String,
    pub model_label: Option<String>,
    pub model_enum: i32,
    pub calls: u32,
    /// `null`: none of its calls told its usage.
    pub tokens: Option<Tokens>,
    /// Exact decimal; `null` where there is no price.
    pub cost_usd: Option<String>,
    /// The row that priced its newest call.
    pub price_row: Option<String>,
    /// Tokens that have no price: all of them, or those of parts that its row has no rate for.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
    /// Those parts, while others are priced: `input`, `cache_read`, `cache_write`, `output`.
    pub unpriced_parts: Vec<String>,
    /// Whose they are, by the name that the calls have themselves: one that agy's number alone names stands with a model of
    /// that number.
    pub unpriced_names: Vec<UnpricedName>,
}

/// Tokens without a price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct UnpricedName {
    pub model: String,
    #[ts(type = "number")]
    pub tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Warning {
    pub code: String,
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Session {
    pub id: String,
    pub tool: String,
    pub name: String,
    pub cwd: Option<String>,
    pub status: Status,
    pub state: State,
    /// How its newest turn stands: `unfinished` when agy went away in the middle of it.
    pub outcome: Outcome,
    pub started_at: Option<Rfc3339>,
    pub last_activity_at: Option<Rfc3339>,
    pub model: Option<String>,
    /// agy's name of the model for people; `null` where it has none.
    pub model_label: Option<String>,
    pub parent_id: Option<String>,
    pub forked_from: Option<String>,
    pub turns: u32,
    pub tool_calls: u32,
    pub calls_without_usage: u32,
    pub models: Vec<ModelUsage>,
    /// `null`: no call told its usage.
    pub tokens: Option<Tokens>,
    /// The sum of what is priced, as an exact decimal; `null` when nothing is.
    pub cost_usd: Option<String>,
    /// Tokens that are not in `cost_usd`, for they have no price.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
    pub unpriced_models: Vec<String>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, TS)]
pub struct Problem {
    pub file: String,
    /// `not_a_database`, `corrupt`, `no_such_table`, `empty`, `legacy_pb`, `not_a_uuid`, `not_a_file`, `symlink_loop`,
    /// `permission`, `busy` or `no_home`.
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Totals {
    pub sessions: u32,
    pub calls: u32,
    pub calls_without_usage: u32,
    #[serde(flatten)]
    pub tokens: Tokens,
    /// As in a session.
    pub cost_usd: Option<String>,
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
}

/// `agenthub sessions --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionsDocument {
    pub schema: u32,
    pub sessions: Vec<Session>,
    pub problems: Vec<Problem>,
    pub totals: Totals,
}

/// A session as a row of the Sessions screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionRow {
    #[serde(flatten)]
    pub session: Session,
    /// The lane's name, and its id to filter by.
    pub lane_name: String,
    pub lane_id: String,
    /// The folder as its owner knows it, `~` for the home folder.
    pub folder: Option<String>,
    /// Its sub-agents.
    pub children: u32,
    /// The conversation file is gone from agy's folder.
    pub file_gone: bool,
    /// The calendar day of its last activity in the person's zone, `YYYY-MM-DD`.
    pub day: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionsPage {
    pub rows: Vec<SessionRow>,
    /// Of all that match, not of this page. `sessions` counts the rows; the sums are those of the rows and of all sub-agents
    /// inside them, so that without a filter they are the same as everywhere.
    pub totals: Totals,
    /// So many sub-agents are in the sums besides the rows.
    pub subagents: u32,
    /// Of those of `rows` that the search did not find themselves: what it found inside them.
    pub inside: Vec<FoundInside>,
    pub sessions_total: u32,
    /// Ids of models and lanes that a filter can choose, over all sessions.
    pub models: Vec<String>,
    /// Names for people of those `models` that have one.
    pub model_labels: BTreeMap<String, String>,
    pub lanes: Vec<LaneName>,
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct LaneName {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum TimelineKind {
    Prompt,
    Call,
    Tool,
    Wait,
    Error,
    Checkpoint,
    Subagent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    Done,
    Running,
    Waiting,
    Failed,
    Canceled,
    Denied,
}

/// What the Session screen shows of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TimelineEntry {
    pub kind: TimelineKind,
    pub turn: u32,
    #[ts(type = "number | null")]
    pub step: Option<i64>,
    pub at: Option<Rfc3339>,
    pub approximate: bool,
    #[ts(type = "number | null")]
    pub duration_ms: Option<i64>,
    pub name: Option<String>,
    pub state: StepState,
    pub tokens: Option<Tokens>,
    pub cost_usd: Option<String>,
    /// Of a call: those of its tokens that have no price.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
    /// Prompt, answer or error; of a tool that did not fail, what `argument` says.
    pub text: Option<String>,
    /// Of a call that a fork copied: the session that it counts for. Its tokens are in that one's sums, not in this one's.
    pub copied_from: Option<String>,
}

/// A step with what no window shows: of a tool that writes a file, the arguments hold the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct WholeEntry {
    #[serde(flatten)]
    pub entry: TimelineEntry,
    /// Of a tool: the argument that tells most of what it does, on one line: a path, a command, a question.
    pub argument: Option<String>,
    /// Of a tool: all its arguments, JSON, cut.
    pub arguments: Option<String>,
    pub call: Option<String>,
}

/// `agenthub session ID --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SessionDocument {
    pub schema: u32,
    #[serde(flatten)]
    pub session: Session,
    pub timeline: Vec<WholeEntry>,
}

/// Every error that a command gives: the page and scripts branch on `code` only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ErrorView {
    /// Closed list: `not_found`, `unreadable` (a session whose file can't be read), `bad_request`, `bad_settings`, `store`,
    /// `store_damaged`, `io`, `other_engine`, `internal`; of a price sync `sync_unreachable`, `sync_timeout`, `sync_redirect`, `sync_status`, `sync_not_prices`, `sync_short`,
    /// `sync_too_large`; and of the hooks' installer
    /// `EBADJSON`, `EBADSHAPE`, `EFOREIGN`, `ECHANGED`, `ENOTAFILE`, `EREADONLY`, `ENOTOURS`, `ETOOBIG`, `ELOOP`, `ENOSPACE`.
    pub code: String,
    pub message: String,
}

/// All types that the page uses, as one TypeScript module.
pub fn bindings() -> String {
    let config = ts_rs::Config::default();
    let mut out =
        String::from("// Made from crates/engine/src/view.rs by `cargo xtask bindings`. Do not edit.\n\n");
    macro_rules! declare {
        ($($t:ty),+ $(,)?) => { $(
            out.push_str("export ");
            out.push_str(&<$t as TS>::decl(&config));
            out.push_str("\n\n");
        )+ };
    }
    declare!(
        State,
        Status,
        Outcome,
        Evidence,
        Why,
        Lane,
        LanesDocument,
        BoardLane,
        BoardSession,
        Summary,
        Scan,
        HostNote,
        BoardView,
        Tokens,
        ModelUsage,
        UnpricedName,
        Warning,
        Session,
        Problem,
        Totals,
        SessionsDocument,
        SessionRow,
        SessionsQuery,
        SessionsSort,
        Period,
        ListedState,
        SessionsPage,
        FoundInside,
        LaneName,
        TimelineKind,
        StepState,
        TimelineEntry,
        WholeEntry,
        SessionDocument,
        Context,
        ContextPart,
        SessionDetail,
        TurnSum,
        TurnTree,
        TreeSpanKind,
        TreeSpan,
        SessionRef,
        UsageDocument,
        UsageRow,
        UsageBy,
        UsageRange,
        UsageMeasure,
        UsageScreenQuery,
        UsageStep,
        UsageScreen,
        UsageBar,
        UsagePart,
        UsageModel,
        UsageProject,
        ExportFormat,
        Exported,
        Level,
        Finding,
        ProblemGroup,
        DoctorDocument,
        Bundle,
        TracksQuery,
        Tracks,
        LaneTrack,
        SegmentKind,
        Segment,
        HooksAction,
        DiffKind,
        DiffLine,
        HooksWarning,
        FileChange,
        HooksPlan,
        HooksState,
        HooksEventState,
        HooksEvent,
        HooksStatus,
        PricingView,
        PricingStatus,
        PriceTable,
        PriceOrigin,
        PriceChanges,
        PriceRow,
        PriceRates,
        LongRates,
        Vendor,
        PriceMatch,
        PricedModel,
        ModelPrice,
        EarlierPrice,
        OwnPrice,
        Settings,
        NotificationSettings,
        NoticeSwitch,
        QuietHours,
        PriceSettings,
        SettingsView,
        SettingProblem,
        ZoneView,
        ZoneSource,
        NoticeKind,
        NoticeFate,
        NoticePart,
        Notification,
        NotificationsDocument,
        TracingStatus,
        TracingProblem,
        TracingContent,
        TracingDestination,
        TracingAttempt,
        TracingWish,
        TracingPatch,
        TracingContentPatch,
        TracingDestinationPatch,
        TracingSaved,
        TracingScreen,
        TracingSurface,
        TracingPreset,
        TracingHeader,
        TracingChange,
        TracingTests,
        TracingTest,
        TracingExport,
        ErrorView,
    );
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The JSON Schema of each document that the command line prints, by its file name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("lanes", schemars::schema_for!(LanesDocument)),
        ("sessions", schemars::schema_for!(SessionsDocument)),
        ("session", schemars::schema_for!(SessionDocument)),
        ("usage", schemars::schema_for!(UsageDocument)),
        ("doctor", schemars::schema_for!(DoctorDocument)),
        ("doctor-bundle", schemars::schema_for!(Bundle)),
        ("hooks-status", schemars::schema_for!(HooksStatus)),
        ("hooks-plan", schemars::schema_for!(HooksPlan)),
        ("pricing", schemars::schema_for!(PricingView)),
        ("pricing-status", schemars::schema_for!(PricingStatus)),
        ("pricing-set", schemars::schema_for!(PricingSet)),
        ("trace-status", schemars::schema_for!(TracingStatus)),
        ("trace-change", schemars::schema_for!(TracingChange)),
        ("trace-test", schemars::schema_for!(TracingTests)),
        ("trace-export", schemars::schema_for!(TracingExport)),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schemas_are_these_types() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/schemas");
        for (name, schema) in super::schemas() {
            let path = folder.join(format!("{name}.schema.json"));
            let now = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
            if std::env::var_os("AGENTHUB_WRITE_BINDINGS").is_some() {
                std::fs::write(&path, &now).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == now, "{} is stale: run `cargo xtask bindings`", path.display());
        }
    }

    #[test]
    fn the_committed_bindings_are_these_types() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/bindings/view.ts");
        let now = super::bindings();
        if std::env::var_os("AGENTHUB_WRITE_BINDINGS").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == now, "ui/src/bindings/view.ts is stale: run `cargo xtask bindings`");
    }
}
