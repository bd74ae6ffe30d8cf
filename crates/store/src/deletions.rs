//! What the person deleted: hidden, with all sub-agents below, also those that come later (spec S9). Table `deletion` is
//! made in `sessions.rs`.

use agenthub_core::SessionId;

use crate::{Store, StoreError, writing::Writing};

impl Store {
    /// The sessions that the person deleted, as the store was told last.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn deleted(&self) -> Result<Vec<SessionId>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT id FROM deletion")?
                .query_map([], |r| r.get::<_, String>(0))?
                .filter_map(|r| r.map(|id| SessionId::parse(&id)).transpose())
                .collect()
        })
    }

    /// Hides exactly the given sessions and all sub-agents below them, also those that come later.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn set_deleted(&mut self, deleted: &[SessionId]) -> Result<(), StoreError> {
        self.write_sums(|w| {
            w.conn.execute("DELETE FROM deletion", [])?;
            for id in deleted {
                w.conn
                    .prepare_cached("INSERT OR IGNORE INTO deletion VALUES (?1)")?
                    .execute([id.as_str()])?;
            }
            hide_deleted(w)
        })
    }
}

/// Hides what the list of deletions reaches, and shows the rest.
fn hide_deleted(w: &mut Writing<'_>) -> rusqlite::Result<()> {
    // UNION, not UNION ALL: a circle of parents ends. `+` as in `kin`.
    const BELOW: &str = "WITH RECURSIVE below (id) AS (
             SELECT id FROM deletion
             UNION SELECT s.id FROM below JOIN session AS s ON s.parent = below.id AND +s.tool = 'antigravity')";
    let mut changing = w.conn.prepare_cached(&format!(
        "{BELOW} SELECT sid FROM session WHERE id IN (SELECT id FROM below) AND +hidden = 0 AND +tool = 'antigravity'
         UNION ALL
         SELECT sid FROM session WHERE hidden = 1 AND id NOT IN (SELECT id FROM below) AND +tool = 'antigravity'"
    ))?;
    let sids: Vec<i64> = changing.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
    w.moving(&sids)?;
    for sid in &sids {
        w.conn.prepare_cached("UPDATE session SET hidden = 1 - hidden WHERE sid = ?1")?.execute([sid])?;
    }
    w.moved(&sids)
}

/// Lets deletions reach sessions that are new, or below another parent, and what is below them.
pub(crate) fn hide_placed(w: &mut Writing<'_>, placed: &[i64]) -> rusqlite::Result<()> {
    let any: bool =
        w.conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM deletion)")?.query_row([], |r| r.get(0))?;
    for sid in placed.iter().filter(|_| any) {
        let mut reached = w.conn.prepare_cached(
            "WITH RECURSIVE below (sid, id, hidden) AS (
                 SELECT sid, id, hidden FROM session WHERE sid = ?1
                 UNION SELECT s.sid, s.id, s.hidden
                 FROM below JOIN session AS s ON s.parent = below.id AND +s.tool = 'antigravity')
             SELECT sid FROM below AS s WHERE hidden <> EXISTS (
                 WITH RECURSIVE above (id) AS (
                     SELECT s.id
                     UNION SELECT a.parent FROM above JOIN session AS a ON a.id = above.id AND +a.tool = 'antigravity'
                     WHERE a.parent IS NOT NULL)
                 SELECT 1 FROM above JOIN deletion USING (id))",
        )?;
        let sids: Vec<i64> = reached.query_map([sid], |r| r.get(0))?.collect::<Result<_, _>>()?;
        w.moving(&sids)?;
        for sid in &sids {
            w.conn.prepare_cached("UPDATE session SET hidden = 1 - hidden WHERE sid = ?1")?.execute([sid])?;
        }
        w.moved(&sids)?;
    }
    Ok(())
}
