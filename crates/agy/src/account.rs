//! Who is signed in to agy: an e-mail address from its logs, else from Gemini CLI's list of accounts (agy-format §4.6,
//! R9). Files with credentials are never opened. The address goes to the caller and nowhere else.

use std::path::PathBuf;

use serde_json::Value;

use crate::{Home, index, log, text};

/// Logs that are looked at, newest first, and bytes of the end of each.
const MOST_LOGS: usize = 64;
const MOST_BYTES: u64 = 8 << 20;
const MOST_ACCOUNTS: u64 = 1 << 20;
/// What agy writes before the address, in all forms that were seen.
const BEFORE: [&str; 2] = ["applyAuthResult: email=", "authenticated successfully as "];

/// The address of the newest sign-in that any log tells of, else the active account; `None` where nothing tells.
pub fn email(home: &Home) -> Option<String> {
    logs(home)
        .iter()
        .take(MOST_LOGS)
        .find_map(|log| in_log(&index::tail(log, MOST_BYTES)?))
        .or_else(|| active(home))
}

/// `cli.log`, which may be a link to the newest of the dated ones, and these, newest first.
fn logs(home: &Home) -> Vec<PathBuf> {
    std::iter::once(home.cli().join("cli.log")).chain(log::files(home)).collect()
}

/// The last address in a log.
fn in_log(bytes: &[u8]) -> Option<String> {
    String::from_utf8_lossy(bytes).lines().rev().find_map(|line| {
        BEFORE.iter().find_map(|before| {
            let (_, rest) = line.rsplit_once(before)?;
            address(rest)
        })
    })
}

/// `google_accounts.json`: `{"active": "<address>", "old": […]}`, shared with Gemini CLI.
fn active(home: &Home) -> Option<String> {
    let bytes = index::tail(&home.root().join("google_accounts.json"), MOST_ACCOUNTS)?;
    let accounts: Value = serde_json::from_slice(&bytes).ok()?;
    address(accounts.get("active")?.as_str()?)
}

/// The address at the beginning of `text`, if it is one: agy may have written `<none>` or nothing.
fn address(text: &str) -> Option<String> {
    let word: String = text
        .trim_start_matches(['"', '\'', '<', '(', ' '])
        .chars()
        .take_while(|c| {
            !c.is_whitespace()
                && !c.is_control()
                && !matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | ',' | ';')
        })
        .take(255)
        .collect();
    let word = word.trim_end_matches(['.', ':']);
    let (name, host) = word.split_once('@')?;
    let is_address = !name.is_empty() && host.contains('.') && !host.starts_with('.') && !host.contains('@');
    is_address.then(|| text::cut(word, 254))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = temp.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let home = Home::new(temp.path().to_owned());
        (temp, home)
    }

    fn found(files: &[(&str, &str)]) -> Option<String> {
        email(&home(files).1)
    }

    const LINE: &str = "I0910 15:14:15.123456  1234 auth.go:53] applyAuthResult: email=";

    #[test]
    fn r9_every_form_of_a_log_line_tells_the_address() {
        for (line, expected) in [
            (format!("{LINE}ann@example.com"), Some("ann@example.com")),
            (format!("{LINE}ann@example.com, tier=pro"), Some("ann@example.com")),
            (format!("{LINE}\"ann@example.com\""), Some("ann@example.com")),
            (
                "ERROR: logging before google.Init: I0910 15:14:15.1 1 a.go:1] applyAuthResult: email=a.b+c@x.co.uk".to_owned(),
                Some("a.b+c@x.co.uk"),
            ),
            (
                "W0910 15:14:15.1 1 a.go:1] authenticated successfully as ann@example.com.".to_owned(),
                Some("ann@example.com"),
            ),
            (LINE.to_owned(), None),
            (format!("{LINE}<none>"), None),
            ("I0910 x] someone wrote to bob@example.com".to_owned(), None),
        ] {
            let text = format!("first\n{line}\nlast\n");
            assert_eq!(found(&[("antigravity-cli/cli.log", &text)]).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn r9_the_newest_log_counts_then_older_ones_then_the_active_account() {
        let line = |who: &str| format!("{LINE}{who}\n");
        let (current, new, old) = (line("current@x.io"), line("new@x.io"), line("old@x.io"));
        let twice = format!("{old}{new}");
        let accounts = r#"{"active": "active@x.io", "old": ["old@x.io"]}"#;
        let all = [
            ("antigravity-cli/cli.log", current.as_str()),
            ("antigravity-cli/log/cli-20260902_000000.log", new.as_str()),
            ("antigravity-cli/cli-20260901_000000.log", old.as_str()),
            ("google_accounts.json", accounts),
        ];
        assert_eq!(found(&all).as_deref(), Some("current@x.io"));
        assert_eq!(found(&all[1..]).as_deref(), Some("new@x.io"));
        assert_eq!(found(&all[2..]).as_deref(), Some("old@x.io"));
        assert_eq!(found(&all[3..]).as_deref(), Some("active@x.io"));
        assert_eq!(found(&[]), None);
        assert_eq!(
            found(&[("antigravity-cli/cli.log", &twice)]).as_deref(),
            Some("new@x.io"),
            "the last in a file"
        );
        let silent =
            [("antigravity-cli/cli.log", "nothing"), ("antigravity-cli/log/cli-1.log", new.as_str())];
        assert_eq!(found(&silent).as_deref(), Some("new@x.io"), "going on to older ones");
        for bad in ["", "[]", "{\"active\": null}", "{\"active\": \"nobody\"}"] {
            assert_eq!(found(&[("google_accounts.json", bad)]), None, "{bad}");
        }
    }

    #[test]
    fn r9_credentials_are_never_looked_into() {
        let planted = line_in_credentials();
        let files: Vec<(&str, &str)> =
            ["oauth_creds.json", "antigravity-cli/antigravity-oauth-token", "antigravity-cli/cli.log.lock"]
                .map(|name| (name, planted.as_str()))
                .into();
        assert_eq!(found(&files), None);
    }

    fn line_in_credentials() -> String {
        format!("{LINE}secret@x.io\n{{\"active\": \"secret@x.io\"}}")
    }
}
