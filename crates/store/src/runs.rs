//! Tables `session_run` and `run_lane`: which run a session belongs to, after its process is gone too (spec L8), and what
//! the lanes of runs are called.

use std::collections::HashMap;

use agenthub_core::{RunId, SessionId, Time};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{Store, StoreError};

pub(crate) const CREATE: &str = "
CREATE TABLE session_run (
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,   -- microseconds: when its process was looked at
    run     TEXT                -- NULL: it was a run's, and another process has taken it up since
) WITHOUT ROWID;
CREATE INDEX session_run_run ON session_run (run) WHERE run IS NOT NULL;
CREATE TABLE run_lane (
    run  TEXT PRIMARY KEY,
    lane TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
) WITHOUT ROWID;";

/// Whose process had a session when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRun {
    pub session: SessionId,
    pub at: Time,
    pub run: Option<RunId>,
    /// The lane that it stands in therefore.
    pub lane: String,
}

impl Store {
    /// All sessions that a run has or had.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn session_runs(&self) -> Result<Vec<(SessionId, Time, Option<RunId>)>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT session, at, run FROM session_run")?
                .query_map([], |r| Ok((r.get::<_, String>(0)?, r.get(1)?, r.get::<_, Option<String>>(2)?)))?
                .filter_map(|row| {
                    let (session, at, run) = match row {
                        Ok(row) => row,
                        Err(e) => return Some(Err(e)),
                    };
                    let run = run.as_deref().and_then(RunId::parse);
                    Some(Ok((SessionId::parse(&session)?, Time::from_micros(at), run)))
                })
                .collect()
        })
    }

    /// Writes down whose session this is, unless a later look is there already, and moves it to its lane.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_session_run(&mut self, s: &SessionRun) -> Result<(), StoreError> {
        self.write(|tx| {
            let new = tx
                .prepare_cached(
                    "INSERT INTO session_run (session, at, run) VALUES (?1, ?2, ?3)
                     ON CONFLICT (session) DO UPDATE SET at = excluded.at, run = excluded.run WHERE excluded.at >= at",
                )?
                .execute(params![s.session.as_str(), s.at.micros(), s.run.as_ref().map(RunId::as_str)])?;
            if new > 0 {
                tx.prepare_cached("UPDATE session SET lane = ?2 WHERE id = ?1")?
                    .execute([s.session.as_str(), &s.lane])?;
            }
            Ok(())
        })
    }

    /// Remembers what a run's lane is called.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_run_lane(&mut self, run: &RunId, lane: &str, name: &str) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.prepare_cached("INSERT OR REPLACE INTO run_lane (run, lane, name) VALUES (?1, ?2, ?3)")?
                .execute([run.as_str(), lane, name])
                .map(|_| ())
        })
    }

    /// What a run's lane is called; `None` for the lane of a folder or a session.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn run_lane_name(&self, lane: &str) -> Result<Option<String>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT name FROM run_lane WHERE lane = ?1")?
                .query_row([lane], |r| r.get(0))
                .optional()
        })
    }

    /// Forgets all runs but these. Their sessions go to the lanes that `lane_of` names, from tool, folder and id.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn keep_runs(
        &mut self,
        kept: &[RunId],
        lane_of: impl Fn(&str, Option<&str>, &str) -> String,
    ) -> Result<(), StoreError> {
        self.write(|tx| {
            let known: HashMap<String, String> = tx
                .prepare_cached("SELECT run, lane FROM run_lane")?
                .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?
                .collect::<Result<_, _>>()?;
            for (run, lane) in known.iter().filter(|(run, _)| !kept.iter().any(|k| k.as_str() == *run)) {
                move_out(tx, lane, &lane_of)?;
                tx.prepare_cached("DELETE FROM session_run WHERE run = ?1")?.execute([run])?;
                tx.prepare_cached("DELETE FROM run_lane WHERE run = ?1")?.execute([run])?;
            }
            Ok(())
        })
    }
}

fn move_out(
    tx: &Connection,
    lane: &str,
    lane_of: &impl Fn(&str, Option<&str>, &str) -> String,
) -> rusqlite::Result<()> {
    let rows: Vec<(i64, String, Option<String>, String)> = tx
        .prepare_cached("SELECT sid, tool, cwd, id FROM session WHERE lane = ?1")?
        .query_map([lane], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?
        .collect::<Result<_, _>>()?;
    for (sid, tool, cwd, id) in rows {
        tx.prepare_cached("UPDATE session SET lane = ?2 WHERE sid = ?1")?
            .execute(params![sid, lane_of(&tool, cwd.as_deref(), &id)])?;
    }
    Ok(())
}
