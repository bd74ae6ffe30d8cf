//! A session's turns from its database.

use std::collections::{HashMap, HashSet};

use agenthub_core::{
    SessionId, Time,
    trace::{Agent, Extent, Failure, Provider, SpanIds, StepKey, TurnSpan},
};
use rusqlite::Connection;

use super::{
    End, Told, Turn,
    calls::{self, Asked},
    children, cut, tools,
    turns::{self, Place},
};
use crate::{
    Home,
    calls::{Calls, Placed},
    meta, rows, scan,
    tally::Step,
    text, transcript,
    view::{self, STOPPED_BY_PERSON},
    wire::{self, GenerationSource, Payload, StepDetail, status, step_type},
};

/// A larger payload is not looked into.
const MOST_PAYLOAD: usize = 32 << 20;
/// `executor_metadata`'s reasons that say how a turn ended; others are told by their number.
const REASONS: [(i32, &str); 9] = [
    (1, "error"),
    (2, "user_canceled"),
    (3, "max_invocations"),
    (4, "no_tool_call"),
    (6, "max_forced_invocations"),
    (7, "early_continue"),
    (8, "terminal_step_type"),
    (9, "terminal_custom_hook"),
    (10, "injected_response"),
];

/// Tells the turns that `want` asks for, in one read transaction.
pub(super) fn tell(
    db: &Connection,
    home: &Home,
    id: &SessionId,
    wrote: Time,
    want: &dyn Fn(StepKey) -> bool,
) -> rusqlite::Result<Told> {
    let found = scan::scan(db, id, 0, None)?;
    let blob = found.head.about.as_ref().and_then(|b| b.as_ref().ok());
    let parent = meta::parent(id, found.head.source, blob);
    let (references, _) = meta::references(db, found.head.max.reference.is_some())?;
    let copies = Copies::new(id, found.head.trajectory.as_deref(), &references);

    let steps = all_steps(db, id)?;
    let places = turns::places(&steps);
    let mut own = Own {
        id,
        agent: agent(blob),
        copies,
        sources: sources(db)?,
        executions: executions(db)?,
        transcript: Lines::new(home, id),
        linked: children::linked(home, id),
        wrote,
    };
    let mut calls = own.by_place(found.calls, &steps, &places);
    let mut turns = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let calls = calls.remove(&at).unwrap_or_default();
        if want(place.key) {
            turns.extend(own.turn(db, &steps, place, calls, at + 1 < places.len())?);
        }
    }
    let keys = places.iter().map(|p| p.key).collect();
    Ok(Told { conversation: id.clone(), parent, turns, keys, wrote, from_transcript: false })
}

fn all_steps(db: &Connection, id: &SessionId) -> rusqlite::Result<Vec<Step>> {
    let mut all = db.prepare(&format!("SELECT {} FROM steps ORDER BY idx", rows::STEP_COLUMNS))?;
    let mut rows = all.query([])?;
    let mut steps = Vec::new();
    while let Some(r) = rows.next()? {
        // Its calls were counted by the scan.
        steps.push(rows::read_step(r, id, &mut Calls::default())?.step);
    }
    Ok(steps)
}

fn agent(blob: Option<&wire::Trajectory>) -> Agent {
    let of_subagent = blob.and_then(|b| b.subagent.as_ref()).and_then(|s| wire::text(&s.type_name));
    Agent { name: of_subagent.unwrap_or_else(|| "antigravity".to_owned()), version: None }
}

/// What generator rows know of planner steps.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) providers: HashMap<i64, Provider>,
    pub(super) errors: HashMap<i64, String>,
    /// Steps whose answer a hook put in: no model was called.
    injected: HashSet<i64>,
    /// Which planner step's generator row names a tool step.
    pub(super) asked_by: HashMap<i64, i64>,
}

fn sources(db: &Connection) -> rusqlite::Result<Sources> {
    let mut out = Sources::default();
    let mut all = db.prepare("SELECT data FROM gen_metadata ORDER BY idx")?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        let Ok(g) = wire::decode::<GenerationSource>(rows::blob(r, 0)?.unwrap_or_default()) else { continue };
        let Some(first) = g.step_indices.first().map(|i| i64::from(*i)) else { continue };
        if g.injected.is_some() {
            out.injected.extend(g.step_indices.iter().map(|i| i64::from(*i)));
        }
        if let Some(p) = g.chat.and_then(|c| c.usage).and_then(|u| calls::provider(u.provider)) {
            out.providers.insert(first, p);
        }
        if let Some(error) = wire::text(&g.error) {
            out.errors.insert(first, error);
        }
        // The planner is the first of them (agy 1.2 and later names its tools after it).
        out.asked_by.extend(g.step_indices.iter().skip(1).map(|i| (i64::from(*i), first)));
    }
    Ok(out)
}

/// The reason of each finished execution, by its id's hash, and its last step.
fn executions(db: &Connection) -> rusqlite::Result<Vec<view::Execution>> {
    let mut out = Vec::new();
    if !db.table_exists(None::<&str>, "executor_metadata")? {
        return Ok(out);
    }
    let mut all = db.prepare("SELECT data FROM executor_metadata ORDER BY idx")?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        if let Ok(e) = wire::decode::<wire::Execution>(rows::blob(r, 0)?.unwrap_or_default()) {
            let id = if e.execution_id.is_empty() { 0 } else { wire::hash(&e.execution_id) };
            out.push(view::Execution { id, last_step: e.last_step_idx, reason: e.reason });
        }
    }
    Ok(out)
}

/// Tells rows that a fork copied: the origin told them.
struct Copies<'a> {
    id: &'a SessionId,
    /// Ids that this conversation's own rows may carry; `None` where nothing was copied here.
    trajectories: Option<HashSet<String>>,
}

impl<'a> Copies<'a> {
    fn new(id: &'a SessionId, trajectory: Option<&str>, references: &[wire::Reference]) -> Copies<'a> {
        let is_copy = references.iter().any(|r| r.reference_type != meta::REFERENCE_PRUNE);
        let own = meta::former_trajectories(references).into_iter().chain(trajectory.map(str::to_owned));
        Copies { id, trajectories: is_copy.then(|| own.collect()) }
    }

    fn has(&self, detail: &StepDetail) -> bool {
        let (Some(own), Some(origin)) = (&self.trajectories, &detail.origin) else { return false };
        match wire::session_id(&origin.cascade_id) {
            Some(conversation) => conversation != *self.id,
            None => wire::text(&origin.trajectory_id).is_some_and(|t| !own.contains(&t)),
        }
    }
}

/// The transcript's lines by step, read when the first one is asked for.
pub(super) struct Lines<'a> {
    home: &'a Home,
    id: &'a SessionId,
    read: Option<HashMap<i64, transcript::Record>>,
}

impl<'a> Lines<'a> {
    fn new(home: &'a Home, id: &'a SessionId) -> Lines<'a> {
        Lines { home, id, read: None }
    }

    pub(super) fn of(&mut self, step: i64) -> Option<&transcript::Record> {
        self.read.get_or_insert_with(|| transcript::by_step(self.home, self.id)).get(&step)
    }
}

/// A row with its details.
pub(super) struct Row {
    pub(super) step: Step,
    pub(super) detail: StepDetail,
    pub(super) payload: Payload,
    pub(super) is_copy: bool,
}

pub(super) struct Own<'a> {
    pub(super) id: &'a SessionId,
    agent: Agent,
    copies: Copies<'a>,
    pub(super) sources: Sources,
    executions: Vec<view::Execution>,
    pub(super) transcript: Lines<'a>,
    pub(super) linked: Vec<children::Link>,
    pub(super) wrote: Time,
}

impl Own<'_> {
    /// The calls by the turn that they belong to: that of their step, else by their time.
    fn by_place(&mut self, calls: Calls, steps: &[Step], places: &[Place]) -> HashMap<usize, Vec<Placed>> {
        let of_step: HashMap<i64, usize> = places
            .iter()
            .enumerate()
            .flat_map(|(at, p)| p.steps.iter().map(move |i| (*i, at)))
            .filter_map(|(i, at)| Some((steps.get(i)?.idx, at)))
            .collect();
        let began = |p: &Place| steps.get(p.first).and_then(|s| s.turn_at.or(s.created));
        let by_time = |t: Option<Time>| {
            places.iter().rposition(|p| began(p).is_some_and(|b| t.is_some_and(|t| b <= t))).unwrap_or(0)
        };
        let (transcript, wrote) = (&mut self.transcript, self.wrote);
        let mut out: HashMap<usize, Vec<Placed>> = HashMap::new();
        for p in calls.placed(wrote, |step| transcript.of(step)?.created_at) {
            let at = p.step.and_then(|s| of_step.get(&s).copied());
            let at = at.unwrap_or_else(|| by_time(p.sighting.stamp.map(|s| s.at)));
            out.entry(at).or_default().push(p);
        }
        out
    }

    fn rows(&self, db: &Connection, steps: &[Step], place: &Place) -> rusqlite::Result<Vec<Row>> {
        let mut one = db.prepare_cached("SELECT metadata, step_payload FROM steps WHERE idx = ?1")?;
        let mut out = Vec::with_capacity(place.steps.len());
        for step in place.steps.iter().filter_map(|i| steps.get(*i)) {
            let mut found = one.query([step.idx])?;
            let Some(r) = found.next()? else { continue };
            let payload = rows::blob(r, 1)?.filter(|p| p.len() <= MOST_PAYLOAD).unwrap_or_default();
            let payload: Payload = wire::decode(payload).unwrap_or_default();
            // The payload holds the same metadata once more.
            let column = rows::blob(r, 0)?.map(wire::decode::<StepDetail>);
            let detail = match column {
                Some(Ok(d)) => d,
                _ => wire::decode(&payload.metadata).unwrap_or_default(),
            };
            let is_copy = self.copies.has(&detail);
            out.push(Row { step: step.clone(), detail, payload, is_copy });
        }
        Ok(out)
    }

    /// `None` when nothing of the turn is this conversation's own.
    fn turn(
        &mut self,
        db: &Connection,
        steps: &[Step],
        place: &Place,
        placed: Vec<Placed>,
        is_followed: bool,
    ) -> rusqlite::Result<Option<Turn>> {
        let rows = self.rows(db, steps, place)?;
        let Some(first) = rows.first() else { return Ok(None) };
        if rows.iter().all(|r| r.is_copy) {
            return Ok(None);
        }
        let began = first.step.turn_at.or(first.step.created);
        let began = began.or_else(|| self.transcript.of(first.step.idx)?.created_at);
        let is_approximate = first.step.turn_at.or(first.step.created).is_none();
        let from = began.or_else(|| rows.iter().filter_map(|r| r.step.created).min()).unwrap_or(self.wrote);

        let ids = SpanIds { conversation: self.id, turn: place.key };
        let prompt = prompt(first);
        let mut asked = Asked::new(ids, from, prompt.clone());
        let (mut own_tools, mut tool_ids, mut sides) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_step: HashMap<i64, Vec<Placed>> = HashMap::new();
        let mut homeless = Vec::new();
        for p in placed {
            match p.step.filter(|s| rows.iter().any(|r| r.step.idx == *s)) {
                Some(s) => of_step.entry(s).or_default().push(p),
                None => homeless.push(p),
            }
        }
        for row in rows.iter().filter(|r| !r.is_copy) {
            let calls = of_step.remove(&row.step.idx).unwrap_or_default();
            if row.step.step_type == step_type::PLANNER {
                let is_call = !calls.is_empty() || !self.sources.injected.contains(&row.step.idx);
                if is_call {
                    sides.push(asked.planner(row, calls, &self.sources, &mut self.transcript));
                }
                continue;
            }
            asked.others(row, calls);
            if row.step.is_tool {
                let told = tools::tool(row, ids, asked.now(), &mut self.transcript);
                tool_ids.push((row, told.id));
                sides.push(tools::side(row, told.id));
                own_tools.extend(asked.tool(row, told, &self.sources));
            }
        }
        asked.homeless(homeless);

        let end = self.end(&rows);
        let finished = self.finished(&rows);
        let to = finished
            .and_then(|e| rows.iter().find(|r| r.step.idx == e.last_step))
            .and_then(|r| r.step.completed.or(r.step.created))
            .or_else(|| {
                rows.iter()
                    .filter(|r| is_of_turn(r))
                    .filter_map(|r| r.step.completed.or(r.step.created))
                    .max()
            });
        let extent = Extent::new(from, to.unwrap_or(from), is_approximate || to.is_none());
        let children = children::of(self.id, &tool_ids, &self.linked);
        let is_settled = self.is_settled(&rows, &asked, end);
        let newest_step_at = rows.iter().filter_map(|r| r.step.created).max();
        let span = TurnSpan {
            id: ids.turn(),
            extent,
            conversation: self.id.clone(),
            execution: rows.iter().find_map(|r| wire::text(&r.detail.execution_id)),
            agent: self.agent.clone(),
            model: asked.newest().map(|c| c.model.clone()),
            provider: asked.newest().map(|c| c.provider).unwrap_or_default(),
            finish_reason: finished.map(|e| reason(e.reason)),
            failure: failure(&rows, finished, end),
            incomplete: false,
            from_transcript: false,
            prompt,
            answer: asked.answer(),
            calls: asked.into_calls(),
            tools: own_tools,
        };
        let key = place.key;
        Ok(Some(Turn { key, span, children, end, is_followed, is_settled, newest_step_at, sides }))
    }

    /// The row of the turn's newest execution. An older one's is the end of a part that was held.
    fn finished(&self, rows: &[Row]) -> Option<&view::Execution> {
        let newest = rows.iter().rev().find(|r| r.step.execution != 0).map(|r| r.step.execution);
        let (first, last) = (rows.first()?.step.idx, rows.last()?.step.idx);
        self.executions.iter().rfind(|e| match newest {
            Some(id) if e.id != 0 => e.id == id,
            _ => (first..=last).contains(&e.last_step),
        })
    }

    fn end(&self, rows: &[Row]) -> End {
        let of_turn = || rows.iter().filter(|r| is_of_turn(r)).map(|r| &r.step);
        let finished = self.finished(rows);
        let newest = turns::last_word(of_turn());
        // A step after the execution's last one: it goes on.
        if let Some(e) = finished
            && of_turn().all(|s| s.idx <= e.last_step || !turns_go_on(s))
        {
            return End::Execution;
        }
        let stopped = |r: &Row| {
            let planner = r.payload.planner.as_ref();
            planner.is_some_and(|p| p.stop_reason == STOPPED_BY_PERSON)
        };
        let is_broken = newest.is_some_and(|s| {
            s.step_type == step_type::ERROR_MESSAGE
                || turns::is_canceled(s)
                || rows.iter().any(|r| r.step.idx == s.idx && stopped(r))
        });
        if is_broken && !of_turn().any(|s| status::is_open(s.status)) { End::Broken } else { End::Open }
    }

    fn is_settled(&self, rows: &[Row], asked: &Asked<'_>, end: End) -> bool {
        let open = rows.iter().any(|r| status::is_open(r.step.status));
        end != End::Open && !open && (end == End::Broken || asked.newest().is_none_or(|c| c.tokens.is_some()))
    }
}

/// A title call after the end is agy's own affair.
fn is_of_turn(r: &Row) -> bool {
    r.step.step_type != step_type::CHECKPOINT
}

/// A step that only work writes; a message may come in after the end.
fn turns_go_on(s: &Step) -> bool {
    s.is_tool || s.step_type == step_type::PLANNER
}

fn prompt(first: &Row) -> Option<String> {
    let said = first.payload.user_input.as_ref().and_then(meta::prompt_text)?;
    Some(cut(text::unwrapped(&said).trim()))
}

fn reason(number: i32) -> String {
    let known = REASONS.iter().find(|(n, _)| *n == number);
    known.map_or_else(|| format!("reason_{number}"), |(_, name)| (*name).to_owned())
}

fn failure(rows: &[Row], finished: Option<&view::Execution>, end: End) -> Option<Failure> {
    let error = rows.iter().rev().find(|r| r.step.step_type == step_type::ERROR_MESSAGE);
    let last = turns::last_word(rows.iter().filter(|r| is_of_turn(r)).map(|r| &r.step));
    let is_last = |r: &Row| last.is_some_and(|s| s.idx == r.step.idx);
    match (end, finished.map(|e| e.reason)) {
        (End::Execution, Some(1)) => Some(error.map_or_else(|| Failure::of("error"), api_error)),
        (End::Execution, Some(2)) => Some(Failure::of("canceled")),
        (End::Execution, _) | (End::Open, _) => None,
        (End::Broken, _) => Some(match error.filter(|r| is_last(r)) {
            Some(r) => api_error(r),
            None => Failure::of("canceled"),
        }),
    }
}

/// An error step's code, where it has one, is a kind that backends can group by.
pub(super) fn api_error(r: &Row) -> Failure {
    let own = r.payload.error_message.as_ref().and_then(|m| m.error.as_ref());
    let code = own.map_or(0, |e| e.code);
    let kind = if code == 0 { "error".to_owned() } else { code.to_string() };
    Failure { kind, words: view::error_text(&r.payload, 2_000) }
}
