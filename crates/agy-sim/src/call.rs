//! A model call as a test describes it: model, tokens, tools, failed attempts, and what is odd about its rows.

use serde_json::Value;

use crate::usage::Tokens;

/// What is odd about the rows of a call. Without any, the generator row and the planner step say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// Neither row has a usage message: tokens are unknown.
    NoUsage,
    /// Usage without any id, in both rows.
    NoIds,
    /// Usage with `message_id` only.
    MessageIdOnly,
    /// Usage with `provider_assigned_message_id` only.
    ProviderIdOnly,
    /// The generator row is no protobuf; the step has the usage.
    GarbageGen,
    /// The planner step is no protobuf; the generator row has the usage.
    GarbageStep,
    /// The generator row says 2^40 + 5 input tokens; the step has the right number.
    HugeGen,
    /// Output is not thinking + response, in both rows.
    Mismatch,
    /// u64::MAX where the generator row has its time (1.0.x) and in the step's `viewable_at`.
    AbsurdTime,
    /// The step was written while the answer streamed: smaller numbers than in the generator row.
    StepStreamed,
    /// The same, the other way round.
    GenStreamed,
    /// Each row is the larger one in some field.
    Split,
    /// Usage in the generator row only.
    NoStepUsage,
    /// No generator row: the call is in `steps` only.
    NoGen,
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// DONE.
    #[default]
    Ok,
    /// ERROR with a message.
    Failed,
    /// ERROR because the person said no.
    Denied,
}

/// A tool that a call asked for, with its end.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// `run_command`, ….
    pub name: String,
    /// Arguments, an object.
    pub args: Value,
    /// Text of the result.
    pub result: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub ms: u64,
}

impl ToolUse {
    /// A tool that works, in 120 ms.
    pub fn new(name: &str, args: Value) -> Self {
        Self {
            name: name.to_owned(),
            args,
            result: "The command completed successfully.".to_owned(),
            outcome: Outcome::Ok,
            ms: 120,
        }
    }

    /// With this result.
    pub fn result(mut self, text: &str) -> Self {
        text.clone_into(&mut self.result);
        self
    }

    /// Ends so.
    pub fn outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Takes so long.
    pub fn ms(mut self, ms: u64) -> Self {
        self.ms = ms;
        self
    }
}

/// A model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Number of the model.
    pub model: u32,
    /// Its tokens: the right answer.
    pub tokens: Tokens,
    /// What it asked for; several run in parallel.
    pub tools: Vec<ToolUse>,
    /// Attempts that failed and are billed, each with a response id of its own.
    pub failed: Vec<Tokens>,
    /// The answer.
    pub text: String,
    /// The thinking.
    pub thinking: String,
    /// What is odd about it.
    pub quirks: Vec<Quirk>,
    /// A fixed response id; made up otherwise.
    pub response_id: Option<String>,
    /// Request to end of answer.
    pub ms: u64,
}

impl Call {
    /// A call of 4.2 s with 2,093 input, 16,270 cached, 282 output tokens of which 281 thinking.
    pub fn model(model: u32) -> Self {
        Self {
            model,
            tokens: Tokens { input: 2093, output: 282, cache_read: 16_270, cache_write: 0, thinking: 281 },
            tools: Vec::new(),
            failed: Vec::new(),
            text: "Done: the change is in place and the tests pass.".to_owned(),
            thinking: "**Checking the Change**\n\nI look at the failing test first, then at the code that it covers."
                .to_owned(),
            quirks: Vec::new(),
            response_id: None,
            ms: 4200,
        }
    }

    /// Input, output (thinking included), cache read, thinking.
    pub fn tokens(mut self, input: u64, output: u64, cache_read: u64, thinking: u64) -> Self {
        self.tokens = Tokens { input, output, cache_read, cache_write: 0, thinking };
        self
    }

    /// All five at once.
    pub fn with(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// A tool that works.
    pub fn tool(self, name: &str, args: Value) -> Self {
        self.tool_use(ToolUse::new(name, args))
    }

    /// A tool with all its particulars.
    pub fn tool_use(mut self, tool: ToolUse) -> Self {
        self.tools.push(tool);
        self
    }

    /// An attempt that failed before; billed, under an id of its own.
    pub fn failed_attempt(mut self, tokens: Tokens) -> Self {
        self.failed.push(tokens);
        self
    }

    /// With this answer.
    pub fn text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// With this thinking.
    pub fn thinking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.thinking);
        self
    }

    /// With this oddity.
    pub fn quirk(mut self, quirk: Quirk) -> Self {
        self.quirks.push(quirk);
        self
    }

    /// With this response id.
    pub fn response_id(mut self, id: &str) -> Self {
        self.response_id = Some(id.to_owned());
        self
    }

    /// Takes so long.
    pub fn ms(mut self, ms: u64) -> Self {
        self.ms = ms;
        self
    }

    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}
