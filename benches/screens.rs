//! B6: a store of 100,000 sessions, and what each screen asks of it. Each question is asked as the window asks it: through
//! the host, on a connection of its own, up to the text that crosses to the page. `cargo xtask bench -- b6` runs it alone;
//! `-- b6 10000` with another number of sessions.

use std::time::{Duration, Instant};

use agenthub_core::{AtSource, CallKey, CallKind, Model, SessionId, Sighting, Stamp, Time, Tokens, Tool};
use agenthub_engine::{
    Config, Host, Options, UsageBy, UsageQuery,
    view::{
        ErrorView, ListedState, OwnPrice, Period, SessionsQuery, SessionsSort, UsageMeasure, UsageRange,
        UsageScreenQuery,
    },
};
use agenthub_store::{Change, Conversation, SessionRecord, Store};
use agy_sim::{Call, Home, Turn};
use anyhow::{Context, Result, anyhow};

const SESSIONS: u64 = 100_000;
const ROUNDS: usize = 15;
/// How long a screen may take to be painted; what is asked here is the part of it that is ours.
const PROMISED: Duration = Duration::from_millis(100);
const DAYS: u64 = 730;
const REAL: &str = "5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f1";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.iter().any(|a| a.starts_with('b')) && !args.iter().any(|a| a == "b6") {
        return Ok(());
    }
    let sessions = args.iter().find_map(|a| a.parse().ok()).unwrap_or(SESSIONS);
    let dir = tempfile::tempdir()?;
    let home = Home::create(dir.path().join(".gemini"))?;
    real_session(&home)?;
    let config = Config {
        gemini_dir: home.root().to_owned(),
        data_dir: dir.path().join("data"),
        config_dir: dir.path().join("config"),
        poll_ms: 15_000,
    };
    let calls = timed("filled", || fill(&config.data_dir.join("agenthub.db"), sessions))?;
    let once = || Host::once(config.clone(), Options::default()).map_err(told);
    timed("first look: prices, and sums rolled up", || once().map(drop))?;
    timed("second look, nothing changed", || once().map(drop))?;
    let host = once()?;
    say(&format!("B6  {sessions} sessions, {calls} calls in {DAYS} days; {ROUNDS} rounds each"));
    let mut screens = Screens { host: &host, worst: Duration::ZERO, slow: Vec::new() };
    screens.sessions()?;
    screens.usage()?;
    screens.others()?;
    say(&format!(
        "B6  the slowest screen's questions: p95 {:.0} ms (at most {} ms for the whole screen){}",
        ms(screens.worst),
        PROMISED.as_millis(),
        if screens.slow.is_empty() {
            String::new()
        } else {
            format!("; above it: {}", screens.slow.join(", "))
        }
    ));
    prices(&host)
}

#[expect(clippy::print_stdout, reason = "a bench is for reading")]
fn say(line: &str) {
    println!("{line}");
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1_000.0
}

fn told(e: ErrorView) -> anyhow::Error {
    anyhow!("{} ({})", e.message, e.code)
}

fn timed<T>(what: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let value = f()?;
    say(&format!("B6  {what}: {:.0} ms", ms(started.elapsed())));
    Ok(value)
}

/// CPU time of this thread so far; nothing where the system does not tell.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

struct Screens<'a> {
    host: &'a Host,
    worst: Duration,
    slow: Vec<String>,
}

impl Screens<'_> {
    fn ask<T: serde::Serialize>(
        &mut self,
        what: &str,
        f: impl Fn(&Host) -> Result<T, ErrorView>,
    ) -> Result<()> {
        let (mut all, mut cpu) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let (started, used) = (Instant::now(), cpu_time());
            let answer = f(self.host).map_err(told).with_context(|| what.to_owned())?;
            bytes = serde_json::to_vec(&answer)?.len();
            all.push(started.elapsed());
            cpu.push(cpu_time().saturating_sub(used));
        }
        all.sort();
        cpu.sort();
        let at =
            |part: usize| all.get((all.len() * part / 100).min(all.len() - 1)).copied().unwrap_or_default();
        let (half, most) = (at(50), at(95));
        self.worst = self.worst.max(most);
        if most > PROMISED {
            self.slow.push(what.to_owned());
        }
        // A busy machine makes everything wait; what it takes of a core stays what it is.
        let own = cpu.get(cpu.len() / 2).copied().unwrap_or_default();
        say(&format!(
            "B6    {what:<44} p50 {:>6.1} ms   p95 {:>6.1} ms   CPU {:>6.1} ms   {:>5} kB",
            ms(half),
            ms(most),
            ms(own),
            bytes / 1_000
        ));
        Ok(())
    }

    fn sessions(&mut self) -> Result<()> {
        let all = SessionsQuery::default;
        for (what, sort) in [
            ("activity", SessionsSort::Active),
            ("start", SessionsSort::Started),
            ("name", SessionsSort::Name),
            ("tokens", SessionsSort::Tokens),
            ("cost", SessionsSort::Cost),
        ] {
            let q = SessionsQuery { sort, ..all() };
            self.ask(&format!("Sessions by {what}"), |h| h.sessions(&q))?;
            let q = SessionsQuery { sort, ascending: true, offset: 50_000, ..all() };
            self.ask(&format!("Sessions by {what}, upwards, row 50,000"), |h| h.sessions(&q))?;
        }
        for (what, search) in
            [("one letter", "e"), ("a word", "parser"), ("a rare word", "part 77123"), ("nothing", "qqqq")]
        {
            let q = SessionsQuery { search: Some(search.to_owned()), ..all() };
            self.ask(&format!("Sessions, search for {what}"), |h| h.sessions(&q))?;
            let q = SessionsQuery { sort: SessionsSort::Cost, ..q };
            self.ask(&format!("Sessions by cost, search for {what}"), |h| h.sessions(&q))?;
        }
        let lane = "antigravity:/home/somebody/work/project-7".to_owned();
        for (what, q) in [
            ("of a lane", SessionsQuery { lane_id: Some(lane), ..all() }),
            ("of a model", SessionsQuery { model: Some("gemini-3.1-pro-high".to_owned()), ..all() }),
            ("of this week", SessionsQuery { period: Some(Period::Week), ..all() }),
            ("of this month", SessionsQuery { period: Some(Period::Month), ..all() }),
            ("completed", SessionsQuery { state: Some(ListedState::Completed), ..all() }),
            ("that need you", SessionsQuery { state: Some(ListedState::NeedsYou), ..all() }),
            (
                "of a model, by tokens, one letter",
                SessionsQuery {
                    model: Some("gemini-3.1-pro-high".to_owned()),
                    search: Some("e".to_owned()),
                    sort: SessionsSort::Tokens,
                    ..all()
                },
            ),
        ] {
            self.ask(&format!("Sessions {what}"), |h| h.sessions(&q))?;
        }
        Ok(())
    }

    fn usage(&mut self) -> Result<()> {
        for range in [UsageRange::Week, UsageRange::Days30, UsageRange::Days90, UsageRange::All] {
            let q = UsageScreenQuery { range, measure: UsageMeasure::Cost, since: None, until: None };
            self.ask(&format!("Usage, {range:?}"), |h| h.usage_screen(&q))?;
        }
        for (what, by) in [("day", UsageBy::Day), ("model", UsageBy::Model), ("project", UsageBy::Project)] {
            for (zone, range) in [("UTC", "all"), ("Asia/Kathmandu", "a year")] {
                let since = (range != "all").then(|| day_before(365));
                let q = UsageQuery { by, since, until: None, tz: Some(zone.to_owned()) };
                self.ask(&format!("Usage by {what}, {range}, {zone}"), |h| h.usage(&q))?;
            }
        }
        // Not a screen: it lists all of them.
        let q = UsageQuery { by: UsageBy::Session, since: Some(day_before(30)), until: None, tz: None };
        self.ask("Usage by session, 30 days", |h| h.usage(&q))
    }

    fn others(&mut self) -> Result<()> {
        self.ask("Session, with its file", |h| h.session(REAL))?;
        self.ask("Session, of which the file is gone", |h| h.session(id(77).as_str()))?;
        self.ask("Notifications", Host::notifications)?;
        self.ask("Doctor", Host::doctor)?;
        self.ask("Settings, prices", Host::pricing)?;
        self.ask("Settings, hooks", Host::hooks_status)?;
        self.ask("Settings, tracing", Host::tracing_status)?;
        self.ask("Settings", |h| Ok(h.settings()))
    }
}

/// A price that changes the cost of a part of all calls, and back.
fn prices(host: &Host) -> Result<()> {
    let own = OwnPrice { alias: Some("gemini-3.7-flash".to_owned()), rates: None };
    timed("a price is set for a model of every fifth call", || {
        host.set_price("gemini-3.1-flash-lite", &own).map_err(told).map(drop)
    })?;
    timed("and taken back", || host.clear_price("gemini-3.1-flash-lite").map_err(told).map(drop))?;
    timed("a price is set for a model that few calls used", || {
        host.set_price("gemini-rare", &own).map_err(told).map(drop)
    })
}

fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn day_before(days: u64) -> String {
    Time::from_millis(i64::try_from((now_s() - days * 86_400) * 1_000).unwrap_or(0)).rfc3339()
}

/// One conversation that agy left.
fn real_session(home: &Home) -> Result<()> {
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

fn id(n: u64) -> SessionId {
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
fn fill(path: &std::path::Path, sessions: u64) -> Result<u64> {
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
