//! The verbs of lineage: rewind, fork, sub-agents.

use std::fs;

use anyhow::Result;
use serde_json::json;

use super::{Live, LiveSpec};
use crate::rng::Rng;
use crate::sidecars;
use crate::step::status;
use crate::trajectory::SubagentSpec;

impl Live {
    /// `/rewind` to before step `to`: rows go, indices are used again, the trajectory gets a new id.
    pub fn rewind(&mut self, to: u32) -> Result<()> {
        self.recording.rewind(to)?;
        self.rewound = true;
        self.call = self.call.filter(|step| *step < to);
        self.tools.retain(|step| *step < to);
        self.queued.retain(|step| *step < to);
        sidecars::append_history(
            &self.home,
            self.spec.clock.now(),
            "/rewind",
            self.spec.cwd.as_deref(),
            Some(&self.spec.id),
        )?;
        self.write()
    }

    /// `/fork`: a new conversation with copies of the rows, open beside this one, and an opaque `.pb` next to it.
    pub fn fork(&mut self) -> Result<Live> {
        let id = self.recording.rng.uuid();
        let recording = self.recording.fork(&id, self.spec.clock.now(), None);
        fs::write(self.home.pb(&id), Rng::named(&id).bytes(4096))?;
        let spec = LiveSpec { id, ..self.spec.clone() };
        // The copied steps have lines too.
        Live::open(&self.home, spec, recording, 0, self.hooks.clone())
    }

    /// The model starts a sub-agent: a tool step `invoke_subagent` that ends at once, and the child's own conversation
    /// with its first prompt. The child reports with [`Live::subagent_reports`].
    pub fn subagent(&mut self, role: &str, prompt: &str) -> Result<Live> {
        let id = self.recording.rng.uuid();
        let args = json!({"Subagents": [{"TypeName": "research", "Role": role, "Prompt": prompt}]});
        let step = self.tool_begins("invoke_subagent", args)?;
        anyhow::ensure!(self.tools.contains(&step), "a hook denied the sub-agent");
        let spec = SubagentSpec {
            type_name: "research".to_owned(),
            role: role.to_owned(),
            prompt: prompt.to_owned(),
        };
        let recording = self.recording.child(&id, self.spec.clock.now(), spec);
        sidecars::write_subagent_link(&self.home, &recording, step)?;
        let spec = LiveSpec { id: id.clone(), ..self.spec.clone() };
        let mut child = Live::open(&self.home, spec, recording, 0, self.hooks.clone())?;
        let log = format!("file://{}", self.home.transcript(&id).display());
        let result = json!({"conversationId": id, "logAbsoluteUri": log, "workspaceUris": []});
        self.tools.retain(|open| *open != step);
        self.recording.end_tool(
            step,
            self.spec.clock.now(),
            status::DONE,
            &format!("Created the following subagents:\n{result}"),
            false,
        )?;
        self.write()?;
        self.run.adopt(&child.run);
        self.after_tool(step);
        child.session_starts();
        child.prompt(prompt)?;
        Ok(child)
    }

    /// A sub-agent's report arrives in its parent: a SYSTEM_MESSAGE step and a message file.
    pub fn subagent_reports(&mut self, child: &str, text: &str) -> Result<u32> {
        let at = self.spec.clock.now();
        let step = self.recording.system_message(at, text, child)?;
        let message = self.recording.rng.uuid();
        sidecars::write_message(&self.home, &message, &self.spec.id, child, at, text)?;
        self.write()?;
        Ok(step)
    }
}
