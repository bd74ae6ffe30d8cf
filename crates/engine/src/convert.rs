//! From core's terms to the shapes that leave: one direction, no rules.

use agenthub_agy as agy;
use agenthub_core as core;
use agenthub_store as store;

use crate::view;

pub(crate) const fn state(s: core::State) -> view::State {
    match s {
        core::State::Idle => view::State::Idle,
        core::State::Running => view::State::Running,
        core::State::Waiting => view::State::Waiting,
        core::State::Error => view::State::Error,
    }
}

pub(crate) const fn outcome(o: core::Outcome) -> view::Outcome {
    match o {
        core::Outcome::None => view::Outcome::None,
        core::Outcome::InProgress => view::Outcome::InProgress,
        core::Outcome::Finished => view::Outcome::Finished,
        core::Outcome::Failed => view::Outcome::Failed,
        core::Outcome::Canceled => view::Outcome::Canceled,
        core::Outcome::Unfinished => view::Outcome::Unfinished,
        core::Outcome::Quiet => view::Outcome::Quiet,
    }
}

pub(crate) fn time(t: Option<core::Time>) -> Option<view::Rfc3339> {
    t.map(core::Time::rfc3339)
}

fn evidence(e: &core::Evidence) -> view::Evidence {
    view::Evidence { fact: e.fact.to_string(), source: e.fact.source().name().to_owned(), at: time(e.at) }
}

pub(crate) fn why(w: &core::Why) -> view::Why {
    view::Why { decided: evidence(&w.decided), beat: w.beat.iter().map(evidence).collect() }
}

pub(crate) fn tokens(t: core::Tokens) -> view::Tokens {
    view::Tokens {
        input: t.input,
        output: t.output,
        cache_read: t.cache_read,
        cache_write: t.cache_write,
        thinking: t.thinking,
        total: t.total(),
    }
}

/// The tokens of a sum, or `None` when none of its calls told any: unknown is not zero (spec S4).
pub(crate) fn known_tokens(s: &store::Sum) -> Option<view::Tokens> {
    (s.unknown == 0 || s.calls > s.unknown).then(|| tokens(s.tokens))
}

/// What a sum cost; `None` when nothing of it has a price, which is not zero (spec M4).
pub(crate) fn cost(s: &store::Sum) -> Option<String> {
    s.usd().map(|usd| usd.to_string())
}

/// What a model is called in documents: the backend's name, else agy's own placeholder for its number.
pub(crate) fn model_name(m: &core::Model) -> String {
    let names = [m.id.clone(), m.placeholder(), m.label.clone()];
    names.into_iter().flatten().next().unwrap_or_else(|| "unknown".to_owned())
}

pub(crate) fn problem(p: &agy::Problem) -> view::Problem {
    view::Problem { file: p.file.clone(), code: p.code.name().to_owned(), message: p.message.clone() }
}

pub(crate) const fn entry_kind(k: agy::EntryKind) -> view::TimelineKind {
    match k {
        agy::EntryKind::Prompt => view::TimelineKind::Prompt,
        agy::EntryKind::Call => view::TimelineKind::Call,
        agy::EntryKind::Tool => view::TimelineKind::Tool,
        agy::EntryKind::Wait => view::TimelineKind::Wait,
        agy::EntryKind::Error => view::TimelineKind::Error,
        agy::EntryKind::Checkpoint => view::TimelineKind::Checkpoint,
        agy::EntryKind::Subagent => view::TimelineKind::Subagent,
    }
}

pub(crate) const fn entry_state(s: agy::EntryState) -> view::StepState {
    match s {
        agy::EntryState::Done => view::StepState::Done,
        agy::EntryState::Running => view::StepState::Running,
        agy::EntryState::Waiting => view::StepState::Waiting,
        agy::EntryState::Failed => view::StepState::Failed,
        agy::EntryState::Canceled => view::StepState::Canceled,
        agy::EntryState::Denied => view::StepState::Denied,
    }
}

/// A path as its owner knows it: `~` for the home folder.
pub(crate) fn for_people(path: &std::path::Path) -> String {
    match dirs::home_dir().and_then(|h| path.strip_prefix(h).ok().map(std::path::Path::to_owned)) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~{}{}", std::path::MAIN_SEPARATOR, rest.display()),
        None => path.display().to_string(),
    }
}
