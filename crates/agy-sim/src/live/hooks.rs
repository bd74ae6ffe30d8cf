//! When hooks fire in a live conversation, and what their answers do to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::Live;
use crate::home::Layout;
use crate::hooks::{self, HookEvent, Hooks, Subject, ToolAnswer};
use crate::step::ToolCall;
use crate::trajectory::reason;

/// Turns that a Stop hook can force in one run.
pub(super) const MOST_FORCED: u32 = 5;

/// What hooks need to know of a run.
#[derive(Debug, Default)]
pub(super) struct RunState {
    /// True from a prompt until nothing is at work any more; shared with the parent.
    busy: Arc<AtomicBool>,
    /// The same of the sub-agents.
    children: Vec<Arc<AtomicBool>>,
    /// Steps when the newest call began.
    steps: u32,
    forced: u32,
    goes_on: bool,
    aborted: bool,
    loses_stop: bool,
}

impl RunState {
    /// A new execution begins.
    pub(super) fn begins(&mut self) {
        self.busy.store(true, Ordering::SeqCst);
        (self.forced, self.goes_on, self.aborted) = (0, false, false);
    }

    /// It is over; `idle`: nothing goes on in the background.
    pub(super) fn rests(&mut self, idle: bool) {
        self.busy.store(!idle, Ordering::SeqCst);
    }

    /// A sub-agent is at work.
    pub(super) fn adopt(&mut self, child: &Self) {
        self.children.push(Arc::clone(&child.busy));
    }
}

impl Drop for RunState {
    fn drop(&mut self) {
        self.rests(true);
    }
}

impl Live {
    /// The hooks of its process.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// True after a hook on `PreInvocation` aborted the run, until the next prompt.
    pub fn aborted(&self) -> bool {
        self.run.aborted
    }

    /// True after an end of the turn that a Stop hook turned into another turn: go on with calls.
    pub fn goes_on(&self) -> bool {
        self.run.goes_on
    }

    /// The next Stop is not sent; its executor row is written.
    pub fn lose_next_stop(&mut self) {
        self.run.loses_stop = true;
    }

    /// True when nothing is at work in the background: no open tool, no sub-agent in its turn.
    pub fn fully_idle(&self) -> bool {
        self.tools.is_empty() && !self.run.children.iter().any(|child| child.load(Ordering::SeqCst))
    }

    /// After a held Stop: something in the background ended, agy tells the model by a message, and a new execution begins
    /// without a prompt. Its end sends the final Stop. Gives back the message's step.
    pub fn wakes(&mut self, text: &str) -> Result<u32> {
        self.recording.begin_execution();
        self.run.begins();
        let step = self.recording.system_message(self.spec.clock.now(), text, "")?;
        self.write()?;
        Ok(step)
    }

    fn fire(&self, event: HookEvent, tool: &str, extra: impl FnOnce() -> Value) -> Vec<String> {
        if !self.hooks.listens(event) {
            return Vec::new();
        }
        let subject = Subject {
            home: &self.home,
            id: &self.spec.id,
            layout: self.spec.layout,
            workspaces: &self.recording.blob.workspaces,
            model: self.recording.model,
        };
        let payload = hooks::payload(subject, event, extra());
        self.hooks.fire(event, tool, &self.spec.id, &payload)
    }

    /// A new conversation: hooks hear of it since 1.1.
    pub(super) fn session_starts(&mut self) {
        if self.spec.layout == Layout::V1_2 {
            self.fire(HookEvent::SessionStart, "", || json!({}));
        }
    }

    /// Before a call with this model.
    pub(super) fn before_call(&mut self, model: u32) -> Result<()> {
        self.run.goes_on = false;
        self.run.busy.store(true, Ordering::SeqCst);
        self.run.steps = self.recording.next_step();
        self.recording.model = model;
        let number = self.recording.invocations;
        let answers = self.fire(HookEvent::PreInvocation, "", || self.invocation(number));
        if hooks::aborts(&answers) {
            let text = "hook PreInvocation failed: unknown field \"decision\"";
            self.recording.api_error(self.spec.clock.now(), 0, text)?;
            self.recording.end_execution(reason::ERROR);
            self.run.aborted = true;
            self.run.rests(true);
            self.write()?;
            bail!("a PreInvocation hook answered a decision: the run is aborted");
        }
        Ok(())
    }

    fn invocation(&self, number: u32) -> Value {
        json!({"invocationNum": number, "initialNumSteps": self.run.steps})
    }

    /// After a call, whose planner step is `step`.
    pub(super) fn after_call(&mut self, step: u32) {
        // Before 1.1.9 steps that are no tools fired too.
        if self.spec.layout == Layout::V1_0 {
            self.fire(HookEvent::PostToolUse, "", || json!({"stepIdx": step, "error": ""}));
        }
        let number = self.recording.invocations.saturating_sub(1);
        self.fire(HookEvent::PostInvocation, "", || self.invocation(number));
    }

    /// Before a tool that will be the next step. A hook may change its arguments.
    pub(super) fn before_tool(&mut self, call: &mut ToolCall) -> ToolAnswer {
        let step = self.recording.next_step();
        let answers = self.fire(
            HookEvent::PreToolUse,
            &call.name,
            || json!({"toolCall": {"name": call.name, "args": call.args}, "stepIdx": step}),
        );
        let (answer, overwrite) = hooks::of_tool(self.spec.layout, &answers);
        if let Value::Object(args) = &mut call.args {
            args.extend(overwrite);
        }
        answer
    }

    /// After the tool of this step. A failed command leaves no trace: `error` is empty then as well.
    pub(super) fn after_tool(&mut self, step: u32) {
        let Some(call) = self.recording.steps.get(step as usize).and_then(|step| step.tool()) else { return };
        self.fire(
            HookEvent::PostToolUse,
            &call.name,
            || json!({"toolCall": {"name": call.name, "args": call.args}, "stepIdx": step, "error": ""}),
        );
    }

    /// The execution would end for this reason: sends Stop. None when a hook wants another turn, else the reason for the row.
    pub(super) fn before_end(&mut self, why: u32) -> Result<Option<u32>> {
        self.run.goes_on = false;
        let idle = self.fully_idle();
        let lost = std::mem::take(&mut self.run.loses_stop) || self.hooks.options().lose_stops;
        let mut answers = Vec::new();
        if !lost && why != reason::USER_CANCELED {
            let error = if why == reason::ERROR { "the executor failed" } else { "" };
            answers = self.fire(HookEvent::Stop, "", || {
                json!({
                    "executionNum": 0,
                    "terminationReason": hooks::reason_name(self.spec.layout, why),
                    "error": error,
                    "fullyIdle": idle,
                })
            });
        }
        if let Some(reason) = hooks::keeps_going(&answers) {
            if self.run.forced < MOST_FORCED {
                self.run.forced += 1;
                self.run.goes_on = true;
                let text = format!("Stop hook blocked termination: {reason}");
                self.recording.system_message(self.spec.clock.now(), &text, "")?;
                return Ok(None);
            }
            self.run.rests(idle);
            return Ok(Some(reason::MAX_FORCED_INVOCATIONS));
        }
        self.run.rests(idle);
        Ok(Some(why))
    }
}
