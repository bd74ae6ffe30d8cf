//! agy's rules for the shape of hooks.json (agy-format 6.2): one bad entry, and agy drops the whole file, everybody's
//! hooks with it. So a file that breaks them is not written (spec H3).

use super::{
    Code, Event, Refusal, Warning,
    json::{Document, Kind, Member, Node},
};

/// # Errors
/// `EBADSHAPE` with the name of the first entry that breaks a rule.
pub(super) fn check(document: &Document<'_>) -> Result<Vec<Warning>, Refusal> {
    let mut check = Check { document, warnings: Vec::new() };
    for hook in &document.members {
        check.hook(hook)?;
    }
    Ok(check.warnings)
}

struct Check<'a> {
    document: &'a Document<'a>,
    warnings: Vec<Warning>,
}

impl Check<'_> {
    fn hook(&mut self, hook: &Member) -> Result<(), Refusal> {
        let Kind::Object(members) = &hook.value.kind else {
            return Err(bad(&hook.name, "a named hook must be an object"));
        };
        for m in members {
            let name = format!("{}.{}", hook.name, m.name);
            if m.name.eq_ignore_ascii_case("enabled") {
                if !["true", "false"].contains(&self.text(&m.value)) {
                    return Err(bad(&name, "it must be `true` or `false`"));
                }
                continue;
            }
            // agy ignores events that it does not know, whatever is in them.
            let Some(event) = Event::parse(&m.name) else { continue };
            let Kind::Array(entries) = &m.value.kind else {
                return Err(bad(&name, "an event's handlers must be a list"));
            };
            for (n, entry) in entries.iter().enumerate() {
                let name = format!("{name}[{n}]");
                if event.is_grouped() {
                    self.group(&name, entry)?;
                } else {
                    self.handler(&name, entry)?;
                }
            }
        }
        Ok(())
    }

    fn group(&mut self, name: &str, group: &Node) -> Result<(), Refusal> {
        let Kind::Object(members) = &group.kind else {
            return Err(bad(name, "it must be an object with `matcher` and `hooks`"));
        };
        if let Some(matcher) = field(members, "matcher")
            && !self.is_string(matcher)
        {
            return Err(bad(&format!("{name}.matcher"), "it must be a string"));
        }
        match field(members, "hooks") {
            None => self.warnings.push(Warning {
                code: "flat_tool_entry",
                message: format!(
                    "`{name}` never fires: under a tool event agy needs `matcher` and `hooks` around it."
                ),
            }),
            Some(Node { kind: Kind::Array(handlers), .. }) => {
                for (n, handler) in handlers.iter().enumerate() {
                    self.handler(&format!("{name}.hooks[{n}]"), handler)?;
                }
            }
            Some(_) => return Err(bad(&format!("{name}.hooks"), "it must be a list of handlers")),
        }
        Ok(())
    }

    fn handler(&self, name: &str, handler: &Node) -> Result<(), Refusal> {
        let Kind::Object(members) = &handler.kind else {
            return Err(bad(name, "a handler must be an object with `type` and `command`"));
        };
        let kind = field(members, "type").map(|t| self.text(t));
        let named = |field: &str| format!("{name}.{field}");
        match kind {
            None | Some("\"command\"") => match field(members, "command") {
                Some(command) if self.is_string(command) => {}
                Some(_) => return Err(bad(&named("command"), "it must be a string")),
                None if field(members, "hooks").is_some() => {
                    return Err(bad(
                        name,
                        "this event takes handlers directly, without `matcher` and `hooks`",
                    ));
                }
                None => return Err(bad(name, "it has no `command`")),
            },
            Some("\"prompt\"") => {}
            Some(_) => return Err(bad(&named("type"), "agy knows `command` and `prompt`")),
        }
        if let Some(timeout) = field(members, "timeout")
            && self.text(timeout).parse::<i32>().is_err()
        {
            return Err(bad(&named("timeout"), "it must be a whole number of seconds"));
        }
        Ok(())
    }

    fn text(&self, node: &Node) -> &str {
        self.document.slice(node.at.clone())
    }

    fn is_string(&self, node: &Node) -> bool {
        self.text(node).starts_with('"')
    }
}

/// The last one of this name wins, and names are without case.
fn field<'a>(members: &'a [Member], name: &str) -> Option<&'a Node> {
    members.iter().rev().find(|m| m.name.eq_ignore_ascii_case(name)).map(|m| &m.value)
}

fn bad(entry: &str, why: &str) -> Refusal {
    Refusal::new(
        Code::BadShape,
        format!(
            "agy drops the whole hooks.json because of `{entry}`: {why}. Correct or remove that entry, then try again; \
             nothing was changed."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Vec<Warning>, Refusal> {
        check(&Document::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn h3_a_bad_entry_is_named() {
        for (text, entry) in [
            (r#"{"a": []}"#, "`a`"),
            (r#"{"a": {"enabled": 1}}"#, "`a.enabled`"),
            (r#"{"a": {"Stop": {}}}"#, "`a.Stop`"),
            (r#"{"a": {}, "b": {"stop": ["x"]}}"#, "`b.stop[0]`"),
            (r#"{"a": {"Stop": [{"type": "command"}]}}"#, "`a.Stop[0]`"),
            (r#"{"a": {"Stop": [{"matcher": "*", "hooks": []}]}}"#, "`a.Stop[0]`"),
            (r#"{"a": {"Stop": [{"command": "x", "timeout": 1.5}]}}"#, "`a.Stop[0].timeout`"),
            (r#"{"a": {"Stop": [{"command": "x", "timeout": "5"}]}}"#, "`a.Stop[0].timeout`"),
            (r#"{"a": {"Stop": [{"command": 7}]}}"#, "`a.Stop[0].command`"),
            (r#"{"a": {"Stop": [{"type": "shell", "command": "x"}]}}"#, "`a.Stop[0].type`"),
            (r#"{"a": {"PreToolUse": [[]]}}"#, "`a.PreToolUse[0]`"),
            (r#"{"a": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}"#, "`a.PreToolUse[0].matcher`"),
            (r#"{"a": {"PreToolUse": [{"hooks": {}}]}}"#, "`a.PreToolUse[0].hooks`"),
            (r#"{"a": {"PreToolUse": [{"hooks": [1]}]}}"#, "`a.PreToolUse[0].hooks[0]`"),
        ] {
            let e = checked(text).unwrap_err();
            assert_eq!(e.code, Code::BadShape);
            assert!(e.message.contains(entry), "{text}: {}", e.message);
        }
    }

    #[test]
    fn h3_what_agy_ignores_is_fine_and_what_never_fires_is_a_warning() {
        let fine = r#"{"a": {"enabled": false, "Later": 7, "note": null, "Stop": [{"command": "x", "more": {}}],
            "SessionStart": [{"type": "prompt", "prompt": "x"}], "posttooluse": [{"hooks": [{"command": "x"}]}]}}"#;
        assert_eq!(checked(fine).unwrap(), []);
        let flat = checked(r#"{"a": {"PostToolUse": [{"type": "command", "command": "x"}]}}"#).unwrap();
        assert_eq!(flat[0].code, "flat_tool_entry");
        assert!(flat[0].message.contains("`a.PostToolUse[0]`"));
    }
}
