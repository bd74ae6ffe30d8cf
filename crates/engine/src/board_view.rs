//! The board as the tray, the window and `watch` show it.

use std::collections::{BTreeMap, HashMap};

use agenthub_core::{Board, BoardSession, Fact, Lane, SessionId, State, Verdict};
use agenthub_store as store;

use crate::{convert, view};

/// What the board view says beside the board.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Header {
    pub(crate) scan: Option<view::Scan>,
    pub(crate) sessions_total: u32,
    pub(crate) problems_total: u32,
    pub(crate) notes: Vec<view::HostNote>,
    pub(crate) agy_version: Option<String>,
    pub(crate) gemini_dir: String,
}

/// What the sessions and lanes on the board used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) sessions: HashMap<SessionId, Used>,
    /// Sums of lanes, since the start of the day.
    pub(crate) today: BTreeMap<String, store::Sum>,
}

/// What a session used, and of which model; `None`: not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) model: Option<String>,
    pub(crate) model_label: Option<String>,
    pub(crate) sum: store::Sum,
}

pub(crate) fn board_view(board: &Board, header: &Header, usage: &Usage) -> view::BoardView {
    view::BoardView {
        revision: 0,
        as_of: String::new(),
        summary: summary(board),
        lanes: board.lanes.iter().map(|l| lane_view(l, usage)).collect(),
        scan: header.scan,
        sessions_total: header.sessions_total,
        problems_total: header.problems_total,
        notes: header.notes.clone(),
        agy_version: header.agy_version.clone(),
        gemini_dir: header.gemini_dir.clone(),
    }
}

fn summary(board: &Board) -> view::Summary {
    let n = |s| u32::try_from(board.count(s)).unwrap_or(u32::MAX);
    let counts = [
        (n(State::Error), "failed"),
        (n(State::Waiting), "waiting"),
        (n(State::Running), "running"),
        (n(State::Idle), "idle"),
    ];
    let words: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    view::Summary {
        error: counts[0].0,
        waiting: counts[1].0,
        running: counts[2].0,
        idle: counts[3].0,
        line: if words.is_empty() { "No lanes".to_owned() } else { words.join(" · ") },
        worst: board.worst().map(convert::state),
    }
}

fn lane_view(lane: &Lane, usage: &Usage) -> view::BoardLane {
    let first = lane.sessions.first();
    let today = usage.today.get(&lane.id.0);
    let (detail, detail_tool) = match lane.state {
        State::Error => (lane.error.clone(), None),
        State::Waiting => {
            let w = lane.waiting.as_ref();
            (w.and_then(|w| w.detail.clone()), w.and_then(|w| w.tool.clone()))
        }
        State::Running => match &lane.doing {
            Some(d) => (d.detail.clone(), d.tool.clone()),
            None => (first.and_then(|s| s.name.clone()), None),
        },
        State::Idle => (first.and_then(|s| s.name.clone()), None),
    };
    view::BoardLane {
        lane: view::Lane {
            id: lane.id.0.clone(),
            tool: lane.tool.name().to_owned(),
            name: lane.name.clone(),
            cwd: lane.cwd.clone(),
            run_id: lane.run.as_ref().map(ToString::to_string),
            state: convert::state(lane.state),
            outcome: convert::outcome(lane.outcome),
            since: convert::time(lane.since),
            waiting_for: lane.waiting.as_ref().and_then(|w| w.tool.clone()),
            why: why(lane),
            sessions: lane.sessions.iter().map(|s| s.id.to_string()).collect(),
            tokens_today: today.filter(|s| s.calls > 0).and_then(convert::known_tokens),
            cost_usd_today: today.and_then(convert::cost),
            tokens_unpriced_today: today.map_or(0, |s| s.cost.unpriced_tokens),
        },
        last_activity_at: convert::time(lane.last_activity),
        folder: lane.cwd.as_deref().map(|c| convert::for_people(c.as_ref())),
        detail,
        detail_tool,
        members: lane.sessions.iter().map(|s| member(s, usage)).collect(),
    }
}

/// A lane's why. Where a sub-agent decides, its steps are its own: it is named.
fn why(lane: &Lane) -> view::Why {
    let mut why = convert::why(&lane.why);
    if let Some(s) = lane.sessions.first().filter(|s| s.parent.is_some() && s.verdict.why == lane.why) {
        let name = name_or_id(s.name.as_deref(), &s.id);
        for e in std::iter::once(&mut why.decided).chain(&mut why.beat) {
            e.fact = format!("Sub-agent “{name}”: {}", e.fact);
        }
    }
    why
}

fn member(s: &BoardSession, usage: &Usage) -> view::BoardSession {
    let Used { model, model_label, sum } = usage.sessions.get(&s.id).cloned().unwrap_or_default();
    view::BoardSession {
        id: s.id.to_string(),
        name: name_or_id(s.name.as_deref(), &s.id),
        parent_id: s.parent.as_ref().map(ToString::to_string),
        state: convert::state(s.verdict.state),
        since: convert::time(s.verdict.since),
        outcome: convert::outcome(s.verdict.outcome),
        why: convert::why(&s.verdict.why),
        model,
        model_label,
        tokens_total: convert::known_tokens(&sum).filter(|_| sum.calls > 0).map(|t| t.total),
        cost_usd: convert::cost(&sum),
    }
}

pub(crate) fn name_or_id(name: Option<&str>, id: &SessionId) -> String {
    name.map_or_else(|| id.as_str().chars().take(8).collect(), str::to_owned)
}

/// The state of a session that the engine follows, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct LiveState {
    pub(crate) state: view::State,
    pub(crate) settled: bool,
    pub(crate) outcome: view::Outcome,
    pub(crate) since: Option<view::Rfc3339>,
    pub(crate) why: view::Why,
    /// It is held by work in the background.
    #[serde(default)]
    pub(crate) held: bool,
}

impl LiveState {
    pub(crate) fn of(v: &Verdict) -> LiveState {
        LiveState {
            state: convert::state(v.state),
            settled: v.settled,
            outcome: convert::outcome(v.outcome),
            since: convert::time(v.since),
            why: convert::why(&v.why),
            held: v.why.decided.fact == Fact::HookHeld,
        }
    }
}
