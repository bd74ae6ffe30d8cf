//! The two transcripts of a conversation: one line per finished step, in the order in which steps finish.

use std::fs::{self, OpenOptions};
use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::home::Home;
use crate::models;
use crate::recording::Recording;
use crate::step::{Content, Step, kind, status};

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// `transcript.jsonl`: every tool argument is JSON inside a JSON string.
    Short,
    /// `transcript_full.jsonl`: arguments as they are.
    Full,
}

/// The line of step `idx`; `None` for steps that agy leaves out.
pub fn line(recording: &Recording, idx: u32, flavour: Flavour) -> Option<String> {
    let step = recording.steps.get(idx as usize)?;
    let mut out = Map::new();
    out.insert("step_index".into(), json!(idx));
    out.insert("source".into(), json!(source(step.source)));
    out.insert("type".into(), json!(type_name(step)));
    out.insert("status".into(), json!(if step.status == status::ERROR { "ERROR" } else { "DONE" }));
    out.insert("created_at".into(), json!(step.created.rfc3339()));
    match &step.content {
        Content::History => {}
        Content::User { text, .. } => {
            out.insert("content".into(), json!(user_text(recording, idx, step, text)));
        }
        Content::Ephemeral(text) | Content::System { text, .. } => {
            out.insert("content".into(), json!(text));
        }
        Content::Planner { text, thinking, tools, .. } => {
            if !text.is_empty() {
                out.insert("content".into(), json!(text));
            }
            if !thinking.is_empty() {
                out.insert("thinking".into(), json!(thinking));
            }
            if !tools.is_empty() {
                let calls: Vec<Value> = tools
                    .iter()
                    .map(|tool| json!({"name": tool.name, "args": encode_args(&tool.args, flavour)}))
                    .collect();
                out.insert("tool_calls".into(), Value::Array(calls));
            }
        }
        Content::Tool { result, .. } => {
            let done = step.completed.unwrap_or(step.created);
            let text =
                format!("Created At: {}\nCompleted At: {}\n{result}", step.created.rfc3339(), done.rfc3339());
            out.insert("content".into(), json!(text));
        }
        Content::Checkpoint { .. } => {
            let text = "{{ CHECKPOINT 0 }}\n\n**The earlier parts of this conversation have been truncated due to \
                        its long length.**";
            out.insert("content".into(), json!(text));
        }
        Content::Error { message, .. } => {
            out.insert("content".into(), json!(message));
        }
    }
    Some(Value::Object(out).to_string())
}

fn user_text(recording: &Recording, idx: u32, step: &Step, text: &str) -> String {
    let now = step.created.rfc3339();
    let mut out = format!(
        "<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nThe current local time is: {now}.\n</ADDITIONAL_METADATA>"
    );
    if idx == 0 {
        let label = models::lookup(recording.model).label;
        out.push_str(&format!(
            "\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to {label}. No need to \
             comment on this change if the user doesn't ask about it.\n</USER_SETTINGS_CHANGE>"
        ));
    }
    out
}

fn encode_args(args: &Value, flavour: Flavour) -> Value {
    match (args, flavour) {
        (Value::Object(map), Flavour::Short) => {
            Value::Object(map.iter().map(|(k, v)| (k.clone(), Value::String(v.to_string()))).collect())
        }
        _ => args.clone(),
    }
}

fn source(number: u32) -> &'static str {
    match number {
        2 => "MODEL",
        4 => "USER_EXPLICIT",
        6 => "SYSTEM_SDK",
        _ => "SYSTEM",
    }
}

fn type_name(step: &Step) -> &'static str {
    match step.kind {
        kind::USER_INPUT => "USER_INPUT",
        kind::PLANNER => "PLANNER_RESPONSE",
        kind::ERROR_MESSAGE => "ERROR_MESSAGE",
        kind::CHECKPOINT => "CHECKPOINT",
        kind::EPHEMERAL => "EPHEMERAL_MESSAGE",
        kind::HISTORY => "CONVERSATION_HISTORY",
        kind::SYSTEM_MESSAGE => "SYSTEM_MESSAGE",
        5 => "CODE_ACTION",
        7 => "GREP_SEARCH",
        8 => "VIEW_FILE",
        9 => "LIST_DIRECTORY",
        21 => "RUN_COMMAND",
        31 => "READ_URL_CONTENT",
        33 => "SEARCH_WEB",
        38 => "MCP_TOOL",
        127 => "INVOKE_SUBAGENT",
        138 => "ASK_QUESTION",
        _ => "GENERIC",
    }
}

/// Writes both transcripts of a finished conversation.
pub fn write(home: &Home, recording: &Recording) -> Result<()> {
    append(home, recording, &recording.finished, true)
}

/// Appends the lines of these steps to both transcripts, or writes them anew.
pub(crate) fn append(home: &Home, recording: &Recording, steps: &[u32], anew: bool) -> Result<()> {
    fs::create_dir_all(home.generated(&recording.id).join("logs"))?;
    for (path, flavour) in [
        (home.transcript(&recording.id), Flavour::Short),
        (home.transcript_full(&recording.id), Flavour::Full),
    ] {
        let mut text = String::new();
        for line in steps.iter().filter_map(|idx| line(recording, *idx, flavour)) {
            text.push_str(&line);
            text.push('\n');
        }
        let mut open = OpenOptions::new();
        open.create(true);
        if anew {
            open.write(true).truncate(true)
        } else {
            open.append(true)
        };
        open.open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}
