//! What a request holds, decoded; and what a backend says in protobuf.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::Request;

/// A span, with its resource and as it stood in the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    pub resource: BTreeMap<String, Value>,
    pub scope: String,
    /// The library's or program's version, of the instrumentation scope.
    pub scope_version: String,
    pub attributes: BTreeMap<String, Value>,
    pub span: Span,
}

impl Received {
    pub fn id(&self) -> String {
        hex(&self.span.span_id)
    }

    pub fn trace(&self) -> String {
        hex(&self.span.trace_id)
    }

    /// `None` for a root.
    pub fn parent(&self) -> Option<String> {
        (!self.span.parent_span_id.is_empty()).then(|| hex(&self.span.parent_span_id))
    }

    pub fn name(&self) -> &str {
        &self.span.name
    }

    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name) {
            Some(Value::StringValue(text)) => Some(text),
            _ => None,
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attributes.get(name) {
            Some(Value::IntValue(n)) => Some(*n),
            _ => None,
        }
    }

    pub fn double(&self, name: &str) -> Option<f64> {
        match self.attributes.get(name) {
            Some(Value::DoubleValue(n)) => Some(*n),
            _ => None,
        }
    }

    pub fn resource_text(&self, name: &str) -> Option<&str> {
        match self.resource.get(name) {
            Some(Value::StringValue(text)) => Some(text),
            _ => None,
        }
    }

    pub fn duration_ns(&self) -> u64 {
        self.span.end_time_unix_nano.saturating_sub(self.span.start_time_unix_nano)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The different span ids, each with its trace.
pub(crate) fn ids(spans: &[Received]) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    spans.iter().map(|s| (s.span.trace_id.clone(), s.span.span_id.clone())).collect()
}

/// The spans of a request, or what is wrong with it.
pub(crate) fn decoded(request: &Request) -> Result<Vec<Received>, String> {
    if request.method != "POST" {
        return Err(format!("the method is {}", request.method));
    }
    let kind = request.header("content-type").unwrap_or_default();
    if kind != "application/x-protobuf" {
        return Err(format!("content-type: {kind}"));
    }
    let plain = match request.header("content-encoding") {
        None => request.body.clone(),
        Some("gzip") => unzipped(&request.body)?,
        Some(other) => return Err(format!("content-encoding: {other}")),
    };
    spans_of(&plain)
}

/// The spans of a gzipped `ExportTraceServiceRequest`, such as a file of the queue.
pub fn of_gzip(zipped: &[u8]) -> Result<Vec<Received>, String> {
    spans_of(&unzipped(zipped)?)
}

/// The message as it was before it was zipped.
pub fn unzipped(zipped: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(zipped)
        .read_to_end(&mut plain)
        .map_err(|e| format!("the gzip is damaged: {e}"))?;
    Ok(plain)
}

fn spans_of(plain: &[u8]) -> Result<Vec<Received>, String> {
    let message = ExportTraceServiceRequest::decode(plain).map_err(|e| format!("no OTLP: {e}"))?;
    let mut spans = Vec::new();
    for of_resource in message.resource_spans {
        let resource = map(of_resource.resource.map(|r| r.attributes).unwrap_or_default())?;
        for of_scope in of_resource.scope_spans {
            let scope = of_scope.scope.unwrap_or_default();
            for span in of_scope.spans {
                spans.push(Received {
                    resource: resource.clone(),
                    scope: scope.name.clone(),
                    scope_version: scope.version.clone(),
                    attributes: map(span.attributes.clone())?,
                    span,
                });
            }
        }
    }
    Ok(spans)
}

/// OTLP wants each key once, and a value with each.
fn map(attributes: Vec<KeyValue>) -> Result<BTreeMap<String, Value>, String> {
    let mut map = BTreeMap::new();
    for KeyValue { key, value, .. } in attributes {
        let Some(AnyValue { value: Some(value) }) = value else {
            return Err(format!("the attribute {key} has no value"));
        };
        if map.insert(key.clone(), value).is_some() {
            return Err(format!("the attribute {key} stands twice"));
        }
    }
    Ok(map)
}

pub(crate) fn all_taken() -> Vec<u8> {
    ExportTraceServiceResponse { partial_success: None }.encode_to_vec()
}

pub(crate) fn partly_taken(rejected: u64, message: &str) -> Vec<u8> {
    let partial = ExportTracePartialSuccess {
        rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
        error_message: message.to_owned(),
    };
    ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
}

/// `google.rpc.Status` with a code and a message.
pub(crate) fn status_message(message: &str) -> Vec<u8> {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Status {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
    }
    Status { code: 13, message: message.to_owned() }.encode_to_vec()
}
