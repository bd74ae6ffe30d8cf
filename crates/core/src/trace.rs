//! A turn as a tree of spans: turn → model call → the tools that this call asked for, and below a tool the turns of the
//! sub-agents that it started (spec §9).
//!
//! Tokens and cost stand on calls alone: a backend that adds up spans would count twice otherwise (R3). What a backend
//! calls these things is not known here.

mod id;

use rust_decimal::Decimal;

pub use id::{SpanId, SpanIds, StepKey, TraceId};

use crate::{
    CallKind, Model, SessionId, Time, Tokens,
    price::{Rate, Rates},
};

/// One turn of a session, with all that happened in it: what is sent at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub id: TraceId,
    /// The folder below agy's home that the conversation stands in, which names the product: `antigravity-cli`,
    /// `antigravity`, `antigravity-ide`, … (R12).
    pub surface: String,
    /// Who is signed in to agy, in the form that the person chose (R9).
    pub user: Option<String>,
    pub turn: TurnSpan,
}

/// From when to when. `to` is never before `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub from: Time,
    pub to: Time,
    /// A bound is a whole second from the transcript, or was taken from a neighbour.
    pub approximate: bool,
}

impl Extent {
    /// A span whose end lies before its start, as a clock that was set back gives it, takes no time.
    pub fn new(from: Time, to: Time, approximate: bool) -> Extent {
        Extent { from, to: to.max(from), approximate }
    }

    pub const fn duration_us(&self) -> i64 {
        self.to.micros().saturating_sub(self.from.micros())
    }
}

/// How a span went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A short word of a closed kind, for `error.type`: `error`, `canceled`, `denied`, `retried`, …
    pub kind: String,
    /// agy's own words. They may quote what the person wrote, so they stand here only where content may leave.
    pub words: Option<String>,
}

impl Failure {
    pub fn of(kind: &str) -> Failure {
        Failure { kind: kind.to_owned(), words: None }
    }
}

/// From a person's prompt to the last execution before the next one (spec §1).
#[derive(Clone, Debug, PartialEq)]
pub struct TurnSpan {
    pub id: SpanId,
    pub extent: Extent,
    pub conversation: SessionId,
    /// agy's id of the turn's first execution; `None` where only the transcript is left.
    pub execution: Option<String>,
    pub agent: Agent,
    /// Of the turn's newest call that answered.
    pub model: Option<Model>,
    pub provider: Provider,
    /// agy's word for how it ended, in lower case without its prefix: `no_tool_call`, `max_invocations`, …
    pub finish_reason: Option<String>,
    pub failure: Option<Failure>,
    /// It was sent before it ended, for it was held too long (R7). It is sent again, whole, if it ends after all.
    pub incomplete: bool,
    /// Told from the transcript: whole seconds, no tokens.
    pub from_transcript: bool,
    pub prompt: Option<String>,
    pub answer: Option<String>,
    pub calls: Vec<CallSpan>,
    /// Tools that no call of the turn is known to have asked for.
    pub tools: Vec<ToolSpan>,
}

/// Who worked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// `antigravity`, or a sub-agent's type.
    pub name: String,
    /// agy's version, where a log or file tells it.
    pub version: Option<String>,
}

/// Whose backend answered, as far as agy says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Google's, and nothing says which.
    #[default]
    Google,
    GeminiApi,
    VertexAi,
    /// Anthropic's models through Vertex AI.
    AnthropicVertex,
    /// OpenAI's models through Vertex AI.
    OpenAiVertex,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpan {
    pub id: SpanId,
    pub extent: Extent,
    /// A title or summary is a call of agy's own.
    pub kind: CallKind,
    /// `model.id` is what answered, which may be a routing alias.
    pub model: Model,
    /// What was asked for, where agy tells it; an alias, mostly.
    pub request_model: Option<String>,
    pub provider: Provider,
    pub response_id: Option<String>,
    /// In lower case: `stop`, `tool_calls`, `max_tokens`, …
    pub finish_reason: Option<String>,
    pub failure: Option<Failure>,
    /// `None`: no usable usage, which is not zero (R3).
    pub tokens: Option<Tokens>,
    /// `None` beside tokens is a pricing gap.
    pub cost: Option<CallCost>,
    /// The prompt, on the turn's first call; what tools answered stands on their own spans.
    pub input: Option<String>,
    pub output: Option<String>,
    pub thinking: Option<String>,
    pub tools: Vec<ToolSpan>,
}

/// What a call cost in US dollars, by part; a part without a rate is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    pub input: Option<Decimal>,
    pub cache_read: Option<Decimal>,
    pub cache_write: Option<Decimal>,
    /// Thinking included.
    pub output: Option<Decimal>,
}

impl CallCost {
    /// What a call's tokens cost at these rates. A part without tokens costs nothing and says nothing: what is left
    /// out is what has tokens and no rate.
    pub fn of(rates: &Rates, t: &Tokens) -> CallCost {
        let part = |rate: Option<Rate>, tokens: u64| {
            rate.filter(|_| tokens > 0 || t.total() == 0).map(|rate| rate.times(tokens).decimal())
        };
        CallCost {
            input: part(rates.input, t.input),
            cache_read: part(rates.cache_read, t.cache_read),
            cache_write: part(rates.cache_write, t.cache_write),
            output: part(rates.output, t.output),
        }
    }

    /// All parts of the prompt that have a price; `None` if none has.
    pub fn prompt(&self) -> Option<Decimal> {
        sum([self.input, self.cache_read, self.cache_write])
    }

    /// All parts that have a price; `None` if none has.
    pub fn total(&self) -> Option<Decimal> {
        sum([self.prompt(), self.output])
    }
}

fn sum<const N: usize>(parts: [Option<Decimal>; N]) -> Option<Decimal> {
    parts.into_iter().flatten().reduce(|a, b| a.checked_add(b).unwrap_or(a))
}

/// One run of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpan {
    pub id: SpanId,
    pub extent: Extent,
    pub name: String,
    /// agy's id of the tool call.
    pub call_id: Option<String>,
    /// JSON.
    pub arguments: Option<String>,
    pub result: Option<String>,
    pub failure: Option<Failure>,
    /// The turns of the sub-agents that it started (R6).
    pub turns: Vec<TurnSpan>,
}

/// A place in the tree.
#[derive(Clone, Copy, Debug)]
pub enum Span<'a> {
    Turn(&'a TurnSpan),
    Call(&'a CallSpan),
    Tool(&'a ToolSpan),
}

impl Span<'_> {
    pub const fn id(&self) -> SpanId {
        match self {
            Span::Turn(s) => s.id,
            Span::Call(s) => s.id,
            Span::Tool(s) => s.id,
        }
    }

    pub const fn extent(&self) -> Extent {
        match self {
            Span::Turn(s) => s.extent,
            Span::Call(s) => s.extent,
            Span::Tool(s) => s.extent,
        }
    }
}

/// One step of a walk through the tree.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    pub span: Span<'a>,
    /// `None` for the root.
    pub parent: Option<SpanId>,
    /// The turn that it belongs to; of a turn, itself.
    pub turn: &'a TurnSpan,
}

impl Visit<'_> {
    /// A number that another one takes when what the span says changes: its times, numbers and outcome. Content and cost
    /// are left out: a switch or a new price list is no reason to send a turn again.
    pub fn digest(&self) -> u64 {
        let e = self.span.extent();
        let (kind, name, failure, more) = match self.span {
            Span::Turn(t) => ("turn", t.finish_reason.as_deref(), &t.failure, format!("{}", t.incomplete)),
            Span::Call(c) => (
                "call",
                c.finish_reason.as_deref(),
                &c.failure,
                format!("{:?} {:?} {:?} {:?}", c.model, c.tokens, c.response_id, c.kind),
            ),
            Span::Tool(t) => ("tool", Some(t.name.as_str()), &t.failure, format!("{:?}", t.call_id)),
        };
        let failure = failure.as_ref().map_or("", |f| f.kind.as_str());
        let (from, to) = (e.from.micros().to_string(), e.to.micros().to_string());
        let parent = self.parent.map(|p| p.to_string()).unwrap_or_default();
        id::digest(&[kind, &from, &to, name.unwrap_or_default(), failure, &more, &parent])
    }
}

impl Trace {
    /// Every span, a parent before its children, children in their order.
    pub fn visits(&self) -> Vec<Visit<'_>> {
        // Deep nesting is other people's to write: a list of what is still to do, not recursion.
        let mut out = Vec::new();
        let mut todo = vec![Visit { span: Span::Turn(&self.turn), parent: None, turn: &self.turn }];
        while let Some(v) = todo.pop() {
            out.push(v);
            let from = todo.len();
            let parent = Some(v.span.id());
            match v.span {
                Span::Turn(t) => {
                    let of = |span| Visit { span, parent, turn: t };
                    todo.extend(t.calls.iter().map(|c| of(Span::Call(c))));
                    todo.extend(t.tools.iter().map(|s| of(Span::Tool(s))));
                }
                Span::Call(c) => {
                    todo.extend(c.tools.iter().map(|s| Visit { span: Span::Tool(s), parent, turn: v.turn }));
                }
                Span::Tool(s) => {
                    todo.extend(s.turns.iter().map(|t| Visit { span: Span::Turn(t), parent, turn: t }));
                }
            }
            if let Some(new) = todo.get_mut(from..) {
                new.reverse();
            }
        }
        out
    }

    /// The tokens of all calls, sub-agents' included.
    pub fn tokens(&self) -> Tokens {
        self.visits().iter().filter_map(|v| if let Span::Call(c) = v.span { c.tokens } else { None }).sum()
    }
}

#[cfg(test)]
mod tests;
