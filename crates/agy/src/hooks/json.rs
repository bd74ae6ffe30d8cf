//! Where things are in a JSON text: a strict check by serde_json, then a scan for ranges.
//!
//! A scanner of our own, for the text is known to be valid when it runs: parsers that keep ranges (`jsonc-parser`) accept
//! what agy does not, and refuse a lone surrogate, which agy accepts.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::{Code, Refusal};

/// A value and where it stands. What lies deeper than [`DEEPEST`] is not taken apart.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// A string, a number, a word; or something too deep.
    Other,
}

#[derive(Debug)]
pub(super) struct Member {
    /// Its name, without escapes.
    pub(super) name: String,
    pub(super) key: Range<usize>,
    pub(super) value: Node,
}

/// A field of a handler lies six deep.
const DEEPEST: usize = 8;

/// The text and its one object.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) members: Vec<Member>,
    /// Of the object, braces included.
    pub(super) at: Range<usize>,
}

impl<'a> Document<'a> {
    /// # Errors
    /// `EBADJSON` with line and column, both from 1, for what agy could not read.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Document<'a>, Refusal> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| bad(bytes, e.valid_up_to(), "this is not UTF-8; save it as UTF-8"))?;
        if text.starts_with('\u{feff}') {
            return Err(bad(bytes, 0, "it starts with a byte order mark; save it without one"));
        }
        if text.trim().is_empty() {
            return Err(bad(bytes, 0, "it is empty; delete it, or put `{}` into it"));
        }
        if let Some(f) = fault(text) {
            return Err(bad_at(f.line, f.column, &f.what));
        }
        let start = Scan { bytes, at: 0 }.behind_space();
        let root = Scan { bytes, at: start }.value(DEEPEST);
        match root {
            Some(Node { at, kind: Kind::Object(members) }) => Ok(Document { text, members, at }),
            _ => Err(bad(bytes, start, "the whole must be one object, `{…}`")),
        }
    }

    pub(super) fn slice(&self, at: Range<usize>) -> &'a str {
        self.text.get(at).unwrap_or_default()
    }
}

/// What keeps a text from being JSON, in words for whoever wrote it by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong there and, where that is known, what to do.
    pub what: String,
}

/// What is wrong with a text that should be JSON; `None`: nothing, though it may be no object.
pub fn fault(text: &str) -> Option<Fault> {
    let e = serde_json::from_str::<IgnoredAny>(text).err()?;
    let before: usize = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum();
    let at = before + e.column().saturating_sub(1);
    let column = text.get(before..at).map_or(e.column(), |head| head.chars().count() + 1).max(1);
    let rest = text.get(at..).unwrap_or_default();
    let what = if text.trim().is_empty() {
        "it is empty; delete it, or put `{}` into it".to_owned()
    } else if is_behind_last(text, at) {
        "there is a comma after the last entry; take it out".to_owned()
    } else if ["//", "/*", "#"].iter().any(|mark| rest.starts_with(mark)) {
        "comments are not allowed; take this one out".to_owned()
    } else if e.is_eof() {
        "it ends too early: a bracket or a quotation mark is not closed".to_owned()
    } else {
        let said = e.to_string();
        in_plain_words(said.split(" at line ").next().unwrap_or_default()).to_owned()
    };
    Some(Fault { line: e.line().max(1), column, what })
}

/// What serde_json says of a text, for people who never heard of identifiers and escapes.
fn in_plain_words(said: &str) -> &str {
    match said {
        "key must be a string" | "expected `\"`" => "a name must stand here, between double quotes",
        "expected ident" => {
            "this is no value: text stands between double quotes, and the only words without are `true`, `false` and `null`"
        }
        "expected value" => {
            "a value must stand here: text between double quotes, a number, `true`, `false`, `null`, `[…]` or `{…}`"
        }
        "expected `:`" => "a colon must stand here, between a name and its value",
        "expected `,` or `}`" => "a comma must stand here, or the `}` that ends the object",
        "expected `,` or `]`" => "a comma must stand here, or the `]` that ends the list",
        "trailing comma" => "there is a comma after the last entry; take it out",
        "trailing characters" => "something stands behind the end; take it out",
        "invalid number" => "this is no number as JSON has them",
        "number out of range" => "this number is larger than any program could hold",
        "invalid escape" => "behind `\\` stands nothing that may; a backslash itself is written `\\\\`",
        "invalid unicode code point"
        | "lone leading surrogate in hex escape"
        | "unexpected end of hex escape" => "this `\\u` names no character",
        "recursion limit exceeded" => "brackets are nested too deeply here",
        said if said.starts_with("control character") => {
            "a text goes over the end of its line, or has a tab in it; write `\\n` and `\\t` there, or close its quotation mark"
        }
        said => said,
    }
}

/// Whether the reader stopped at a bracket that closes behind a comma.
fn is_behind_last(text: &str, at: usize) -> bool {
    // A comment may stand between; then that is the fault.
    let closes = text.get(at..).is_some_and(|rest| rest.trim_start().starts_with(['}', ']']));
    closes && text.get(..at).is_some_and(|head| head.trim_end().ends_with(','))
}

fn bad(bytes: &[u8], offset: usize, what: &str) -> Refusal {
    let before = bytes.get(..offset).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    bad_at(line, offset - start + 1, what)
}

fn bad_at(line: usize, column: usize, what: &str) -> Refusal {
    Refusal::new(
        Code::BadJson,
        format!(
            "hooks.json is not the JSON that agy reads, at line {line}, column {column}: {what}. Correct it, then try again; nothing was changed."
        ),
    )
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn behind_space(&mut self) -> usize {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at
    }

    /// Behind the string that begins here; its range.
    fn string(&mut self) -> Option<Range<usize>> {
        let from = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Some(from..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        let from = self.at;
        let kind = match self.peek()? {
            b'{' if depth > 0 => Kind::Object(self.object(depth)?),
            b'[' if depth > 0 => Kind::Array(self.array(depth)?),
            b'{' | b'[' => self.skip_nested().map(|()| Kind::Other)?,
            b'"' => self.string().map(|_| Kind::Other)?,
            _ => {
                while self.peek().is_some_and(|b| !b.is_ascii_whitespace() && !b",]}".contains(&b)) {
                    self.at += 1;
                }
                Kind::Other
            }
        };
        Some(Node { at: from..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.behind_space();
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(members);
                }
                b',' => self.at += 1,
                _ => {
                    let key = self.string()?;
                    self.behind_space();
                    // The colon.
                    self.at += 1;
                    self.behind_space();
                    let value = self.value(depth - 1)?;
                    members.push(Member { name: plain(self.bytes.get(key.clone())?), key, value });
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.behind_space();
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(items);
                }
                b',' => self.at += 1,
                _ => items.push(self.value(depth - 1)?),
            }
        }
    }

    /// Behind what begins here, however deep it is, without recursion.
    fn skip_nested(&mut self) -> Option<()> {
        let mut open = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Some(());
            }
        }
    }
}

/// A string without its escapes; one with a lone surrogate, which is none of our names, stays as it is written.
fn plain(raw: &[u8]) -> String {
    serde_json::from_slice(raw).unwrap_or_else(|_| String::from_utf8_lossy(raw).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> String {
        let e = Document::parse(text).err().unwrap();
        assert_eq!(e.code, Code::BadJson);
        e.message
    }

    #[test]
    fn h3_what_agy_would_not_read_is_refused_with_its_place() {
        for (text, place) in [
            (&b""[..], "line 1, column 1"),
            (b" \n", "line 1, column 1"),
            (b"\n []", "line 2, column 2"),
            (b"7", "line 1, column 1"),
            (b"null", "line 1, column 1"),
            (b"\xef\xbb\xbf{}", "line 1, column 1"),
            (b"{\n  // mine\n}", "line 2, column 3"),
            (b"{\"a\": 1,\n}", "line 2, column 1"),
            (b"{'a': 1}", "line 1, column 2"),
            (b"{\"a\": 0x10}", "line 1, column 8"),
            (b"{\"a\": \"\xff\"}", "line 1, column 8"),
            (b"{} {}", "line 1, column 4"),
        ] {
            let said = refused(text);
            assert!(said.contains(place), "{:?}: {said}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn h3_a_comma_after_the_last_entry_is_called_so() {
        for text in [
            "{\"a\": 1,}",
            "{\"a\": 1,\n}",
            "{\"a\": [1, 2 ,\n ]}",
            "{\"a\": {\"b\": {},}}",
            "{\"a\": {\"b\": [{},]}}",
        ] {
            let said = refused(text.as_bytes());
            assert!(
                said.contains("a comma after the last entry") && !said.contains("comments"),
                "{text}: {said}"
            );
        }
        for text in ["{\"a\": 1, // mine\n}", "{,}x", "{\"a\": }"] {
            assert!(!refused(text.as_bytes()).contains("comma after"), "{text}");
        }
    }

    #[test]
    fn h3_what_is_wrong_is_said_in_plain_words_and_its_column_counts_characters() {
        for (text, line, column, what) in [
            ("{\n  \"a\": 1,\n}", 3, 1, "comma after the last entry"),
            ("{\"a\": 1 // mine\n}", 1, 9, "comments are not allowed"),
            ("{\"ünïcödé\": 1 /* mine */}", 1, 15, "comments are not allowed"),
            ("# mine\n{}", 1, 1, "comments are not allowed"),
            ("{'a': 1}", 1, 2, "between double quotes"),
            ("{\"a\": {\"b\": 1", 1, 13, "ends too early"),
            ("{\"a\": 1 \"b\": 2}", 1, 9, "a comma must stand here, or the `}`"),
            (" \n", 2, 1, "it is empty"),
        ] {
            let f = fault(text).unwrap();
            assert!(f.what.contains(what), "{text}: {f:?}");
            assert_eq!((f.line, f.column), (line, column), "{text}: {f:?}");
        }
        assert_eq!(fault("[1]"), None);
    }

    #[test]
    fn q1_a_mebibyte_of_brackets_is_no_deep_recursion() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(400_000), "]".repeat(400_000));
        let d = Document::parse(deep.as_bytes()).unwrap();
        assert_eq!(d.members[0].value.at, 5..deep.len() - 1);
    }

    #[test]
    fn names_are_without_escapes_and_ranges_are_exact() {
        let text = br#" { "\u0061" : [1, {"x": "}\""}] , "\ud800": 1e2 } "#;
        let d = Document::parse(text).unwrap();
        assert_eq!(d.members[0].name, "a");
        assert_eq!(d.slice(d.members[0].value.at.clone()), r#"[1, {"x": "}\""}]"#);
        assert_eq!(d.members[1].name, r#""\ud800""#);
        assert_eq!(d.slice(d.members[1].value.at.clone()), "1e2");
        assert_eq!(d.at, 1..text.len() - 1);
    }
}
