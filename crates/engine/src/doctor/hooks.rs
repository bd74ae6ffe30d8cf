//! What doctor finds of the hooks: how they stand, what hinders them, and what of their events was dropped.

use std::{io::Read as _, path::Path};

use agenthub_agy::hook_payload::Dropped;
use agenthub_core::words::counted;
use agenthub_store::{HookCount, Store};

use super::{Asked, finding};
use crate::{
    host::store_error,
    journal,
    view::{ErrorView, Finding, HooksState, HooksStatus, Level},
};

/// The file of what was lost has this many bytes at most.
const MOST_LOST: u64 = 1 << 20;

/// The findings, and how many events were accepted and dropped.
pub(super) fn findings(reader: &Store, asked: &Asked<'_>) -> Result<(Vec<Finding>, u32, u32), ErrorView> {
    let (accepted, dropped) = reader.hook_counts().map_err(|e| store_error(&e))?;
    let dropped = with_lost(&dropped, &asked.places.journal_dropped());
    let mut found = match &asked.status {
        Ok(status) => standing(status),
        Err(e) => vec![finding(Level::Warning, "hooks_unknown", e.message.clone())],
    };
    found.extend(journal::faults(asked.places).into_iter().map(|f| {
        let level = if f.loses { Level::Warning } else { Level::Note };
        Finding { advice: Some(f.advice), ..finding(level, f.code, f.message) }
    }));
    found.extend(events(&accepted, &dropped));
    Ok((found, total(accepted.iter().map(|c| c.count)), total(dropped.iter().map(|(_, n)| *n))))
}

fn total(counts: impl Iterator<Item = u64>) -> u32 {
    u32::try_from(counts.sum::<u64>()).unwrap_or(u32::MAX)
}

/// How often each reason dropped an event: what the journal's reader counted, and what the hook program could not write
/// down, of which the file `lost` has one byte each.
fn with_lost(dropped: &[HookCount], lost: &Path) -> Vec<(Dropped, u64)> {
    // A link or a pipe at its place is not ours; and it has a bound.
    let is_file = std::fs::symlink_metadata(lost).is_ok_and(|m| m.is_file());
    let mut bytes = Vec::new();
    if is_file && let Ok(file) = std::fs::File::open(lost) {
        // What can be read of it counts.
        let _ = file.take(MOST_LOST).read_to_end(&mut bytes);
    }
    Dropped::ALL
        .into_iter()
        .map(|reason| {
            let counted = dropped.iter().filter(|d| d.name == reason.name()).map(|d| d.count).sum::<u64>();
            let lost = bytes.iter().filter(|b| Dropped::of_mark(**b) == reason).count();
            (reason, counted + u64::try_from(lost).unwrap_or(u64::MAX))
        })
        .collect()
}

/// How our hook stands in agy's configuration (spec H5), and what stands beside it.
fn standing(status: &HooksStatus) -> Vec<Finding> {
    let (level, code) = match status.state {
        HooksState::NotInstalled => (Level::Note, "hooks_not_installed"),
        HooksState::Installed if status.error.is_some() => (Level::Warning, "hooks_file_dropped"),
        HooksState::Installed if status.last_event_at.is_none() => (Level::Note, "hooks_silent"),
        HooksState::Installed => (Level::Ok, "hooks_installed"),
        HooksState::SwitchedOff => (Level::Warning, "hooks_switched_off"),
        HooksState::Incomplete => (Level::Warning, "hooks_incomplete"),
        HooksState::StaleCommand => (Level::Warning, "hooks_stale"),
        HooksState::TargetMissing => (Level::Warning, "hooks_target_missing"),
        HooksState::Foreign => (Level::Warning, "hooks_foreign"),
        HooksState::Unreadable => (Level::Warning, "hooks_unreadable"),
    };
    let why = status.error.as_ref().map(|e| e.message.as_str()).filter(|m| *m != status.message);
    let message = match why {
        Some(why) => format!("{} {why}", status.message),
        None => status.message.clone(),
    };
    let first = finding(level, code, message);
    let mut found = vec![Finding { advice: status.advice.clone().or(first.advice), ..first }];
    if !status.pre_tool_use.is_empty() {
        let message = format!(
            "Other hooks are asked before each tool and can deny it: {}.",
            names(&status.pre_tool_use)
        );
        found.push(finding(Level::Note, "other_pre_tool_use", message));
    }
    if !status.post_tool_use.is_empty() {
        let message = format!("Other hooks run after each tool: {}.", names(&status.post_tool_use));
        found.push(finding(Level::Note, "other_post_tool_use", message));
    }
    found.extend(status.warnings.iter().map(|w| finding(Level::Warning, &w.code, w.message.clone())));
    found
}

fn names(all: &[String]) -> String {
    all.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// What hooks told, and what of it was dropped and why.
fn events(accepted: &[HookCount], dropped: &[(Dropped, u64)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(last) = accepted.iter().map(|c| c.last_at).max() {
        let each: Vec<String> = accepted.iter().map(|c| format!("{} {}", c.count, c.name)).collect();
        let message = format!("Hook events: {}; the last one at {}.", each.join(", "), last.rfc3339());
        findings.push(finding(Level::Ok, "hook_events", message));
    }
    for (reason, count) in dropped.iter().filter(|(_, count)| *count > 0) {
        let level = match reason {
            Dropped::Full | Dropped::Unwritable => Level::Warning,
            _ => Level::Note,
        };
        let events = counted(*count, "hook event was", "hook events were");
        let message = format!("{events} dropped: {}.", reason.words());
        findings.push(finding(level, &format!("hook_dropped_{}", reason.name()), message));
    }
    findings
}
