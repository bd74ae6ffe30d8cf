//! Texts for people, cut to size: session names, one-line details, folders.

use serde_json::Value;

/// Characters of a session's name (spec S6).
const MOST_NAME: usize = 80;

/// The first line that says something, without control characters, cut; `None` when there is none.
pub(crate) fn one_line(s: &str, most: usize) -> Option<String> {
    let line = s.lines().map(str::trim).find(|l| !l.is_empty())?;
    let clean: String = line.chars().filter(|c| !c.is_control()).take(most).collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

/// A name from a title or a prompt: without the wrappers that agy puts around what its person typed, first line, 80
/// characters.
pub(crate) fn name(s: &str) -> Option<String> {
    one_line(unwrapped(s), MOST_NAME)
}

/// What the person typed, out of `<USER_REQUEST>…</USER_REQUEST>`; other texts are left as they are.
pub(crate) fn unwrapped(s: &str) -> &str {
    const OPEN: &str = "<USER_REQUEST>";
    match s.split_once(OPEN) {
        Some((_, rest)) => rest.split("</USER_REQUEST>").next().unwrap_or(rest),
        None => s,
    }
}

/// Cuts at a character's edge; the flag says whether anything went.
pub(crate) fn cut(s: &str, most: usize) -> String {
    s.chars().take(most).collect()
}

/// The argument that tells most about what a tool is going to do.
pub(crate) fn arguments_line(json: &[u8], most: usize) -> Option<String> {
    const TELLING: [&str; 16] = [
        "CommandLine",
        "command",
        "Command",
        "AbsolutePath",
        "TargetFile",
        "file_path",
        "path",
        "Path",
        "DirectoryPath",
        "SearchPath",
        "Query",
        "query",
        "Url",
        "url",
        "question",
        "Prompt",
    ];
    let value: Value = serde_json::from_slice(json.get(..json.len().min(1 << 20))?).ok()?;
    let Value::Object(args) = value else { return None };
    let telling = TELLING.iter().find_map(|k| args.get(*k).and_then(Value::as_str));
    let question = || {
        let q = args.get("questions").or_else(|| args.get("Questions"))?.get(0)?;
        q.get("question").or_else(|| q.get("Question")).and_then(Value::as_str)
    };
    let any = || args.values().find_map(Value::as_str);
    one_line(telling.or_else(question).or_else(any)?, most)
}

/// A folder of this machine out of a `file:` URI, percent-decoded; an absolute path is itself. `None` for anything else.
pub(crate) fn folder(uri: &str) -> Option<String> {
    let uri = uri.trim();
    let path = match uri.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => {
            let decoded = percent_decoded(uri.get(5..)?);
            match decoded.strip_prefix("//") {
                // A host other than this machine is that of a Windows share.
                Some(rest) if !rest.starts_with('/') => match rest.strip_prefix("localhost/") {
                    Some(local) => format!("/{local}"),
                    None => format!("\\\\{rest}"),
                },
                Some(rest) => rest.to_owned(),
                None => decoded,
            }
        }
        _ => uri.to_owned(),
    };
    windows(&path).or_else(|| {
        let trimmed = path.trim_end_matches('/');
        path.starts_with('/').then(|| if trimmed.is_empty() { "/".to_owned() } else { trimmed.to_owned() })
    })
}

/// `/c:/dir`, `c:/dir` and `c:\dir` in one form, `C:\dir`; shares with backslashes only.
fn windows(path: &str) -> Option<String> {
    if path.starts_with("\\\\") {
        let share = path.replace('/', "\\");
        let share = share.trim_end_matches('\\');
        return (!share.is_empty()).then(|| share.to_owned());
    }
    let mut chars = path.strip_prefix('/').unwrap_or(path).chars();
    let (Some(drive), Some(':')) = (chars.next(), chars.next()) else { return None };
    let rest = chars.as_str().replace('/', "\\");
    if !drive.is_ascii_alphabetic() || !(rest.is_empty() || rest.starts_with('\\')) {
        return None;
    }
    let rest = rest.trim_end_matches('\\');
    let slash = if rest.is_empty() { "\\" } else { "" };
    Some(format!("{}:{rest}{slash}", drive.to_ascii_uppercase()))
}

fn percent_decoded(s: &str) -> String {
    let mut out = Vec::with_capacity(s.len());
    let mut rest = s.bytes();
    while let Some(b) = rest.next() {
        let mut ahead = rest.clone().filter_map(|c| char::from(c).to_digit(16)).map(|d| d as u8);
        let pair = rest.clone().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
        match (b, pair, ahead.next(), ahead.next()) {
            (b'%', true, Some(hi), Some(lo)) => {
                out.push(hi << 4 | lo);
                rest.nth(1);
            }
            _ => out.push(b),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s06_a_name_is_the_first_line_of_what_was_typed() {
        let long = "ä".repeat(200);
        for (text, expected) in [
            (
                "<USER_REQUEST>\nfix the test\nplease\n</USER_REQUEST>\n<ADDITIONAL_METADATA>x",
                Some("fix the test"),
            ),
            ("\n\n  hello \u{7}world\r\nmore", Some("hello world")),
            ("<USER_REQUEST>cut off", Some("cut off")),
            ("<USER_REQUEST>\n</USER_REQUEST>", None),
            ("", None),
            (" \n\t", None),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
        assert_eq!(name(&long).unwrap().chars().count(), 80);
    }

    #[test]
    fn s06_u11_folders_are_decoded_whatever_system_wrote_them() {
        for (uri, expected) in [
            ("file:///home/u/my%20proj", Some("/home/u/my proj")),
            ("file:///home/u/%C3%BCber/", Some("/home/u/über")),
            ("file:///home/u/100%25%zz", Some("/home/u/100%%zz")),
            ("file:///c%3A/Users/J%C3%BCrgen%20M/x", Some("C:\\Users\\Jürgen M\\x")),
            ("file:///C:/", Some("C:\\")),
            ("C:/mixed\\form/", Some("C:\\mixed\\form")),
            ("file://localhost/srv/x", Some("/srv/x")),
            ("file://server/share/x", Some("\\\\server\\share\\x")),
            ("/plain/path", Some("/plain/path")),
            ("file:///", Some("/")),
            ("vscode-remote://ssh/x", None),
            ("", None),
            ("file:", None),
            ("relative/path", None),
        ] {
            assert_eq!(folder(uri).as_deref(), expected, "{uri}");
        }
    }

    #[test]
    fn l05_a_waiting_tool_shows_what_it_wants() {
        for (json, expected) in [
            (r#"{"Cwd":"/p","CommandLine":"rm -rf x\nls"}"#, Some("rm -rf x")),
            (r#"{"questions":[{"question":"Which one?"}]}"#, Some("Which one?")),
            (r#"{"n":1,"z":"last resort"}"#, Some("last resort")),
            ("[]", None),
            ("no json", None),
            ("{}", None),
        ] {
            assert_eq!(arguments_line(json.as_bytes(), 200).as_deref(), expected, "{json}");
        }
    }
}
