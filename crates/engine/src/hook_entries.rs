//! What only hooks told of a session's course, put among what its database says (spec S12).
//!
//! A step that both know is one entry, and the database's: it knows duration, arguments and result. Calls and prompts are
//! rows of it, too, so hooks speak of them only where there is no database to read.

use agenthub_agy::{EntryKind, EntryState, TimelineEntry};
use agenthub_core::{Facts, HookEvent, HookKind, Time};

/// An entry of the database and a hook without a step's number are one if they are this near each other.
const SAME_MS: i64 = 5_000;

/// The entries with what only hooks told, in their order. `cut` says that older entries were left out: older events are, too.
pub(crate) fn with_hooks(
    entries: Vec<TimelineEntry>,
    events: &[HookEvent],
    cut: bool,
    hold_ms: i64,
) -> Vec<TimelineEntry> {
    if entries.is_empty() {
        return alone(events, hold_ms);
    }
    let first = entries.iter().find_map(|e| e.at).filter(|_| cut);
    let more: Vec<TimelineEntry> =
        events.iter().filter(|e| Some(e.at) >= first).filter_map(|e| unknown(e, &entries)).collect();
    let mut all = entries;
    for mut entry in more {
        let later = |e: &TimelineEntry| e.at.is_some_and(|at| Some(at) > entry.at);
        let place = all.iter().position(later).unwrap_or(all.len());
        let before = place.checked_sub(1).and_then(|n| all.get(n)).or(all.first());
        entry.turn = before.map_or(0, |e| e.turn);
        all.insert(place, entry);
    }
    all
}

/// The entry for an event that none of the entries tells.
fn unknown(event: &HookEvent, entries: &[TimelineEntry]) -> Option<TimelineEntry> {
    let near = |e: &&TimelineEntry| {
        let end = e.at.map(|at| at.plus_ms(e.duration_ms.unwrap_or(0)));
        end.is_some_and(|end| end.ms_since(event.at).abs() <= SAME_MS)
    };
    let of = |kind| entries.iter().filter(move |e| e.kind == kind);
    let known = match &event.kind {
        HookKind::Tool { step: Some(step), .. } => entries.iter().any(|e| e.step == Some(*step)),
        HookKind::Tool { name, step: None } => of(EntryKind::Tool).any(|e| e.name == *name && near(&e)),
        HookKind::Stop { error: Some(_), .. } => of(EntryKind::Error).any(|e| near(&e)),
        _ => true,
    };
    if known { None } else { entry(event) }
}

/// The whole course, as far as hooks tell it.
fn alone(events: &[HookEvent], hold_ms: i64) -> Vec<TimelineEntry> {
    let hooks = events.iter().cloned().fold(Facts::default(), |f, e| f.joined(Facts::from_hook(e))).hooks;
    let prompts = hooks.prompt_times(hold_ms);
    let mut turn = 0;
    let mut all = Vec::new();
    for event in events {
        if matches!(event.kind, HookKind::Invocation { .. }) && prompts.contains(&event.at) {
            turn += 1;
            all.push(TimelineEntry { turn, ..blank(EntryKind::Prompt, event.at) });
        }
        all.extend(entry(event).map(|e| TimelineEntry { turn, ..e }));
    }
    all
}

/// An event as an entry; a hook tells neither how long a thing took nor how it went.
fn entry(event: &HookEvent) -> Option<TimelineEntry> {
    Some(match &event.kind {
        HookKind::Invocation { .. } => blank(EntryKind::Call, event.at),
        HookKind::Tool { name, step } => {
            TimelineEntry { name: name.clone(), step: *step, ..blank(EntryKind::Tool, event.at) }
        }
        HookKind::Stop { error: Some(text), .. } => TimelineEntry {
            text: Some(text.clone()).filter(|t| !t.is_empty()),
            state: EntryState::Failed,
            ..blank(EntryKind::Error, event.at)
        },
        HookKind::Stop { error: None, .. } | HookKind::HeldStop | HookKind::Seen => return None,
    })
}

fn blank(kind: EntryKind, at: Time) -> TimelineEntry {
    TimelineEntry { at: Some(at), ..TimelineEntry::new(kind, 0, None) }
}

#[cfg(test)]
mod tests {
    use agenthub_core::EventId;

    use super::*;

    const HOLD_MS: i64 = 30 * 60_000;

    fn at(s: i64) -> Time {
        Time::from_millis(1_782_864_000_000 + s * 1_000)
    }

    fn event(s: i64, kind: HookKind) -> HookEvent {
        HookEvent { at: at(s), id: EventId { ns: 0, pid: u32::try_from(s).unwrap() }, kind }
    }

    fn tool(s: i64, name: &str, step: Option<i64>) -> HookEvent {
        event(s, HookKind::Tool { name: Some(name.to_owned()), step })
    }

    fn stop(s: i64, error: Option<&str>) -> HookEvent {
        event(s, HookKind::Stop { error: error.map(str::to_owned), reason: String::new() })
    }

    fn row(kind: EntryKind, turn: u32, step: i64, s: i64) -> TimelineEntry {
        TimelineEntry { turn, step: Some(step), duration_ms: Some(400), ..blank(kind, at(s)) }
    }

    fn show(entries: &[TimelineEntry]) -> Vec<String> {
        let step = |e: &TimelineEntry| e.step.map_or_else(|| "-".to_owned(), |s| s.to_string());
        let known = |e: &TimelineEntry| if e.duration_ms.is_some() { "" } else { " hook" };
        entries.iter().map(|e| format!("{} {} {}{}", e.turn, e.kind.name(), step(e), known(e))).collect()
    }

    fn course() -> Vec<TimelineEntry> {
        vec![
            row(EntryKind::Prompt, 1, 0, 0),
            row(EntryKind::Call, 1, 1, 1),
            TimelineEntry { name: Some("grep".to_owned()), ..row(EntryKind::Tool, 1, 2, 3) },
            row(EntryKind::Prompt, 2, 5, 60),
            row(EntryKind::Call, 2, 6, 61),
        ]
    }

    #[test]
    fn s12_a_step_that_both_know_is_one_entry_and_the_databases() {
        let events = [
            event(0, HookKind::Invocation { num: Some(0) }),
            tool(3, "grep", Some(2)),
            tool(3, "grep", None),
            stop(6, None),
            event(60, HookKind::Invocation { num: Some(0) }),
            event(62, HookKind::HeldStop),
            event(62, HookKind::Seen),
        ];
        assert_eq!(with_hooks(course(), &events, false, HOLD_MS), course());
        assert_eq!(with_hooks(course(), &[], false, HOLD_MS), course());
    }

    #[test]
    fn s12_what_only_hooks_know_still_shows_in_its_place() {
        let events = [tool(4, "view_file", Some(3)), tool(40, "grep", None), tool(99, "late", Some(9))];
        let expected = [
            "1 prompt 0",
            "1 call 1",
            "1 tool 2",
            "1 tool 3 hook",
            "1 tool - hook",
            "2 prompt 5",
            "2 call 6",
            "2 tool 9 hook",
        ];
        assert_eq!(show(&with_hooks(course(), &events, false, HOLD_MS)), expected);
        // An error that the database tells as well is one.
        let mut failed = course();
        failed.push(row(EntryKind::Error, 2, 7, 63));
        let n = failed.len();
        assert_eq!(with_hooks(failed.clone(), &[stop(64, Some("quota"))], false, HOLD_MS).len(), n);
        let told = with_hooks(course(), &[stop(64, Some("quota"))], false, HOLD_MS);
        assert_eq!(told.last().map(|e| (e.kind, e.text.as_deref())), Some((EntryKind::Error, Some("quota"))));
    }

    #[test]
    fn s12_events_older_than_what_is_told_are_left_out_with_it() {
        let late = || course().split_off(3);
        let events = [tool(4, "view_file", Some(3)), tool(62, "view_file", Some(8))];
        assert_eq!(
            show(&with_hooks(late(), &events, true, HOLD_MS)),
            ["2 prompt 5", "2 call 6", "2 tool 8 hook"]
        );
        assert_eq!(
            show(&with_hooks(late(), &events, false, HOLD_MS)).first().map(String::as_str),
            Some("2 tool 3 hook")
        );
    }

    #[test]
    fn s12_without_a_database_hooks_tell_the_course() {
        let events = [
            event(0, HookKind::Invocation { num: Some(0) }),
            tool(2, "grep", Some(2)),
            event(3, HookKind::Invocation { num: Some(1) }),
            event(4, HookKind::HeldStop),
            event(5, HookKind::Invocation { num: Some(0) }),
            stop(6, None),
            event(60, HookKind::Invocation { num: Some(0) }),
            stop(61, Some("")),
        ];
        let expected = [
            "1 prompt - hook",
            "1 call - hook",
            "1 tool 2 hook",
            "1 call - hook",
            "1 call - hook",
            "2 prompt - hook",
            "2 call - hook",
            "2 error - hook",
        ];
        let told = with_hooks(Vec::new(), &events, false, HOLD_MS);
        assert_eq!(show(&told), expected);
        assert!(told.iter().all(|e| e.tokens.is_none()), "unknown, not zero");
        assert_eq!(with_hooks(Vec::new(), &[], true, HOLD_MS), []);
    }
}
