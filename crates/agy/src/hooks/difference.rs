//! What an edit changes, line by line, for people. An edit of ours is one place, so one hunk says all.

use std::ops::Range;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    /// Without its line end. A very long one is cut, but what changes in it is whole.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Same,
    Removed,
    Added,
    /// `@@ -1,4 +1,9 @@`: which lines follow.
    Place,
}

const AROUND: usize = 3;
/// Characters of a line that is not cut.
const LONGEST: usize = 400;
/// Characters that stay on each side of what changes in a longer one.
const BESIDE: usize = 80;

/// The unified difference of two texts; empty when they are the same. `None` is a file that is not there.
pub fn difference(old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<Line> {
    let (old, new) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - before;
    let behind = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let changed = |all: &[&str]| (before, all.len() - behind);
    let ((from, old_to), (_, new_to)) = (changed(&old), changed(&new));
    if from == old_to && from == new_to {
        return Vec::new();
    }
    let first = from.saturating_sub(AROUND);
    let last = (old_to + AROUND).min(old.len());
    let count = |to: usize| to - first + (last - old_to);
    // An empty side begins before its first line.
    let start = |to: usize| if count(to) == 0 { first } else { first + 1 };
    let place = format!("@@ -{},{} +{},{} @@", start(old_to), count(old_to), start(new_to), count(new_to));
    let mut out = vec![Line { kind: LineKind::Place, text: place }];
    let some = |all: &[&str], from: usize, to: usize| all.get(from..to).unwrap_or_default().concat();
    let (gone, come) = (some(&old, from, old_to), some(&new, from, new_to));
    let (gone_at, come_at) = differing(&gone, &come);
    let mut add = |kind, text: &str, changes: Range<usize>| {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let here = changes.start.saturating_sub(at)..changes.end.saturating_sub(at);
            out.push(Line { kind, text: cut(line, here) });
            at += line.len();
        }
    };
    add(LineKind::Same, &some(&old, first, from), 0..0);
    add(LineKind::Removed, &gone, gone_at);
    add(LineKind::Added, &come, come_at);
    add(LineKind::Same, &some(&old, old_to, last), 0..0);
    out
}

/// What is left of two texts without their common beginning and end, in bytes.
fn differing(old: &str, new: &str) -> (Range<usize>, Range<usize>) {
    let alike = |(a, b): &(char, char)| a == b;
    let front: usize = old.chars().zip(new.chars()).take_while(alike).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (old.get(front..).unwrap_or_default(), new.get(front..).unwrap_or_default());
    let back = old_rest.chars().rev().zip(new_rest.chars().rev());
    let back: usize = back.take_while(alike).map(|(c, _)| c.len_utf8()).sum();
    (front..old.len() - back, front..new.len() - back)
}

/// Split behind line ends, which count: a file of one line and no end is not the one with it.
fn lines(bytes: &[u8]) -> Vec<&str> {
    std::str::from_utf8(bytes).unwrap_or_default().split_inclusive('\n').collect()
}

/// A line around what changes in it.
fn cut(line: &str, changes: Range<usize>) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.char_indices().nth(LONGEST).is_none() {
        return line.to_owned();
    }
    let (start, end) = (changes.start.min(line.len()), changes.end.min(line.len()));
    let before = line.get(..start).unwrap_or_default();
    let behind = line.get(end..).unwrap_or_default();
    let from = before.char_indices().rev().take(BESIDE).last().map_or(start, |(at, _)| at);
    // Of a line that stays as it is, its beginning.
    let most = if changes.is_empty() && start == 0 { LONGEST } else { BESIDE };
    let to = behind.char_indices().nth(most).map_or(line.len(), |(at, _)| end + at);
    let mark = |cut: bool| if cut { "…" } else { "" };
    format!("{}{}{}", mark(from > 0), line.get(from..to).unwrap_or_default(), mark(to < line.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: Option<&str>, new: Option<&str>) -> Vec<String> {
        let sign = |k| match k {
            LineKind::Same => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
            LineKind::Place => "",
        };
        let lines = difference(old.map(str::as_bytes), new.map(str::as_bytes));
        lines.iter().map(|l| format!("{}{}", sign(l.kind), l.text)).collect()
    }

    #[test]
    fn a_difference_shows_the_change_with_three_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\nand\n6\n7\n8\n9\n";
        let all = ["@@ -2,7 +2,8 @@", " 2", " 3", " 4", "-5", "+five", "+and", " 6", " 7", " 8"];
        assert_eq!(shown(Some(old), Some(new)), all);
        assert_eq!(shown(Some(old), Some(old)), Vec::<String>::new());
        assert_eq!(shown(None, Some("{}\r\n")), ["@@ -0,0 +1,1 @@", "+{}"]);
        assert_eq!(shown(Some("{}\n"), None), ["@@ -1,1 +0,0 @@", "-{}"]);
    }

    #[test]
    fn w3_what_changes_in_a_long_line_is_whole_wherever_it_is() {
        let (long, ours) = ("ü".repeat(30_000), "x".repeat(900));
        let beside = "ü".repeat(BESIDE);
        for end in ["", "\n", "\r\n"] {
            let old = format!("{{\"a\": \"{long}\", \"b\": \"{long}\"}}{end}");
            let new = format!("{{\"a\": \"{long}{ours}\", \"b\": \"{long}\"}}{end}");
            let rest = format!("\", \"b\": \"{}", "ü".repeat(BESIDE - 9));
            let added = [
                "@@ -1,1 +1,1 @@".to_owned(),
                format!("-…{beside}{rest}…"),
                format!("+…{beside}{ours}{rest}…"),
            ];
            assert_eq!(shown(Some(&old), Some(&new)), added);
            let removed = shown(Some(&new), Some(&old));
            assert_eq!((&removed[1][1..], &removed[2][1..]), (&added[2][1..], &added[1][1..]));
            // At the very beginning, and at the very end.
            assert_eq!(shown(Some(&old), Some(&format!("{ours}{old}")))[2], {
                let start: String = old.chars().take(BESIDE).collect();
                format!("+{ours}{start}…")
            });
            let new = old.replace('}', &format!(",{ours}}}"));
            let said = shown(Some(&old), Some(&new));
            assert!(said[1].ends_with("\"}") && said[2].ends_with(&format!("\",{ours}}}")), "{said:?}");
        }
        // A long line beside the change is cut behind its beginning.
        let said = shown(Some(&format!("{long}\n1\n")), Some(&format!("{long}\n2\n")));
        assert_eq!(said[1], format!(" {}…", "ü".repeat(LONGEST)));
    }

    #[test]
    fn repeated_lines_are_not_counted_on_both_sides() {
        assert_eq!(shown(Some("a\na\n"), Some("a\na\na\n")), ["@@ -1,2 +1,3 @@", " a", " a", "+a"]);
    }
}
