//! One row of `steps`: what it holds and how its metadata and payload are encoded.

use serde_json::Value;

use crate::arms;
use crate::clock::At;
use crate::usage::{Attempt, Usage};
use crate::wire::Msg;

/// `steps.status`.
pub mod status {
    /// Made, not begun.
    pub const PENDING: u32 = 1;
    /// A tool at work.
    pub const RUNNING: u32 = 2;
    /// Finished.
    pub const DONE: u32 = 3;
    /// Ended by the person or by a restart.
    pub const CANCELED: u32 = 6;
    /// Failed or denied.
    pub const ERROR: u32 = 7;
    /// A model's answer that is still coming.
    pub const GENERATING: u32 = 8;
    /// A permission or a question is on the screen.
    pub const WAITING: u32 = 9;
    /// A message that waits for its turn.
    pub const QUEUED: u32 = 11;
    /// Ended by Esc.
    pub const INTERRUPTED: u32 = 12;
}

/// `steps.step_type`.
pub mod kind {
    /// A prompt.
    pub const USER_INPUT: u32 = 14;
    /// A model call.
    pub const PLANNER: u32 = 15;
    /// An API error.
    pub const ERROR_MESSAGE: u32 = 17;
    /// A title call (`intent_only`) or a compaction.
    pub const CHECKPOINT: u32 = 23;
    /// A reminder to the model.
    pub const EPHEMERAL: u32 = 90;
    /// First turn only, in 1.0.x.
    pub const HISTORY: u32 = 98;
    /// A message from a sub-agent or from agy.
    pub const SYSTEM_MESSAGE: u32 = 101;
    /// Every tool since 1.2.0.
    pub const GENERIC: u32 = 132;

    /// The type that 1.0.x gives to a tool.
    pub fn of_tool(name: &str) -> u32 {
        match name {
            "replace_file_content" | "write_to_file" => 5,
            "grep_search" => 7,
            "view_file" => 8,
            "list_dir" => 9,
            "run_command" => 21,
            "command_status" => 28,
            "read_url_content" => 31,
            "search_web" => 33,
            "invoke_subagent" => 127,
            "ask_question" => 138,
            _ => 38,
        }
    }
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Id of the call.
    pub id: String,
    /// `run_command`, `view_file`, ….
    pub name: String,
    /// Arguments, an object.
    pub args: Value,
}

impl ToolCall {
    pub(crate) fn encode(&self) -> Msg {
        Msg::new().str(1, &self.id).str(2, &self.name).str(3, &self.args.to_string())
    }
}

/// What a step says, apart from its metadata.
#[derive(Debug, Clone)]
pub enum Content {
    /// A prompt, and the model that was chosen for it.
    User { text: String, model: u32, queued: bool },
    /// CONVERSATION_HISTORY.
    History,
    /// A reminder.
    Ephemeral(String),
    /// A model's answer so far.
    Planner {
        text: String,
        thinking: String,
        message_id: String,
        tools: Vec<ToolCall>,
        stop_reason: u32,
        signature: Vec<u8>,
    },
    /// A tool step; typed or generic is decided by the step's type. `rejected`: the person said no.
    Tool { call: ToolCall, result: String, failed: bool, rejected: bool },
    /// A title (`intent_only`) or a summary.
    Checkpoint { intent_only: bool, text: String, end: u32, log_uri: String, requests: Vec<String> },
    /// An API error.
    Error { code: u32, message: String },
    /// Text from elsewhere; `sender` is a sub-agent's id or empty.
    System { text: String, sender: String, recipient: String },
}

/// A row of `steps`.
#[derive(Debug, Clone)]
pub struct Step {
    /// `step_type`.
    pub kind: u32,
    /// `status`.
    pub status: u32,
    /// Metadata 3.
    pub source: u32,
    /// Metadata 1.
    pub created: At,
    /// Metadata 32.
    pub started: Option<At>,
    /// Metadata 6, first token of an answer.
    pub viewable: Option<At>,
    /// Metadata 7.
    pub generated: Option<At>,
    /// Metadata 8.
    pub completed: Option<At>,
    /// Metadata 12; empty while a message is queued.
    pub execution_id: String,
    /// Metadata 20.1.
    pub trajectory_id: String,
    /// Metadata 20.4.
    pub cascade_id: String,
    /// Metadata 20.2: the index that the step had where it was made.
    pub source_index: u32,
    /// Metadata 20.3: index of the call's generator row.
    pub metadata_index: u32,
    /// Metadata 9.
    pub usage: Option<Usage>,
    /// Metadata 28.
    pub attempts: Vec<Attempt>,
    /// Metadata 11 and 13.
    pub model: Option<u32>,
    /// Metadata 26.
    pub transitions: Vec<(u32, At)>,
    /// The payload's arm.
    pub content: Content,
    /// True: metadata and payload are bytes that are no protobuf.
    pub garbage: bool,
    /// True: `viewable_at` and `last_completed_chunk_at` hold u64::MAX.
    pub absurd_time: bool,
}

/// Bytes that no protobuf decoder accepts: a length that goes beyond the end.
pub(crate) const GARBAGE: &[u8] = &[0x0a, 0xff, 0xff, 0xff, 0x0f, 0x08, 0x96, 0x01];

/// The blobs of a row.
pub(crate) struct Encoded {
    pub(crate) metadata: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) error_details: Option<Vec<u8>>,
}

impl Step {
    /// The call of a tool step.
    pub fn tool(&self) -> Option<&ToolCall> {
        match &self.content {
            Content::Tool { call, .. } => Some(call),
            _ => None,
        }
    }

    /// True while agy may still write to the row.
    pub fn is_live(&self) -> bool {
        matches!(
            self.status,
            status::PENDING | status::RUNNING | status::GENERATING | status::WAITING | status::QUEUED
        )
    }

    pub(crate) fn encode(&self) -> Encoded {
        if self.garbage {
            return Encoded { metadata: GARBAGE.to_vec(), payload: GARBAGE.to_vec(), error_details: None };
        }
        let metadata = self.metadata();
        let error = match &self.content {
            Content::Tool { failed: true, result, .. } => Some(arms::error_details(result, 0)),
            _ => None,
        };
        let payload = Msg::new()
            .uint(1, u64::from(self.kind))
            .uint(4, u64::from(self.status))
            .msg(5, &metadata)
            .opt_msg(31, error.clone())
            .raw(arms::arm(self).as_bytes());
        Encoded {
            metadata: metadata.into_bytes(),
            payload: payload.into_bytes(),
            error_details: error.map(Msg::into_bytes),
        }
    }

    fn metadata(&self) -> Msg {
        let absurd = Msg::new().varint(1, u64::MAX);
        let viewable = if self.absurd_time { Some(absurd.clone()) } else { self.viewable.map(At::timestamp) };
        let mut transitions = Msg::new();
        for (status, at) in &self.transitions {
            transitions = transitions.msg(1, &Msg::new().uint(1, u64::from(*status)).msg(2, &at.timestamp()));
        }
        let mut out = Msg::new()
            .msg(1, &self.created.timestamp())
            .uint(3, u64::from(self.source))
            .opt_msg(4, self.tool().map(ToolCall::encode))
            .opt_msg(6, viewable)
            .opt_msg(7, self.generated.map(At::timestamp))
            .opt_msg(8, self.completed.map(At::timestamp))
            .opt_msg(9, self.usage.as_ref().map(Usage::encode))
            .uint(11, self.model.map_or(0, u64::from))
            .str(12, &self.execution_id)
            .opt_msg(13, self.model.map(|m| Msg::new().uint(1, u64::from(m))))
            .msg(
                20,
                &Msg::new()
                    .str(1, &self.trajectory_id)
                    .uint(2, u64::from(self.source_index))
                    .uint(3, u64::from(self.metadata_index))
                    .str(4, &self.cascade_id),
            );
        if self.kind == kind::PLANNER {
            out = out.uint(21, 1);
        }
        if self.absurd_time {
            out = out.msg(22, &absurd);
        }
        out = out.msg(26, &transitions);
        for attempt in &self.attempts {
            out = out.msg(28, &attempt.encode());
        }
        if let Some(call) = self.tool() {
            let text = |key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default();
            out = out.str(30, text("toolSummary")).str(31, text("toolAction"));
        }
        out.opt_msg(32, self.started.map(At::timestamp))
    }
}
