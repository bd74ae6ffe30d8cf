//! A named hook as AgentHub writes it, and how to tell it from somebody else's of the same name.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Event, Refusal, command,
    json::{Document, Kind, Member},
};

/// What a named hook shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHook {
    pub name: String,
    /// The script that all its commands start. By its file name ours are recognised, wherever it was before.
    pub forwarder: PathBuf,
    pub handlers: Vec<Handler>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    pub event: Event,
    /// Seconds.
    pub timeout: u32,
    /// Left out while another named hook has this event (spec H1).
    pub only_alone: bool,
}

impl NamedHook {
    /// AgentHub's own (spec H1). Never `PreToolUse`: whoever observes there denies every tool.
    pub fn agenthub(forwarder: PathBuf) -> NamedHook {
        let handler = |event, only_alone| Handler { event, timeout: 5, only_alone };
        NamedHook {
            name: "agenthub".to_owned(),
            forwarder,
            handlers: vec![
                handler(Event::PreInvocation, false),
                handler(Event::PostToolUse, true),
                handler(Event::Stop, false),
            ],
        }
    }

    /// The tracer's (spec R1): the beginning and the end of a turn.
    pub fn tracing(forwarder: PathBuf) -> NamedHook {
        let handler = |event| Handler { event, timeout: 30, only_alone: false };
        NamedHook {
            name: "agenthub-tracing".to_owned(),
            forwarder,
            handlers: vec![handler(Event::PreInvocation), handler(Event::Stop)],
        }
    }

    /// The handlers that this file shall have.
    pub(super) fn wanted<'a>(&'a self, document: &'a Document<'_>) -> impl Iterator<Item = &'a Handler> {
        self.handlers.iter().filter(|h| !h.only_alone || self.others_with(h.event, document).is_empty())
    }

    /// The names of other hooks that have handlers for this event.
    pub(super) fn others_with(&self, event: Event, document: &Document<'_>) -> Vec<String> {
        let has_handlers = |m: &Member| {
            Event::parse(&m.name) == Some(event)
                && matches!(&m.value.kind, Kind::Array(entries) if !entries.is_empty())
        };
        let has = |m: &&Member| {
            m.name != self.name
                && matches!(&m.value.kind, Kind::Object(members) if members.iter().any(has_handlers))
        };
        let mut names: Vec<String> = document.members.iter().filter(has).map(|m| m.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The value of one event: `[{…}]`, grouped where agy wants that.
    pub(super) fn entries(&self, handler: &Handler) -> Result<Value, Refusal> {
        let command = command(&self.forwarder, handler.event)?;
        let one = json!({ "type": "command", "command": command, "timeout": handler.timeout });
        Ok(if handler.event.is_grouped() {
            json!([{ "matcher": "*", "hooks": [one] }])
        } else {
            json!([one])
        })
    }

    /// Whether this value has handlers, and each starts our forwarder, wherever it is. A value that holds something else, or
    /// nothing that we would have written, is somebody's, and stays (spec H4).
    pub(super) fn is_ours(&self, value: &str) -> bool {
        let Ok(Value::Object(hook)) = serde_json::from_str::<Value>(value) else { return false };
        let is_some = |entries: &Value| entries.as_array().is_some_and(|all| all.iter().any(has_handler));
        hook.values().any(is_some)
            && hook.iter().all(|(name, entries)| match (Event::parse(name), entries) {
                (Some(_), Value::Array(entries)) => entries.iter().all(|e| self.entry_is_ours(e)),
                (None, Value::Bool(_)) => name.eq_ignore_ascii_case("enabled"),
                _ => false,
            })
    }

    /// A handler of ours, or a group of such.
    fn entry_is_ours(&self, entry: &Value) -> bool {
        match entry.get("hooks") {
            Some(Value::Array(handlers)) => handlers.iter().all(|h| self.handler_is_ours(h)),
            Some(_) => false,
            None => self.handler_is_ours(entry),
        }
    }

    fn handler_is_ours(&self, handler: &Value) -> bool {
        handler.get("command").and_then(Value::as_str).is_some_and(|c| self.starts_forwarder(c))
    }

    fn starts_forwarder(&self, command: &str) -> bool {
        let name = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
        let ours = self.forwarder.file_name().map(Path::new).and_then(Path::to_str).map(str::to_owned);
        ours.is_some() && name(&first_word(command)) == ours
    }
}

/// Whether an entry is a handler, or a group that has one.
fn has_handler(entry: &Value) -> bool {
    entry.get("hooks").and_then(Value::as_array).is_none_or(|handlers| !handlers.is_empty())
}

/// The program that a shell would start, near enough to find its file name.
pub(super) fn first_word(command: &str) -> String {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = command.trim_start().chars();
    while let Some(c) = chars.next() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '\\' && cfg!(unix) => word.extend(chars.next()),
            None if c.is_whitespace() => break,
            None => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h4_ours_is_what_starts_our_forwarder_and_nothing_else() {
        let hook = NamedHook::agenthub("/g/config/agenthub-hook.sh".into());
        let ours = |text: &str| hook.is_ours(text);
        assert!(ours(
            r#"{"Stop": [{"type":"command","command":"'/old place/it'\\''s/agenthub-hook.sh' Stop","timeout":9}]}"#
        ));
        assert!(ours(r#"{"enabled": false, "stop": [{"command":"/x/agenthub-hook.sh Stop"}]}"#));
        assert!(ours(
            r#"{"PreToolUse": [{"matcher":"*","hooks":[{"command":"\"/x y/agenthub-hook.sh\" PreToolUse"}]}]}"#
        ));
        for other in [
            "{}",
            r#"{"Stop": []}"#,
            r#"{"enabled": false}"#,
            r#"{"PostToolUse": [{"matcher": "*", "hooks": []}]}"#,
            r#"{"Stop": [{"command":"/x/notify.sh agenthub-hook.sh"}]}"#,
            r#"{"Stop": [{"command":"/x/agenthub-hook.sh Stop"}, {"command":"beep"}]}"#,
            r#"{"Stop": [{"type":"prompt","prompt":"hi"}]}"#,
            r#"{"Stop": [{"command":"/x/my-agenthub-hook.sh Stop"}]}"#,
            r#"{"note": "mine"}"#,
            r#"{"enabled": "mine"}"#,
            "[]",
            "7",
        ] {
            assert!(!ours(other), "{other}");
        }
    }
}
