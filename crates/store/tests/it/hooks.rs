//! Hook events: once each, in one transaction with the journal's position, bounded without losing a fact.

use agenthub_core::{EventId, Facts, HookEvent, HookKind};
use agenthub_store::{HookChange, HookRecord};

use crate::world::{World, at, id};

fn event(n: u64, kind: HookKind) -> HookRecord {
    let event = HookEvent { at: at(n as i64), id: EventId { ns: u64::MAX - n, pid: 7 }, kind };
    HookRecord { session: id(1), cwd: None, event }
}

fn tool(n: u64) -> HookRecord {
    event(n, HookKind::Tool { name: Some("run_command".into()), step: Some(n as i64) })
}

fn facts(all: &[HookRecord]) -> Facts {
    all.iter().fold(Facts::default(), |f, r| f.joined(Facts::from_hook(r.event.clone())))
}

fn change(records: Vec<HookRecord>, position: u64) -> HookChange {
    HookChange { records, journal: Some(("AH1 head".into(), position)), at: at(0), ..HookChange::default() }
}

#[test]
fn h07_events_and_position_come_back_after_a_restart() {
    let mut w = World::new();
    let all = vec![
        event(1, HookKind::Invocation { num: Some(0) }),
        event(2, HookKind::Invocation { num: None }),
        tool(3),
        event(4, HookKind::Tool { name: None, step: None }),
        event(5, HookKind::HeldStop),
        event(6, HookKind::Seen),
        event(7, HookKind::Stop { error: Some(String::new()), reason: "ERROR".into() }),
        event(8, HookKind::Stop { error: None, reason: String::new() }),
    ];
    assert_eq!(w.store.apply_hooks(&change(all.clone(), 900)).unwrap(), all);
    w.reopen();
    assert_eq!(w.store.hook_facts(&id(1)).unwrap(), (facts(&all), None));
    assert_eq!(w.store.hook_facts(&id(2)).unwrap(), (Facts::default(), None));
    assert_eq!(w.store.journal_position("AH1 head").unwrap(), 900);
    assert_eq!(w.store.journal_position("AH1 other").unwrap(), 0);
    assert_eq!(w.store.hooked_since(at(8)).unwrap(), [id(1)]);
    assert_eq!(w.store.hooked_since(at(9)).unwrap(), []);
    w.store.forget_journal("AH1 head").unwrap();
    assert_eq!(w.store.journal_position("AH1 head").unwrap(), 0);
    w.store.forget_hooks_before(at(8)).unwrap();
    assert_eq!(w.store.hook_facts(&id(1)).unwrap().0, facts(&all));
    w.store.forget_hooks_before(at(9)).unwrap();
    assert_eq!(w.store.hook_facts(&id(1)).unwrap().0, Facts::default());
}

#[test]
fn h07_a_record_read_twice_is_one_event_and_keeps_its_first_time() {
    let mut w = World::new();
    let first = tool(3);
    w.store.apply_hooks(&change(vec![first.clone(), first.clone()], 1)).unwrap();
    let mut later = first.clone();
    later.event.at = at(9);
    assert_eq!(w.store.apply_hooks(&change(vec![later], 1)).unwrap(), std::slice::from_ref(&first));
    assert_eq!(w.store.hook_facts(&id(1)).unwrap().0, facts(&[first]));
    let (accepted, dropped) = w.store.hook_counts().unwrap();
    assert_eq!((accepted.len(), accepted[0].count, accepted[0].name.as_str()), (1, 1, "PostToolUse"));
    assert_eq!(accepted[0].last_at, at(3));
    assert!(dropped.is_empty());
}

#[test]
fn h07_the_bound_loses_no_fact() {
    let mut w = World::new();
    let mut all = vec![
        event(0, HookKind::Stop { error: None, reason: "NO_TOOL_CALL".into() }),
        event(1, HookKind::Invocation { num: Some(0) }),
        event(2, HookKind::Invocation { num: Some(1) }),
    ];
    all.extend((3..1_000).map(tool));
    for part in all.chunks(100) {
        w.store.apply_hooks(&change(part.to_vec(), 1)).unwrap();
    }
    assert_eq!(w.store.hook_facts(&id(1)).unwrap().0, facts(&all));
    let kept = w.dump()["hook_event"].len();
    assert!((256..=300).contains(&kept), "{kept}");
}

#[test]
fn h08_dropped_events_are_counted_by_reason() {
    let mut w = World::new();
    for (dropped, s) in [(vec![("bad_id", 2), ("not_the_cli", 1)], 5), (vec![("bad_id", 3)], 4)] {
        w.store.apply_hooks(&HookChange { dropped, at: at(s), ..HookChange::default() }).unwrap();
    }
    let (_, dropped) = w.store.hook_counts().unwrap();
    let shown: Vec<_> = dropped.iter().map(|d| (d.name.as_str(), d.count, d.last_at)).collect();
    assert_eq!(shown, [("bad_id", 5, at(5)), ("not_the_cli", 1, at(5))]);
}

#[test]
fn s06_the_newest_folder_of_a_hook_stays() {
    let mut w = World::new();
    let mut tell = |n: u64, cwd: Option<&str>| {
        let record = HookRecord { cwd: cwd.map(str::to_owned), ..tool(n) };
        w.store.apply_hooks(&change(vec![record], 1)).unwrap();
        w.store.hook_facts(&id(1)).unwrap().1
    };
    assert_eq!(tell(1, None), None);
    assert_eq!(tell(5, Some("/w/new")).as_deref(), Some("/w/new"));
    // Another one that is older, however late it comes; and none clears nothing.
    assert_eq!(tell(3, Some("/w/old")).as_deref(), Some("/w/new"));
    assert_eq!(tell(9, None).as_deref(), Some("/w/new"));
    assert_eq!(tell(10, Some("/w/newer")).as_deref(), Some("/w/newer"));
}
