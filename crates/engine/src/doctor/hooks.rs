//! What doctor finds of the hooks: how they stand, what hinders them, and what of their events was dropped.

use agenthub_agy::hook_payload::Dropped;
use agenthub_store::{HookCount, Store};

use super::{Asked, finding, words::plural};
use crate::{
    host::store_error,
    journal,
    view::{ErrorView, Finding, HooksState, HooksStatus, Level},
};

/// The findings, and how many events were accepted and dropped.
pub(super) fn findings(reader: &Store, asked: &Asked<'_>) -> Result<(Vec<Finding>, u32, u32), ErrorView> {
    let (accepted, dropped) = reader.hook_counts().map_err(|e| store_error(&e))?;
    // One byte for each.
    let lost = std::fs::symlink_metadata(asked.places.journal_dropped())
        .map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    let mut found = match &asked.status {
        Ok(status) => standing(status),
        Err(e) => vec![finding(Level::Warning, "hooks_unknown", e.message.clone())],
    };
    found.extend(journal::faults(asked.places).into_iter().map(|f| {
        let level = if f.loses { Level::Warning } else { Level::Note };
        Finding { advice: Some(f.advice), ..finding(level, f.code, f.message) }
    }));
    found.extend(events(&accepted, &dropped, lost));
    Ok((found, total(&accepted, 0), total(&dropped, lost)))
}

fn total(all: &[HookCount], more: u64) -> u32 {
    u32::try_from(all.iter().map(|c| c.count).sum::<u64>() + more).unwrap_or(u32::MAX)
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

/// What hooks told, and what of it was dropped and why; `lost` found the journal full.
fn events(accepted: &[HookCount], dropped: &[HookCount], lost: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(last) = accepted.iter().map(|c| c.last_at).max() {
        let each: Vec<String> = accepted.iter().map(|c| format!("{} {}", c.count, c.name)).collect();
        let message = format!("Hook events: {}; the last one at {}.", each.join(", "), last.rfc3339());
        findings.push(finding(Level::Ok, "hook_events", message));
    }
    let counts = dropped.iter().map(|d| (d.name.as_str(), d.count)).chain([(Dropped::Full.name(), lost)]);
    for (name, count) in counts.filter(|(_, count)| *count > 0) {
        let words = Dropped::ALL.into_iter().find(|r| r.name() == name).map_or("", Dropped::words);
        let level = if name == Dropped::Full.name() { Level::Warning } else { Level::Note };
        let n = usize::try_from(count).unwrap_or(usize::MAX);
        let events = plural(n, "hook event was", "hook events were");
        let message = format!("{count} {events} dropped: {words}.");
        findings.push(finding(level, &format!("hook_dropped_{name}"), message));
    }
    findings
}
