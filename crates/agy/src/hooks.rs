//! Named hooks in agy's `hooks.json`: what an installation would change, and how one stands (spec §5, H1 to H5).
//!
//! Everything here is pure: bytes in, bytes or a refusal out. Whoever calls reads and writes the files. The text is
//! edited in place, so that what is not ours keeps its bytes. The tracer's hook uses it like AgentHub's own.

mod difference;
mod edit;
mod forwarder;
mod json;
mod ours;
mod report;
mod shape;

pub use difference::{Line, LineKind, difference};
pub use edit::{Edit, install, remove, too_big};
pub use forwarder::{Forwarder, Hook, VERSION, command, program_of};
pub use json::{Fault as JsonFault, fault as json_fault};
pub use ours::{Handler, NamedHook};
pub use report::{Entry, EventState, Forwarding, Report, Standing, report};

/// agy's events, as far as their shape is known (agy-format 6.2). agy takes their names without case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    PreToolUse,
    PostToolUse,
    PreInvocation,
    PostInvocation,
    SessionStart,
    Stop,
}

impl Event {
    pub const ALL: [Event; 6] = [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::PreInvocation,
        Event::PostInvocation,
        Event::SessionStart,
        Event::Stop,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PreInvocation => "PreInvocation",
            Event::PostInvocation => "PostInvocation",
            Event::SessionStart => "SessionStart",
            Event::Stop => "Stop",
        }
    }

    /// Tool events need `{matcher, hooks}` around their handlers; the others take them directly.
    pub const fn is_grouped(self) -> bool {
        matches!(self, Event::PreToolUse | Event::PostToolUse)
    }

    fn parse(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|e| e.name().eq_ignore_ascii_case(name))
    }
}

/// Why nothing is written: a closed list (spec H3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    BadJson,
    BadShape,
    Foreign,
    Changed,
    NotAFile,
    ReadOnly,
    NotOurs,
    TooBig,
    Loop,
    NoSpace,
    /// A path of ours that no script can name.
    BadPath,
    /// Anything else that the system said.
    Io,
}

impl Code {
    pub const fn name(self) -> &'static str {
        match self {
            Code::BadJson => "EBADJSON",
            Code::BadShape => "EBADSHAPE",
            Code::Foreign => "EFOREIGN",
            Code::Changed => "ECHANGED",
            Code::NotAFile => "ENOTAFILE",
            Code::ReadOnly => "EREADONLY",
            Code::NotOurs => "ENOTOURS",
            Code::TooBig => "ETOOBIG",
            Code::Loop => "ELOOP",
            Code::NoSpace => "ENOSPACE",
            Code::BadPath => "bad_request",
            Code::Io => "io",
        }
    }
}

/// A refusal, with a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into() }
    }
}

/// Something that does not hinder, but that the person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Closed list: `pre_tool_use`, `post_tool_use`, `flat_tool_entry`, `switched_on`.
    pub code: &'static str,
    pub message: String,
}

/// The largest hooks.json that is edited.
pub const MOST_BYTES: usize = 1 << 20;
