//! Recordings into databases: a whole one at once, or only the rows that changed.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};

use crate::recording::{Dirty, Recording};
use crate::schema;

const META: &str =
    "INSERT INTO trajectory_meta (trajectory_id, cascade_id, trajectory_type, source) VALUES (?1, ?2, 4, ?3)";
const BLOB: &str = "INSERT OR REPLACE INTO trajectory_metadata_blob (id, data) VALUES ('main', ?1)";
const STEP: &str = "INSERT OR REPLACE INTO steps (idx, step_type, status, has_subtrajectory, metadata, error_details, step_payload, step_format) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, 0)";
const GEN: &str = "INSERT OR REPLACE INTO gen_metadata (idx, data, size) VALUES (?1, ?2, ?3)";
const EXECUTION: &str = "INSERT OR REPLACE INTO executor_metadata (idx, data) VALUES (?1, ?2)";
const REFERENCE: &str = "INSERT OR REPLACE INTO parent_references (idx, data) VALUES (?1, ?2)";

/// Writes the whole recording into a new file and closes it cleanly.
pub(crate) fn write_closed(path: &Path, recording: &Recording) -> Result<()> {
    let conn = schema::create_closed(path)?;
    write_rows(&conn, recording, &everything(recording))?;
    schema::finish_closed(conn)
}

pub(crate) fn everything(recording: &Recording) -> Dirty {
    Dirty {
        steps: (0..recording.steps.len() as u32).collect(),
        gens: (0..recording.gens.len() as u32).collect(),
        executions_from: Some(0),
        references_from: Some(0),
        whole: true,
    }
}

/// Writes what changed since the last flush, in one transaction.
pub(crate) fn flush(conn: &Connection, recording: &mut Recording) -> Result<()> {
    let dirty = std::mem::take(&mut recording.dirty);
    conn.execute_batch("BEGIN IMMEDIATE")?;
    match write_rows(conn, recording, &dirty) {
        Ok(()) => conn.execute_batch("COMMIT")?,
        Err(error) => {
            conn.execute_batch("ROLLBACK")?;
            return Err(error);
        }
    }
    Ok(())
}

fn write_rows(conn: &Connection, recording: &Recording, dirty: &Dirty) -> Result<()> {
    if dirty.whole {
        conn.execute("DELETE FROM trajectory_meta", [])?;
        conn.execute(META, params![recording.trajectory_id, recording.id, recording.source])?;
        conn.execute(BLOB, [recording.blob.encode()])?;
        for (table, len) in [
            ("steps", recording.steps.len()),
            ("gen_metadata", recording.gens.len()),
            ("executor_metadata", recording.executions.len()),
        ] {
            conn.execute(&format!("DELETE FROM {table} WHERE idx >= ?1"), [len as i64])?;
        }
    }
    let mut insert = conn.prepare_cached(STEP)?;
    for idx in &dirty.steps {
        let Some(step) = recording.steps.get(*idx as usize) else { continue };
        let row = step.encode();
        insert.execute(params![idx, step.kind, step.status, row.metadata, row.error_details, row.payload])?;
    }
    let mut insert = conn.prepare_cached(GEN)?;
    for idx in &dirty.gens {
        let Some(row) = recording.gens.get(*idx as usize) else { continue };
        let data = row.encode(*idx as usize + 1 == recording.gens.len());
        insert.execute(params![idx, data, data.len() as i64])?;
    }
    let mut insert = conn.prepare_cached(EXECUTION)?;
    let from = dirty.executions_from.unwrap_or(usize::MAX);
    for (idx, row) in recording.executions.iter().enumerate().skip(from) {
        insert.execute(params![idx as i64, row.encode()])?;
    }
    let mut insert = conn.prepare_cached(REFERENCE)?;
    let from = dirty.references_from.unwrap_or(usize::MAX);
    for (idx, row) in recording.references.iter().enumerate().skip(from) {
        insert.execute(params![idx as i64, row.encode()])?;
    }
    Ok(())
}
