//! Ids that are the same at every export (R6).
//!
//! An id is the beginning of SHA-256 over a word for its kind and the fields that name the thing, each with its length
//! before it. A change of this scheme would double what backends already have.

use sha2::{Digest as _, Sha256};

use crate::{CallKey, SessionId, Time};

/// 16 bytes, not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId([u8; 16]);

/// 8 bytes, not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The trace of a turn that no other turn started.
    pub fn of(conversation: &SessionId, turn: &StepKey) -> TraceId {
        TraceId(hashed("trace", &turn.fields(conversation)))
    }

    /// An id for something that is no turn, from bytes that never come again.
    pub fn from_random(random: &[u8]) -> TraceId {
        TraceId(hashed("random", [&random]))
    }
}

impl SpanId {
    pub const fn bytes(&self) -> &[u8; 8] {
        &self.0
    }

    pub fn from_random(random: &[u8]) -> SpanId {
        SpanId(hashed("random", [&random]))
    }
}

impl std::fmt::Display for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        hex(f, &self.0)
    }
}

impl std::fmt::Display for SpanId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        hex(f, &self.0)
    }
}

fn hex(f: &mut std::fmt::Formatter<'_>, bytes: &[u8]) -> std::fmt::Result {
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}

/// Names a step within its conversation, and so the turn that it began, the call that filled it, or the tool that it is.
///
/// agy's execution and response ids would name them too, but the transcript has neither, a response id can be damaged in
/// one reading and whole in the next, and what was told once must be the same thing when it is told again. A rewind uses
/// step numbers anew, never in the same second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey {
    pub step: i64,
    /// Unix seconds; 0 where the step has no time.
    pub second: i64,
}

impl StepKey {
    pub fn new(step: i64, created: Option<Time>) -> StepKey {
        StepKey { step, second: created.map_or(0, |t| t.micros().div_euclid(1_000_000)) }
    }

    fn fields<'a>(&self, conversation: &'a SessionId) -> [Field<'a>; 3] {
        [conversation.as_str().into(), self.step.into(), self.second.into()]
    }
}

/// Makes the span ids of one turn.
#[derive(Clone, Copy, Debug)]
pub struct SpanIds<'a> {
    pub conversation: &'a SessionId,
    pub turn: StepKey,
}

impl SpanIds<'_> {
    pub fn turn(&self) -> SpanId {
        self.id("turn", &[])
    }

    /// The call that filled a planner step.
    pub fn answer(&self, step: StepKey) -> SpanId {
        self.id("answer", &[step.step.into(), step.second.into()])
    }

    /// Any other call of the turn: an attempt that failed, a title.
    pub fn call(&self, key: &CallKey) -> SpanId {
        self.id("call", &[key.0.as_str().into()])
    }

    pub fn tool(&self, step: StepKey) -> SpanId {
        self.id("tool", &[step.step.into(), step.second.into()])
    }

    fn id(&self, kind: &str, more: &[Field<'_>]) -> SpanId {
        let own = self.turn.fields(self.conversation);
        SpanId(hashed(kind, own.iter().chain(more)))
    }
}

/// A part of what an id is made from.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Bytes(&'a [u8]),
    Number([u8; 8]),
}

impl<'a> From<&'a str> for Field<'a> {
    fn from(s: &'a str) -> Self {
        Field::Bytes(s.as_bytes())
    }
}

impl From<i64> for Field<'_> {
    fn from(n: i64) -> Self {
        Field::Number(n.to_be_bytes())
    }
}

impl AsRef<[u8]> for Field<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Field::Bytes(b) => b,
            Field::Number(n) => n,
        }
    }
}

/// The first `N` bytes of the hash. All zero is "no id" to OpenTelemetry, so that one becomes 1.
fn hashed<'f, const N: usize, F: AsRef<[u8]> + 'f>(
    kind: &str,
    fields: impl IntoIterator<Item = &'f F>,
) -> [u8; N] {
    let mut hash = Sha256::new();
    let mut put = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    put(b"agenthub");
    put(kind.as_bytes());
    for f in fields {
        put(f.as_ref());
    }
    let mut out = [0; N];
    out.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    if out.iter().all(|b| *b == 0)
        && let Some(last) = out.last_mut()
    {
        *last = 1;
    }
    out
}

/// Over texts, each with its length.
pub(super) fn digest(texts: &[&str]) -> u64 {
    u64::from_be_bytes(hashed("digest", texts))
}
