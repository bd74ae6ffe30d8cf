//! R11: OTLP's JSON, held to its mapping by hand, and read back by the library.

use agenthub_core::trace::Failure;
use agenthub_otlp::{Profiles, file};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use serde_json::{Value, json};

use crate::tree::{encoding, trace};

#[test]
fn r11_json_is_as_otlp_maps_it() {
    let mut trace = trace(7, &[1, 1, 1, 1]);
    trace.turn.calls[0].failure = Some(Failure::of("error"));
    let requests = encoding(Profiles::Both).with_largest_part(5_000).requests(&trace);
    assert!(requests.len() > 1);
    let mut lines = Vec::new();
    file::write_json_lines(&mut lines, &requests).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().count(), requests.len());

    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let of_resource = &first["resourceSpans"][0];
    let resource = of_resource["resource"]["attributes"].as_array().unwrap();
    assert!(resource.contains(&json!({"key": "service.name", "value": {"stringValue": "antigravity"}})));
    let of_scope = &of_resource["scopeSpans"][0];
    assert_eq!(of_scope["scope"]["name"], "agenthub");
    let (turn, call) = (&of_scope["spans"][0], &of_scope["spans"][1]);
    assert_eq!(turn["traceId"], trace.id.to_string());
    assert_eq!(turn["spanId"], trace.turn.id.to_string());
    assert_eq!(turn["kind"], 1, "enums are numbers");
    assert_eq!(call["kind"], 3);
    assert_eq!(call["parentSpanId"], turn["spanId"]);
    let ns = trace.turn.calls[0].extent.from.micros() * 1_000;
    assert_eq!(call["startTimeUnixNano"], ns.to_string(), "64-bit numbers are strings");
    assert_eq!(call["status"]["code"], 2);
    let value = |key: &str| {
        let all = call["attributes"].as_array().unwrap();
        all.iter().find(|a| a["key"] == key).map(|a| a["value"].clone()).unwrap_or_default()
    };
    assert_eq!(value("gen_ai.usage.output_tokens"), json!({"intValue": "340"}));
    assert_eq!(value("llm.cost.total"), json!({"doubleValue": 0.00828}));
    let reasons = json!({"arrayValue": {"values": [{"stringValue": "stop"}]}});
    assert_eq!(value("gen_ai.response.finish_reasons"), reasons);
    for key in ["trace_id", "strindex", "Strindex"] {
        assert!(!lines.contains(key), "{key}");
    }

    let read: Vec<ExportTraceServiceRequest> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, requests);
    assert_eq!(file::json(&requests[0]), first);
}
