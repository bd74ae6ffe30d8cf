//! What the store itself costs: the first filling (part of B1), one more call (B3), and a list of 100,000 sessions (B6).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement, run by hand"
)]

use std::time::Instant;

use agenthub_core::{AtSource, CallKey, CallKind, Model, SessionId, Sighting, Stamp, Time, Tokens, Tool};
use agenthub_store::{Change, Conversation, Filter, SessionRecord, Sort, Store};

/// CPU time of this thread so far, in milliseconds; on Linux only.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

fn timed<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let (wall, cpu) = (Instant::now(), cpu_ms());
    let value = f();
    println!("{what}: {:.1} ms wall, {:.1} ms CPU", wall.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu);
    value
}

/// A fixed stream of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn id(n: u64) -> SessionId {
    let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    SessionId::parse(&format!("{:08x}-0000-4000-8000-{n:012x}", spread >> 32)).unwrap()
}

fn change(n: u64, sightings: Vec<Sighting>) -> Change {
    let at = |s: u64| Some(Time::from_millis(1_780_000_000_000 + i64::try_from(s).unwrap() * 60_000));
    Change {
        conversation: Conversation {
            id: id(n),
            fingerprint: format!("{n}:1780000000000000000:4096:0:0:0"),
            cursor: "{\"rows\":100,\"steps\":300,\"blob\":\"00000000000000000000000000000000\"}".repeat(3),
            read_at: Time::from_millis(1_780_000_000_000),
            problem: None,
            ever_held: false,
        },
        session: Some(SessionRecord {
            id: id(n),
            tool: Tool::Antigravity,
            name: Some(format!("Fix the parser, part {n}")),
            cwd: Some(format!("/home/somebody/work/project-{}", n % 40)),
            lane: format!("antigravity:/home/somebody/work/project-{}", n % 40),
            parent: None,
            fork: None,
            trajectory: Some(format!("{:032x}", u128::from(n) << 64)),
            model: Some("gemini-3.1-pro-high".into()),
            started_at: at(n),
            created_at: at(n),
            birth_at: at(n),
            last_activity: at(n + 30),
            error_at: None,
            turns: 3,
            tool_calls: 9,
            details: "{\"gauge\":{\"used\":12000,\"limit\":1048576},\"warnings\":[]}".into(),
        }),
        sightings,
    }
}

fn sighting(numbers: &mut Numbers, session: u64, i: u64) -> Sighting {
    let n = numbers.next();
    Sighting {
        key: CallKey(format!("{:016x}{:08x}", n, numbers.next() as u32)),
        kind: if i == 0 { CallKind::Background } else { CallKind::Turn },
        model: Model {
            number: 1_000 + i32::try_from(i % 3).unwrap(),
            id: Some(
                ["gemini-3.1-pro", "gemini-3.7-flash", "gemini-3.1-flash-lite"][(i % 3) as usize].into(),
            ),
            label: i.is_multiple_of(3).then(|| "Gemini 3.1 Pro (High)".into()),
        },
        tokens: Some(Tokens {
            input: n % 20_000,
            output: n % 900,
            cache_read: n % 40_000,
            cache_write: 0,
            thinking: n % 300,
        }),
        stamp: Some(Stamp {
            source: AtSource::Request,
            at: Time::from_millis(1_780_000_000_000 + i64::try_from(session * 60_000 + i * 20_000).unwrap()),
        }),
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(0x1234_5678_9ABC_DEF1);
    for batch in [64, 256, 2_000] {
        let changes: Vec<Change> = (0..2_000u64)
            .map(|n| {
                let calls = (0..27 + n % 2).map(|i| sighting(&mut numbers, n, i)).collect();
                change(n, calls)
            })
            .collect();
        let calls: usize = changes.iter().map(|c| c.sightings.len()).sum();
        let mut store = Store::open(&dir.path().join(format!("{batch}.db"))).unwrap().store;
        timed(&format!("first filling, {calls} calls of 2,000 sessions, {batch} sessions a batch"), || {
            for batch in changes.chunks(batch) {
                store.apply(batch).unwrap();
            }
            store.first_filling_done();
        });
        timed("the same again", || {
            for batch in changes.chunks(batch) {
                store.apply(batch).unwrap();
            }
        });
    }

    let mut store = Store::open(&dir.path().join("64.db")).unwrap().store;
    let big: Vec<Sighting> = (0..5_000).map(|i| sighting(&mut numbers, 9_999, i)).collect();
    timed("a session of 5,000 calls", || store.apply(&[change(9_999, big.clone())]).unwrap());
    let more: Vec<Change> = (0..200)
        .map(|i| change(9_999, vec![big[4_999 - i as usize].clone(), sighting(&mut numbers, 9_999, i)]))
        .collect();
    let (wall, cpu) = (Instant::now(), cpu_ms());
    for c in &more {
        store.apply(std::slice::from_ref(c)).unwrap();
    }
    println!(
        "one more call in it: {:.0} µs wall, {:.0} µs CPU",
        wall.elapsed().as_secs_f64() * 1e6 / 200.0,
        (cpu_ms() - cpu) * 1e3 / 200.0
    );

    if std::env::args().any(|a| a == "few") {
        return;
    }
    let mut store = Store::open(&dir.path().join("many.db")).unwrap().store;
    timed("100,000 sessions", || {
        for from in (0..100_000u64).step_by(2_000) {
            let batch: Vec<Change> =
                (from..from + 2_000).map(|n| change(n, vec![sighting(&mut numbers, n, 1)])).collect();
            store.apply(&batch).unwrap();
        }
        store.first_filling_done();
    });
    let all = Filter::default();
    let roots = Filter { roots_only: true, ..Filter::default() };
    let found = Filter { search: Some("part 77".into()), ..Filter::default() };
    for (what, f) in [("all", &all), ("roots", &roots), ("a search", &found)] {
        for sort in [Sort::Active, Sort::Started, Sort::Name, Sort::Tokens] {
            for offset in [0, 50_000] {
                timed(&format!("  {what} by {sort:?} from {offset}"), || {
                    store.sessions(f, sort, false, offset, 100).unwrap()
                });
            }
        }
        timed(&format!("  {what} summed"), || store.totals(f).unwrap());
    }
    timed("  choices of filters", || store.choices().unwrap());
    timed("  one session", || store.session(&id(5)).unwrap());
    timed("  the board's candidates", || {
        store.recent(Time::from_millis(1_785_990_000_000), Time::from_millis(1_785_990_000_000), &[]).unwrap()
    });
    timed("  delete one", || store.set_deleted(&[id(77)]).unwrap());
}
