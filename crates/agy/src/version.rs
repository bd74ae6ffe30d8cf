//! agy's version, from what it logged. agy itself is never started (spec P6).

use crate::{Home, index, log};

/// Logs that are looked at, newest first, and bytes of the end of each.
const MOST_LOGS: usize = 8;
const MOST_BYTES: u64 = 1 << 20;

/// The newest version that agy's own logs name, for example "1.2.7"; `None` where no line has one. The logs are large
/// and hold other things: their text goes nowhere.
pub fn version(home: &Home) -> Option<String> {
    let logs = log::files(home);
    logs.iter().take(MOST_LOGS).find_map(|log| {
        let bytes = index::tail(log, MOST_BYTES)?;
        String::from_utf8_lossy(&bytes).lines().rev().find_map(of_line).map(str::to_owned)
    })
}

/// The version in a line that speaks of agy's own.
fn of_line(line: &str) -> Option<&str> {
    const BEFORE: [&str; 6] =
        ["agy version", "cli version", "antigravity version", "antigravity cli v", "version:", "version="];
    let lower = line.to_ascii_lowercase();
    BEFORE.iter().filter_map(|before| Some(lower.find(before)? + before.len())).find_map(|at| {
        // Lowering ASCII moves nothing, so places are the same in both.
        let rest = line.get(at..)?.trim_start_matches([' ', ':', '=', '"', '\'', 'v']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let version = rest.get(..end)?.trim_end_matches('.');
        let parts = version.split('.').filter(|p| !p.is_empty()).count();
        (parts == version.split('.').count() && (2..=4).contains(&parts)).then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p06_the_version_is_read_from_a_log_line() {
        for (line, expected) in [
            ("I0910 15:14:15.123456  1234 main.go:53] agy version: 1.2.7 (linux)", Some("1.2.7")),
            ("I0910 x] Antigravity CLI v1.3.1.", Some("1.3.1")),
            ("version=\"1.2.17\"", Some("1.2.17")),
            ("I0910 x] schema version: 3", None),
            ("I0910 15:14:15.123456", None),
            ("", None),
        ] {
            assert_eq!(of_line(line), expected, "{line}");
        }
    }

    #[test]
    fn p06_the_newest_log_that_names_one_counts() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::new(temp.path().to_owned());
        assert_eq!(version(&home), None);
        let log = home.cli().join("log");
        std::fs::create_dir_all(&log).unwrap();
        for (name, text) in [
            ("cli-20260901_000000.log", "x] agy version 1.2.0"),
            ("cli-20260902_000000.log", "x] agy version 1.2.7\nmore"),
            ("cli-20260903_000000.log", "nothing"),
            ("other.log", "x] agy version 9.9.9"),
        ] {
            std::fs::write(log.join(name), text).unwrap();
        }
        assert_eq!(version(&home).as_deref(), Some("1.2.7"));
    }
}
