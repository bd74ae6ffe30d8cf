//! A store of many sessions, for the benches that ask what a screen costs (B6).

use std::path::Path;

use agenthub_core::{AtSource, CallKey, CallKind, Model, SessionId, Sighting, Stamp, Time, Tokens, Tool};
use agenthub_store::{Change, Conversation, SessionRecord, Store};
use agy_sim::{Call, Home, Turn};
use anyhow::{Context, Result};

/// So many sessions are promised.
pub(crate) const SESSIONS: u64 = 100_000;
/// Over so many days they are spread, the last of them today.
pub(crate) const DAYS: u64 = 730;
/// The one session that has a conversation of agy's.
pub(crate) const REAL: &str = "5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f1";

pub(crate) fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// One conversation that agy left.
pub(crate) fn real_session(home: &Home) -> Result<()> {
    let mut past = agy_sim::Conversation::new(REAL);
    for n in 0..30 {
        let mut turn = Turn::prompt(&format!("Turn {n}"));
        for c in 0..10 {
            turn = turn.call(
                Call::model(1016).tokens(1_000 + c, 100, 2_000, 10).tool("view_file", serde_json::json!({})),
            );
        }
        past = past.turn(turn);
    }
    past.write(home)?;
    Ok(())
}

/// A fixed stream of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

pub(crate) fn id(n: u64) -> SessionId {
    let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    SessionId::parse(&format!("{spread:08x}-0000-4000-8000-{n:012x}"))
        .unwrap_or_else(|| unreachable!("a UUID"))
}

const MODELS: [(i32, &str, &str); 5] = [
    (1_016, "gemini-3.1-pro-high", "Gemini 3.1 Pro (High)"),
    (1_298, "gemini-3.7-flash", "Gemini 3.7 Flash"),
    (1_318, "gemini-3.8-flash-medium", "Gemini 3.8 Flash (Medium)"),
    (1_132, "gemini-3.1-flash-lite", ""),
    (1_050, "claude-opus-4-6-thinking", "Claude Opus 4.6 (Thinking)"),
];
const WORDS: [&str; 8] = [
    "Fix the parser",
    "Write release notes",
    "Explain the failing test",
    "Add a dark theme",
    "Rename the module",
    "Why is this slow?",
    "Review my change",
    "Update dependencies",
];

/// Sessions of one to twelve calls, evenly over two years; every tenth is a sub-agent, and every hundredth has a warning.
pub(crate) fn fill(path: &Path, sessions: u64) -> Result<u64> {
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    let mut store = Store::open(path)?.store;
    let mut numbers = Numbers(0x1234_5678_9ABC_DEF1);
    let begin = now_s() - DAYS * 86_400;
    let mut calls = 0;
    for from in (0..sessions).step_by(1_000) {
        let mut batch = Vec::new();
        for n in from..(from + 1_000).min(sessions) {
            let start = begin + n * (DAYS * 86_400 - 7_200) / sessions;
            batch.push(session(&mut numbers, n, start, &mut calls));
        }
        store.apply(&batch)?;
    }
    store.first_filling_done();
    Ok(calls)
}

fn session(numbers: &mut Numbers, n: u64, start: u64, calls: &mut u64) -> Change {
    let at = |s: u64| Some(Time::from_millis(i64::try_from(s * 1_000).unwrap_or(0)));
    let main = numbers.next(5);
    let count = 1 + numbers.next(12);
    *calls += count;
    let sightings = (0..count)
        .map(|i| {
            let of = if i % 4 == 3 { numbers.next(5) } else { main };
            let (number, name, label) =
                usize::try_from(of).ok().and_then(|i| MODELS.get(i)).copied().unwrap_or_default();
            let name = if n % 1_000 == 1 { "gemini-rare" } else { name };
            Sighting {
                key: CallKey(format!("{:016x}{n:08x}{i:04x}", numbers.0)),
                kind: if i == 0 { CallKind::Background } else { CallKind::Turn },
                model: Model {
                    number: if n % 1_000 == 1 { 0 } else { number },
                    id: Some(name.to_owned()),
                    label: Some(label.to_owned()).filter(|l| !l.is_empty()),
                },
                tokens: (numbers.next(50) > 0).then(|| Tokens {
                    input: numbers.next(220_000),
                    output: numbers.next(900),
                    cache_read: numbers.next(40_000),
                    cache_write: 0,
                    thinking: numbers.next(300),
                }),
                stamp: Some(Stamp {
                    source: if i % 9 == 8 { AtSource::File } else { AtSource::Request },
                    at: at(start + i * 240).unwrap_or_default(),
                }),
            }
        })
        .collect();
    let folder = format!("/home/somebody/work/project-{}", numbers.next(120));
    let word = usize::try_from(numbers.next(8)).ok().and_then(|i| WORDS.get(i)).copied().unwrap_or_default();
    let warnings = if n % 100 == 7 { r#"[{"code":"undecodable_row","count":2}]"# } else { "[]" };
    let (_, model, label) =
        usize::try_from(main).ok().and_then(|i| MODELS.get(i)).copied().unwrap_or_default();
    Change {
        conversation: Conversation {
            id: id(n),
            fingerprint: String::new(),
            cursor: r#"{"rows":100,"steps":300,"blob":"00000000000000000000000000000000"}"#.repeat(3),
            read_at: at(start).unwrap_or_default(),
            problem: None,
            ever_held: false,
        },
        session: Some(SessionRecord {
            id: id(n),
            tool: Tool::Antigravity,
            name: Some(format!("{word}, part {n}")),
            lane: format!("antigravity:{folder}"),
            cwd: Some(folder),
            parent: (n % 10 == 9).then(|| id(n - 1)),
            fork: None,
            trajectory: Some(format!("{:032x}", u128::from(n) << 64)),
            model: Some(model.to_owned()),
            started_at: at(start),
            created_at: at(start),
            birth_at: at(start),
            last_activity: at(start + count * 240),
            error_at: None,
            turns: 3,
            tool_calls: 9,
            details: format!(
                r#"{{"warnings":{warnings},"context":{{"used":12000,"max":1048576,"parts":[]}},"outcome":null,"model_label":"{label}"}}"#
            ),
        }),
        sightings,
    }
}
