//! Lists of sessions: pages, their sums, and what a list can be filtered by. Made so that a page of 100,000 sessions
//! costs no more than one of 100: the order comes from an index, and so do the sums over everything.

use agenthub_core::{SessionId, Time};
use rusqlite::{Connection, ToSql};

use crate::{
    FoundInside, SessionRow, Store, StoreError, Sum,
    finding::{FEW, Sids},
    rollup,
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

/// And since a list is put together from sets of row numbers (`finding.rs`), in a small one for each question. `hidden` stands
/// in each, first or not: without it long rows would be looked at.
pub(crate) const NARROW: &str = "
DROP INDEX IF EXISTS session_find;
DROP INDEX IF EXISTS session_below;
DROP INDEX IF EXISTS session_lane;
DROP INDEX session_model;
CREATE INDEX session_model ON session (hidden, model, last_activity);";

/// Makes the indexes of the lists, those that are not there: a first filling does without them until its end. `parent`
/// stands in each, for the list leaves out sub-agents; the `id` makes every order a total one.
pub(crate) fn index(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(&format!(
        "CREATE INDEX IF NOT EXISTS session_active ON session (hidden, last_activity DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_started ON session (hidden, started_at DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_name ON session (hidden, name IS NULL, lower(name), id, parent);
         CREATE INDEX IF NOT EXISTS session_name_down ON session (hidden, name IS NULL, lower(name) DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_tokens
             ON session (hidden, input + output + cache_read + cache_write DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_words ON session (hidden, search);
         CREATE INDEX IF NOT EXISTS session_own_sums ON session (sid + 0, {});
         CREATE INDEX IF NOT EXISTS session_cost
             ON session (hidden, iif(priced > 0, usd_large * 1e10 + usd_small, NULL) DESC, id, parent);
         CREATE INDEX IF NOT EXISTS session_above ON session (parent, hidden, first_slot, last_slot)
             WHERE parent IS NOT NULL;
         CREATE INDEX IF NOT EXISTS session_warned ON session (hidden) WHERE instr(details, '\"warnings\":[{{') > 0;
         CREATE INDEX IF NOT EXISTS session_span ON session (hidden, first_slot, last_slot);
         CREATE INDEX IF NOT EXISTS session_span_below ON session (hidden, first_slot, last_slot) WHERE parent IS NOT NULL;
         CREATE INDEX IF NOT EXISTS session_lane ON session (hidden, lane, last_activity);",
        Sum::NAMES
    ))
}

/// Which sessions to list. An absent part filters nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In name, folder or id. With `roots_only` also in those of what is inside a session, which is listed then.
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
    /// How many sessions match, not those of this page alone.
    pub sessions: u32,
    /// How many sub-agents are inside these, at any depth; none of these themselves.
    pub subagents: u32,
    /// Over all of these.
    pub sum: Sum,
    /// Why some of these rows match.
    pub inside: Vec<FoundInside>,
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
pub(crate) fn filtered(f: &Filter) -> (String, Vec<Box<dyn ToSql>>) {
    // The index on `hidden` gives the newest first, and is a bad choice where fewer rows are meant. `+` bars it.
    let few = f.ids.is_some() || f.parent.is_some();
    let mut sql = String::from(if few { "+s.hidden = 0" } else { "s.hidden = 0" });
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut with = |clause: &str, value: Box<dyn ToSql>| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&clause.replace('?', &format!("?{}", values.len())));
    };
    if let Some(words) = f.words() {
        with("instr(s.search, ?) > 0", Box::new(words));
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

pub(crate) fn one_of<'a>(sids: impl IntoIterator<Item = &'a i64>) -> String {
    format!("s.sid IN ({})", listed(sids))
}

pub(crate) fn listed<'a>(sids: impl IntoIterator<Item = &'a i64>) -> String {
    sids.into_iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) fn refs(values: &[Box<dyn ToSql>]) -> Vec<&dyn ToSql> {
    values.iter().map(AsRef::as_ref).collect()
}

/// What a list is in the order of, the id last: a total order. Written so that the indices above give it, and `backwards` the
/// same from its end.
fn order(sort: Sort, ascending: bool, backwards: bool) -> String {
    let by = match sort {
        Sort::Active => "s.last_activity",
        Sort::Started => "s.started_at",
        Sort::Name if backwards => "s.name IS NULL DESC, lower(s.name)",
        Sort::Name => "s.name IS NULL, lower(s.name)",
        Sort::Tokens => "s.input + s.output + s.cache_read + s.cache_write",
        Sort::Cost => "iif(s.priced > 0, s.usd_large * 1e10 + s.usd_small, NULL)",
    };
    let direction = if ascending == backwards { "DESC" } else { "ASC" };
    let nulls = match (ascending && sort != Sort::Name, backwards) {
        (false, _) => "",
        (true, false) => " NULLS LAST",
        (true, true) => " NULLS FIRST",
    };
    let id = if backwards { "s.id DESC" } else { "s.id" };
    format!("ORDER BY {by} {direction}{nulls}, {id}")
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
        if f.looks_inside() {
            return self
                .at_once(|store| store.rows_of(&store.find(f)?.listed, sort, ascending, offset, limit));
        }
        let (clause, values) = filtered(f);
        self.rows(&clause, &values, sort, ascending, offset, limit)
    }

    pub(crate) fn rows(
        &self,
        clause: &str,
        values: &[Box<dyn ToSql>],
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        self.slice(clause, values, &order(sort, ascending, false), offset, limit)
    }

    /// Rows of a list that has `count`, counted from its nearer end: all that a page leaves out is walked through.
    fn rows_of_counted(
        &self,
        f: &Filter,
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
        count: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let (clause, values) = filtered(f);
        let left = count.saturating_sub(offset);
        if left >= offset {
            return self.rows(&clause, &values, sort, ascending, offset, limit);
        }
        let take = limit.min(left);
        let backwards = order(sort, ascending, true);
        let mut rows = self.slice(&clause, &values, &backwards, left.saturating_sub(take), take)?;
        rows.reverse();
        Ok(rows)
    }

    fn slice(
        &self,
        clause: &str,
        values: &[Box<dyn ToSql>],
        order: &str,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        // The page first, by what sorts it alone; then its rows.
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

    /// Those of a set, in order, from `offset` on. A few are sorted; many are met on a walk through all.
    fn rows_of(
        &self,
        listed: &Sids,
        sort: Sort,
        ascending: bool,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        if listed.len() <= FEW {
            return self.rows(&one_of(listed), &[], sort, ascending, offset, limit);
        }
        let sql =
            format!("SELECT s.sid FROM session AS s WHERE s.hidden = 0 {}", order(sort, ascending, false));
        let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let page: Vec<i64> = self.read(|conn| {
            let mut all = conn.prepare_cached(&sql)?;
            let mut all = all.query([])?;
            let (mut page, mut before) = (Vec::new(), offset);
            while page.len() < size(limit)
                && let Some(r) = all.next()?
            {
                let sid = r.get(0)?;
                if !listed.contains(&sid) {
                    continue;
                }
                match before.checked_sub(1) {
                    Some(left) => before = left,
                    None => page.push(sid),
                }
            }
            Ok(page)
        })?;
        let mut rows = Vec::with_capacity(page.len());
        for part in page.chunks(FEW) {
            rows.extend(self.rows(&one_of(part), &[], sort, ascending, 0, u32::MAX)?);
        }
        Ok(rows)
    }

    /// The same with the sums over all sessions that match and what is inside them, as of one moment.
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
                let rows = store.rows_of_counted(f, sort, ascending, offset, limit, totals.sessions)?;
                let roots = store.totals(&Filter { roots_only: true, ..Filter::default() })?;
                let mut below = store.totals(&Filter::default())?.minus(&roots);
                if f.not_ids.is_some() {
                    // What is inside a session is inside no other one of a list of roots.
                    below = below.minus(&store.totals_below(&f.those_left_out())?);
                }
                let (sessions, subagents) = (totals.sessions, below.sessions);
                let sum = totals.sum.plus(below.sum);
                return Ok(Page { rows, sessions, subagents, sum, inside: Vec::new() });
            }
            let found = store.find(f)?;
            let rows = store.rows_of(&found.listed, sort, ascending, offset, limit)?;
            let n = |sids: &Sids| u32::try_from(sids.len()).unwrap_or(u32::MAX);
            Ok(Page {
                sessions: n(&found.listed),
                subagents: n(&found.inside),
                sum: store.sums_of_found(&found)?,
                inside: store.found_inside(f, &rows)?,
                rows,
            })
        })
    }

    /// The sums over all sessions that match.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn totals(&self, f: &Filter) -> Result<ListedTotals, StoreError> {
        self.at_once(|store| match store.rolled_up_totals(f)? {
            Some(totals) => Ok(totals),
            None => store.sums_of(&store.find(f)?.listed),
        })
    }

    /// Those that are kept: of all sessions, and of all that are no sub-agents of others; without a few that are named.
    pub(crate) fn rolled_up_totals(&self, f: &Filter) -> Result<Option<ListedTotals>, StoreError> {
        let Some(only_roots) = f.only_roots() else { return Ok(None) };
        self.at_once(|store| {
            store
                .read(|conn| {
                    if !rollup::is_there(conn)? {
                        return Ok(None);
                    }
                    let mut found = conn.prepare_cached(&format!(
                        "SELECT sessions, {} FROM used WHERE cut = 2 AND which <= ?1",
                        Sum::NAMES
                    ))?;
                    let mut totals = ListedTotals::default();
                    let mut rows = found.query([i64::from(!only_roots)])?;
                    while let Some(r) = rows.next()? {
                        totals.sessions = totals.sessions.saturating_add(r.get(0)?);
                        totals.sum = totals.sum.plus(Sum::from_columns(r, 1)?);
                    }
                    Ok(Some(totals))
                })?
                .map(|totals| match f.not_ids.as_ref().filter(|ids| !ids.is_empty()) {
                    Some(_) => Ok(totals.minus(&store.sums_of(&store.find(&f.those_left_out())?.listed)?)),
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
        self.at_once(|store| store.sums_of(&store.find(f)?.inside))
    }

    /// How many sessions a filter matches.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn count(&self, f: &Filter) -> Result<u32, StoreError> {
        if let Some(totals) = self.rolled_up_totals(f)? {
            return Ok(totals.sessions);
        }
        if f.looks_inside() {
            return Ok(u32::try_from(self.find(f)?.listed.len()).unwrap_or(u32::MAX));
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
