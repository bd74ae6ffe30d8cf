//! Lists of sessions: pages, their sums, and what a list can be filtered by. Made so that a page of 100,000 sessions
//! costs no more than one of 100: the order comes from an index, and so do the sums over everything.

use std::collections::HashMap;

use agenthub_core::{SessionId, Time};
use rusqlite::{Connection, ToSql};

use crate::{
    SessionRow, Store, StoreError, Sum, rollup,
    sessions::{COLUMNS, row},
};

/// The lists' own index takes the place of the first one (see [`index`]). What a list can be filtered by names its indexes,
/// so they are always there.
pub(crate) const CREATE: &str = "
DROP INDEX session_active;
CREATE INDEX session_model ON session (model, last_activity DESC, id, parent) WHERE hidden = 0;
CREATE INDEX session_folder ON session (lane, last_activity, cwd) WHERE hidden = 0 AND cwd IS NOT NULL;";

/// All that a filter looks at and sums up stands together in an index now, apart from the long rows.
pub(crate) const DROP_SUMS: &str = "DROP INDEX IF EXISTS session_sums";

/// Makes the indexes of the lists, those that are not there: a first filling does without them until its end. `parent`
/// stands in each, for the list leaves out sub-agents; the `id` makes every order a total one.
pub(crate) fn index(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "CREATE INDEX IF NOT EXISTS session_active ON session (hidden, last_activity DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_started ON session (hidden, started_at DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_name ON session (hidden, name IS NULL, lower(name), id, parent);
         CREATE INDEX IF NOT EXISTS session_name_down ON session (hidden, name IS NULL, lower(name) DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_tokens
             ON session (hidden, input + output + cache_read + cache_write DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_find ON session (hidden, search, parent, lane, model, last_activity, id, calls,
             unknown, input, output, cache_read, cache_write, thinking, priced, unpriced, usd_large, usd_small);
         CREATE INDEX IF NOT EXISTS session_cost
             ON session (hidden, iif(priced > 0, usd_large * 1e10 + usd_small, NULL) DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_below ON session (parent, calls, unknown, input, output, cache_read, cache_write,
             thinking, priced, unpriced, usd_large, usd_small) WHERE parent IS NOT NULL AND hidden = 0;
         CREATE INDEX IF NOT EXISTS session_warned ON session (hidden) WHERE instr(details, '\"warnings\":[{') > 0;
         CREATE INDEX IF NOT EXISTS session_span ON session (hidden, first_slot, last_slot);
         CREATE INDEX IF NOT EXISTS session_lane ON session (lane, last_activity DESC, id, parent) WHERE hidden = 0;",
    )
}

/// Which sessions to list. An absent part filters nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub search: Option<String>,
    pub lane: Option<String>,
    pub model: Option<String>,
    pub since: Option<Time>,
    /// Last active before.
    pub until: Option<Time>,
    pub ids: Option<Vec<SessionId>>,
    /// All but these.
    pub not_ids: Option<Vec<SessionId>>,
    /// Only sub-agents of this session.
    pub parent: Option<SessionId>,
    /// Leaves out sub-agents whose parent is listed itself.
    pub roots_only: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Active,
    Started,
    Name,
    Tokens,
    /// Sessions without a price come last.
    Cost,
}

/// So many sessions are sorted by themselves sooner than they are found in an order that is there.
const FEW: usize = 2_000;

/// The sums of all sessions that a filter matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedTotals {
    pub sessions: u32,
    pub sum: Sum,
}

/// One page of a list.
#[derive(Debug, Default)]
pub struct Page {
    pub rows: Vec<SessionRow>,
    /// Over all sessions that match, not those of this page alone.
    pub totals: ListedTotals,
    /// Over all sub-agents inside these, see [`Store::totals_below`].
    pub below: ListedTotals,
}

impl ListedTotals {
    fn minus(&self, o: &ListedTotals) -> ListedTotals {
        ListedTotals { sessions: self.sessions.saturating_sub(o.sessions), sum: self.sum.minus(o.sum) }
    }
}

impl Filter {
    /// For what leaves nothing out but sub-agents, and some by their ids: whether it leaves out the sub-agents.
    fn only_roots(&self) -> Option<bool> {
        let (roots_only, not_ids) = (self.roots_only, self.not_ids.clone());
        (*self == Filter { roots_only, not_ids, ..Filter::default() }).then_some(roots_only)
    }

    /// Those that it leaves out by their ids, and matches otherwise.
    fn those_left_out(&self) -> Filter {
        Filter { ids: Some(self.not_ids.clone().unwrap_or_default()), not_ids: None, ..self.clone() }
    }
}

/// A `WHERE` clause and its values.
fn filtered(f: &Filter) -> (String, Vec<Box<dyn ToSql>>) {
    // The index on `hidden` gives the newest first, and is a bad choice where fewer rows are meant. `+` bars it.
    let few = f.ids.is_some() || f.parent.is_some();
    let mut sql = String::from(if few { "+s.hidden = 0" } else { "s.hidden = 0" });
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut with = |clause: &str, value: Box<dyn ToSql>| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&clause.replace('?', &format!("?{}", values.len())));
    };
    if let Some(q) = f.search.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        with("instr(s.search, ?) > 0", Box::new(q.to_lowercase()));
    }
    if let Some(lane) = &f.lane {
        with("s.lane = ?", Box::new(lane.clone()));
    }
    if let Some(model) = &f.model {
        with("s.model = ?", Box::new(model.clone()));
    }
    if let Some(since) = f.since {
        with("s.last_activity >= ?", Box::new(since.micros()));
    }
    if let Some(until) = f.until {
        with("s.last_activity < ?", Box::new(until.micros()));
    }
    if let Some(parent) = &f.parent {
        with("s.parent = ?", Box::new(parent.as_str().to_owned()));
    }
    if let Some(ids) = &f.ids {
        // UUIDs hold no quote: they were parsed.
        let list = ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(",");
        sql.push_str(&format!(" AND s.id IN ({list})"));
    }
    if let Some(ids) = &f.not_ids {
        let list = ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(",");
        sql.push_str(&format!(" AND s.id NOT IN ({list})"));
    }
    if f.roots_only {
        sql.push_str(
            " AND (s.parent IS NULL OR NOT EXISTS (SELECT 1 FROM session AS p WHERE p.id = s.parent AND +p.hidden = 0))",
        );
    }
    (sql, values)
}

/// Which sub-agents are inside a session of a set.
struct Inside<'a, F> {
    is_matched: F,
    /// Of each sub-agent that is not deleted: the row of who started it, if that is here.
    above: &'a HashMap<i64, Option<i64>>,
    known: HashMap<i64, bool>,
}

impl<F: Fn(i64) -> bool> Inside<'_, F> {
    fn holds(&mut self, sid: i64) -> bool {
        let mut way = Vec::new();
        let mut at = sid;
        let is_inside = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            // Until the answer is known it is no: sessions that name each other as parents end it so.
            self.known.insert(at, false);
            way.push(at);
            match self.above.get(&at).copied().flatten() {
                Some(parent) if (self.is_matched)(parent) => break true,
                Some(parent) => at = parent,
                None => break false,
            }
        };
        self.known.extend(way.into_iter().map(|sid| (sid, is_inside)));
        is_inside
    }
}

fn one_of(sids: &[i64]) -> String {
    let list = sids.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    format!("s.sid IN ({list})")
}

fn refs(values: &[Box<dyn ToSql>]) -> Vec<&dyn ToSql> {
    values.iter().map(AsRef::as_ref).collect()
}

impl Store {
    /// Sessions that match, in order, from `offset` on.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn sessions(
        &self,
        f: &Filter,
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let (clause, values) = filtered(f);
        self.rows(&clause, &values, sort, ascending, offset, limit)
    }

    fn rows(
        &self,
        clause: &str,
        values: &[Box<dyn ToSql>],
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let by = match sort {
            Sort::Active => "s.last_activity",
            Sort::Started => "s.started_at",
            Sort::Name => "s.name IS NULL, lower(s.name)",
            Sort::Tokens => "s.input + s.output + s.cache_read + s.cache_write",
            Sort::Cost => "iif(s.priced > 0, s.usd_large * 1e10 + s.usd_small, NULL)",
        };
        let direction = if ascending { "ASC" } else { "DESC" };
        // The page first, by what sorts it alone; then its rows. Written so that the indices above give the order.
        let nulls = if ascending && sort != Sort::Name { " NULLS LAST" } else { "" };
        let order = format!("ORDER BY {by} {direction}{nulls}, s.id");
        let sql = format!(
            "SELECT {COLUMNS} FROM session AS s WHERE sid IN (
                 SELECT s.sid FROM session AS s WHERE {clause} {order} LIMIT {limit} OFFSET {offset}) {order}"
        );
        self.read(|conn| {
            conn.prepare_cached(&sql)?
                .query_map(refs(values).as_slice(), row)?
                .filter_map(Result::transpose)
                .collect()
        })
    }

    /// The same with the sums over all sessions that match, as of one moment.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn page(
        &self,
        f: &Filter,
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
    ) -> Result<Page, StoreError> {
        self.at_once(|store| {
            if f.only_roots() == Some(true)
                && let Some(totals) = store.rolled_up_totals(f)?
            {
                let rows = store.sessions(f, sort, ascending, offset, limit)?;
                let roots = store.totals(&Filter { roots_only: true, ..Filter::default() })?;
                let mut below = store.totals(&Filter::default())?.minus(&roots);
                if f.not_ids.is_some() {
                    // What is inside a session is inside no other one of a list of roots.
                    below = below.minus(&store.totals_below(&f.those_left_out())?);
                }
                return Ok(Page { rows, totals, below });
            }
            let (found, totals) = store.matching(f)?;
            let rows = if found.len() <= FEW {
                // An index would give the order, but every row would be looked at until a page is full.
                store.rows(&format!("+{}", one_of(&found)), &[], sort, ascending, offset, limit)?
            } else {
                store.sessions(f, sort, ascending, offset, limit)?
            };
            Ok(Page { rows, totals, below: store.inside_of(found)? })
        })
    }

    /// The sums over all sessions that match.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn totals(&self, f: &Filter) -> Result<ListedTotals, StoreError> {
        match self.rolled_up_totals(f)? {
            Some(totals) => Ok(totals),
            None => Ok(self.matching(f)?.1),
        }
    }

    /// All sessions that match, by their row numbers in no order, and their sums, in one walk.
    fn matching(&self, f: &Filter) -> Result<(Vec<i64>, ListedTotals), StoreError> {
        let (clause, values) = filtered(f);
        let sql = format!(
            "SELECT sid, calls, unknown, input, output, cache_read, cache_write, thinking, priced, unpriced, usd_large,
                 usd_small FROM session AS s WHERE {clause}"
        );
        self.read(|conn| {
            let mut all = conn.prepare_cached(&sql)?;
            let mut rows = all.query(refs(&values).as_slice())?;
            let (mut found, mut sums) = (Vec::new(), [0_i64; Sum::COLUMNS]);
            while let Some(r) = rows.next()? {
                found.push(r.get(0)?);
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.saturating_add(r.get(1 + i)?);
                }
            }
            let sessions = u32::try_from(found.len()).unwrap_or(u32::MAX);
            Ok((found, ListedTotals { sessions, sum: Sum::of(sums) }))
        })
    }

    /// Those that are kept: of all sessions, and of all that are no sub-agents of others; without a few that are named.
    fn rolled_up_totals(&self, f: &Filter) -> Result<Option<ListedTotals>, StoreError> {
        let Some(only_roots) = f.only_roots() else { return Ok(None) };
        self.at_once(|store| {
            store.read(|conn| {
                if !rollup::is_there(conn)? {
                    return Ok(None);
                }
                let mut found = conn.prepare_cached(
                    "SELECT sessions, calls, unknown, input, output, cache_read, cache_write, thinking, priced, unpriced,
                         usd_large, usd_small FROM used WHERE cut = 2 AND which <= ?1",
                )?;
                let mut totals = ListedTotals::default();
                let mut rows = found.query([i64::from(!only_roots)])?;
                while let Some(r) = rows.next()? {
                    totals.sessions = totals.sessions.saturating_add(r.get(0)?);
                    totals.sum = totals.sum.plus(Sum::from_columns(r, 1)?);
                }
                Ok(Some(totals))
            })?
            .map(|totals| match f.not_ids.as_ref().filter(|ids| !ids.is_empty()) {
                Some(_) => {
                    let (_, without) = store.matching(&f.those_left_out())?;
                    Ok(totals.minus(&without))
                }
                None => Ok(totals),
            })
            .transpose()
        })
    }

    /// The sums over all sub-agents, at any depth, inside the sessions that match; none of these themselves. What stands above a
    /// deleted session is not above its sub-agents any more: they are listed for themselves.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn totals_below(&self, f: &Filter) -> Result<ListedTotals, StoreError> {
        if f.ids.is_some() || f.parent.is_some() {
            let (clause, values) = filtered(f);
            return self.inside_of_few(&clause, &values);
        }
        self.at_once(|store| store.inside_of(store.matching(f)?.0))
    }

    /// The same of a few sessions that a clause names: only what is inside them is looked at.
    fn inside_of_few(&self, clause: &str, values: &[Box<dyn ToSql>]) -> Result<ListedTotals, StoreError> {
        // A set, so that a circle of parents ends it, too.
        let sql = format!(
            "WITH RECURSIVE matched (sid, id) AS MATERIALIZED (SELECT s.sid, s.id FROM session AS s WHERE {clause}),
             down (sid, id) AS (
                 SELECT sid, id FROM matched
                 UNION SELECT c.sid, c.id FROM down JOIN session AS c ON c.parent = down.id WHERE +c.hidden = 0),
             inside (sid) AS (SELECT sid FROM down EXCEPT SELECT sid FROM matched)
             SELECT count(*), coalesce(sum(calls), 0), coalesce(sum(unknown), 0), coalesce(sum(input), 0),
                 coalesce(sum(output), 0), coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0),
                 coalesce(sum(thinking), 0), coalesce(sum(priced), 0), coalesce(sum(unpriced), 0),
                 coalesce(sum(usd_large), 0), coalesce(sum(usd_small), 0)
             FROM session WHERE sid IN (SELECT sid FROM inside)"
        );
        self.read(|conn| {
            conn.prepare(&sql)?.query_row(refs(values).as_slice(), |r| {
                Ok(ListedTotals { sessions: r.get(0)?, sum: Sum::from_columns(r, 1)? })
            })
        })
    }

    /// The same of sessions by their row numbers. Of many it is gone up from all sub-agents, which are few.
    fn inside_of(&self, mut matched: Vec<i64>) -> Result<ListedTotals, StoreError> {
        if matched.len() <= FEW {
            return self.inside_of_few(&one_of(&matched), &[]);
        }
        matched.sort_unstable();
        let is_matched = |sid: i64| matched.binary_search(&sid).is_ok();
        self.read(|conn| {
            let mut all = conn.prepare_cached(
                "SELECT c.sid, p.sid, c.calls, c.unknown, c.input, c.output, c.cache_read, c.cache_write, c.thinking,
                     c.priced, c.unpriced, c.usd_large, c.usd_small
                 FROM session AS c LEFT JOIN session AS p ON p.id = c.parent WHERE c.parent IS NOT NULL AND c.hidden = 0",
            )?;
            let mut rows = all.query([])?;
            let (mut above, mut sums) = (HashMap::new(), Vec::new());
            while let Some(r) = rows.next()? {
                let sid: i64 = r.get(0)?;
                above.insert(sid, r.get::<_, Option<i64>>(1)?);
                if !is_matched(sid) {
                    sums.push((sid, Sum::from_columns(r, 2)?));
                }
            }
            let mut inside = Inside { is_matched, above: &above, known: HashMap::new() };
            let mut totals = ListedTotals::default();
            for (sid, sum) in sums {
                if inside.holds(sid) {
                    totals.sessions = totals.sessions.saturating_add(1);
                    totals.sum = totals.sum.plus(sum);
                }
            }
            Ok(totals)
        })
    }

    /// How many sessions a filter matches.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn count(&self, f: &Filter) -> Result<u32, StoreError> {
        if let Some(totals) = self.rolled_up_totals(f)? {
            return Ok(totals.sessions);
        }
        let (clause, values) = filtered(f);
        let sql = format!("SELECT count(*) FROM session AS s WHERE {clause}");
        self.read(|conn| conn.prepare_cached(&sql)?.query_row(refs(&values).as_slice(), |r| r.get(0)))
    }

    /// The details of sessions in which the engine noted warnings: a list that is not empty, under that name.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn details_with_warnings(&self) -> Result<Vec<String>, StoreError> {
        self.read(|conn| {
            // Word for word the condition of an index: few sessions have any.
            conn.prepare_cached(
                "SELECT details FROM session WHERE hidden = 0 AND instr(details, '\"warnings\":[{') > 0",
            )?
            .query_map([], |r| r.get(0))?
            .collect()
        })
    }

    /// Models and lanes that listed sessions have: `(models, (lane, folder))`, lanes by their newest session. Each is
    /// looked up behind the one before it: there are few, in however many sessions.
    ///
    /// # Errors
    /// When SQLite refuses.
    #[expect(clippy::type_complexity, reason = "two lists for two filters, read in one go")]
    pub fn choices(&self) -> Result<(Vec<String>, Vec<(String, Option<String>)>), StoreError> {
        self.read(|conn| {
            let models = conn
                .prepare_cached(
                    "WITH RECURSIVE one (model) AS (
                         SELECT (SELECT model FROM session INDEXED BY session_model
                                 WHERE hidden = 0 AND model > '' ORDER BY model LIMIT 1)
                         UNION ALL
                         SELECT (SELECT model FROM session INDEXED BY session_model
                                 WHERE hidden = 0 AND model > one.model ORDER BY model LIMIT 1)
                         FROM one WHERE one.model IS NOT NULL LIMIT 10000)
                     SELECT model FROM one WHERE model IS NOT NULL",
                )?
                .query_map([], |r| r.get(0))?
                .collect::<Result<_, _>>()?;
            let lanes = conn
                .prepare_cached(
                    "WITH RECURSIVE one (lane) AS (
                         SELECT (SELECT lane FROM session INDEXED BY session_folder
                                 WHERE hidden = 0 AND cwd IS NOT NULL ORDER BY lane LIMIT 1)
                         UNION ALL
                         SELECT (SELECT lane FROM session INDEXED BY session_folder
                                 WHERE hidden = 0 AND cwd IS NOT NULL AND lane > one.lane ORDER BY lane LIMIT 1)
                         FROM one WHERE one.lane IS NOT NULL LIMIT 10000),
                     newest (lane, at, cwd) AS MATERIALIZED (
                         SELECT one.lane, s.last_activity, s.cwd FROM one JOIN session AS s ON s.sid = (
                             SELECT n.sid FROM session AS n INDEXED BY session_folder
                             WHERE n.hidden = 0 AND n.cwd IS NOT NULL AND n.lane = one.lane
                             ORDER BY n.last_activity DESC LIMIT 1)
                         WHERE one.lane IS NOT NULL)
                     SELECT lane, cwd FROM newest ORDER BY at DESC, lane LIMIT 500",
                )?
                .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?
                .collect::<Result<_, _>>()?;
            Ok((models, lanes))
        })
    }
}
