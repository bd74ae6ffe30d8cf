//! The Session screen's waterfall: a turn as the very tree that tracing sends (spec §9), with what stays on this machine.
//!
//! It knows no setting of the tracer's: the window shows it whether anything is sent or not.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use agenthub_agy::{
    EntryState, Home,
    trace::{End, Side, Turn},
};
use agenthub_core::{
    CallKind, SessionId, Tokens,
    price::{Book, Usd},
    trace::{CallSpan, Failure, Span, SpanId, Visit},
};

use crate::{
    convert,
    tracer::tree::{Below, Forest},
    view::{ErrorView, TreeSpan, TreeSpanKind, TurnTree},
};

/// A turn has some tens; a page that draws more shows nothing better.
const MOST_SPANS: usize = 5_000;
/// Characters of one text.
const MOST_TEXT: usize = 2_000;

/// The turn that a step began. One that began no turn is taken for the newest turn that began before it.
///
/// # Errors
/// `not_found` when the session left nothing behind, or has no turn there.
pub(crate) fn tree(home: Home, book: Arc<Book>, id: &SessionId, step: i64) -> Result<TurnTree, ErrorView> {
    let gone = |what: String| ErrorView { code: "not_found".to_owned(), message: what };
    let forest = Forest::plain(home, Arc::clone(&book));
    let known = forest.told(id, &|_| false);
    let known = known.ok_or_else(|| gone(format!("Session {id} left no file that can be read.")))?;
    let key = known.keys.iter().rfind(|k| k.step == step).or(known.keys.iter().rfind(|k| k.step < step));
    let none = || gone(format!("Session {id} has no turn at step {step}."));
    let key = *key.ok_or_else(none)?;
    let told = forest.told(id, &|k| k == key).ok_or_else(none)?;
    let turn = told.turns.first().ok_or_else(none)?;
    let (trace, below) = forest.whole(id, turn);

    let visits = trace.visits();
    let open = opened(turn, told.from_transcript);
    let of = Seen { sums: sums(&visits, &book), sides: sides(&below), open };
    let all = of.sums.get(&trace.turn.id).copied().unwrap_or_default();
    let mut depths: HashMap<SpanId, u32> = HashMap::new();
    let began = trace.turn.extent.from;
    let mut spans = Vec::new();
    for v in visits.iter().take(MOST_SPANS) {
        let depth = v.parent.and_then(|p| depths.get(&p)).map_or(0, |d| d + 1);
        depths.insert(v.span.id(), depth);
        let from = v.span.extent().from;
        let offset_us = from.micros().saturating_sub(began.micros());
        spans.push(TreeSpan { depth, offset_us, ..of.span(v) });
    }
    Ok(TurnTree {
        step: key.step,
        trace_id: told.parent.is_none().then(|| trace.id.to_string()),
        at: began.rfc3339(),
        duration_us: (!of.open.contains(&trace.turn.id)).then(|| trace.turn.extent.duration_us()),
        approximate: trace.turn.extent.approximate,
        from_transcript: told.from_transcript,
        tokens: all.tokens.map(convert::tokens),
        cost_usd: all.cost.map(|c| c.to_string()),
        cut: spans.len() < visits.len(),
        spans,
    })
}

/// Turns that are under way.
fn opened(turn: &Turn, from_transcript: bool) -> HashSet<SpanId> {
    let is_open = turn.end == End::Open && !turn.is_followed && !from_transcript;
    is_open.then_some(turn.span.id).into_iter().collect()
}

fn sides(below: &Below) -> HashMap<SpanId, &Side> {
    below.sides.iter().map(|s| (s.span, s)).collect()
}

/// What the calls at and below a span used and cost, as far as that is known.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    tokens: Option<Tokens>,
    cost: Option<Usd>,
    /// Those of `tokens` that have no price.
    unpriced: u64,
}

impl Used {
    fn of(call: &CallSpan, book: &Book) -> Used {
        let Some(tokens) = call.tokens else { return Used::default() };
        let cost = book.cost(&call.model, Some(call.extent.from), &tokens);
        Used {
            tokens: Some(tokens),
            cost: cost.and_then(|(cost, _)| cost.known(1, &tokens)),
            unpriced: cost.map_or_else(|| tokens.total(), |(cost, _)| cost.unpriced_tokens),
        }
    }

    fn plus(self, o: Used) -> Used {
        let both = |a: Tokens, b: Tokens| [a, b].into_iter().sum();
        Used {
            tokens: self.tokens.map_or(o.tokens, |a| Some(o.tokens.map_or(a, |b| both(a, b)))),
            cost: self.cost.map_or(o.cost, |a| Some(o.cost.map_or(a, |b| a.plus(b)))),
            unpriced: self.unpriced.saturating_add(o.unpriced),
        }
    }
}

/// By span. A call's own and that of its tools' sub-agents are two things: it has its own alone.
fn sums(visits: &[Visit<'_>], book: &Book) -> HashMap<SpanId, Used> {
    let mut below: HashMap<SpanId, Used> = HashMap::new();
    let mut out = HashMap::new();
    // Children stand after their parents.
    for v in visits.iter().rev() {
        let id = v.span.id();
        let under = below.remove(&id).unwrap_or_default();
        let own = if let Span::Call(c) = v.span { Used::of(c, book) } else { Used::default() };
        let all = own.plus(under);
        out.insert(id, if matches!(v.span, Span::Call(_)) { own } else { all });
        if let Some(p) = v.parent {
            let sum = below.entry(p).or_default();
            *sum = sum.plus(all);
        }
    }
    out
}

/// What is known of all spans.
struct Seen<'a> {
    sums: HashMap<SpanId, Used>,
    sides: HashMap<SpanId, &'a Side>,
    open: HashSet<SpanId>,
}

impl Seen<'_> {
    fn span(&self, v: &Visit<'_>) -> TreeSpan {
        let (id, extent) = (v.span.id(), v.span.extent());
        let side = self.sides.get(&id).copied();
        let (kind, name, failure, text) = match v.span {
            Span::Turn(t) => (TreeSpanKind::Turn, t.agent.name.clone(), &t.failure, t.prompt.clone()),
            Span::Call(c) => {
                (TreeSpanKind::Call, convert::model_name(&c.model), &c.failure, c.output.clone())
            }
            Span::Tool(t) => {
                (TreeSpanKind::Tool, t.name.clone(), &t.failure, side.and_then(|s| s.argument.clone()))
            }
        };
        let state = self.state(v, side, failure.as_ref());
        let is_open = matches!(state, EntryState::Running | EntryState::Waiting);
        // A length of nothing beside a time that was taken from elsewhere is no length.
        let is_told = !is_open && (extent.duration_us() > 0 || !extent.approximate);
        let used = self.sums.get(&id).copied().unwrap_or_default();
        let call = if let Span::Call(c) = v.span { Some(c) } else { None };
        let duration_us = is_told.then(|| extent.duration_us());
        TreeSpan {
            id: id.to_string(),
            parent: v.parent.map(|p| p.to_string()),
            depth: 0,
            kind,
            session: v.turn.conversation.to_string(),
            name,
            label: call.and_then(|c| c.model.label.clone()),
            step: side.map(|s| s.step),
            at: extent.from.rfc3339(),
            offset_us: 0,
            duration_us,
            approximate: extent.approximate,
            state: convert::entry_state(state),
            failure: failure.as_ref().map(|f| f.kind.clone()),
            background: call.is_some_and(|c| c.kind == CallKind::Background),
            thinking_us: side.and_then(|s| s.thinking_us).map(|us| us.min(duration_us.unwrap_or(us))),
            tokens: used.tokens.map(convert::tokens),
            cost_usd: used.cost.map(|c| c.to_string()),
            tokens_unpriced: used.unpriced,
            text: text.map(|t| t.chars().take(MOST_TEXT).collect()),
        }
    }

    fn state(&self, v: &Visit<'_>, side: Option<&Side>, failure: Option<&Failure>) -> EntryState {
        match (failure.map(|f| f.kind.as_str()), side) {
            (Some("canceled"), _) => EntryState::Canceled,
            (Some("denied"), _) => EntryState::Denied,
            (Some(_), _) => EntryState::Failed,
            (None, Some(side)) => side.state,
            (None, None) => match v.span {
                Span::Turn(t) if t.incomplete || self.open.contains(&t.id) => EntryState::Running,
                _ => EntryState::Done,
            },
        }
    }
}
