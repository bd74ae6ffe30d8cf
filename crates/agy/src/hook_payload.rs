//! One record of the hook journal, decoded: an accepted event of a session, or the reason why it is dropped (spec H8, H9).
//!
//! Everybody who may write into the person's data folder can write a record, and agy's own shapes differ from version to
//! version (agy-format §6.4): anything may stand here.

use std::path::{Component, Path, PathBuf};

use agenthub_core::{EventId, HookEvent, HookKind, SessionId, Time};
use serde_json::{Map, Value};

use crate::{Home, fingerprint, open, rows, text, view, wire};

/// A record as the journal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// agy's name of the event; agy does not say it, the forwarder does.
    pub event: &'a str,
    /// When the hook started, in nanoseconds since 1970.
    pub ns: u64,
    pub pid: u32,
    /// What agy wrote to the hook.
    pub body: &'a [u8],
}

/// An event that belongs to a session of the CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub session: SessionId,
    /// The first workspace folder; `None` where agy named none, which clears nothing (S6).
    pub cwd: Option<String>,
    pub event: HookEvent,
}

/// Why an event is dropped. A closed list, each counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dropped {
    /// Not one of the events that AgentHub asked for.
    UnknownEvent,
    /// The body is no JSON object.
    BadBody,
    /// No conversation id, or none that is a UUID.
    BadId,
    /// No path of a transcript tells whose event it is.
    NoTranscript,
    /// The transcript is not the CLI's: the IDE and the desktop app run the same hooks.
    NotTheCli,
    /// No body, and no conversation of that id.
    NoConversation,
    /// A PostToolUse of a step that is no tool (before 1.1.9).
    NoTool,
    /// The journal held bytes that are no record: a write was cut, or somebody else wrote.
    Unreadable,
    /// Beyond the bound of one event.
    TooLong,
    /// The hook was handed nothing, and nothing else named the conversation.
    Empty,
    /// What the hook was handed did not come whole in time, and nothing else named the conversation.
    Late,
    /// The journal was full when the event came.
    Full,
    /// The journal could not be written.
    Unwritable,
    /// A hook program of before the reasons were told could not write it down.
    NotKept,
}

impl Dropped {
    pub const ALL: [Dropped; 14] = [
        Dropped::UnknownEvent,
        Dropped::BadBody,
        Dropped::BadId,
        Dropped::NoTranscript,
        Dropped::NotTheCli,
        Dropped::NoConversation,
        Dropped::NoTool,
        Dropped::Unreadable,
        Dropped::TooLong,
        Dropped::Empty,
        Dropped::Late,
        Dropped::Full,
        Dropped::Unwritable,
        Dropped::NotKept,
    ];

    /// The reason behind one byte in the file of what the hook program could not write down; `agenthub-hook` has the same
    /// letters.
    pub const fn of_mark(mark: u8) -> Dropped {
        match mark {
            b'u' => Dropped::UnknownEvent,
            b'e' => Dropped::Empty,
            b'l' => Dropped::TooLong,
            b't' => Dropped::Late,
            b'f' => Dropped::Full,
            b'w' => Dropped::Unwritable,
            _ => Dropped::NotKept,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Dropped::UnknownEvent => "unknown_event",
            Dropped::BadBody => "bad_body",
            Dropped::BadId => "bad_id",
            Dropped::NoTranscript => "no_transcript",
            Dropped::NotTheCli => "not_the_cli",
            Dropped::NoConversation => "no_conversation",
            Dropped::NoTool => "no_tool",
            Dropped::Unreadable => "unreadable",
            Dropped::TooLong => "too_long",
            Dropped::Empty => "empty",
            Dropped::Late => "late",
            Dropped::Full => "full",
            Dropped::Unwritable => "unwritable",
            Dropped::NotKept => "not_kept",
        }
    }

    /// What it means, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Dropped::UnknownEvent => "not an event that AgentHub asked for",
            Dropped::BadBody => "the message was no JSON object",
            Dropped::BadId => "the message had no conversation id",
            Dropped::NoTranscript => "nothing says whose event it is",
            Dropped::NotTheCli => "not the CLI's: the Antigravity IDE and app run the same hooks",
            Dropped::NoConversation => "came without its message, for a conversation that is not there",
            Dropped::NoTool => "the end of a step that is no tool",
            Dropped::Unreadable => "no record: a write was cut off",
            Dropped::TooLong => "the message was longer than 1 MiB",
            Dropped::Empty => "came without a message, and nothing named the conversation",
            Dropped::Late => "the message did not come whole in time, and nothing named the conversation",
            Dropped::Full => "the journal was full",
            Dropped::Unwritable => "the journal could not be written",
            Dropped::NotKept => "not written down by an older hook program, which told no reason",
        }
    }
}

/// A hook's clock that runs ahead of its arrival by more than this is not believed.
const AHEAD_MS: i64 = 5_000;
const MOST_TEXT: usize = 200;
const MOST_NAME: usize = 64;

/// Decodes one record that was found at `arrival`. Total: any bytes may be in it.
///
/// # Errors
/// [`Dropped`] when it is not an event of a session of the CLI.
pub fn decode(home: &Home, record: &Record<'_>, arrival: Time) -> Result<Accepted, Dropped> {
    if !matches!(record.event, "PreInvocation" | "PostToolUse" | "Stop") {
        return Err(Dropped::UnknownEvent);
    }
    let body: Map<String, Value> = serde_json::from_slice(record.body).map_err(|_| Dropped::BadBody)?;
    let id = body.get("conversationId").and_then(Value::as_str);
    let session = id.and_then(SessionId::parse).ok_or(Dropped::BadId)?;
    // Where the body was too long or did not come, the hook gives the id alone.
    let is_bare = body.len() == 1;
    let kind = match body.get("transcriptPath").and_then(Value::as_str).filter(|p| !p.trim().is_empty()) {
        Some(path) if !is_the_clis(home, path) => return Err(Dropped::NotTheCli),
        Some(_) => match record.event {
            "PreInvocation" => HookKind::Invocation { num: number(&body, "invocationNum") },
            "PostToolUse" => tool(home, &session, &body)?,
            _ => stop(&body),
        },
        None if !is_bare => return Err(Dropped::NoTranscript),
        None if !home.conversation(&session).is_file() => return Err(Dropped::NoConversation),
        None => match record.event {
            "PreInvocation" => HookKind::Invocation { num: None },
            "PostToolUse" => HookKind::Tool { name: None, step: None },
            _ => HookKind::Seen,
        },
    };
    let event =
        HookEvent { at: time(record.ns, arrival), id: EventId { ns: record.ns, pid: record.pid }, kind };
    Ok(Accepted { cwd: folder(home, &body), session, event })
}

/// The hook's own time; one that is absurd, or later than its arrival, is cut to that.
fn time(ns: u64, arrival: Time) -> Time {
    let (seconds, nanos) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let at = Time::plausible(i64::try_from(seconds).unwrap_or(i64::MAX), i32::try_from(nanos).unwrap_or(0));
    at.filter(|at| *at <= arrival.plus_ms(AHEAD_MS)).unwrap_or(arrival)
}

/// Whether a path lies below the CLI's own folder, by the name that we know it under or by the one that it has once all
/// links are followed.
fn is_the_clis(home: &Home, path: &str) -> bool {
    let Some(path) = text::folder(path).map(PathBuf::from) else { return false };
    // `starts_with` compares names: a way back up would pass it.
    if path.components().any(|c| c == Component::ParentDir) {
        return false;
    }
    let given = std::path::absolute(home.cli()).unwrap_or_else(|_| home.cli());
    if path.starts_with(&given) {
        return true;
    }
    let Ok(real) = std::fs::canonicalize(&given) else { return false };
    path.starts_with(&real) || real_prefix(&path).is_some_and(|p| p.starts_with(&real))
}

/// The nearest folder above `path` that exists, with all links followed.
fn real_prefix(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|p| std::fs::canonicalize(p).ok())
}

fn folder(home: &Home, body: &Map<String, Value>) -> Option<String> {
    let folder = text::folder(body.get("workspacePaths")?.get(0)?.as_str()?)?;
    // agy's own folder for runs without a workspace is nobody's workspace.
    let is_scratch = |s: PathBuf| Path::new(&folder) == s;
    let scratch = home.scratch();
    let real = std::fs::canonicalize(&scratch).ok();
    (!is_scratch(scratch) && !real.is_some_and(is_scratch)).then_some(folder)
}

/// A number; protojson writes long ones as text.
fn number<T: TryFrom<i64>>(body: &Map<String, Value>, key: &str) -> Option<T> {
    let value = body.get(key)?;
    let n = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    T::try_from(n).ok()
}

fn tool(home: &Home, session: &SessionId, body: &Map<String, Value>) -> Result<HookKind, Dropped> {
    let step = number(body, "stepIdx");
    let called = body.get("toolCall").and_then(|c| c.get("name")).and_then(Value::as_str);
    if let Some(name) = called.and_then(|n| text::one_line(n, MOST_NAME)) {
        return Ok(HookKind::Tool { name: Some(name), step });
    }
    // 1.0.x does not say which tool, nor whether it was one: its step does.
    match step.and_then(|idx| step_of(home, session, idx)) {
        Some((false, _)) => Err(Dropped::NoTool),
        Some((true, name)) => Ok(HookKind::Tool { name, step }),
        None => Ok(HookKind::Tool { name: None, step }),
    }
}

/// Whether a step is a tool, and which; `None` where the file does not have it, or not yet.
fn step_of(home: &Home, session: &SessionId, idx: i64) -> Option<(bool, Option<String>)> {
    let path = std::fs::canonicalize(home.conversation(session)).ok()?;
    let seen = fingerprint(&path).ok()?;
    let opened = open::open(&path, &seen, home, open::Extent::Part).ok()?;
    let step = rows::step_by_idx(&opened.conn, idx, session).ok()??.step;
    let (meta, _) = rows::step_bytes(&opened.conn, idx).ok()??;
    let detail: wire::StepDetail = wire::decode(meta.as_slice()).unwrap_or_default();
    Some((step.is_tool, view::tool_name(detail.tool_call.as_ref(), step.step_type)))
}

fn stop(body: &Map<String, Value>) -> HookKind {
    if body.get("fullyIdle") == Some(&Value::Bool(false)) {
        return HookKind::HeldStop;
    }
    let reason = reason(body.get("terminationReason"));
    let error = body.get("error").and_then(Value::as_str).filter(|e| !e.is_empty());
    let error = match error {
        Some(e) => Some(text::one_line(e, MOST_TEXT).unwrap_or_default()),
        None => (reason.contains("ERROR") || reason.contains("FAIL")).then(String::new),
    };
    HookKind::Stop { error, reason }
}

/// agy's reason in upper case, without the prefix of its enum: `NO_TOOL_CALL`, `MODEL_STOP`. Empty where it gives none.
fn reason(value: Option<&Value>) -> String {
    let raw = match value {
        Some(Value::String(s)) => s.trim().to_ascii_uppercase(),
        Some(Value::Number(n)) => match n.as_i64() {
            Some(1) => "ERROR".to_owned(),
            Some(2) => "USER_CANCELED".to_owned(),
            Some(3) => "MAX_INVOCATIONS".to_owned(),
            Some(4) => "NO_TOOL_CALL".to_owned(),
            _ => n.to_string(),
        },
        _ => String::new(),
    };
    let name = raw.strip_prefix("EXECUTOR_TERMINATION_REASON_").unwrap_or(&raw);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().take(MOST_NAME).map(plain).collect()
}

#[cfg(test)]
mod tests;
