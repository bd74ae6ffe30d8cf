//! What the forwarder says, and the variables that win over it.

use std::{ffi::OsString, path::PathBuf};

/// The events that AgentHub asks agy for. Any other is dropped and counted (spec H6).
const EVENTS: [&str; 3] = ["PreInvocation", "PostToolUse", "Stop"];
/// The agents whose hooks AgentHub understands.
const TOOLS: [&str; 1] = ["antigravity"];

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) journal: Option<PathBuf>,
    pub(crate) doorbell: Option<PathBuf>,
    pub(crate) dropped: Option<PathBuf>,
    /// `None`: an event or a tool that is not known, or none at all.
    pub(crate) event: Option<&'static str>,
}

/// Total: what can't be understood leaves its field empty.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Args {
    parse_with(words, &|name| std::env::var_os(name).filter(|v| !v.is_empty()))
}

fn parse_with(words: impl Iterator<Item = OsString>, var: &dyn Fn(&str) -> Option<OsString>) -> Args {
    let mut args = Args::default();
    let mut plain = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        let place = match word.to_str() {
            Some("--journal") => &mut args.journal,
            Some("--doorbell") => &mut args.doorbell,
            Some("--dropped") => &mut args.dropped,
            _ => {
                plain.push(word);
                continue;
            }
        };
        *place = words.next().map(PathBuf::from);
    }
    for (name, place) in [
        ("AGENTHUB_HOOK_JOURNAL", &mut args.journal),
        ("AGENTHUB_HOOK_DOORBELL", &mut args.doorbell),
        ("AGENTHUB_HOOK_DROPPED", &mut args.dropped),
    ] {
        if let Some(set) = var(name) {
            *place = Some(set.into());
        }
    }
    let tool_is_known = plain.get(1).is_none_or(|tool| TOOLS.iter().any(|known| tool == known));
    if tool_is_known && plain.len() <= 2 {
        args.event = EVENTS.into_iter().find(|known| plain.first().is_some_and(|word| word == known));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str], set: &[(&str, &str)]) -> Args {
        let var = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        parse_with(words.iter().map(OsString::from), &var)
    }

    #[test]
    fn h6_an_unknown_event_or_tool_is_none() {
        let event = |words: &[&str]| parsed(words, &[]).event;
        assert_eq!(event(&["Stop"]), Some("Stop"));
        assert_eq!(event(&["--journal", "/j", "PreInvocation", "antigravity"]), Some("PreInvocation"));
        for words in [
            &[][..],
            &["PreToolUse"],
            &["stop"],
            &["Stop\nAH1 0 0 0 Stop"],
            &["Stop", "somebody"],
            &["Stop", "antigravity", "more"],
            &["--journal"],
            &["--journal", "Stop"],
        ] {
            assert_eq!(event(words), None, "{words:?}");
        }
    }

    #[test]
    fn h7_a_set_variable_wins_over_what_was_baked_in() {
        let words = ["--journal", "/baked", "--doorbell", "/bell", "Stop"];
        let args = parsed(&words, &[("AGENTHUB_HOOK_JOURNAL", "/set"), ("AGENTHUB_HOOK_DROPPED", "/lost")]);
        assert_eq!(args.journal, Some("/set".into()));
        assert_eq!(args.doorbell, Some("/bell".into()));
        assert_eq!(args.dropped, Some("/lost".into()));
    }
}
