//! Lists of sessions: pages, their sums, and what a list can be filtered by. Made so that a page of 100,000 sessions
//! costs no more than one of 100: the order comes from an index, and so do the sums over everything.

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

impl Filter {
    /// For what leaves nothing out but sub-agents, and some by their ids: whether it leaves out the sub-agents.
    fn only_roots(&self) -> Option<bool> {
        let (roots_only, not_ids) = (self.roots_only, self.not_ids.clone());
        (*self == Filter { roots_only, not_ids, ..Filter::default() }).then_some(roots_only)
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

/// The sub-agents inside the sessions that match a clause, gone up from all that there are.
fn inside_of_many(clause: &str) -> String {
    // A set, so that sessions that name each other as parents end it, too. What stands above a deleted session is not
    // above its sub-agents any more: they are listed for themselves.
    // What is above is looked for by its id: `+` bars the indexes that would walk all sessions for each sub-agent.
    let found = clause.replacen("s.hidden = 0", "+s.hidden = 0", 1);
    format!(
        "WITH RECURSIVE up (sid, above) AS (
             SELECT sid, parent FROM session WHERE parent IS NOT NULL AND hidden = 0
             UNION
             SELECT up.sid, p.parent FROM up JOIN session AS p ON p.id = up.above
             WHERE p.parent IS NOT NULL AND +p.hidden = 0),
         inside (sid) AS (
             SELECT up.sid FROM up CROSS JOIN session AS s ON s.id = up.above WHERE {found} AND s.sid <> up.sid
             EXCEPT SELECT s.sid FROM session AS s WHERE s.parent IS NOT NULL AND {clause})"
    )
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
    ) -> Result<(Vec<SessionRow>, ListedTotals), StoreError> {
        self.at_once(|store| {
            if let Some(totals) = store.rolled_up_totals(f)? {
                return Ok((store.sessions(f, sort, ascending, offset, limit)?, totals));
            }
            let (found, totals) = store.matching(f)?;
            let rows = if found.len() <= FEW {
                // An index would give the order, but every row would be looked at until a page is full.
                let list = found.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
                store.rows(&format!("+s.sid IN ({list})"), &[], sort, ascending, offset, limit)?
            } else {
                store.sessions(f, sort, ascending, offset, limit)?
            };
            Ok((rows, totals))
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
                Some(ids) => {
                    let without = Filter { ids: Some(ids.clone()), not_ids: None, ..f.clone() };
                    let (_, without) = store.matching(&without)?;
                    let sessions = totals.sessions.saturating_sub(without.sessions);
                    Ok(ListedTotals { sessions, sum: totals.sum.minus(without.sum) })
                }
                None => Ok(totals),
            })
            .transpose()
        })
    }

    /// The sums over all sub-agents, at any depth, inside the sessions that match; none of these themselves. Of many sessions it goes
    /// up from all sub-agents, which are few, and of a few down from them.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn totals_below(&self, f: &Filter) -> Result<ListedTotals, StoreError> {
        let (clause, values) = filtered(f);
        // Of a few that are known, only what is inside them is looked at.
        let inside = if f.ids.is_some() || f.parent.is_some() {
            format!(
                "WITH RECURSIVE matched (sid, id) AS MATERIALIZED (SELECT s.sid, s.id FROM session AS s WHERE {clause}),
                 down (sid, id) AS (
                     SELECT sid, id FROM matched
                     UNION SELECT c.sid, c.id FROM down JOIN session AS c ON c.parent = down.id WHERE +c.hidden = 0),
                 inside (sid) AS (SELECT sid FROM down EXCEPT SELECT sid FROM matched)"
            )
        } else {
            inside_of_many(&clause)
        };
        let sql = format!(
            "{inside}
             SELECT count(*), coalesce(sum(calls), 0), coalesce(sum(unknown), 0), coalesce(sum(input), 0),
                 coalesce(sum(output), 0), coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0),
                 coalesce(sum(thinking), 0), coalesce(sum(priced), 0), coalesce(sum(unpriced), 0),
                 coalesce(sum(usd_large), 0), coalesce(sum(usd_small), 0)
             FROM session WHERE sid IN (SELECT sid FROM inside)"
        );
        self.read(|conn| {
            conn.prepare_cached(&sql)?.query_row(refs(&values).as_slice(), |r| {
                Ok(ListedTotals { sessions: r.get(0)?, sum: Sum::from_columns(r, 1)? })
            })
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
