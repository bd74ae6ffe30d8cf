//! The model calls of one turn, and the tools that each of them asked for.

use std::collections::HashMap;

use agenthub_core::{
    CallKind, Model, Time,
    trace::{CallSpan, Extent, Failure, Provider, SpanIds, StepKey, ToolSpan},
};

use super::{
    Side, cut,
    database::{Lines, Row, Sources},
};
use crate::{
    calls::{Placed, response_id},
    timeline::planner_state,
    view::STOPPED_BY_PERSON,
    wire::{self, status},
};

/// agy's number of the backend (agy-format §3.2); `None` where it says nothing.
pub(super) fn provider(number: i32) -> Option<Provider> {
    Some(match number {
        3 => Provider::VertexAi,
        24 => Provider::GeminiApi,
        26 => Provider::AnthropicVertex,
        31 => Provider::OpenAiVertex,
        0 => return None,
        _ => Provider::Google,
    })
}

/// agy's words for why an answer ended.
fn stop_reason(number: i32) -> Option<String> {
    let known = match number {
        0 => return None,
        1 => "incomplete",
        2 => "stop",
        3 => "max_tokens",
        10 => "tool_calls",
        11 => "content_filter",
        13 => "error",
        16 => "canceled",
        17 => "tool_parse_error",
        18 => "stream_error",
        19 => "looping",
        n => return Some(format!("reason_{n}")),
    };
    Some(known.to_owned())
}

/// The calls of a turn, in the order of their steps.
pub(super) struct Asked<'a> {
    ids: SpanIds<'a>,
    calls: Vec<CallSpan>,
    /// Which call a planner step is.
    by_planner: HashMap<i64, usize>,
    /// Which call asked for a tool, by the tool call's id.
    by_tool_call: HashMap<Vec<u8>, usize>,
    /// The newest call that answers by a planner step.
    newest: Option<usize>,
    prompt: Option<String>,
    /// The newest time that is known, for what has none.
    now: Time,
}

impl<'a> Asked<'a> {
    pub(super) fn new(ids: SpanIds<'a>, began: Time, prompt: Option<String>) -> Asked<'a> {
        Asked {
            ids,
            calls: Vec::new(),
            by_planner: HashMap::new(),
            by_tool_call: HashMap::new(),
            newest: None,
            prompt,
            now: began,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn newest(&self) -> Option<&CallSpan> {
        self.newest.and_then(|at| self.calls.get(at))
    }

    /// The turn's answer: the last one that a call gave in words.
    pub(super) fn answer(&self) -> Option<String> {
        let answers =
            self.by_planner.values().filter_map(|at| Some((at, self.calls.get(*at)?.output.as_ref()?)));
        answers.max_by_key(|(at, _)| **at).map(|(_, text)| text.clone())
    }

    pub(super) fn into_calls(self) -> Vec<CallSpan> {
        self.calls
    }

    /// A planner step with the calls that filled it. Where no row tells of a usable call there was one all the same: it
    /// has no tokens, and still its output and its tools (R3). Gives what stands beside the answering call's span.
    pub(super) fn planner(
        &mut self,
        row: &Row,
        mut calls: Vec<Placed>,
        sources: &Sources,
        transcript: &mut Lines<'_>,
    ) -> Side {
        calls.sort_by_key(|c| (!c.failed, c.sighting.stamp.map(|t| t.at)));
        let answering = calls.iter().rposition(|c| !c.failed).map(|at| calls.remove(at));
        for c in calls {
            let provider = self.provider(row, sources);
            self.push_other(c, provider, row.step.created);
        }
        let idx = row.step.idx;
        let line = if row.step.is_bad || row.step.created.is_none() { transcript.of(idx) } else { None };
        let created = row.step.created.or_else(|| line?.created_at);
        let key = StepKey::new(idx, created);
        let sighting = answering.map(|c| c.sighting);
        let stamp = sighting.as_ref().and_then(|s| s.stamp).filter(|s| !s.approximate());
        let from = stamp.map(|s| s.at).or(created).unwrap_or(self.now);
        let completed = row.step.completed.or(wire::time(row.detail.finished_generating_at));
        let is_approximate = (stamp.is_none() && row.step.created.is_none()) || completed.is_none();
        let planner = row.payload.planner.clone().unwrap_or_default();
        let output = [&planner.response, &planner.modified_response].into_iter().find_map(|b| wire::text(b));
        let output = output.or_else(|| line?.content.clone());
        let model = sighting.as_ref().map_or_else(Model::default, |s| s.model.clone());
        let span = CallSpan {
            id: self.ids.answer(key),
            extent: Extent::new(from, completed.unwrap_or(from), is_approximate),
            kind: CallKind::Turn,
            model,
            request_model: None,
            provider: self.provider(row, sources),
            response_id: sighting.as_ref().and_then(|s| response_id(&s.key)).map(str::to_owned),
            finish_reason: stop_reason(planner.stop_reason),
            failure: failure(row, planner.stop_reason, sources.errors.get(&idx)),
            tokens: sighting.and_then(|s| s.tokens),
            cost: None,
            input: self.prompt.take(),
            output: output.map(|t| cut(&t)),
            thinking: wire::text(&planner.thinking).map(|t| cut(&t)),
            tools: Vec::new(),
        };
        let at = self.calls.len();
        self.now = self.now.max(span.extent.to);
        self.by_planner.insert(idx, at);
        self.by_tool_call
            .extend(planner.tool_calls.iter().filter(|t| !t.id.is_empty()).map(|t| (t.id.to_vec(), at)));
        self.newest = Some(at);
        let side = Side {
            span: span.id,
            step: idx,
            state: planner_state(&row.step, row.payload.planner.as_ref()),
            argument: None,
            thinking_us: wire::length_us(planner.thinking_duration),
        };
        self.calls.push(span);
        side
    }

    /// Calls of a step that is no planner: titles and summaries, which agy makes by itself.
    pub(super) fn others(&mut self, row: &Row, calls: Vec<Placed>) {
        let provider = row.detail.usage.as_ref().and_then(|u| provider(u.provider)).unwrap_or_default();
        for c in calls {
            let failed = c.failed;
            self.push_other(c, provider, row.step.created);
            if let Some(span) = self.calls.last_mut().filter(|_| !failed) {
                let completed = row.step.completed.or(wire::time(row.detail.finished_generating_at));
                let extent = span.extent;
                span.extent = Extent::new(extent.from, completed.unwrap_or(extent.from), extent.approximate);
                span.failure = (row.step.status == status::ERROR).then(|| Failure::of("error"));
            }
        }
    }

    /// Calls without a step in sight.
    pub(super) fn homeless(&mut self, mut calls: Vec<Placed>) {
        calls.sort_by(|a, b| {
            let at = |p: &Placed| p.sighting.stamp.map(|s| s.at);
            at(a).cmp(&at(b)).then_with(|| a.sighting.key.cmp(&b.sighting.key))
        });
        for c in calls {
            self.push_other(c, Provider::default(), None);
        }
    }

    /// A call that no planner step stands for; how long it took is not told.
    fn push_other(&mut self, c: Placed, provider: Provider, created: Option<Time>) {
        let s = c.sighting;
        let stamp = s.stamp.filter(|t| !t.approximate()).map(|t| t.at);
        let from = stamp.or(created).or(s.stamp.map(|t| t.at)).unwrap_or(self.now);
        self.calls.push(CallSpan {
            id: self.ids.call(&s.key),
            extent: Extent::new(from, from, stamp.or(created).is_none()),
            kind: s.kind,
            request_model: None,
            provider,
            response_id: response_id(&s.key).map(str::to_owned),
            finish_reason: None,
            failure: c.failed.then(|| Failure::of("retried")),
            tokens: s.tokens,
            cost: None,
            input: None,
            output: None,
            thinking: None,
            tools: Vec::new(),
            model: s.model,
        });
    }

    fn provider(&self, row: &Row, sources: &Sources) -> Provider {
        let own = row.detail.usage.as_ref().and_then(|u| provider(u.provider));
        own.or_else(|| sources.providers.get(&row.step.idx).copied()).unwrap_or_default()
    }

    /// Puts a tool below the call that asked for it: the one whose answer has its id, else the one whose generator row
    /// names its step, else the last one before it. Gives it back when the turn has no call yet.
    pub(super) fn tool(&mut self, row: &Row, tool: ToolSpan, sources: &Sources) -> Option<ToolSpan> {
        let id = row.detail.tool_call.as_ref().map(|t| t.id.to_vec()).unwrap_or_default();
        let by_id = self.by_tool_call.get(&id).copied();
        let by_row = || self.by_planner.get(sources.asked_by.get(&row.step.idx)?).copied();
        self.now = self.now.max(tool.extent.from);
        let Some(call) = by_id.or_else(by_row).or(self.newest).and_then(|at| self.calls.get_mut(at)) else {
            return Some(tool);
        };
        call.tools.push(tool);
        None
    }
}

fn failure(row: &Row, stop_reason: i32, error: Option<&String>) -> Option<Failure> {
    let kind = match (row.step.status, stop_reason) {
        (status::CANCELED | status::INTERRUPTED, _) | (_, STOPPED_BY_PERSON) => "canceled",
        (_, 18) => "stream_error",
        (_, 17) => "tool_parse_error",
        (status::ERROR, _) | (_, 13) => "error",
        _ if error.is_some() => "error",
        _ => return None,
    };
    Some(Failure { kind: kind.to_owned(), words: error.map(|e| cut(e)) })
}
