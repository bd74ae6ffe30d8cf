//! How a named hook stands, event by event (spec H5).

use serde_json::Value;

use super::{
    Event, NamedHook, Refusal, Warning,
    edit::is_switched_off,
    json::{Document, Member},
    shape,
};

/// What hooks.json says about a named hook, and about others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub entry: Entry,
    /// Each event that the hook shall have, and each that it has and should not have.
    pub events: Vec<(Event, EventState)>,
    /// Other named hooks with `PreToolUse`, which can block agy.
    pub pre_tool_use: Vec<String>,
    /// Other named hooks with `PostToolUse`, of which agy may run only one.
    pub post_tool_use: Vec<String>,
    pub warnings: Vec<Warning>,
    /// Why agy drops the whole file as it is; `None` when it does not.
    pub dropped: Option<Refusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Absent,
    /// Of our name, and not ours.
    Foreign,
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventState {
    Installed,
    /// On purpose: another hook has it.
    LeftOut,
    Missing,
    /// There, but it starts another forwarder than it should.
    Stale,
    /// There, and it should not be.
    Unwanted,
}

/// What was found at the forwarder's path, and at the program that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    Works,
    /// Ours, but its text is not what it should be.
    Stale,
    /// The script is gone, or the program.
    Missing,
    /// Something that is not ours.
    Foreign,
}

/// All together, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    NotInstalled,
    Installed,
    SwitchedOff,
    Incomplete,
    StaleCommand,
    TargetMissing,
    Foreign,
}

/// # Errors
/// `EBADJSON` for a file that agy can't read; `bad_request` for a path that no hook can name.
pub fn report(current: Option<&[u8]>, hook: &NamedHook) -> Result<Report, Refusal> {
    let document = Document::parse(current.unwrap_or(b"{}"))?;
    let (warnings, dropped) = match shape::check(&document) {
        Ok(warnings) => (warnings, None),
        Err(refusal) => (Vec::new(), Some(refusal)),
    };
    let named: Vec<&Member> = document.members.iter().filter(|m| m.name == hook.name).collect();
    let text = |m: &Member| document.slice(m.value.at.clone());
    let entry = match named.last() {
        None => Entry::Absent,
        Some(_) if named.iter().any(|m| !hook.is_ours(text(m))) => Entry::Foreign,
        Some(last) if is_switched_off(text(last)) => Entry::Off,
        Some(_) => Entry::On,
    };
    let value = named.last().filter(|_| entry != Entry::Foreign).map(|m| text(m));
    let value: Value = value.and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default();
    Ok(Report {
        events: events(&document, hook, &value)?,
        entry,
        pre_tool_use: hook.others_with(Event::PreToolUse, &document),
        post_tool_use: hook.others_with(Event::PostToolUse, &document),
        warnings,
        dropped,
    })
}

fn events(
    document: &Document<'_>,
    hook: &NamedHook,
    value: &Value,
) -> Result<Vec<(Event, EventState)>, Refusal> {
    let entries = |event: Event| {
        let hook = value.as_object()?;
        let found = hook.iter().rfind(|(name, _)| Event::parse(name) == Some(event))?.1;
        found.as_array().is_some_and(|e| !e.is_empty()).then_some(found)
    };
    let mut out = Vec::new();
    for handler in &hook.handlers {
        let left_out = handler.only_alone && !hook.others_with(handler.event, document).is_empty();
        let state = match entries(handler.event) {
            None if left_out => EventState::LeftOut,
            None => EventState::Missing,
            Some(_) if left_out => EventState::Unwanted,
            Some(found) if *found == hook.entries(handler)? => EventState::Installed,
            Some(_) => EventState::Stale,
        };
        out.push((handler.event, state));
    }
    for event in Event::ALL {
        if !hook.handlers.iter().any(|h| h.event == event) && entries(event).is_some() {
            out.push((event, EventState::Unwanted));
        }
    }
    Ok(out)
}

impl Report {
    /// The one word, the worst first.
    pub fn standing(&self, forwarding: Forwarding) -> Standing {
        let any = |state| self.events.iter().any(|(_, s)| *s == state);
        match (self.entry, forwarding) {
            (Entry::Foreign, _) => Standing::Foreign,
            (Entry::Absent, _) => Standing::NotInstalled,
            (_, Forwarding::Foreign) => Standing::Foreign,
            (Entry::Off, _) => Standing::SwitchedOff,
            (Entry::On, Forwarding::Missing) => Standing::TargetMissing,
            (Entry::On, Forwarding::Stale) => Standing::StaleCommand,
            (Entry::On, Forwarding::Works) if any(EventState::Stale) => Standing::StaleCommand,
            (Entry::On, Forwarding::Works) if any(EventState::Missing) || any(EventState::Unwanted) => {
                Standing::Incomplete
            }
            (Entry::On, Forwarding::Works) => Standing::Installed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::install;

    fn hook() -> NamedHook {
        NamedHook::agenthub("/g/config/agenthub-hook.sh".into())
    }

    fn stands(text: &str, forwarding: Forwarding) -> Standing {
        report(Some(text.as_bytes()), &hook()).unwrap().standing(forwarding)
    }

    fn installed(before: &str) -> String {
        String::from_utf8(install(Some(before.as_bytes()), &hook()).unwrap().new.unwrap()).unwrap()
    }

    #[test]
    fn h5_each_standing_is_told_apart() {
        use Forwarding::{Foreign, Missing, Stale, Works};
        let on = installed("{}");
        assert_eq!(stands("{}", Works), Standing::NotInstalled);
        assert_eq!(stands(&on, Works), Standing::Installed);
        assert_eq!(stands(&on, Missing), Standing::TargetMissing);
        assert_eq!(stands(&on, Foreign), Standing::Foreign);
        assert_eq!(stands(&on, Stale), Standing::StaleCommand);
        assert_eq!(stands(&on.replace("/g/", "/moved/"), Works), Standing::StaleCommand);
        let off = on.replace("\"PreInvocation\"", "\"enabled\": false, \"PreInvocation\"");
        assert_eq!(stands(&off, Works), Standing::SwitchedOff);
        assert_eq!(stands(&on.replace("\"Stop\"", "\"Later\""), Works), Standing::Foreign);
        let without = r#"{"agenthub": {"Stop": [{"type":"command","command":"'/g/config/agenthub-hook.sh' Stop","timeout":5}]}}"#;
        assert_eq!(stands(without, Works), Standing::Incomplete);
        assert_eq!(stands(r#"{"agenthub": {"Stop": [{"command": "beep"}]}}"#, Works), Standing::Foreign);
    }

    #[test]
    fn h5_each_event_and_the_others_are_listed() {
        let other = r#"{"lint": {"PreToolUse": [{"matcher": "*", "hooks": []}], "PostToolUse": [{"matcher": "*", "hooks": []}]}}"#;
        let r = report(Some(installed(other).as_bytes()), &hook()).unwrap();
        assert_eq!(
            r.events,
            [
                (Event::PreInvocation, EventState::Installed),
                (Event::PostToolUse, EventState::LeftOut),
                (Event::Stop, EventState::Installed),
            ]
        );
        assert_eq!((r.pre_tool_use, r.post_tool_use), (vec!["lint".to_owned()], vec!["lint".to_owned()]));
        assert_eq!(r.dropped, None);
        let old = r#"{"agenthub": {"PreToolUse": [{"matcher":"*","hooks":[{"type":"command","command":"/g/config/agenthub-hook.sh PreToolUse"}]}]}}"#;
        let r = report(Some(old.as_bytes()), &hook()).unwrap();
        assert!(r.events.contains(&(Event::PreToolUse, EventState::Unwanted)));
        let broken = report(Some(br#"{"x": []}"#), &hook()).unwrap();
        assert!(broken.dropped.unwrap().message.contains("`x`"));
    }
}
