//! A conversation in memory, row by row, as agy would write it. Builders and live play both make one; `writer` puts it on
//! disk. Beside the rows it keeps what they mean (`facts`), which is where the right answers come from.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::clock::At;
use crate::gen_row::Gen;
use crate::home::Layout;
use crate::rng::Rng;
use crate::step::{Content, Step, ToolCall, kind, status};
use crate::trajectory::{Blob, Execution, Reference};
use crate::usage::Tokens;

/// A call that a row, or several, tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFact {
    /// Its response id, or something unique where the rows have none.
    pub uid: String,
    /// Number of the model.
    pub model: u32,
    /// `None` when no row has a usage message.
    pub tokens: Option<Tokens>,
    /// Step that it belongs to.
    pub step: u32,
}

/// A warning that a reader owes its person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarningFact {
    /// `undecodable_row`, `usage_mismatch`.
    pub code: &'static str,
    /// Step that it belongs to.
    pub step: u32,
}

/// What the file on disk does not have yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dirty {
    pub(crate) steps: BTreeSet<u32>,
    pub(crate) gens: BTreeSet<u32>,
    pub(crate) executions_from: Option<usize>,
    pub(crate) references_from: Option<usize>,
    /// The two single-row tables, and rows beyond the ends.
    pub(crate) whole: bool,
}

/// A conversation.
#[derive(Debug, Clone)]
pub struct Recording {
    /// UUID of the file.
    pub id: String,
    /// Which version writes it.
    pub layout: Layout,
    /// `trajectory_meta.trajectory_id`.
    pub trajectory_id: String,
    /// `trajectory_meta.source`: 17 CLI, 16 sub-agent.
    pub source: u32,
    /// The metadata blob.
    pub blob: Blob,
    /// Rows of `steps`; the index is `idx`.
    pub steps: Vec<Step>,
    /// Rows of `gen_metadata`.
    pub gens: Vec<Gen>,
    /// Rows of `executor_metadata`.
    pub executions: Vec<Execution>,
    /// Rows of `parent_references`.
    pub references: Vec<Reference>,
    /// agy's title, once it has one.
    pub title: Option<String>,
    /// Conversation that this one was forked from.
    pub forked_from: Option<String>,
    /// Folder that a reader must find although the blob has none.
    pub folder_elsewhere: Option<String>,
    /// Every call that is in the file.
    pub calls: Vec<CallFact>,
    /// Every warning that the file deserves.
    pub warnings: Vec<WarningFact>,
    /// Folder whose `brain/<id>/…/transcript.jsonl` checkpoints name.
    pub log_uri: String,
    /// Whether the newest generator row carries everything (114 KB) or the messages only (44 KB).
    pub full_prompt: bool,
    pub(crate) model: u32,
    pub(crate) execution: String,
    pub(crate) invocations: u32,
    pub(crate) session: String,
    pub(crate) last_call: Option<At>,
    /// Steps in the order in which they finished: the order of the transcript's lines.
    pub(crate) finished: Vec<u32>,
    pub(crate) dirty: Dirty,
    pub(crate) rng: Rng,
}

impl Recording {
    /// An empty conversation that began at `at`. All that is made up follows from the id.
    pub fn new(id: &str, layout: Layout, at: At) -> Self {
        let mut rng = Rng::named(id);
        let blob = Blob {
            workspaces: Vec::new(),
            created: at,
            initialization_id: rng.uuid(),
            parent: None,
            root: id.to_owned(),
            subagent: None,
            depth: 0,
        };
        Self {
            id: id.to_owned(),
            layout,
            trajectory_id: rng.uuid(),
            source: 17,
            blob,
            steps: Vec::new(),
            gens: Vec::new(),
            executions: Vec::new(),
            references: Vec::new(),
            title: None,
            forked_from: None,
            folder_elsewhere: None,
            calls: Vec::new(),
            warnings: Vec::new(),
            log_uri: format!(
                "file:///home/user/.gemini/antigravity-cli/brain/{id}/.system_generated/logs/transcript.jsonl"
            ),
            full_prompt: true,
            model: 1016,
            execution: String::new(),
            invocations: 0,
            session: format!("-{}", rng.u64() >> 1),
            last_call: None,
            finished: Vec::new(),
            dirty: Dirty { whole: true, ..Dirty::default() },
            rng,
        }
    }

    /// The step with this index.
    pub fn step(&self, idx: u32) -> Result<&Step> {
        self.steps.get(idx as usize).with_context(|| format!("no step {idx}"))
    }

    pub(crate) fn edit(&mut self, idx: u32) -> Result<&mut Step> {
        self.dirty.steps.insert(idx);
        self.steps.get_mut(idx as usize).with_context(|| format!("no step {idx}"))
    }

    /// Index that the next step gets.
    pub fn next_step(&self) -> u32 {
        self.steps.len() as u32
    }

    pub(crate) fn push(&mut self, at: At, kind: u32, source: u32, content: Content) -> u32 {
        let idx = self.next_step();
        self.steps.push(Step {
            kind,
            status: status::PENDING,
            source,
            created: at,
            started: None,
            viewable: None,
            generated: None,
            completed: None,
            execution_id: self.execution.clone(),
            trajectory_id: self.trajectory_id.clone(),
            cascade_id: self.id.clone(),
            source_index: idx,
            metadata_index: self.gens.len() as u32,
            usage: None,
            attempts: Vec::new(),
            model: None,
            transitions: Vec::new(),
            content,
            garbage: false,
            absurd_time: false,
        });
        self.dirty.steps.insert(idx);
        idx
    }

    /// Moves a step to a status. Leaving the live ones stamps `completed_at` and makes the transcript's line.
    pub(crate) fn set_status(&mut self, idx: u32, to: u32, at: At) -> Result<()> {
        let step = self.edit(idx)?;
        step.status = to;
        step.transitions.push((to, at));
        if to == status::RUNNING && step.started.is_none() {
            step.started = Some(at);
        }
        if !step.is_live() {
            // Real rows of a prompt have neither of the two.
            if step.kind != kind::USER_INPUT {
                step.completed = Some(at);
                step.started.get_or_insert(at);
            }
            if !self.finished.contains(&idx) {
                self.finished.push(idx);
            }
        }
        Ok(())
    }

    fn quick(&mut self, at: At, kind: u32, source: u32, content: Content) -> Result<u32> {
        let idx = self.push(at, kind, source, content);
        self.edit(idx)?.transitions.push((status::PENDING, at.plus_us(3)));
        self.set_status(idx, status::RUNNING, at.plus_us(410))?;
        self.set_status(idx, status::DONE, at.plus_us(900))?;
        Ok(idx)
    }

    /// A prompt that agy takes up at once: a new execution begins. In a conversation's first turn the steps that agy adds
    /// by itself follow.
    pub fn prompt(&mut self, at: At, text: &str) -> Result<u32> {
        self.begin_execution();
        let first = self.steps.is_empty();
        let content = Content::User { text: text.to_owned(), model: self.model, queued: false };
        let idx = self.push(at, kind::USER_INPUT, 4, content);
        self.set_status(idx, status::DONE, at.plus_us(700))?;
        self.preamble(at, first)?;
        Ok(idx)
    }

    pub(crate) fn begin_execution(&mut self) {
        self.execution = self.rng.uuid();
        self.invocations = 0;
    }

    pub(crate) fn preamble(&mut self, at: At, first: bool) -> Result<()> {
        if first && self.layout == Layout::V1_0 {
            self.quick(at.plus_us(1000), kind::HISTORY, 5, Content::History)?;
        }
        if first || self.layout == Layout::V1_0 {
            let text = "The following is an <EPHEMERAL_MESSAGE> not actually sent by the user. It is provided by the \
                        system as a set of reminders. Prefer the most specific tool for the task at hand.";
            self.quick(at.plus_us(2000), kind::EPHEMERAL, 5, Content::Ephemeral(text.to_owned()))?;
        }
        Ok(())
    }

    /// A prompt that waits until the turn is over.
    pub fn queue_prompt(&mut self, at: At, text: &str) -> Result<u32> {
        let content = Content::User { text: text.to_owned(), model: self.model, queued: true };
        let idx = self.push(at, kind::USER_INPUT, 4, content);
        self.edit(idx)?.execution_id.clear();
        self.set_status(idx, status::QUEUED, at)?;
        Ok(idx)
    }

    /// agy takes up a queued prompt: its turn begins.
    pub fn take_up(&mut self, idx: u32, at: At) -> Result<()> {
        self.begin_execution();
        let execution = self.execution.clone();
        self.edit(idx)?.execution_id = execution;
        self.set_status(idx, status::DONE, at)?;
        self.preamble(at, false)
    }

    /// A tool step. `first` is its first status: RUNNING or WAITING.
    pub fn tool(&mut self, at: At, call: ToolCall, first: u32) -> Result<u32> {
        let kind = if self.layout == Layout::V1_2 { kind::GENERIC } else { kind::of_tool(&call.name) };
        let content = Content::Tool { call, result: String::new(), failed: false, rejected: false };
        let idx = self.push(at, kind, 2, content);
        self.edit(idx)?.transitions.push((status::PENDING, at.plus_us(2)));
        self.set_status(idx, first, at.plus_us(150))?;
        if self.layout == Layout::V1_2
            && let Some(row) = self.gens.last_mut()
        {
            row.step_indices.push(idx);
            self.dirty.gens.insert(self.gens.len() as u32 - 1);
        }
        Ok(idx)
    }

    /// Ends a tool step.
    pub fn end_tool(&mut self, idx: u32, at: At, to: u32, text: &str, denied: bool) -> Result<()> {
        if let Content::Tool { result, failed, rejected, .. } = &mut self.edit(idx)?.content {
            text.clone_into(result);
            *failed = to == status::ERROR;
            *rejected = denied;
        }
        self.set_status(idx, to, at)
    }

    /// An API error: a step that has no usage and no execution row after it.
    pub fn api_error(&mut self, at: At, code: u32, message: &str) -> Result<u32> {
        let content = Content::Error { code, message: message.to_owned() };
        self.quick(at, kind::ERROR_MESSAGE, 5, content)
    }

    /// Text from agy or, with a `sender`, from a sub-agent.
    pub fn system_message(&mut self, at: At, text: &str, sender: &str) -> Result<u32> {
        let content =
            Content::System { text: text.to_owned(), sender: sender.to_owned(), recipient: self.id.clone() };
        self.quick(at, kind::SYSTEM_MESSAGE, 5, content)
    }

    /// The row of a finished execution.
    pub fn end_execution(&mut self, reason: u32) {
        self.dirty.executions_from.get_or_insert(self.executions.len());
        self.executions.push(Execution {
            reason,
            invocations: self.invocations,
            last_step: self.next_step().saturating_sub(1),
            id: self.execution.clone(),
            model: self.model,
        });
    }

    /// A tool call with an id.
    pub fn tool_call(&mut self, name: &str, args: serde_json::Value) -> ToolCall {
        ToolCall { id: format!("call_{:016x}", self.rng.u64()), name: name.to_owned(), args }
    }
}
