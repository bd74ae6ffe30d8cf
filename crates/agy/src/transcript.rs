//! agy's transcripts (`brain/<id>/.system_generated/logs/*.jsonl`): the second source, in whole seconds, without tokens.
//!
//! Lines are written when a step *finishes*, so they are not in order, some steps never get one, and a file can be
//! rewritten. Missing is normal.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use agenthub_core::{SessionId, Time};
use serde_json::Value;

use crate::{Home, fingerprint, text};

/// Most bytes that are read of a transcript, and of one line.
const MOST_BYTES: u64 = 64 << 20;
const MOST_LINE: u64 = 8 << 20;
/// The first prompt stands near the beginning.
const HEAD_BYTES: u64 = 256 << 10;

/// One tool that a planner asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    pub name: String,
    /// Decoded once more where the transcript encodes arguments twice.
    pub args: Value,
}

/// One line. agy's words are kept as they are: new ones must not cost a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub step_index: i64,
    pub source: String,
    pub kind: String,
    pub status: String,
    /// Whole seconds; of a planner, when it *began*.
    pub created_at: Option<Time>,
    pub content: Option<String>,
    pub thinking: Option<String>,
    pub tool_calls: Vec<ToolUse>,
    /// Names of the texts that agy cut.
    pub truncated_fields: Vec<String>,
    pub error: Option<String>,
}

/// A transcript, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    pub records: Vec<Record>,
    /// Lines that are no record.
    pub bad_lines: u64,
    /// Whether the file is larger than what is read of one.
    pub truncated: bool,
}

impl Transcript {
    /// The records in the order of their steps. Where numbers start anew (a file can hold several conversations, one
    /// after the other) a new stretch begins: a number that was there before tells.
    pub fn ordered(&self) -> Vec<&Record> {
        let mut out: Vec<&Record> = Vec::with_capacity(self.records.len());
        let (mut start, mut seen) = (0, HashSet::new());
        for r in &self.records {
            if !seen.insert(r.step_index) {
                if let Some(stretch) = out.get_mut(start..) {
                    stretch.sort_by_key(|r| r.step_index);
                }
                start = out.len();
                seen = HashSet::from([r.step_index]);
            }
            out.push(r);
        }
        if let Some(stretch) = out.get_mut(start..) {
            stretch.sort_by_key(|r| r.step_index);
        }
        out
    }
}

/// Reads a transcript. Total: what is no record is counted.
///
/// # Errors
/// When the file can't be opened.
pub fn read(path: &Path) -> std::io::Result<Transcript> {
    read_up_to(path, MOST_BYTES)
}

fn read_up_to(path: &Path, most: u64) -> std::io::Result<Transcript> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut lines = BufReader::new(File::open(path)?.take(most));
    let mut out = Transcript { truncated: meta.len() > most, ..Transcript::default() };
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line that never ends comes in pieces, and none of them is a record.
        if lines.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            return Ok(out);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse_line(&line) {
            Some(r) => out.records.push(r),
            // What a cut leaves of its last line is not agy's fault.
            None if out.truncated && lines.buffer().is_empty() => {}
            None => out.bad_lines += 1,
        }
    }
}

/// Parses one line; `None` unless it is an object with a step's number.
pub fn parse_line(line: &[u8]) -> Option<Record> {
    let v: Value = serde_json::from_slice(line).ok()?;
    let text = |k: &str| v.get(k).and_then(Value::as_str).map(str::to_owned);
    let list = |k: &str| v.get(k).and_then(Value::as_array).into_iter().flatten();
    Some(Record {
        step_index: v.get("step_index")?.as_i64()?,
        source: text("source").unwrap_or_default(),
        kind: text("type").unwrap_or_default(),
        status: text("status").unwrap_or_default(),
        created_at: text("created_at").and_then(|t| time(&t)),
        content: text("content"),
        thinking: text("thinking"),
        tool_calls: list("tool_calls").filter_map(tool_use).collect(),
        truncated_fields: list("truncated_fields").filter_map(Value::as_str).map(str::to_owned).collect(),
        error: text("error"),
    })
}

fn tool_use(v: &Value) -> Option<ToolUse> {
    let name = v.get("name")?.as_str()?.to_owned();
    let args = v.get("args").or_else(|| v.get("arguments")).cloned().unwrap_or_default();
    Some(ToolUse { name, args: once_encoded(args) })
}

/// `transcript.jsonl` encodes every argument twice (`"Cwd": "\"/p\""`, `"n": "5000"`), `transcript_full.jsonl` none. So
/// arguments are decoded only if all of them are texts that hold JSON: a plain text among them shows the other form.
fn once_encoded(args: Value) -> Value {
    let Value::Object(map) = args else { return args };
    let decoded: Option<serde_json::Map<String, Value>> =
        map.iter().map(|(k, v)| Some((k.clone(), serde_json::from_str(v.as_str()?).ok()?))).collect();
    Value::Object(decoded.unwrap_or(map))
}

pub(crate) fn time(s: &str) -> Option<Time> {
    let t: jiff::Timestamp = s.parse().ok()?;
    Time::plausible(t.as_second(), t.subsec_nanosecond())
}

/// When the newest of the session's transcripts was written; `None` when it has none, which is normal.
pub fn transcript_mtime(home: &Home, id: &SessionId) -> Option<Time> {
    let mark = |full| fingerprint::mark(&home.transcript(id, full)).ok();
    [mark(false), mark(true)].into_iter().flatten().map(|m| m.wrote()).max()
}

/// Times by step, for calls that the database has none for. The first line of a number counts: where numbers start anew
/// the later ones are another conversation's.
pub(crate) fn step_times(home: &Home, id: &SessionId) -> HashMap<i64, Time> {
    let mut times = HashMap::new();
    for r in any(home, id, MOST_BYTES).unwrap_or_default().records {
        if let Some(at) = r.created_at {
            times.entry(r.step_index).or_insert(at);
        }
    }
    times
}

/// The lines by step, whole texts first. The first line of a number counts, as above.
pub(crate) fn by_step(home: &Home, id: &SessionId) -> HashMap<i64, Record> {
    let found = [true, false].into_iter().find_map(|full| read(&home.transcript(id, full)).ok());
    let mut lines = HashMap::new();
    for r in found.unwrap_or_default().records {
        lines.entry(r.step_index).or_insert(r);
    }
    lines
}

/// The first prompt, as a name.
pub(crate) fn first_prompt(home: &Home, id: &SessionId) -> Option<String> {
    let t = any(home, id, HEAD_BYTES)?;
    let prompts = t.records.iter().filter(|r| r.kind == "USER_INPUT");
    let first = prompts.min_by_key(|r| r.step_index)?;
    text::name(first.content.as_deref()?)
}

/// The earliest time near the beginning.
pub(crate) fn started_at(home: &Home, id: &SessionId) -> Option<Time> {
    any(home, id, HEAD_BYTES)?.records.iter().filter_map(|r| r.created_at).min()
}

/// The session's transcript, whichever exists: the short one first, it is enough for times and names.
fn any(home: &Home, id: &SessionId, most: u64) -> Option<Transcript> {
    [false, true].into_iter().find_map(|full| read_up_to(&home.transcript(id, full), most).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn s12_arguments_that_were_encoded_twice_are_decoded_once_more() {
        let args = |args: Value| once_encoded(args);
        let twice = json!({"Cwd": "\"/p\"", "WaitMsBeforeAsync": "5000", "Subagents": "[{\"Role\":\"x\"}]"});
        assert_eq!(
            args(twice),
            json!({"Cwd": "/p", "WaitMsBeforeAsync": 5000, "Subagents": [{"Role": "x"}]})
        );
        let once = json!({"Cwd": "/p", "n": 5000, "s": "5000"});
        assert_eq!(args(once.clone()), once);
        assert_eq!(args(json!("text")), json!("text"));
    }

    #[test]
    fn s12_records_are_ordered_by_step_also_where_numbers_start_anew() {
        let record = |step_index| Record { step_index, ..Record::default() };
        let t =
            Transcript { records: [0, 1, 2, 4, 3, 6, 0, 2, 1].map(record).into(), ..Transcript::default() };
        let order: Vec<i64> = t.ordered().iter().map(|r| r.step_index).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 6, 0, 1, 2]);
    }

    #[test]
    fn q01_lines_that_are_no_record_are_counted_and_a_cut_is_said() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("t.jsonl");
        let good = "{\"step_index\":3,\"type\":\"X\",\"created_at\":\"2026-06-28T09:54:31Z\"}\n";
        std::fs::write(&path, format!("{good}[]\n\n{{\"step_index\":\"3\"}}\nnot json\n{good}")).unwrap();
        let t = read(&path).unwrap();
        assert_eq!((t.records.len(), t.bad_lines, t.truncated), (2, 3, false));
        assert!(t.records[0].created_at.is_some());
        let short = read_up_to(&path, 20).unwrap();
        assert!(short.truncated && short.records.is_empty());
        assert!(read(temp.path()).is_err(), "a folder is no transcript");
    }

    proptest! {
        #[test]
        fn q01_any_line_is_a_record_or_not_but_never_a_panic(line in proptest::collection::vec(0u8..=255, 0..200)) {
            let _ = parse_line(&line);
        }
    }
}
