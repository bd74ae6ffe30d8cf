//! How the hook stands, in words (spec H5).

use agenthub_agy::hooks::{self, Entry, Event, EventState, Hook, Report, Standing};
use agenthub_core::Time;
use agenthub_store::Store;

use super::{Hooks, error, files, memory::Memory, program, warnings};
use crate::{
    convert::for_people,
    view::{ErrorView, HooksAction, HooksEvent, HooksEventState, HooksState, HooksStatus, SCHEMA},
};

/// Said openly, for nobody would guess it.
const NOTES: [&str; 2] = [
    "agy reads its hooks when it starts: sessions that are open keep the ones they started with.",
    "agy runs no hooks when it is signed in with an API key.",
];

pub(super) fn status(hooks: &Hooks) -> HooksStatus {
    let path = hooks.hooks_json();
    let found = files::find(&path);
    let report = found
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|found| hooks::report(found.bytes.as_deref(), &hooks.hook()));
    let seen = Seen::of(hooks);
    let (state, events, others, hindrance) = match &report {
        Err(refusal) => (HooksState::Unreadable, Vec::new(), (Vec::new(), Vec::new()), Some(refusal.clone())),
        Ok(r) => (
            state(r.standing(hooks.forwarding())),
            events(r, &seen),
            (r.pre_tool_use.clone(), r.post_tool_use.clone()),
            r.dropped.clone(),
        ),
    };
    let hindrance: Option<ErrorView> = hindrance.map(error);
    let linked = found.as_ref().ok().filter(|f| f.is_linked()).map(|f| f.target.clone());
    let current = found.ok().and_then(|f| f.bytes);
    let backup = Memory::read(&hooks.memory_path()).backup;
    HooksStatus {
        schema: SCHEMA,
        state,
        message: message(state, &seen, hindrance.as_ref()),
        advice: advice(state, hindrance.is_some()).map(|a| match hooks.which {
            Hook::Watch => a.to_owned(),
            Hook::Tracing => a.replace("hooks install", "trace install"),
        }),
        file: path.display().to_string(),
        target: linked.as_ref().map(|target| target.display().to_string()),
        folder: hooks.folder.display().to_string(),
        file_short: for_people(&path),
        target_short: linked.as_deref().map(for_people),
        forwarder: hooks.script_path().display().to_string(),
        forwarder_short: for_people(&hooks.script_path()),
        program: program::copy_in(hooks.places.data_dir(), hooks.which).display().to_string(),
        events,
        last_event_at: seen.last.map(Time::rfc3339),
        pre_tool_use: others.0,
        post_tool_use: others.1,
        warnings: report.as_ref().map(|r| warnings(&r.warnings)).unwrap_or_default(),
        // What is in the way of ours is told in the words that installing would tell it in.
        error: hindrance.or_else(|| match state {
            HooksState::Foreign => hooks.plan(HooksAction::Install).err(),
            _ => None,
        }),
        can_undo: backup.is_some_and(|b| {
            b.file == path.to_string_lossy() && b.after.as_ref().map(String::as_bytes) == current.as_deref()
        }),
        notes: NOTES.map(str::to_owned).to_vec(),
    }
}

/// When hooks told something last: as the store knows, or the journal that nobody has read yet.
struct Seen {
    by_event: Vec<(String, Time)>,
    last: Option<Time>,
}

impl Seen {
    fn of(hooks: &Hooks) -> Seen {
        if hooks.which == Hook::Tracing {
            let seen = crate::tracer::last_hooks(&hooks.places);
            return Seen { last: seen.iter().map(|(_, at)| *at).max(), by_event: seen };
        }
        // A store that is not there yet has seen nothing.
        let counts = Store::reader(&hooks.places.store()).and_then(|store| store.hook_counts());
        let by_event: Vec<_> = counts
            .map(|(accepted, _)| accepted)
            .unwrap_or_default()
            .into_iter()
            .map(|c| (c.name, c.last_at))
            .collect();
        let unread = std::fs::metadata(hooks.places.journal()).ok().filter(|m| m.len() > 0);
        let unread = unread.and_then(|m| m.modified().ok()).and_then(time);
        Seen { last: by_event.iter().map(|(_, at)| *at).chain(unread).max(), by_event }
    }
}

fn time(t: std::time::SystemTime) -> Option<Time> {
    let since = t.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Time::from_micros(i64::try_from(since.as_micros()).ok()?))
}

fn events(report: &Report, seen: &Seen) -> Vec<HooksEvent> {
    let last = |event: Event| seen.by_event.iter().find(|(name, _)| name == event.name()).map(|(_, at)| *at);
    let events = report.events.iter().map(|(event, state)| HooksEvent {
        event: event.name().to_owned(),
        state: match state {
            EventState::Installed => HooksEventState::Installed,
            EventState::LeftOut => HooksEventState::LeftOut,
            EventState::Missing => HooksEventState::Missing,
            EventState::Stale => HooksEventState::Stale,
            EventState::Unwanted => HooksEventState::Unwanted,
        },
        last_at: last(*event).map(Time::rfc3339),
    });
    if matches!(report.entry, Entry::On | Entry::Off) { events.collect() } else { Vec::new() }
}

const fn state(s: Standing) -> HooksState {
    match s {
        Standing::NotInstalled => HooksState::NotInstalled,
        Standing::Installed => HooksState::Installed,
        Standing::SwitchedOff => HooksState::SwitchedOff,
        Standing::Incomplete => HooksState::Incomplete,
        Standing::StaleCommand => HooksState::StaleCommand,
        Standing::TargetMissing => HooksState::TargetMissing,
        Standing::Foreign => HooksState::Foreign,
    }
}

fn message(state: HooksState, seen: &Seen, hindrance: Option<&ErrorView>) -> String {
    let text = match state {
        HooksState::Unreadable => hindrance.map_or("hooks.json can't be read.", |e| e.message.as_str()),
        _ if hindrance.is_some() && state != HooksState::NotInstalled => {
            "The hooks are in hooks.json, but agy drops the whole file."
        }
        HooksState::NotInstalled => "The hooks are not installed.",
        HooksState::Installed if seen.last.is_none() => "The hooks are installed; no event was seen yet.",
        HooksState::Installed => "The hooks are installed.",
        HooksState::SwitchedOff => "The hooks are installed, but switched off in hooks.json.",
        HooksState::Incomplete => "The hooks are installed, but not all of them as they should be.",
        HooksState::StaleCommand => "The hooks are installed, but they start an older place or version.",
        HooksState::TargetMissing => "The hooks are installed, but what they start is gone.",
        HooksState::Foreign => "Something that is not AgentHub's has the place of our hook.",
    };
    text.to_owned()
}

const fn advice(state: HooksState, hindered: bool) -> Option<&'static str> {
    match state {
        HooksState::Unreadable => None,
        _ if hindered => Some("Correct the entry that is named, then start agy anew."),
        HooksState::NotInstalled => {
            Some("Run `agenthub hooks install`; it shows first what it would change.")
        }
        HooksState::Installed => None,
        HooksState::SwitchedOff => Some("Run `agenthub hooks install` to switch them on."),
        HooksState::Incomplete | HooksState::StaleCommand | HooksState::TargetMissing => {
            Some("Run `agenthub hooks install` to bring them up to date.")
        }
        HooksState::Foreign => Some("Move or rename it, then run `agenthub hooks install`."),
    }
}
