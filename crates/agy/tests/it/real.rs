//! Real data, where it is (`AGENTHUB_SAMPLES`, else `../shared/samples` beside the repository).

use std::path::{Path, PathBuf};

use agenthub_agy::{Home, Index, list, read, transcript};
use agenthub_core::{CallKind, Time, Tokens};

const CONVERSATION: &str = "18ee78b4-4643-45db-85df-8abd89b51b1b";

fn samples() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("AGENTHUB_SAMPLES").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: no real samples at {}", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn s04_a_real_conversation_gives_its_exact_numbers() {
    let Some(samples) = samples() else { return };
    let temp = tempfile::tempdir().unwrap();
    let home = Home::new(temp.path().join(".gemini"));
    std::fs::create_dir_all(home.conversations()).unwrap();
    let from = samples.join("ingo-eichhorst__Irrlicht/conversations").join(format!("{CONVERSATION}.db"));
    std::fs::copy(from, home.conversations().join(format!("{CONVERSATION}.db"))).unwrap();

    let listing = list(&home);
    assert_eq!(listing.problems, []);
    let r = read(&home, &listing.entries[0], None, Time::from_micros(0), &Index::load(&home)).unwrap();
    let of = |number: i32| {
        let calls: Vec<_> = r.sightings.iter().filter(|s| s.model.number == number).collect();
        (calls.len(), calls.iter().filter_map(|s| s.tokens).sum::<Tokens>())
    };
    assert_eq!(r.sightings.len(), 4);
    assert_eq!(
        of(1016),
        (3, Tokens { input: 14_392, output: 846, cache_read: 40_697, cache_write: 0, thinking: 843 })
    );
    assert_eq!(of(1050), (1, Tokens { input: 46, output: 5, ..Tokens::default() }));
    let background: Vec<_> = r.sightings.iter().filter(|s| s.kind == CallKind::Background).collect();
    assert_eq!(background.iter().map(|s| s.model.number).collect::<Vec<_>>(), [1050]);
    assert!(r.sightings.iter().all(|s| !s.stamp.unwrap().approximate()), "{:?}", r.sightings);

    assert_eq!((r.turns, r.tool_calls, r.calls_without_usage), (3, 0, 0));
    assert!(r.warnings.is_empty());
    let model = r.meta.model.unwrap();
    assert_eq!((model.number, model.label.as_deref()), (1016, Some("Gemini 3.1 Pro (High)")));
    assert_eq!(r.meta.cwd, None);
    assert!(!r.meta.is_subagent && r.meta.forked_from.is_none());
    assert_eq!(r.meta.started_at, r.meta.created_at);
    let end = r.view.end.unwrap();
    assert_eq!((end.last_step, end.reason), (10, 4));
    assert_eq!(end.at, Some(Time::from_micros(1_782_640_496_378_292)));
    assert_eq!(r.view.turn.unwrap().idx, 8);
    assert_eq!(r.view.live, None);
    assert_eq!(r.context.unwrap().used, 2_464 + 16_316);
}

#[test]
fn s12_every_real_transcript_record_parses() {
    let Some(samples) = samples() else { return };
    let folder = samples.join("ingo-eichhorst__Irrlicht/transcripts");
    let (mut files, mut records) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let t = transcript::read(&file.unwrap().path()).unwrap();
        assert_eq!((t.bad_lines, t.truncated), (0, false));
        assert!(t.records.iter().all(|r| r.created_at.is_some() && !r.kind.is_empty()));
        files += 1;
        records += t.records.len();
    }
    assert_eq!((files, records), (29, 246));
}

#[test]
fn r2_a_real_conversation_gives_its_turns_by_the_database_and_by_the_transcript() {
    use agenthub_agy::trace::{End, trace, trace_from_transcript};

    let Some(samples) = samples() else { return };
    let samples = samples.join("ingo-eichhorst__Irrlicht");
    let temp = tempfile::tempdir().unwrap();
    let home = Home::new(temp.path().join(".gemini"));
    std::fs::create_dir_all(home.conversations()).unwrap();
    std::fs::copy(
        samples.join("conversations").join(format!("{CONVERSATION}.db")),
        home.conversations().join(format!("{CONVERSATION}.db")),
    )
    .unwrap();
    let entry = list(&home).entries.remove(0);
    let told = trace(&home, &entry, &|_| true).unwrap();
    let shape: Vec<Vec<i32>> =
        told.turns.iter().map(|t| t.span.calls.iter().map(|c| c.model.number).collect()).collect();
    assert_eq!(shape, [vec![1016, 1050], vec![1016], vec![1016]]);
    for t in &told.turns {
        assert_eq!((t.end, t.is_settled), (End::Execution, true));
        assert_eq!(t.span.finish_reason.as_deref(), Some("no_tool_call"));
        for c in &t.span.calls {
            assert!(!c.extent.approximate && c.extent.duration_us() > 0 && c.tokens.is_some());
        }
        // agy 1.0.10 says so (agy-format §3.2).
        assert_eq!(t.span.provider, agenthub_core::trace::Provider::GeminiApi);
    }
    // To the microsecond, from the request to the end of the step.
    let answer = &told.turns[0].span.calls[0];
    assert_eq!(answer.extent.from, Time::from_micros(1_782_640_471_929_111));
    let sum: Tokens = told.turns.iter().flat_map(|t| &t.span.calls).filter_map(|c| c.tokens).sum();
    assert_eq!(sum.total(), 14_392 + 40_697 + 846 + 46 + 5);

    // The recording of this very conversation.
    let transcript = samples.join("transcripts/5-1_token-accounting.jsonl");
    let to = home.transcript(&entry.id, false);
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(transcript, to).unwrap();
    let whole = trace_from_transcript(&home, &entry.id, &|_| true).unwrap();
    assert_eq!(whole.keys, told.keys, "the same turns");
    for (a, b) in told.turns.iter().zip(&whole.turns) {
        assert_eq!(a.span.id, b.span.id);
        assert_eq!(a.span.calls[0].id, b.span.calls[0].id, "the same calls");
    }
}
