//! The arms of a step's payload: one function per kind of content.

use serde_json::Value;

use crate::step::{Content, Step, ToolCall, kind};
use crate::wire::Msg;

pub(crate) fn arm(step: &Step) -> Msg {
    match &step.content {
        Content::User { text, model, queued } => Msg::new().msg(19, &user_input(text, *model, *queued)),
        Content::History => Msg::new().msg(111, &Msg::new()),
        Content::Ephemeral(text) => {
            Msg::new().msg(103, &Msg::new().str(1, text).str(3, "bash_command_reminder"))
        }
        Content::Planner { text, thinking, message_id, tools, stop_reason, signature } => {
            let mut out = Msg::new().str(1, text).str(3, thinking).str(6, message_id);
            for tool in tools {
                out = out.msg(7, &tool.encode());
            }
            out = out.str(8, text);
            if let Some(first) = step.viewable {
                out = out.msg(11, &crate::clock::duration(first.since(step.created)));
            }
            out = out.uint(12, u64::from(*stop_reason));
            if !signature.is_empty() {
                out = out.msg(14, &Msg::new().msg(2, &Msg::new().bytes(1, signature)));
            }
            Msg::new().msg(20, &out)
        }
        Content::Tool { call, result, rejected, .. } => tool(step.kind, call, result, *rejected),
        Content::Checkpoint { intent_only, text, end, log_uri, requests } => {
            let mut out = Msg::new();
            out = if *intent_only { out.str(4, text) } else { out.uint(1, 1).str(5, text) };
            out = out.uint(9, u64::from(*intent_only)).uint(12, u64::from(*end)).str(15, log_uri);
            for request in requests {
                out = out.str(19, request);
            }
            Msg::new().msg(30, &out)
        }
        Content::Error { code, message } => {
            Msg::new().msg(24, &Msg::new().msg(3, &error_details(message, *code)).uint(5, 1))
        }
        Content::System { text, sender, recipient } => {
            let message = (!sender.is_empty()).then(|| {
                Msg::new()
                    .str(2, recipient)
                    .str(3, sender)
                    .str(4, text)
                    .uint(5, 3)
                    .msg(6, &step.created.timestamp())
            });
            Msg::new().msg(114, &Msg::new().str(1, text).opt_msg(4, message))
        }
    }
}

/// `CortexErrorDetails`.
pub(crate) fn error_details(message: &str, code: u32) -> Msg {
    let short = message.lines().next().unwrap_or_default();
    Msg::new().str(1, message).str(2, short).str(3, message).uint(7, u64::from(code))
}

fn user_input(text: &str, model: u32, queued: bool) -> Msg {
    let config = Msg::new().msg(1, &Msg::new().msg(15, &Msg::new().uint(1, u64::from(model))).varint(51, 0));
    // Field 1 (`query`) is empty in every real row; the text is in 2 and again in 3.1.
    Msg::new()
        .str(2, text)
        .msg(3, &Msg::new().str(1, text))
        .msg(4, &Msg::new())
        .uint(6, u64::from(queued))
        .msg(12, &config)
}

fn tool(step_type: u32, call: &ToolCall, result: &str, rejected: bool) -> Msg {
    let arg = |key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default();
    let rejected = u64::from(rejected);
    match (step_type, call.name.as_str()) {
        (kind::GENERIC, _) => {
            let mut out = Msg::new();
            if let Value::Object(args) = &call.args {
                for (key, value) in args {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    out = out.entry(1, key, &text);
                }
            }
            Msg::new().msg(140, &out.msg(2, &Msg::new().str(1, result)))
        }
        (_, "run_command") => {
            let output = Msg::new().str(1, result);
            let command = Msg::new()
                .str(2, arg("Cwd"))
                .uint(12, 500)
                .uint(14, rejected)
                .msg(21, &output)
                .str(23, arg("CommandLine"))
                .str(25, arg("CommandLine"));
            Msg::new().msg(28, &command)
        }
        (_, "view_file") => Msg::new().msg(14, &Msg::new().str(1, arg("AbsolutePath")).str(4, result)),
        (_, "grep_search") => Msg::new().msg(13, &Msg::new().str(1, arg("Query")).str(3, result)),
        (_, "list_dir") => Msg::new().msg(15, &Msg::new().str(1, arg("DirectoryPath")).str(2, result)),
        (_, "invoke_subagent") => Msg::new().msg(143, &subagents(call, result)),
        (_, "ask_question") => {
            let mut question = Msg::new().str(1, arg("Question"));
            for (id, text) in [("yes", "Yes"), ("no", "No")] {
                question = question.msg(2, &Msg::new().str(1, id).str(2, text));
            }
            Msg::new().msg(154, &Msg::new().msg(1, &question.str(5, result)))
        }
        _ => Msg::new()
            .msg(47, &Msg::new().str(1, "workspace").msg(2, &call.encode()).str(3, result).uint(7, rejected)),
    }
}

fn subagents(call: &ToolCall, result: &str) -> Msg {
    let mut out = Msg::new();
    let specs = call.args.get("Subagents").and_then(Value::as_array).cloned().unwrap_or_default();
    for spec in &specs {
        let text = |key: &str| spec.get(key).and_then(Value::as_str).unwrap_or_default();
        out = out.msg(9, &Msg::new().str(1, text("TypeName")).str(2, text("Role")).str(3, text("Prompt")));
    }
    // The result text is the one that the tool returned; its JSON names the children.
    for line in result.lines() {
        let Ok(child) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(id) = child.get("conversationId").and_then(Value::as_str) {
            let uri = child.get("logAbsoluteUri").and_then(Value::as_str).unwrap_or_default();
            out = out.msg(10, &Msg::new().str(1, id).str(2, uri));
        }
    }
    out
}
