//! The timeline from the database: sub-second times, tokens, results.

use std::collections::{BTreeMap, HashMap};

use agenthub_core::{SessionId, Time};
use rusqlite::Connection;

use super::{EntryKind, EntryState, MOST_ENTRIES, MOST_TEXT, Timeline, TimelineEntry};
use crate::{
    Home, WarningCode,
    calls::{Calls, Placed},
    meta, rows, scan, tally,
    tally::Step,
    text, transcript, view,
    wire::{self, Payload, StepDetail, status, step_type},
};

/// Steps that are told, the newest ones.
const MOST_STEPS: i64 = 10_000;
/// Characters of a tool's most telling argument.
const MOST_ARGUMENT: usize = 400;
/// A larger payload is not looked into.
const MOST_PAYLOAD: usize = 32 << 20;

/// Tells the steps in their order, and after each planner the calls that filled it.
pub(super) fn tell(db: &Connection, home: &Home, id: &SessionId, wrote: Time) -> rusqlite::Result<Timeline> {
    let found = scan::scan(db, id, 0, None)?;
    let mut warnings = BTreeMap::new();
    let mut odd = found.steps.odd.clone();
    tally::insert(&mut odd, found.gens.odd.iter().copied());
    let bad = found.steps.bad + found.gens.bad + found.bad_executions;
    for (code, n) in [(WarningCode::UndecodableRow, bad), (WarningCode::UsageMismatch, odd.len() as u64)] {
        if n > 0 {
            warnings.insert(code, n);
        }
    }
    let mut times: Option<HashMap<i64, Time>> = None;
    let mut transcript_time =
        |step: i64| times.get_or_insert_with(|| transcript::step_times(home, id)).get(&step).copied();
    let mut calls: HashMap<i64, Vec<Placed>> = HashMap::new();
    let mut homeless = Vec::new();
    for p in found.calls.placed(wrote, &mut transcript_time) {
        match p.step {
            Some(step) => calls.entry(step).or_default().push(p),
            None => homeless.push(p),
        }
    }
    let from = found.cursor.max.step.unwrap_or(0).saturating_sub(MOST_STEPS);
    let mut teller = Teller { turn: turns_before(db, from)?, entries: Vec::new(), calls };
    let sql = format!("SELECT {}, step_payload FROM steps WHERE idx > ?1 ORDER BY idx", rows::STEP_COLUMNS);
    let mut all = db.prepare(&sql)?;
    let mut rows = all.query([from])?;
    while let Some(r) = rows.next()? {
        let step = rows::read_step(r, id, &mut Calls::default())?.step;
        let payload = rows::blob(r, 5)?.filter(|p| p.len() <= MOST_PAYLOAD).unwrap_or_default();
        let payload: Payload = wire::decode(payload).unwrap_or_default();
        let detail = match rows::blob(r, 3)? {
            Some(meta) => wire::decode(meta),
            None => wire::decode(&payload.metadata),
        };
        teller.step(&step, &detail.unwrap_or_default(), &payload);
    }
    teller.orphans(homeless, from);
    let mut entries = teller.entries;
    for e in &mut entries {
        if e.at.is_none()
            && let Some(at) = e.step.and_then(&mut transcript_time)
        {
            (e.at, e.approximate) = (Some(at), true);
        }
    }
    let excess = entries.len().saturating_sub(MOST_ENTRIES);
    entries.drain(..excess);
    let has_older = found.steps.first.is_some_and(|(idx, _)| idx <= from);
    Ok(Timeline { entries, warnings, truncated: excess > 0 || has_older, from_transcript: false })
}

/// Turns that began up to step `idx`; agy's own index on types makes it cheap.
fn turns_before(db: &Connection, idx: i64) -> rusqlite::Result<u32> {
    let sql = "SELECT count(*) FROM steps WHERE step_type = 14 AND status NOT IN (4, 5, 11) AND idx <= ?1";
    db.query_row(sql, [idx], |r| Ok(u32::try_from(rows::integer(r, 0)?).unwrap_or(u32::MAX)))
}

struct Teller {
    turn: u32,
    entries: Vec<TimelineEntry>,
    /// By the step that they filled; what is left at the end has none in sight.
    calls: HashMap<i64, Vec<Placed>>,
}

impl Teller {
    fn step(&mut self, s: &Step, detail: &StepDetail, payload: &Payload) {
        if s.starts_turn {
            self.turn = self.turn.saturating_add(1);
        }
        match s.step_type {
            step_type::USER_INPUT => {
                let prompt = payload.user_input.as_ref().and_then(meta::prompt_text);
                let text = prompt.map(|p| cut(text::unwrapped(&p).trim()));
                let state = if s.starts_turn { EntryState::Done } else { state(s.status) };
                let at = s.turn_at.or(s.created);
                self.push(TimelineEntry { at, text, state, ..self.entry(EntryKind::Prompt, s) });
            }
            step_type::PLANNER => self.planner(s, detail, payload),
            step_type::ERROR_MESSAGE => {
                let text = view::error_text(payload, MOST_TEXT);
                let state = EntryState::Failed;
                self.push(TimelineEntry { at: s.created, text, state, ..self.entry(EntryKind::Error, s) });
            }
            step_type::CHECKPOINT => self.checkpoint(s, payload),
            _ if s.is_tool => self.tool(s, detail, payload),
            _ => {}
        }
        for p in self.calls.remove(&s.idx).unwrap_or_default() {
            let e = self.call(p, s);
            self.push(e);
        }
    }

    fn entry(&self, kind: EntryKind, s: &Step) -> TimelineEntry {
        TimelineEntry::new(kind, self.turn, Some(s.idx))
    }

    fn push(&mut self, e: TimelineEntry) {
        self.entries.push(e);
    }

    /// The answer's text goes to the call that made it; an answer that no call made (it streams, or a hook put it in)
    /// is an entry of its own.
    fn planner(&mut self, s: &Step, detail: &StepDetail, payload: &Payload) {
        let p = payload.planner.as_ref();
        let answer = p.and_then(|p| {
            let own = wire::text(&p.response).or_else(|| wire::text(&p.modified_response));
            own.map(|t| cut(&t))
        });
        let mut calls = self.calls.remove(&s.idx).unwrap_or_default();
        calls.sort_by_key(|c| (!c.failed, c.sighting.stamp.map(|t| t.at)));
        let answering = calls.iter().rposition(|c| !c.failed);
        if answering.is_none() {
            let state = planner_state(s, p);
            let duration_ms = duration(s.created, s.completed.or(wire::time(detail.finished_generating_at)));
            let text = answer.clone();
            let e = self.entry(EntryKind::Call, s);
            self.push(TimelineEntry { at: s.created, duration_ms, state, text, ..e });
        }
        for (i, c) in calls.into_iter().enumerate() {
            let mut e = self.call(c, s);
            if Some(i) == answering {
                e.text.clone_from(&answer);
            }
            self.push(e);
        }
    }

    fn call(&self, p: Placed, s: &Step) -> TimelineEntry {
        let e = homeless_call(p, self.turn);
        let is_failed = e.state == EntryState::Failed;
        TimelineEntry {
            step: Some(s.idx),
            duration_ms: if is_failed {
                None
            } else {
                duration(e.at.filter(|_| !e.approximate), s.completed)
            },
            state: if is_failed { EntryState::Failed } else { state(s.status) },
            ..e
        }
    }

    /// A title call says `intent_only`: it is a call of agy's own, and no compaction.
    fn checkpoint(&mut self, s: &Step, payload: &Payload) {
        let Some(c) = payload.checkpoint.as_ref().filter(|c| !c.intent_only) else { return };
        let text =
            [&c.session_summary, &c.user_intent].into_iter().find_map(|b| wire::text(b)).map(|t| cut(&t));
        let duration_ms = duration(s.created, s.completed);
        let e = self.entry(EntryKind::Checkpoint, s);
        self.push(TimelineEntry { at: s.created, duration_ms, state: state(s.status), text, ..e });
    }

    fn tool(&mut self, s: &Step, detail: &StepDetail, payload: &Payload) {
        let name = view::tool_name(detail.tool_call.as_ref(), s.step_type);
        let transitions = detail.course.as_ref().map_or(&[][..], |c| &c.transitions);
        let state = tool_state(s, payload, transitions);
        let mut asked = None;
        for (i, t) in transitions.iter().enumerate().filter(|(_, t)| i64::from(t.status) == status::WAITING) {
            let next = transitions.get(i + 1);
            asked = Some((wire::time(t.at), next.and_then(|n| wire::time(n.at)), next.is_some()));
            self.wait(s, &name, asked, state);
        }
        if s.status == status::WAITING && asked.is_none_or(|(.., over)| over) {
            self.wait(s, &name, None, state);
        }
        let kind = if is_subagent(s, detail) { EntryKind::Subagent } else { EntryKind::Tool };
        let began = wire::time(detail.started_at).or(s.created);
        let arguments = detail.tool_call.as_ref().and_then(|c| wire::text(&c.arguments));
        let error = match state {
            EntryState::Failed | EntryState::Denied => view::error_text(payload, MOST_TEXT),
            _ => None,
        };
        let argument = telling_argument(detail, payload);
        let duration_ms = duration(began, s.completed);
        let args = arguments.map(|a| cut(&a));
        let e = self.entry(kind, s);
        self.push(TimelineEntry { at: began, duration_ms, name, state, text: error, args, argument, ..e });
    }

    fn wait(
        &mut self,
        s: &Step,
        name: &Option<String>,
        asked: Option<(Option<Time>, Option<Time>, bool)>,
        after: EntryState,
    ) {
        let (at, until, over) = asked.unwrap_or((None, None, false));
        let state = match (over, after) {
            (false, _) => EntryState::Waiting,
            (true, EntryState::Denied | EntryState::Canceled) => after,
            (true, _) => EntryState::Done,
        };
        let e = self.entry(EntryKind::Wait, s);
        let at = at.or(s.created);
        self.push(TimelineEntry { at, duration_ms: duration(at, until), name: name.clone(), state, ..e });
    }

    /// Calls without a step of theirs in sight stand where their time puts them.
    fn orphans(&mut self, mut homeless: Vec<Placed>, from: i64) {
        let rest = std::mem::take(&mut self.calls).into_iter().filter(|(step, _)| *step > from);
        homeless.extend(rest.flat_map(|(_, calls)| calls));
        homeless.sort_by(|a, b| {
            let at = |p: &Placed| p.sighting.stamp.map(|s| s.at);
            at(a).cmp(&at(b)).then_with(|| a.sighting.key.cmp(&b.sighting.key))
        });
        for p in homeless {
            let at = p.sighting.stamp.map(|s| s.at);
            let after = self.entries.iter().rposition(|e| e.at.is_some() && e.at <= at).map_or(0, |i| i + 1);
            let turn = after.checked_sub(1).and_then(|i| self.entries.get(i)).map_or(0, |e| e.turn);
            self.entries.insert(after, homeless_call(p, turn));
        }
    }
}

fn homeless_call(p: Placed, turn: u32) -> TimelineEntry {
    let Placed { sighting, step, failed } = p;
    let name = sighting.model.label.clone().or_else(|| sighting.model.id.clone());
    TimelineEntry {
        at: sighting.stamp.map(|s| s.at),
        approximate: sighting.stamp.is_some_and(agenthub_core::Stamp::approximate),
        name,
        state: if failed { EntryState::Failed } else { EntryState::Done },
        tokens: sighting.tokens,
        call: Some(sighting.key),
        model: Some(sighting.model),
        ..TimelineEntry::new(EntryKind::Call, turn, step)
    }
}

fn state(s: i64) -> EntryState {
    match s {
        status::WAITING => EntryState::Waiting,
        status::ERROR => EntryState::Failed,
        status::CANCELED | status::INTERRUPTED | status::CLEARED | status::INVALID => EntryState::Canceled,
        s if status::is_live(s) => EntryState::Running,
        _ => EntryState::Done,
    }
}

/// How an answer stands that no call is known to have made, by its step alone.
pub(crate) fn planner_state(s: &Step, p: Option<&wire::Planner>) -> EntryState {
    if p.is_some_and(|p| p.stop_reason == view::STOPPED_BY_PERSON) {
        return EntryState::Canceled;
    }
    state(s.status)
}

/// The argument that tells most of what a tool does, on one line.
pub(crate) fn telling_argument(detail: &StepDetail, payload: &Payload) -> Option<String> {
    let told = detail.tool_call.as_ref().and_then(|c| text::arguments_line(&c.arguments, MOST_ARGUMENT));
    told.or_else(|| view::payload_line(payload))
}

/// A tool that starts sub-agents.
pub(crate) fn is_subagent(s: &Step, detail: &StepDetail) -> bool {
    let named = detail.tool_call.as_ref().is_some_and(|c| *c.name == *b"invoke_subagent");
    s.is_tool && (s.step_type == step_type::INVOKE_SUBAGENT || named)
}

/// A denied tool ends as ERROR, like a failed one (agy-format §3.5). It was denied if agy says so, or if its question
/// was answered by that error without the tool ever having run.
pub(crate) fn tool_state(s: &Step, payload: &Payload, transitions: &[wire::Transition]) -> EntryState {
    if s.status != status::ERROR {
        return state(s.status);
    }
    let said = payload.run_command.as_ref().is_some_and(|c| c.user_rejected)
        || payload.mcp_tool.as_ref().is_some_and(|c| c.user_rejected);
    let last = transitions.iter().rposition(|t| i64::from(t.status) == status::WAITING);
    let after_question =
        last.and_then(|i| transitions.get(i + 1)).is_some_and(|t| i64::from(t.status) == status::ERROR);
    if said || after_question { EntryState::Denied } else { EntryState::Failed }
}

fn duration(from: Option<Time>, to: Option<Time>) -> Option<i64> {
    Some(to?.ms_since(from?)).filter(|ms| *ms >= 0)
}

fn cut(s: &str) -> String {
    text::cut(s, MOST_TEXT)
}
