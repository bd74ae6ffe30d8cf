//! Sums over `total`: per slot (days are cut from them), model, project and session.

use agenthub_core::{
    Model, SessionId, Time, Tokens,
    price::{Band, Cost, Usd},
};
use rusqlite::{Row, params};

use crate::{Store, StoreError, calls, costs, models};

/// What a number of calls used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u32,
    /// Calls without usage: part of `calls`, and of no token number.
    pub unknown: u32,
    pub tokens: Tokens,
    /// Calls with usage whose model has a price: part of `calls`.
    pub priced: u32,
    pub cost: Cost,
}

/// The columns of a sum, added up.
const SUMS: &str =
    "sum(calls), sum(unknown), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(thinking),
    sum(priced), sum(unpriced), sum(usd_large), sum(usd_small)";

impl Sum {
    /// Columns `calls, unknown, input, output, cache_read, cache_write, thinking, priced, unpriced, usd_large, usd_small`
    /// from `first` on.
    pub(crate) fn from_columns(r: &Row<'_>, first: usize) -> rusqlite::Result<Sum> {
        Ok(Sum {
            calls: count(r.get(first)?),
            unknown: count(r.get(first + 1)?),
            tokens: calls::tokens_from(r, first + 2)?,
            priced: count(r.get(first + 7)?),
            cost: Cost {
                unpriced_tokens: u64::try_from(r.get::<_, i64>(first + 8)?).unwrap_or(0),
                usd: Usd::from_parts(r.get(first + 9)?, r.get(first + 10)?),
            },
        })
    }

    /// The cost of the priced parts; `None` when nothing of it has a price, which is not zero.
    pub fn usd(&self) -> Option<Usd> {
        self.cost.known(u64::from(self.priced), &self.tokens)
    }

    #[must_use]
    pub fn plus(self, o: Sum) -> Sum {
        Sum {
            calls: self.calls.saturating_add(o.calls),
            unknown: self.unknown.saturating_add(o.unknown),
            tokens: self.tokens.plus(o.tokens),
            priced: self.priced.saturating_add(o.priced),
            cost: Cost {
                usd: self.cost.usd.plus(o.cost.usd),
                unpriced_tokens: self.cost.unpriced_tokens.saturating_add(o.cost.unpriced_tokens),
            },
        }
    }
}

fn count(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(0)
}

/// A session's sum for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSum {
    pub model: Model,
    /// About when its newest call was, if that is known.
    pub newest: Option<Time>,
    pub sum: Sum,
}

/// What to sum by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Slot,
    SlotModel,
    Model,
    Project,
    Session,
}

/// One group of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSlot {
    pub slot: i64,
    pub model: Model,
    pub cwd: Option<String>,
    pub session: Option<(String, Option<String>)>,
    pub approximate_calls: u32,
    pub sum: Sum,
}

impl Store {
    /// What the calls of a session used and cost from one moment to another, both included.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn used_between(&self, id: &SessionId, from: Time, to: Time) -> Result<Sum, StoreError> {
        self.read(|c| {
            let mut calls = c.prepare_cached(
                "SELECT m.number, m.name, m.label, usage, at, input, output, cache_read, cache_write, thinking
                 FROM sighting JOIN model AS m USING (mid)
                 WHERE sid = (SELECT sid FROM session WHERE id = ?1) AND at BETWEEN ?2 AND ?3",
            )?;
            let mut rows = calls.query(params![id.as_str(), from.micros(), to.micros()])?;
            let mut sum = Sum::default();
            while let Some(r) = rows.next()? {
                let mut one = Sum { calls: 1, ..Sum::default() };
                if r.get::<_, bool>(3)? {
                    let tokens = calls::tokens_from(r, 5)?;
                    let found = self.book.find(&models::from_columns(r, 0)?);
                    let prices = found.map(|f| f.prices).unwrap_or_default();
                    let slot = Time::from_micros(r.get(4)?).slot();
                    let worth = costs::worth(prices, slot, Band::of(&tokens), 1, &tokens);
                    one.tokens = tokens;
                    one.priced = count(worth.priced);
                    let unpriced_tokens = u64::try_from(worth.unpriced).unwrap_or(0);
                    one.cost = Cost { usd: worth.usd, unpriced_tokens };
                } else {
                    one.unknown = 1;
                }
                sum = sum.plus(one);
            }
            Ok(sum)
        })
    }

    /// The sums of a session per combination of model names.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn model_sums(&self, id: &SessionId) -> Result<Vec<ModelSum>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "SELECT m.number, m.name, m.label, max(slot), {SUMS}
                 FROM total JOIN model AS m USING (mid) WHERE sid = (SELECT sid FROM session WHERE id = ?1)
                 GROUP BY mid ORDER BY max(slot) DESC, m.number, m.name, m.label"
            ))?
            .query_map([id.as_str()], |r| {
                let slot: i64 = r.get(3)?;
                Ok(ModelSum {
                    model: models::from_columns(r, 0)?,
                    newest: (slot != 0).then(|| Time::of_slot(slot)),
                    sum: Sum::from_columns(r, 4)?,
                })
            })?
            .collect()
        })
    }

    /// Sums of all calls of sessions that are not deleted, in slots `from..until`, grouped. Only the fields that `by`
    /// groups by are filled in.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn usage(&self, by: By, from: i64, until: i64) -> Result<Vec<UsageSlot>, StoreError> {
        let group = match by {
            By::Slot => "t.slot",
            By::SlotModel => "t.slot, t.mid",
            By::Model => "t.mid",
            By::Project => "s.cwd",
            By::Session => "t.sid",
        };
        let sql = format!(
            "SELECT min(t.slot), m.number, m.name, m.label, s.cwd, s.id, s.name,
                 sum(CASE WHEN t.approximate THEN t.calls ELSE 0 END), {}
             FROM total AS t JOIN session AS s USING (sid) JOIN model AS m USING (mid)
             WHERE s.hidden = 0 AND t.slot >= ?1 AND t.slot < ?2 GROUP BY {group} ORDER BY {group}",
            SUMS.replace("sum(", "sum(t.")
        );
        self.read(|conn| {
            conn.prepare_cached(&sql)?
                .query_map(params![from, until], |r| {
                    Ok(UsageSlot {
                        slot: if matches!(by, By::Slot | By::SlotModel) { r.get(0)? } else { 0 },
                        model: if matches!(by, By::Model | By::SlotModel) {
                            models::from_columns(r, 1)?
                        } else {
                            Model::default()
                        },
                        cwd: if by == By::Project { r.get(4)? } else { None },
                        session: if by == By::Session { Some((r.get(5)?, r.get(6)?)) } else { None },
                        approximate_calls: count(r.get(7)?),
                        sum: Sum::from_columns(r, 8)?,
                    })
                })?
                .collect()
        })
    }

    /// The sessions that have calls in slots `from..until`, deleted ones left out.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn sessions_with_calls(&self, from: i64, until: i64) -> Result<u32, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT count(DISTINCT sid) FROM total JOIN session AS s USING (sid)
                 WHERE s.hidden = 0 AND slot >= ?1 AND slot < ?2",
            )?
            .query_row(params![from, until], |r| Ok(count(r.get(0)?)))
        })
    }

    /// What each lane used from slot `from` on, deleted sessions left out.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn lanes_since(&self, from: i64) -> Result<Vec<(String, Sum)>, StoreError> {
        let sql = format!(
            "SELECT s.lane, {} FROM total AS t JOIN session AS s USING (sid)
             WHERE t.slot >= ?1 AND +s.hidden = 0 GROUP BY s.lane ORDER BY s.lane",
            SUMS.replace("sum(", "sum(t.")
        );
        self.read(|conn| {
            conn.prepare_cached(&sql)?
                .query_map([from], |r| Ok((r.get(0)?, Sum::from_columns(r, 1)?)))?
                .collect()
        })
    }
}
