//! The rows about a conversation as a whole: its metadata blob, its finished executions, its references.

use crate::clock::At;
use crate::filler;
use crate::models;
use crate::wire::Msg;

/// Why an execution ended (`executor_metadata` field 1).
pub mod reason {
    /// An error.
    pub const ERROR: u32 = 1;
    /// Canceled by the person.
    pub const USER_CANCELED: u32 = 2;
    /// Too many calls.
    pub const MAX_INVOCATIONS: u32 = 3;
    /// The model had nothing more to call: the normal end.
    pub const NO_TOOL_CALL: u32 = 4;
    /// A Stop hook forced too many turns.
    pub const MAX_FORCED_INVOCATIONS: u32 = 6;
    /// Ended by a step that ends executions, as in a headless refusal.
    pub const TERMINAL_STEP_TYPE: u32 = 8;
}

/// What makes a conversation a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentSpec {
    /// `research`, `self` or a custom agent's name.
    pub type_name: String,
    /// What its parent calls it.
    pub role: String,
    /// Its task.
    pub prompt: String,
}

/// `trajectory_metadata_blob`, row `main`.
#[derive(Debug, Clone)]
pub struct Blob {
    /// Absolute folders; empty for a run without a workspace.
    pub workspaces: Vec<String>,
    /// Field 2.
    pub created: At,
    /// Field 3.
    pub initialization_id: String,
    /// Field 5.
    pub parent: Option<String>,
    /// Field 6.
    pub root: String,
    /// Field 8.
    pub subagent: Option<SubagentSpec>,
    /// Field 17.
    pub depth: u32,
}

/// Makes a `file://` URI of an absolute path, percent-encoding all but unreserved characters and `/`.
pub fn file_uri(path: &str) -> String {
    let mut out = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

impl Blob {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Msg::new();
        for path in &self.workspaces {
            let uri = file_uri(path);
            out = out.msg(1, &Msg::new().str(1, &uri).str(2, &uri).str(4, "main"));
        }
        out = out
            .msg(2, &self.created.timestamp())
            .str(3, &self.initialization_id)
            .opt_str(5, self.parent.as_deref())
            .str(6, &self.root);
        for path in &self.workspaces {
            out = out.str(7, &file_uri(path));
        }
        if let Some(spec) = &self.subagent {
            out = out.msg(
                8,
                &Msg::new().str(1, &spec.type_name).str(2, &spec.role).str(3, &spec.prompt).uint(4, 1),
            );
        }
        out.bytes(15, filler::experiments())
            .uint(17, u64::from(self.depth))
            .str(18, "default-cli-project")
            .into_bytes()
    }
}

/// A row of `executor_metadata`.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Field 1, see [`reason`].
    pub reason: u32,
    /// Field 2.
    pub invocations: u32,
    /// Field 3.
    pub last_step: u32,
    /// Field 9.
    pub id: String,
    /// Of field 10.
    pub model: u32,
}

impl Execution {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let model = u64::from(self.model);
        let plan = Msg::new()
            .uint(1, model)
            .uint(6, 65_535)
            .msg(15, &Msg::new().uint(1, model))
            .str(28, models::lookup(self.model).response_model);
        Msg::new()
            .uint(1, u64::from(self.reason))
            .uint(2, u64::from(self.invocations))
            .uint(3, u64::from(self.last_step))
            .str(9, &self.id)
            .msg(10, &Msg::new().msg(1, &plan))
            .bytes(11, filler::experiments())
            .into_bytes()
    }
}

/// A row of `parent_references`.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Trajectory that was left.
    pub trajectory_id: String,
    /// Step up to which rows were taken over.
    pub step: u32,
    /// Type of that step.
    pub step_type: u32,
    /// 1 PRUNE (a rewind), 2 FORK.
    pub kind: u32,
    /// Conversation that is named; absent in older versions.
    pub conversation: Option<String>,
}

impl Reference {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        Msg::new()
            .str(1, &self.trajectory_id)
            .uint(2, u64::from(self.step))
            .uint(3, 4)
            .uint(4, u64::from(self.step_type))
            .uint(5, u64::from(self.kind))
            .opt_str(6, self.conversation.as_deref())
            .into_bytes()
    }
}
