//! What the tray shows, as plain values of a board and a time. It knows no desktop.

use agenthub_engine::view::{BoardLane, BoardView, State};
use jiff::Timestamp;

use crate::text;

/// The most lanes that the menu lists.
const LANES_MAX: usize = 12;
/// The soonest that a text is redrawn only because time passed.
const REDRAW_S: i64 = 60;
/// The latest: a computer that slept may have more time behind it than was waited for.
const LOOK_S: i64 = 300;

/// All that the tray shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrayView {
    pub(crate) picture: TrayPicture,
    pub(crate) tooltip: String,
    /// Lanes that need the person; shown beside the icon where the platform has a place for it.
    pub(crate) needing: u32,
    pub(crate) menu: Vec<MenuLine>,
}

/// The worst state on the board, as an icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrayPicture {
    Idle,
    Running,
    Waiting,
    Error,
    /// Notifications are muted, and nothing goes on that it would hide.
    Quiet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MenuLine {
    /// Disabled, first: what the tooltip says, for hosts that have none.
    Summary(String),
    Lane {
        id: String,
        text: String,
    },
    More,
    Separator,
    Open,
    /// Checked while notifications are muted.
    Mute(bool),
    Quit,
}

impl TrayView {
    pub(crate) fn of(board: &BoardView, muted: bool, now: Timestamp) -> TrayView {
        TrayView {
            picture: icon(board, muted),
            tooltip: summary(board),
            needing: board.summary.error + board.summary.waiting,
            menu: menu(board, muted, now),
        }
    }
}

pub(crate) fn icon(board: &BoardView, muted: bool) -> TrayPicture {
    match board.summary.worst {
        Some(State::Error) => TrayPicture::Error,
        Some(State::Waiting) => TrayPicture::Waiting,
        Some(State::Running) => TrayPicture::Running,
        Some(State::Idle) | None if muted => TrayPicture::Quiet,
        Some(State::Idle) | None => TrayPicture::Idle,
    }
}

pub(crate) fn menu(board: &BoardView, muted: bool, now: Timestamp) -> Vec<MenuLine> {
    let mut lines = vec![MenuLine::Summary(summary(board))];
    if !board.lanes.is_empty() {
        lines.push(MenuLine::Separator);
    }
    lines.extend(listed(board).map(|lane| MenuLine::Lane {
        id: lane.lane.id.clone(),
        text: text::lane_line(lane, age_s(lane, now)),
    }));
    if board.lanes.len() > LANES_MAX {
        lines.push(MenuLine::More);
    }
    lines.extend([MenuLine::Separator, MenuLine::Open, MenuLine::Mute(muted), MenuLine::Quit]);
    lines
}

/// In how many seconds the menu is to be looked at again because time passes; `None` while it shows no age.
pub(crate) fn redraw_in_s(board: &BoardView, now: Timestamp) -> Option<u64> {
    let soonest = listed(board).filter_map(|lane| age_s(lane, now)).map(text::age_changes_in_s).min()?;
    u64::try_from(soonest.clamp(REDRAW_S, LOOK_S)).ok()
}

fn summary(board: &BoardView) -> String {
    match (board.lanes.is_empty(), board.scan) {
        (false, _) => board.summary.line.clone(),
        (true, Some(_)) => text::READING.to_owned(),
        (true, None) => text::NO_LANES.to_owned(),
    }
}

/// The lanes that the menu lists: worst first, otherwise as the board has them.
fn listed(board: &BoardView) -> impl Iterator<Item = &BoardLane> {
    let mut lanes: Vec<&BoardLane> = board.lanes.iter().collect();
    lanes.sort_by_key(|lane| match lane.lane.state {
        State::Error => 0,
        State::Waiting => 1,
        State::Running => 2,
        State::Idle => 3,
    });
    lanes.into_iter().take(LANES_MAX)
}

fn age_s(lane: &BoardLane, now: Timestamp) -> Option<i64> {
    let since: Timestamp = lane.lane.since.as_deref()?.parse().ok()?;
    Some(now.duration_since(since).as_secs().max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{board, lane};
    use agenthub_engine::view::{Outcome, Scan};

    const NOW: &str = "2026-11-30T12:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// The menu as lines of text; a separator is `---`.
    fn drawn(board: &BoardView) -> Vec<String> {
        menu(board, false, now())
            .into_iter()
            .map(|line| match line {
                MenuLine::Summary(text) | MenuLine::Lane { text, .. } => text,
                MenuLine::More => text::MORE.into(),
                MenuLine::Separator => "---".into(),
                MenuLine::Open => text::OPEN.into(),
                MenuLine::Mute(_) => text::MUTE.into(),
                MenuLine::Quit => text::QUIT.into(),
            })
            .collect()
    }

    #[test]
    fn t2_the_menu_lists_lanes_worst_first_with_state_and_age() {
        let mut asks = lane("api-server", State::Waiting, "2026-11-30T11:57:46Z");
        asks.lane.waiting_for = Some("run_command".into());
        let mut broken = lane("old-run", State::Idle, "2026-11-30T11:29:00Z");
        broken.lane.outcome = Outcome::Unfinished;
        let mut gone = lane("dotfiles", State::Idle, "2026-11-28T11:29:00Z");
        gone.lane.sessions.clear();
        let b = board(vec![
            lane("site", State::Idle, "2026-11-30T11:48:00Z"),
            broken,
            gone,
            lane("atlas", State::Running, "2026-11-30T11:59:59Z"),
            asks,
            lane("payments", State::Error, "2026-11-30T09:54:00Z"),
        ]);
        assert_eq!(
            drawn(&b),
            [
                "1 failed · 1 waiting · 1 running",
                "---",
                "✕ payments — failed · 2 h",
                "◆ api-server — asks to run run_command · 2 min",
                "● atlas — running · now",
                "○ site — your turn · 12 min",
                "○ old-run — ended without finishing · 31 min",
                "○ dotfiles — idle · 2 d",
                "---",
                "Open AgentHub",
                "Mute notifications",
                "Quit",
            ]
        );
    }

    #[test]
    fn t2_an_empty_board_says_so_and_more_than_twelve_lanes_are_cut() {
        assert_eq!(
            drawn(&board(vec![])),
            ["No lanes yet", "---", "Open AgentHub", "Mute notifications", "Quit"]
        );
        let mut reading = board(vec![]);
        reading.scan = Some(Scan { done: 1, total: 9 });
        assert_eq!(drawn(&reading)[0], "Reading conversations…");

        let many = |n: usize| {
            board((0..n).map(|i| lane(&format!("lane-{i}"), State::Running, NOW)).collect::<Vec<_>>())
        };
        assert_eq!(drawn(&many(12)).len(), 12 + 6);
        assert!(!drawn(&many(12)).contains(&"More…".to_owned()));
        let thirteen = drawn(&many(13));
        assert_eq!(thirteen.len(), 12 + 7);
        assert_eq!(thirteen[14], "More…");
    }

    #[test]
    fn t1_the_icon_is_the_worst_state() {
        for (states, picture) in [
            (vec![], TrayPicture::Idle),
            (vec![State::Idle], TrayPicture::Idle),
            (vec![State::Idle, State::Running], TrayPicture::Running),
            (vec![State::Waiting, State::Running], TrayPicture::Waiting),
            (vec![State::Waiting, State::Error, State::Idle], TrayPicture::Error),
        ] {
            let b = board(states.iter().map(|s| lane("x", *s, NOW)).collect());
            assert_eq!(icon(&b, false), picture, "{states:?}");
            // Muting never hides a state.
            let muted = if picture == TrayPicture::Idle { TrayPicture::Quiet } else { picture };
            assert_eq!(icon(&b, true), muted, "{states:?}, muted");
        }
    }

    #[test]
    fn time_alone_redraws_at_most_once_a_minute_and_never_without_ages() {
        assert_eq!(redraw_in_s(&board(vec![]), now()), None);
        let mut ageless = lane("x", State::Idle, NOW);
        ageless.lane.since = None;
        assert_eq!(redraw_in_s(&board(vec![ageless]), now()), None);

        let young = lane("a", State::Running, "2026-11-30T11:59:01Z");
        let old = lane("b", State::Idle, "2026-11-30T09:30:00Z");
        assert_eq!(redraw_in_s(&board(vec![young, old.clone()]), now()), Some(60));
        assert_eq!(redraw_in_s(&board(vec![old]), now()), Some(300));
    }

    #[test]
    fn a_time_that_is_none_or_in_the_future_is_no_trouble() {
        let mut b = board(vec![lane("x", State::Running, "2026-11-30T12:00:09Z")]);
        assert_eq!(drawn(&b)[2], "● x — running · now");
        b.lanes[0].lane.since = Some("soon".into());
        assert_eq!(drawn(&b)[2], "● x — running");
    }
}
