//! `agenthub hooks`: shows what it changes in agy's hooks.json, then does it.

use agenthub_engine::{
    Config, Hooks,
    view::{DiffKind, ErrorView, HooksAction, HooksEventState, HooksPlan, HooksStatus, HooksWarning},
};

use crate::{
    args::{HooksChange, HooksCommand},
    out::{self, age, safe},
    run::Failed,
};

pub(crate) fn run(config: &Config, command: HooksCommand) -> anyhow::Result<()> {
    let hooks = Hooks::new(config).map_err(Failed)?;
    let (action, change) = match command {
        HooksCommand::Status { .. } => {
            let status = hooks.status();
            return if command.json() {
                out::json(&status)
            } else {
                Ok(out::line(&told(&status, jiff::Timestamp::now()))?)
            };
        }
        HooksCommand::Install(change) => (HooksAction::Install, change),
        HooksCommand::Remove(change) => (HooksAction::Remove, change),
        HooksCommand::Undo(change) => (HooksAction::Undo, change),
    };
    let mut plan = hooks.plan(action).map_err(Failed)?;
    if !command.json() {
        out::line(&shown(&plan))?;
    }
    let refused = plan.warnings.iter().find(|w| change.dry_run && w.code == "no_program");
    if let Some(w) = refused {
        return Err(Failed(ErrorView { code: "io".to_owned(), message: w.message.clone() }).into());
    }
    if plan.changes && !change.dry_run {
        plan = hooks.apply(&plan.token).map_err(Failed)?;
    }
    if command.json() { out::json(&plan) } else { Ok(out::line(&ended(&plan, change))?) }
}

/// The difference as `diff -u` would print it, and what else there is to know.
pub(crate) fn shown(plan: &HooksPlan) -> String {
    let mut lines = Vec::new();
    if !plan.difference.is_empty() {
        let file = safe(plan.target.as_ref().unwrap_or(&plan.file));
        lines.extend([format!("--- {file}"), format!("+++ {file}")]);
    }
    for line in &plan.difference {
        let sign = match line.kind {
            DiffKind::Same => " ",
            DiffKind::Removed => "-",
            DiffKind::Added => "+",
            DiffKind::Place => "",
        };
        // A tab is no danger, and belongs to the file.
        let text: Vec<String> = line.text.split('\t').map(safe).collect();
        lines.push(format!("{sign}{}", text.join("\t")));
    }
    lines.extend(warnings(&plan.warnings));
    if lines.is_empty() {
        lines.push(format!("{} needs no change.", safe(&plan.file)));
    }
    lines.join("\n")
}

fn warnings(all: &[HooksWarning]) -> impl Iterator<Item = String> {
    all.iter().map(|w| format!("Warning: {}", safe(&w.message)))
}

fn ended(plan: &HooksPlan, change: HooksChange) -> String {
    let done = match (plan.action, plan.changes) {
        _ if change.dry_run => return "Nothing was written (`--dry-run`).".to_owned(),
        (HooksAction::Install, true) => {
            "Installed. Sessions of agy that are open keep the hooks they started with."
        }
        (HooksAction::Install, false) => "Installed already.",
        (HooksAction::Remove, true) => "Removed.",
        (HooksAction::Remove, false) => "There was nothing to remove.",
        (HooksAction::Undo, _) => "Undone.",
    };
    done.to_owned()
}

fn told(status: &HooksStatus, now: jiff::Timestamp) -> String {
    let mut lines = vec![safe(&status.message)];
    if let Some(at) = &status.last_event_at {
        lines.push(format!("Last event: {} ago", age(Some(at), now)));
    }
    lines.push(format!("File: {}", safe(&status.file)));
    lines.extend(status.target.iter().map(|t| format!("A link to: {}", safe(t))));
    for e in &status.events {
        let state = match e.state {
            HooksEventState::Installed => "installed",
            HooksEventState::LeftOut => "left out, for another hook has it",
            HooksEventState::Missing => "missing",
            HooksEventState::Stale => "starts something else",
            HooksEventState::Unwanted => "should not be there",
        };
        let last = e.last_at.as_deref().map(|at| format!(", last {} ago", age(Some(at), now)));
        lines.push(format!("  {}: {state}{}", e.event, last.unwrap_or_default()));
    }
    for (event, names, why) in [
        ("PreToolUse", &status.pre_tool_use, "which can block agy's tools"),
        ("PostToolUse", &status.post_tool_use, "of which agy may run only one"),
    ] {
        if !names.is_empty() {
            lines.push(format!("Other hooks with {event}, {why}: {}", safe(&names.join(", "))));
        }
    }
    lines.extend(warnings(&status.warnings));
    if let Some(e) = status.error.as_ref().filter(|e| e.message != status.message) {
        lines.push(format!("{} ({})", safe(&e.message), e.code));
    }
    lines.extend(status.advice.iter().map(|a| format!("→ {a}")));
    lines.extend(status.notes.iter().cloned());
    lines.join("\n")
}
