//! What a person is to be told: that a turn ended, or that a lane waits for them (spec T3).
//!
//! Like states, notices are derived from facts and now. The one thing that is remembered is what was announced already:
//! so neither the order nor the repetition of facts, nor a restart, can announce anything twice.

mod rules;

use std::collections::{HashMap, HashSet};

use crate::{
    Fact, LaneId, Outcome, Run, RunId, Session, SessionId, State, Time, Verdict,
    board::{ancestors, lane_name, run_of},
};

pub use rules::{Held, QuietHours, Rules, TOGETHER_MS};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// A turn is over, and it is the person's turn.
    Ready,
    /// agy went away in the middle of a turn.
    Ended,
    Failed,
    /// A step asks its person something.
    Waiting,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 4] =
        [NoticeKind::Ready, NoticeKind::Ended, NoticeKind::Failed, NoticeKind::Waiting];

    pub const fn name(self) -> &'static str {
        match self {
            NoticeKind::Ready => "ready",
            NoticeKind::Ended => "ended",
            NoticeKind::Failed => "failed",
            NoticeKind::Waiting => "waiting",
        }
    }
}

/// One thing to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    pub lane: LaneId,
    pub lane_name: String,
    /// `None` for a run without a session, or with several.
    pub session: Option<SessionId>,
    pub session_name: Option<String>,
    /// The sessions whose calls were made for it.
    pub sessions: Vec<SessionId>,
    /// When it happened.
    pub at: Time,
    /// When its turn began.
    pub turn_at: Option<Time>,
    /// The tool that waits.
    pub tool: Option<String>,
    /// What it wants to do, or why the turn failed; one line.
    pub detail: Option<String>,
    /// The database has said how the turn ended, so that what it used is known.
    pub confirmed: bool,
}

impl Notice {
    /// How long the turn took; `None` for a wait, and where its beginning is not known.
    pub fn duration_ms(&self) -> Option<i64> {
        let turn_at = self.turn_at.filter(|_| self.kind != NoticeKind::Waiting)?;
        Some(self.at.ms_since(turn_at).max(0))
    }
}

/// Whose turns and waits are told: a session's, or a run's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub String);

impl Subject {
    pub fn session(id: &SessionId) -> Subject {
        Subject(id.to_string())
    }

    pub fn run(id: &RunId) -> Subject {
        Subject(LaneId::of_run(id).0)
    }
}

/// What was announced of a subject. It only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// Turns that began before this are done with: announced, or not to be.
    pub end: Option<Time>,
    /// The newest wait that is done with: its step's time, and the step.
    pub wait: Option<(Time, i64)>,
}

/// What one look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// To be told, oldest first.
    pub notices: Vec<Notice>,
    /// What is done with now; to be kept together with the notices, in one transaction.
    pub announced: Vec<(Subject, Announced)>,
    /// When the clock alone would find more.
    pub next_at: Option<Time>,
}

/// Looks at verdicts for what was not told yet.
#[derive(Clone, Debug)]
pub struct Announcer {
    /// Since when AgentHub runs: what happened before is not news (L10).
    since: Time,
    announced: HashMap<Subject, Announced>,
    /// Those that were looked at in this run.
    seen: HashSet<Subject>,
}

/// So long an end that one source told may wait for the other, ms (T3: at most half a second).
pub const GRACE_MS: i64 = 400;

impl Announcer {
    /// `announced` is what earlier runs have kept.
    pub fn new(since: Time, announced: HashMap<Subject, Announced>) -> Announcer {
        Announcer { since, announced, seen: HashSet::new() }
    }

    /// What is to be told now. It is found again until [`Announcer::done`] says that it was kept.
    pub fn look(&self, sessions: &[Session], verdicts: &[Verdict], runs: &[Run], now: Time) -> Look {
        let by_id: HashMap<&SessionId, &Session> = sessions.iter().map(|s| (&s.id, s)).collect();
        // The lane's turn is not over while a sub-agent works.
        let mut busy: HashSet<&SessionId> = HashSet::new();
        for (s, v) in sessions.iter().zip(verdicts) {
            if !v.settled && matches!(v.state, State::Running | State::Waiting) {
                busy.extend(ancestors(s, &by_id).map(|a| &a.id));
            }
        }
        let verdict_of: HashMap<&SessionId, &Verdict> =
            sessions.iter().map(|s| &s.id).zip(verdicts).collect();
        let mut look = Look::default();
        let mut of_runs: HashMap<&RunId, Vec<&Session>> = HashMap::new();
        for (s, v) in sessions.iter().zip(verdicts) {
            let root = ancestors(s, &by_id).last().unwrap_or(s);
            let run = run_of(root, verdict_of.get(&root.id).and_then(|v| v.turn_at), runs);
            if let Some(run) = run {
                of_runs.entry(&run.id).or_default().push(s);
            }
            let subject = Subject::session(&s.id);
            let eye = Eye { s, v, root, run, since: self.since, first: !self.seen.contains(&subject) };
            self.note(&mut look, subject, |done, look| {
                look.notices.extend(eye.wait(done));
                // How a sub-agent ends is its parent's matter.
                if s.parent.is_none() && !busy.contains(&s.id) { eye.end(done, now) } else { None }
            });
        }
        for run in runs {
            let subject = Subject::run(&run.id);
            let first = !self.seen.contains(&subject);
            let members = of_runs.get(&run.id).map_or(&[][..], Vec::as_slice);
            self.note(&mut look, subject, |done, _| end_of_run(run, members, self.since, first, done, now));
        }
        look.notices.sort_by(|a, b| (a.at, &a.lane, &a.session).cmp(&(b.at, &b.lane, &b.session)));
        look
    }

    /// Looks at one subject, and notes what is done with afterwards.
    fn note(
        &self,
        look: &mut Look,
        subject: Subject,
        at: impl FnOnce(&mut Announced, &mut Look) -> Option<Due>,
    ) {
        let before = self.announced.get(&subject).copied().unwrap_or_default();
        let mut after = before;
        match at(&mut after, look) {
            Some(Due::Now(notice)) => look.notices.push(*notice),
            Some(Due::At(t)) => look.next_at = Some(look.next_at.map_or(t, |n| n.min(t))),
            None => {}
        }
        if after != before {
            look.announced.push((subject, after));
        }
    }

    /// What a look at these found is told and kept.
    pub fn done(&mut self, sessions: &[Session], runs: &[Run], look: &Look) {
        self.seen.extend(sessions.iter().map(|s| Subject::session(&s.id)));
        self.seen.extend(runs.iter().map(|r| Subject::run(&r.id)));
        self.announced.extend(look.announced.iter().cloned());
    }
}

/// The end of a run, which ends once. Its sessions' ends are not told: the run decides when its lane's turn is over (L5.1).
fn end_of_run(
    run: &Run,
    members: &[&Session],
    since: Time,
    first: bool,
    done: &mut Announced,
    now: Time,
) -> Option<Due> {
    let v = run.verdict();
    let kind = match v.outcome {
        Outcome::Finished => NoticeKind::Ready,
        Outcome::Failed => NoticeKind::Failed,
        Outcome::Unfinished => NoticeKind::Ended,
        Outcome::Quiet | Outcome::Canceled | Outcome::None | Outcome::InProgress => return None,
    };
    let at = v.since.filter(|_| done.end.is_none())?;
    // That nobody told of its end is only known from when it was missed.
    let old = at < since || (kind == NoticeKind::Ended && first && run.facts.started < Some(since));
    let read = members.iter().all(|s| s.facts.db.at() >= Some(at));
    let due = at.plus_ms(GRACE_MS);
    if !old && !read && due > now {
        return Some(Due::At(due));
    }
    done.end = Some(at);
    if old {
        return None;
    }
    let mut roots = members.iter().filter(|s| s.parent.is_none());
    let session = roots.next().filter(|_| roots.next().is_none());
    Some(Due::Now(Box::new(Notice {
        kind,
        lane: LaneId::of_run(&run.id),
        lane_name: run.name.clone(),
        session: session.map(|s| s.id.clone()),
        session_name: session.and_then(|s| s.name.clone()),
        sessions: members.iter().map(|s| s.id.clone()).collect(),
        at,
        turn_at: run.facts.started,
        tool: None,
        detail: (kind == NoticeKind::Failed).then(|| v.why.fact.to_string()),
        confirmed: true,
    })))
}

enum Due {
    Now(Box<Notice>),
    At(Time),
}

/// One session, looked at.
struct Eye<'a> {
    s: &'a Session,
    v: &'a Verdict,
    root: &'a Session,
    /// The run that its lane is of.
    run: Option<&'a Run>,
    since: Time,
    /// It was never looked at before in this run.
    first: bool,
}

impl Eye<'_> {
    /// A wait is told at once: a person holds up the work. Also one of a sub-agent, for its lane waits.
    fn wait(&self, done: &mut Announced) -> Option<Notice> {
        let v = self.v;
        let w = v.waiting.as_ref().filter(|_| v.state == State::Waiting && !v.settled)?;
        let key = (w.step.at.or(v.turn_at).unwrap_or(Time::from_micros(0)), w.step.idx);
        if Some(key) <= done.wait {
            return None;
        }
        done.wait = Some(key);
        // A session that was there before us may have waited before us.
        if self.first && key.0 < self.since {
            return None;
        }
        Some(self.notice(NoticeKind::Waiting, key.0, w.tool.clone(), w.detail.clone()))
    }

    fn end(&self, done: &mut Announced, now: Time) -> Option<Due> {
        let v = self.v;
        let kind = match v.outcome {
            Outcome::Finished => NoticeKind::Ready,
            Outcome::Failed => NoticeKind::Failed,
            Outcome::Unfinished => NoticeKind::Ended,
            // Nothing says that a quiet turn is over, and whoever canceled one knows. It may go on after all: not done with.
            Outcome::Quiet | Outcome::Canceled | Outcome::None | Outcome::InProgress => return None,
        };
        let at = v.why.decided.at.or(v.last_activity)?;
        if done.end >= Some(v.turn_at.unwrap_or(at)) {
            return None;
        }
        // When agy went is only known from when it was missed: a turn that was there before us may have ended before us.
        let old =
            at < self.since || (kind == NoticeKind::Ended && self.first && v.turn_at < Some(self.since));
        if !old && !self.is_settled(kind, at) {
            let due = at.plus_ms(GRACE_MS);
            if due > now {
                return Some(Due::At(due));
            }
        }
        done.end = Some(at).max(v.turn_at).max(done.end);
        if old || self.run.is_some() {
            return None;
        }
        let detail = match kind {
            NoticeKind::Failed => v.error.as_ref().and_then(|(_, text)| text.clone()),
            _ => None,
        };
        Some(Due::Now(Box::new(self.notice(kind, at, None, detail))))
    }

    /// Whether there is nobody left who could say something else of this end.
    fn is_settled(&self, kind: NoticeKind, at: Time) -> bool {
        if kind == NoticeKind::Ended {
            return self.s.facts.db.at() >= Some(at);
        }
        let by_hook = |f: &Fact| matches!(f, Fact::HookEnded { .. } | Fact::HookFailed { .. });
        // The row of an execution is there before the Stop which says that work goes on in the background.
        self.is_known_to_database() && (self.s.facts.hooks.is_empty() || self.says(by_hook))
    }

    fn is_known_to_database(&self) -> bool {
        self.says(|f| {
            matches!(f, Fact::TurnEnded { .. } | Fact::TurnFailed { .. } | Fact::ErrorMessage { .. })
        })
    }

    fn says(&self, fact: impl Fn(&Fact) -> bool) -> bool {
        let why = &self.v.why;
        std::iter::once(&why.decided).chain(&why.beat).any(|e| fact(&e.fact))
    }

    fn notice(&self, kind: NoticeKind, at: Time, tool: Option<String>, detail: Option<String>) -> Notice {
        let Eye { s, v, root, .. } = *self;
        let (lane, name) = match self.run {
            Some(run) => (LaneId::of_run(&run.id), run.name.clone()),
            None => (LaneId::of(root), lane_name(root.cwd.as_deref(), root.name.as_deref(), &root.id)),
        };
        Notice {
            kind,
            lane,
            lane_name: name,
            sessions: vec![s.id.clone()],
            session: Some(s.id.clone()),
            session_name: s.name.clone(),
            at,
            turn_at: v.turn_at,
            tool,
            detail,
            confirmed: kind == NoticeKind::Ended || self.is_known_to_database(),
        }
    }
}
