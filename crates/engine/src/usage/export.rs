//! Sums as a file that a person takes along: the same document as the command line prints, never over another file.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::{
    convert,
    view::{ErrorView, ExportFormat, Exported, Tokens, UsageDocument},
};

/// So many files of one name stand beside each other.
const MOST: u32 = 1000;

/// One row for each of the document's. Unknown tokens and costs are empty fields, never zeros.
///
/// # Errors
/// `internal`, if the rows can't be written.
pub fn csv(doc: &UsageDocument) -> Result<String, ErrorView> {
    let mut w = csv::Writer::from_writer(Vec::new());
    let head = [
        "label",
        "calls",
        "calls_without_usage",
        "input",
        "cache_read",
        "cache_write",
        "output",
        "thinking",
        "total",
        "cost_usd",
        "tokens_unpriced",
    ];
    let fails = |e: &dyn std::fmt::Display| ErrorView {
        code: "internal".to_owned(),
        message: format!("no CSV: {e}"),
    };
    w.write_record([doc.by.as_str()].into_iter().chain(head)).map_err(|e| fails(&e))?;
    for r in &doc.rows {
        let n = |f: fn(&Tokens) -> u64| r.tokens.as_ref().map(|t| f(t).to_string()).unwrap_or_default();
        w.write_record([
            r.key.clone().unwrap_or_default(),
            no_formula(&r.label),
            r.calls.to_string(),
            r.calls_without_usage.to_string(),
            n(|t| t.input),
            n(|t| t.cache_read),
            n(|t| t.cache_write),
            n(|t| t.output),
            n(|t| t.thinking),
            n(|t| t.total),
            r.cost_usd.clone().unwrap_or_default(),
            r.tokens_unpriced.to_string(),
        ])
        .map_err(|e| fails(&e))?;
    }
    let bytes = w.into_inner().map_err(|e| fails(&e))?;
    String::from_utf8(bytes).map_err(|e| fails(&e))
}

/// A name that an agent chose must not become a formula in somebody's spreadsheet.
fn no_formula(label: &str) -> String {
    if label.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{label}") } else { label.to_owned() }
}

/// Writes the document into `folder`, under a name that is free.
pub(crate) fn export(
    doc: &UsageDocument,
    format: ExportFormat,
    folder: &Path,
    name: &str,
) -> Result<Exported, ErrorView> {
    let (text, ending) = match format {
        ExportFormat::Csv => (csv(doc)?, "csv"),
        ExportFormat::Json => {
            (serde_json::to_string_pretty(doc).map_err(|e| failed(folder, &e))? + "\n", "json")
        }
    };
    let path = write_new(folder, name, ending, text.as_bytes())?;
    Ok(Exported {
        file: path.display().to_string(),
        file_short: convert::for_people(&path),
        folder: folder.display().to_string(),
        rows: u32::try_from(doc.rows.len()).unwrap_or(u32::MAX),
    })
}

/// Writes a file into `folder`, which is made, under a name that is free.
///
/// # Errors
/// `io` with the path; nothing is left behind then.
pub(crate) fn write_new(folder: &Path, name: &str, ending: &str, bytes: &[u8]) -> Result<PathBuf, ErrorView> {
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
    for n in 1..=MOST {
        let same = if n == 1 { String::new() } else { format!(" ({n})") };
        let path = folder.join(format!("{name}{same}.{ending}"));
        match write_at(&path, bytes) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed(&path, &e)),
        }
    }
    Err(failed(folder, &format!("there are {MOST} files named {name} already")))
}

/// Writes a file that is not there yet.
///
/// # Errors
/// When it is there, or can't be written; nothing is left behind then.
pub(crate) fn write_at(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Half of it would say something else.
        let _ = std::fs::remove_file(path);
    })
}

pub(crate) fn failed(path: &Path, why: &dyn std::fmt::Display) -> ErrorView {
    let message = format!(
        "{} could not be written: {why}. See that its folder is there, may be written and has room, or choose another one.",
        path.display()
    );
    ErrorView { code: "io".to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Totals, UsageRow};

    fn document(label: &str) -> UsageDocument {
        let row = UsageRow {
            key: Some("k".to_owned()),
            label: label.to_owned(),
            calls: 2,
            calls_without_usage: 2,
            calls_approximate: 0,
            tokens: None,
            cost_usd: None,
            tokens_unpriced: 0,
        };
        UsageDocument {
            schema: 1,
            by: "session".to_owned(),
            time_zone: "UTC".to_owned(),
            rows: vec![row],
            problems: Vec::new(),
            totals: Totals::default(),
        }
    }

    #[test]
    fn what_is_unknown_is_an_empty_field_and_a_name_is_no_formula() {
        let text = csv(&document("=HYPERLINK(\"x\")")).unwrap();
        assert_eq!(text.lines().nth(1), Some("k,\"'=HYPERLINK(\"\"x\"\")\",2,2,,,,,,,,0"));
        assert_eq!(csv(&document("a, b")).unwrap().lines().nth(1), Some("k,\"a, b\",2,2,,,,,,,,0"));
    }

    #[test]
    fn an_export_is_whole_and_never_over_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Downloads");
        let write = || export(&document("x"), ExportFormat::Json, &folder, "usage").unwrap();
        let (first, second) = (write(), write());
        assert!(first.file.ends_with("usage.json") && second.file.ends_with("usage (2).json"));
        let doc: UsageDocument =
            serde_json::from_str(&std::fs::read_to_string(&second.file).unwrap()).unwrap();
        assert_eq!(doc, document("x"));
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let refused =
            export(&document("x"), ExportFormat::Csv, &dir.path().join("plain"), "usage").unwrap_err();
        assert_eq!(refused.code, "io");
    }
}
