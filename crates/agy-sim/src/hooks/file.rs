//! `hooks.json` as agy's decoder takes it: strict JSON into Go structs. Fields that a struct does not have are ignored
//! (so a wrong shape is no error, it just never fires), a field of a wrong type drops the whole file.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::json::Node;
use super::{Handler, HookEvent};

/// agy's timeout when the file gives none.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An entry of the file: in tool events `matcher` and `hooks` count, elsewhere the rest.
#[derive(Debug, Default)]
struct Entry {
    prompt: bool,
    command: String,
    timeout: i64,
}

/// The number of named hooks, and every command that can fire.
pub(super) fn read(bytes: &[u8]) -> Result<(usize, Vec<Handler>)> {
    // Go puts U+FFFD in the place of what is no UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let Node::Object(pairs) = serde_json::from_str::<Node>(&text)? else {
        bail!("the top level is no object");
    };
    // Of two hooks with one name the last counts, but the first must be good as well.
    let mut named = BTreeMap::new();
    for (name, node) in &pairs {
        named.insert(name, named_hook(name, node).with_context(|| format!("hook {name:?}"))?);
    }
    Ok((named.len(), named.into_values().flatten().collect()))
}

fn named_hook(hook: &str, node: &Node) -> Result<Vec<Handler>> {
    let mut enabled = true;
    let mut events = BTreeMap::new();
    for (key, node) in object(node)? {
        if key.eq_ignore_ascii_case("enabled") {
            enabled = match node {
                Node::Bool(value) => *value,
                Node::Null => true,
                other => bail!("enabled is a {}", other.kind()),
            };
        } else if let Some(event) = HookEvent::of(key) {
            let handlers = if event.is_tool() { groups(hook, event, node) } else { flat(hook, event, node) };
            events.insert(event, handlers.with_context(|| key.clone())?);
        }
    }
    Ok(if enabled { events.into_values().flatten().collect() } else { Vec::new() })
}

fn groups(hook: &str, event: HookEvent, node: &Node) -> Result<Vec<Handler>> {
    let mut out = Vec::new();
    for group in list(node)? {
        let (mut matcher, mut entries) = (String::new(), Vec::new());
        for (key, value) in object(group)? {
            if key.eq_ignore_ascii_case("matcher") {
                matcher = text(value).context("matcher")?;
            } else if key.eq_ignore_ascii_case("hooks") {
                entries = list(value)?.iter().map(entry).collect::<Result<_>>()?;
            }
        }
        out.extend(entries.into_iter().filter_map(|entry| entry.handler(hook, event, &matcher)));
    }
    Ok(out)
}

fn flat(hook: &str, event: HookEvent, node: &Node) -> Result<Vec<Handler>> {
    let entries = list(node)?.iter().map(entry).collect::<Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.handler(hook, event, "")).collect())
}

fn entry(node: &Node) -> Result<Entry> {
    let mut out = Entry::default();
    for (key, value) in object(node)? {
        match key.to_ascii_lowercase().as_str() {
            "type" => {
                out.prompt = match text(value).context("type")?.as_str() {
                    "" | "command" => false,
                    "prompt" => true,
                    other => bail!("no handler type {other:?}"),
                }
            }
            "command" => out.command = text(value).context("command")?,
            "timeout" => {
                out.timeout = match value {
                    Node::Int(seconds) => *seconds,
                    Node::Null => 0,
                    other => bail!("timeout is a {} that is no int", other.kind()),
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

impl Entry {
    /// None for what never fires: a wrong shape has no command, and a prompt would need a model.
    fn handler(self, hook: &str, event: HookEvent, matcher: &str) -> Option<Handler> {
        (!self.prompt && !self.command.is_empty()).then(|| Handler {
            hook: hook.to_owned(),
            event,
            matcher: matcher.to_owned(),
            timeout: match u64::try_from(self.timeout) {
                Ok(0) | Err(_) => TIMEOUT,
                Ok(seconds) => Duration::from_secs(seconds),
            },
            command: self.command,
        })
    }
}

// A null is Go's zero value.

fn object(node: &Node) -> Result<&[(String, Node)]> {
    match node {
        Node::Object(pairs) => Ok(pairs),
        Node::Null => Ok(&[]),
        other => bail!("a {} where an object belongs", other.kind()),
    }
}

fn list(node: &Node) -> Result<&[Node]> {
    match node {
        Node::List(nodes) => Ok(nodes),
        Node::Null => Ok(&[]),
        other => bail!("a {} where an array belongs", other.kind()),
    }
}

fn text(node: &Node) -> Result<String> {
    match node {
        Node::Text(text) => Ok(text.clone()),
        Node::Null => Ok(String::new()),
        other => bail!("a {} where a string belongs", other.kind()),
    }
}

/// True when a matcher takes a tool: empty and `*` take all; otherwise alternatives by `|`, each with `.*` or `*` for
/// anything. (agy takes any regular expression; nobody writes others here.)
pub(super) fn matches(matcher: &str, tool: &str) -> bool {
    matcher.is_empty() || matcher.split('|').any(|one| glob(&one.replace(".*", "*"), tool))
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|text| {
            (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| glob(rest, text)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handlers(text: &str) -> Vec<Handler> {
        read(text.as_bytes()).unwrap().1
    }

    fn dropped(text: &str) -> bool {
        read(text.as_bytes()).is_err()
    }

    #[test]
    fn shapes_decide_what_fires() {
        let all = handlers(
            r#"{"a": {"stop": [{"type": "command", "command": "one", "timeout": 5}],
                      "POSTTOOLUSE": [{"matcher": "x|view_*", "hooks": [{"command": "two"}]}],
                      "Whatever": 7, "note": "ignored"}}"#,
        );
        let seen: Vec<_> = all.iter().map(|h| (h.event, h.command.as_str(), h.timeout.as_secs())).collect();
        assert_eq!(seen, [(HookEvent::PostToolUse, "two", 30), (HookEvent::Stop, "one", 5)]);
        for never in [
            r#"{"a": {"PostToolUse": [{"type": "command", "command": "flat"}]}}"#,
            r#"{"a": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "grouped"}]}]}}"#,
            r#"{"a": {"enabled": false, "Stop": [{"command": "off"}]}}"#,
            r#"{"a": {"Stop": [{"type": "prompt", "prompt": "Was it good?"}]}}"#,
            r#"{"a": null}"#,
            "{}",
        ] {
            assert_eq!(handlers(never), [], "{never}");
        }
    }

    #[test]
    fn the_last_duplicate_wins_in_any_case() {
        let all = handlers(
            r#"{"a": {"Stop": [{"command": "zero"}]},
                "a": {"Stop": [{"command": "one"}], "STOP": [{"command": "two", "Command": "three"}]}}"#,
        );
        assert_eq!(all.iter().map(|h| h.command.as_str()).collect::<Vec<_>>(), ["three"]);
    }

    #[test]
    fn one_bad_entry_drops_the_file() {
        for bad in [
            "",
            "[]",
            "null",
            "7",
            "{} {}",
            "\u{feff}{}",
            "{\"a\": {},}",
            "// no\n{}",
            r#"{"a": 7}"#,
            r#"{"$schema": "https://example.com"}"#,
            r#"{"a": {"enabled": "yes"}}"#,
            r#"{"a": {"Stop": {"command": "x"}}}"#,
            r#"{"a": {"Stop": ["x"]}}"#,
            r#"{"a": {"Stop": [{"command": ["x"]}]}}"#,
            r#"{"a": {"Stop": [{"command": "x", "timeout": "5"}]}}"#,
            r#"{"a": {"Stop": [{"command": "x", "timeout": 0.5}]}}"#,
            r#"{"a": {"Stop": [{"type": "http", "command": "x"}]}}"#,
            r#"{"a": {"PostToolUse": [{"matcher": 7, "hooks": []}]}}"#,
            r#"{"a": {"PostToolUse": [{"matcher": "*", "hooks": {}}]}}"#,
            r#"{"a": {"Stop": [{"timeout": "5"}], "Stop": []}}"#,
        ] {
            assert!(dropped(bad), "{bad}");
            let beside =
                format!(r#"{{"good": {{"Stop": [{{"command": "x"}}]}}, {}"#, bad.trim_start_matches('{'));
            assert!(bad.len() < 10 || dropped(&beside), "{beside}");
        }
    }

    #[test]
    fn matchers_take_tools() {
        for (matcher, tool, takes) in [
            ("", "run_command", true),
            ("*", "", true),
            (".*", "x", true),
            ("run_command", "run_command", true),
            ("run_command", "run_commands", false),
            ("view_file|run_command", "run_command", true),
            ("browser_.*", "browser_open", true),
            ("browser_.*", "run_command", false),
        ] {
            assert_eq!(matches(matcher, tool), takes, "{matcher:?} {tool:?}");
        }
    }
}
