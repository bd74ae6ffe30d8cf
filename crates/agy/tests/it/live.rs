//! A conversation that is read while it is played: bit by bit must come to the same as at once (spec B3), and the facts
//! about its state must be right at each moment (spec L2, L5).

use std::collections::BTreeMap;

use agenthub_agy::{Cursor, Home, Index, Read, fingerprint, list, read};
use agenthub_core::{AtSource, CallKey, Facts, Sighting, State, Time, Windows, derive, fact::NewestStep};
use agy_sim::{Call, Clock, Esc, Layout, Live, LiveSpec, Quirk, ToolEnd};
use proptest::prelude::*;
use serde_json::json;

use crate::world::home_of;

const ID: &str = "0b6c7ef0-6a2a-4d59-8a11-5b4f0e1d2c3b";
const NOW: Time = Time::from_micros(1_800_000_000_000_000);

pub(crate) struct Reader {
    home: Home,
    cursor: Option<Cursor>,
    /// What a store would hold.
    pub(crate) calls: BTreeMap<CallKey, Sighting>,
    pub(crate) whole_reads: usize,
}

impl Reader {
    pub(crate) fn new(sim: &agy_sim::Home) -> Reader {
        Reader { home: home_of(sim), cursor: None, calls: BTreeMap::new(), whole_reads: 0 }
    }

    pub(crate) fn once(&self, cursor: Option<&Cursor>) -> Read {
        let listing = list(&self.home);
        let entry = listing.entries.iter().find(|e| e.id.as_str() == ID).expect("listed");
        assert_eq!(entry.fingerprint, fingerprint(&entry.path).unwrap());
        read(&self.home, entry, cursor, NOW, &Index::load(&self.home)).unwrap()
    }

    pub(crate) fn next(&mut self) -> Read {
        let r = self.once(self.cursor.as_ref());
        self.whole_reads += usize::from(r.complete);
        let text = r.cursor.to_json();
        assert!(text.len() < 4_000, "the cursor stays small: {}", text.len());
        self.cursor = Cursor::from_json(&text);
        assert!(self.cursor.is_some());
        for s in &r.sightings {
            let one = match self.calls.remove(&s.key) {
                Some(old) => old.merged(s.clone()),
                None => s.clone(),
            };
            self.calls.insert(s.key.clone(), one);
        }
        r
    }
}

/// The part of a read that must not depend on how it was read. A session's calls only grow, so those are apart.
fn absolute(r: &Read) -> Read {
    let cursor = Cursor::default();
    Read { complete: true, sightings: Vec::new(), rows: 0, cursor, ..r.clone() }
}

/// One verb, chosen by a byte; what does not fit the moment does nothing.
fn act(live: &mut Live, byte: u8) {
    let command = json!({"CommandLine": "cargo test", "Cwd": "/w"});
    let _ = match byte % 24 {
        0 | 1 => live.prompt("do it").map(drop),
        2..=5 => live.call().map(drop),
        6 => live.call_begins().map(drop),
        7 => live.call_streams("more ").map(drop),
        8 | 9 => {
            let call = live.plausible_call();
            live.call_ends(&call).map(drop)
        }
        10 | 11 => live.tool_begins("run_command", command).map(drop),
        12 => live.tool_waits("run_command", command).map(drop),
        13 => live.allow().map(drop),
        14 => live.deny().map(drop),
        15 | 16 => live.tool_ends(ToolEnd::ok()).map(drop),
        17 => live.end_turn(),
        18 => live.queue_prompt("and then").map(drop),
        19 => live.take_up_queued().map(drop),
        20 => live.api_error(503, "overloaded").map(drop),
        21 => live.esc([Esc::Canceled, Esc::Interrupted, Esc::StopReason][usize::from(byte / 24 % 3)]),
        22 => {
            let quirk = [
                Quirk::NoUsage,
                Quirk::GarbageGen,
                Quirk::GarbageStep,
                Quirk::Mismatch,
                Quirk::NoIds,
                Quirk::NoGen,
                Quirk::HugeGen,
                Quirk::StepStreamed,
                Quirk::Split,
                Quirk::NoStepUsage,
            ][usize::from(byte / 24 % 10)];
            let call = live.plausible_call();
            let call = Call { quirks: vec![quirk], ..call };
            live.call_begins().and_then(|_| live.call_ends(&call)).map(drop)
        }
        _ => match u32::from(byte) % live.recording().next_step().max(1) {
            to if byte > 200 && to > 0 => live.rewind(to),
            _ => live.title_call("A title").map(drop),
        },
    };
}

#[test]
fn s03_a_rewind_counts_a_call_without_id_and_step_once() {
    let sim = agy_sim::Home::temp().unwrap();
    let clock = Clock::manual(agy_sim::WORLD_END);
    let mut live = Live::start(&sim, LiveSpec::new(ID).cwd("/w").clock(&clock)).unwrap();
    let mut reader = Reader::new(&sim);
    let whole = |live: &mut Live, prompt: &str, quirks: &[Quirk]| {
        let step = live.prompt(prompt).unwrap();
        live.call_begins().unwrap();
        let call = Call { quirks: quirks.to_vec(), ..live.plausible_call() };
        live.call_ends(&call).unwrap();
        live.end_turn().unwrap();
        step
    };
    whole(&mut live, "one", &[Quirk::NoIds, Quirk::GarbageStep]);
    let second = whole(&mut live, "two", &[]);
    reader.next();
    let before: Vec<CallKey> = reader.calls.keys().cloned().collect();
    assert!(before.len() == 2 && before.iter().any(|k| k.0.starts_with("g:")), "{before:?}");
    // The first call stands; only the trajectory has another id.
    live.rewind(second).unwrap();
    reader.next();
    assert_eq!(reader.calls.keys().cloned().collect::<Vec<_>>(), before);
    whole(&mut live, "two, again", &[Quirk::NoIds, Quirk::GarbageStep]);
    reader.next();
    assert_eq!(reader.calls.len(), 3, "{:?}", reader.calls.keys());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn b03_bit_by_bit_comes_to_the_same_as_at_once(
        actions in proptest::collection::vec(any::<u8>(), 1..120),
        old in any::<bool>(),
        every in 1usize..5,
    ) {
        let sim = agy_sim::Home::temp().unwrap();
        let layout = if old { Layout::V1_0 } else { Layout::V1_2 };
        let clock = Clock::manual(agy_sim::WORLD_END);
        let mut live = Live::start(&sim, LiveSpec::new(ID).cwd("/w").layout(layout).clock(&clock)).unwrap();
        let mut reader = Reader::new(&sim);
        for (i, byte) in actions.iter().enumerate() {
            act(&mut live, *byte);
            if i % every == 0 {
                let bits = reader.next();
                let whole = reader.once(None);
                prop_assert_eq!(absolute(&bits), absolute(&whole), "after {} of {:?}", i, actions);
                for s in &whole.sightings {
                    let known = reader.calls.get(&s.key).cloned();
                    // A step that no longer decodes told its time while it did: only the time may be known better.
                    let better = known.as_ref().and_then(|k| k.stamp).filter(|t| s.stamp.is_none_or(|own| *t <= own));
                    let expected = Sighting { stamp: better.or(s.stamp), ..s.clone() };
                    prop_assert_eq!(Some(expected), known, "after {} of {:?}", i, actions);
                }
                // The same bytes once more: nothing changes (user-reports 17).
                let before = reader.calls.clone();
                let again = reader.next();
                prop_assert!(!again.complete);
                prop_assert_eq!(absolute(&again), absolute(&bits));
                prop_assert_eq!(&before, &reader.calls);
            }
        }
    }
}

fn start(sim: &agy_sim::Home, layout: Layout) -> Live {
    let clock = Clock::manual(agy_sim::WORLD_END);
    Live::start(sim, LiveSpec::new(ID).cwd("/w").layout(layout).clock(&clock)).unwrap()
}

/// The state that follows from the database alone, a moment after it was written.
fn state(r: &Read) -> State {
    let facts = Facts { wrote: Some(r.fingerprint.wrote()), ..Facts::from_db(r.as_of, r.view.clone()) };
    let soon = r.fingerprint.wrote().plus_ms(6_000);
    derive(&facts, None, soon, &Windows::default()).state
}

#[test]
fn b03_one_more_call_is_read_with_work_that_does_not_grow() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("go").unwrap();
    let mut rows = Vec::new();
    for n in 0..400 {
        live.call().unwrap();
        let r = reader.next();
        if n % 100 == 99 {
            rows.push(r.rows);
        }
        assert_eq!(r.complete, n == 0);
    }
    assert!(rows.iter().all(|n| *n == rows[0] && *n < 50), "{rows:?}");
    assert_eq!(reader.calls.len(), 400);
}

#[test]
fn s03_a_rewind_is_noticed_and_forgets_no_call() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("first").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    let second = live.prompt("second").unwrap();
    live.call().unwrap();
    live.call().unwrap();
    assert_eq!(reader.next().turns, 2);
    live.rewind(second).unwrap();
    live.prompt("another way").unwrap();
    live.call().unwrap();
    live.call().unwrap();
    live.call().unwrap();
    let r = reader.next();
    assert!(r.complete, "a rewind is read whole, also when more rows came than went");
    assert_eq!((r.turns, reader.calls.len()), (2, 6));
}

#[test]
fn l05_a_turn_goes_from_running_to_waiting_and_to_idle_by_its_rows_alone() {
    for layout in [Layout::V1_0, Layout::V1_2] {
        let sim = agy_sim::Home::temp().unwrap();
        let mut live = start(&sim, layout);
        let mut reader = Reader::new(&sim);
        live.prompt("build it").unwrap();
        assert_eq!(state(&reader.next()), State::Running);
        live.call().unwrap();
        let command = json!({"CommandLine": "cargo build\n--release", "Cwd": "/w"});
        let waits = live.tool_waits("run_command", command).unwrap();
        let r = reader.next();
        assert_eq!(state(&r), State::Waiting);
        let w = r.view.waiting.clone().unwrap();
        assert_eq!(w.step.idx, i64::from(waits));
        assert_eq!((w.tool.as_deref(), w.detail.as_deref()), (Some("run_command"), Some("cargo build")));
        live.allow().unwrap();
        let r = reader.next();
        assert_eq!(state(&r), State::Running);
        assert_eq!(r.view.live.unwrap().tool.as_deref(), Some("run_command"));
        live.tool_ends(ToolEnd::ok()).unwrap();
        live.call().unwrap();
        assert_eq!(state(&reader.next()), State::Running);
        live.end_turn().unwrap();
        let r = reader.next();
        assert_eq!(state(&r), State::Idle);
        let end = r.view.end.unwrap();
        assert_eq!((end.reason, end.at.is_some()), (4, true));
        assert!(end.at.unwrap() < NOW, "agy's own time, not that of the read");
    }
}

#[test]
fn l05_a_denied_tool_alone_is_no_error() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("x").unwrap();
    live.call().unwrap();
    live.tool_waits("run_command", json!({"CommandLine": "rm"})).unwrap();
    live.deny().unwrap();
    let r = reader.next();
    assert_eq!(r.view.waiting, None);
    assert_eq!(state(&r), State::Running);
}

#[test]
fn l05_u41_esc_ends_the_turn_in_each_of_its_forms() {
    for how in [Esc::Canceled, Esc::Interrupted, Esc::StopReason] {
        let sim = agy_sim::Home::temp().unwrap();
        let mut live = start(&sim, Layout::V1_2);
        let mut reader = Reader::new(&sim);
        live.prompt("x").unwrap();
        live.call_begins().unwrap();
        assert_eq!(state(&reader.next()), State::Running);
        live.esc(how).unwrap();
        let r = reader.next();
        assert!(matches!(r.view.newest, Some(NewestStep::Canceled { .. })), "{how:?}");
        assert_eq!(state(&r), State::Idle, "{how:?}");
    }
    // Of two tools side by side one had ended before.
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    live.prompt("x").unwrap();
    live.call().unwrap();
    live.tool_begins("run_command", json!({"CommandLine": "a"})).unwrap();
    let second = live.tool_begins("run_command", json!({"CommandLine": "b"})).unwrap();
    live.tool_step_ends(second, ToolEnd::ok()).unwrap();
    live.esc(Esc::Canceled).unwrap();
    assert_eq!(state(&Reader::new(&sim).next()), State::Idle);
}

#[test]
fn l05_an_api_error_and_a_headless_refusal_end_without_any_stop() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("x").unwrap();
    live.call_begins().unwrap();
    live.api_error(503, "The model is overloaded.\nTry again.").unwrap();
    let r = reader.next();
    let Some(NewestStep::Error { text, .. }) = &r.view.newest else { panic!("{:?}", r.view.newest) };
    assert_eq!(text.as_deref(), Some("The model is overloaded."));
    assert_eq!(state(&r), State::Error);
    // agy's own title call comes after the turn's last word, and is none.
    live.title_call("A title").unwrap();
    let titled = reader.next();
    assert_eq!((&titled.view.newest, &titled.view.live), (&r.view.newest, &None));
    assert!(titled.view.aside.is_some() && r.view.aside.is_none());
    live.prompt("again").unwrap();
    assert_eq!(state(&reader.next()), State::Running, "a new turn clears it (L7)");
    live.call().unwrap();
    live.headless_refusal("run_command", json!({"CommandLine": "rm"})).unwrap();
    assert_eq!(state(&reader.next()), State::Idle);
}

#[test]
fn l02_a_queued_message_starts_its_turn_when_it_is_taken_up() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("first").unwrap();
    live.call().unwrap();
    let queued = live.queue_prompt("second").unwrap();
    let r = reader.next();
    assert_eq!((r.turns, r.view.turn.as_ref().map(|t| t.idx)), (1, Some(0)));
    live.end_turn().unwrap();
    live.take_up_queued().unwrap();
    let r = reader.next();
    assert_eq!((r.turns, r.view.turn.as_ref().map(|t| t.idx)), (2, Some(i64::from(queued))));
    assert_eq!(r.view.end, None);
    assert_eq!(state(&r), State::Running);
}

#[test]
fn s02_u05_rows_that_are_flushed_late_are_found_by_the_next_read() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    let mut reader = Reader::new(&sim);
    live.prompt("x").unwrap();
    live.call().unwrap();
    reader.next();
    live.hold_writes();
    live.call().unwrap();
    live.end_turn().unwrap();
    let r = reader.next();
    assert_eq!((reader.calls.len(), r.view.end.is_some()), (1, false));
    live.flush().unwrap();
    let r = reader.next();
    assert_eq!((reader.calls.len(), r.view.end.is_some()), (2, true));
    assert!(reader.calls.values().all(|s| s.stamp.unwrap().source <= AtSource::Step));
}

#[test]
fn s02_a_killed_writers_rows_are_read_from_its_log() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_2);
    live.prompt("x").unwrap();
    live.call().unwrap();
    live.call_begins().unwrap();
    let recording = live.kill().unwrap();
    let mut reader = Reader::new(&sim);
    let r = reader.next();
    assert_eq!((r.turns, r.view.live.is_some()), (1, true));
    assert!(sim.shm(ID).exists());
    // Somebody copied the files, and left the -shm behind: from a private copy.
    std::fs::remove_file(sim.shm(ID)).unwrap();
    let copy = reader.once(None);
    assert_eq!(absolute(&copy), absolute(&r));
    assert!(!sim.shm(ID).exists(), "none was made");
    // The row is canceled in place when agy resumes.
    let spec = LiveSpec::new(ID).clock(&Clock::manual(agy_sim::WORLD_END.plus_ms(60_000)));
    let _resumed = Live::resume(&sim, recording, spec).unwrap();
    let r = reader.next();
    assert_eq!(r.view.live, None);
    assert!(matches!(r.view.newest, Some(NewestStep::Canceled { .. })));
}

#[test]
fn s03_a_step_without_the_metadata_column_counts_by_its_payload() {
    let sim = agy_sim::Home::temp().unwrap();
    let mut live = start(&sim, Layout::V1_0);
    live.prompt("x").unwrap();
    live.call().unwrap();
    live.title_call("A title").unwrap();
    live.end_turn().unwrap();
    live.close().unwrap();
    let before = Reader::new(&sim).next();
    sim.raw_db(ID, |db| Ok(db.execute("UPDATE steps SET metadata = NULL", [])?)).unwrap();
    let after = Reader::new(&sim).next();
    assert_eq!((&before.sightings, &before.view), (&after.sightings, &after.view));
    assert_eq!(after.sightings.len(), 2);
}
