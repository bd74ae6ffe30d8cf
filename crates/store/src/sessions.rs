//! Table `session`: one row for every session ever seen, with the sums of the calls that it owns.

use std::collections::HashSet;

use agenthub_core::{SessionId, Time, Tool};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::{Filter, Sort, Store, StoreError, Sum, calls, finding::folded, sums::Delta, writing::Writing};

pub(crate) const CREATE: &str = "
CREATE TABLE session (
    sid           INTEGER PRIMARY KEY,
    tool          TEXT NOT NULL,
    id            TEXT NOT NULL,
    name          TEXT,
    cwd           TEXT,
    lane          TEXT NOT NULL,
    search        TEXT NOT NULL,      -- name, folder and id, folded
    parent        TEXT,               -- sub-agents: who started it
    origin        TEXT,               -- forks: the conversation copied from, once it is known
    origin_trajectory TEXT,           -- forks that name no conversation: the trajectory copied from, which finds it
    trajectory    TEXT,               -- its own
    fork_depth    INTEGER NOT NULL,   -- 0 for what is no fork; ranks owners of a call first
    model         TEXT,
    started_at    INTEGER,            -- microseconds, as all times here
    created_at    INTEGER,            -- from the conversation's own metadata; ranks owners of a call
    birth_at      INTEGER,            -- of the file
    last_activity INTEGER,
    error_at      INTEGER,            -- its newest turn failed then
    turns         INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    details       TEXT NOT NULL,      -- the engine's own JSON: context gauge, warnings
    file_gone     INTEGER NOT NULL DEFAULT 0,
    hidden        INTEGER NOT NULL DEFAULT 0,   -- deleted by the person, itself or a parent
    calls         INTEGER NOT NULL DEFAULT 0,
    unknown       INTEGER NOT NULL DEFAULT 0,
    input         INTEGER NOT NULL DEFAULT 0,
    output        INTEGER NOT NULL DEFAULT 0,
    cache_read    INTEGER NOT NULL DEFAULT 0,
    cache_write   INTEGER NOT NULL DEFAULT 0,
    thinking      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tool, id)
);
CREATE INDEX session_id ON session (id);
CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;
CREATE INDEX session_origin ON session (origin) WHERE origin IS NOT NULL;
CREATE INDEX session_active ON session (hidden, last_activity);
CREATE INDEX session_error ON session (error_at) WHERE error_at IS NOT NULL;
CREATE INDEX session_trajectory ON session (trajectory) WHERE trajectory IS NOT NULL;
CREATE INDEX session_origin_trajectory ON session (origin_trajectory) WHERE origin_trajectory IS NOT NULL;
CREATE TABLE deletion (id TEXT PRIMARY KEY) WITHOUT ROWID;   -- a copy of the person's list, see `person.rs`";

/// What a fork says of where it comes from; each part may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub conversation: Option<SessionId>,
    pub trajectory: Option<String>,
}

/// What a read knows of a session. Writing it again replaces all but the sums, a known name and a known folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub tool: Tool,
    pub name: Option<String>,
    pub cwd: Option<String>,
    pub lane: String,
    pub parent: Option<SessionId>,
    pub fork: Option<Lineage>,
    pub trajectory: Option<String>,
    pub model: Option<String>,
    pub started_at: Option<Time>,
    pub created_at: Option<Time>,
    pub birth_at: Option<Time>,
    pub last_activity: Option<Time>,
    pub error_at: Option<Time>,
    pub turns: u32,
    pub tool_calls: u32,
    /// Opaque to the store.
    pub details: String,
}

/// A session as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    pub tool: String,
    pub name: Option<String>,
    pub cwd: Option<String>,
    pub lane: String,
    pub parent: Option<String>,
    pub forked_from: Option<String>,
    pub model: Option<String>,
    pub started_at: Option<Time>,
    pub last_activity: Option<Time>,
    pub error_at: Option<Time>,
    pub turns: u32,
    pub tool_calls: u32,
    pub details: String,
    pub file_gone: bool,
    pub children: u32,
    pub sum: Sum,
}

/// Who owns a call that several sessions hold: the smallest. A fork comes after its origin, then the earlier
/// conversation, then the older file, then the id (spec S3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    fork_depth: i64,
    created_at: i64,
    birth_at: i64,
    id: String,
}

impl Rank {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

pub(crate) fn rank(conn: &Connection, sid: i64) -> rusqlite::Result<Rank> {
    conn.prepare_cached("SELECT fork_depth, created_at, birth_at, id FROM session WHERE sid = ?1")?.query_row(
        [sid],
        |r| {
            Ok(Rank {
                fork_depth: r.get(0)?,
                created_at: r.get::<_, Option<i64>>(1)?.unwrap_or(i64::MAX),
                birth_at: r.get::<_, Option<i64>>(2)?.unwrap_or(i64::MAX),
                id: r.get(3)?,
            })
        },
    )
}

/// What a session's own record says about its rank as an owner of calls, and about the ranks of its forks.
#[derive(PartialEq, Eq)]
struct Lines {
    fork: bool,
    /// As the record names it; one that its trajectory finds is no part of this.
    origin: Option<String>,
    origin_trajectory: Option<String>,
    trajectory: Option<String>,
    created_at: Option<i64>,
    birth_at: Option<i64>,
}

impl Lines {
    fn of(s: &SessionRecord) -> Lines {
        // Nothing is a fork of itself.
        let origin = s.fork.as_ref().and_then(|f| f.conversation.as_ref()).filter(|o| **o != s.id);
        let copied = s.fork.as_ref().and_then(|f| f.trajectory.clone());
        Lines {
            fork: s.fork.is_some(),
            origin: origin.map(|o| o.as_str().to_owned()),
            origin_trajectory: copied.filter(|_| origin.is_none()),
            trajectory: s.trajectory.clone(),
            created_at: s.created_at.map(Time::micros),
            birth_at: s.birth_at.map(Time::micros),
        }
    }
}

/// A row as it was before it is written again.
struct Known {
    sid: i64,
    name: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    lines: Lines,
}

fn known(conn: &Connection, s: &SessionRecord) -> rusqlite::Result<Option<Known>> {
    conn.prepare_cached(
        "SELECT sid, name, cwd, parent, fork_depth > 0, iif(origin_trajectory IS NULL, origin, NULL), origin_trajectory,
             trajectory, created_at, birth_at FROM session WHERE tool = ?1 AND id = ?2",
    )?
    .query_row([s.tool.name(), s.id.as_str()], |r| {
        Ok(Known {
            sid: r.get(0)?,
            name: r.get(1)?,
            cwd: r.get(2)?,
            parent: r.get(3)?,
            lines: Lines {
                fork: r.get(4)?,
                origin: r.get(5)?,
                origin_trajectory: r.get(6)?,
                trajectory: r.get(7)?,
                created_at: r.get(8)?,
                birth_at: r.get(9)?,
            },
        })
    })
    .optional()
}

/// A session that was written.
pub(crate) struct Written {
    pub sid: i64,
    /// It is new, or has another parent than before: a deletion may reach it now.
    pub placed: bool,
}

/// The sessions that are in the store while it is filled for the first time: what is new then need not be looked up.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    ids: HashSet<(Tool, SessionId)>,
    forks: bool,
}

/// Writes a session. Calls move when its rank, or that of its forks, changed. `fresh` is there while the store is first
/// filled.
pub(crate) fn upsert(
    w: &mut Writing<'_>,
    s: &SessionRecord,
    mut fresh: Option<&mut Fresh>,
) -> rusqlite::Result<Written> {
    let conn = w.conn;
    let lines = Lines::of(s);
    let is_new = fresh.as_mut().is_some_and(|f| {
        f.forks |= lines.fork;
        f.ids.insert((s.tool, s.id.clone()))
    });
    let known = if is_new { None } else { known(conn, s)? };
    let Some(known) = known else {
        // Sub-agents that were read before what started them.
        let orphans = if is_new { Vec::new() } else { children(conn, &s.id)? };
        w.moving(&orphans)?;
        let sid = write(conn, s, &lines, None)?;
        w.began(sid)?;
        w.moved(&orphans)?;
        // Most stores hold no fork at all, and then nobody's rank hangs on anybody else.
        let forks = match &fresh {
            Some(f) => f.forks,
            None => lines.fork || holds_forks(conn)?,
        };
        let kin = if forks { kin(conn, s, None)? } else { vec![sid] };
        if lines.fork || kin != [sid] {
            calls::reowned(w, &kin, || settle_lineage(conn, &kin))?;
        }
        return Ok(Written { sid, placed: true });
    };
    let parent = s.parent.as_ref().map(SessionId::as_str);
    let placed = parent.is_some() && parent != known.parent.as_deref();
    let moves = placed || (s.cwd.is_some() && s.cwd != known.cwd);
    let moving: &[i64] = if moves { &[known.sid] } else { &[] };
    w.moving(moving)?;
    if known.lines == lines {
        write(conn, s, &lines, Some(&known))?;
    } else {
        let kin = kin(conn, s, known.lines.trajectory.as_deref())?;
        calls::reowned(w, &kin, || {
            write(conn, s, &lines, Some(&known))?;
            write_lines(conn, known.sid, &lines)?;
            settle_lineage(conn, &kin)
        })?;
    }
    w.moved(moving)?;
    Ok(Written { sid: known.sid, placed })
}

/// The sub-agents that a session started.
fn children(conn: &Connection, id: &SessionId) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached("SELECT sid FROM session WHERE parent = ?1")?
        .query_map([id.as_str()], |r| r.get(0))?
        .collect()
}

fn holds_forks(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM session WHERE origin IS NOT NULL)
             OR EXISTS (SELECT 1 FROM session WHERE origin_trajectory IS NOT NULL)",
    )?
    .query_row([], |r| r.get(0))
}

/// The session and all whose origin or depth may hang on it: forks of its id and of its trajectory, now and before, and
/// their forks.
fn kin(conn: &Connection, s: &SessionRecord, trajectory_before: Option<&str>) -> rusqlite::Result<Vec<i64>> {
    // UNION, not UNION ALL: a circle of forks ends. `+` keeps the planner from walking all sessions of the tool.
    conn.prepare_cached(
        "WITH RECURSIVE kin (sid, id) AS (
             SELECT sid, id FROM session WHERE tool = ?1 AND id = ?2
             UNION SELECT sid, id FROM session WHERE origin_trajectory IN (?3, ?4) AND +tool = ?1
             UNION SELECT s.sid, s.id FROM kin JOIN session AS s ON s.origin = kin.id WHERE +s.tool = ?1)
         SELECT sid FROM kin",
    )?
    .query_map(params![s.tool.name(), s.id.as_str(), s.trajectory, trajectory_before], |r| r.get(0))?
    .collect()
}

/// A chain of forks counts no further than this; a circle would never end.
const DEEPEST: i64 = 64;

/// Finds the origins of forks by their trajectories, and counts how many forks deep each is. The answer hangs on the
/// stored records alone, not on the order in which they came.
fn settle_lineage(conn: &Connection, kin: &[i64]) -> rusqlite::Result<()> {
    for sid in kin {
        conn.prepare_cached(
            "UPDATE session AS f SET origin = (
                 SELECT id FROM session AS o WHERE o.trajectory = f.origin_trajectory AND +o.tool = f.tool AND o.id <> f.id
                 ORDER BY o.fork_depth > 0, o.created_at NULLS LAST, o.birth_at NULLS LAST, o.id LIMIT 1)
             WHERE sid = ?1 AND origin_trajectory IS NOT NULL",
        )?
        .execute([sid])?;
    }
    let mut up = conn.prepare_cached(
        "SELECT s.fork_depth > 0, (SELECT o.sid FROM session AS o WHERE o.id = s.origin AND o.tool = s.tool)
         FROM session AS s WHERE s.sid = ?1",
    )?;
    for sid in kin {
        let (mut depth, mut next) = (0, Some(*sid));
        while let Some(at) = next.filter(|_| depth < DEEPEST) {
            let (fork, origin): (bool, Option<i64>) = up.query_row([at], |r| Ok((r.get(0)?, r.get(1)?)))?;
            depth += i64::from(fork);
            next = origin.filter(|_| fork);
        }
        conn.prepare_cached("UPDATE session SET fork_depth = ?2 WHERE sid = ?1")?.execute([*sid, depth])?;
    }
    Ok(())
}

fn write_lines(conn: &Connection, sid: i64, l: &Lines) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE session SET origin = ?2, origin_trajectory = ?3, trajectory = ?4, fork_depth = ?5, created_at = ?6,
             birth_at = ?7 WHERE sid = ?1",
    )?
    .execute(params![sid, l.origin, l.origin_trajectory, l.trajectory, l.fork, l.created_at, l.birth_at])?;
    Ok(())
}

/// What sessions are searched by, folded anew: older formats did not put letters and their marks together.
pub(crate) fn fold_search_anew(conn: &Connection) -> rusqlite::Result<()> {
    let mut all = conn.prepare("SELECT sid, search FROM session")?;
    let mut changed = conn.prepare("UPDATE session SET search = ?2 WHERE sid = ?1")?;
    let mut rows = all.query([])?;
    let mut anew: Vec<(i64, String)> = Vec::new();
    while let Some(r) = rows.next()? {
        let known = r.get_ref(1)?.as_str()?;
        if !known.is_ascii() {
            anew.push((r.get(0)?, folded(known)));
        }
    }
    anew.iter().try_for_each(|(sid, search)| changed.execute(params![sid, search]).map(drop))
}

/// Writes all of a record but, in a row that is there already, what ranks it.
fn write(conn: &Connection, s: &SessionRecord, l: &Lines, known: Option<&Known>) -> rusqlite::Result<i64> {
    let name = s.name.as_deref().or_else(|| known?.name.as_deref());
    let cwd = s.cwd.as_deref().or_else(|| known?.cwd.as_deref());
    let search =
        folded(&[name, cwd, Some(s.id.as_str())].into_iter().flatten().collect::<Vec<_>>().join("\n"));
    let micros = |t: Option<Time>| t.map(Time::micros);
    conn.prepare_cached(
        "INSERT INTO session (tool, id, name, cwd, lane, search, parent, origin, origin_trajectory, trajectory, fork_depth,
             model, started_at, created_at, birth_at, last_activity, error_at, turns, tool_calls, details)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
         ON CONFLICT (tool, id) DO UPDATE SET
             name = excluded.name, cwd = excluded.cwd,
             lane = iif(?21, excluded.lane, lane), search = excluded.search,
             parent = coalesce(excluded.parent, parent), model = coalesce(excluded.model, model),
             started_at = coalesce(excluded.started_at, started_at),
             last_activity = max(coalesce(last_activity, excluded.last_activity),
                                 coalesce(excluded.last_activity, last_activity)),
             error_at = excluded.error_at, turns = excluded.turns, tool_calls = excluded.tool_calls,
             details = excluded.details, file_gone = 0
         RETURNING sid",
    )?
    .query_row(
        params![
            s.tool.name(),
            s.id.as_str(),
            name,
            cwd,
            s.lane,
            search,
            s.parent.as_ref().map(SessionId::as_str),
            l.origin,
            l.origin_trajectory,
            l.trajectory,
            l.fork,
            s.model,
            micros(s.started_at),
            l.created_at,
            l.birth_at,
            micros(s.last_activity),
            micros(s.error_at),
            s.turns,
            s.tool_calls,
            s.details,
            // The lane of a session without a folder is its own; one that had a folder keeps its lane.
            s.cwd.is_some() || cwd.is_none(),
        ],
        |r| r.get(0),
    )
}

/// Adds to a session's sums; `span` are the first and the last slot in which it has more calls now.
pub(crate) fn add_totals(
    conn: &Connection,
    sid: i64,
    d: &Delta,
    span: Option<(i64, i64)>,
) -> rusqlite::Result<()> {
    let (first, last) = span.unzip();
    conn.prepare_cached(
        "UPDATE session SET calls = calls + ?2, unknown = unknown + ?3, input = input + ?4, output = output + ?5,
             cache_read = cache_read + ?6, cache_write = cache_write + ?7, thinking = thinking + ?8,
             priced = priced + ?9, unpriced = unpriced + ?10, usd_large = usd_large + ?11, usd_small = usd_small + ?12,
             approximate = approximate + ?13, first_slot = coalesce(min(first_slot, ?14), first_slot, ?14),
             last_slot = coalesce(max(last_slot, ?15), last_slot, ?15)
         WHERE sid = ?1",
    )?
    .execute(params_from_iter(
        std::iter::once(sid).chain(d.columns()).map(Some).chain([Some(d.approximate), first, last]),
    ))?;
    Ok(())
}

/// Finds out between which slots a session has calls, after some have gone.
pub(crate) fn find_span(conn: &Connection, sid: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE session SET first_slot = (SELECT min(slot) FROM total WHERE sid = ?1),
             last_slot = (SELECT max(slot) FROM total WHERE sid = ?1) WHERE sid = ?1",
    )?
    .execute([sid])?;
    Ok(())
}

/// Before all sums are made anew.
pub(crate) fn forget_totals(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "UPDATE session SET calls = 0, unknown = 0, input = 0, output = 0, cache_read = 0, cache_write = 0, thinking = 0,
             priced = 0, unpriced = 0, usd_large = 0, usd_small = 0, approximate = 0, first_slot = NULL, last_slot = NULL",
    )
}

pub(crate) fn set_file_gone(
    conn: &Connection,
    tool: Tool,
    id: &SessionId,
    gone: bool,
) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE session SET file_gone = ?3 WHERE tool = ?1 AND id = ?2")?
        .execute(params![tool.name(), id.as_str(), gone])?;
    Ok(())
}

pub(crate) const COLUMNS: &str =
    "s.id, s.tool, s.name, s.cwd, s.lane, s.parent, s.origin, s.model, s.started_at, s.last_activity,
    s.error_at, s.turns, s.tool_calls, s.details, s.file_gone,
    (SELECT count(*) FROM session AS c WHERE c.parent = s.id AND +c.hidden = 0),
    s.calls, s.unknown, s.input, s.output, s.cache_read, s.cache_write, s.thinking, s.priced, s.unpriced, s.usd_large,
    s.usd_small";

pub(crate) fn row(r: &Row<'_>) -> rusqlite::Result<Option<SessionRow>> {
    let id: String = r.get(0)?;
    let Some(id) = SessionId::parse(&id) else { return Ok(None) };
    let time = |i| r.get::<_, Option<i64>>(i).map(|t| t.map(Time::from_micros));
    Ok(Some(SessionRow {
        id,
        tool: r.get(1)?,
        name: r.get(2)?,
        cwd: r.get(3)?,
        lane: r.get(4)?,
        parent: r.get(5)?,
        forked_from: r.get(6)?,
        model: r.get(7)?,
        started_at: time(8)?,
        last_activity: time(9)?,
        error_at: time(10)?,
        turns: r.get(11)?,
        tool_calls: r.get(12)?,
        details: r.get(13)?,
        file_gone: r.get(14)?,
        children: r.get(15)?,
        sum: Sum::from_columns(r, 16)?,
    }))
}

impl Store {
    /// One session, unless the person deleted it.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let f = Filter { ids: Some(vec![id.clone()]), ..Filter::default() };
        Ok(self.sessions(&f, Sort::Active, false, 0, 1)?.into_iter().next())
    }

    /// Who started a session, as it is written down; `None` also for one that is not here.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        self.read(|conn| {
            let found: Option<Option<String>> = conn
                .prepare_cached("SELECT parent FROM session WHERE id = ?1 AND +tool = 'antigravity'")?
                .query_row([id.as_str()], |r| r.get(0))
                .optional()?;
            Ok(found.flatten().and_then(|parent| SessionId::parse(&parent)))
        })
    }

    /// Sessions that may stand on the board: active since `since`, or failed since `errors_since`, or named.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn recent(
        &self,
        since: Time,
        errors_since: Time,
        named: &[SessionId],
    ) -> Result<Vec<SessionId>, StoreError> {
        self.read(|conn| {
            let mut ids: Vec<String> = conn
                .prepare_cached(
                    "SELECT id FROM session WHERE hidden = 0 AND last_activity >= ?1 AND +tool = 'antigravity'
                     UNION ALL
                     SELECT id FROM session WHERE error_at >= ?2 AND +hidden = 0 AND +tool = 'antigravity'",
                )?
                .query_map([since.micros(), errors_since.micros()], |r| r.get(0))?
                .collect::<Result<_, _>>()?;
            ids.extend(named.iter().map(|id| id.as_str().to_owned()));
            ids.sort();
            ids.dedup();
            Ok(ids.iter().filter_map(|id| SessionId::parse(id)).collect())
        })
    }

    /// Forks of a session, by id and name.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn forks(&self, id: &SessionId) -> Result<Vec<(SessionId, Option<String>)>, StoreError> {
        self.read(|conn| {
            // `+` bars the index that begins with `hidden`: it gives the order, and has all sessions walked.
            conn.prepare_cached(
                "SELECT id, name FROM session WHERE origin = ?1 AND +hidden = 0 ORDER BY started_at, id",
            )?
            .query_map([id.as_str()], |r| Ok((r.get::<_, String>(0)?, r.get(1)?)))?
            .filter_map(|r| r.map(|(id, name)| SessionId::parse(&id).map(|id| (id, name))).transpose())
            .collect()
        })
    }

    /// Sessions whose ids begin like this, with their names, at most `most`.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn beginning(&self, start: &str, most: u32) -> Result<Vec<(SessionId, Option<String>)>, StoreError> {
        // Behind every digit of a UUID.
        let end = format!("{start}g");
        self.read(|conn| {
            // `+` as in `forks`.
            conn.prepare_cached(
                "SELECT id, name FROM session WHERE +hidden = 0 AND id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
            )?
            .query_map(params![start, end, most], |r| Ok((r.get::<_, String>(0)?, r.get(1)?)))?
            .filter_map(|r| r.map(|(id, name)| Some((SessionId::parse(&id)?, name))).transpose())
            .collect()
        })
    }
}
