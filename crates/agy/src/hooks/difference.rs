//! What an edit changes, line by line, for people. An edit of ours is one place, so one hunk says all.

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    /// Without its line end; cut when it is very long.
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
const LONGEST: usize = 400;

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
    let mut add = |kind, all: &[&str], from: usize, to: usize| {
        let some = all.get(from..to).unwrap_or_default();
        out.extend(some.iter().map(|text| Line { kind, text: cut(text) }));
    };
    add(LineKind::Same, &old, first, from);
    add(LineKind::Removed, &old, from, old_to);
    add(LineKind::Added, &new, from, new_to);
    add(LineKind::Same, &old, old_to, last);
    out
}

/// Split behind line ends, which count: a file of one line and no end is not the one with it.
fn lines(bytes: &[u8]) -> Vec<&str> {
    std::str::from_utf8(bytes).unwrap_or_default().split_inclusive('\n').collect()
}

fn cut(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
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
    fn repeated_lines_are_not_counted_on_both_sides() {
        assert_eq!(shown(Some("a\na\n"), Some("a\na\na\n")), ["@@ -1,2 +1,3 @@", " a", " a", "+a"]);
    }
}
