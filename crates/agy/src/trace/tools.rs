//! One run of a tool, from its step.

use agenthub_core::{
    Time,
    trace::{Extent, Failure, SpanId, SpanIds, StepKey, ToolSpan},
};

use super::{
    Side, cut,
    database::{Lines, Row},
};
use crate::{
    timeline::{EntryState, telling_argument, tool_state},
    view,
    wire::{self, Payload, status},
};

/// The tool's span. Where the row has no time, `now` stands in.
pub(super) fn tool(row: &Row, ids: SpanIds<'_>, now: Time, transcript: &mut Lines<'_>) -> ToolSpan {
    let s = &row.step;
    let line = if s.is_bad || s.created.is_none() { transcript.of(s.idx) } else { None };
    let created = s.created.or_else(|| line?.created_at);
    let began = wire::time(row.detail.started_at).or(created);
    let is_open = status::is_open(s.status);
    let from = began.unwrap_or(now);
    let to = s.completed.filter(|_| !is_open);
    let call = row.detail.modified_tool_call.as_ref().filter(|c| !c.name.is_empty());
    let call = call.or(row.detail.tool_call.as_ref());
    let kind = match state(row) {
        EntryState::Failed => Some("tool_error"),
        EntryState::Denied => Some("denied"),
        EntryState::Canceled => Some("canceled"),
        _ => None,
    };
    let words = || view::error_text(&row.payload, 2_000);
    ToolSpan {
        id: ids.tool(StepKey::new(s.idx, created)),
        extent: Extent::new(
            from,
            to.unwrap_or(from),
            to.is_none() || wire::time(row.detail.started_at).or(s.created).is_none(),
        ),
        name: view::tool_name(call, s.step_type).unwrap_or_else(|| "tool".to_owned()),
        call_id: row.detail.tool_call.as_ref().and_then(|c| wire::text(&c.id)),
        arguments: call.and_then(|c| wire::text(&c.arguments)).map(|a| cut(&a)),
        result: result(&row.payload).or_else(|| line?.content.clone()).map(|r| cut(&r)),
        failure: kind.map(|kind| Failure { kind: kind.to_owned(), words: words() }),
        turns: Vec::new(),
    }
}

fn state(row: &Row) -> EntryState {
    let transitions = row.detail.course.as_ref().map_or(&[][..], |c| &c.transitions);
    tool_state(&row.step, &row.payload, transitions)
}

/// What stands beside the tool's span.
pub(super) fn side(row: &Row, span: SpanId) -> Side {
    Side {
        span,
        step: row.step.idx,
        state: state(row),
        argument: telling_argument(&row.detail, &row.payload),
        thinking_us: None,
    }
}

/// What the tool answered, where its payload has it in words.
fn result(p: &Payload) -> Option<String> {
    if let Some(g) = p.generic.as_ref().and_then(|g| g.result.as_ref()) {
        return wire::text(&g.result);
    }
    if let Some(c) = &p.run_command {
        let both = c.combined_output.as_ref().and_then(|o| wire::text(&o.full).or(wire::text(&o.truncated)));
        return both.or_else(|| {
            let parts: Vec<String> =
                [&c.stdout, &c.stderr].into_iter().filter_map(|b| wire::text(b)).collect();
            (!parts.is_empty()).then(|| parts.join("\n"))
        });
    }
    p.mcp_tool.as_ref().and_then(|m| wire::text(&m.result))
}
