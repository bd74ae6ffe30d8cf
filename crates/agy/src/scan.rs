//! Reads the rows of one conversation, all of them or those that can have changed since the cursor (spec B3).
//!
//! Rows are never treated as append-only (agy-format §2.4). The newest steps, all steps that are not final and the
//! newest generator rows are read again each time; older ones are folded into the cursor's tallies.

use agenthub_core::SessionId;
use rusqlite::{Connection, params};

use crate::{
    calls::{Calls, GenRow, Planner},
    cursor::{Cursor, Maxima},
    rows::{self, Head, ReadStep},
    tally::{GenTally, Step, StepTally},
    view::Execution,
    wire::{self, Generation, status, step_type},
};

/// The newest steps are read again, for agy flushes late and marks steps canceled afterwards.
const STEP_WINDOW: i64 = 32;
/// agy rewrites the row before the newest one.
const GEN_WINDOW: i64 = 2;
const EXECUTION_WINDOW: i64 = 8;
/// With more open steps than this a cursor would grow without bound: such a conversation is read whole each time.
const MOST_OPEN: usize = 512;

/// The rows' answer.
pub(crate) struct Scan {
    pub(crate) head: Head,
    pub(crate) complete: bool,
    pub(crate) calls: Calls,
    /// Over all steps and generator rows.
    pub(crate) steps: StepTally,
    pub(crate) gens: GenTally,
    /// The newest steps and all open ones, by number.
    pub(crate) newest: Vec<Step>,
    /// The newest finished executions, by number.
    pub(crate) executions: Vec<Execution>,
    pub(crate) bad_executions: u64,
    pub(crate) rows: u64,
    /// For the next read; titles are still those of the cursor before.
    pub(crate) cursor: Cursor,
}

/// Scans in one read transaction, which the caller has begun.
///
/// # Errors
/// SQLite's own.
pub(crate) fn scan(
    db: &Connection,
    id: &SessionId,
    inode: u64,
    since: Option<&Cursor>,
) -> rusqlite::Result<Scan> {
    let head = rows::head(db)?;
    let max = head.max;
    let since = since.filter(|c| {
        c.inode == inode
            && c.trajectory == head.trajectory
            && max.continues(&c.max)
            && c.open.len() <= MOST_OPEN
    });
    let pass = Pass { db, id, max, trajectory: head.trajectory.clone() };
    let mut found = None;
    if let Some(cursor) = since {
        found = pass.run(Some(cursor))?;
    }
    let (complete, found) = match found {
        Some(f) => (false, Some(f)),
        // A first read, or a rewind that reused numbers.
        None => (true, pass.run(None)?),
    };
    let Found { calls, steps, gens, newest, executions, bad_executions, rows, mut cursor } =
        found.unwrap_or_default();
    cursor.inode = inode;
    cursor.trajectory.clone_from(&head.trajectory);
    Ok(Scan { head, complete, calls, steps, gens, newest, executions, bad_executions, rows, cursor })
}

#[derive(Default)]
struct Found {
    calls: Calls,
    steps: StepTally,
    gens: GenTally,
    newest: Vec<Step>,
    executions: Vec<Execution>,
    bad_executions: u64,
    rows: u64,
    cursor: Cursor,
}

/// What stays the same during one pass over the tables.
struct Pass<'a> {
    db: &'a Connection,
    id: &'a SessionId,
    max: Maxima,
    trajectory: Option<String>,
}

/// Steps as one pass collects them.
#[derive(Default)]
struct Steps {
    calls: Calls,
    folded: StepTally,
    window: StepTally,
    newest: Vec<Step>,
    planners: Vec<Planner>,
    checkpoints: Vec<i64>,
    open: Vec<i64>,
    rows: u64,
}

impl Pass<'_> {
    /// `None` when the rows contradict `since`: numbers were used again.
    fn run(&self, since: Option<&Cursor>) -> rusqlite::Result<Option<Found>> {
        let Some(mut steps) = self.steps(since)? else { return Ok(None) };
        let mut calls = std::mem::take(&mut steps.calls);
        let (folded, window, gen_rows) = self.generations(since, &steps, &mut calls)?;
        let (executions, folded_bad, window_bad, execution_rows) = self.executions(since)?;
        let check = check(steps.newest.iter());
        let before = since.cloned().unwrap_or_default();
        Ok(Some(Found {
            calls,
            steps: steps.folded.plus(&steps.window),
            gens: folded.plus(&window),
            newest: steps.newest,
            executions,
            bad_executions: folded_bad + window_bad,
            rows: steps.rows + gen_rows + execution_rows,
            cursor: Cursor {
                max: self.max,
                steps: steps.folded,
                gens: folded,
                bad_executions: folded_bad,
                open: steps.open,
                check,
                ..before
            },
        }))
    }

    fn steps(&self, since: Option<&Cursor>) -> rusqlite::Result<Option<Steps>> {
        let mut s = Steps { folded: since.map(|c| c.steps.clone()).unwrap_or_default(), ..Steps::default() };
        let columns = rows::STEP_COLUMNS;
        // The rows that the cursor's check is over, as they are now.
        let mut again: Vec<(i64, Option<i64>)> = Vec::new();
        if let Some(cursor) = since {
            let mut one = self.db.prepare(&format!("SELECT {columns} FROM steps WHERE idx = ?1"))?;
            for idx in &cursor.open {
                let mut rows = one.query([idx])?;
                let Some(r) = rows.next()? else { return Ok(None) };
                let row = rows::read_step(r, self.id, &mut s.calls)?;
                again.push(seen(&row.step));
                self.take(row, &mut s);
            }
        }
        let from = since.and_then(|c| c.max.step).map_or(i64::MIN, |m| m.saturating_sub(STEP_WINDOW));
        let sql = format!("SELECT {columns} FROM steps WHERE idx > ?1 ORDER BY idx");
        let mut all = self.db.prepare(&sql)?;
        let mut rows = all.query(params![from])?;
        while let Some(r) = rows.next()? {
            let row = rows::read_step(r, self.id, &mut s.calls)?;
            if since.is_some_and(|c| Some(row.step.idx) <= c.max.step) {
                again.push(seen(&row.step));
            }
            self.take(row, &mut s);
        }
        if since.is_some_and(|c| c.check != check_of(again.into_iter())) {
            return Ok(None);
        }
        Ok(Some(s))
    }

    fn take(&self, row: ReadStep, s: &mut Steps) {
        s.rows += 1;
        let step = row.step;
        s.planners.extend(row.planner);
        if step.step_type == step_type::CHECKPOINT {
            s.checkpoints.push(step.idx);
        }
        let is_recent = in_window(step.idx, self.max.step, STEP_WINDOW);
        if !is_recent && status::is_open(step.status) {
            s.open.push(step.idx);
        } else if !is_recent {
            s.folded.add(&step);
            return;
        }
        s.window.add(&step);
        s.newest.push(step);
    }

    /// The tallies of the rows that will not be read again and of the newest ones, and how many rows were read.
    fn generations(
        &self,
        since: Option<&Cursor>,
        steps: &Steps,
        calls: &mut Calls,
    ) -> rusqlite::Result<(GenTally, GenTally, u64)> {
        let mut folded = since.map(|c| c.gens.clone()).unwrap_or_default();
        let mut window = GenTally::default();
        let from = since.and_then(|c| c.max.generation).map_or(i64::MIN, |m| m.saturating_sub(GEN_WINDOW));
        let mut all = self.db.prepare("SELECT idx, data FROM gen_metadata WHERE idx > ?1 ORDER BY idx")?;
        let mut rows = all.query(params![from])?;
        let mut n = 0;
        while let Some(r) = rows.next()? {
            n += 1;
            let idx = rows::integer(r, 0)?;
            let Some(data) = rows::blob(r, 1)? else { continue };
            let tally =
                if in_window(idx, self.max.generation, GEN_WINDOW) { &mut window } else { &mut folded };
            let is_background = |g: &Generation| is_background(g, steps);
            let row = GenRow {
                id: self.id,
                trajectory: self.trajectory.as_deref(),
                idx,
                data,
                is_newest: Some(idx) == self.max.generation,
                is_background: &is_background,
            };
            calls.generation(&row, tally, &|g| self.planner(g, idx, steps));
        }
        Ok((folded, window, n))
    }

    /// The planner step that a generator row belongs to (agy-format §2.2), by the surest tie first.
    fn planner(&self, g: &Generation, gen_idx: i64, steps: &Steps) -> Option<Planner> {
        let by_idx = |idx: i64| {
            let at = steps.planners.binary_search_by_key(&idx, |p| p.idx).ok()?;
            steps.planners.get(at).cloned()
        };
        let named = || g.step_indices.iter().map(|i| i64::from(*i));
        if let Some(p) = named().find_map(by_idx) {
            return Some(p);
        }
        let execution = if g.execution_id.is_empty() { 0 } else { wire::hash(&g.execution_id) };
        let same = |p: &&Planner| execution == 0 || p.execution == 0 || p.execution == execution;
        let by_metadata = |p: &&Planner| i64::from(p.metadata_index) == gen_idx;
        if named().next().is_none()
            && let Some(p) = steps.planners.iter().filter(by_metadata).find(same)
        {
            return Some(p.clone());
        }
        // A step older than what was read now; many tools may lie between.
        let older = named()
            .take(4)
            .find_map(|idx| rows::step_by_idx(self.db, idx, self.id).ok().flatten().and_then(|r| r.planner));
        older.or_else(|| {
            let mut of_execution =
                steps.planners.iter().filter(|p| execution != 0 && p.execution == execution);
            // Only a time can be taken from it: it may be another call's step. The row's own may be damaged.
            let own = named().next();
            of_execution.next().map(|p| Planner {
                idx: own.unwrap_or(p.idx),
                has_usage: false,
                is_open: false,
                key: None,
                ..p.clone()
            })
        })
    }

    fn executions(&self, since: Option<&Cursor>) -> rusqlite::Result<(Vec<Execution>, u64, u64, u64)> {
        let (mut folded, mut window, mut n) = (since.map_or(0, |c| c.bad_executions), 0, 0);
        let mut found = Vec::new();
        if self.max.execution.is_none() {
            return Ok((found, folded, window, n));
        }
        let from =
            since.and_then(|c| c.max.execution).map_or(i64::MIN, |m| m.saturating_sub(EXECUTION_WINDOW));
        let mut all =
            self.db.prepare("SELECT idx, data FROM executor_metadata WHERE idx > ?1 ORDER BY idx")?;
        let mut rows = all.query(params![from])?;
        while let Some(r) = rows.next()? {
            n += 1;
            let idx = rows::integer(r, 0)?;
            let is_recent = in_window(idx, self.max.execution, EXECUTION_WINDOW);
            match wire::decode::<wire::Execution>(rows::blob(r, 1)?.unwrap_or_default()) {
                Ok(e) if is_recent => found.push(Execution {
                    id: if e.execution_id.is_empty() { 0 } else { wire::hash(&e.execution_id) },
                    last_step: e.last_step_idx,
                    reason: e.reason,
                }),
                Ok(_) => {}
                Err(_) if is_recent => window += 1,
                Err(_) => folded += 1,
            }
        }
        Ok((found, folded, window, n))
    }
}

/// Whether the row is among the newest `window` numbers of its table.
fn in_window(idx: i64, max: Option<i64>, window: i64) -> bool {
    max.is_none_or(|m| idx > m.saturating_sub(window))
}

/// A generator row of a title or summary call: its step is a checkpoint, not a planner.
fn is_background(g: &Generation, steps: &Steps) -> bool {
    let is_checkpoint = |i: &u32| steps.checkpoints.binary_search(&i64::from(*i)).is_ok();
    let is_planner = |i: &u32| steps.planners.binary_search_by_key(&i64::from(*i), |p| p.idx).is_ok();
    g.step_indices.iter().any(is_checkpoint) && !g.step_indices.iter().any(is_planner)
}

fn seen(s: &Step) -> (i64, Option<i64>) {
    (s.idx, s.created.map(agenthub_core::Time::micros))
}

fn check<'a>(steps: impl Iterator<Item = &'a Step>) -> u64 {
    check_of(steps.map(seen))
}

/// A hash over the numbers and times of steps: other steps under the same numbers give another one.
fn check_of(steps: impl Iterator<Item = (i64, Option<i64>)>) -> u64 {
    steps.fold(7, |h: u64, (idx, at)| {
        let mut bytes = [0; 24];
        let parts = h.to_le_bytes().into_iter().chain(idx.to_le_bytes()).chain(at.unwrap_or(0).to_le_bytes());
        bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        wire::hash(&bytes)
    })
}
