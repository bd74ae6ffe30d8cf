//! What the lanes used. A sub-agent stands in the lane of what started it, whatever its own folder is.

use std::collections::BTreeMap;

use rusqlite::OptionalExtension;

use crate::{Store, StoreError, Sum, usage::SUMS};

/// So far up a chain of parents is looked: a hostile one may be a circle.
const MOST_PARENTS: usize = 16;

impl Store {
    /// What each lane used from slot `from` on, deleted sessions left out. `stands` names the lane in which the session of an
    /// id stands, where that is known. Any other stands where its parent does, and without one in the lane that is written
    /// down with it.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn lanes_since(
        &self,
        from: i64,
        stands: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, Sum>, StoreError> {
        let sql = format!(
            "SELECT s.id, s.lane, s.parent, {} FROM total AS t JOIN session AS s USING (sid)
             WHERE t.slot >= ?1 AND +s.hidden = 0 GROUP BY t.sid",
            SUMS.replace("sum(", "sum(t.")
        );
        self.read(|conn| {
            let mut above = conn.prepare_cached("SELECT lane, parent FROM session WHERE id = ?1")?;
            let mut lane_of =
                |mut id: String, mut lane: String, mut parent: Option<String>| -> rusqlite::Result<_> {
                    for _ in 0..MOST_PARENTS {
                        if let Some(known) = stands(&id) {
                            return Ok(known);
                        }
                        let Some(up) = parent else { break };
                        let found = above.query_row([&up], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
                        let Some(found) = found else { break };
                        (lane, parent) = found;
                        id = up;
                    }
                    Ok(lane)
                };
            let mut found = conn.prepare_cached(&sql)?;
            let mut rows = found.query([from])?;
            let mut lanes: BTreeMap<String, Sum> = BTreeMap::new();
            while let Some(r) = rows.next()? {
                let sum = lanes.entry(lane_of(r.get(0)?, r.get(1)?, r.get(2)?)?).or_default();
                *sum = sum.plus(Sum::from_columns(r, 3)?);
            }
            Ok(lanes)
        })
    }
}
