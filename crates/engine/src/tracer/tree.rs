//! A turn with everything below it: its sub-agents' turns, prices, who worked, and without what may not leave.

use std::{collections::HashSet, sync::Arc};

use agenthub_agy::{
    Home, account,
    trace::{End, Side, Told, Turn, find, trace, trace_from_transcript},
    version,
};
use agenthub_core::{
    Model, SessionId, Time, Tokens,
    price::{Band, Book},
    trace::{CallCost, SpanId, StepKey, ToolSpan, Trace, TraceId, TurnSpan},
};

use super::{
    privacy::{Content, Privacy},
    settings::{TracingSettings, UserName},
};

/// Sub-agents of sub-agents that are followed.
const DEEPEST: usize = 8;
/// Conversations below one turn.
const MOST_CHILDREN: usize = 256;

/// What a call costs, part by part; `None` without a row is a pricing gap.
fn cost(book: &Book, m: &Model, at: Time, t: &Tokens) -> Option<CallCost> {
    Some(CallCost::of(book.row(m, Some(at))?.rates_in(Band::of(t)), t))
}

/// What was found while a tree grew.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Those of sub-agents, at any depth.
    pub(crate) conversations: HashSet<SessionId>,
    /// Of all spans of the tree that have one.
    pub(crate) sides: Vec<Side>,
}

/// What is the same for all turns of one home.
pub(crate) struct Forest {
    pub(crate) home: Home,
    privacy: Privacy,
    book: Option<Arc<Book>>,
    version: Option<String>,
    user: Option<String>,
}

impl Forest {
    /// `cli` is the home of the CLI: who is signed in stands in its logs, whichever product the turn is of.
    pub(crate) fn new(home: Home, cli: &Home, settings: &TracingSettings, book: Option<Arc<Book>>) -> Forest {
        let user = match settings.user {
            UserName::None => None,
            UserName::Email => account::email(cli),
            UserName::Hashed => account::email(cli).map(|address| hashed(&address)),
        };
        let person = dirs::home_dir().or_else(|| cli.root().parent().map(ToOwned::to_owned));
        let privacy = Privacy::new(settings.content.clone(), person);
        Forest { version: version(&home), home, privacy, book, user }
    }

    /// For looking at turns here: who is signed in and which agy it was is not asked.
    pub(crate) fn plain(home: Home, book: Arc<Book>) -> Forest {
        let privacy = Privacy::new(Content::default(), None);
        Forest { home, privacy, book: Some(book), version: None, user: None }
    }

    /// The turn as it is sent, and the conversations below it.
    pub(crate) fn tree(&self, conversation: &SessionId, turn: &Turn) -> (Trace, HashSet<SessionId>) {
        let (mut trace, below) = self.whole(conversation, turn);
        self.privacy.apply(&mut trace);
        (trace, below.conversations)
    }

    /// The same tree with all that it holds: for this machine alone.
    pub(crate) fn whole(&self, conversation: &SessionId, turn: &Turn) -> (Trace, Below) {
        let mut below = Below { conversations: HashSet::from([conversation.clone()]), sides: Vec::new() };
        let span = self.grown(conversation, turn, &mut below, 0);
        below.conversations.remove(conversation);
        let trace = Trace {
            id: TraceId::of(conversation, &turn.key),
            surface: self.home.surface().folder().to_owned(),
            user: self.user.clone(),
            turn: span,
        };
        (trace, below)
    }

    fn grown(&self, conversation: &SessionId, turn: &Turn, below: &mut Below, depth: usize) -> TurnSpan {
        let mut span = turn.span.clone();
        below.sides.extend(turn.sides.iter().cloned());
        span.agent.version.clone_from(&self.version);
        if let Some(book) = &self.book {
            for call in &mut span.calls {
                call.cost = call.tokens.and_then(|t| cost(book, &call.model, call.extent.from, &t));
            }
        }
        if depth >= DEEPEST {
            return span;
        }
        for child in &turn.children {
            let seen = &mut below.conversations;
            if seen.len() > MOST_CHILDREN || !seen.insert(child.conversation.clone()) {
                continue;
            }
            let Some(told) = self.child(conversation, &child.conversation) else { continue };
            let turns: Vec<TurnSpan> = told
                .turns
                .iter()
                .map(|t| {
                    let mut s = self.grown(&child.conversation, t, below, depth + 1);
                    s.incomplete =
                        !t.is_followed && !told.from_transcript && (t.end == End::Open || !t.is_settled);
                    s
                })
                .collect();
            if let Some(tool) = tool(&mut span, child.tool) {
                tool.turns.extend(turns);
            }
        }
        span
    }

    /// The turns of a sub-agent, if it is one of this conversation.
    fn child(&self, parent: &SessionId, id: &SessionId) -> Option<Told> {
        let told = self.told(id, &|_| true)?;
        told.parent.as_ref().is_none_or(|p| p == parent).then_some(told)
    }

    /// From the database, else from the transcript.
    pub(crate) fn told(&self, id: &SessionId, want: &dyn Fn(StepKey) -> bool) -> Option<Told> {
        let by_database = find(&self.home, id).and_then(|entry| trace(&self.home, &entry, want).ok());
        by_database.or_else(|| trace_from_transcript(&self.home, id, want))
    }

    /// The conversation at whose root a sub-agent works; itself for any other.
    pub(crate) fn root(&self, id: &SessionId) -> SessionId {
        let mut seen = HashSet::from([id.clone()]);
        let mut at = id.clone();
        for _ in 0..DEEPEST {
            let parent = self.told(&at, &|_| false).and_then(|t| t.parent);
            // A parent that left nothing behind can't tell of its sub-agents.
            match parent.filter(|p| self.told(p, &|_| false).is_some()) {
                Some(p) if seen.insert(p.clone()) => at = p,
                _ => break,
            }
        }
        at
    }
}

fn tool(span: &mut TurnSpan, id: SpanId) -> Option<&mut ToolSpan> {
    span.calls.iter_mut().flat_map(|c| &mut c.tools).chain(&mut span.tools).find(|t| t.id == id)
}

/// Names the same person in the same way, and nobody.
fn hashed(address: &str) -> String {
    use sha2::{Digest as _, Sha256};

    let hash = Sha256::digest(address.trim().to_lowercase().as_bytes());
    hash.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn r9_a_hashed_address_is_the_same_however_it_is_written() {
        let a = super::hashed("Ann@Example.com ");
        assert_eq!(a, super::hashed("ann@example.com"));
        // As sha256sum says.
        assert_eq!(a, "71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476");
    }
}
