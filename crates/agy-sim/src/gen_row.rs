//! One row of `gen_metadata`: a model call as the generator saw it.

use std::time::Duration;

use crate::clock::{At, duration};
use crate::filler;
use crate::home::Layout;
use crate::models;
use crate::step::GARBAGE;
use crate::usage::{Attempt, Usage};
use crate::wire::Msg;

/// What stands where a call's time stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallTime {
    /// Nothing, as since about 1.1.18.
    Absent,
    /// `1.9.4`.
    At(At),
    /// `1.9.4` with u64::MAX seconds.
    Absurd,
}

/// A row of `gen_metadata`.
#[derive(Debug, Clone)]
pub struct Gen {
    /// Which version wrote it.
    pub layout: Layout,
    /// Field 2: the planner step, and since 1.2 its tool steps.
    pub step_indices: Vec<u32>,
    /// Field 4.
    pub execution_id: String,
    /// Field 1.3.
    pub model: u32,
    /// Field 1.4.
    pub usage: Option<Usage>,
    /// Field 1.17.
    pub attempts: Vec<Attempt>,
    /// Field 1.9.4.
    pub time: CallTime,
    /// Field 1.9.8: since the previous call; none on the first.
    pub since_last: Option<Duration>,
    /// Field 1.11.
    pub first_token: Duration,
    /// Field 1.12.
    pub streaming: Duration,
    /// Field 1.20 `last_step_index`.
    pub last_step_index: u32,
    /// Field 1.20 `trajectory_id`.
    pub trajectory_id: String,
    /// Field 1.9.10.1.
    pub estimated: u64,
    /// True: as the newest row it carries tool definitions and prompt sections too (114 KB instead of 44).
    pub full_prompt: bool,
    /// True: the bytes are no protobuf.
    pub garbage: bool,
    /// True: a response that a hook injected; field 7 stands where the chat model would, and there was no call.
    pub injected: bool,
}

impl Gen {
    /// The bytes; the newest row of a conversation carries the prompt.
    pub fn encode(&self, newest: bool) -> Vec<u8> {
        if self.garbage {
            return GARBAGE.to_vec();
        }
        if self.injected {
            let row = Msg::new().packed(2, &self.step_indices).str(4, &self.execution_id);
            return row.msg(7, &Msg::new()).into_bytes();
        }
        let heavy = newest.then(filler::heavy);
        let mut out = Msg::new().packed(2, &self.step_indices);
        if let Some(heavy) = heavy {
            out = out.bytes(3, &heavy.planner_config);
        }
        out = out.str(4, &self.execution_id).bytes(8, filler::experiments());
        // The oneof comes last, as in the real rows.
        out.msg(1, &self.chat_model(heavy)).into_bytes()
    }

    fn chat_model(&self, heavy: Option<&filler::Heavy>) -> Msg {
        let model = models::lookup(self.model);
        let mut out = Msg::new();
        if let Some(heavy) = heavy {
            out = out.raw(&heavy.prompts);
        }
        out = out.uint(3, u64::from(self.model)).opt_msg(4, self.usage.as_ref().map(Usage::encode));
        out = out.uint(6, u64::from(self.last_step_index)).msg(7, &Msg::new().str(1, "auto"));
        let full = heavy.filter(|_| self.full_prompt);
        if let Some(heavy) = full {
            out = out.raw(&heavy.tools);
        }
        out = out.msg(9, &self.chat_start(heavy.is_some()));
        if heavy.is_some() {
            for message in 0..8 {
                out = out.msg(10, &Msg::new().uint(1, message).uint(2, message % 2));
            }
        }
        out = out.msg(11, &duration(self.first_token)).msg(12, &duration(self.streaming));
        let failed = self.attempts.iter().filter(|a| !a.error.is_empty()).count();
        out = out.uint(14, failed as u64);
        let mut completion = Msg::new().uint(1, 1).uint(2, 65_535).double(5, 1.0).uint(7, 50).double(8, 1.0);
        for stop in ["<|user|>", "<|bot|>", "<|context_request|>", "<|endoftext|>", "<|end_of_turn|>"] {
            completion = completion.str(9, stop);
        }
        out = out.msg(15, &completion);
        if let Some(heavy) = full {
            out = out.raw(&heavy.sections);
        }
        for attempt in &self.attempts {
            out = out.msg(17, &attempt.encode());
        }
        out = out.str(19, model.response_model);
        let claude = if model.provider == 26 { "true" } else { "false" };
        out = out
            .entry(20, "used_claude_conservative", claude)
            .entry(20, "last_step_index", &self.last_step_index.to_string())
            .entry(20, "model_enum", &models::enum_name(self.model))
            .entry(20, "trajectory_id", &self.trajectory_id)
            .entry(20, "used_claude", claude);
        out.str(21, model.label)
    }

    fn chat_start(&self, newest: bool) -> Msg {
        let time = match self.time {
            CallTime::Absent => None,
            CallTime::At(at) => Some(at.timestamp()),
            CallTime::Absurd => Some(Msg::new().varint(1, u64::MAX).uint(2, 929_111_000)),
        };
        let breakpoint = |sum: &str| Msg::new().msg(2, &Msg::new().uint(1, 1)).str(3, sum);
        let mut window = Msg::new().uint(1, self.estimated);
        if newest {
            window = window.msg(3, &filler::breakdown(self.estimated));
        }
        if self.layout == Layout::V1_2 {
            window = window.uint(4, u64::from(models::lookup(self.model).context));
        }
        // Field 2 is −1 in every real row: ten bytes that a reader must not take for a number.
        Msg::new()
            .varint(2, u64::MAX)
            .opt_msg(4, time)
            .uint(5, u64::from(self.last_step_index))
            .msg(6, &breakpoint("db629794"))
            .msg(7, &breakpoint("de73096c"))
            .msg(8, &self.since_last.map_or_else(Msg::new, duration))
            .msg(10, &window)
    }
}
