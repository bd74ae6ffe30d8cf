//! The documents as people read them in a terminal.

use std::collections::BTreeMap;

use agenthub_core::words::{counted, plural};
use agenthub_engine::Host;
use agenthub_engine::pricing::shown;
use agenthub_engine::view::{
    BoardView, Bundle, DoctorDocument, Level, ModelUsage, Outcome, ProblemGroup, Session, SessionDetail,
    SessionsDocument, State, Status, StepState, TimelineKind, UsageDocument, WholeEntry,
};
use comfy_table::{CellAlignment, Table, presets};

use crate::out::{age, count, cut, safe, shape, token_words, tokens, word};

fn table(head: &[&str]) -> Table {
    let mut t = Table::new();
    t.load_preset(presets::NOTHING);
    t.set_header(head);
    t
}

fn right(t: &mut Table, columns: &[usize]) {
    for c in columns {
        if let Some(column) = t.column_mut(*c) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A cost; – where it is not known what was used.
pub(crate) fn cost(usd: Option<&str>, unpriced: u64, used: bool) -> String {
    if used { shown(usd, unpriced) } else { "–".to_owned() }
}

/// So many models are named.
const NAMED: usize = 5;

/// What has no price, by model, the most first.
fn without_price<'a>(sessions: impl Iterator<Item = &'a Session>) -> Vec<(&'a str, u64)> {
    let mut by_model: BTreeMap<&str, u64> = BTreeMap::new();
    for one in sessions.flat_map(|s| &s.models).flat_map(|m| &m.unpriced_names) {
        let sum = by_model.entry(&one.model).or_default();
        *sum = sum.saturating_add(one.tokens);
    }
    let mut all: Vec<_> = by_model.into_iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    all
}

/// What costs are, and whose tokens are in none.
fn about_costs(without: &[(&str, u64)]) -> String {
    let mut out = "Costs are list prices, not a bill.".to_owned();
    if !without.is_empty() {
        let named: Vec<String> = without
            .iter()
            .take(NAMED)
            .map(|(m, n)| format!("{} of {}", token_words(*n), cut(m, 60)))
            .collect();
        let more = match without.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and some of {}", counted(n, "more model", "more models")),
        };
        let all = without.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
        out.push_str(&format!(
            " {}{more} {}: `agenthub pricing set` gives a model one.",
            named.join(", "),
            in_no_cost(all)
        ));
    }
    out
}

/// What is said of so many tokens without a price.
fn in_no_cost(tokens: u64) -> &'static str {
    plural(tokens, "has no price and is in none", "have no price and are in none")
}

fn rendered(t: &Table) -> String {
    t.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn lanes(board: &BoardView, now: jiff::Timestamp) -> String {
    let mut out = board.summary.line.clone();
    if board.lanes.is_empty() {
        out.push_str(". Start `agy` in a project folder; its lane appears here.");
    }
    let mut t = table(&["", "Lane", "State", "For", "", "Today", "Cost", "Folder"]);
    right(&mut t, &[3, 5, 6]);
    for l in &board.lanes {
        let tool = l.detail_tool.as_deref().map(safe);
        let detail = match (tool, l.detail.as_deref()) {
            (Some(tool), Some(d)) => format!("{tool}: {}", cut(d, 50)),
            (Some(tool), None) => tool,
            (None, d) => d.map(|d| cut(d, 60)).unwrap_or_default(),
        };
        let lane = &l.lane;
        t.add_row([
            shape(lane.state).to_owned(),
            cut(&lane.name, 40),
            standing(lane.state, lane.outcome).to_owned(),
            age(lane.since.as_deref(), now),
            detail,
            tokens(l.lane.tokens_today.as_ref()),
            cost(
                l.lane.cost_usd_today.as_deref(),
                l.lane.tokens_unpriced_today,
                l.lane.tokens_today.is_some(),
            ),
            safe(lane.cwd.as_deref().unwrap_or("–")),
        ]);
    }
    if !board.lanes.is_empty() {
        out.push('\n');
        out.push_str(&rendered(&t));
    }
    let without = board.lanes.iter().fold(0, |sum: u64, l| sum.saturating_add(l.lane.tokens_unpriced_today));
    if without > 0 {
        out.push_str(&format!(
            "\n{} of today {}: `agenthub pricing list` says which.",
            token_words(without),
            in_no_cost(without)
        ));
    }
    for n in &board.notes {
        out.push_str(&format!("\n{}", n.message));
    }
    out
}

/// An agy that went away in the middle of a turn leaves an idle lane, and yet did not do what it was asked.
const fn standing(state: State, outcome: Outcome) -> &'static str {
    match (state, outcome) {
        (State::Idle, Outcome::Unfinished) => "Idle, ended without finishing",
        (state, _) => word(state),
    }
}

const fn session_standing(s: &Session) -> &'static str {
    match (s.status, s.outcome) {
        (Status::Active, outcome) => standing(s.state, outcome),
        (Status::Completed, Outcome::Unfinished) => "Ended without finishing",
        (Status::Completed, Outcome::Failed) => "Failed",
        (Status::Completed, Outcome::Canceled) => "Stopped",
        (Status::Completed, _) => "Completed",
    }
}

pub(crate) fn sessions(doc: &SessionsDocument, now: jiff::Timestamp) -> String {
    let mut t = table(&["Id", "State", "Session", "Model", "Turns", "Tokens", "Cost", "Active"]);
    right(&mut t, &[4, 5, 6, 7]);
    for s in &doc.sessions {
        t.add_row([
            s.id.clone(),
            session_standing(s).to_owned(),
            cut(&s.name, 48),
            s.model.as_deref().map_or("–".to_owned(), |id| model(s.model_label.as_deref(), id)),
            s.turns.to_string(),
            tokens(s.tokens.as_ref().filter(|_| called(s))),
            cost(s.cost_usd.as_deref(), s.tokens_unpriced, s.tokens.is_some() && called(s)),
            age(s.last_activity_at.as_deref(), now),
        ]);
    }
    // The window's lists show these inside the session that started them.
    let subagents = doc.sessions.iter().filter(|s| s.parent_id.is_some()).count();
    let inside = match u32::try_from(subagents).unwrap_or(u32::MAX) {
        0 => String::new(),
        n => format!(", of them {}", counted(n, "sub-agent", "sub-agents")),
    };
    let totals = format!(
        "{}{inside} · {} · {}{} · {}",
        counted(doc.totals.sessions, "session", "sessions"),
        counted(doc.totals.calls, "call", "calls"),
        token_words(doc.totals.tokens.total),
        unknown(doc.totals.calls_without_usage),
        cost(doc.totals.cost_usd.as_deref(), doc.totals.tokens_unpriced, doc.totals.tokens.total > 0),
    );
    let costs = if doc.sessions.is_empty() {
        String::new()
    } else {
        about_costs(&without_price(doc.sessions.iter()))
    };
    [rendered(&t), totals, costs, problems(&agenthub_engine::problem_groups(&doc.problems))]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A line for each reason: thousands of files would hide everything else.
fn problems(groups: &[ProblemGroup]) -> String {
    groups
        .iter()
        .map(|g| {
            let names: Vec<String> = g.files.iter().map(|f| safe(f)).collect();
            let more = if usize::try_from(g.count).is_ok_and(|n| n > names.len()) { ", …" } else { "" };
            format!("△ {} ({}): {}{more}\n  {}", safe(&g.message), g.code, names.join(", "), g.advice)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// That something is missing, where there is no room to say of each file why; `None`: nothing is.
pub(crate) fn unread(host: &Host) -> Option<String> {
    let files = u32::try_from(host.unread()).unwrap_or(u32::MAX);
    (files > 0).then(|| {
        let (files, is) = (counted(files, "file", "files"), if files == 1 { "is" } else { "are" });
        format!("{files} could not be read and {is} not in it: `agenthub doctor` says why.")
    })
}

/// A text with that below it.
pub(crate) fn with_unread(mut text: String, host: &Host) -> String {
    text.extend(unread(host).map(|said| format!("\n△ {said}")));
    text
}

/// Times are told in `zone`.
pub(crate) fn session(d: &SessionDetail, timeline: &[WholeEntry], zone: &jiff::tz::TimeZone) -> String {
    let s = &d.row.session;
    let state = session_standing(s);
    let used = if called(s) {
        format!(
            "{}{} · {}",
            s.tokens.as_ref().map_or_else(|| "– tokens".to_owned(), |t| token_words(t.total)),
            unknown(s.calls_without_usage),
            cost(s.cost_usd.as_deref(), s.tokens_unpriced, s.tokens.is_some())
        )
    } else {
        "no model calls of its own".to_owned()
    };
    let mut out = format!(
        "{}\n{state} · {} · {} · {used}\n{}\nId: {}",
        safe(&s.name),
        counted(s.turns, "turn", "turns"),
        counted(s.tool_calls, "tool", "tools"),
        safe(s.cwd.as_deref().unwrap_or("No folder")),
        s.id,
    );
    let named = |name: &str, id: &str| format!("{} ({})", cut(name, 60), safe(id));
    for (what, other, id) in
        [("Forked from", &d.origin, &s.forked_from), ("Sub-agent of", &d.parent, &s.parent_id)]
    {
        match (other, id) {
            (Some(other), _) => out.push_str(&format!("\n{what}: {}", named(&other.name, &other.id))),
            (None, Some(id)) => out.push_str(&format!("\n{what}: {}", safe(id))),
            (None, None) => {}
        }
    }
    for (what, all) in [
        ("Forks", d.forks.iter().map(|f| named(&f.name, &f.id)).collect::<Vec<_>>()),
        ("Sub-agents", d.subagents.iter().map(|r| named(&r.session.name, &r.session.id)).collect()),
    ] {
        if !all.is_empty() {
            out.push_str(&format!("\n{what}: {}", all.join(", ")));
        }
    }
    out.push_str(&format!("\nWhy: {} ({})", safe(&d.why.decided.fact), d.why.decided.source));
    let mut models =
        table(&["Model", "Calls", "Input", "Cached", "Output", "Thinking", "Total", "Cost", "Price row"]);
    right(&mut models, &[1, 2, 3, 4, 5, 6, 7]);
    for m in &s.models {
        let n = |f: fn(&agenthub_engine::view::Tokens) -> u64| {
            m.tokens.as_ref().map_or("–".to_owned(), |t| f(t).to_string())
        };
        models.add_row([
            model(m.model_label.as_deref(), &m.model),
            m.calls.to_string(),
            n(|t| t.input),
            n(|t| t.cache_read),
            n(|t| t.output),
            n(|t| t.thinking),
            n(|t| t.total),
            cost(m.cost_usd.as_deref(), m.tokens_unpriced, m.tokens.is_some()),
            price_row(m),
        ]);
    }
    if !s.models.is_empty() {
        let costs = about_costs(&without_price(std::iter::once(s)));
        out.push_str(&format!("\n\n{}\n{costs}", rendered(&models)));
    }
    for w in &s.warnings {
        out.push_str(&format!("\n△ {}", safe(&agenthub_engine::warning_words(&w.code, w.count))));
    }
    let mut t = table(&["Turn", "At", "", "What", "Tokens", "Cost", "ms"]);
    right(&mut t, &[0, 4, 5, 6]);
    for WholeEntry { entry: e, argument, .. } in timeline {
        let about = if e.approximate { "~" } else { "" };
        let at = e.at.as_deref().and_then(|at| local(at, zone)).unwrap_or_else(|| "–".to_owned());
        let text = argument.as_ref().or(e.text.as_ref());
        let mut what = match (&e.name, text) {
            (Some(name), Some(text)) => format!("{} {}", safe(name), cut(text, 60)),
            (Some(name), None) => safe(name),
            (None, Some(text)) => cut(text, 70),
            (None, None) => String::new(),
        };
        what.push_str(result(e.state));
        // Beside what a tool tried stands how that went.
        if let Some(error) = e.text.as_ref().filter(|t| Some(*t) != text) {
            what.push_str(&format!(": {}", cut(error, 60)));
        }
        if let Some(owner) = &e.copied_from {
            what.push_str(&format!(" (copied from {}, counted there)", cut(owner, 9)));
        }
        t.add_row([
            e.turn.to_string(),
            format!("{about}{at}"),
            kind(e.kind).to_owned(),
            what,
            match (&e.tokens, e.kind) {
                (Some(t), _) => count(t.total),
                (None, TimelineKind::Call) => "–".to_owned(),
                (None, _) => String::new(),
            },
            e.tokens.map(|_| cost(e.cost_usd.as_deref(), e.tokens_unpriced, true)).unwrap_or_default(),
            e.duration_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        ]);
    }
    if !timeline.is_empty() {
        out.push_str(&format!("\n\n{}", rendered(&t)));
    }
    if let Some(note) = &d.timeline_note {
        out.push_str(&format!("\n\n{note}"));
    }
    out
}

/// The row that priced a model, and what it has no rate for.
fn price_row(m: &ModelUsage) -> String {
    let row = m.price_row.as_deref().map_or_else(|| "–".to_owned(), safe);
    if m.unpriced_parts.is_empty() {
        row
    } else {
        format!("{row} (no rate: {})", m.unpriced_parts.join(", "))
    }
}

/// A moment with its day, to the millisecond.
fn local(at: &str, zone: &jiff::tz::TimeZone) -> Option<String> {
    let at: jiff::Timestamp = at.parse().ok()?;
    let here = at.to_zoned_datetime(zone.clone());
    Some(here.strftime("%m-%d %H:%M:%S%.3f").to_string())
}

const fn kind(k: TimelineKind) -> &'static str {
    match k {
        TimelineKind::Prompt => "prompt",
        TimelineKind::Call => "call",
        TimelineKind::Tool => "tool",
        TimelineKind::Wait => "wait",
        TimelineKind::Error => "error",
        TimelineKind::Checkpoint => "checkpoint",
        TimelineKind::Subagent => "sub-agent",
    }
}

const fn result(s: StepState) -> &'static str {
    match s {
        StepState::Done => "",
        StepState::Running => " (running)",
        StepState::Waiting => " (waiting)",
        StepState::Failed => " (failed)",
        StepState::Canceled => " (canceled)",
        StepState::Denied => " (denied)",
    }
}

/// `days`: whether days are shown, or named in the range.
pub(crate) fn usage(doc: &UsageDocument, days: bool) -> String {
    let head = match doc.by.as_str() {
        "day" => "Day",
        "model" => "Model",
        "project" => "Project",
        _ => "Session",
    };
    let mut t = table(&[head, "Calls", "Input", "Cached", "Output", "Thinking", "Total", "Cost"]);
    right(&mut t, &[1, 2, 3, 4, 5, 6, 7]);
    let mut unknown = 0;
    for r in &doc.rows {
        let n = |f: fn(&agenthub_engine::view::Tokens) -> u64| {
            r.tokens.as_ref().map_or("–".to_owned(), |t| f(t).to_string())
        };
        unknown += r.calls_without_usage;
        t.add_row([
            match &r.key {
                Some(id) if doc.by == "model" => model(Some(&r.label), id),
                _ => cut(&r.label, 60),
            },
            r.calls.to_string(),
            n(|t| t.input),
            n(|t| t.cache_read),
            n(|t| t.output),
            n(|t| t.thinking),
            n(|t| t.total),
            cost(r.cost_usd.as_deref(), r.tokens_unpriced, r.tokens.is_some()),
        ]);
    }
    let total = doc.totals.tokens;
    t.add_row([
        "Together".to_owned(),
        doc.totals.calls.to_string(),
        total.input.to_string(),
        total.cache_read.to_string(),
        total.output.to_string(),
        total.thinking.to_string(),
        total.total.to_string(),
        cost(doc.totals.cost_usd.as_deref(), doc.totals.tokens_unpriced, total.total > 0),
    ]);
    let mut out = rendered(&t);
    if days {
        out.push_str(&format!("\n{}", zone(&doc.time_zone)));
    }
    if unknown > 0 {
        out.push_str(&format!(
            "\n{} told no usage: counted as calls, their tokens are not known.",
            counted(unknown, "call", "calls")
        ));
    }
    out.push_str("\nCosts are list prices, not a bill.");
    if doc.totals.tokens_unpriced > 0 {
        out.push_str(&format!(
            " {} {}: `agenthub pricing list` says which.",
            token_words(doc.totals.tokens_unpriced),
            in_no_cost(doc.totals.tokens_unpriced)
        ));
    }
    if !doc.problems.is_empty() {
        out.push_str(&format!("\n{}", problems(&agenthub_engine::problem_groups(&doc.problems))));
    }
    out
}

fn zone(name: &str) -> String {
    match name {
        "Etc/Unknown" => {}
        "system" => return "Days are cut in the system's time zone.".to_owned(),
        _ => return format!("Days are cut in {name}."),
    }
    let said = std::env::var("TZ").ok().filter(|tz| !tz.is_empty());
    let why = said.map(|tz| format!(" (TZ is `{}`)", safe(&tz))).unwrap_or_default();
    format!("Days are cut in UTC, for the system's time zone is not known{why}. `--tz` names another one.")
}

/// A model as agy's people know it, with its id beside: the same wherever one is named.
fn model(label: Option<&str>, id: &str) -> String {
    match label {
        Some(label) if label != id => format!("{} · {}", cut(label, 40), cut(id, 40)),
        _ => cut(id, 60),
    }
}

/// Whether a model call counts for it: not where all are copies of another session's.
fn called(s: &Session) -> bool {
    !s.models.is_empty()
}

/// What a sum of tokens leaves out.
fn unknown(calls: u32) -> String {
    if calls == 0 { String::new() } else { format!(" · {} without usage", counted(calls, "call", "calls")) }
}

pub(crate) fn bundle(b: &Bundle) -> String {
    format!(
        "{} holds {}. It has no prompt, no name of a session, no file's contents, no folder of a project, no address and no \
         secret in it: it can be shared as it is.",
        b.file_short,
        b.entries.join(", ")
    )
}

pub(crate) fn doctor(d: &DoctorDocument) -> String {
    let mut out = format!("AgentHub {}", d.version);
    for f in &d.findings {
        let mark = match f.level {
            Level::Error => "✕",
            Level::Warning => "△",
            Level::Note => "·",
            Level::Ok => "✓",
        };
        out.push_str(&format!("\n{mark} {}", safe(&f.message)));
        if let Some(a) = &f.advice {
            out.push_str(&format!("\n  → {}", safe(a)));
        }
    }
    for l in &d.lanes {
        out.push_str(&format!("\n{} {}: {}", shape(l.state), safe(&l.name), safe(&l.why.decided.fact)));
    }
    if !d.problem_groups.is_empty() {
        out.push_str(&format!("\n\nFiles that could not be read\n{}", problems(&d.problem_groups)));
        out.push_str("\n`agenthub doctor --json` names each.");
    }
    out.push_str("\n\nWhat AgentHub cannot know");
    for l in &d.limits {
        out.push_str(&format!("\n· {l}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m4_what_has_no_price_is_named_by_model_and_one_token_is_one() {
        assert_eq!(about_costs(&[]), "Costs are list prices, not a bill.");
        let said = about_costs(&[("a", 1)]);
        assert!(said.contains(" 1 token of a has no price and is in none: `agenthub pricing set`"), "{said}");
        let said = about_costs(&[("a", 12_345), ("b", 1)]);
        assert!(said.contains(" 12 k tokens of a, 1 token of b have no price and are in none"), "{said}");
        let all: Vec<(&str, u64)> = ["a", "b", "c", "d", "e", "f"].map(|m| (m, 2)).to_vec();
        assert!(about_costs(&all).contains("2 tokens of e and some of 1 more model have no price"));
    }
}
