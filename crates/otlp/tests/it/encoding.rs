//! R2 to R6: what stands in the messages, by the names of the standards.

use std::collections::BTreeSet;

use agenthub_core::trace::{CallCost, Failure, Trace};
use agenthub_core::{CallKind, Tokens};
use agenthub_otlp::encode::LARGEST_PART;
use agenthub_otlp::{CacheWriteName, Encoding, Profiles, Sender};
use otlp_receiver::Received;
use otlp_receiver::conformance::{self, Names};
use proptest::prelude::*;
use prost::Message as _;
use rust_decimal::Decimal;

use crate::tree::{Grower, any_trace, destination, encoding, sender, trace};

/// What a backend would have of it.
fn received(encoding: &Encoding, trace: &Trace) -> Vec<Received> {
    encoding
        .batches(trace)
        .iter()
        .flat_map(|batch| otlp_receiver::decoded(&batch.gzipped).expect("OTLP"))
        .collect()
}

fn both(trace: &Trace) -> Vec<Received> {
    received(&encoding(Profiles::Both), trace)
}

#[test]
fn r5_both_profiles_stand_on_every_span_by_default() {
    let trace = trace(1, &[2, 0, 1]);
    let spans = both(&trace);
    assert_eq!(spans.len(), 1 + 3 + 3);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);

    let turn = &spans[0];
    assert_eq!(turn.name(), "invoke_agent antigravity");
    assert_eq!(turn.parent(), None);
    assert_eq!(turn.text("gen_ai.request.model"), Some("gemini-3.1-pro"));
    assert_eq!(turn.resource_text("service.version"), Some("1.0.16"));
    assert_eq!(turn.resource_text("telemetry.distro.version"), Some("0.1.0"));
    assert_eq!(turn.resource_text("agenthub.surface"), Some("antigravity-cli"));
    let call = &spans[1];
    assert_eq!(call.name(), "chat gemini-3.1-pro");
    assert_eq!(call.parent().as_deref(), Some(turn.id().as_str()));
    assert_eq!(call.text("agenthub.model.label"), Some("Gemini 3.1 Pro (High)"));
    assert_eq!(call.duration_ns(), 412_345_000);
    let tool = &spans[2];
    assert_eq!(tool.name(), "execute_tool run_command");
    assert_eq!(tool.parent().as_deref(), Some(call.id().as_str()));
}

#[test]
fn r5_each_profile_alone_has_only_its_own_names() {
    let trace = trace(1, &[1]);
    for (profiles, names, none_of) in [
        (Profiles::GenAi, Names::GenAi, ["llm.", "openinference.", "tool.", "session.id", "input."]),
        (Profiles::OpenInference, Names::OpenInference, ["gen_ai."; 5]),
    ] {
        let spans = received(&encoding(profiles), &trace);
        assert_eq!(conformance::findings(&spans, names), [""; 0]);
        for span in &spans {
            let foreign = span.attributes.keys().find(|key| none_of.iter().any(|of| key.starts_with(of)));
            assert_eq!(foreign, None, "{profiles:?}");
        }
        // The cost is there under any profile.
        assert_eq!(spans[1].double("agenthub.cost.total"), Some(0.00828));
    }
}

#[test]
fn r3_tokens_and_cost_stand_on_calls_alone_and_prompts_include_the_cache() {
    let mut trace = trace(1, &[1]);
    trace.turn.calls[0].tokens =
        Some(Tokens { input: 100, output: 50, cache_read: 1_000, cache_write: 10, thinking: 20 });
    let spans = both(&trace);
    let call = &spans[1];
    for (name, count) in [
        ("gen_ai.usage.input_tokens", 1_110),
        ("gen_ai.usage.output_tokens", 50),
        ("gen_ai.usage.cache_read.input_tokens", 1_000),
        ("gen_ai.usage.cache_write.input_tokens", 10),
        ("gen_ai.usage.reasoning.output_tokens", 20),
        ("llm.token_count.prompt", 1_110),
        ("llm.token_count.completion", 50),
        ("llm.token_count.total", 1_160),
        ("llm.token_count.prompt_details.cache_read", 1_000),
        ("llm.token_count.prompt_details.cache_write", 10),
        ("llm.token_count.completion_details.reasoning", 20),
    ] {
        assert_eq!(call.int(name), Some(count), "{name}");
    }
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
}

#[test]
fn r3_unknown_usage_and_a_missing_price_are_told_apart() {
    let mut trace = trace(1, &[1, 1, 1, 1]);
    let [unknown, unpriced, partial, complete] = &mut trace.turn.calls[..] else { panic!("four calls") };
    unknown.tokens = None;
    unpriced.cost = None;
    partial.cost = Some(CallCost { output: Some(Decimal::new(1, 2)), ..CallCost::default() });
    // A part without tokens needs no price.
    complete.cost = Some(CallCost { cache_write: None, ..complete.cost.unwrap() });
    let spans = both(&trace);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    let calls: Vec<_> = spans.iter().filter(|s| s.name().starts_with("chat")).collect();
    let said = |n: usize| (calls[n].text("agenthub.usage"), calls[n].text("agenthub.price"));
    assert_eq!(said(0), (Some("unknown"), None));
    assert_eq!(said(1), (Some("known"), Some("missing")));
    assert_eq!(said(2), (Some("known"), Some("partial")));
    assert_eq!(said(3), (Some("known"), Some("complete")));
    let counted = |n: usize| calls[n].attributes.keys().any(|k| k.contains("token") || k.contains("usage."));
    let costed = |n: usize| calls[n].attributes.keys().any(|k| k.contains("cost"));
    assert_eq!([0, 1, 2, 3].map(counted), [false, true, true, true]);
    assert_eq!([0, 1, 2, 3].map(costed), [false, false, true, true]);
    // Its tool is there all the same.
    assert_eq!(spans.iter().filter(|s| s.parent() == Some(calls[0].id())).count(), 1);
}

#[test]
fn r3_a_cost_is_the_nearest_double_of_the_exact_decimal() {
    for (text, nearest) in [
        ("0.1", 0.1),
        ("0.0470754", 0.0470754),
        ("0.00000000000000000000001", 1e-23),
        ("79228162514264337593543950335", 79_228_162_514_264_337_593_543_950_335_f64),
        ("0.30000000000000004", 0.30000000000000004),
    ] {
        let mut trace = trace(1, &[0]);
        trace.turn.calls[0].cost =
            Some(CallCost { output: Some(text.parse().unwrap()), ..CallCost::default() });
        let span = &both(&trace)[1];
        for name in ["llm.cost.total", "llm.cost.completion", "agenthub.cost.total"] {
            assert_eq!(span.double(name), Some(nearest), "{name} of {text}");
        }
        assert_eq!(span.double("llm.cost.prompt"), None);
    }
}

#[test]
fn r3_the_parts_of_a_cost_add_up_exactly() {
    let trace = trace(1, &[0]);
    let span = &both(&trace)[1];
    for (name, amount) in [
        ("llm.cost.prompt", 0.0042),
        ("llm.cost.prompt_details.input", 0.0024),
        ("llm.cost.prompt_details.cache_read", 0.0018),
        ("llm.cost.completion", 0.00408),
        ("llm.cost.completion_details.output", 0.00408),
        ("llm.cost.total", 0.00828),
    ] {
        assert_eq!(span.double(name), Some(amount), "{name}");
    }
}

#[test]
fn r10_what_is_not_in_the_tree_is_in_no_attribute() {
    let spans = both(&trace(1, &[2]));
    let content =
        ["messages", "input.value", "output.value", "arguments", "result", "parameters", "thinking"];
    for span in &spans {
        let found: Vec<_> = span
            .attributes
            .keys()
            .filter(|key| content.iter().any(|part| key.contains(part)))
            // Which tools were asked for is no secret: each is a span.
            .filter(|key| {
                !key.ends_with("role") && !key.ends_with("tool_call.id") && !key.ends_with("function.name")
            })
            .collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn r10_content_stands_where_each_profile_looks_for_it() {
    let mut trace = trace(1, &[1]);
    trace.turn.prompt = Some("say \"hi\"".to_owned());
    trace.turn.answer = Some("hi".to_owned());
    let call = &mut trace.turn.calls[0];
    call.input = Some("say".to_owned());
    call.output = Some("hi".to_owned());
    call.thinking = Some("hm".to_owned());
    call.tools[0].arguments = Some("{\"cmd\": \"ls\"}".to_owned());
    call.tools[0].result = Some("a.rs".to_owned());
    let spans = both(&trace);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    let (turn, call, tool) = (&spans[0], &spans[1], &spans[2]);
    assert_eq!(turn.text("input.value"), Some("say \"hi\""));
    assert_eq!(turn.text("output.value"), Some("hi"));
    assert_eq!(call.text("llm.input_messages.0.message.content"), Some("say"));
    assert_eq!(call.text("llm.output_messages.0.message.content"), Some("hi"));
    let name = "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments";
    assert_eq!(call.text(name), Some("{\"cmd\": \"ls\"}"));
    let json: serde_json::Value = serde_json::from_str(call.text("gen_ai.output.messages").unwrap()).unwrap();
    let parts = json[0]["parts"].as_array().unwrap();
    let kinds: Vec<_> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "text", "tool_call"]);
    assert_eq!(parts[2]["arguments"]["cmd"], "ls");
    assert_eq!(json[0]["finish_reason"], "stop");
    assert_eq!(tool.text("gen_ai.tool.call.arguments"), Some("{\"cmd\": \"ls\"}"));
    assert_eq!(tool.text("input.mime_type"), Some("application/json"));
    assert_eq!(tool.text("output.value"), Some("a.rs"));
}

#[test]
fn r6_a_sub_agents_turn_hangs_below_its_tool_in_the_same_trace_and_session() {
    let mut trace = trace(1, &[1]);
    let mut sub = Grower::new(77).turn(&[1]);
    sub.agent.name = "browser".to_owned();
    let own = sub.conversation.as_str().to_owned();
    trace.turn.calls[0].tools[0].turns.push(sub);
    let spans = both(&trace);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    let sub = spans.iter().find(|s| s.name() == "invoke_agent browser").unwrap();
    assert_eq!(sub.parent().as_deref(), Some(spans[2].id().as_str()));
    assert_eq!(sub.text("gen_ai.conversation.id"), Some(own.as_str()));
    assert_eq!(sub.text("session.id"), spans[0].text("session.id"));
}

#[test]
fn r2_what_went_wrong_and_what_is_not_exact_is_said() {
    let mut trace = trace(1, &[1]);
    trace.turn.incomplete = true;
    trace.turn.from_transcript = true;
    let call = &mut trace.turn.calls[0];
    call.kind = CallKind::Background;
    call.extent.approximate = true;
    call.failure = Some(Failure { kind: "error".to_owned(), words: Some("503".to_owned()) });
    call.tools[0].failure = Some(Failure::of("denied"));
    let spans = both(&trace);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    assert!(spans[0].has("agenthub.turn.incomplete") && spans[0].has("agenthub.turn.from_transcript"));
    assert!(spans[0].text("metadata").unwrap().contains("\"incomplete\":true"));
    assert_eq!(spans[1].text("error.type"), Some("error"));
    assert_eq!(spans[1].span.status.as_ref().unwrap().message, "503");
    assert_eq!(spans[1].text("agenthub.call.kind"), Some("background"));
    assert!(spans[1].has("agenthub.time.approximate"));
    assert_eq!(spans[2].text("error.type"), Some("denied"));
    assert!(spans[0].span.status.is_none());
}

#[test]
fn r4_host_and_project_are_named_only_where_they_are_set() {
    let trace = trace(1, &[0]);
    let mut to = destination("http://localhost:1");
    let plain = received(&Encoding::for_destination(&to, sender()), &trace);
    assert!(!plain[0].resource.contains_key("host.name"));
    assert!(!plain[0].resource.contains_key("openinference.project.name"));
    to.project = Some("mine".to_owned());
    to.cache_write_name = CacheWriteName::CacheCreation;
    let named = Sender { host: Some("desk".to_owned()), ..sender() };
    let named = received(&Encoding::for_destination(&to, named), &trace);
    assert_eq!(named[0].resource_text("host.name"), Some("desk"));
    assert_eq!(named[0].resource_text("openinference.project.name"), Some("mine"));
    assert!(named[1].has("gen_ai.usage.cache_creation.input_tokens"));
    assert_eq!(conformance::findings(&named, Names::Both), [""; 0]);
}

#[test]
fn r4_a_turn_of_5000_calls_goes_out_in_parts_under_4_mib() {
    let trace = trace(1, &[1; 5_000]);
    let requests = encoding(Profiles::Both).requests(&trace);
    assert!(requests.len() > 1, "it is too large for one");
    for request in &requests {
        assert!(request.encoded_len() < LARGEST_PART, "{}", request.encoded_len());
    }
    let spans = both(&trace);
    assert_eq!(spans.len(), 10_001);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
}

#[test]
fn r4_a_span_larger_than_a_request_is_cut_and_not_lost() {
    const LARGEST: usize = 200_000;
    let mut trace = trace(1, &[1, 400]);
    let long = "ü".repeat(150_000);
    trace.turn.prompt = Some(long.clone());
    trace.turn.calls[0].output = Some(long.clone());
    trace.turn.calls[0].failure = Some(Failure { kind: "error".to_owned(), words: Some(long) });
    for tool in &mut trace.turn.calls[1].tools {
        tool.arguments = Some("x".repeat(3_000));
    }
    let encoding = encoding(Profiles::Both).with_largest_part(LARGEST);
    for request in encoding.requests(&trace) {
        assert!(request.encoded_len() < LARGEST, "{}", request.encoded_len());
    }
    let spans = received(&encoding, &trace);
    assert_eq!(spans.len(), 3 + 401);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    let cut: Vec<_> = spans.iter().filter(|s| s.has("agenthub.truncated")).collect();
    assert_eq!(cut.len(), 3);
    assert!(cut[0].text("input.value").unwrap().ends_with('…'));
    assert!(cut[1].int("llm.token_count.total").is_some(), "what counts is kept");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the tree: every span is there once, in every profile under the same id, in parts that are small enough.
    #[test]
    fn r6_an_export_is_whole_the_same_each_time_and_sound(trace in any_trace()) {
        let ids = |spans: &[Received]| spans.iter().map(|s| (s.id(), s.parent())).collect::<Vec<_>>();
        let all = both(&trace);
        prop_assert_eq!(all.len(), trace.visits().len());
        prop_assert_eq!(ids(&all).iter().collect::<BTreeSet<_>>().len(), all.len());
        prop_assert_eq!(&all, &both(&trace));
        prop_assert_eq!(conformance::findings(&all, Names::Both), Vec::<String>::new());
        for (profiles, names) in
            [(Profiles::GenAi, Names::GenAi), (Profiles::OpenInference, Names::OpenInference)]
        {
            let alone = received(&encoding(profiles), &trace);
            prop_assert_eq!(ids(&alone), ids(&all));
            prop_assert_eq!(conformance::findings(&alone, names), Vec::<String>::new());
        }
        for largest in [1_000, 3_000, 20_000] {
            let encoding = encoding(Profiles::Both).with_largest_part(largest);
            let requests = encoding.requests(&trace);
            prop_assert!(requests.iter().all(|r| r.encoded_len() < largest.max(1_500)));
            prop_assert_eq!(ids(&received(&encoding, &trace)), ids(&all));
        }
        // user-reports 105: what was read from the cache is a part of the prompt, always.
        for span in &all {
            if let Some(prompt) = span.int("gen_ai.usage.input_tokens") {
                prop_assert!(span.int("gen_ai.usage.cache_read.input_tokens").unwrap() <= prompt);
            }
        }
    }
}
