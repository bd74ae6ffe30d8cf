//! Trees of turns for tests.

use agenthub_core::trace::{
    Agent, CallCost, CallSpan, Extent, Provider, SpanId, ToolSpan, Trace, TraceId, TurnSpan,
};
use agenthub_core::{CallKind, Model, SessionId, Time, Tokens};
use agenthub_otlp::{CacheWriteName, Destination, DestinationId, Encoding, Preset, Profiles, Sender};
use proptest::prelude::*;
use rust_decimal::Decimal;

pub(crate) const CONVERSATION: &str = "0d4f2c6a-31d3-4c39-8a53-92fdd0f8a7c1";

fn session(n: u128) -> SessionId {
    SessionId::parse(&format!("{n:08x}-31d3-4c39-8a53-92fdd0f8a7c1")).expect("a UUID")
}

pub(crate) fn sender() -> Sender {
    Sender { version: "0.1.0".to_owned(), host: None }
}

pub(crate) fn encoding(profiles: Profiles) -> Encoding {
    Encoding::new(profiles, CacheWriteName::CacheWrite, sender())
}

pub(crate) fn destination(url: &str) -> Destination {
    Destination::new(DestinationId::new("test").expect("an id"), Preset::Collector, url)
}

/// Numbers its spans, and sets them one after the other.
pub(crate) struct Grower {
    next: u64,
}

impl Grower {
    pub(crate) fn new(seed: u64) -> Grower {
        Grower { next: seed << 32 }
    }

    fn id(&mut self) -> SpanId {
        self.next += 1;
        SpanId::from_random(&self.next.to_be_bytes())
    }

    fn extent(&mut self) -> Extent {
        let from = Time::from_micros(1_790_000_000_000_000 + (self.next as i64 & 0xffff_ffff) * 250_123);
        Extent::new(from, Time::from_micros(from.micros() + 412_345), false)
    }

    pub(crate) fn tool(&mut self) -> ToolSpan {
        ToolSpan {
            id: self.id(),
            extent: self.extent(),
            name: "run_command".to_owned(),
            call_id: Some(format!("tool-{}", self.next)),
            arguments: None,
            result: None,
            failure: None,
            turns: Vec::new(),
        }
    }

    pub(crate) fn call(&mut self, tools: usize) -> CallSpan {
        let id = self.id();
        let extent = self.extent();
        CallSpan {
            id,
            extent,
            kind: CallKind::Turn,
            model: Model {
                number: 1016,
                id: Some("gemini-3.1-pro".to_owned()),
                label: Some("Gemini 3.1 Pro (High)".to_owned()),
            },
            request_model: None,
            provider: Provider::Google,
            response_id: Some(format!("response-{}", self.next)),
            finish_reason: Some("stop".to_owned()),
            failure: None,
            tokens: Some(Tokens {
                input: 1_200,
                output: 340,
                cache_read: 9_000,
                cache_write: 0,
                thinking: 120,
            }),
            cost: Some(CallCost {
                input: Some(Decimal::new(24, 4)),
                cache_read: Some(Decimal::new(18, 4)),
                cache_write: None,
                output: Some(Decimal::new(408, 5)),
            }),
            input: None,
            output: None,
            thinking: None,
            tools: (0..tools).map(|_| self.tool()).collect(),
        }
    }

    pub(crate) fn turn(&mut self, calls: &[usize]) -> TurnSpan {
        let id = self.id();
        let mut extent = self.extent();
        let calls: Vec<CallSpan> = calls.iter().map(|tools| self.call(*tools)).collect();
        extent.to = calls.last().map_or(extent.to, |call| call.extent.to);
        TurnSpan {
            id,
            extent,
            conversation: session(u128::from(self.next & 0xffff_ffff)),
            execution: Some("8c2f61fe-0000-4000-8000-000000000001".to_owned()),
            agent: Agent { name: "antigravity".to_owned(), version: Some("1.0.16".to_owned()) },
            model: calls.last().map(|call| call.model.clone()),
            provider: Provider::Google,
            finish_reason: Some("no_tool_call".to_owned()),
            failure: None,
            incomplete: false,
            from_transcript: false,
            prompt: None,
            answer: None,
            calls,
            tools: Vec::new(),
        }
    }
}

/// A turn with so many calls, of so many tools each.
pub(crate) fn trace(seed: u64, calls: &[usize]) -> Trace {
    let mut turn = Grower::new(seed).turn(calls);
    turn.conversation = SessionId::parse(CONVERSATION).expect("a UUID");
    Trace {
        id: TraceId::from_random(&seed.to_be_bytes()),
        surface: "antigravity-cli".to_owned(),
        user: None,
        turn,
    }
}

/// Any tree, with odd numbers, odd texts, and sub-agents.
pub(crate) fn any_trace() -> impl Strategy<Value = Trace> {
    let call = (
        0..4_usize,
        proptest::option::of((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>())),
        proptest::option::of(0..1_000_000_000_i64),
        proptest::option::of(".{0,40}"),
        any::<i64>(),
    );
    let calls = proptest::collection::vec(call, 0..6);
    (any::<u32>(), calls, any::<bool>(), "\\PC{0,12}").prop_map(|(seed, calls, nested, name)| {
        let mut grow = Grower::new(seed.into());
        let mut turn = grow.turn(&calls.iter().map(|call| call.0).collect::<Vec<_>>());
        for (call, (_, tokens, cost, text, at)) in turn.calls.iter_mut().zip(calls) {
            call.tokens = tokens.map(|(input, output, cache_read, cache_write, thinking)| Tokens {
                input: input >> 24,
                output: output >> 24,
                cache_read: cache_read >> 24,
                cache_write: cache_write >> 24,
                thinking: thinking >> 24,
            });
            call.cost = cost.map(|n| CallCost { output: Some(Decimal::new(n, 9)), ..CallCost::default() });
            call.model.id.clone_from(&text);
            call.output.clone_from(&text);
            call.thinking = text;
            let at = Time::from_micros(at.rem_euclid(4_102_444_800_000_000).max(1));
            call.extent = Extent::new(at, at, true);
            if let Some(tool) = call.tools.first_mut() {
                tool.name.clone_from(&name);
                tool.arguments = Some(format!("{{\"a\": {:?}}}", name));
                if nested {
                    tool.turns.push(grow.turn(&[1, 0]));
                }
            }
        }
        Trace {
            id: TraceId::from_random(&seed.to_be_bytes()),
            surface: "antigravity-cli".to_owned(),
            user: nested.then(|| "a@b.example".to_owned()),
            turn,
        }
    })
}
