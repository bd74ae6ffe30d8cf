//! A session's turns from its transcript, when the database can't be read: whole seconds, all marked approximate, no
//! tokens, no title calls.

use std::collections::VecDeque;

use agenthub_core::{
    CallKind, Model, SessionId, Time,
    trace::{Agent, CallSpan, Extent, Failure, Provider, SpanIds, StepKey, ToolSpan, TurnSpan},
};

use super::{Child, End, Told, Turn, children, cut};
use crate::{
    Home, text,
    transcript::{Record, ToolUse, Transcript, transcript_mtime},
};

pub(super) fn tell(home: &Home, id: &SessionId, t: &Transcript, want: &dyn Fn(StepKey) -> bool) -> Told {
    let records = t.ordered();
    let linked = children::linked(home, id);
    // Records of one turn each.
    let mut stretches: Vec<Vec<&Record>> = Vec::new();
    for r in records {
        if r.kind == "USER_INPUT" || (stretches.is_empty() && is_work(r)) {
            stretches.push(vec![r]);
        } else if let Some(last) = stretches.last_mut() {
            last.push(r);
        }
    }
    let n = stretches.len();
    let mut told = Told {
        conversation: id.clone(),
        parent: None,
        turns: Vec::new(),
        keys: Vec::new(),
        wrote: transcript_mtime(home, id).unwrap_or_default(),
        from_transcript: true,
    };
    for (at, records) in stretches.iter().enumerate() {
        let Some(first) = records.first() else { continue };
        let key = StepKey::new(first.step_index, first.created_at);
        told.keys.push(key);
        if want(key) {
            let turn = Teller::new(id, key, first.created_at).turn(records, &linked);
            told.turns.extend(turn.map(|t| Turn { is_followed: at + 1 < n, ..t }));
        }
    }
    told
}

fn is_work(r: &Record) -> bool {
    !matches!(
        r.kind.as_str(),
        "CHECKPOINT" | "CONVERSATION_HISTORY" | "EPHEMERAL_MESSAGE" | "SYSTEM_MESSAGE" | "USER_INPUT" | ""
    )
}

struct Teller<'a> {
    ids: SpanIds<'a>,
    began: Option<Time>,
    calls: Vec<CallSpan>,
    tools: Vec<ToolSpan>,
    children: Vec<Child>,
    /// What the newest planner asked for and has not got yet: results come in that order.
    asked: VecDeque<ToolUse>,
    prompt: Option<String>,
    failure: Option<Failure>,
}

impl<'a> Teller<'a> {
    fn new(conversation: &'a SessionId, key: StepKey, began: Option<Time>) -> Teller<'a> {
        Teller {
            ids: SpanIds { conversation, turn: key },
            began,
            calls: Vec::new(),
            tools: Vec::new(),
            children: Vec::new(),
            asked: VecDeque::new(),
            prompt: None,
            failure: None,
        }
    }

    /// `None` for a turn without any time: a span needs one.
    fn turn(mut self, records: &[&Record], linked: &[children::Link]) -> Option<Turn> {
        let times = || records.iter().filter_map(|r| r.created_at);
        let from = self.began.or_else(|| times().min())?;
        for (at, r) in records.iter().enumerate() {
            let next = records.get(at + 1..).into_iter().flatten().find_map(|r| r.created_at);
            self.record(r, from, next, linked);
        }
        let ends = self.calls.iter().map(|c| c.extent.to);
        let ends = ends.chain(self.calls.iter().flat_map(|c| &c.tools).map(|t| t.extent.to));
        let to = ends.chain(times()).max().unwrap_or(from);
        let is_broken = self.failure.is_some();
        let answer = self.calls.iter().rev().find_map(|c| c.output.clone());
        let span = TurnSpan {
            id: self.ids.turn(),
            extent: Extent::new(from, to, true),
            conversation: self.ids.conversation.clone(),
            execution: None,
            agent: Agent { name: "antigravity".to_owned(), version: None },
            model: None,
            provider: Provider::default(),
            finish_reason: None,
            failure: self.failure,
            incomplete: false,
            from_transcript: true,
            prompt: self.prompt.or_else(|| self.calls.first().and_then(|c| c.input.clone())),
            answer,
            calls: self.calls,
            tools: self.tools,
        };
        Some(Turn {
            key: self.ids.turn,
            span,
            children: self.children,
            end: if is_broken { End::Broken } else { End::Open },
            is_followed: false,
            is_settled: true,
            newest_step_at: times().max(),
            sides: Vec::new(),
        })
    }

    fn record(&mut self, r: &Record, began: Time, next: Option<Time>, linked: &[children::Link]) {
        let from = r.created_at.or(self.calls.last().map(|c| c.extent.to)).unwrap_or(began);
        match r.kind.as_str() {
            "USER_INPUT" => self.prompt = r.content.as_deref().map(|c| cut(text::unwrapped(c).trim())),
            "PLANNER_RESPONSE" => {
                self.failure = None;
                self.asked = r.tool_calls.iter().cloned().collect();
                let input = if self.calls.is_empty() { self.prompt.clone() } else { None };
                self.calls.push(CallSpan {
                    id: self.ids.answer(StepKey::new(r.step_index, r.created_at)),
                    // Its line says when it began; what came next began after it.
                    extent: Extent::new(from, next.unwrap_or(from), true),
                    kind: CallKind::Turn,
                    model: Model::default(),
                    request_model: None,
                    provider: Provider::default(),
                    response_id: None,
                    finish_reason: None,
                    failure: (r.status == "ERROR").then(|| Failure::of("error")),
                    tokens: None,
                    cost: None,
                    input,
                    output: r.content.as_deref().map(cut),
                    thinking: r.thinking.as_deref().map(cut),
                    tools: Vec::new(),
                });
            }
            "ERROR_MESSAGE" => {
                let words = r.error.as_deref().or(r.content.as_deref()).map(cut);
                self.failure = Some(Failure { kind: "error".to_owned(), words });
            }
            _ if is_work(r) => self.tool(r, from, linked),
            _ => {}
        }
    }

    fn tool(&mut self, r: &Record, from: Time, linked: &[children::Link]) {
        let call = self.asked.pop_front();
        let content = r.content.as_deref().unwrap_or_default();
        let (completed, result) = without_times(content);
        let id = self.ids.tool(StepKey::new(r.step_index, r.created_at));
        let name = call.as_ref().map_or_else(|| r.kind.to_ascii_lowercase(), |c| c.name.clone());
        if name == "invoke_subagent" {
            let of_step = linked.iter().filter(|l| l.step == r.step_index).map(|l| l.conversation.clone());
            for conversation in of_step.chain(children::named_in(content)) {
                if conversation != *self.ids.conversation
                    && !self.children.iter().any(|c| c.conversation == conversation)
                {
                    self.children.push(Child { tool: id, conversation });
                }
            }
        }
        let failed = r.status == "ERROR";
        let span = ToolSpan {
            id,
            extent: Extent::new(from, completed.unwrap_or(from), true),
            name,
            call_id: None,
            arguments: call.map(|c| cut(&c.args.to_string())),
            result: (!result.is_empty()).then(|| cut(result)),
            failure: failed
                .then(|| Failure { kind: "tool_error".to_owned(), words: r.error.as_deref().map(cut) }),
            turns: Vec::new(),
        };
        match self.calls.last_mut() {
            Some(call) => call.tools.push(span),
            None => self.tools.push(span),
        }
    }
}

/// A tool's text begins with its two times (agy-format §5.2).
fn without_times(content: &str) -> (Option<Time>, &str) {
    let Some(rest) = content.strip_prefix("Created At: ") else { return (None, content) };
    let Some((_, rest)) = rest.split_once('\n') else { return (None, content) };
    let Some(rest) = rest.strip_prefix("Completed At: ") else { return (None, rest) };
    let (at, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    (crate::transcript::time(at.trim()), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_tools_text_tells_when_it_ended() {
        let text = "Created At: 2026-06-28T09:54:31Z\nCompleted At: 2026-06-28T09:54:35Z\n\tdone";
        let (at, rest) = without_times(text);
        assert_eq!((at.unwrap().micros(), rest), (1_782_640_475_000_000, "\tdone"));
        assert_eq!(without_times("done"), (None, "done"));
        assert_eq!(without_times("Created At: x"), (None, "Created At: x"));
    }
}
