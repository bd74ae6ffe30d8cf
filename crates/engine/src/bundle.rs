//! The diagnostics bundle: what somebody who is to help needs to know, in one file that can be shared as it is (spec Q4).
//!
//! What goes in is named here, one by one; nothing is taken over whole and then blotted. Names of sessions come from
//! prompts, and folders are the person's own matter: neither is in it. Texts that may quote a path or an address go
//! through the patterns of tracing (`tracer/privacy.rs`).

use std::io::{Cursor, Write as _};

use agenthub_core::{SessionId, Time};
use agenthub_store as store;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    logs,
    places::Places,
    tracer::privacy::{Content, Privacy},
    view::{BoardView, DoctorDocument, ErrorView, HooksStatus, PricingStatus, SettingsView, TracingStatus},
};

/// So much of the log is taken.
const LOG: u64 = 128 * 1024;
/// So many problems are listed; their numbers are in the groups.
const PROBLEMS: usize = 500;

const README: &str = "Diagnostics of AgentHub, made on its owner's word.

doctor.json    what is wrong and what is so, and which files could not be read
system.json    versions, sizes, and how many lanes are in which state
settings.json  the settings in force; muted lanes as a number
hooks.json     how agy's hooks stand
tracing.json   whether and how well spans go out; no address, no header
prices.json    which price table is in use
log.txt        the newest lines of the log

No prompt, answer or name of a session, no file's contents, no folder of a project, no address and no secret is in it.
";

/// All that a bundle tells of.
pub(crate) struct Told<'a> {
    pub(crate) places: &'a Places,
    pub(crate) now: Time,
    pub(crate) board: &'a BoardView,
    pub(crate) doctor: DoctorDocument,
    pub(crate) settings: SettingsView,
    pub(crate) hooks: Result<HooksStatus, ErrorView>,
    pub(crate) tracing: Result<TracingStatus, ErrorView>,
    pub(crate) prices: Result<PricingStatus, ErrorView>,
}

/// The bundle as a ZIP archive, and the names in it.
///
/// # Errors
/// `internal`, if it can't be put together.
pub(crate) fn archive(told: &Told<'_>) -> Result<(Vec<u8>, Vec<String>), ErrorView> {
    let privacy = Privacy::new(Content::default(), dirs::home_dir());
    let clean = |text: &str| without_quotes(&privacy.redacted(text));
    let fails = |e: &dyn std::fmt::Display| ErrorView {
        code: "internal".to_owned(),
        message: format!("The bundle could not be put together: {e}"),
    };
    let mut files = vec![("README.txt", README.to_owned())];
    for (name, value) in [
        ("doctor.json", doctor(&told.doctor, &clean)),
        ("system.json", system(told)),
        ("settings.json", settings(&told.settings, &clean)),
        ("hooks.json", hooks(&told.hooks, &clean)),
        ("tracing.json", tracing(&told.tracing, &clean)),
        ("prices.json", prices(&told.prices, &clean)),
    ] {
        files.push((name, serde_json::to_string_pretty(&value).map_err(|e| fails(&e))? + "\n"));
    }
    files.push(("log.txt", clean(&logs::newest(told.places.data_dir(), LOG))));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in &files {
        zip.start_file(format!("agenthub-diagnostics/{name}"), SimpleFileOptions::default())
            .map_err(|e| fails(&e))?;
        zip.write_all(text.as_bytes()).map_err(|e| fails(&e))?;
    }
    let bytes = zip.finish().map_err(|e| fails(&e))?.into_inner();
    Ok((bytes, files.into_iter().map(|(name, _)| name.to_owned()).collect()))
}

/// Without what messages and logs quote: from the first quote of a line to its last, for there may be quotes within.
fn without_quotes(text: &str) -> String {
    let without = |line: &str| match (line.split_once('"'), line.rsplit_once('"')) {
        (Some((before, _)), Some((first, after))) => {
            // One that nothing closes goes on to the end.
            let after = if first.len() > before.len() { after } else { "" };
            format!("{before}\"…\"{after}")
        }
        _ => line.to_owned(),
    };
    text.split('\n').map(without).collect::<Vec<_>>().join("\n")
}

fn doctor(d: &DoctorDocument, clean: &dyn Fn(&str) -> String) -> Value {
    // Names of files are agy's ids, or somebody's own.
    let file = |name: &str| match name.strip_suffix(".db").and_then(SessionId::parse) {
        Some(_) => name.to_owned(),
        None => "(a name that is no id)".to_owned(),
    };
    json!({
        "schema": d.schema,
        "version": d.version,
        "agy_version": d.agy_version,
        "findings": d.findings.iter().map(|f| json!({
            "level": f.level,
            "code": f.code,
            "title": f.title,
            // What is wrong in the settings quotes them; `settings.json` here has the keys.
            "message": if f.code.starts_with("settings") { String::new() } else { clean(&f.message) },
        })).collect::<Vec<_>>(),
        "problem_groups": d.problem_groups.iter().map(|g| json!({
            "code": g.code, "count": g.count, "message": clean(&g.message),
        })).collect::<Vec<_>>(),
        "problems": d.problems.iter().take(PROBLEMS).map(|p| json!({
            "file": file(&p.file), "code": p.code,
        })).collect::<Vec<_>>(),
        "counts": d.counts,
        "limits": d.limits,
    })
}

fn system(told: &Told<'_>) -> Value {
    let bytes = |path: std::path::PathBuf| std::fs::metadata(path).ok().map(|m| m.len());
    // Also where what is told came from memory.
    let on_disk = Places::at(told.places.data_dir());
    let s = &told.board.summary;
    json!({
        "made_at": told.now.rfc3339(),
        "version": env!("CARGO_PKG_VERSION"),
        "agy_version": told.board.agy_version,
        "system": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH },
        "store": {
            "format": store::FORMAT,
            "bytes": bytes(on_disk.store()),
            "person_bytes": bytes(on_disk.person()),
        },
        "board": {
            "error": s.error, "waiting": s.waiting, "running": s.running, "idle": s.idle,
            "sessions": told.board.sessions_total, "problems": told.board.problems_total,
            "scanning": told.board.scan.is_some(),
        },
    })
}

fn settings(s: &SettingsView, clean: &dyn Fn(&str) -> String) -> Value {
    let mut values = json!(s.values);
    if let Some(muted) = values.pointer_mut("/notifications/muted_lanes") {
        *muted = json!(s.values.notifications.muted_lanes.len());
    }
    json!({
        "values": values,
        "problems": s.problems.iter().map(|p| &p.key).collect::<Vec<_>>(),
        "file_problem": s.file_problem.as_deref().map(clean),
    })
}

fn refused(e: &ErrorView, clean: &dyn Fn(&str) -> String) -> Value {
    json!({ "error": { "code": e.code, "message": clean(&e.message) } })
}

fn hooks(status: &Result<HooksStatus, ErrorView>, clean: &dyn Fn(&str) -> String) -> Value {
    match status {
        Ok(s) => json!({
            "state": s.state,
            "message": clean(&s.message),
            "error": s.error.as_ref().map(|e| &e.code),
            "events": s.events.iter().map(|e| json!({
                "event": e.event, "state": e.state, "last_at": e.last_at,
            })).collect::<Vec<_>>(),
        }),
        Err(e) => refused(e, clean),
    }
}

fn tracing(status: &Result<TracingStatus, ErrorView>, clean: &dyn Fn(&str) -> String) -> Value {
    match status {
        Ok(t) => json!({
            "enabled": t.enabled,
            "hook": t.hook.state,
            "content": t.content,
            "open_conversations": t.open_conversations,
            "problems": t.problems.iter().map(|p| &p.key).collect::<Vec<_>>(),
            "destinations": t.destinations.iter().map(|d| json!({
                "preset": d.preset,
                "enabled": d.enabled,
                "error": d.error.as_ref().map(|e| &e.code),
                "waiting_spans": d.waiting_spans,
                "waiting_bytes": d.waiting_bytes,
                "sent_spans": d.sent_spans,
                "rejected_spans": d.rejected_spans,
                "refused_spans": d.refused_spans,
                "dropped_spans": d.dropped_spans,
                "failures": d.failures,
                // A backend's own words can quote what it was sent.
                "last": d.last.as_ref().map(|a| json!({
                    "at": a.at, "fate": a.fate, "http_status": a.http_status, "took_ms": a.took_ms,
                })),
            })).collect::<Vec<_>>(),
        }),
        Err(e) => refused(e, clean),
    }
}

fn prices(status: &Result<PricingStatus, ErrorView>, clean: &dyn Fn(&str) -> String) -> Value {
    match status {
        Ok(p) => json!({
            "origin": p.table.origin,
            "source": p.table.source,
            "date": p.table.date,
            "rows": p.table.rows,
            "synced_at": p.table.synced_at,
            "problem": p.table.problem.as_deref().map(clean),
            "models_priced": p.models_priced,
            "models_unpriced": p.models_unpriced,
            "models_own": p.models_own,
        }),
        Err(e) => refused(e, clean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q4_what_messages_quote_is_taken_away() {
        for (text, left) in [
            ("", ""),
            ("nothing quoted\n", "nothing quoted\n"),
            ("string \"hunter2\", expected u32", "string \"…\", expected u32"),
            ("a \"b\" c \"d\"\ne \"f\n g", "a \"…\"\ne \"…\"\n g"),
            ("a \"b \\\"c\\\" d\" e", "a \"…\" e"),
            ("ends in \"x", "ends in \"…\""),
        ] {
            assert_eq!(without_quotes(text), left, "{text:?}");
        }
    }
}
