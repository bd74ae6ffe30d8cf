//! The tree of a turn as OpenTelemetry's messages, cut into requests that every backend takes.
//!
//! Ids come from the tree, so a turn that is encoded again is the same spans (R6). Tokens and cost stand on calls alone (R3).

use agenthub_core::trace::{
    CallCost, CallSpan, Failure, Provider, Span as Node, SpanId, ToolSpan, Trace, TraceId, TurnSpan, Visit,
};
use agenthub_core::{CallKind, Model, Time};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message as _;
use serde_json::json;

use crate::names::{self, Field, Names};
use crate::send::{Batch, zipped};
use crate::{CacheWriteName, Destination, Profiles};

/// A request is smaller than this before it is zipped: collectors' usual limit.
pub const LARGEST_PART: usize = 4 * 1024 * 1024;

/// `sampled`, and "whether the parent is remote is known": it is not.
const FLAGS: u32 = 0x101;

/// What the lengths of the messages around the spans grow by when they are filled.
const ENVELOPE_LENGTHS: usize = 32;

/// Who sends: what the resource says beside the turn's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// AgentHub's version.
    pub version: String,
    /// This machine's name, where the person switched it on.
    pub host: Option<String>,
}

/// How one destination wants its spans.
#[derive(Clone, Debug)]
pub struct Encoding {
    names: Names,
    project: Option<String>,
    sender: Sender,
    largest_part: usize,
}

impl Encoding {
    pub fn for_destination(destination: &Destination, sender: Sender) -> Encoding {
        Encoding {
            project: destination.project.clone(),
            ..Encoding::new(destination.profiles, destination.cache_write_name, sender)
        }
    }

    pub fn new(profiles: Profiles, cache_write: CacheWriteName, sender: Sender) -> Encoding {
        Encoding {
            names: Names::new(profiles, cache_write),
            project: None,
            sender,
            largest_part: LARGEST_PART,
        }
    }

    /// For a backend that takes less.
    #[must_use]
    pub fn with_largest_part(self, largest_part: usize) -> Encoding {
        Encoding { largest_part, ..self }
    }

    /// Every span of the trace once, in as many requests as it takes. A parent may stand in another one.
    pub fn requests(&self, trace: &Trace) -> Vec<ExportTraceServiceRequest> {
        self.requests_of(trace, &|_| true)
    }

    /// The same with those spans only that `wanted` picks: what changed of a turn that was sent before.
    pub fn requests_of(
        &self,
        trace: &Trace,
        wanted: &dyn Fn(SpanId) -> bool,
    ) -> Vec<ExportTraceServiceRequest> {
        let envelope = self.envelope(&trace.surface, trace.turn.agent.version.as_deref());
        let most = self.largest_part.saturating_sub(envelope.encoded_len() + ENVELOPE_LENGTHS);
        let mut parts = vec![Vec::new()];
        let mut filled = 0;
        for visit in trace.visits().into_iter().filter(|v| wanted(v.span.id())) {
            let span = self.small_enough(self.span(trace, &visit), most);
            let size = span.encoded_len() + 6;
            if filled + size >= most && filled > 0 {
                parts.push(Vec::new());
                filled = 0;
            }
            filled += size;
            if let Some(part) = parts.last_mut() {
                part.push(span);
            }
        }
        parts.into_iter().map(|spans| filled_with(envelope.clone(), spans)).collect()
    }

    /// The same, ready for the wire or the queue.
    pub fn batches(&self, trace: &Trace) -> Vec<Batch> {
        self.batches_of(trace, &|_| true)
    }

    pub fn batches_of(&self, trace: &Trace, wanted: &dyn Fn(SpanId) -> bool) -> Vec<Batch> {
        self.requests_of(trace, wanted).iter().map(batch).collect()
    }

    /// A span that stands for nothing: see [`Probe`](crate::probe::Probe).
    pub(crate) fn test_request(
        &self,
        trace: &TraceId,
        span: &SpanId,
        now: Time,
    ) -> ExportTraceServiceRequest {
        let mut attributes = Attributes { names: &self.names, list: Vec::new() };
        attributes.text(Field::Kind, Some("CHAIN"));
        let mut attributes = attributes.sorted();
        attributes.push(key_value("agenthub.test", Value::BoolValue(true)));
        let span = Span {
            trace_id: trace.bytes().to_vec(),
            span_id: span.bytes().to_vec(),
            name: "AgentHub test".to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanos(now),
            end_time_unix_nano: nanos(now.plus_ms(1)),
            attributes,
            flags: FLAGS,
            ..Span::default()
        };
        filled_with(self.envelope("test", None), vec![span])
    }

    /// A request without spans.
    fn envelope(&self, surface: &str, agy_version: Option<&str>) -> ExportTraceServiceRequest {
        let scope = InstrumentationScope {
            name: "agenthub".to_owned(),
            version: self.sender.version.clone(),
            ..InstrumentationScope::default()
        };
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(self.resource(surface, agy_version)),
                scope_spans: vec![ScopeSpans { scope: Some(scope), ..ScopeSpans::default() }],
                schema_url: String::new(),
            }],
        }
    }

    fn resource(&self, surface: &str, agy_version: Option<&str>) -> Resource {
        let texts = [
            (names::SERVICE_NAME, Some("antigravity")),
            (names::SERVICE_VERSION, agy_version),
            (names::DISTRO_NAME, Some("agenthub")),
            (names::DISTRO_VERSION, Some(self.sender.version.as_str())),
            (names::SURFACE, Some(surface)),
            (names::HOST_NAME, self.sender.host.as_deref()),
            (names::PROJECT_NAME, self.project.as_deref()),
        ];
        let attribute =
            |(name, text): (&str, Option<&str>)| Some(key_value(name, Value::StringValue(text?.to_owned())));
        Resource { attributes: texts.into_iter().filter_map(attribute).collect(), ..Resource::default() }
    }

    fn span(&self, trace: &Trace, visit: &Visit<'_>) -> Span {
        let mut attributes = Attributes { names: &self.names, list: Vec::new() };
        let root = &trace.turn;
        let (name, kind, failure) = match visit.span {
            Node::Turn(turn) => of_turn(&mut attributes, trace, turn),
            Node::Call(call) => of_call(&mut attributes, visit.turn, call),
            Node::Tool(tool) => of_tool(&mut attributes, tool),
        };
        attributes.text(Field::Session, Some(root.conversation.as_str()));
        let extent = visit.span.extent();
        attributes.yes(Field::Approximate, extent.approximate);
        attributes.text(Field::ErrorType, failure.map(|failure| failure.kind.as_str()));
        let status = failure.map(|failure| Status {
            message: failure.words.clone().unwrap_or_default(),
            code: StatusCode::Error.into(),
        });
        Span {
            trace_id: trace.id.bytes().to_vec(),
            span_id: visit.span.id().bytes().to_vec(),
            parent_span_id: visit.parent.map(|parent| parent.bytes().to_vec()).unwrap_or_default(),
            name,
            kind: kind.into(),
            start_time_unix_nano: nanos(extent.from),
            end_time_unix_nano: nanos(extent.to),
            attributes: attributes.sorted(),
            status,
            flags: FLAGS,
            ..Span::default()
        }
    }

    /// No span is lost for being too large: its longest texts are cut until it fits.
    fn small_enough(&self, mut span: Span, most: usize) -> Span {
        if span.encoded_len() + 32 < most {
            return span;
        }
        // First, for what stands at the end goes first below.
        for name in self.names.of(Field::Truncated) {
            span.attributes.insert(0, key_value(name, Value::BoolValue(true)));
        }
        for longest in (8..=18).rev().map(|power| 1_usize << power) {
            cut(&mut span, longest);
            if span.encoded_len() + 16 < most {
                return span;
            }
        }
        // Thousands of attributes, then: those of content stand last.
        while span.encoded_len() + 16 >= most && span.attributes.pop().is_some() {}
        span
    }
}

fn filled_with(mut envelope: ExportTraceServiceRequest, spans: Vec<Span>) -> ExportTraceServiceRequest {
    if let Some(scope) =
        envelope.resource_spans.iter_mut().flat_map(|resource| &mut resource.scope_spans).next()
    {
        scope.spans = spans;
    }
    envelope
}

pub(crate) fn batch(request: &ExportTraceServiceRequest) -> Batch {
    Batch { gzipped: zipped(&request.encode_to_vec()), spans: spans_in(request) }
}

pub(crate) fn spans_in(request: &ExportTraceServiceRequest) -> u64 {
    request.resource_spans.iter().flat_map(|r| &r.scope_spans).map(|s| s.spans.len() as u64).sum()
}

fn of_turn<'a>(
    to: &mut Attributes<'_>,
    trace: &Trace,
    turn: &'a TurnSpan,
) -> (String, SpanKind, Option<&'a Failure>) {
    to.text(Field::Operation, Some("invoke_agent"));
    to.text(Field::Kind, Some("AGENT"));
    to.text(Field::Conversation, Some(turn.conversation.as_str()));
    to.text(Field::User, trace.user.as_deref());
    let agent = some_name(&turn.agent.name, "antigravity");
    to.text(Field::AgentName, Some(agent));
    to.text(Field::AgentId, Some(agent));
    to.text(Field::Provider, Some(provider(turn.provider)));
    to.text(Field::RequestModel, turn.model.as_ref().and_then(model_name));
    to.text(Field::TurnEnd, turn.finish_reason.as_deref());
    to.text(Field::Execution, turn.execution.as_deref());
    to.yes(Field::Incomplete, turn.incomplete);
    to.yes(Field::FromTranscript, turn.from_transcript);
    to.list(Field::Tags, &[&trace.surface]);
    let mut metadata = serde_json::Map::new();
    metadata.insert("surface".to_owned(), json!(trace.surface));
    for (name, value) in [("finish_reason", &turn.finish_reason), ("execution", &turn.execution)] {
        if let Some(value) = value {
            metadata.insert(name.to_owned(), json!(value));
        }
    }
    for (name, yes) in [("incomplete", turn.incomplete), ("from_transcript", turn.from_transcript)] {
        if yes {
            metadata.insert(name.to_owned(), json!(true));
        }
    }
    to.text(Field::Metadata, Some(&serde_json::Value::from(metadata).to_string()));
    if let Some(prompt) = &turn.prompt {
        to.text(Field::InputMessages, Some(&message("user", &[text_part(prompt)], None)));
        to.text(Field::InputKind, Some("text/plain"));
        to.text(Field::InputValue, Some(prompt));
    }
    if let Some(answer) = &turn.answer {
        let reason = turn.finish_reason.as_deref().unwrap_or("stop");
        to.text(Field::OutputMessages, Some(&message("assistant", &[text_part(answer)], Some(reason))));
        to.text(Field::OutputKind, Some("text/plain"));
        to.text(Field::OutputValue, Some(answer));
    }
    (named("invoke_agent", Some(agent)), SpanKind::Internal, turn.failure.as_ref())
}

fn of_call<'a>(
    to: &mut Attributes<'_>,
    turn: &TurnSpan,
    call: &'a CallSpan,
) -> (String, SpanKind, Option<&'a Failure>) {
    let answered = model_name(&call.model);
    let asked = call.request_model.as_deref().filter(|name| !name.is_empty()).or(answered);
    to.text(Field::Operation, Some("chat"));
    to.text(Field::Kind, Some("LLM"));
    to.text(Field::Conversation, Some(turn.conversation.as_str()));
    to.text(Field::Provider, Some(provider(call.provider)));
    to.text(Field::System, Some("vertexai"));
    to.text(Field::Hosting, Some("google"));
    to.text(Field::ModelName, answered.or(asked));
    to.text(Field::RequestModel, asked);
    to.text(Field::ResponseModel, answered);
    to.text(Field::ModelLabel, call.model.label.as_deref());
    to.text(Field::ResponseId, call.response_id.as_deref());
    if let Some(reason) = &call.finish_reason {
        to.list(Field::FinishReasons, &[reason]);
        to.text(Field::FinishReason, Some(reason));
    }
    let kind = match call.kind {
        CallKind::Turn => "turn",
        CallKind::Background => "background",
    };
    to.text(Field::CallKind, Some(kind));
    usage(to, call);
    said(to, call);
    (named("chat", asked), SpanKind::Client, call.failure.as_ref())
}

/// R3: no usage gives no count at all, and a count without a price says so.
fn usage(to: &mut Attributes<'_>, call: &CallSpan) {
    let Some(tokens) = call.tokens else {
        to.text(Field::Usage, Some("unknown"));
        return;
    };
    to.text(Field::Usage, Some("known"));
    let prompt = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
    // Thinking is a part of the output, whatever a damaged row says.
    let thinking = tokens.thinking.min(tokens.output);
    for (field, count) in [
        (Field::PromptTokens, prompt),
        (Field::OutputTokens, tokens.output),
        (Field::TotalTokens, prompt.saturating_add(tokens.output)),
        (Field::CacheRead, tokens.cache_read),
        (Field::CacheWrite, tokens.cache_write),
        (Field::Thinking, thinking),
    ] {
        to.put(field, || Value::IntValue(i64::try_from(count).unwrap_or(i64::MAX)));
    }
    let cost = call.cost.unwrap_or_default();
    let parts = [
        (tokens.input, cost.input),
        (tokens.cache_read, cost.cache_read),
        (tokens.cache_write, cost.cache_write),
        (tokens.output, cost.output),
    ];
    let unpriced = parts.iter().any(|(count, price)| *count > 0 && price.is_none());
    let price = match (cost.total(), unpriced) {
        (None, _) => "missing",
        (Some(_), true) => "partial",
        (Some(_), false) => "complete",
    };
    to.text(Field::Price, Some(price));
    costs(to, &cost);
}

fn costs(to: &mut Attributes<'_>, cost: &CallCost) {
    for (field, amount) in [
        (Field::CostPrompt, cost.prompt()),
        (Field::CostInput, cost.input),
        (Field::CostCacheRead, cost.cache_read),
        (Field::CostCacheWrite, cost.cache_write),
        (Field::CostOutput, cost.output),
        (Field::CostOutputDetail, cost.output),
        (Field::CostTotal, cost.total()),
    ] {
        // By way of its text: that rounds once, to the nearest double.
        if let Some(amount) = amount.and_then(|amount| amount.to_string().parse::<f64>().ok()) {
            to.put(field, || Value::DoubleValue(amount));
        }
    }
}

/// What was said, as far as it may leave: the tree holds no more.
fn said(to: &mut Attributes<'_>, call: &CallSpan) {
    if let Some(input) = &call.input {
        to.text(Field::InputMessages, Some(&message("user", &[text_part(input)], None)));
        to.text(Field::InputRole, Some("user"));
        to.text(Field::InputContent, Some(input));
    }
    let mut parts = Vec::new();
    if let Some(thinking) = &call.thinking {
        parts.push(json!({"type": "reasoning", "content": thinking}));
        to.text(Field::ThinkingText, Some(thinking));
    }
    if let Some(output) = &call.output {
        parts.push(text_part(output));
        to.text(Field::OutputContent, Some(output));
    }
    let said_something = !parts.is_empty();
    for (n, tool) in call.tools.iter().enumerate() {
        to.numbered(Field::OutputToolId, n, tool.call_id.as_deref());
        to.numbered(Field::OutputToolName, n, Some(&tool.name));
        to.numbered(Field::OutputToolArguments, n, tool.arguments.as_deref());
        let arguments = tool.arguments.as_deref().map(|text| {
            serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.to_owned()))
        });
        parts.push(
            json!({"type": "tool_call", "id": tool.call_id, "name": tool.name, "arguments": arguments}),
        );
    }
    if !parts.is_empty() {
        to.text(Field::OutputRole, Some("assistant"));
    }
    // Tools alone have spans of their own; the message is for what may be read.
    if said_something || call.tools.iter().any(|tool| tool.arguments.is_some()) {
        let reason = call.finish_reason.as_deref().unwrap_or("stop");
        to.text(Field::OutputMessages, Some(&message("assistant", &parts, Some(reason))));
    }
}

fn of_tool<'a>(to: &mut Attributes<'_>, tool: &'a ToolSpan) -> (String, SpanKind, Option<&'a Failure>) {
    to.text(Field::Operation, Some("execute_tool"));
    to.text(Field::Kind, Some("TOOL"));
    let name = some_name(&tool.name, "unknown");
    to.text(Field::ToolName, Some(name));
    to.text(Field::ToolCallId, tool.call_id.as_deref());
    to.text(Field::ToolType, Some("function"));
    if let Some(arguments) = &tool.arguments {
        let kind = if arguments.trim_start().starts_with('{') { "application/json" } else { "text/plain" };
        to.text(Field::ToolArguments, Some(arguments));
        to.text(Field::InputKind, Some(kind));
        to.text(Field::InputValue, Some(arguments));
    }
    if let Some(result) = &tool.result {
        to.text(Field::ToolResult, Some(result));
        to.text(Field::OutputKind, Some("text/plain"));
        to.text(Field::OutputValue, Some(result));
    }
    (named("execute_tool", Some(name)), SpanKind::Internal, tool.failure.as_ref())
}

/// `chat gemini-3.7-flash`; the operation alone where nothing names its subject.
fn named(operation: &str, subject: Option<&str>) -> String {
    match subject.filter(|subject| !subject.is_empty()) {
        Some(subject) => format!("{operation} {subject}"),
        None => operation.to_owned(),
    }
}

/// Both profiles want a name.
fn some_name<'a>(name: &'a str, without: &'a str) -> &'a str {
    if name.is_empty() { without } else { name }
}

/// The backend's name, else the one for people.
fn model_name(model: &Model) -> Option<&str> {
    [&model.id, &model.label].into_iter().flatten().map(String::as_str).find(|name| !name.is_empty())
}

const fn provider(provider: Provider) -> &'static str {
    match provider {
        Provider::Google => "gcp.gen_ai",
        Provider::GeminiApi => "gcp.gemini",
        Provider::VertexAi | Provider::AnthropicVertex | Provider::OpenAiVertex => "gcp.vertex_ai",
    }
}

fn text_part(text: &str) -> serde_json::Value {
    json!({"type": "text", "content": text})
}

/// A list of one message, as the GenAI conventions' JSON has it.
fn message(role: &str, parts: &[serde_json::Value], finish_reason: Option<&str>) -> String {
    let mut message = json!({"role": role, "parts": parts});
    if let (Some(reason), Some(fields)) = (finish_reason, message.as_object_mut()) {
        fields.insert("finish_reason".to_owned(), json!(reason));
    }
    json!([message]).to_string()
}

/// A time before 1970 has no place in OTLP.
fn nanos(time: Time) -> u64 {
    u64::try_from(time.micros()).unwrap_or(0).saturating_mul(1_000)
}

fn key_value(name: &str, value: Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn cut(span: &mut Span, longest: usize) {
    let texts = span.attributes.iter_mut().filter_map(|attribute| {
        match attribute.value.as_mut()?.value.as_mut()? {
            Value::StringValue(text) => Some(text),
            _ => None,
        }
    });
    let message = span.status.as_mut().map(|status| &mut status.message);
    for text in texts.chain(message).chain([&mut span.name]).filter(|text| text.len() > longest) {
        text.truncate(text.floor_char_boundary(longest));
        text.push('…');
    }
}

/// The attributes of one span, under all names that the destination wants.
struct Attributes<'a> {
    names: &'a Names,
    list: Vec<(Field, KeyValue)>,
}

impl Attributes<'_> {
    fn put(&mut self, field: Field, value: impl Fn() -> Value) {
        self.list.extend(self.names.of(field).iter().map(|name| (field, key_value(name, value()))));
    }

    /// An empty text says nothing.
    fn text(&mut self, field: Field, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.put(field, || Value::StringValue(text.to_owned()));
        }
    }

    /// One of many: the name's `N` is its number.
    fn numbered(&mut self, field: Field, n: usize, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            for name in self.names.of(field) {
                let name = name.replacen(".N.", &format!(".{n}."), 1);
                self.list.push((field, key_value(&name, Value::StringValue(text.to_owned()))));
            }
        }
    }

    fn list(&mut self, field: Field, texts: &[&str]) {
        let value = |text: &&str| AnyValue { value: Some(Value::StringValue((*text).to_owned())) };
        self.put(field, || Value::ArrayValue(ArrayValue { values: texts.iter().map(value).collect() }));
    }

    /// What is false is not said.
    fn yes(&mut self, field: Field, yes: bool) {
        if yes {
            self.put(field, || Value::BoolValue(true));
        }
    }

    /// In the table's order: content last.
    fn sorted(mut self) -> Vec<KeyValue> {
        self.list.sort_by_key(|(field, _)| *field);
        self.list.into_iter().map(|(_, attribute)| attribute).collect()
    }
}
