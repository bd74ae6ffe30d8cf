//! The board: sessions grouped into the lanes that a person watches, each with the worst state of its active sessions.

use std::collections::{BTreeMap, HashMap};

use crate::{
    Evidence, Fact, Outcome, Presence, Run, RunId, Session, SessionId, State, Time, Tool, Verdict, Waiting,
    Why, Windows,
    derive::{Above, derive_under},
    fact::Live,
};

/// A lane's stable name: the tool and its folder, the one session that has no folder, or the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub String);

impl LaneId {
    pub fn of(session: &Session) -> LaneId {
        LaneId::of_parts(session.tool.name(), session.cwd.as_deref(), session.id.as_str())
    }

    /// The same from a session's tool, folder and id.
    pub fn of_parts(tool: &str, cwd: Option<&str>, id: &str) -> LaneId {
        match cwd {
            Some(cwd) => LaneId(format!("{tool}:{cwd}")),
            None => LaneId(format!("{tool}#{id}")),
        }
    }

    pub fn of_run(id: &RunId) -> LaneId {
        LaneId(format!("run:{id}"))
    }
}

/// What the person said that bears on states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// When each lane's error was dismissed.
    pub dismissed: HashMap<LaneId, Time>,
    /// Errors before this are history: they were there before AgentHub was, so nobody was told of them (L10).
    pub errors_since: Option<Time>,
}

/// A session as its lane shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardSession {
    pub id: SessionId,
    pub name: Option<String>,
    pub cwd: Option<String>,
    pub parent: Option<SessionId>,
    pub started_at: Option<Time>,
    pub verdict: Verdict,
}

/// One tool in one folder, or one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub id: LaneId,
    pub run: Option<RunId>,
    pub tool: Tool,
    pub name: String,
    pub cwd: Option<String>,
    pub state: State,
    pub since: Option<Time>,
    pub waiting: Option<Waiting>,
    /// The step at work in the deciding session.
    pub doing: Option<Live>,
    /// The text of the error that stands on the lane.
    pub error: Option<String>,
    /// How the turn of the session that decides the lane stands.
    pub outcome: Outcome,
    pub why: Why,
    pub last_activity: Option<Time>,
    /// Its active sessions, sub-agents included: the deciding one first, then by when their states began.
    pub sessions: Vec<BoardSession>,
}

/// All lanes that stand on the board, worst first, then by when that began, newest first; and when the clock alone would change it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    pub lanes: Vec<Lane>,
    pub next_change_at: Option<Time>,
}

impl Board {
    /// The worst state of all lanes: what the tray shows. `None` on an empty board.
    pub fn worst(&self) -> Option<State> {
        self.lanes.iter().map(|l| l.state).max()
    }

    /// How many lanes are in `state`.
    pub fn count(&self, state: State) -> usize {
        self.lanes.iter().filter(|l| l.state == state).count()
    }
}

/// Derives the whole board. `sessions` and `runs` may come in any order.
pub fn board(sessions: &[Session], runs: &[Run], person: &Person, now: Time, windows: &Windows) -> Board {
    board_of(sessions, &verdicts(sessions, runs, now, windows), runs, person, now, windows)
}

/// The same, where the [`verdicts`] of these sessions are there already.
pub fn board_of(
    sessions: &[Session],
    verdicts: &[Verdict],
    runs: &[Run],
    person: &Person,
    now: Time,
    windows: &Windows,
) -> Board {
    let mut lanes: BTreeMap<LaneId, (Option<&Run>, Members<'_>)> =
        runs.iter().map(|r| (LaneId::of_run(&r.id), (Some(r), Vec::new()))).collect();
    for ((s, v), id) in sessions.iter().zip(verdicts).zip(lanes_of(sessions, verdicts, runs)) {
        lanes.entry(id).or_default().1.push((s, v));
    }
    let mut board = Board::default();
    let mut next = |t: Option<Time>| board.next_change_at = earliest(board.next_change_at, t);
    let mut shown = Vec::new();
    for (id, (run, members)) in lanes {
        for (_, v) in &members {
            next(v.next_change_at);
        }
        let lane = match run {
            Some(run) => Some(run_lane(id, run, members, person)),
            None => lane(id, members, person),
        };
        let Some(lane) = lane else { continue };
        let leaves_at = lane.last_activity.map(|t| t.plus_ms(windows.board_ms));
        let recent = leaves_at.is_some_and(|t| t > now);
        if lane.sessions.is_empty() && lane.state == State::Idle {
            if !recent {
                continue;
            }
            next(leaves_at);
        }
        shown.push(lane);
    }
    // By when a state began, not by what was written last: lanes that write by turns must not change places with every word.
    shown.sort_by(|a, b| b.state.cmp(&a.state).then(b.since.cmp(&a.since)).then(a.id.cmp(&b.id)));
    board.lanes = shown;
    board
}

/// The lanes that sessions stand in, in their order, by their [`verdicts`]: a sub-agent stands where what started it does.
pub fn lanes_of(sessions: &[Session], verdicts: &[Verdict], runs: &[Run]) -> Vec<LaneId> {
    let by_id: HashMap<&SessionId, &Session> = sessions.iter().map(|s| (&s.id, s)).collect();
    let verdict_of: HashMap<&SessionId, &Verdict> = sessions.iter().map(|s| &s.id).zip(verdicts).collect();
    let lane = |s| {
        let root = ancestors(s, &by_id).last().unwrap_or(s);
        let run = run_of(root, verdict_of.get(&root.id).and_then(|v| v.turn_at), runs);
        run.map_or_else(|| LaneId::of(root), |r| LaneId::of_run(&r.id))
    };
    sessions.iter().map(lane).collect()
}

/// The verdicts of all sessions, in their order: a session is not quiet while its sub-agents work, and they go with it
/// when it goes (L6). So they settle with their parent, whether it went or fell silent, unless they live on their own.
pub fn verdicts(sessions: &[Session], runs: &[Run], now: Time, windows: &Windows) -> Vec<Verdict> {
    let by_id: HashMap<&SessionId, &Session> = sessions.iter().map(|s| (&s.id, s)).collect();
    let mut childrens: HashMap<&SessionId, Time> = HashMap::new();
    for s in sessions {
        let Some(active) = s.facts.activity() else { continue };
        for a in ancestors(s, &by_id) {
            let newest = childrens.entry(&a.id).or_insert(active);
            *newest = (*newest).max(active);
        }
    }
    sessions
        .iter()
        .map(|s| {
            let above = above(s, &by_id, runs);
            derive_under(&s.facts, above, childrens.get(&s.id).copied(), now, windows)
        })
        .collect()
}

/// A session whose own lock says nothing lives in its parent's agy, and in its run's: it is there while the parent's is,
/// and gone when that is.
fn above<'a>(s: &'a Session, by_id: &'a HashMap<&'a SessionId, &'a Session>, runs: &[Run]) -> Above {
    if s.facts.presence() != Presence::Unknown {
        return Above::Unknown;
    }
    if let Some(host) = ancestors(s, by_id).find(|a| a.facts.presence() != Presence::Unknown) {
        let at = host.facts.lock.at();
        return match host.facts.presence() {
            Presence::Gone => Above::Gone(Evidence { fact: Fact::ParentSettled, at }),
            _ => Above::Open(Evidence { fact: Fact::ParentOpen, at }),
        };
    }
    let root = ancestors(s, by_id).last().unwrap_or(s);
    let over = run_of(root, None, runs).and_then(|run| Some((run, run.facts.over()?)));
    match over {
        // What was written after the run was over came from another agy.
        Some((run, over)) if s.facts.activity().is_none_or(|t| t <= over.plus_ms(LAST_WORDS_MS)) => {
            Above::Gone(run.verdict().why)
        }
        _ => Above::Unknown,
    }
}

/// A write that is this much later than the end of its run is still the run's: file times and clocks are not that exact.
const LAST_WORDS_MS: i64 = 2_000;

/// The chain of parents, nearest first. Bounded: a hostile chain may be a circle.
pub(crate) fn ancestors<'a>(
    s: &'a Session,
    by_id: &'a HashMap<&'a SessionId, &'a Session>,
) -> impl Iterator<Item = &'a Session> {
    std::iter::successors(s.parent.as_ref().and_then(|p| by_id.get(p)).copied(), move |a| {
        a.parent.as_ref().and_then(|p| by_id.get(p)).copied()
    })
    .take_while(move |a| a.id != s.id)
    .take(16)
}

/// Sessions with their verdicts.
type Members<'a> = Vec<(&'a Session, &'a Verdict)>;

/// The run that a session belongs to, its newest turn having begun at `turn_at` (L8). A turn that began after the run was
/// over is none of the run's: somebody took the session up again.
pub(crate) fn run_of<'a>(s: &Session, turn_at: Option<Time>, runs: &'a [Run]) -> Option<&'a Run> {
    let id = s.facts.run.get()?.as_ref()?;
    let run = runs.iter().find(|r| r.id == *id)?;
    let later = run.facts.over().is_some_and(|over| turn_at > Some(over));
    (!later).then_some(run)
}

/// A run's lane: the run decides when it begins and ends, and a wait of its sessions shows on top (L5.1).
fn run_lane(id: LaneId, run: &Run, mut members: Members<'_>, person: &Person) -> Lane {
    let verdict = run.verdict();
    let rank = |v: &Verdict| match v.state {
        State::Waiting => 0,
        State::Running => 1,
        State::Error | State::Idle => 2,
    };
    members.sort_by(|(a, av), (b, bv)| {
        (av.settled.cmp(&bv.settled))
            .then(rank(av).cmp(&rank(bv)))
            .then(a.parent.is_some().cmp(&b.parent.is_some()))
            .then(bv.since.cmp(&av.since))
            .then(bv.last_activity.cmp(&av.last_activity))
            .then(a.id.cmp(&b.id))
    });
    let first = members.first().map(|(_, v)| *v);
    let waiting = members.iter().map(|(_, v)| *v).find(|v| !v.settled && v.state == State::Waiting);
    let seen = person.dismissed.get(&id).is_some_and(|d| verdict.since <= Some(*d))
        || verdict.since < person.errors_since;
    let (state, outcome, since, decided) = match waiting {
        Some(v) => (State::Waiting, v.outcome, v.since, v.why.decided.clone()),
        None if verdict.state == State::Error && seen => {
            (State::Idle, verdict.outcome, verdict.since, verdict.why.clone())
        }
        None => (verdict.state, verdict.outcome, verdict.since, verdict.why.clone()),
    };
    let mut beat: Vec<Evidence> = waiting.map(|_| verdict.why.clone()).into_iter().collect();
    if let Some(why) = waiting.or(first).map(|v| &v.why) {
        beat.extend(waiting.is_none().then(|| why.decided.clone()));
        beat.extend(why.beat.iter().cloned());
    }
    let root = members.iter().map(|(s, _)| *s).find(|s| s.parent.is_none());
    let activity = members.iter().filter_map(|(_, v)| v.last_activity).max();
    let doing = first.filter(|v| !v.settled && state == State::Running).and_then(|v| v.doing.clone());
    Lane {
        run: Some(run.id.clone()),
        tool: root.map_or(run.tool, |s| s.tool),
        name: run.name.clone(),
        cwd: run.cwd.clone(),
        state,
        since,
        waiting: waiting.and_then(|v| v.waiting.clone()),
        doing,
        error: (state == State::Error).then(|| verdict.why.fact.to_string()),
        outcome,
        why: Why { decided, beat },
        last_activity: run.facts.activity().max(activity),
        sessions: active(&members),
        id,
    }
}

/// The sessions of a lane that are not settled.
fn active(members: &Members<'_>) -> Vec<BoardSession> {
    members
        .iter()
        .filter(|(_, v)| !v.settled)
        .map(|(s, v)| BoardSession {
            id: s.id.clone(),
            name: s.name.clone(),
            cwd: s.cwd.clone(),
            parent: s.parent.clone(),
            started_at: s.started_at,
            verdict: (*v).clone(),
        })
        .collect()
}

/// A lane of its sessions; `None` when there is none.
fn lane(id: LaneId, mut members: Members<'_>, person: &Person) -> Option<Lane> {
    let turn_at = members.iter().filter(|(s, _)| s.parent.is_none()).filter_map(|(_, v)| v.turn_at).max();
    let dismissed = person.dismissed.get(&id).copied();
    let stands = |s: &Session, v: &Verdict| {
        s.parent.is_none()
            && v.error.as_ref().is_some_and(|(at, _)| {
                let at = at.or(v.last_activity);
                at >= turn_at && dismissed.is_none_or(|d| at > Some(d)) && at >= person.errors_since
            })
    };
    // What a member gives its lane: a sub-agent only running and waiting, a settled session only its error.
    let gives = |s: &Session, v: &Verdict| match v.state {
        State::Error if stands(s, v) => State::Error,
        State::Error => State::Idle,
        _ if v.settled => State::Idle,
        state => state,
    };
    members.sort_by(|(a, av), (b, bv)| {
        gives(b, bv)
            .cmp(&gives(a, av))
            .then(av.settled.cmp(&bv.settled))
            .then(a.parent.is_some().cmp(&b.parent.is_some()))
            .then(bv.since.cmp(&av.since))
            .then(bv.last_activity.cmp(&av.last_activity))
            .then(a.id.cmp(&b.id))
    });
    let (first, v) = *members.first()?;
    let root = members.iter().map(|(s, _)| *s).find(|s| s.parent.is_none()).unwrap_or(first);
    let state = gives(first, v);
    Some(Lane {
        run: None,
        name: lane_name(root.cwd.as_deref(), root.name.as_deref(), &root.id),
        tool: root.tool,
        cwd: root.cwd.clone(),
        state,
        since: v.since,
        waiting: v.waiting.clone(),
        doing: v.doing.clone(),
        error: if state == State::Error { v.error.as_ref().and_then(|(_, text)| text.clone()) } else { None },
        outcome: v.outcome,
        why: v.why.clone(),
        last_activity: members.iter().filter_map(|(_, v)| v.last_activity).max(),
        sessions: active(&members),
        id,
    })
}

/// What a lane is called: its folder's own name, else the session's, else the start of its id.
pub fn lane_name(cwd: Option<&str>, name: Option<&str>, id: &SessionId) -> String {
    match (cwd.and_then(folder_name), name) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => id.as_str().chars().take(8).collect(),
    }
}

/// The last part of a path of either kind of system; `None` for a root.
pub fn folder_name(path: &str) -> Option<&str> {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
