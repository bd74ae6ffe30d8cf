//! One conversation of agy's, from its file to what the store keeps and what the board knows.

use agenthub_agy as agy;
use agenthub_core::{
    DbView, Facts, LaneId, LockReading, Outcome, Session, SessionId, Time, Tool, Verdict, Windows, derive,
    fact::NewestStep,
};
use agenthub_store as store;
use serde::{Deserialize, Serialize};

use crate::{convert, view};

/// What the store keeps of a session beside its columns. Opaque to it; unknown fields are dropped at the next read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    pub(crate) warnings: Vec<view::Warning>,
    pub(crate) context: Option<view::Context>,
    /// How the newest turn stood at the last read, as if agy had gone then.
    pub(crate) outcome: Option<view::Outcome>,
    /// agy's name for people of the session's model.
    pub(crate) model_label: Option<String>,
}

impl Details {
    pub(crate) fn parse(text: &str) -> Details {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// What one read found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) change: store::Change,
    /// `None` when the file could not be read, or when agy has written nothing into it yet.
    pub(crate) session: Option<Session>,
    pub(crate) cursor: Option<agy::Cursor>,
    pub(crate) fingerprint: agy::Fingerprint,
    /// Rows looked at and rows that did not decode, of a read of the whole file.
    pub(crate) decoded: Option<(u64, u64)>,
    /// Try again soon: the file was busy.
    pub(crate) again: bool,
}

/// Reads one conversation. Never fails: what is wrong with the file becomes its problem, and nobody else's.
pub(crate) fn read(
    home: &agy::Home,
    index: &agy::Index,
    entry: &agy::Entry,
    cursor: Option<&agy::Cursor>,
    ever_held: bool,
    now: Time,
) -> Found {
    // A panic in a decoder would be our bug; it degrades this one conversation and not the app.
    let attempt =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| agy::read(home, entry, cursor, now, index)));
    let result = attempt.unwrap_or_else(|_| Err(agy::ReadError::Busy("the reader failed on it".to_owned())));
    match result {
        Ok(read) => found(home, entry, read, ever_held, now),
        Err(e) => {
            let verdict = e.is_verdict();
            tracing::debug!(session = %entry.id, code = e.code().name(), "could not be read");
            Found {
                change: store::Change {
                    conversation: store::Conversation {
                        id: entry.id.clone(),
                        // No fingerprint: what is no verdict is tried again at the next pass.
                        fingerprint: if verdict { entry.fingerprint.to_string() } else { String::new() },
                        cursor: cursor.map(agy::Cursor::to_json).unwrap_or_default(),
                        read_at: now,
                        problem: Some(store::Verdict {
                            code: e.code().name().to_owned(),
                            message: e.to_string(),
                        }),
                        ever_held,
                    },
                    session: None,
                    sightings: Vec::new(),
                },
                session: None,
                cursor: cursor.cloned(),
                fingerprint: entry.fingerprint,
                decoded: None,
                again: !verdict,
            }
        }
    }
}

fn found(home: &agy::Home, entry: &agy::Entry, read: agy::Read, ever_held: bool, now: Time) -> Found {
    // agy makes the tables, and says a moment later whose they are: until then nobody can tell the lane.
    let is_begun = read.rows > 0 || read.meta != agy::Meta::default();
    let transcript = agy::transcript::transcript_mtime(home, &entry.id);
    let wrote = wrote(&read, transcript);
    let undecodable = read.warnings.get(&agy::WarningCode::UndecodableRow).copied().unwrap_or(0);
    let facts =
        Facts::from_db(read.as_of, read.view.clone()).joined(Facts { wrote, ever_held, ..Facts::default() });
    let session = Session {
        id: entry.id.clone(),
        tool: Tool::Antigravity,
        name: read.meta.name.clone(),
        cwd: read.meta.cwd.clone(),
        parent: read.meta.parent.clone(),
        started_at: read.meta.started_at,
        facts,
    };
    let details = Details {
        warnings: read
            .warnings
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(code, n)| view::Warning {
                code: code.name().to_owned(),
                count: u32::try_from(*n).unwrap_or(u32::MAX),
            })
            .collect(),
        context: read.context.as_ref().map(|c| view::Context {
            used: c.used,
            max: c.max,
            parts: c
                .parts
                .iter()
                .map(|(name, tokens)| view::ContextPart { name: name.clone(), tokens: *tokens })
                .collect(),
        }),
        outcome: Some(convert::outcome(outcome_if_over(&session.facts, now))),
        model_label: read.meta.model.as_ref().and_then(|m| m.label.clone()),
    };
    let record = store::SessionRecord {
        id: entry.id.clone(),
        tool: Tool::Antigravity,
        lane: LaneId::of(&session).0,
        name: read.meta.name,
        cwd: read.meta.cwd,
        parent: read.meta.parent,
        fork: read
            .meta
            .forked_from
            .map(|f| store::Lineage { conversation: f.conversation, trajectory: f.trajectory }),
        trajectory: read.meta.trajectory_id,
        model: read.meta.model.as_ref().map(convert::model_name),
        started_at: read.meta.started_at,
        created_at: read.meta.created_at,
        birth_at: read.birth,
        last_activity: wrote,
        error_at: failed_at(&read.view, wrote),
        turns: u32::try_from(read.turns).unwrap_or(u32::MAX),
        tool_calls: u32::try_from(read.tool_calls).unwrap_or(u32::MAX),
        details: serde_json::to_string(&details).unwrap_or_default(),
    };
    Found {
        change: store::Change {
            conversation: store::Conversation {
                id: entry.id.clone(),
                fingerprint: read.fingerprint.to_string(),
                cursor: read.cursor.to_json(),
                read_at: now,
                problem: None,
                ever_held,
            },
            session: Some(record),
            sightings: read.sightings,
        },
        session: is_begun.then_some(session),
        fingerprint: read.fingerprint,
        decoded: read.complete.then_some((read.rows, undecodable)),
        cursor: Some(read.cursor),
        again: false,
    }
}

/// A copy of a file is written within this long of its birth.
const COPIED_MS: i64 = 10_000;
/// agy's last word is not older than its file by more than this, unless the file is a copy.
const OLDER_MS: i64 = 60_000;

/// When the session was last written (L4). A file that was copied without its times (a restored backup, a home on a new
/// machine) has those of the copy, which nobody worked at: then agy's own times say it.
fn wrote(read: &agy::Read, transcript: Option<Time>) -> Option<Time> {
    let file = read.fingerprint.wrote();
    let is_copy = |born: Time, told: Time| {
        told.plus_ms(OLDER_MS) < born && (0..=COPIED_MS).contains(&file.ms_since(born).abs())
    };
    match (read.birth, told(read)) {
        (Some(born), Some(told)) if is_copy(born, told) => Some(told),
        _ => Some(file).max(transcript),
    }
}

/// The newest time that the rows tell. A fork's own time is that of its making, whatever rows it copied.
fn told(read: &agy::Read) -> Option<Time> {
    let v = &read.view;
    let newest = match &v.newest {
        Some(NewestStep::Error { step, .. } | NewestStep::Canceled { step } | NewestStep::Other { step }) => {
            step.at
        }
        None => None,
    };
    [
        v.turn.as_ref().and_then(|s| s.at),
        v.end.as_ref().and_then(|e| e.at),
        v.live.as_ref().and_then(|l| l.step.at),
        v.waiting.as_ref().and_then(|w| w.step.at),
        newest,
        read.meta.created_at,
        read.meta.started_at,
    ]
    .into_iter()
    .max()
    .flatten()
}

/// What would be said of the turn if agy were gone: cold sessions show this.
fn outcome_if_over(facts: &Facts, now: Time) -> Outcome {
    verdict_if_over(facts, now).outcome
}

fn verdict_if_over(facts: &Facts, now: Time) -> Verdict {
    // A turn that is at work right now is not over; the board says so, and this is overwritten by the next read.
    let then = now.plus_ms(60_000);
    let gone = facts
        .clone()
        .joined(Facts::from_lock(then, LockReading::NotListed))
        .joined(Facts { ever_held: true, ..Facts::default() });
    derive(&gone, None, then, &Windows::default())
}

/// Judges a session anew whose hooks say more than its file.
pub(crate) fn judge_with_hooks(record: &mut store::SessionRecord, session: &Session, now: Time) {
    let Some(newest) = session.facts.hooks.newest() else { return };
    record.last_activity = record.last_activity.max(Some(newest.at));
    let verdict = verdict_if_over(&session.facts, now);
    record.error_at = verdict.error.and_then(|(at, _)| at);
    let mut details = Details::parse(&record.details);
    details.outcome = Some(convert::outcome(verdict.outcome));
    record.details = serde_json::to_string(&details).unwrap_or_default();
}

/// When the newest turn failed, if it did.
fn failed_at(view: &DbView, wrote: Option<Time>) -> Option<Time> {
    match (&view.end, &view.newest) {
        (Some(end), _) if end.reason == 1 => end.at.or(wrote),
        (None, Some(NewestStep::Error { step, .. })) => step.at.or(wrote),
        _ => None,
    }
}

/// The same session with what is known of its lock.
pub(crate) fn with_lock(mut session: Session, held: Option<bool>, at: Time) -> Session {
    if let Some(held) = held {
        let reading = if held { LockReading::Held } else { LockReading::NotListed };
        session.facts = session.facts.joined(Facts::from_lock(at, reading));
    }
    session
}

/// A file that is listed as what it is, and no conversation to read.
pub(crate) fn problem_of(id: &SessionId, v: &store::Verdict) -> view::Problem {
    view::Problem { file: format!("{id}.db"), code: v.code.clone(), message: v.message.clone() }
}
