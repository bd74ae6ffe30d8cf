//! A small language for timelines, so that a test reads like the story that it tells.
//!
//! A script is a list of `TIME [session:]verb arguments`, parted by `;`. Times count from a fixed moment: `90s`, `2m`, `8h`,
//! `1h30m`, `-5s`. What agy does at a moment is written and read at that moment. The last time of a script is its `now`.

use std::collections::BTreeMap;

use agenthub_core::fact::{Live, NewestStep};
use agenthub_core::{
    Board, DbView, EventId, Facts, HookEvent, HookKind, Lane, LaneId, LockReading, Outcome, Person, Presence,
    Run, RunEnd, RunFacts, RunId, Session, SessionId, State, StepRef, Time, Tool, TurnEnd, Verdict, Waiting,
    Windows, board, board::verdicts,
};

/// 2026-07-01T00:00:00Z.
pub(crate) const START: Time = Time::from_millis(1_782_864_000_000);

pub(crate) fn at(s: i64) -> Time {
    START.plus_ms(s * 1_000)
}

/// The id that a name of a script stands for.
pub(crate) fn id(name: &str) -> SessionId {
    let hex: String = name.bytes().map(|b| format!("{b:02x}")).collect();
    SessionId::parse(&format!("00000000-0000-4000-8000-{hex:0>12}")).unwrap()
}

pub(crate) fn name_of(id: &SessionId) -> String {
    let hex = id.as_str().rsplit('-').next().unwrap().trim_start_matches("00");
    (0..hex.len() / 2).map(|i| char::from(u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())).collect()
}

pub(crate) fn session(name: &str) -> Session {
    Session {
        id: id(name),
        tool: Tool::Antigravity,
        name: Some(name.to_owned()),
        cwd: None,
        parent: None,
        started_at: None,
        facts: Facts::default(),
    }
}

pub(crate) fn a_run(name: &str) -> Run {
    Run {
        id: RunId::parse(name).unwrap(),
        name: name.to_owned(),
        program: "agy".to_owned(),
        tool: Tool::Antigravity,
        cwd: None,
        facts: RunFacts::default(),
    }
}

/// What a script amounts to.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) sessions: Vec<Session>,
    pub(crate) runs: Vec<Run>,
    pub(crate) person: Person,
    pub(crate) now: Time,
    pub(crate) windows: Windows,
}

impl World {
    pub(crate) fn board(&self) -> Board {
        board(&self.sessions, &self.runs, &self.person, self.now, &self.windows)
    }

    pub(crate) fn verdict(&self, name: &str) -> Verdict {
        let all = verdicts(&self.sessions, &self.runs, self.now, &self.windows);
        let i = self.sessions.iter().position(|s| s.id == id(name)).unwrap();
        all[i].clone()
    }

    fn lane_of(&self, name: &str) -> LaneId {
        LaneId::of(self.sessions.iter().find(|s| s.id == id(name)).unwrap())
    }
}

/// `90s`, `2m`, `1h30m`, `-5s`, in seconds.
fn seconds(s: &str) -> i64 {
    let (sign, s) = s.strip_prefix('-').map_or((1, s), |rest| (-1, rest));
    let (mut sum, mut n) = (0, 0);
    for c in s.chars() {
        match c {
            '0'..='9' => n = n * 10 + i64::from(c.to_digit(10).unwrap()),
            's' | 'm' | 'h' => {
                sum += n * match c {
                    's' => 1,
                    'm' => 60,
                    _ => 3_600,
                };
                n = 0;
            }
            _ => panic!("no time: {s}"),
        }
    }
    sign * sum
}

/// A time as scripts write it.
pub(crate) fn show_time(t: Option<Time>) -> String {
    let Some(t) = t else { return "-".to_owned() };
    let ms = t.ms_since(START);
    assert_eq!(ms % 1_000, 0, "scripts know whole seconds");
    let s = ms / 1_000;
    let (h, m, rest) = (s / 3_600, s / 60 % 60, s % 60);
    let parts: String = [(h, 'h'), (m, 'm'), (rest, 's')]
        .into_iter()
        .filter(|(n, _)| *n != 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if parts.is_empty() { "0s".to_owned() } else { parts }
}

pub(crate) fn run(script: &str) -> World {
    let mut world = World {
        sessions: Vec::new(),
        runs: Vec::new(),
        person: Person::default(),
        now: START,
        windows: Windows::default(),
    };
    let mut views: BTreeMap<String, DbView> = BTreeMap::new();
    for (nth, line) in (0i64..).zip(script.split(';').map(str::trim).filter(|l| !l.is_empty())) {
        let mut words = line.split_whitespace();
        let now = at(seconds(words.next().unwrap()));
        world.now = now;
        // Two reads in one second are two reads.
        let read_at = Time::from_micros(now.micros() + nth);
        let verb = words.next().unwrap();
        let (name, verb) = verb.split_once(':').unwrap_or(("s", verb));
        let args: Vec<&str> = words.collect();
        let step = || StepRef { idx: args[0].parse().unwrap(), at: Some(now) };
        let tool = || args.get(1).map(|t| (*t).to_owned());
        match verb {
            "now" => continue,
            "dismiss" => {
                let lane = world.lane_of(name);
                world.person.dismissed.insert(lane, now);
                continue;
            }
            // What is known of runs: `r:run [FOLDER]`, `r:lives`, `r:exits CODE`, `r:killed SIGNAL`, `r:refused`, `r:lost`.
            "run" | "lives" | "exits" | "killed" | "refused" | "lost" => {
                let number = || args[0].parse().unwrap();
                let facts = match verb {
                    "run" => RunFacts::from_start(now),
                    "lives" => RunFacts::from_life(now),
                    "exits" => RunFacts::from_end(now, RunEnd::Exited(number())),
                    "killed" => RunFacts::from_end(now, RunEnd::Killed(number())),
                    "refused" => RunFacts::from_end(now, RunEnd::NotStarted("not found".to_owned())),
                    _ => RunFacts::from_loss(now),
                };
                if verb == "run" {
                    let cwd = args.first().map(|f| (*f).to_owned());
                    world.runs.push(Run { cwd, ..a_run(name) });
                }
                let run = world.runs.iter_mut().find(|r| r.id.as_str() == name).unwrap();
                run.facts = run.facts.clone().joined(facts);
                continue;
            }
            "dismiss-run" => {
                world.person.dismissed.insert(LaneId::of_run(&RunId::parse(name).unwrap()), now);
                continue;
            }
            "installed" => {
                world.person.errors_since = Some(now);
                continue;
            }
            _ => {}
        }
        if !world.sessions.iter().any(|s| s.id == id(name)) {
            world.sessions.push(session(name));
        }
        let s = world.sessions.iter_mut().find(|s| s.id == id(name)).unwrap();
        let view = views.entry(name.to_owned()).or_default();
        match verb {
            "in" => s.cwd = Some(args[0].to_owned()),
            "under" => s.parent = Some(id(args[0])),
            "unnamed" => s.name = None,
            "held" => s.facts = s.facts.clone().joined(Facts::from_lock(now, LockReading::Held)),
            "free" => s.facts = s.facts.clone().joined(Facts::from_lock(now, LockReading::NotListed)),
            // Whose process has it: `s:of RUN`, `s:of` nobody's.
            "of" => {
                let run = args.first().map(|r| RunId::parse(r).unwrap());
                s.facts = s.facts.clone().joined(Facts::from_run(read_at, run));
            }
            // What hooks tell: `call [N]`, `tool [NAME]`, `pause`, `stop [REASON | error WORDS]`, `seen`.
            "call" | "tool" | "pause" | "stop" | "seen" => {
                let kind = match (verb, args.as_slice()) {
                    ("call", n) => HookKind::Invocation { num: n.first().map(|n| n.parse().unwrap()) },
                    ("tool", name) => {
                        HookKind::Tool { name: name.first().map(|n| (*n).to_owned()), step: None }
                    }
                    ("pause", _) => HookKind::HeldStop,
                    ("seen", _) => HookKind::Seen,
                    (_, ["error", words @ ..]) => {
                        HookKind::Stop { error: Some(words.join(" ")), reason: String::new() }
                    }
                    (_, reason) => HookKind::Stop {
                        error: None,
                        reason: reason.first().map_or("NO_TOOL_CALL", |r| *r).to_owned(),
                    },
                };
                let id = EventId { ns: u64::try_from(now.micros() * 1_000).unwrap(), pid: nth as u32 };
                s.facts = s.facts.clone().joined(Facts::from_hook(HookEvent { at: now, id, kind }));
            }
            "write" => s.facts = s.facts.clone().joined(Facts::from_write(now)),
            _ => {
                match verb {
                    "prompt" => {
                        *view = DbView { turn: Some(step()), ..DbView::default() };
                        view.newest = Some(NewestStep::Other { step: step() });
                    }
                    "live" => {
                        view.live = Some(Live { step: step(), tool: tool(), detail: None });
                        view.newest = Some(NewestStep::Other { step: step() });
                    }
                    "done" | "failed" => {
                        view.live = None;
                        view.newest = Some(NewestStep::Other { step: step() });
                    }
                    "wait" => {
                        view.live = None;
                        view.waiting = Some(Waiting { step: step(), tool: tool(), detail: None });
                    }
                    "answered" => view.waiting = None,
                    "canceled" => {
                        view.newest = Some(NewestStep::Canceled { step: step() });
                        view.waiting = None;
                        if view.live.as_ref().is_some_and(|l| l.step.idx == step().idx) {
                            view.live = None;
                        }
                    }
                    "error" => {
                        let text = (args.len() > 1).then(|| args[1..].join(" "));
                        view.newest = Some(NewestStep::Error { step: step(), text });
                    }
                    "title" => view.aside = Some(now),
                    "end" => {
                        view.end = Some(TurnEnd {
                            at: Some(now),
                            last_step: step().idx,
                            reason: args.get(1).map_or(4, |r| r.parse().unwrap()),
                        });
                    }
                    _ => panic!("no verb: {verb}"),
                }
                s.facts = s
                    .facts
                    .clone()
                    .joined(Facts::from_db(read_at, view.clone()))
                    .joined(Facts::from_write(now));
            }
        }
    }
    world
}

pub(crate) fn show(v: &Verdict) -> String {
    let settled = if v.settled { "completed" } else { "active" };
    let outcome = match v.outcome {
        Outcome::None => "none",
        Outcome::InProgress => "in progress",
        Outcome::Finished => "finished",
        Outcome::Failed => "failed",
        Outcome::Canceled => "canceled",
        Outcome::Unfinished => "unfinished",
        Outcome::Quiet => "quiet",
    };
    format!("{} {settled}, {outcome}", v.state.name())
}

/// The session `s` at the end of `script`: `state active|completed, outcome`.
#[track_caller]
pub(crate) fn check(script: &str, expected: &str) {
    check_of("s", script, expected);
}

#[track_caller]
pub(crate) fn check_of(name: &str, script: &str, expected: &str) {
    assert_eq!(show(&run(script).verdict(name)), expected, "{name} after: {script}");
}

/// Since when, and when the clock alone will change it.
#[track_caller]
pub(crate) fn check_times(script: &str, expected: &str) {
    let v = run(script).verdict("s");
    let times = format!("since {}, until {}", show_time(v.since), show_time(v.next_change_at));
    assert_eq!(times, expected, "after: {script}");
}

/// The fact that decided, and after `<` those that it beat.
#[track_caller]
pub(crate) fn check_why(script: &str, expected: &[&str]) {
    let why = run(script).verdict("s").why;
    let shown: Vec<String> = std::iter::once(&why.decided)
        .chain(&why.beat)
        .map(|e| format!("{} {}: {}", show_time(e.at), e.fact.source().name(), e.fact))
        .collect();
    assert_eq!(shown, expected, "after: {script}");
}

fn show_lane(l: &Lane) -> String {
    let sessions: Vec<String> = l.sessions.iter().map(|s| name_of(&s.id)).collect();
    format!("{} {} [{}]", l.name, l.state.name(), sessions.join(" "))
}

/// The lanes of the board, worst first: `name state [active sessions]`.
#[track_caller]
pub(crate) fn check_board(script: &str, expected: &[&str]) {
    let lanes: Vec<String> = run(script).board().lanes.iter().map(show_lane).collect();
    assert_eq!(lanes, expected, "after: {script}");
}

#[test]
fn scripts_read_and_show_times() {
    for t in ["0s", "90s", "2m", "8h", "1h30m"] {
        assert_eq!(seconds(&show_time(Some(at(seconds(t))))), seconds(t));
    }
    assert_eq!(show_time(Some(at(5_405))), "1h30m5s");
    assert_eq!(name_of(&id("api")), "api");
    let w = run("0s held; 0s prompt 0");
    assert_eq!((w.sessions[0].facts.presence(), w.verdict("s").state), (Presence::Open, State::Running));
}
