//! What a session did in a stretch of time, for its line on the board: when its turns went on, its tools ran, it waited
//! for its person, and where it broke. Only the newest steps are read, backwards, and only their metadata: the course
//! in full is [`timeline`](crate::timeline::timeline)'s matter.

use agenthub_core::{SessionId, Time};
use rusqlite::Connection;

use crate::{
    Entry, Home, ReadError,
    calls::Calls,
    open, read, rows,
    tally::Step,
    view::Execution,
    wire::{self, PayloadMeta, StepDetail, status, step_type},
};

/// Steps that are looked at in one read, the newest ones.
const MOST_STEPS: usize = 20_000;
/// Steps are written in the order in which they begin, but for a few that run side by side or wait in a queue. So many
/// in a row from before the stretch mean that nothing in it is left.
const ALL_OLDER: usize = 16;

/// What went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// From a prompt to the last that agy did for it.
    Turn,
    Tool,
    /// agy asked its person and got no answer yet.
    Wait,
    /// The turn broke here.
    Error,
    /// Inside a turn, between two executions: agy was held by work in the background.
    Held,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub from: Time,
    /// `None`: as far as the file tells, it goes on.
    pub to: Option<Time>,
    pub kind: SpanKind,
}

/// The spans of one session, by their beginnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    pub spans: Vec<Span>,
    /// More steps than are looked at stand in the stretch; the oldest are left out.
    pub cut: bool,
}

/// Reads what touches the time from `since` on. A turn that began earlier is told whole.
///
/// # Errors
/// When the file can't be read.
pub fn track(home: &Home, entry: &Entry, since: Time) -> Result<Track, ReadError> {
    read::still(home, entry, open::Extent::Part, |at| tell(&at.opened.conn, &entry.id, since))
}

/// A step, and what its metadata tells beside.
struct Looked {
    step: Step,
    /// From when to when it waited; the last wait may go on.
    waits: Vec<(Time, Option<Time>)>,
    began: Option<Time>,
}

impl Looked {
    fn end(&self) -> Option<Time> {
        self.step.completed.or(self.step.created)
    }
}

fn tell(db: &Connection, id: &SessionId, since: Time) -> rusqlite::Result<Track> {
    let (steps, cut) = newest(db, id, since)?;
    let executions = executions(db, steps.first().map_or(0, |s| s.step.idx))?;
    let mut spans = Vec::new();
    for turn in turns(&steps) {
        tell_turn(&turn, &executions, &mut spans);
    }
    spans.retain(|s| s.to.is_none_or(|to| to >= since));
    spans.sort_unstable();
    Ok(Track { spans, cut })
}

/// The steps of each turn. A message that was queued stands among the steps of the turn before its own: what began before
/// agy took it up belongs there.
fn turns(steps: &[Looked]) -> Vec<Vec<&Looked>> {
    let mut turns: Vec<Vec<&Looked>> = Vec::new();
    let mut began = None;
    for s in steps {
        if s.step.starts_turn || turns.is_empty() {
            began = s.step.turn_at;
            turns.push(vec![s]);
            continue;
        }
        let before = turns.len() > 1 && s.step.created.is_some() && s.step.created < began;
        let at = turns.len().saturating_sub(if before { 2 } else { 1 });
        if let Some(turn) = turns.get_mut(at) {
            turn.push(s);
        }
    }
    turns
}

/// The steps from `since` on with the whole turn that they begin in, in agy's order, and whether there are too many.
fn newest(db: &Connection, id: &SessionId, since: Time) -> rusqlite::Result<(Vec<Looked>, bool)> {
    let sql = format!("SELECT {} FROM steps ORDER BY idx DESC", rows::STEP_COLUMNS);
    let mut all = db.prepare(&sql)?;
    let mut rows = all.query([])?;
    let (mut steps, mut older, mut cut) = (Vec::new(), 0, false);
    while let Some(r) = rows.next()? {
        if steps.len() >= MOST_STEPS {
            cut = true;
            break;
        }
        let looked = look(r, id)?;
        let is_older = looked.end().is_some_and(|t| t < since);
        older = if is_older { older + 1 } else { 0 };
        let starts_turn = looked.step.starts_turn;
        steps.push(looked);
        if older >= ALL_OLDER || (is_older && starts_turn) {
            break;
        }
    }
    drop(rows);
    steps.reverse();
    // Inside a long turn its beginning is found by agy's own index on types.
    if let Some(first) = steps.first().filter(|s| !s.step.starts_turn) {
        let sql = format!(
            "SELECT {} FROM steps WHERE step_type = 14 AND status NOT IN (4, 5, 11) AND idx < ?1 ORDER BY idx DESC LIMIT 8",
            rows::STEP_COLUMNS
        );
        let mut before = db.prepare(&sql)?;
        let mut rows = before.query([first.step.idx])?;
        while let Some(r) = rows.next()? {
            let looked = look(r, id)?;
            if looked.step.starts_turn {
                steps.insert(0, looked);
                break;
            }
        }
    }
    Ok((steps, cut))
}

fn look(r: &rusqlite::Row<'_>, id: &SessionId) -> rusqlite::Result<Looked> {
    let step = rows::read_step(r, id, &mut Calls::default())?.step;
    let mut looked = Looked { began: step.created, step, waits: Vec::new() };
    if !looked.step.is_tool {
        return Ok(looked);
    }
    let detail = match (rows::blob(r, 3)?, rows::blob(r, 4)?) {
        (Some(meta), _) => wire::decode::<StepDetail>(meta),
        (None, Some(payload)) => wire::decode::<PayloadMeta>(payload).and_then(|p| wire::decode(&p.metadata)),
        (None, None) => return Ok(looked),
    };
    let detail = detail.unwrap_or_default();
    looked.began = wire::time(detail.started_at).or(looked.began);
    let course = detail.course.unwrap_or_default().transitions;
    for (i, t) in course.iter().enumerate().filter(|(_, t)| i64::from(t.status) == status::WAITING) {
        let over = course.get(i + 1);
        let from = wire::time(t.at).or(looked.step.created);
        let to = over.and_then(|t| wire::time(t.at)).or(over.and(looked.step.completed));
        if let Some(from) = from.filter(|_| to.is_some() || over.is_none()) {
            looked.waits.push((from, to));
        }
    }
    // 1.0.x notes no course: that it waits is all that is known.
    if looked.step.status == status::WAITING && looked.waits.last().is_none_or(|(_, to)| to.is_some()) {
        looked.waits.extend(looked.step.created.map(|from| (from, None)));
    }
    Ok(looked)
}

/// Finished executions whose last step is `from` or later.
fn executions(db: &Connection, from: i64) -> rusqlite::Result<Vec<Execution>> {
    if !db.table_exists(None::<&str>, "executor_metadata")? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut all = db.prepare("SELECT data FROM executor_metadata ORDER BY idx DESC")?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        let Ok(e) = wire::decode::<wire::Execution>(rows::blob(r, 0)?.unwrap_or_default()) else { continue };
        if e.last_step_idx < from || found.len() >= MOST_STEPS {
            break;
        }
        let id = if e.execution_id.is_empty() { 0 } else { wire::hash(&e.execution_id) };
        found.push(Execution { id, last_step: e.last_step_idx, reason: e.reason });
    }
    Ok(found)
}

fn tell_turn(turn: &[&Looked], executions: &[Execution], spans: &mut Vec<Span>) {
    // A title or a summary after the end is agy's own affair, and so is a message that still waits.
    let work = || {
        turn.iter().copied().filter(|s| {
            s.step.step_type != step_type::CHECKPOINT
                && (s.step.step_type != step_type::USER_INPUT || s.step.starts_turn)
        })
    };
    let mut push = |kind, from, to: Option<Time>| {
        spans.push(Span { from, to: to.map(|to: Time| to.max(from)), kind });
    };
    let began = turn.iter().find_map(|s| if s.step.starts_turn { s.step.turn_at } else { s.step.created });
    let Some(began) = began else { return };
    let is_open = work().any(|s| status::is_live(s.step.status) || s.step.status == status::WAITING);
    let ended = work().filter_map(Looked::end).max();
    push(SpanKind::Turn, began, ended.filter(|_| !is_open));

    for s in work().filter(|s| s.step.is_tool) {
        for (from, to) in &s.waits {
            push(SpanKind::Wait, *from, *to);
        }
        // A tool that was never allowed to run did not run.
        let waited_last = s.waits.last().is_some_and(|(_, to)| *to == s.step.completed || to.is_none());
        if let Some(from) = s.began.filter(|_| !waited_last) {
            let runs = status::is_live(s.step.status);
            // It began where its person's answer came, when agy does not say.
            let from = s.waits.last().and_then(|(_, to)| *to).map_or(from, |answered| from.max(answered));
            if runs || s.step.completed.is_some() {
                push(SpanKind::Tool, from, s.step.completed.filter(|_| !runs));
            }
        }
    }

    let of_turn = |e: &&Execution| turn.iter().any(|s| s.step.idx == e.last_step);
    let last = work().next_back();
    let broke = match last {
        Some(s) if s.step.step_type == step_type::ERROR_MESSAGE => s.step.created,
        _ => executions.iter().find(of_turn).filter(|e| e.reason == 1).and(ended),
    };
    if let Some(at) = broke {
        push(SpanKind::Error, at, Some(at));
    }

    // One execution after another in the same turn: between them agy had stopped and was held.
    let known = || work().filter(|s| s.step.execution != 0);
    for (before, after) in known().zip(known().skip(1)) {
        let is_over = executions.iter().any(|e| e.id == before.step.execution);
        if before.step.execution != after.step.execution
            && is_over
            && let (Some(from), Some(to)) = (before.end(), after.step.created)
            && to > from
        {
            push(SpanKind::Held, from, Some(to));
        }
    }
}
