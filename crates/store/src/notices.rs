//! Tables `announced` and `notice` in the person's own file: what was told, what was held back, and what need not be told
//! again. A rebuild of the store must not announce the past anew, and a host that shows notices may write how that went.

use agenthub_core::{Announced, Subject, Time};
use rusqlite::params;

use crate::{PersonStore, StoreError};

pub(crate) const CREATE: &str = "
CREATE TABLE IF NOT EXISTS announced (
    subject TEXT PRIMARY KEY,    -- a session, or a run
    ended   INTEGER,             -- microseconds: turns that began before are done with
    wait_at INTEGER,             -- the newest wait that is done with
    wait    INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notice (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    round   INTEGER NOT NULL,    -- counts how often something was added to it
    fate    INTEGER NOT NULL,    -- 0 to be shown, 1 shown, 2 held back, 3 refused by the system
    why     TEXT,
    content TEXT NOT NULL
);";

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeFate {
    /// Nobody has taken it up yet.
    Pending,
    Shown,
    Held,
    Refused,
}

impl NoticeFate {
    const fn number(self) -> i64 {
        match self {
            NoticeFate::Pending => 0,
            NoticeFate::Shown => 1,
            NoticeFate::Held => 2,
            NoticeFate::Refused => 3,
        }
    }

    const fn of(number: i64) -> NoticeFate {
        match number {
            0 => NoticeFate::Pending,
            1 => NoticeFate::Shown,
            2 => NoticeFate::Held,
            _ => NoticeFate::Refused,
        }
    }
}

/// A row of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    /// 0: it has none yet.
    pub id: i64,
    pub at: Time,
    pub round: i64,
    pub fate: NoticeFate,
    /// Why it was not shown.
    pub why: Option<String>,
    /// What it says, opaque here.
    pub content: String,
}

impl PersonStore {
    /// So many notices are kept (spec T5).
    pub const NOTICES: u32 = 200;

    /// What is done with, of sessions and runs.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn announced(&self) -> Result<Vec<(Subject, Announced)>, StoreError> {
        self.run(|c| {
            c.prepare("SELECT subject, ended, wait_at, wait FROM announced")?
                .query_map([], |r| {
                    let time = |n| r.get::<_, Option<i64>>(n).map(|t| t.map(Time::from_micros));
                    let wait = time(2)?.zip(r.get::<_, Option<i64>>(3)?);
                    Ok((Subject(r.get(0)?), Announced { end: time(1)?, wait }))
                })?
                .collect()
        })
    }

    /// Lets go of what was announced before `then`: what ended then is no news after any start.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn forget_announced_before(&self, then: Time) -> Result<(), StoreError> {
        self.run(|c| {
            c.execute(
                "DELETE FROM announced WHERE max(coalesce(ended, 0), coalesce(wait_at, 0)) < ?1",
                [then.micros()],
            )
        })?;
        Ok(())
    }

    /// Keeps notices, and with them what is done with, or nothing. A row with an id replaces the one that has it. Returns
    /// their ids.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn keep_notices(
        &mut self,
        rows: &[NoticeRow],
        announced: &[(Subject, Announced)],
    ) -> Result<Vec<i64>, StoreError> {
        self.write(|c| {
            for (id, a) in announced {
                c.execute(
                    "INSERT OR REPLACE INTO announced VALUES (?1, ?2, ?3, ?4)",
                    params![
                        id.0,
                        a.end.map(Time::micros),
                        a.wait.map(|w| w.0.micros()),
                        a.wait.map(|w| w.1)
                    ],
                )?;
            }
            let mut ids = Vec::new();
            for r in rows {
                let id = (r.id != 0).then_some(r.id);
                c.execute(
                    "INSERT OR REPLACE INTO notice (id, at, round, fate, why, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![id, r.at.micros(), r.round, r.fate.number(), r.why, r.content],
                )?;
                ids.push(c.last_insert_rowid());
            }
            c.execute(
                "DELETE FROM notice WHERE id <= (SELECT id FROM notice ORDER BY id DESC LIMIT 1 OFFSET ?1)",
                [PersonStore::NOTICES],
            )?;
            Ok(ids)
        })
    }

    /// The newest notices, newest first.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn notices(&self, at_most: u32) -> Result<Vec<NoticeRow>, StoreError> {
        self.run(|c| {
            c.prepare("SELECT id, at, round, fate, why, content FROM notice ORDER BY id DESC LIMIT ?1")?
                .query_map([at_most], |r| {
                    Ok(NoticeRow {
                        id: r.get(0)?,
                        at: Time::from_micros(r.get(1)?),
                        round: r.get(2)?,
                        fate: NoticeFate::of(r.get(3)?),
                        why: r.get(4)?,
                        content: r.get(5)?,
                    })
                })?
                .collect()
        })
    }

    /// Takes a notice up to show it: whether nobody else did.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn claim_notice(&self, id: i64, round: i64) -> Result<bool, StoreError> {
        let changed = self.run(|c| {
            c.execute("UPDATE notice SET fate = 1 WHERE id = ?1 AND round = ?2 AND fate = 0", [id, round])
        })?;
        Ok(changed == 1)
    }

    /// The system did not show a notice.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn refuse_notice(&self, id: i64, why: &str) -> Result<(), StoreError> {
        self.run(|c| c.execute("UPDATE notice SET fate = 3, why = ?2 WHERE id = ?1", params![id, why]))?;
        Ok(())
    }
}
