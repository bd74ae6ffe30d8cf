//! What agy makes of a hook's stdout. An answer that is no JSON object is no answer.

use serde_json::{Map, Value};

use crate::home::Layout;

/// What the `PreToolUse` hooks say about a tool. The strictest counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum ToolAnswer {
    /// No opinion, or allowed: a permission prompt that would come still comes.
    #[default]
    Goes,
    /// A permission prompt comes.
    Asks,
    /// Denied, with this reason.
    Denied(String),
}

fn object(stdout: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(stdout).ok()
}

/// All answers to `PreToolUse`, and the arguments that they replace.
pub(crate) fn of_tool(layout: Layout, answers: &[String]) -> (ToolAnswer, Map<String, Value>) {
    let mut out = ToolAnswer::Goes;
    let mut overwrite = Map::new();
    for answer in answers.iter().filter_map(|answer| object(answer)) {
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        let allowed =
            ["allow_tool", "allowTool"].iter().any(|key| answer.get(*key) == Some(&Value::Bool(true)));
        let reason =
            || ["reason", "deny_reason", "denyReason"].into_iter().find_map(text).unwrap_or_default();
        match text("decision") {
            Some("allow") => {}
            // An empty text is no opinion since 1.0.16.
            Some("") if layout == Layout::V1_2 => {}
            Some("ask" | "force_ask") => {
                if out == ToolAnswer::Goes {
                    out = ToolAnswer::Asks;
                }
            }
            None if allowed => {}
            // `{}` as well: no decision is a denial.
            _ => out = ToolAnswer::Denied(reason().to_owned()),
        }
        if let Some(Value::Object(args)) = answer.get("overwrite") {
            overwrite.extend(args.clone());
        }
    }
    (out, overwrite)
}

/// True when an answer to `PreInvocation` aborts the run: it has a `decision`, which belongs elsewhere.
pub(crate) fn aborts(answers: &[String]) -> bool {
    answers.iter().filter_map(|answer| object(answer)).any(|answer| answer.contains_key("decision"))
}

/// The reason for which a `Stop` hook wants another turn.
pub(crate) fn keeps_going(answers: &[String]) -> Option<String> {
    let mut objects = answers.iter().filter_map(|answer| object(answer));
    let text = |answer: &Map<String, Value>, key: &str| {
        answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let answer = objects.find(|answer| text(answer, "decision") == "continue")?;
    Some(text(&answer, "reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(layout: Layout, answers: &[&str]) -> ToolAnswer {
        of_tool(layout, &answers.iter().map(|answer| (*answer).to_owned()).collect::<Vec<_>>()).0
    }

    #[test]
    fn an_empty_object_denies_and_nothing_allows() {
        let denied = |reason: &str| ToolAnswer::Denied(reason.to_owned());
        for (answer, says) in [
            ("", ToolAnswer::Goes),
            ("\n", ToolAnswer::Goes),
            ("hello", ToolAnswer::Goes),
            ("{}\n", denied("")),
            (r#"{"decision":""}"#, ToolAnswer::Goes),
            (r#"{"decision":"allow"}"#, ToolAnswer::Goes),
            (r#"{"allow_tool":true}"#, ToolAnswer::Goes),
            (r#"{"decision":"ask"}"#, ToolAnswer::Asks),
            (r#"{"decision":"deny","reason":"no"}"#, denied("no")),
            (r#"{"allow_tool":false,"deny_reason":"no"}"#, denied("no")),
        ] {
            assert_eq!(tool(Layout::V1_2, &[answer]), says, "{answer}");
        }
        assert_eq!(tool(Layout::V1_0, &[r#"{"decision":""}"#]), denied(""));
        assert_eq!(tool(Layout::V1_2, &["{}", r#"{"decision":"ask"}"#, ""]), denied(""));
    }
}
