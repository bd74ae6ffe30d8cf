//! Model calls in a recording: planner steps, generator rows, title and summary calls, and what their oddities do to the
//! rows and to the right answer.

use std::time::Duration;

use anyhow::Result;

use crate::call::{Call, Quirk};
use crate::clock::At;
use crate::gen_row::{CallTime, Gen};
use crate::home::Layout;
use crate::models;
use crate::recording::{CallFact, Recording, WarningFact};
use crate::step::{Content, kind, status};
use crate::usage::{Attempt, Tokens, Usage};

const STOP_NORMAL: u32 = 2;
const STOP_FUNCTION_CALL: u32 = 10;

impl Recording {
    /// A request goes out: a planner step that is GENERATING.
    pub fn begin_call(&mut self, at: At, model: u32) -> Result<u32> {
        self.model = model;
        self.invocations += 1;
        let message_id = format!("bot-{}", self.rng.uuid());
        let content = Content::Planner {
            text: String::new(),
            thinking: String::new(),
            message_id,
            tools: Vec::new(),
            stop_reason: 0,
            signature: Vec::new(),
        };
        let idx = self.push(at, kind::PLANNER, 2, content);
        self.edit(idx)?.model = Some(model);
        self.set_status(idx, status::GENERATING, at.plus_us(900))?;
        Ok(idx)
    }

    /// More of the answer has come.
    pub fn grow_call(&mut self, idx: u32, at: At, more: &str) -> Result<()> {
        let step = self.edit(idx)?;
        step.viewable.get_or_insert(at);
        if let Content::Planner { text, .. } = &mut step.content {
            text.push_str(more);
        }
        Ok(())
    }

    /// The answer is there: the step is DONE and, unless a quirk says otherwise, a generator row is written. Tool steps
    /// are not made here.
    pub fn end_call(&mut self, idx: u32, at: At, call: &Call) -> Result<()> {
        let created = self.step(idx)?.created;
        let usage = self.usage_of(idx, call)?;
        let first_token = self.step(idx)?.viewable.unwrap_or_else(|| {
            created.plus_us(i64::try_from(at.since(created).as_micros()).unwrap_or(0) * 7 / 9)
        });
        let tools: Vec<_> =
            call.tools.iter().map(|tool| self.tool_call(&tool.name, tool.args.clone())).collect();
        let signature = self.rng.bytes(96);
        let (in_gen, in_step) = rows_of(call, &usage);

        let step = self.edit(idx)?;
        step.viewable = Some(first_token);
        step.generated = Some(at);
        step.usage = in_step;
        step.garbage = call.has(Quirk::GarbageStep);
        step.absurd_time = call.has(Quirk::AbsurdTime);
        if let Content::Planner { text, thinking, tools: asked, stop_reason, signature: signed, .. } =
            &mut step.content
        {
            *stop_reason = if tools.is_empty() { STOP_NORMAL } else { STOP_FUNCTION_CALL };
            call.text.clone_into(text);
            call.thinking.clone_into(thinking);
            *asked = tools;
            *signed = signature;
        }
        self.set_status(idx, status::DONE, at)?;

        if !call.has(Quirk::NoGen) {
            let failed = self.failed_attempts(call, &usage, idx);
            self.push_gen(idx, call, in_gen, failed, first_token);
        }
        self.note(idx, call, &usage);
        Ok(())
    }

    fn usage_of(&mut self, idx: u32, call: &Call) -> Result<Usage> {
        let message_id = match &self.step(idx)?.content {
            Content::Planner { message_id, .. } => message_id.clone(),
            _ => String::new(),
        };
        let model = models::lookup(call.model);
        let other = self.layout == Layout::V1_2;
        let provider = if other || model.provider > 24 { model.provider } else { 24 };
        let response_id = call.response_id.clone().unwrap_or_else(|| self.rng.response_id());
        let hidden = [Quirk::NoIds, Quirk::MessageIdOnly, Quirk::ProviderIdOnly];
        let outside = (provider == 26 || provider == 31) || call.has(Quirk::ProviderIdOnly);
        let provider_id = format!("msg_{:016x}", self.rng.u64());
        Ok(Usage {
            model: call.model,
            tokens: call.tokens,
            response: call.tokens.output.saturating_sub(call.tokens.thinking)
                + if call.has(Quirk::Mismatch) { 7 } else { 0 },
            provider,
            message_id: ((other && !call.has(Quirk::ProviderIdOnly)) || call.has(Quirk::MessageIdOnly))
                .then_some(message_id)
                .filter(|_| !call.has(Quirk::NoIds)),
            session: self.session.clone(),
            response_id: Some(response_id).filter(|_| !hidden.iter().any(|q| call.has(*q))),
            provider_message_id: outside
                .then_some(provider_id)
                .filter(|_| !call.has(Quirk::NoIds) && !call.has(Quirk::MessageIdOnly)),
        })
    }

    fn failed_attempts(&mut self, call: &Call, usage: &Usage, step: u32) -> Vec<Attempt> {
        let mut out = Vec::new();
        for tokens in &call.failed {
            let response_id = self.rng.response_id();
            let mut failed = usage.with_tokens(*tokens);
            failed.response_id = Some(response_id.clone());
            failed.message_id = None;
            failed.provider_message_id = None;
            out.push(Attempt {
                usage: failed,
                error: "MALFORMED_FUNCTION_CALL: the model produced an invalid tool call.".to_owned(),
                trace_id: format!("{:016x}", self.rng.u64()),
            });
            self.calls.push(CallFact { uid: response_id, model: call.model, tokens: Some(*tokens), step });
        }
        out
    }

    fn push_gen(
        &mut self,
        idx: u32,
        call: &Call,
        usage: Option<Usage>,
        mut attempts: Vec<Attempt>,
        first: At,
    ) {
        let created = self.steps.get(idx as usize).map_or(first, |step| step.created);
        // The success repeats the parent's usage, id and all. An impossible number stands once only.
        if let Some(usage) = usage.clone().filter(|_| !call.has(Quirk::HugeGen)) {
            let trace_id = format!("{:016x}", self.rng.u64());
            attempts.push(Attempt { usage, error: String::new(), trace_id });
        }
        // 1.0.10's call time is a little earlier than the planner step's.
        let asked = created.plus_us(-874);
        let time = match (self.layout, call.has(Quirk::AbsurdTime)) {
            (Layout::V1_0, true) => CallTime::Absurd,
            (Layout::V1_0, false) => CallTime::At(asked),
            (Layout::V1_2, _) => CallTime::Absent,
        };
        let end = self.steps.get(idx as usize).and_then(|step| step.completed).unwrap_or(first);
        let row = Gen {
            layout: self.layout,
            step_indices: vec![idx],
            execution_id: self.execution.clone(),
            model: call.model,
            usage,
            attempts,
            time,
            since_last: self.last_call.map(|last| asked.since(last)),
            first_token: first.since(created),
            streaming: end.since(first).max(Duration::from_micros(1)),
            last_step_index: idx.saturating_sub(1),
            trajectory_id: self.trajectory_id.clone(),
            // Never equal to what is billed: an estimate by the client.
            estimated: (call.tokens.prompt() * 27 / 20 + 637).min(1_900_000),
            full_prompt: self.full_prompt,
            garbage: call.has(Quirk::GarbageGen),
            injected: false,
        };
        self.last_call = Some(asked);
        let at = self.gens.len() as u32;
        self.dirty.gens.extend(at.checked_sub(1));
        self.dirty.gens.insert(at);
        self.gens.push(row);
    }

    /// An answer that a hook put in: a planner step and a generator row, but no call.
    pub fn injected_answer(&mut self, at: At, text: &str) -> Result<u32> {
        let idx = self.begin_call(at, self.model)?;
        self.invocations = self.invocations.saturating_sub(1);
        self.grow_call(idx, at.plus_ms(1), text)?;
        self.set_status(idx, status::DONE, at.plus_ms(2))?;
        let call = Call::model(self.model).quirk(Quirk::NoUsage);
        self.push_gen(idx, &call, None, Vec::new(), at);
        if let Some(row) = self.gens.last_mut() {
            row.injected = true;
        }
        Ok(idx)
    }

    fn note(&mut self, idx: u32, call: &Call, usage: &Usage) {
        let uid = usage
            .response_id
            .clone()
            .or_else(|| usage.provider_message_id.clone())
            .or_else(|| usage.message_id.clone())
            .unwrap_or_else(|| format!("{}#{idx}#{}", self.trajectory_id, self.rng.u64()));
        let tokens = Some(call.tokens).filter(|_| !call.has(Quirk::NoUsage));
        self.calls.push(CallFact { uid, model: call.model, tokens, step: idx });
        for quirk in &call.quirks {
            let code = match quirk {
                Quirk::GarbageGen | Quirk::GarbageStep | Quirk::HugeGen => "undecodable_row",
                Quirk::Mismatch => "usage_mismatch",
                _ => continue,
            };
            self.warnings.push(WarningFact { code, step: idx });
        }
    }

    /// The call of the small model that makes a title after turn one. Its usage is in `steps` only, in metadata 9 and 28.
    pub fn title_call(&mut self, at: At, took_ms: i64, title: &str, tokens: Tokens) -> Result<u32> {
        self.title = Some(title.to_owned());
        self.checkpoint(at, took_ms, true, title, tokens)
    }

    /// A compaction: a summary in a CHECKPOINT step, with usage in `steps` only.
    pub fn compaction(&mut self, at: At, took_ms: i64, summary: &str, tokens: Tokens) -> Result<u32> {
        self.checkpoint(at, took_ms, false, summary, tokens)
    }

    fn checkpoint(&mut self, at: At, took_ms: i64, title: bool, text: &str, tokens: Tokens) -> Result<u32> {
        let requests = self
            .steps
            .iter()
            .filter_map(|step| match &step.content {
                Content::User { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect();
        let content = Content::Checkpoint {
            intent_only: title,
            text: text.to_owned(),
            end: self.next_step(),
            log_uri: self.log_uri.clone(),
            requests,
        };
        let idx = self.push(at, kind::CHECKPOINT, 5, content);
        let response_id = self.rng.response_id();
        let usage = Usage {
            model: models::BACKGROUND,
            tokens,
            response: tokens.output.saturating_sub(tokens.thinking),
            provider: if self.layout == Layout::V1_0 { 24 } else { 3 },
            message_id: None,
            session: self.session.clone(),
            response_id: Some(response_id.clone()),
            provider_message_id: None,
        };
        let step = self.edit(idx)?;
        step.transitions.push((status::PENDING, at.plus_us(6)));
        step.attempts = vec![Attempt { usage: usage.clone(), error: String::new(), trace_id: String::new() }];
        step.usage = Some(usage);
        self.set_status(idx, status::RUNNING, at.plus_us(700))?;
        self.set_status(idx, status::DONE, at.plus_ms(took_ms))?;
        let fact = CallFact { uid: response_id, model: models::BACKGROUND, tokens: Some(tokens), step: idx };
        self.calls.push(fact);
        Ok(idx)
    }
}

/// What the generator row and the step say of one call.
fn rows_of(call: &Call, usage: &Usage) -> (Option<Usage>, Option<Usage>) {
    if call.has(Quirk::NoUsage) {
        return (None, None);
    }
    let (mut in_gen, mut in_step) = (usage.clone(), usage.clone());
    if call.has(Quirk::HugeGen) {
        in_gen.tokens.input = (1 << 40) + 5;
    }
    if call.has(Quirk::StepStreamed) {
        in_step = usage.with_tokens(call.tokens.streamed());
    }
    if call.has(Quirk::GenStreamed) {
        in_gen = usage.with_tokens(call.tokens.streamed());
    }
    if call.has(Quirk::Split) {
        in_gen = usage.with_tokens(call.tokens.streamed());
        in_step.tokens.input /= 2;
        in_step.tokens.cache_read /= 3;
    }
    (Some(in_gen), Some(in_step).filter(|_| !call.has(Quirk::NoStepUsage)))
}
