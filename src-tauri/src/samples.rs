//! Hand-made boards for unit tests.

use agenthub_engine::view::{BoardLane, BoardView, Evidence, Lane, Outcome, State, Summary, Why};

pub(crate) fn lane(name: &str, state: State, since: &str) -> BoardLane {
    BoardLane {
        lane: Lane {
            id: format!("antigravity:/work/{name}"),
            tool: "antigravity".into(),
            name: name.into(),
            cwd: Some(format!("/work/{name}")),
            run_id: None,
            state,
            outcome: Outcome::Finished,
            since: Some(since.into()),
            waiting_for: None,
            why: Why {
                decided: Evidence { fact: "made up".into(), source: "database".into(), at: None },
                beat: vec![],
            },
            sessions: vec!["18ee78b4-0000-4000-8000-000000000000".into()],
            tokens_today: None,
            cost_usd_today: None,
            tokens_unpriced_today: 0,
        },
        folder: Some(format!("/work/{name}")),
        last_activity_at: Some(since.into()),
        detail: None,
        detail_tool: None,
        members: vec![],
    }
}

pub(crate) fn board(lanes: Vec<BoardLane>) -> BoardView {
    let count = |state| u32::try_from(lanes.iter().filter(|l| l.lane.state == state).count()).unwrap();
    let (error, waiting) = (count(State::Error), count(State::Waiting));
    let (running, idle) = (count(State::Running), count(State::Idle));
    let parts = [
        (error, State::Error, "failed"),
        (waiting, State::Waiting, "waiting"),
        (running, State::Running, "running"),
    ];
    let shown: Vec<String> = parts.iter().filter(|p| p.0 > 0).map(|p| format!("{} {}", p.0, p.2)).collect();
    let worst = parts.iter().find(|p| p.0 > 0).map(|p| p.1).or((idle > 0).then_some(State::Idle));
    BoardView {
        revision: 1,
        as_of: "2026-11-30T12:00:00.000Z".into(),
        summary: Summary { error, waiting, running, idle, line: shown.join(" · "), worst },
        lanes,
        scan: None,
        sessions_total: 0,
        problems_total: 0,
        notes: vec![],
        agy_version: None,
        gemini_dir: "~/.gemini".into(),
    }
}
