//! B6: a store of 100,000 sessions, and what each screen asks of it. Each question is asked as the window asks it: through
//! the host, on a connection of its own, up to the text that crosses to the page. `cargo xtask bench -- b6` runs it alone;
//! `-- b6 10000` with another number of sessions.

use std::time::{Duration, Instant};

use agenthub_core::Time;
use agenthub_engine::{
    Config, Host, Options, UsageBy, UsageQuery,
    view::{
        ErrorView, ListedState, OwnPrice, Period, SessionsQuery, SessionsSort, UsageMeasure, UsageRange,
        UsageScreenQuery,
    },
};
use agy_sim::Home;
use anyhow::{Context, Result, anyhow};

mod large;

use large::{DAYS, REAL, SESSIONS, fill, id, now_s, real_session};

const ROUNDS: usize = 15;
/// How long a screen may take to be painted; what is asked here is the part of it that is ours.
const PROMISED: Duration = Duration::from_millis(100);

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

fn day_before(days: u64) -> String {
    Time::from_millis(i64::try_from((now_s() - days * 86_400) * 1_000).unwrap_or(0)).rfc3339()
}
