//! Tokens of a call, and the usage message that carries them.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::wire::Msg;

/// Tokens of one call. `output` includes `thinking`; `input` excludes cache reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Prompt tokens that were not read from the cache (field 2).
    pub input: u64,
    /// Answer, thinking included (field 3).
    pub output: u64,
    /// Prompt tokens read from the cache (field 5).
    pub cache_read: u64,
    /// Prompt tokens written to the cache (field 4; no real row has one).
    pub cache_write: u64,
    /// The part of `output` that is thinking (field 9).
    pub thinking: u64,
}

impl Tokens {
    /// Input + output + cache read + cache write.
    pub fn total(self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// What the prompt held: input + cache read.
    pub fn prompt(self) -> u64 {
        self.input + self.cache_read
    }

    /// Adds another call's tokens.
    pub fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.thinking += other.thinking;
    }

    /// Tokens of a plausible call whose prompt holds `prompt` tokens. All numbers of the message are different from each
    /// other, so that a reader that takes the wrong field gets a wrong sum.
    pub fn random(rng: &mut Rng, prompt: u64) -> Self {
        loop {
            let cached = prompt * rng.range(55..93) / 100;
            let thinking = rng.range(60..1400);
            let tokens = Self {
                input: prompt - cached + rng.range(1..400),
                output: thinking + rng.range(20..900),
                cache_read: cached,
                cache_write: 0,
                thinking,
            };
            if tokens.distinct() {
                return tokens;
            }
        }
    }

    fn distinct(self) -> bool {
        let all = [self.input, self.output, self.cache_read, self.thinking, self.output - self.thinking];
        all.iter()
            .enumerate()
            .all(|(i, a)| *a != 24 && !(1000..1500).contains(a) && all.iter().skip(i + 1).all(|b| a != b))
    }

    /// What an unfinished stream would have shown of this answer.
    pub(crate) fn streamed(self) -> Self {
        let thinking = self.thinking / 2;
        Self { thinking, output: thinking + (self.output - self.thinking) / 3, ..self }
    }
}

/// A `ModelUsageStats` message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Field 1.
    pub model: u32,
    /// Fields 2 to 5 and 9.
    pub tokens: Tokens,
    /// Field 10; equals output − thinking in every real row.
    pub response: u64,
    /// Field 6.
    pub provider: u32,
    /// Field 7, `bot-<uuid>`.
    pub message_id: Option<String>,
    /// Field 8, the value under `sessionID`.
    pub session: String,
    /// Field 11.
    pub response_id: Option<String>,
    /// Field 12, on Claude and GPT routes.
    pub provider_message_id: Option<String>,
}

impl Usage {
    /// The bytes of the message.
    pub fn encode(&self) -> Msg {
        Msg::new()
            .uint(1, u64::from(self.model))
            .uint(2, self.tokens.input)
            .uint(3, self.tokens.output)
            .uint(4, self.tokens.cache_write)
            .uint(5, self.tokens.cache_read)
            .uint(6, u64::from(self.provider))
            .opt_str(7, self.message_id.as_deref())
            .entry(8, "sessionID", &self.session)
            .uint(9, self.tokens.thinking)
            .uint(10, self.response)
            .opt_str(11, self.response_id.as_deref())
            .opt_str(12, self.provider_message_id.as_deref())
    }

    pub(crate) fn with_tokens(&self, tokens: Tokens) -> Self {
        Self { tokens, response: tokens.output - tokens.thinking, ..self.clone() }
    }
}

/// A `RetryInfo`: one attempt of a call, the successful one included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Field 2.
    pub usage: Usage,
    /// Field 3, for failed attempts.
    pub error: String,
    /// Field 4, 16 hex digits.
    pub trace_id: String,
}

impl Attempt {
    /// The bytes of the message.
    pub fn encode(&self) -> Msg {
        Msg::new()
            .msg(2, &self.usage.encode())
            .str(3, &self.error)
            .str(4, &self.trace_id)
            .uint(5, u64::from(!self.error.is_empty()))
    }
}
