//! The SQL that reads agy's tables, and the decoding of single rows. It knows nothing of cursors.

use agenthub_core::{CallKind, SessionId, Time};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};

use crate::{
    calls::{Calls, Planner, key_by_id, key_by_step},
    cursor::Maxima,
    lenient::Undecodable,
    tally::Step,
    wire::{self, PayloadMeta, StepDetail, StepMeta, Trajectory, status, step_type},
};

/// What the small tables tell of the whole conversation, and the ends of the large ones.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) trajectory: Option<String>,
    /// `trajectory_meta.source`: who began the conversation.
    pub(crate) source: i64,
    pub(crate) max: Maxima,
    /// The blob about the conversation itself; `Err` when it does not decode.
    pub(crate) about: Option<Result<Trajectory, Undecodable>>,
}

/// Looks at the small tables, and at the end of each large table's tree. In three short statements: a first scan opens
/// thousands of files, and preparing one statement that joins them all takes twice as long.
///
/// # Errors
/// "No such table" when it is not agy's. A view in the place of a table is none: it may compute for ever.
pub(crate) fn head(db: &Connection) -> rusqlite::Result<Head> {
    for name in ["steps", "gen_metadata"] {
        if !db.table_exists(None::<&str>, name)? {
            return Err(missing(name));
        }
    }
    // Tables that a version of agy may lack.
    let exists = |name: &str| db.table_exists(None::<&str>, name);
    let max = |name: &str| match exists(name)? {
        true => Ok::<_, rusqlite::Error>(format!("(SELECT max(idx) FROM {name})")),
        false => Ok("NULL".to_owned()),
    };
    let sql = format!(
        "SELECT (SELECT max(idx) FROM steps), (SELECT max(idx) FROM gen_metadata), {}, {}",
        max("executor_metadata")?,
        max("parent_references")?
    );
    let max = db.query_row(&sql, [], |r| {
        let max = |i| match r.get_ref(i)? {
            ValueRef::Integer(n) => Ok::<_, rusqlite::Error>(Some(n)),
            _ => Ok(None),
        };
        Ok(Maxima { step: max(0)?, generation: max(1)?, execution: max(2)?, reference: max(3)? })
    })?;
    let mut head = Head { max, ..Head::default() };
    if exists("trajectory_meta")? {
        let row = db.query_row("SELECT trajectory_id, source FROM trajectory_meta LIMIT 1", [], |r| {
            let trajectory = match r.get_ref(0)? {
                ValueRef::Text(t) => wire::text(t),
                _ => None,
            };
            Ok((trajectory, integer(r, 1)?))
        });
        (head.trajectory, head.source) = row.optional()?.unwrap_or_default();
    }
    if exists("trajectory_metadata_blob")? {
        let about = db.query_row("SELECT data FROM trajectory_metadata_blob WHERE id = 'main'", [], |r| {
            Ok(blob(r, 0)?.map(wire::decode::<Trajectory>))
        });
        head.about = about.optional()?.flatten();
    }
    Ok(head)
}

fn missing(name: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
        Some(format!("no such table: {name}")),
    )
}

/// Columns of a step as [`read_step`] wants them. The payload is touched only where the metadata is missing.
pub(crate) const STEP_COLUMNS: &str =
    "idx, step_type, status, metadata, CASE WHEN metadata IS NULL THEN step_payload END";

/// A whole number, or 0 for anything else.
pub(crate) fn integer(r: &Row<'_>, i: usize) -> rusqlite::Result<i64> {
    Ok(match r.get_ref(i)? {
        ValueRef::Integer(n) => n,
        _ => 0,
    })
}

/// A blob, also when it was stored as text; `None` for NULL and numbers.
pub(crate) fn blob<'a>(r: &'a Row<'_>, i: usize) -> rusqlite::Result<Option<&'a [u8]>> {
    Ok(match r.get_ref(i)? {
        ValueRef::Blob(b) | ValueRef::Text(b) => Some(b),
        _ => None,
    })
}

/// What one row of `steps` gives: itself, and what its planner says to generator rows.
pub(crate) struct ReadStep {
    pub(crate) step: Step,
    pub(crate) planner: Option<Planner>,
}

/// Decodes one row of [`STEP_COLUMNS`]; its calls go to `calls`. A row that does not decode still has its columns.
pub(crate) fn read_step(
    r: &Row<'_>,
    conversation: &SessionId,
    calls: &mut Calls,
) -> rusqlite::Result<ReadStep> {
    let (idx, step_type, status) = (integer(r, 0)?, integer(r, 1)?, integer(r, 2)?);
    let wrapped = match blob(r, 3)? {
        Some(_) => None,
        // 1.0.x and odd rows keep the metadata in the payload only.
        None => blob(r, 4)?.map(wire::decode::<PayloadMeta>),
    };
    let raw: Option<&[u8]> = match &wrapped {
        None => blob(r, 3)?,
        Some(Ok(p)) => Some(&p.metadata),
        Some(Err(_)) => None,
    };
    let decoded = raw.map(wire::decode::<StepMeta>);
    let mut is_bad = matches!(wrapped, Some(Err(_))) || matches!(decoded, Some(Err(_)));
    let meta = decoded.and_then(Result::ok).unwrap_or_default();
    let raw = raw.filter(|_| !is_bad).unwrap_or_default();

    let created = wire::time(meta.created_at);
    let execution = if meta.execution_id.is_empty() { 0 } else { wire::hash(&meta.execution_id) };
    let key = || step_key(raw, conversation, idx, created);
    let kind = if step_type == step_type::CHECKPOINT { CallKind::Background } else { kind_of(step_type) };
    let odd = match calls.step(idx, kind, created, (&meta.usage, &meta.attempts), &key) {
        Ok(odd) => odd,
        Err(_) => {
            is_bad = true;
            Vec::new()
        }
    };
    let planner = (step_type == step_type::PLANNER && !is_bad).then(|| Planner {
        idx,
        created,
        metadata_index: meta.origin.as_ref().map_or(0, |o| o.metadata_index),
        execution,
        is_open: status::is_open(status),
        has_usage: meta.usage.is_some(),
        key: meta.usage.as_ref().is_none_or(|u| key_by_id(u).is_none()).then(key),
    });
    let (starts_turn, turn_at) = match step_type {
        step_type::USER_INPUT => turn_start(raw, status, created),
        _ => (false, None),
    };
    let step = Step {
        idx,
        step_type,
        status,
        created,
        completed: wire::time(meta.completed_at),
        execution,
        starts_turn,
        turn_at,
        is_tool: step_type::is_tool(step_type)
            || (meta.tool_call.is_some() && !matches!(step_type, step_type::USER_INPUT | step_type::PLANNER)),
        is_bad,
        odd,
    };
    Ok(ReadStep { step, planner })
}

/// A step's call without a generator row answered a turn only if the planner made it.
fn kind_of(step_type: i64) -> CallKind {
    if step_type == step_type::PLANNER { CallKind::Turn } else { CallKind::Background }
}

fn step_key(raw: &[u8], conversation: &SessionId, idx: i64, created: Option<Time>) -> String {
    let origin = wire::decode::<StepDetail>(raw).ok().and_then(|d| d.origin).unwrap_or_default();
    match wire::text(&origin.trajectory_id) {
        Some(trajectory) => key_by_step(&trajectory, i64::from(origin.step_index), created),
        None => key_by_step(conversation.as_str(), idx, created),
    }
}

/// Whether a user's step has started a turn, and when: a queued message does when agy takes it up (spec §1), one that
/// was withdrawn never does.
fn turn_start(raw: &[u8], status: i64, created: Option<Time>) -> (bool, Option<Time>) {
    if matches!(status, status::QUEUED | status::CLEARED | status::INVALID) {
        return (false, None);
    }
    let course = wire::decode::<StepDetail>(raw).ok().and_then(|d| d.course).unwrap_or_default();
    let mut after_queue = course
        .transitions
        .iter()
        .skip_while(|t| i64::from(t.status) != status::QUEUED)
        .filter(|t| i64::from(t.status) != status::QUEUED)
        .peekable();
    match after_queue.peek() {
        None => (true, created),
        Some(t) if matches!(i64::from(t.status), status::CANCELED | status::CLEARED) => (false, None),
        Some(t) => (true, wire::time(t.at).or(created)),
    }
}

/// One step by its number, for look-ups outside what is read anyway.
pub(crate) fn step_by_idx(
    db: &Connection,
    idx: i64,
    conversation: &SessionId,
) -> rusqlite::Result<Option<ReadStep>> {
    let sql = format!("SELECT {STEP_COLUMNS} FROM steps WHERE idx = ?1");
    // Its calls were counted when it was read; they are not wanted again.
    db.query_row(&sql, [idx], |r| read_step(r, conversation, &mut Calls::default())).optional()
}

/// The bytes of one step's metadata and payload.
pub(crate) fn step_bytes(db: &Connection, idx: i64) -> rusqlite::Result<Option<(Vec<u8>, Vec<u8>)>> {
    db.query_row("SELECT metadata, step_payload FROM steps WHERE idx = ?1", [idx], |r| {
        let payload = blob(r, 1)?.unwrap_or_default().to_vec();
        let meta = match blob(r, 0)? {
            Some(m) => m.to_vec(),
            None => wire::decode::<PayloadMeta>(payload.as_slice())
                .map(|p| p.metadata.to_vec())
                .unwrap_or_default(),
        };
        Ok((meta, payload))
    })
    .optional()
}
