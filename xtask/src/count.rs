//! How many tests ran, from what their runners print.

use std::ops::Add;

/// Tests by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Counts {
    fn ran(self) -> u64 {
        self.passed + self.failed
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.ran() == 0
    }
}

/// Rust's: `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s`, one line
/// for each test program.
pub(crate) fn libtest(printed: &str) -> Counts {
    let printed = without_colours(printed);
    printed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: "))
        .filter_map(|line| line.split_once(". "))
        .map(|(_, counts)| named(counts.split(';')))
        .fold(Counts::default(), Add::add)
}

/// Vitest's: `Tests  1 failed | 12 passed | 2 skipped (15)`, once.
pub(crate) fn vitest(printed: &str) -> Counts {
    let printed = without_colours(printed);
    printed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Tests "))
        .map(|line| named(line.split('(').next().unwrap_or_default().split('|')))
        .fold(Counts::default(), Add::add)
}

/// From parts like `12 passed`.
fn named<'a>(parts: impl Iterator<Item = &'a str>) -> Counts {
    let mut counts = Counts::default();
    for part in parts {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match word {
            "passed" => counts.passed += number,
            "failed" => counts.failed += number,
            "ignored" | "skipped" | "todo" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

/// Runners colour their lines when a terminal, or CI, is about: `ESC [ … letter`.
pub(crate) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_rust_test_program_is_added_up() {
        let printed = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.01s\n\n\
            running 40 tests\n\
            test result: ok. 39 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(libtest(printed), Counts { passed: 40, failed: 1, skipped: 1 });
    }

    #[test]
    fn the_pages_tests_are_counted_without_its_files() {
        let printed =
            " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 12 passed | 2 skipped (15)\n";
        assert_eq!(vitest(printed), Counts { passed: 12, failed: 1, skipped: 2 });
        assert_eq!(vitest("      Tests  no tests\n"), Counts::default());
    }

    #[test]
    fn colours_do_not_hide_a_count() {
        let printed = "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m7 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (7)\u{1b}[39m\n";
        assert_eq!(vitest(printed).passed, 7);
        assert_eq!(without_colours("a\u{1b}[1;31mb\u{1b}[0mc"), "abc");
    }

    #[test]
    fn a_test_that_prints_such_words_is_not_counted() {
        assert!(libtest("expected 3 passed; 0 failed\nresult: ok. 3 passed\n").is_nothing());
    }
}
