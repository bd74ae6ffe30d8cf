//! The verbs of a turn: prompts, model calls, and the ways in which a turn ends.

use anyhow::{Context, Result, bail};

use super::Live;
use crate::call::Call;
use crate::step::{Content, status};
use crate::trajectory::reason;
use crate::usage::Tokens;
use crate::{pools, sidecars};

/// What Esc leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Esc {
    /// The planner step (and open tools) CANCELED (6).
    Canceled,
    /// The planner step INTERRUPTED (12), open tools CANCELED.
    Interrupted,
    /// The planner step DONE with stop reason 16, open tools CANCELED.
    StopReason,
}

impl Live {
    /// The person sends a prompt and agy takes it up: USER_INPUT, DONE. Gives back the step.
    pub fn prompt(&mut self, text: &str) -> Result<u32> {
        let at = self.spec.clock.now();
        let first = self.recording.steps.is_empty();
        let step = self.recording.prompt(at, text)?;
        self.run.begins();
        let id = (!first).then_some(self.spec.id.as_str());
        sidecars::append_history(&self.home, at, text, self.spec.cwd.as_deref(), id)?;
        self.write()?;
        Ok(step)
    }

    /// The person types while a turn runs: USER_INPUT, QUEUED.
    pub fn queue_prompt(&mut self, text: &str) -> Result<u32> {
        let step = self.recording.queue_prompt(self.spec.clock.now(), text)?;
        self.queued.push(step);
        self.write()?;
        Ok(step)
    }

    /// agy takes up the oldest queued prompt: DONE, and a new execution begins.
    pub fn take_up_queued(&mut self) -> Result<u32> {
        anyhow::ensure!(!self.queued.is_empty(), "no prompt is queued");
        let step = self.queued.remove(0);
        self.recording.take_up(step, self.spec.clock.now())?;
        self.run.begins();
        self.write()?;
        Ok(step)
    }

    /// A request goes out: a planner step, GENERATING.
    pub fn call_begins(&mut self) -> Result<u32> {
        self.call_begins_with(self.spec.model)
    }

    /// The same with another model than the conversation's. An error when a hook aborts the run ([`Live::aborted`]).
    pub fn call_begins_with(&mut self, model: u32) -> Result<u32> {
        if self.call.is_some() {
            bail!("a call is under way");
        }
        self.before_call(model)?;
        let step = self.recording.begin_call(self.spec.clock.now(), model)?;
        self.call = Some(step);
        self.write()?;
        Ok(step)
    }

    /// More of the answer has come: the payload grows.
    pub fn call_streams(&mut self, more: &str) -> Result<()> {
        let step = self.call.context("no call is under way")?;
        self.recording.grow_call(step, self.spec.clock.now(), more)?;
        self.write()
    }

    /// The answer is there: DONE, a generator row, and the row before loses its heavy part. The model is the one that the
    /// call began with; the tools it asked for begin with [`Live::tool_begins`] or [`Live::tool_waits`].
    pub fn call_ends(&mut self, call: &Call) -> Result<u32> {
        let step = self.call.take().context("no call is under way")?;
        let model = self.recording.model;
        self.recording.end_call(step, self.spec.clock.now(), &Call { model, ..call.clone() })?;
        self.write()?;
        self.after_call(step);
        Ok(step)
    }

    /// A whole call with plausible tokens that asks for nothing.
    pub fn call(&mut self) -> Result<u32> {
        self.call_begins()?;
        let call = self.plausible_call();
        self.call_ends(&call)
    }

    /// A call with plausible tokens, for [`Live::call_ends`].
    pub fn plausible_call(&mut self) -> Call {
        let rng = &mut self.recording.rng;
        let before = self.recording.calls.iter().rev().find_map(|call| call.tokens);
        let prompt = before.map_or(9_000, |tokens| tokens.prompt().max(9_000)) + rng.range(200..2_400);
        let prompt = if prompt > 180_000 { 20_000 } else { prompt };
        Call::model(self.spec.model)
            .with(Tokens::random(rng, prompt))
            .text(&pools::prose(rng, 2))
            .thinking(&pools::prose(rng, 2))
    }

    /// The turn is over: an executor row with reason NO_TOOL_CALL. A tool may still be RUNNING (held in the background).
    pub fn end_turn(&mut self) -> Result<()> {
        self.end_turn_with(reason::NO_TOOL_CALL)
    }

    /// The turn is over for this reason ([`crate::trajectory::reason`]): Stop hooks, then an executor row. When one of them
    /// wants another turn there is a message instead of the row ([`Live::goes_on`]).
    pub fn end_turn_with(&mut self, reason: u32) -> Result<()> {
        if let Some(reason) = self.before_end(reason)? {
            self.recording.end_execution(reason);
        }
        self.write()
    }

    /// The turn is over, but agy writes neither the last rows nor the executor row before [`Live::flush`].
    pub fn end_turn_late(&mut self) -> Result<()> {
        self.hold_writes();
        self.end_turn()
    }

    /// The API fails for good: the planner step becomes ERROR, an ERROR_MESSAGE step follows, and no executor row.
    pub fn api_error(&mut self, code: u32, message: &str) -> Result<u32> {
        let at = self.spec.clock.now();
        if let Some(step) = self.call.take() {
            self.stop(step, status::ERROR, 13)?;
        }
        let step = self.recording.api_error(at, code, message)?;
        self.run.rests(true);
        self.write()?;
        Ok(step)
    }

    /// `agy -p` meets a tool that nobody can allow: the tool step ends as ERROR, and the executor row has a reason that is
    /// no error. No hook tells of it.
    pub fn headless_refusal(&mut self, name: &str, args: serde_json::Value) -> Result<u32> {
        let call = self.recording.tool_call(name, args);
        let step = self.recording.tool(self.spec.clock.now(), call, status::RUNNING)?;
        let text = "Tool use was denied: permission prompts are not available in headless mode.";
        self.recording.end_tool(step, self.spec.clock.now(), status::ERROR, text, true)?;
        self.recording.end_execution(reason::TERMINAL_STEP_TYPE);
        self.run.rests(true);
        self.write()?;
        Ok(step)
    }

    /// Esc: what runs stops. agy sends no Stop and writes no executor row.
    pub fn esc(&mut self, how: Esc) -> Result<()> {
        let at = self.spec.clock.now();
        for step in std::mem::take(&mut self.tools) {
            self.recording.end_tool(step, at, status::CANCELED, "Canceled by the user.", false)?;
        }
        if let Some(step) = self.call.take() {
            match how {
                Esc::Canceled => self.stop(step, status::CANCELED, 0)?,
                Esc::Interrupted => self.stop(step, status::INTERRUPTED, 0)?,
                Esc::StopReason => self.stop(step, status::DONE, 16)?,
            }
        }
        self.run.rests(true);
        self.write()
    }

    fn stop(&mut self, step: u32, to: u32, reason: u32) -> Result<()> {
        if let Content::Planner { stop_reason, .. } = &mut self.recording.edit(step)?.content {
            *stop_reason = reason;
        }
        self.recording.set_status(step, to, self.spec.clock.now())
    }

    /// The background model makes a title: a CHECKPOINT step with usage, and `annotations/<id>.pbtxt`.
    pub fn title_call(&mut self, title: &str) -> Result<u32> {
        let tokens = Tokens { input: 46, output: 5, ..Tokens::default() };
        let step = self.recording.title_call(self.spec.clock.now(), 1, title, tokens)?;
        sidecars::write_annotation(&self.home, &self.spec.id, title)?;
        self.write()?;
        Ok(step)
    }

    /// The background model sums up what was: a CHECKPOINT step that is no title.
    pub fn checkpoint_compaction(&mut self, summary: &str) -> Result<u32> {
        let tokens = Tokens { input: 4_100, output: 620, cache_read: 31_000, cache_write: 0, thinking: 140 };
        let step = self.recording.compaction(self.spec.clock.now(), 1, summary, tokens)?;
        self.write()?;
        Ok(step)
    }
}
