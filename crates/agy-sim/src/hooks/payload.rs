//! The JSON that a hook gets on stdin: camelCase, zero values sent, no event name.

use serde_json::{Map, Value, json};

use super::HookEvent;
use crate::home::{Home, Layout};
use crate::models;
use crate::trajectory::reason;

/// The conversation that a hook is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) home: &'a Home,
    pub(crate) id: &'a str,
    pub(crate) layout: Layout,
    pub(crate) workspaces: &'a [String],
    pub(crate) model: u32,
}

/// What every event has, and what this one adds.
pub(crate) fn payload(subject: Subject<'_>, event: HookEvent, extra: Value) -> Map<String, Value> {
    let Subject { home, id, layout, workspaces, model } = subject;
    let transcript = match layout {
        Layout::V1_0 => home.transcript(id),
        Layout::V1_2 => home.transcript_full(id),
    };
    let mut out = Map::new();
    out.insert("artifactDirectoryPath".into(), json!(home.brain(id).display().to_string()));
    out.insert("conversationId".into(), json!(id));
    out.insert("transcriptPath".into(), json!(transcript.display().to_string()));
    out.insert("workspacePaths".into(), json!(workspaces));
    if layout == Layout::V1_2 {
        out.insert("modelName".into(), json!(slug(model)));
    }
    if let Value::Object(extra) = extra {
        out.extend(extra);
    }
    if event == HookEvent::PostToolUse && layout == Layout::V1_0 {
        out.remove("toolCall");
    }
    out
}

/// `gemini-3.8-flash-high`: the model as a slug with its effort.
fn slug(model: u32) -> String {
    let model = models::lookup(model);
    if !model.label.starts_with("Gemini") {
        return model.response_model.to_owned();
    }
    let words = model.label.split([' ', '(', ')']).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// The reason of a Stop: the enum's name since 1.1, the vendor's words before.
pub(crate) fn reason_name(layout: Layout, number: u32) -> &'static str {
    match (layout, number) {
        (Layout::V1_0, reason::ERROR) => "error",
        (Layout::V1_0, reason::MAX_INVOCATIONS | reason::MAX_FORCED_INVOCATIONS) => "max_steps_exceeded",
        (Layout::V1_0, _) => "model_stop",
        (Layout::V1_2, reason::ERROR) => "ERROR",
        (Layout::V1_2, reason::USER_CANCELED) => "USER_CANCELED",
        (Layout::V1_2, reason::MAX_INVOCATIONS) => "MAX_INVOCATIONS",
        (Layout::V1_2, reason::NO_TOOL_CALL) => "NO_TOOL_CALL",
        (Layout::V1_2, reason::MAX_FORCED_INVOCATIONS) => "MAX_FORCED_INVOCATIONS",
        (Layout::V1_2, reason::TERMINAL_STEP_TYPE) => "TERMINAL_STEP_TYPE",
        (Layout::V1_2, _) => "UNSPECIFIED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_agys() {
        assert_eq!(slug(1318), "gemini-3.8-flash-high");
        assert_eq!(slug(1016), "gemini-3.1-pro-high");
        assert_eq!(slug(1026), "claude-opus-4-6-thinking");
    }
}
