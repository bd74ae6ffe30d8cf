//! Rewinds, forks and sub-agents of a recording.

use anyhow::Result;

use crate::clock::At;
use crate::home::Layout;
use crate::recording::{Dirty, Recording};
use crate::trajectory::{Blob, Reference, SubagentSpec};

const PRUNE: u32 = 1;
const FORK: u32 = 2;

impl Recording {
    /// `/rewind`: everything from step `to` on goes, with its generator and execution rows; the trajectory gets a new id,
    /// and a reference that names the conversation itself. Indices are used again.
    pub fn rewind(&mut self, to: u32) -> Result<()> {
        let step_type = self.step(to)?.kind;
        self.references_push(to, step_type, PRUNE, Some(self.id.clone()));
        self.cut(to);
        self.trajectory_id = self.rng.uuid();
        // agy rewrites the rows that stay, too.
        self.dirty.gens = (0..self.gens.len() as u32).collect();
        self.dirty.whole = true;
        Ok(())
    }

    /// Forgets everything from step `to` on, as if it had not happened yet.
    pub(crate) fn rewind_quietly(&mut self, to: u32) {
        self.cut(to);
    }

    fn cut(&mut self, to: u32) {
        self.steps.truncate(to as usize);
        self.gens.retain_mut(|row| {
            row.step_indices.retain(|idx| *idx < to);
            !row.step_indices.is_empty()
        });
        let kept: Vec<String> = self.steps.iter().map(|step| step.execution_id.clone()).collect();
        self.executions.retain(|row| row.last_step < to && kept.contains(&row.id));
        self.calls.retain(|call| call.step < to);
        self.warnings.retain(|warning| warning.step < to);
        self.finished.retain(|idx| *idx < to);
        self.dirty.steps.retain(|idx| *idx < to);
        self.dirty.executions_from = Some(0);
    }

    fn references_push(&mut self, step: u32, step_type: u32, kind: u32, conversation: Option<String>) {
        self.dirty.references_from.get_or_insert(self.references.len());
        self.references.push(Reference {
            trajectory_id: self.trajectory_id.clone(),
            step,
            step_type,
            kind,
            // 1.0.x named the trajectory only.
            conversation: conversation.filter(|_| self.layout == Layout::V1_2),
        });
    }

    /// `/fork` before step `at_step` (or of everything): a new conversation with copies of the rows, old times and old
    /// trajectory ids included. `created` is what its blob says, which need not be later than the origin's.
    pub fn fork(&self, id: &str, created: At, at_step: Option<u32>) -> Self {
        let mut fork = Recording::new(id, self.layout, created);
        fork.log_uri = self.log_uri.replace(&self.id, id);
        fork.blob = Blob { workspaces: self.blob.workspaces.clone(), ..fork.blob };
        fork.steps.clone_from(&self.steps);
        fork.gens.clone_from(&self.gens);
        fork.executions.clone_from(&self.executions);
        fork.calls.clone_from(&self.calls);
        fork.warnings.clone_from(&self.warnings);
        fork.finished.clone_from(&self.finished);
        fork.title.clone_from(&self.title);
        fork.model = self.model;
        fork.last_call = self.last_call;
        if let Some(to) = at_step {
            fork.cut(to);
        }
        let new_trajectory = std::mem::replace(&mut fork.trajectory_id, self.trajectory_id.clone());
        let last = fork.next_step().saturating_sub(1);
        let step_type = fork.steps.last().map_or(0, |step| step.kind);
        fork.references_push(last, step_type, FORK, Some(self.id.clone()));
        fork.trajectory_id = new_trajectory;
        fork.forked_from = Some(self.id.clone());
        fork.dirty = Dirty {
            steps: (0..fork.steps.len() as u32).collect(),
            gens: (0..fork.gens.len() as u32).collect(),
            executions_from: Some(0),
            references_from: Some(0),
            whole: true,
        };
        fork
    }

    /// An empty conversation that is a sub-agent of this one.
    pub fn child(&self, id: &str, at: At, spec: SubagentSpec) -> Self {
        let mut child = Recording::new(id, self.layout, at);
        child.source = 16;
        child.log_uri = self.log_uri.replace(&self.id, id);
        child.model = self.model;
        child.blob = Blob {
            workspaces: self.blob.workspaces.clone(),
            parent: Some(self.id.clone()),
            root: self.blob.root.clone(),
            depth: self.blob.depth + 1,
            subagent: Some(spec),
            ..child.blob
        };
        child
    }
}
