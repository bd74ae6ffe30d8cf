//! What may leave of what people and models wrote (spec R10): each kind by its own switch, without secrets, cut.
//!
//! What is switched off is taken away here, once, before anything is encoded. Patterns find most secrets, not all of them:
//! `docs/tracing.md` says so.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use agenthub_core::trace::{CallSpan, Failure, ToolSpan, Trace, TurnSpan};
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// The switches. All are off until the person says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
    pub prompts: bool,
    pub answers: bool,
    pub thinking: bool,
    pub arguments: bool,
    pub results: bool,
    /// Characters of one text.
    pub longest: u32,
}

impl Default for Content {
    fn default() -> Content {
        Content {
            prompts: false,
            answers: false,
            thinking: false,
            arguments: false,
            results: false,
            longest: Content::LONGEST,
        }
    }
}

impl Content {
    pub const LONGEST: u32 = 8_000;
    /// No text is longer than this, whatever the settings say.
    pub const MOST: u32 = 200_000;
}

/// Takes away what may not leave.
#[derive(Debug)]
pub(crate) struct Privacy {
    content: Content,
    /// The person's home folder, under all names that are known, longest first.
    homes: Vec<String>,
}

impl Privacy {
    pub(crate) fn new(content: Content, home: Option<PathBuf>) -> Privacy {
        let real = home.as_deref().and_then(|h| std::fs::canonicalize(h).ok());
        let text = |p: &Path| p.to_str().map(str::to_owned).filter(|p| p.len() > 1);
        let mut homes: Vec<String> = home.iter().chain(&real).filter_map(|p| text(p)).collect();
        homes.sort_by_key(|h| std::cmp::Reverse(h.len()));
        homes.dedup();
        Privacy { content, homes }
    }

    pub(crate) fn apply(&self, trace: &mut Trace) {
        self.turn(&mut trace.turn);
    }

    fn turn(&self, t: &mut TurnSpan) {
        let c = &self.content;
        self.text(&mut t.prompt, c.prompts);
        self.text(&mut t.answer, c.answers);
        self.failure(&mut t.failure, c.answers);
        t.calls.iter_mut().for_each(|call| self.call(call));
        t.tools.iter_mut().for_each(|tool| self.tool(tool));
    }

    fn call(&self, s: &mut CallSpan) {
        let c = &self.content;
        self.text(&mut s.input, c.prompts);
        self.text(&mut s.output, c.answers);
        self.text(&mut s.thinking, c.thinking);
        self.failure(&mut s.failure, c.answers);
        s.tools.iter_mut().for_each(|tool| self.tool(tool));
    }

    fn tool(&self, s: &mut ToolSpan) {
        let c = &self.content;
        self.text(&mut s.arguments, c.arguments);
        self.text(&mut s.result, c.results);
        self.failure(&mut s.failure, c.results);
        s.turns.iter_mut().for_each(|turn| self.turn(turn));
    }

    /// An error's words can quote anything.
    fn failure(&self, f: &mut Option<Failure>, on: bool) {
        if let Some(f) = f {
            self.text(&mut f.words, on);
        }
    }

    fn text(&self, text: &mut Option<String>, on: bool) {
        let most = usize::try_from(self.content.longest.min(Content::MOST)).unwrap_or(usize::MAX);
        *text = text.take().filter(|_| on).map(|t| cut(&self.redacted(&t), most));
    }

    /// Without what the patterns find.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let mut out = Cow::Borrowed(text);
        for (pattern, kind) in SECRETS.iter() {
            let marked = |c: &Captures<'_>| {
                // What stands before the secret tells what it was for.
                format!("{}[{kind}]", c.name("before").map_or("", |m| m.as_str()))
            };
            if let Cow::Owned(new) = pattern.replace_all(&out, marked) {
                out = Cow::Owned(new);
            }
        }
        for home in &self.homes {
            if out.contains(home.as_str()) {
                out = Cow::Owned(without_home(&out, home));
            }
        }
        if let Cow::Owned(new) = HOMES.replace_all(&out, "~") {
            out = Cow::Owned(new);
        }
        out.into_owned()
    }
}

/// The folder itself and what is below it, not one whose name goes on.
fn without_home(text: &str, home: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, found) = rest.split_at(at);
        let after = found.get(home.len()..).unwrap_or_default();
        out.push_str(before);
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        out.push_str(if goes_on { home } else { "~" });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Home folders of anybody, on any system.
static HOMES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?:/home|/Users)/[^/\s"'`:;,\\<>|]+|(?i:[a-z]:(?:\\{1,2}|/)users(?:\\{1,2}|/)[^\\/\s"'`:;,<>|]+)"#,
    )
});

/// What a secret looks like, in the order in which they are looked for, and the word that takes its place.
static SECRETS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)", "private key"),
        // A JSON web token.
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "token"),
        (r"\bAIza[0-9A-Za-z_-]{30,}", "key"),
        (r"\bya29\.[0-9A-Za-z_-]{20,}", "token"),
        (r"\b1//0[0-9A-Za-z_-]{20,}", "token"),
        (r"\bGOCSPX-[0-9A-Za-z_-]{20,}", "key"),
        (r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|lf|or|svcacct|admin)[-_A-Za-z0-9]{8,}", "key"),
        (r"\bsk-[A-Za-z0-9_-]{20,}", "key"),
        (r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b", "key"),
        (r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})", "token"),
        (r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{16,}", "token"),
        (r"\bxox[a-z]-[A-Za-z0-9-]{10,}", "token"),
        (r"\b(?:hf_|npm_|dop_v1_|pypi-|shpat_|SG\.|hcaik_|hcxik_|ntn_|secret_|lin_api_|figd_|dckr_pat_|tskey-)[A-Za-z0-9_.-]{16,}", "token"),
        // Credentials in an address.
        (r#"(?P<before>\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@:"'`]{0,200}:[^\s/@"'`]{1,200}@"#, "credentials"),
        (r"(?i)(?P<before>\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}", "token"),
        // A name that says what it is, and its value.
        (
            r#"(?i)(?P<before>[\w.-]{0,40}(?:api[_-]?key|apikey|secret|token|passwd|password|passphrase|credential|private[_-]?key|access[_-]?key|auth(?:orization)?|cookie|session[_-]?id)(?:[_.-][\w.-]{0,20})?\\{0,3}["']?\s{0,3}(?:=|:|=>|\s--?)\s{0,3}\\{0,3}["']?)(?:[^\s"'`,;&\\\[\]{}()<>]{4,})"#,
            "secret",
        ),
        (
            r"(?i)(?P<before>--?(?:password|passwd|token|secret|api[_-]?key|apikey|auth)[= ])[^\s\x22'`]{3,}",
            "secret",
        ),
        (r"(?i)\b[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*\.[a-z]{2,24}\b", "e-mail"),
    ]
    .map(|(pattern, kind)| (regex(pattern), kind))
    .into()
});

/// A pattern of ours; a test holds all of them.
fn regex(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the pattern is a constant that a test compiles")]
    Regex::new(pattern).expect("a pattern of ours")
}

#[cfg(test)]
mod tests;
