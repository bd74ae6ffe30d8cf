//! The verbs of tools: they run, wait for a permission, are allowed or denied, and end. Several can be open at once.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Live;
use crate::hooks::ToolAnswer;
use crate::step::{Content, ToolCall, status};

/// How a tool ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    /// DONE, with this result.
    Ok(String),
    /// ERROR, with this message.
    Fails(String),
}

impl ToolEnd {
    /// DONE, with a plain result.
    pub fn ok() -> Self {
        Self::Ok("The command exited with code 0.".to_owned())
    }

    /// ERROR, with a plain message.
    pub fn fails() -> Self {
        Self::Fails("The command exited with code 1.".to_owned())
    }
}

impl Live {
    /// A tool starts at once: RUNNING. Gives back its step, which is an ERROR and not open when a hook denied it, and WAITING
    /// when one asked for a permission.
    pub fn tool_begins(&mut self, name: &str, args: Value) -> Result<u32> {
        self.tool_step(name, args, status::RUNNING)
    }

    /// A tool needs a permission (or is a question): WAITING, with the tool call in the metadata.
    pub fn tool_waits(&mut self, name: &str, args: Value) -> Result<u32> {
        self.tool_step(name, args, status::WAITING)
    }

    fn tool_step(&mut self, name: &str, args: Value, first: u32) -> Result<u32> {
        let mut call = match self.asked_for(name, &args) {
            Some(call) => call,
            None => self.recording.tool_call(name, args),
        };
        let answer = self.before_tool(&mut call);
        let first = if answer == ToolAnswer::Asks { status::WAITING } else { first };
        let step = self.recording.tool(self.spec.clock.now(), call, first)?;
        if let ToolAnswer::Denied(reason) = answer {
            let text = format!("tool call denied by pre-tool hook: {reason}");
            self.recording.end_tool(step, self.spec.clock.now(), status::ERROR, &text, false)?;
        } else {
            self.tools.push(step);
        }
        self.write()?;
        Ok(step)
    }

    /// The call with its id, if the newest answer asked for just this one and no step has it yet.
    fn asked_for(&self, name: &str, args: &Value) -> Option<ToolCall> {
        let asked = self.recording.steps.iter().rev().find_map(|step| match &step.content {
            Content::Planner { tools, .. } => Some(tools),
            _ => None,
        })?;
        let taken =
            |id: &str| self.recording.steps.iter().rev().any(|s| s.tool().is_some_and(|t| t.id == id));
        asked.iter().find(|call| call.name == name && call.args == *args && !taken(&call.id)).cloned()
    }

    fn waiting(&self) -> Result<u32> {
        let is_waiting = |step: &&u32| self.recording.step(**step).is_ok_and(|s| s.status == status::WAITING);
        self.tools.iter().find(is_waiting).copied().context("no tool waits")
    }

    /// The person allows the tool that has waited longest: RUNNING.
    pub fn allow(&mut self) -> Result<u32> {
        let step = self.waiting()?;
        self.recording.set_status(step, status::RUNNING, self.spec.clock.now())?;
        self.write()?;
        Ok(step)
    }

    /// The person denies the tool that has waited longest: ERROR.
    pub fn deny(&mut self) -> Result<u32> {
        let step = self.waiting()?;
        self.tools.retain(|open| *open != step);
        let at = self.spec.clock.now();
        self.recording.end_tool(step, at, status::ERROR, "User denied permission for this tool.", true)?;
        self.write()?;
        Ok(step)
    }

    /// The tool that began first ends.
    pub fn tool_ends(&mut self, end: ToolEnd) -> Result<u32> {
        let step = *self.tools.first().context("no tool is open")?;
        self.tool_step_ends(step, end)?;
        Ok(step)
    }

    /// This tool ends.
    pub fn tool_step_ends(&mut self, step: u32, end: ToolEnd) -> Result<()> {
        anyhow::ensure!(self.tools.contains(&step), "step {step} is no open tool");
        self.tools.retain(|open| *open != step);
        let (to, text) = match end {
            ToolEnd::Ok(text) => (status::DONE, text),
            ToolEnd::Fails(text) => (status::ERROR, text),
        };
        self.recording.end_tool(step, self.spec.clock.now(), to, &text, false)?;
        self.write()?;
        self.after_tool(step);
        Ok(())
    }

    /// Steps of the tools that are open, oldest first.
    pub fn open_tools(&self) -> &[u32] {
        &self.tools
    }
}
