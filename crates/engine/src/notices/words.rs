//! What a notification says. Names and texts from outside are made harmless for one line here, once, for all who show it.

use agenthub_core::words::plural;

use crate::view::{NoticeKind, NoticePart};

/// The most characters of a foreign name.
const NAME_MAX: usize = 60;
/// The most characters of what an agent says.
const TEXT_MAX: usize = 240;

/// Title and body.
pub(super) fn told(parts: &[NoticePart]) -> (String, String) {
    match parts {
        [] => (String::new(), String::new()),
        [one] => (title(one), body(one)),
        many => {
            let alike = many.iter().all(|p| Some(p.kind) == many.first().map(|f| f.kind));
            let names: Vec<String> = many.iter().map(|p| name(&p.lane_name)).collect();
            let lanes: std::collections::BTreeSet<_> = many.iter().map(|p| &p.lane_id).collect();
            let n = format!("{} {}", many.len(), if lanes.len() < many.len() { "sessions" } else { "lanes" });
            match many.first().map(|p| p.kind).filter(|_| alike) {
                Some(NoticeKind::Ready) => (format!("{n} are ready"), names.join(", ")),
                Some(NoticeKind::Failed) => (format!("{n} failed"), names.join(", ")),
                Some(NoticeKind::Ended) => (format!("{n} ended without finishing"), names.join(", ")),
                Some(NoticeKind::Waiting) => (format!("{n} wait for you"), lines(many)),
                _ => (format!("{n} have news"), lines(many)),
            }
        }
    }
}

fn lines(parts: &[NoticePart]) -> String {
    let shown = parts.iter().take(5).map(title);
    let more = parts.len().checked_sub(5).filter(|n| *n > 0).map(|n| format!("and {n} more"));
    shown.chain(more).collect::<Vec<_>>().join("\n")
}

fn title(p: &NoticePart) -> String {
    let lane = name(&p.lane_name);
    let with = |said: &Option<String>| said.as_ref().map(|s| line(s, TEXT_MAX)).filter(|s| !s.is_empty());
    match p.kind {
        NoticeKind::Ready | NoticeKind::Several => format!("{lane} is ready"),
        NoticeKind::Ended => format!("{lane} ended without finishing"),
        NoticeKind::Failed => match with(&p.detail) {
            Some(reason) => format!("{lane} failed: {reason}"),
            None => format!("{lane} failed"),
        },
        NoticeKind::Waiting => match with(&p.tool) {
            Some(tool) => format!("{lane} waits for you: {tool}"),
            None => format!("{lane} waits for you"),
        },
        NoticeKind::Test => "Notifications work".to_owned(),
    }
}

fn body(p: &NoticePart) -> String {
    match p.kind {
        NoticeKind::Waiting => p.detail.as_ref().map(|d| line(d, TEXT_MAX)).unwrap_or_default(),
        NoticeKind::Test => "This is a test from AgentHub.".to_owned(),
        _ => {
            let mut pieces = Vec::new();
            pieces.extend(p.duration_ms.map(duration));
            pieces.extend(match p.tokens {
                Some(t) => Some(format!("{} {}", count(t), plural(t, "token", "tokens"))),
                // A run of another command has none.
                None => p.session_id.as_ref().map(|_| "tokens unknown".to_owned()),
            });
            pieces.extend(match &p.cost_usd {
                Some(exact) => Some(money(exact)),
                None => p.tokens.map(|_| "no price".to_owned()),
            });
            pieces.join(" · ")
        }
    }
}

/// `6 s`, `3 min 12 s`, `2 h 05 min`.
fn duration(ms: i64) -> String {
    let s = ms.max(0) / 1_000;
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3_600, s / 60 % 60),
    }
}

/// `812`, `38 k`, `1.12 M`.
fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{} k", n / 1_000),
        _ => format!("{}.{:02} M", n / 1_000_000, n % 1_000_000 / 10_000),
    }
}

/// An exact decimal with two places; `< $0.01` below a cent.
fn money(exact: &str) -> String {
    let (whole, rest) = exact.split_once('.').unwrap_or((exact, ""));
    let cents: String = rest.chars().chain("00".chars()).take(2).collect();
    let nothing = |s: &str| s.bytes().all(|b| b == b'0');
    if nothing(whole) && nothing(&cents) && !nothing(rest) {
        return "< $0.01".to_owned();
    }
    format!("${whole}.{cents}")
}

/// A name from outside: one line, cut, and isolated where it could turn the line around.
fn name(raw: &str) -> String {
    let clean = line(raw, NAME_MAX);
    if clean.chars().any(is_right_to_left) { format!("\u{2068}{clean}\u{2069}") } else { clean }
}

/// A text from outside on one line: without characters that control, hide or turn it, at most so many.
pub(super) fn line(raw: &str, most: usize) -> String {
    let mut clean = String::new();
    for c in raw.chars().filter(|c| !is_format(*c)) {
        match c {
            c if c.is_whitespace() || c.is_control() => {
                if !clean.is_empty() && !clean.ends_with(' ') {
                    clean.push(' ');
                }
            }
            c => clean.push(c),
        }
    }
    let clean = clean.trim_end();
    if clean.chars().count() <= most {
        return clean.to_owned();
    }
    clean.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Characters that are invisible and steer direction or joining, the tags among them.
const fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

const fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: NoticeKind, lane: &str) -> NoticePart {
        let lane_id = Some(lane.to_owned());
        NoticePart {
            kind,
            lane_id,
            session_id: Some(String::new()),
            lane_name: lane.to_owned(),
            ..super::super::test_part()
        }
    }

    fn says(parts: &[NoticePart], title: &str, body: &str) {
        assert_eq!(told(parts), (title.to_owned(), body.to_owned()));
    }

    #[test]
    fn t3_a_notice_says_whose_turn_it_was_and_what_it_took() {
        let ready = NoticePart {
            duration_ms: Some(192_400),
            tokens: Some(41_700),
            cost_usd: Some("0.12345".into()),
            ..part(NoticeKind::Ready, "api-server")
        };
        says(std::slice::from_ref(&ready), "api-server is ready", "3 min 12 s · 41 k tokens · $0.12");
        let failed = NoticePart {
            kind: NoticeKind::Failed,
            detail: Some("quota\nexhausted".into()),
            cost_usd: None,
            ..ready.clone()
        };
        says(&[failed], "api-server failed: quota exhausted", "3 min 12 s · 41 k tokens · no price");
        let ended = NoticePart { kind: NoticeKind::Ended, tokens: None, cost_usd: None, ..ready };
        says(&[ended], "api-server ended without finishing", "3 min 12 s · tokens unknown");
        let waits = NoticePart {
            tool: Some("run_command".into()),
            detail: Some("rm -rf \u{202e}x\u{7}".into()),
            ..part(NoticeKind::Waiting, "مستودع")
        };
        says(&[waits], "\u{2068}مستودع\u{2069} waits for you: run_command", "rm -rf x");
    }

    #[test]
    fn t4_several_are_told_as_one() {
        let ready = |lane| part(NoticeKind::Ready, lane);
        says(&[ready("a"), ready("b"), ready("c")], "3 lanes are ready", "a, b, c");
        says(&[ready("a"), ready("a")], "2 sessions are ready", "a, a");
        says(
            &[ready("a"), part(NoticeKind::Waiting, "b")],
            "2 lanes have news",
            "a is ready\nb waits for you",
        );
        let many: Vec<_> = (0..7).map(|n| part(NoticeKind::Waiting, &n.to_string())).collect();
        assert_eq!(told(&many).1.lines().last(), Some("and 2 more"));
    }

    #[test]
    fn numbers_are_for_people() {
        for (ms, says) in [(-1, "0 s"), (59_999, "59 s"), (60_000, "1 min 00 s"), (7_500_000, "2 h 05 min")] {
            assert_eq!(duration(ms), says);
        }
        for (exact, says) in
            [("0", "$0.00"), ("0.004", "< $0.01"), ("0.01", "$0.01"), ("12.5", "$12.50"), ("3", "$3.00")]
        {
            assert_eq!(money(exact), says);
        }
        assert_eq!(
            (count(999), count(41_999), count(1_120_000)),
            ("999".into(), "41 k".into(), "1.12 M".into())
        );
    }

    #[test]
    fn q1_text_from_an_agent_is_one_harmless_line() {
        assert_eq!(line("  a\r\n\tb\u{1b}[2Jc\u{200d}\u{e0041} ", 99), "a b [2Jc");
        assert_eq!(line(&"ü".repeat(300), 10).chars().count(), 10);
        assert_eq!(line("", 10), "");
    }
}
