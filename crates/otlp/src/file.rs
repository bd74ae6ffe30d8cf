//! Spans as OTLP's JSON, a request a line: what `otlpjsonfile` receivers and people read. Ids are hex, enums numbers, 64-bit
//! numbers strings.

use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

/// Writes each request as one line.
pub fn write_json_lines(to: &mut impl Write, requests: &[ExportTraceServiceRequest]) -> io::Result<()> {
    for request in requests {
        serde_json::to_writer(&mut *to, request)?;
        to.write_all(b"\n")?;
    }
    to.flush()
}

/// The same for people, as `--dry-run` prints it.
pub fn json(request: &ExportTraceServiceRequest) -> serde_json::Value {
    // Only maps with keys that are no text can fail, and there are none.
    serde_json::to_value(request).unwrap_or_default()
}
