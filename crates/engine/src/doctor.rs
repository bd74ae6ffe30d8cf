//! What is wrong, what is so, and what AgentHub cannot know.

mod hooks;
mod tracing;
mod words;

use std::{collections::BTreeMap, path::Path};

use agenthub_core::words::counted;
use agenthub_store::{Filter, Store};

use crate::{
    Config, Snapshot, convert,
    host::store_error,
    places::Places,
    view::{
        DoctorDocument, ErrorView, Finding, HooksStatus, HostNote, Level, Problem, ProblemGroup, SCHEMA,
        TracingStatus,
    },
    way_out,
};
pub use words::warning;
use words::{about_files, advice, title};

/// Said openly, wherever a person may ask why (spec §13).
const LIMITS: [&str; 7] = [
    "Sessions of the Antigravity IDE and the desktop app are not listed.",
    "Old `.pb` conversations are encrypted and can't be read; opening one in agy turns it into a `.db`.",
    "That agy waits for you is known only where agy writes it into the conversation (status 9).",
    "Where agy's presence locks can't be seen, the end of a session shows after 2 minutes of silence, or 10 with hooks.",
    "A wait of a session whose lock was never seen ends after 8 hours.",
    "Cache writes have always been zero in agy's files so far.",
    "agy's formats are undocumented and change with its updates; what can't be read is counted and shown.",
];

/// Names of files in one group.
const FEW: usize = 3;

/// What is asked: how the hooks and tracing stand, or why that can't be known, and how many of their events found no room.
pub(crate) struct Asked<'a> {
    pub(crate) status: Result<HooksStatus, ErrorView>,
    pub(crate) tracing: Result<TracingStatus, ErrorView>,
    pub(crate) places: &'a Places,
    /// What the asking host notes beside the engine.
    pub(crate) own: &'a [HostNote],
}

pub(crate) fn document(
    reader: &Store,
    now: &Snapshot,
    config: &Config,
    asked: &Asked<'_>,
) -> Result<DoctorDocument, ErrorView> {
    let board = &now.board;
    let everything = reader.totals(&Filter::default()).map_err(|e| store_error(&e))?;
    let mut findings = about_notes(&board.notes);
    findings.extend(about_notes(asked.own));
    let is_counted = |p: &&Problem| is_of_one_file(p, &config.gemini_dir);
    let problems: Vec<Problem> = now.problems.iter().filter(is_counted).cloned().collect();
    if !problems.is_empty() {
        let files = problems.len();
        let message =
            format!("{} could not be read; the list below says why.", counted(files, "file", "files"));
        findings.push(finding(Level::Warning, "unreadable_files", message));
    }
    findings.extend(about_sessions(reader)?);
    if everything.sum.unknown > 0 {
        let message = format!(
            "{} of {} told no usage.",
            everything.sum.unknown,
            counted(everything.sum.calls, "model call", "model calls")
        );
        findings.push(finding(Level::Note, "calls_without_usage", message));
    }
    findings.push(match &board.agy_version {
        Some(v) => Finding {
            advice: None,
            ..finding(Level::Ok, "agy_version", format!("agy {v}, read from its log."))
        },
        None => {
            finding(Level::Note, "agy_version", "agy's version is not known: no log names it.".to_owned())
        }
    });
    let (about_hooks, accepted, dropped) = hooks::findings(reader, asked)?;
    findings.extend(about_hooks);
    findings.extend(tracing::findings(&asked.tracing));
    let (sessions, calls) = (everything.sessions, everything.sum.calls);
    let read = !board.notes.iter().any(|n| ["no_home", "unreadable_folder"].contains(&n.code.as_str()));
    if read {
        let here = convert::for_people(&config.gemini_dir);
        let message = format!(
            "Reading {here}: {}, {}.",
            counted(sessions, "session", "sessions"),
            counted(calls, "model call", "model calls")
        );
        findings.push(finding(Level::Ok, "reading", message));
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let counts = BTreeMap::from([
        ("sessions".to_owned(), sessions),
        ("calls".to_owned(), calls),
        ("calls_without_usage".to_owned(), everything.sum.unknown),
        ("problems".to_owned(), count(problems.len())),
        ("lanes".to_owned(), count(board.lanes.len())),
        ("hook_events".to_owned(), accepted),
        ("hook_events_dropped".to_owned(), dropped),
    ]);
    findings.sort_by_key(|f| match f.level {
        Level::Error => 0,
        Level::Warning => 1,
        Level::Note => 2,
        Level::Ok => 3,
    });
    Ok(DoctorDocument {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        agy_version: board.agy_version.clone(),
        findings,
        lanes: now.lanes().lanes,
        problem_groups: groups(&problems),
        problems,
        counts,
        limits: LIMITS.map(str::to_owned).to_vec(),
    })
}

/// With words of its own for what to do.
fn told(level: Level, code: &str, message: String, advice: &str) -> Finding {
    Finding { advice: Some(advice.to_owned()), ..finding(level, code, message) }
}

/// With its title and its advice, by its code.
fn finding(level: Level, code: &str, message: String) -> Finding {
    Finding {
        level,
        code: code.to_owned(),
        title: title(code),
        message,
        advice: advice(code).map(str::to_owned),
    }
}

/// Whether a problem is of one file of this home. One of the whole folder is a note's, which says it once.
pub fn is_of_one_file(p: &Problem, gemini_dir: &Path) -> bool {
    let folder = agenthub_agy::Home::new(gemini_dir.to_owned()).conversations();
    p.code != "no_home" && Path::new(&p.file) != folder
}

fn about_notes(notes: &[HostNote]) -> Vec<Finding> {
    let level = |code: &str| match code {
        "no_home" => Level::Note,
        "unreadable_folder" | "source_failed" | "store_unusable" => Level::Error,
        _ => Level::Warning,
    };
    let told = |n: &HostNote| {
        // A note's message may end with the way out, for a banner has no other place for it; here it is the advice.
        let (what, way) = way_out::apart(&n.message, advice(&n.code));
        let first = finding(level(&n.code), &n.code, what.to_owned());
        Finding { advice: way.map(str::to_owned).or(first.advice), ..first }
    };
    notes.iter().map(told).collect()
}

/// The warnings of all sessions, by their code.
fn about_sessions(reader: &Store) -> Result<Vec<Finding>, ErrorView> {
    let mut warnings: BTreeMap<String, u32> = BTreeMap::new();
    for details in reader.details_with_warnings().map_err(|e| store_error(&e))? {
        for w in crate::conversation::Details::parse(&details).warnings {
            *warnings.entry(w.code).or_default() += w.count;
        }
    }
    let told = warnings.iter().map(|(code, count)| finding(Level::Note, code, warning(code, *count)));
    Ok(told.collect())
}

/// What to do about a file with this problem.
pub(crate) fn advice_on_file(code: &str) -> &'static str {
    about_files(code, 1).1
}

/// Problems by their reason, the most first.
pub fn groups(problems: &[Problem]) -> Vec<ProblemGroup> {
    let mut by_code: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for p in problems {
        by_code.entry(&p.code).or_default().push(p);
    }
    let mut groups: Vec<ProblemGroup> = by_code
        .into_iter()
        .map(|(code, all)| {
            let (what, advice) = about_files(code, all.len());
            ProblemGroup {
                code: code.to_owned(),
                message: format!("{} {what}", all.len()),
                advice: advice.to_owned(),
                count: u32::try_from(all.len()).unwrap_or(u32::MAX),
                files: all.iter().take(FEW).map(|p| p.file.clone()).collect(),
            }
        })
        .collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.count));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_many_problems_are_few_groups() {
        let problem = |n: u32, code: &str| Problem {
            file: format!("{n:05}.db"),
            code: code.to_owned(),
            message: "why".to_owned(),
        };
        let mut all: Vec<Problem> = (0..6_000).map(|n| problem(n, "empty")).collect();
        all.push(problem(7_000, "corrupt"));
        let told = groups(&all);
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].count, told[0].files.len()), (6_000, FEW));
        assert!(told[0].message.starts_with("6000 files are empty"), "{told:?}");
        assert!(told[1].message.starts_with("1 file is damaged"), "{told:?}");
        assert!(told[1].advice.starts_with("Restore it"), "{told:?}");
        assert!(told.iter().all(|g| g.advice.ends_with('.')));
    }
}
