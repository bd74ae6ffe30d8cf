//! From rows to the facts that a state is derived from (spec L2).

use agenthub_core::{
    DbView, StepRef, Time, TurnEnd, Waiting,
    fact::{Live, NewestStep},
};
use rusqlite::Connection;

use crate::{
    rows,
    tally::{Step, StepTally},
    text,
    wire::{self, Payload, StepDetail, ToolCall, status, step_type},
};

/// agy's word for "its person stopped it" in a planner's answer.
pub(crate) const STOPPED_BY_PERSON: i32 = 16;
/// Characters of a waiting tool's detail, and of an error's text.
const MOST_DETAIL: usize = 200;

/// A finished execution.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) id: u64,
    pub(crate) last_step: i64,
    pub(crate) reason: i32,
}

/// Derives the view. `sums` is over all steps; `newest` are the newest ones and all that are open, by number;
/// `executions` the newest finished ones, by number.
pub(crate) fn view(
    db: &Connection,
    sums: &StepTally,
    newest: &[Step],
    executions: &[Execution],
) -> rusqlite::Result<DbView> {
    let turn = sums.turn.map(|(idx, at)| StepRef { idx, at: at.map(Time::from_micros) });
    // Without a prompt (a sub-agent may have none) everything belongs to the one turn.
    let from = turn.as_ref().map_or(i64::MIN, |t| t.idx);
    let of_turn = || newest.iter().filter(|s| s.idx >= from);

    let end = match turn {
        Some(_) => end(db, sums, from, newest, executions)?,
        None => None,
    };
    // agy asks one question at a time, in the order of the steps.
    let waiting = match of_turn().find(|s| s.status == status::WAITING) {
        Some(s) => {
            let d = detail(db, s)?;
            Some(Waiting { step: d.step(s, status::WAITING), tool: d.tool, detail: d.line })
        }
        None => None,
    };
    let is_aside = |s: &&Step| s.step_type == step_type::CHECKPOINT;
    let aside = newest.iter().filter(is_aside).filter_map(|s| s.completed.max(s.created)).max();
    let last = match last_word(newest) {
        Some(s) => Some(newest_step(db, s, end.is_some())?),
        None => None,
    };
    // A title call after the turn's last word is agy's own affair and no work of the turn.
    let is_over =
        end.is_some() || matches!(last, Some(NewestStep::Error { .. } | NewestStep::Canceled { .. }));
    let live = of_turn().rfind(|s| status::is_live(s.status) && !(is_over && is_aside(s)));
    let live = match live {
        Some(s) => {
            let d = detail(db, s)?;
            Some(Live { step: StepRef { idx: s.idx, at: s.created }, tool: d.tool, detail: d.line })
        }
        None => None,
    };
    Ok(DbView { turn, end, waiting, live, newest: last, aside })
}

/// The end of the newest turn: the finished execution that is the newest one in it (a held turn has several).
fn end(
    db: &Connection,
    sums: &StepTally,
    from: i64,
    newest: &[Step],
    executions: &[Execution],
) -> rusqlite::Result<Option<TurnEnd>> {
    let running = sums.execution.filter(|(idx, _)| *idx >= from).map(|(_, id)| id);
    let ended = executions.iter().rfind(|e| match running {
        Some(id) if e.id != 0 => e.id == id,
        _ => e.last_step >= from,
    });
    let Some(e) = ended else { return Ok(None) };
    // Rows that agy has not flushed yet: the newest step of the execution stands in.
    let last = newest.iter().find(|s| s.idx == e.last_step && s.idx >= from);
    let at = match last {
        Some(s) => s.completed.or(s.created),
        None => match rows::step_bytes(db, e.last_step)?.filter(|_| e.last_step >= from) {
            Some((meta, _)) => wire::decode::<StepDetail>(meta.as_slice())
                .ok()
                .and_then(|d| wire::time(d.completed_at).or(wire::time(d.created_at))),
            None => newest.iter().filter(|s| s.idx >= from).filter_map(|s| s.completed.or(s.created)).max(),
        },
    };
    Ok(Some(TurnEnd { at, last_step: e.last_step, reason: e.reason }))
}

/// The newest step that tells how the turn stands. A title call says nothing of it; and of tools that ran side by side
/// a canceled one speaks for all, for Esc stops what still runs and leaves the others as they ended.
fn last_word(newest: &[Step]) -> Option<&Step> {
    let steps = || newest.iter().rev().filter(|s| s.step_type != step_type::CHECKPOINT);
    let canceled = steps().take_while(|s| s.is_tool).find(|s| is_canceled(s));
    canceled.or_else(|| steps().next()).or(newest.last())
}

fn is_canceled(s: &Step) -> bool {
    matches!(s.status, status::CANCELED | status::INTERRUPTED)
}

fn newest_step(db: &Connection, s: &Step, has_end: bool) -> rusqlite::Result<NewestStep> {
    let step = StepRef { idx: s.idx, at: s.created };
    if s.step_type == step_type::ERROR_MESSAGE {
        return Ok(NewestStep::Error { step, text: error_text(&payload(db, s.idx)?, MOST_DETAIL) });
    }
    let stopped = match s.status {
        _ if is_canceled(s) => true,
        // An interrupted answer can stay DONE. Looked at only where nothing else tells how the turn ended.
        status::DONE if s.step_type == step_type::PLANNER && !has_end => {
            payload(db, s.idx)?.planner.is_some_and(|p| p.stop_reason == STOPPED_BY_PERSON)
        }
        _ => false,
    };
    Ok(if stopped { NewestStep::Canceled { step } } else { NewestStep::Other { step } })
}

fn payload(db: &Connection, idx: i64) -> rusqlite::Result<Payload> {
    let bytes = rows::step_bytes(db, idx)?.map(|(_, p)| p).unwrap_or_default();
    Ok(wire::decode::<Payload>(bytes.as_slice()).unwrap_or_default())
}

/// An error step's words for its person, one line.
pub(crate) fn error_text(p: &Payload, most: usize) -> Option<String> {
    let own = p.error_message.as_ref().and_then(|m| m.error.as_ref());
    [own, p.error.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(|e| [&e.user_message, &e.short, &e.full])
        .find_map(|b| text::one_line(&wire::text(b)?, most))
}

/// What a tool step wants, for people.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) tool: Option<String>,
    pub(crate) line: Option<String>,
    transitions: Vec<wire::Transition>,
}

impl Detail {
    /// The step with the time since when it is in `status`, where agy noted that.
    fn step(&self, s: &Step, status: i64) -> StepRef {
        let since = self.transitions.iter().rfind(|t| i64::from(t.status) == status);
        StepRef { idx: s.idx, at: since.and_then(|t| wire::time(t.at)).or(s.created) }
    }
}

fn detail(db: &Connection, s: &Step) -> rusqlite::Result<Detail> {
    let (meta, payload) = rows::step_bytes(db, s.idx)?.unwrap_or_default();
    let d = wire::decode::<StepDetail>(meta.as_slice()).unwrap_or_default();
    let call = d.tool_call.filter(|_| s.step_type != step_type::PLANNER);
    let tool = tool_name(call.as_ref(), s.step_type);
    let line = match tool {
        Some(_) => {
            let from_call = call.as_ref().and_then(|c| text::arguments_line(&c.arguments, MOST_DETAIL));
            from_call
                .or_else(|| payload_line(&wire::decode::<Payload>(payload.as_slice()).unwrap_or_default()))
        }
        None => None,
    };
    Ok(Detail { tool, line, transitions: d.course.unwrap_or_default().transitions })
}

/// A tool's name: agy's own, else that of the step's type (1.0.x).
pub(crate) fn tool_name(call: Option<&ToolCall>, step_type: i64) -> Option<String> {
    call.and_then(|c| wire::text(&c.name)).or_else(|| step_type::tool(step_type).map(str::to_owned))
}

/// What a tool wants, from its payload: a command, or a question.
pub(crate) fn payload_line(p: &Payload) -> Option<String> {
    let command = p.run_command.iter().flat_map(|c| [&c.command_line, &c.proposed_command_line, &c.command]);
    let question = p.questions.iter().flat_map(|q| q.questions.iter().map(|q| &q.question));
    command.chain(question).find_map(|b| text::one_line(&wire::text(b)?, MOST_DETAIL))
}
