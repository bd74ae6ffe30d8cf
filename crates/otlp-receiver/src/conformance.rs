//! Whether spans are what a backend needs: OpenTelemetry's GenAI conventions, OpenInference, and the promises about tokens
//! and cost. The names stand here once more, on purpose: see the crate's first lines.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::Received;

/// Which names are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Both,
    GenAi,
    OpenInference,
}

/// Everything that is wrong with these spans, which must be whole traces. Empty: all is well.
pub fn findings(spans: &[Received], names: Names) -> Vec<String> {
    let mut findings = Vec::new();
    let mut traces: BTreeMap<String, Vec<&Received>> = BTreeMap::new();
    for span in spans {
        traces.entry(span.trace()).or_default().push(span);
        let place = format!("{} {}", span.name(), span.id());
        findings.extend(of_span(span, names).into_iter().map(|finding| format!("{place}: {finding}")));
    }
    for (trace, spans) in traces {
        findings.extend(of_trace(&spans).into_iter().map(|finding| format!("trace {trace}: {finding}")));
    }
    findings
}

fn of_trace(spans: &[&Received]) -> Vec<String> {
    let mut findings = Vec::new();
    let ids: BTreeSet<String> = spans.iter().map(|span| span.id()).collect();
    if ids.len() != spans.len() {
        findings.push(format!("{} spans have {} ids", spans.len(), ids.len()));
    }
    let roots = spans.iter().filter(|span| span.parent().is_none()).count();
    if roots != 1 {
        findings.push(format!("{roots} roots"));
    }
    for span in spans {
        if let Some(parent) = span.parent()
            && !ids.contains(&parent)
        {
            findings.push(format!("{} hangs below {parent}, which is not there", span.id()));
        }
    }
    let sessions: BTreeSet<_> = spans.iter().filter_map(|span| span.text("session.id")).collect();
    if sessions.len() > 1 {
        findings.push(format!("it belongs to the sessions {sessions:?}"));
    }
    findings
}

/// What a span is, by either profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Turn,
    Call,
    Tool,
}

fn of_span(span: &Received, names: Names) -> Vec<String> {
    let mut findings = plain(span);
    let (gen_ai, open_inference) = (names != Names::OpenInference, names != Names::GenAi);
    let by_operation = match span.text("gen_ai.operation.name") {
        Some("invoke_agent") => Some(What::Turn),
        Some("chat") => Some(What::Call),
        Some("execute_tool") => Some(What::Tool),
        _ => None,
    };
    let by_kind = match span.text("openinference.span.kind") {
        Some("AGENT") => Some(What::Turn),
        Some("LLM") => Some(What::Call),
        Some("TOOL") => Some(What::Tool),
        _ => None,
    };
    if gen_ai != by_operation.is_some() || open_inference != by_kind.is_some() {
        findings.push(format!("it is {by_operation:?} by GenAI and {by_kind:?} by OpenInference"));
    }
    let Some(what) = by_operation.or(by_kind) else { return findings };
    if by_operation.is_some_and(|other| other != what) || by_kind.is_some_and(|other| other != what) {
        findings.push("the two profiles differ about what it is".to_owned());
    }
    if gen_ai {
        findings.extend(of_gen_ai(span, what));
    }
    if open_inference {
        findings.extend(of_open_inference(span, what));
    }
    findings
}

fn plain(span: &Received) -> Vec<String> {
    let mut findings = Vec::new();
    let mut need = |fine: bool, finding: &str| {
        if !fine {
            findings.push(finding.to_owned());
        }
    };
    let s = &span.span;
    need(s.trace_id.len() == 16 && s.trace_id.iter().any(|b| *b != 0), "no trace id");
    need(s.span_id.len() == 8 && s.span_id.iter().any(|b| *b != 0), "no span id");
    need(s.parent_span_id.is_empty() || s.parent_span_id.len() == 8, "its parent is no span id");
    need(s.parent_span_id != s.span_id, "it is its own parent");
    need(!s.name.is_empty(), "no name");
    need(s.start_time_unix_nano > 0, "no start");
    need(s.end_time_unix_nano >= s.start_time_unix_nano, "it ends before it starts");
    need(span.resource_text("service.name") == Some("antigravity"), "service.name");
    need(span.resource_text("telemetry.distro.name") == Some("agenthub"), "telemetry.distro.name");
    need(
        span.resource_text("telemetry.distro.version").is_some_and(|v| !v.is_empty()),
        "no version of AgentHub",
    );
    need(span.resource_text("agenthub.surface").is_some_and(|v| !v.is_empty()), "no surface");
    need(span.scope == "agenthub" && !span.scope_version.is_empty(), "no instrumentation scope");
    let failed = s.status.as_ref().is_some_and(|status| status.code == StatusCode::Error as i32);
    need(failed == span.has("error.type"), "status and error.type do not agree");
    findings
}

const GEN_AI_TOKENS: [&str; 5] = [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
];
const OPEN_INFERENCE_TOKENS: [&str; 6] = [
    "llm.token_count.prompt",
    "llm.token_count.completion",
    "llm.token_count.total",
    "llm.token_count.prompt_details.cache_read",
    "llm.token_count.prompt_details.cache_write",
    "llm.token_count.completion_details.reasoning",
];

fn of_gen_ai(span: &Received, what: What) -> Vec<String> {
    let mut findings = Vec::new();
    let (needed, kind): (&[&str], SpanKind) = match what {
        What::Turn => {
            (&["gen_ai.provider.name", "gen_ai.agent.name", "gen_ai.conversation.id"], SpanKind::Internal)
        }
        What::Call => (&["gen_ai.provider.name", "gen_ai.conversation.id"], SpanKind::Client),
        What::Tool => (&["gen_ai.tool.name", "gen_ai.tool.type"], SpanKind::Internal),
    };
    findings.extend(
        needed
            .iter()
            .filter(|name| span.text(name).is_none_or(str::is_empty))
            .map(|name| format!("no {name}")),
    );
    if span.span.kind != kind as i32 {
        findings.push(format!("its kind is {}", span.span.kind));
    }
    let subject = match what {
        What::Turn => span.text("gen_ai.agent.name"),
        What::Call => span.text("gen_ai.request.model"),
        What::Tool => span.text("gen_ai.tool.name"),
    };
    let operation = span.text("gen_ai.operation.name").unwrap_or_default();
    let name = subject.map_or(operation.to_owned(), |subject| format!("{operation} {subject}"));
    if span.name() != name {
        findings.push(format!("its name is not `{name}`"));
    }
    // One of the two names is there, by a setting.
    let renamed = |name: &str| name.replace("cache_write", "cache_creation");
    let count = |name: &str| span.int(name).or_else(|| span.int(&renamed(name)));
    let there = GEN_AI_TOKENS.iter().filter(|name| span.has(name) || span.has(&renamed(name))).count();
    findings.extend(of_tokens(what, there, GEN_AI_TOKENS.len(), "gen_ai.usage"));
    if let [Some(input), Some(output), Some(read), Some(write), Some(thinking)] = GEN_AI_TOKENS.map(count) {
        if input < read + write {
            findings.push(format!("{input} input tokens do not include {read} + {write} of the cache"));
        }
        if output < thinking {
            findings.push(format!("{output} output tokens do not include {thinking} of thinking"));
        }
    } else if there == GEN_AI_TOKENS.len() {
        findings.push("token counts that are no integers".to_owned());
    }
    findings
}

fn of_open_inference(span: &Received, what: What) -> Vec<String> {
    let mut findings = Vec::new();
    let needed: &[&str] = match what {
        What::Turn => &["session.id", "agent.name"],
        What::Call => &["session.id", "llm.system", "llm.provider"],
        What::Tool => &["session.id", "tool.name"],
    };
    findings.extend(
        needed
            .iter()
            .filter(|name| span.text(name).is_none_or(str::is_empty))
            .map(|name| format!("no {name}")),
    );
    let there = OPEN_INFERENCE_TOKENS.iter().filter(|name| span.has(name)).count();
    findings.extend(of_tokens(what, there, OPEN_INFERENCE_TOKENS.len(), "llm.token_count"));
    if let [Some(prompt), Some(completion), Some(total), Some(read), Some(write), Some(thinking)] =
        OPEN_INFERENCE_TOKENS.map(|name| span.int(name))
    {
        if total != prompt + completion {
            findings.push(format!("{total} tokens are not {prompt} + {completion}"));
        }
        if prompt < read + write || completion < thinking {
            findings.push("the counts do not include their details".to_owned());
        }
    } else if there == OPEN_INFERENCE_TOKENS.len() {
        findings.push("token counts that are no integers".to_owned());
    }
    let costs: Vec<&String> = span.attributes.keys().filter(|name| name.starts_with("llm.cost.")).collect();
    if !costs.is_empty() && (what != What::Call || there == 0) {
        findings.push(format!("{costs:?} without tokens, or on no call"));
    }
    if costs.iter().any(|name| span.double(name).is_none_or(|cost| !cost.is_finite() || cost < 0.0)) {
        findings.push("a cost that is no number of dollars".to_owned());
    }
    findings
}

/// R3: on calls alone, all of them or none.
fn of_tokens(what: What, there: usize, all: usize, names: &str) -> Option<String> {
    match (what, there) {
        (_, 0) => None,
        (What::Call, n) if n == all => None,
        (What::Call, n) => Some(format!("{n} of {all} {names}.*")),
        (_, n) => Some(format!("{n} {names}.* on a span that is no call")),
    }
}
