//! agy's small side files, which know titles and folders that a conversation's own file may lack.
//!
//! None of them is complete (agy-format §4.1), and each can be missing or damaged: it is as good as empty then.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use agenthub_core::SessionId;
use serde_json::Value;

use crate::{
    Home,
    fingerprint::{self, FileMark, Fingerprint},
    open, text,
};

/// Most bytes that are read of one side file; of a log, its end.
const MOST_BYTES: u64 = 8 << 20;
/// Most rows of `conversation_summaries.db`.
const MOST_ROWS: i64 = 200_000;

/// A title and a folder, from one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Note {
    title: Option<String>,
    folder: Option<String>,
}

type Notes = HashMap<SessionId, Note>;
/// A side file as it was when it was read, and what it said.
type Source<Mark> = (Option<Mark>, Notes);
type Parse = fn(&[u8]) -> Notes;

/// Titles and folders from agy's side files. Cheap to ask, shared by reader threads.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// `conversation_summaries.db`.
    summaries: Source<Fingerprint>,
    /// `cache/conversation_metadata.json`.
    cached: Source<FileMark>,
    /// `cache/last_conversations.json`: the newest conversation of each folder.
    last: Source<FileMark>,
    /// `history.jsonl`.
    history: Source<FileMark>,
    /// `annotations/`: which sessions have one. The small files themselves are read when they are asked for.
    annotated: (Option<i64>, HashSet<SessionId>),
}

impl Index {
    /// Reads all side files.
    pub fn load(home: &Home) -> Index {
        let mut index = Index::default();
        index.refresh(home);
        index
    }

    /// Reads the side files that changed since; a handful of `stat` calls if none did. Returns the sessions whose title
    /// or folder may now be another one, sorted: read those again, their own files need not have changed.
    pub fn refresh(&mut self, home: &Home) -> Vec<SessionId> {
        let mut changed = HashSet::new();
        let cli = home.cli();
        let summaries = cli.join("conversation_summaries.db");
        let seen = fingerprint::fingerprint(&summaries).ok();
        if seen != self.summaries.0 {
            match seen.map(|_| read_summaries(home, &summaries)) {
                Some(None) => {} // Busy, or damaged: what was known stays, and the next pass tries again.
                Some(Some((seen, notes))) => replace(&mut self.summaries, Some(seen), notes, &mut changed),
                None => replace(&mut self.summaries, None, Notes::new(), &mut changed),
            }
        }
        let cache = cli.join("cache");
        let files: [(&mut Source<FileMark>, _, Parse); 3] = [
            (&mut self.cached, cache.join("conversation_metadata.json"), parse_cached),
            (&mut self.last, cache.join("last_conversations.json"), parse_last),
            (&mut self.history, cli.join("history.jsonl"), parse_history),
        ];
        for (slot, path, parse) in files {
            let mark = fingerprint::mark(&path).ok();
            if mark != slot.0 {
                let notes = mark.and_then(|_| tail(&path, MOST_BYTES)).map(|b| parse(&b)).unwrap_or_default();
                replace(slot, mark, notes, &mut changed);
            }
        }
        let folder = cli.join("annotations");
        let mtime = std::fs::metadata(&folder).ok().map(|m| FileMark::of(&m).mtime_ns);
        if mtime != self.annotated.0 {
            let now = annotated(&folder);
            changed.extend(now.symmetric_difference(&self.annotated.1).cloned());
            self.annotated = (mtime, now);
        }
        let mut changed: Vec<SessionId> = changed.into_iter().collect();
        changed.sort();
        changed
    }

    /// agy's title of a session: the one that its person gave, else the ones that agy made (spec S6).
    pub fn title(&self, home: &Home, id: &SessionId) -> Option<String> {
        let given = self.annotated.1.contains(id).then(|| annotation_title(&home.annotation(id))).flatten();
        given.or_else(|| {
            [&self.summaries.1, &self.cached.1].into_iter().find_map(|notes| notes.get(id)?.title.clone())
        })
    }

    /// The folder that agy's side files name for a session, best source first; never agy's own scratch folder.
    pub fn folder(&self, home: &Home, id: &SessionId) -> Option<String> {
        [&self.summaries.1, &self.cached.1, &self.last.1, &self.history.1]
            .into_iter()
            .filter_map(|notes| notes.get(id)?.folder.clone())
            .find(|f| !self.is_scratch(home, f))
    }

    /// Whether `folder` is agy's scratch folder, or below it: no workspace of anybody's (spec S6).
    pub(crate) fn is_scratch(&self, home: &Home, folder: &str) -> bool {
        let unix = folder.replace('\\', "/");
        let own = home.scratch().to_string_lossy().replace('\\', "/");
        let below = |whole: &str, part: &str| {
            whole.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A home that was moved, or that of the other system on the same machine.
        let usual = ".gemini/antigravity-cli/scratch";
        below(&unix, &own)
            || unix.match_indices(usual).any(|(at, _)| unix.get(at..).is_some_and(|rest| below(rest, usual)))
    }
}

fn replace<M>(slot: &mut Source<M>, mark: Option<M>, notes: Notes, changed: &mut HashSet<SessionId>) {
    let gone = slot.1.keys().filter(|id| !notes.contains_key(id));
    let other = notes.iter().filter(|(id, note)| slot.1.get(*id) != Some(note)).map(|(id, _)| id);
    changed.extend(gone.chain(other).cloned());
    *slot = (mark, notes);
}

/// The last `most` bytes of a regular file.
pub(crate) fn tail(path: &Path, most: u64) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    if meta.len() > most {
        file.seek(SeekFrom::Start(meta.len() - most)).ok()?;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Read through the read-only layer like any conversation, and only believed if it stood still.
fn read_summaries(home: &Home, path: &Path) -> Option<(Fingerprint, Notes)> {
    let (real, before, _) = fingerprint::stat(path).ok()?;
    let mut notes = Notes::new();
    if before.db.size > 0 {
        let opened = open::open(&real, &before, home, open::Extent::Part).ok()?;
        let sql = "SELECT conversation_id, title, workspace_uris FROM conversation_summaries LIMIT ?1";
        let mut all = opened.conn.prepare(sql).ok()?;
        let mut rows = all.query([MOST_ROWS]).ok()?;
        while let Some(r) = rows.next().ok()? {
            let text = |i| r.get_ref(i).ok().and_then(|v| v.as_str().ok());
            let Some(id) = text(0).and_then(SessionId::parse) else { continue };
            let title = text(1).and_then(text::name);
            let uris: Option<Value> = text(2).and_then(|u| serde_json::from_str(u).ok());
            notes.insert(id, Note { title, folder: uris.as_ref().and_then(first_folder) });
        }
    }
    (fingerprint::fingerprint(path).ok()? == before).then_some((before, notes))
}

fn first_folder(uris: &Value) -> Option<String> {
    uris.as_array()?.iter().filter_map(Value::as_str).find_map(text::folder)
}

/// `{"conversations": {id: {"summary": {"Title", "WorkspaceURIs", …}}}}`
fn parse_cached(bytes: &[u8]) -> Notes {
    let all: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let Some(conversations) = all.get("conversations").and_then(Value::as_object) else {
        return Notes::new();
    };
    let note = |(id, c): (&String, &Value)| {
        let summary = c.get("summary")?;
        let title = summary.get("Title").and_then(Value::as_str).and_then(text::name);
        let folder = summary.get("WorkspaceURIs").and_then(first_folder);
        Some((SessionId::parse(id)?, Note { title, folder }))
    };
    conversations.iter().filter_map(note).collect()
}

/// `{folder: id}`
fn parse_last(bytes: &[u8]) -> Notes {
    let all: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let note = |(folder, id): (&String, &Value)| {
        let id = SessionId::parse(id.as_str()?)?;
        Some((id, Note { title: None, folder: text::folder(folder) }))
    };
    all.as_object().into_iter().flatten().filter_map(note).collect()
}

/// Lines `{"workspace": path, "conversationId": id, …}`; the first prompt of a conversation has no id.
fn parse_history(bytes: &[u8]) -> Notes {
    let line = |l: &[u8]| {
        let v: Value = serde_json::from_slice(l).ok()?;
        let id = SessionId::parse(v.get("conversationId")?.as_str()?)?;
        let folder = text::folder(v.get("workspace")?.as_str()?);
        Some((id, Note { title: None, folder }))
    };
    bytes.split(|b| *b == b'\n').filter_map(line).collect()
}

fn annotated(folder: &Path) -> HashSet<SessionId> {
    let id = |e: std::io::Result<std::fs::DirEntry>| {
        SessionId::parse(e.ok()?.file_name().to_str()?.strip_suffix(".pbtxt")?)
    };
    std::fs::read_dir(folder).into_iter().flatten().filter_map(id).collect()
}

/// `title: "…"` in protobuf's text form.
fn annotation_title(path: &Path) -> Option<String> {
    let bytes = tail(path, 64 << 10)?;
    parse_pbtxt_title(&String::from_utf8_lossy(&bytes))
}

fn parse_pbtxt_title(pbtxt: &str) -> Option<String> {
    let at = pbtxt.match_indices("title").find_map(|(at, word)| {
        let before = pbtxt.get(..at)?.chars().next_back();
        let starts_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '"');
        let rest = pbtxt.get(at + word.len()..)?.trim_start().strip_prefix(':')?.trim_start();
        starts_word.then_some(rest)
    })?;
    let quote = at.chars().next().filter(|q| matches!(q, '"' | '\''))?;
    text::name(&unescaped(at.get(1..)?, quote))
}

/// A quoted text up to its end, escapes undone: `\n`, `\"`, `\303\274` (octal bytes), `\xc3`.
fn unescaped(s: &str, quote: char) -> String {
    let mut out = Vec::new();
    let mut rest = s.chars().peekable();
    while let Some(c) = rest.next().filter(|c| *c != quote) {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let (radix, most) = match rest.peek() {
            Some('0'..='7') => (8, 3),
            Some('x' | 'X') => {
                rest.next();
                (16, 2)
            }
            _ => (0, 0),
        };
        if radix > 0 {
            let mut n = 0;
            for _ in 0..most {
                let Some(d) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
                n = n * radix + d;
                rest.next();
            }
            out.push(u8::try_from(n).unwrap_or(b'?'));
            continue;
        }
        match rest.next() {
            Some('n') => out.push(b'\n'),
            Some('r') => out.push(b'\r'),
            Some('t') => out.push(b'\t'),
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s06_an_annotations_title_is_unescaped() {
        for (pbtxt, expected) in [
            ("title: \"Fix \\\"it\\\"\"\nlast_user_view_time: {}", Some("Fix \"it\"")),
            ("archived: true\ntitle:'\\303\\274ber'", Some("über")),
            ("subtitle: \"no\" title: \"yes\"", Some("yes")),
            ("tags: \"title: no\"", None),
            ("title: unquoted", None),
            ("title: \"open", Some("open")),
            ("", None),
        ] {
            assert_eq!(parse_pbtxt_title(pbtxt).as_deref(), expected, "{pbtxt}");
        }
    }

    #[test]
    fn s06_agys_scratch_is_no_workspace() {
        let home = Home::new("/h/.gemini".into());
        let index = Index::default();
        for (folder, scratch) in [
            ("/h/.gemini/antigravity-cli/scratch", true),
            ("/h/.gemini/antigravity-cli/scratch/x", true),
            ("C:\\Users\\u\\.gemini\\antigravity-cli\\scratch\\x", true),
            ("/h/.gemini/antigravity-cli/scratches", false),
            ("/h/scratch", false),
        ] {
            assert_eq!(index.is_scratch(&home, folder), scratch, "{folder}");
        }
    }

    #[test]
    fn q01_side_files_may_hold_anything() {
        for bytes in [&b""[..], b"[]", b"{\"conversations\":3}", b"\xff\xfe", b"{\"a\":1}", b"null\n{\n"] {
            assert!(parse_cached(bytes).is_empty());
            assert!(parse_last(bytes).is_empty());
            assert!(parse_history(bytes).is_empty());
        }
    }
}
