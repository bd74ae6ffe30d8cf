//! agy's messages as prost makes them, and the few conversions that every reader of them needs.

/// Generated; proto/agy.proto says what each message is.
#[expect(unreachable_pub, reason = "prost makes everything `pub`; the module is private")]
mod generated {
    use crate::lenient::{Shape, Shaped, Wire};

    include!(concat!(env!("OUT_DIR"), "/agenthub.agy.rs"));
    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}

use agenthub_core::{SessionId, Time};
pub(crate) use generated::*;

pub(crate) use crate::lenient::decode;

/// A time that is absent or absurd is absent (spec S8).
pub(crate) fn time(i: Option<Instant>) -> Option<Time> {
    i.and_then(|i| Time::plausible(i.seconds, i.nanos))
}

/// Microseconds of a length that agy writes as seconds and nanoseconds; `None` where it has none, or an absurd one.
pub(crate) fn length_us(i: Option<Instant>) -> Option<i64> {
    /// Nothing of a turn takes longer.
    const MOST_SECONDS: i64 = 7 * 24 * 60 * 60;
    let i = i.filter(|i| (0..=MOST_SECONDS).contains(&i.seconds) && (0..1_000_000_000).contains(&i.nanos))?;
    Some(i.seconds * 1_000_000 + i64::from(i.nanos) / 1_000)
}

/// Text for people: `None` when empty, with U+FFFD for what is no UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

pub(crate) fn session_id(bytes: &[u8]) -> Option<SessionId> {
    SessionId::parse(std::str::from_utf8(bytes).ok()?.trim())
}

/// FNV-1a: ids are compared by their hash where only equality counts. Stable, for cursors hold such hashes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// agy's step types, as far as they matter here.
pub(crate) mod step_type {
    pub(crate) const USER_INPUT: i64 = 14;
    pub(crate) const PLANNER: i64 = 15;
    pub(crate) const ERROR_MESSAGE: i64 = 17;
    pub(crate) const CHECKPOINT: i64 = 23;
    pub(crate) const INVOKE_SUBAGENT: i64 = 127;
    pub(crate) const GENERIC: i64 = 132;

    /// The tool that a step of this type is, by the name that agy's 1.0.x gives its types. 1.2 and later write all
    /// tools as `GENERIC`, whose name stands in the step's metadata only.
    pub(crate) const fn tool(step_type: i64) -> Option<&'static str> {
        Some(match step_type {
            5 => "code_action",
            6 => "git_commit",
            7 => "grep_search",
            8 => "view_file",
            9 => "list_directory",
            10 => "compile",
            13 => "view_code_item",
            21 => "run_command",
            24 => "propose_code",
            25 => "find",
            28 => "command_status",
            29 => "memory",
            31 => "read_url_content",
            32 => "view_content_chunk",
            33 => "search_web",
            34 => "retrieve_memory",
            38 => "mcp_tool",
            47 => "view_file_outline",
            51 => "list_resources",
            52 => "read_resource",
            81 => "task_boundary",
            82 => "notify_user",
            85 => "browser_subagent",
            87 => "move",
            91 => "generate_image",
            92 => "delete_directory",
            100 => "send_command_input",
            102 => "wait",
            103 => "agency_tool_call",
            112 => "shell_exec",
            127 => "invoke_subagent",
            138 => "ask_question",
            140 => "tool_search",
            _ => return None,
        })
    }

    /// Whether a step of this type is a tool at work, whatever its metadata says.
    pub(crate) const fn is_tool(step_type: i64) -> bool {
        step_type == GENERIC || tool(step_type).is_some()
    }
}

/// agy's step states.
pub(crate) mod status {
    pub(crate) const PENDING: i64 = 1;
    pub(crate) const RUNNING: i64 = 2;
    pub(crate) const DONE: i64 = 3;
    pub(crate) const INVALID: i64 = 4;
    pub(crate) const CLEARED: i64 = 5;
    pub(crate) const CANCELED: i64 = 6;
    pub(crate) const ERROR: i64 = 7;
    pub(crate) const GENERATING: i64 = 8;
    pub(crate) const WAITING: i64 = 9;
    pub(crate) const QUEUED: i64 = 11;
    pub(crate) const INTERRUPTED: i64 = 12;

    /// At work, or about to be (spec L5.8).
    pub(crate) const fn is_live(status: i64) -> bool {
        matches!(status, PENDING | RUNNING | GENERATING | QUEUED)
    }

    /// Whether agy may still change a row in this state.
    pub(crate) const fn is_open(status: i64) -> bool {
        is_live(status) || status == WAITING || status == 0
    }
}
