//! Standard output, where a reader that went away is no error, and words for people.

use std::io::{self, Write};

use agenthub_core::words::plural;
use agenthub_engine::view::{State, Tokens};

/// Writes `text` and a line end.
///
/// # Errors
/// All but a broken pipe: whoever reads us may stop reading.
pub(crate) fn line(text: &str) -> io::Result<()> {
    match raw_line(text) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => Err(io::Error::new(
            e.kind(),
            format!("The answer could not be written to standard output: {e}. See to where that leads."),
        )),
        Ok(()) => Ok(()),
    }
}

/// Writes `text` and a line end, for a caller with something to tidy up when its reader went away.
///
/// # Errors
/// All of them.
pub(crate) fn raw_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush())
}

pub(crate) fn json<T: serde::Serialize>(document: &T) -> anyhow::Result<()> {
    Ok(line(&serde_json::to_string_pretty(document)?)?)
}

/// Text from outside on one terminal line: control characters, which could drive the terminal, become spaces, and what
/// is invisible or turns the reading direction, so that a command could read as another one, becomes U+FFFD.
pub(crate) fn safe(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_control() => ' ',
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{61c}' => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// At most `most` characters, with an ellipsis where more stood.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = safe(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

pub(crate) const fn shape(s: State) -> &'static str {
    match s {
        State::Error => "✕",
        State::Waiting => "◆",
        State::Running => "●",
        State::Idle => "○",
    }
}

pub(crate) const fn word(s: State) -> &'static str {
    match s {
        State::Error => "Error",
        State::Waiting => "Waiting",
        State::Running => "Running",
        State::Idle => "Idle",
    }
}

/// 812, 38 k, 1.12 M; – where it is not known.
pub(crate) fn tokens(t: Option<&Tokens>) -> String {
    t.map_or_else(|| "–".to_owned(), |t| count(t.total))
}

/// `812 tokens`, `1 token`, `1.12 M tokens`.
pub(crate) fn token_words(n: u64) -> String {
    format!("{} {}", count(n), plural(n, "token", "tokens"))
}

/// Rounded, half up, as the window's lists are (`ui/src/model/format.ts`).
pub(crate) fn count(n: u64) -> String {
    // In units of so many, rounded, with so many digits behind the point.
    let scaled = |unit: u64, digits: usize, name: &str| {
        let tenths = [1, 10, 100].get(digits).copied().unwrap_or(1);
        let step = unit / tenths;
        let rounded = n / step + u64::from(n % step >= step.div_ceil(2));
        match digits {
            0 => format!("{rounded} {name}"),
            _ => format!("{}.{:0digits$} {name}", rounded / tenths, rounded % tenths),
        }
    };
    match n {
        0..1_000 => n.to_string(),
        1_000..999_500 => scaled(1_000, 0, "k"),
        999_500..99_995_000 => scaled(1_000_000, 2, "M"),
        99_995_000..999_950_000 => scaled(1_000_000, 1, "M"),
        999_950_000..99_995_000_000 => scaled(1_000_000_000, 2, "G"),
        99_995_000_000..999_950_000_000 => scaled(1_000_000_000, 1, "G"),
        _ => scaled(1_000_000_000_000, 2, "T"),
    }
}

/// How long ago `then` was: `12 s`, `3 min`, `2 h`, `5 d`; – where it is not known.
pub(crate) fn age(then: Option<&str>, now: jiff::Timestamp) -> String {
    let Some(then) = then.and_then(|t| t.parse::<jiff::Timestamp>().ok()) else { return "–".to_owned() };
    match now.as_second().saturating_sub(then.as_second()).max(0) {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..86_400 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_rounded_as_in_the_window() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1 k"),
            (1_500, "2 k"),
            (9_999, "10 k"),
            (38_211, "38 k"),
            (55_986, "56 k"),
            (170_653, "171 k"),
            (999_499, "999 k"),
            (999_500, "1.00 M"),
            (1_004_999, "1.00 M"),
            (1_005_000, "1.01 M"),
            (1_121_400, "1.12 M"),
            (126_000_000, "126.0 M"),
            (999_940_000, "999.9 M"),
            (999_950_000, "1.00 G"),
            (123_456_000_000, "123.5 G"),
            (5_000_000_000_000, "5.00 T"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(tokens(None), "–");
        assert_eq!([1, 2, 1_500].map(token_words), ["1 token", "2 tokens", "2 k tokens"]);
    }

    #[test]
    fn q1_text_from_outside_cannot_drive_the_terminal() {
        assert_eq!(safe("a\u{1b}[2Jb\nc\u{7}"), "a [2Jb c ");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(safe("rm \u{202e}gpj\u{200b}"), "rm \u{fffd}gpj\u{fffd}");
    }

    #[test]
    fn ages_are_of_the_largest_unit() {
        let now: jiff::Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        assert_eq!(age(Some("2026-11-30T11:59:30Z"), now), "30 s");
        assert_eq!(age(Some("2026-11-30T11:00:01Z"), now), "59 min");
        assert_eq!(age(Some("2026-11-28T12:00:00Z"), now), "2 d");
        assert_eq!(age(Some("2026-11-30T12:00:09Z"), now), "0 s");
        assert_eq!(age(None, now), "–");
    }
}
