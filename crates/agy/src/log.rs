//! agy's own log files: which there are, and which process made which conversation (spec L8).
//!
//! They are large and hold other things, an e-mail address among them: nothing of their text goes anywhere.

use std::path::PathBuf;

use agenthub_core::{SessionId, Time};

use crate::{
    Home,
    fingerprint::{self, may_be_since},
    index,
};

/// Logs that are looked at, newest first, and bytes of the end of each.
const MOST_LOGS: usize = 32;
const MOST_BYTES: u64 = 1 << 20;

/// agy's log files, the newest first: `cli-YYYYMMDD_HHMMSS.log`, so the name is the order.
pub(crate) fn files(home: &Home) -> Vec<PathBuf> {
    let mut logs: Vec<PathBuf> = [home.cli().join("log"), home.cli()]
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|f| Some(f.ok()?.path()))
        .filter(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("cli-") && name.ends_with(".log")
        })
        .collect();
    logs.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    logs
}

/// The conversations that logs which may have been written since the clock's `moment` say were made, each with the process
/// that wrote the line. Two processes that start in one second share a log, so it is the line that names the writer.
pub fn creators(home: &Home, moment: Time) -> Vec<(SessionId, u32)> {
    let written = |log: &PathBuf| fingerprint::mark(log).is_ok_and(|m| may_be_since(m.wrote(), moment));
    files(home)
        .iter()
        .filter(|log| written(log))
        .take(MOST_LOGS)
        .filter_map(|log| index::tail(log, MOST_BYTES))
        .flat_map(|bytes| String::from_utf8_lossy(&bytes).lines().filter_map(created).collect::<Vec<_>>())
        .collect()
}

/// `I0910 15:14:15.123456  1234 file.go:53] Created conversation <uuid>`: the third word is the writer's process id. Older
/// logs put words before the line.
fn created(line: &str) -> Option<(SessionId, u32)> {
    let (head, text) = line.split_once("] ")?;
    let id = text.trim_start().strip_prefix("Created conversation ")?;
    let id = SessionId::parse(id.split_ascii_whitespace().next()?.trim_end_matches(['.', ',']))?;
    let pid = head.split_ascii_whitespace().rev().nth(1)?.parse().ok()?;
    Some((id, pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "18ee78b4-4643-45db-85df-8abd89b51b1b";

    #[test]
    fn l08_a_log_line_names_a_conversation_and_its_maker() {
        let at = "I0910 15:14:15.123456  1234 conversation_manager.go:211]";
        let made = Some((SessionId::parse(ID).unwrap(), 1234));
        assert_eq!(created(&format!("{at} Created conversation {ID}")), made);
        assert_eq!(
            created(&format!("ERROR: logging before google.Init: {at} Created conversation {ID}.")),
            made
        );
        for other in [
            format!("{at} Conversation {ID} was created"),
            format!("{at} Created conversation notes"),
            format!("I0910 15:14:15 x conversation_manager.go:211] Created conversation {ID}"),
            format!("Created conversation {ID}"),
            String::new(),
        ] {
            assert_eq!(created(&other), None, "{other}");
        }
    }

    #[test]
    fn l08_only_logs_that_were_written_since_then_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::new(temp.path().to_owned());
        let log = home.cli().join("log");
        std::fs::create_dir_all(&log).unwrap();
        let line = format!("I0910 15:14:15.123456  77 x.go:1] Created conversation {ID}\n");
        std::fs::write(log.join("cli-20260910_151415.log"), line).unwrap();
        let made = [(SessionId::parse(ID).unwrap(), 77)];
        assert_eq!(creators(&home, Time::from_micros(0)), made);
        let wrote = fingerprint::mark(&log.join("cli-20260910_151415.log")).unwrap().wrote();
        // Its time may be that of the tick before the moment at which it was written.
        assert_eq!(creators(&home, wrote.plus_ms(10)), made);
        assert_eq!(creators(&home, wrote.plus_ms(60_000)), []);
    }

    #[test]
    fn agy_is_known_by_its_name() {
        assert!(crate::is_agy("agy") && crate::is_agy("AGY.EXE"));
        assert!(!crate::is_agy("agyx") && !crate::is_agy("gemini"));
    }
}
