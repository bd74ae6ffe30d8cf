//! `docs/tracing.md` lists every attribute with its unit: these tables are the code's.

use std::fmt::Write as _;

use agenthub_otlp::names::{Origin, RESOURCE, TABLE};
use agenthub_otlp::{Destination, Preset};

use crate::tree::destination;

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tracing.md");
    std::fs::read_to_string(path).expect("docs/tracing.md")
}

fn tables() -> String {
    let mut text = String::from("### On the resource\n\n| Attribute | Says |\n| --- | --- |\n");
    for (name, meaning) in RESOURCE {
        writeln!(text, "| `{name}` | {meaning} |").unwrap();
    }
    for (origin, title) in [
        (Origin::GenAi, "OpenTelemetry GenAI"),
        (Origin::OpenInference, "OpenInference"),
        (Origin::Always, "In every profile"),
    ] {
        write!(text, "\n### {title}\n\n| Attribute | On | Unit | Says |\n| --- | --- | --- | --- |\n")
            .unwrap();
        for row in TABLE.iter().filter(|row| row.origin == origin) {
            let meaning = said(row.name);
            writeln!(text, "| `{}` | {} | {} | {meaning} |", row.name, row.on, row.unit).unwrap();
        }
    }
    text
}

/// `the same` means the row before, which in the document stands elsewhere.
fn said(name: &str) -> &'static str {
    let at = TABLE.iter().position(|row| row.name == name).expect("a row");
    TABLE[..=at].iter().rev().map(|row| row.meaning).find(|said| *said != "the same").unwrap_or_default()
}

#[test]
fn r5_the_document_lists_every_attribute() {
    let tables = tables();
    assert!(document().contains(&tables), "docs/tracing.md must have these tables:\n\n{tables}");
}

#[test]
fn r4_the_document_sets_up_every_preset_and_explains_every_setting() {
    let document = document();
    for preset in Preset::ALL {
        let command = format!("agenthub trace install --preset {}", preset.id());
        assert!(document.contains(&command), "{command}");
        for hint in preset.headers().iter().filter(|hint| hint.needed) {
            assert!(document.contains(&format!("--header \"{}: ", hint.name)), "{}", hint.name);
        }
    }
    let all = Destination {
        ca_file: Some("/ca.pem".into()),
        project: Some("x".to_owned()),
        ..destination("http://localhost:1")
    };
    let settings = serde_json::to_value(all).unwrap();
    for key in settings.as_object().unwrap().keys().filter(|key| !["id", "preset"].contains(&key.as_str())) {
        assert!(document.contains(&format!("| `{key}` |")), "{key}");
    }
}
