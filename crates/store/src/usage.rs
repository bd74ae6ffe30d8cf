//! Sums of usage: by days, model, project and session. From what is rolled up (`rollup.rs`), and where that is not there,
//! or ends within a block, from `total`.

use std::collections::{BTreeMap, HashMap};

use agenthub_core::{
    Model, SessionId, Time, Tokens,
    price::{Band, Cost, Usd},
};
use rusqlite::{Connection, Row, params};

use crate::{
    Store, StoreError, calls, costs, models,
    rollup::{self, Cut, FOLDER_FLOOR, Run},
};

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
pub(crate) const SUMS: &str =
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

    /// Sums of such columns.
    pub(crate) fn of(columns: [i64; Sum::COLUMNS]) -> Sum {
        let [
            calls,
            unknown,
            input,
            output,
            cache_read,
            cache_write,
            thinking,
            priced,
            unpriced,
            large,
            small,
        ] = columns;
        let n = |v: i64| u64::try_from(v).unwrap_or(0);
        Sum {
            calls: count(calls),
            unknown: count(unknown),
            tokens: Tokens {
                input: n(input),
                output: n(output),
                cache_read: n(cache_read),
                cache_write: n(cache_write),
                thinking: n(thinking),
            },
            priced: count(priced),
            cost: Cost { unpriced_tokens: n(unpriced), usd: Usd::from_parts(large, small) },
        }
    }

    pub(crate) const COLUMNS: usize = 11;
    /// Those columns, by their names.
    pub(crate) const NAMES: &str = "calls, unknown, input, output, cache_read, cache_write, thinking, priced, unpriced, usd_large, usd_small";

    /// Without `o`, which is a part of it.
    #[must_use]
    pub(crate) fn minus(self, o: Sum) -> Sum {
        let t = (self.tokens, o.tokens);
        Sum {
            calls: self.calls.saturating_sub(o.calls),
            unknown: self.unknown.saturating_sub(o.unknown),
            tokens: Tokens {
                input: t.0.input.saturating_sub(t.1.input),
                output: t.0.output.saturating_sub(t.1.output),
                cache_read: t.0.cache_read.saturating_sub(t.1.cache_read),
                cache_write: t.0.cache_write.saturating_sub(t.1.cache_write),
                thinking: t.0.thinking.saturating_sub(t.1.thinking),
            },
            priced: self.priced.saturating_sub(o.priced),
            cost: Cost {
                usd: self.cost.usd.plus(o.cost.usd.negated()),
                unpriced_tokens: self.cost.unpriced_tokens.saturating_sub(o.cost.unpriced_tokens),
            },
        }
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
    Model,
    Project,
    Session,
}

/// One group of calls. Only what they are grouped by is filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub model: Model,
    pub cwd: Option<String>,
    pub session: Option<(String, Option<String>)>,
    pub approximate_calls: u32,
    pub sum: Sum,
}

/// A sum with its calls whose time is about known.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    approximate: u32,
    sum: Sum,
}

impl Part {
    /// Columns `approximate, calls, …` from `first` on.
    fn from_columns(r: &Row<'_>, first: usize) -> rusqlite::Result<Part> {
        Ok(Part { approximate: count(r.get(first)?), sum: Sum::from_columns(r, first + 1)? })
    }

    fn add(&mut self, o: Part) {
        self.approximate = self.approximate.saturating_add(o.approximate);
        self.sum = self.sum.plus(o.sum);
    }

    fn named(self, used: Used) -> Used {
        Used { approximate_calls: self.approximate, sum: self.sum, ..used }
    }
}

/// Sums of `used`, of the blocks of a run, each with its block and what it is of.
fn blocks(
    conn: &Connection,
    cut: Cut,
    run: Run,
    mut with: impl FnMut(i64, i64, Part) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut found = conn.prepare_cached(
        "SELECT bucket, which, approximate, calls, unknown, input, output, cache_read, cache_write, thinking, priced,
             unpriced, usd_large, usd_small FROM used
         WHERE cut = ?1 AND grain = ?2 AND bucket >= ?3 AND bucket < ?4",
    )?;
    let mut rows = found.query(params![cut as i64, run.grain, run.first, run.end])?;
    while let Some(r) = rows.next()? {
        with(r.get(0)?, r.get(1)?, Part::from_columns(r, 2)?)?;
    }
    Ok(())
}

/// Sums of `total`, of sessions that are not deleted, in slots `from..until`.
fn from_total<K>(
    conn: &Connection,
    group: &str,
    (from, until): (i64, i64),
    key: impl Fn(&Row<'_>) -> rusqlite::Result<K>,
    mut with: impl FnMut(K, Part),
) -> rusqlite::Result<()> {
    let mut found = conn.prepare_cached(&format!(
        "SELECT {group}, sum(t.approximate * t.calls), {}
         FROM total AS t JOIN session AS s USING (sid)
         WHERE +s.hidden = 0 AND t.slot >= ?1 AND t.slot < ?2 GROUP BY {group}",
        SUMS.replace("sum(", "sum(t.")
    ))?;
    let columns = group.split(',').count();
    let mut rows = found.query([from, until])?;
    while let Some(r) = rows.next()? {
        with(key(r)?, Part::from_columns(r, columns)?);
    }
    Ok(())
}

fn names(conn: &Connection) -> rusqlite::Result<HashMap<i64, Model>> {
    conn.prepare_cached("SELECT mid, number, name, label FROM model")?
        .query_map([], |r| Ok((r.get(0)?, models::from_columns(r, 1)?)))?
        .collect()
}

fn by_model(conn: &Connection, from: i64, until: i64) -> rusqlite::Result<Vec<Used>> {
    let mut sums: BTreeMap<i64, Part> = BTreeMap::new();
    if rollup::is_there(conn)? {
        for run in rollup::runs(from, until) {
            blocks(conn, Cut::Model, run, |_, mid, part| {
                sums.entry(mid).or_default().add(part);
                Ok(())
            })?;
        }
    } else {
        from_total(
            conn,
            "t.mid",
            (from, until),
            |r| r.get(0),
            |mid, part| sums.entry(mid).or_default().add(part),
        )?;
    }
    let names = names(conn)?;
    let named = |(mid, part): (i64, Part)| {
        let model = names.get(&mid).cloned().unwrap_or_default();
        part.named(Used { model, ..Used::default() })
    };
    Ok(sums.into_iter().map(named).collect())
}

fn by_project(conn: &Connection, from: i64, until: i64) -> rusqlite::Result<Vec<Used>> {
    let mut sums: BTreeMap<Option<String>, Part> = BTreeMap::new();
    let mut edges = vec![(from, until)];
    if rollup::is_there(conn)? {
        let mut by_folder: BTreeMap<i64, Part> = BTreeMap::new();
        edges.clear();
        for run in rollup::runs(from, until) {
            if run.grain < FOLDER_FLOOR {
                // Parts of blocks: a few hours at either end.
                edges.push((run.first, run.end));
            } else {
                blocks(conn, Cut::Folder, run, |_, fid, part| {
                    by_folder.entry(fid).or_default().add(part);
                    Ok(())
                })?;
            }
        }
        let mut folder = conn.prepare_cached("SELECT cwd FROM folder WHERE fid = ?1")?;
        for (fid, part) in by_folder {
            let cwd = if fid == 0 { None } else { Some(folder.query_row([fid], |r| r.get(0))?) };
            sums.entry(cwd).or_default().add(part);
        }
    }
    for edge in edges {
        from_total(conn, "s.cwd", edge, |r| r.get(0), |cwd, part| sums.entry(cwd).or_default().add(part))?;
    }
    Ok(sums.into_iter().map(|(cwd, part)| part.named(Used { cwd, ..Used::default() })).collect())
}

fn by_session(conn: &Connection, from: i64, until: i64) -> rusqlite::Result<Vec<Used>> {
    // All that a session ever used stands with it.
    let all = (from, until) == (i64::MIN, i64::MAX);
    let sql = if all {
        "SELECT id, name, approximate, calls, unknown, input, output, cache_read, cache_write, thinking, priced, unpriced,
             usd_large, usd_small FROM session WHERE +hidden = 0 AND calls > 0 ORDER BY sid"
            .to_owned()
    } else {
        format!(
            "SELECT s.id, s.name, sum(t.approximate * t.calls), {}
             FROM total AS t JOIN session AS s USING (sid)
             WHERE +s.hidden = 0 AND t.slot >= ?1 AND t.slot < ?2 GROUP BY t.sid ORDER BY t.sid",
            SUMS.replace("sum(", "sum(t.")
        )
    };
    let mut found = conn.prepare_cached(&sql)?;
    let used = |r: &Row<'_>| {
        let session = Some((r.get(0)?, r.get(1)?));
        Ok(Part::from_columns(r, 2)?.named(Used { session, ..Used::default() }))
    };
    if all { found.query_map([], used)?.collect() } else { found.query_map([from, until], used)?.collect() }
}

/// By stretches of time, as `key` tells them apart by their slots, and model.
fn by_time<K: Ord + Copy>(
    conn: &Connection,
    from: i64,
    until: i64,
    key: impl Fn(i64) -> K,
) -> rusqlite::Result<Vec<(K, Used)>> {
    let mut sums: BTreeMap<(K, i64), Part> = BTreeMap::new();
    if rollup::is_there(conn)? {
        let mut split: Vec<i64> = Vec::new();
        let slots = |first, end| Run { grain: 0, first, end };
        let floor = rollup::slots(DAY_FLOOR, 1).start;
        let (from, until) = (from.max(-EVER), until.min(EVER));
        let (first, end) = (from.div_euclid(floor), until.div_euclid(floor) + 1);
        blocks(conn, Cut::Model, Run { grain: DAY_FLOOR, first, end }, |bucket, mid, part| {
            let block = rollup::slots(DAY_FLOOR, bucket);
            let (start, last) = (block.start, block.end - 1);
            if start >= from && last < until && key(start) == key(last) && !block.contains(&0) {
                sums.entry((key(start), mid)).or_default().add(part);
            } else if split.last() != Some(&bucket) {
                split.push(bucket);
            }
            Ok(())
        })?;
        for bucket in split {
            let block = rollup::slots(DAY_FLOOR, bucket);
            blocks(
                conn,
                Cut::Model,
                slots(block.start.max(from), block.end.min(until)),
                |slot, mid, part| {
                    sums.entry((key(slot), mid)).or_default().add(part);
                    Ok(())
                },
            )?;
        }
    } else {
        let of = |r: &Row<'_>| Ok((key(r.get(0)?), r.get(1)?));
        from_total(conn, "t.slot, t.mid", (from, until), of, |group, part| {
            sums.entry(group).or_default().add(part);
        })?;
    }
    let names = names(conn)?;
    let named = |((key, mid), part): ((K, i64), Part)| {
        let model = names.get(&mid).cloned().unwrap_or_default();
        (key, part.named(Used { model, ..Used::default() }))
    };
    Ok(sums.into_iter().map(named).collect())
}

/// The grain from which days are put together: 16 slots are four hours.
const DAY_FLOOR: u32 = 1;
/// In slots: beyond any time that there is.
const EVER: i64 = 1 << 48;

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

    /// Sums of all calls of sessions that are not deleted, in slots `from..until`, grouped.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn usage(&self, by: By, from: i64, until: i64) -> Result<Vec<Used>, StoreError> {
        self.at_once(|store| {
            store.read(|conn| match by {
                By::Model => by_model(conn, from, until),
                By::Project => by_project(conn, from, until),
                By::Session => by_session(conn, from, until),
            })
        })
    }

    /// The same by stretches of time and model. `day` says in which stretch a slot is, and those of one lie together. Slot 0
    /// stands for calls whose time is not known, and for itself.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn usage_in<K: Ord + Copy>(
        &self,
        from: i64,
        until: i64,
        day: impl Fn(i64) -> K,
    ) -> Result<Vec<(K, Used)>, StoreError> {
        self.at_once(|store| store.read(|conn| by_time(conn, from, until, day)))
    }

    /// How many sessions have calls in slots `from..until`, deleted ones left out.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn sessions_with_calls(&self, from: i64, until: i64) -> Result<u32, StoreError> {
        self.with_calls("s.hidden = 0", from, until)
    }

    /// How many of them are sub-agents.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn subagents_with_calls(&self, from: i64, until: i64) -> Result<u32, StoreError> {
        self.with_calls("s.hidden = 0 AND s.parent IS NOT NULL", from, until)
    }

    fn with_calls(&self, which: &str, from: i64, until: i64) -> Result<u32, StoreError> {
        // Most have all of their calls there, or none; only what reaches across an edge is looked at closer.
        let sql = format!(
            "SELECT count(*) FROM session AS s
             WHERE {which} AND first_slot < ?2 AND last_slot >= ?1
                 AND ((first_slot >= ?1 AND last_slot < ?2)
                     OR EXISTS (SELECT 1 FROM total AS t WHERE t.sid = s.sid AND t.slot >= ?1 AND t.slot < ?2))"
        );
        self.read(|conn| conn.prepare_cached(&sql)?.query_row(params![from, until], |r| Ok(count(r.get(0)?))))
    }
}
