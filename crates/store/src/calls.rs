//! Tables `sighting` and `total`: which call was seen in which conversation, and the sums that follow.
//!
//! A conversation's set of sightings only grows. Each call belongs to one session, its owner: the one of lowest rank
//! among those that hold a copy. `total` holds the sums of owned calls per session, model, 15-minute slot and band of
//! prompt lengths, with what they cost (see `costs.rs`), and is kept by differences in the same transaction, so that one
//! more call costs the same in a session of 5,000.
//!
//! Sightings lie together by session, so that what one read brings is written to few pages; keys are random. Rows of
//! `session` and `model` are never deleted, so nothing has to be checked against them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use agenthub_core::{
    AtSource, CallKey, CallKind, SessionId, Sighting, Stamp, Time, Tokens,
    price::{Band, Book},
};
use foldhash::fast::RandomState;
use rusqlite::{Connection, Row, params};

use crate::{
    Store, StoreError, models, sessions,
    sums::{Delta, Differences, Place},
    writing::{Named, Writing},
};

pub(crate) const CREATE: &str = "
CREATE TABLE sighting (
    key         TEXT NOT NULL,
    sid         INTEGER NOT NULL,
    kind        INTEGER NOT NULL,    -- 0 a turn's call, 1 a background call
    mid         INTEGER NOT NULL,
    usage       INTEGER NOT NULL,    -- 0: the row had no usage message; its numbers are unknown, not zero
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    thinking    INTEGER NOT NULL,
    at          INTEGER,             -- microseconds
    at_source   INTEGER,             -- 0 request, 1 step, 2 transcript, 3 file
    PRIMARY KEY (sid, key)
) WITHOUT ROWID;
CREATE TABLE total (
    sid         INTEGER NOT NULL,
    slot        INTEGER NOT NULL,    -- 15-minute slots since 1970; 0 = time not known
    mid         INTEGER NOT NULL,
    approximate INTEGER NOT NULL,
    calls       INTEGER NOT NULL,
    unknown     INTEGER NOT NULL,    -- calls without usage, part of `calls`
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    thinking    INTEGER NOT NULL,
    PRIMARY KEY (sid, slot, mid, approximate)
) WITHOUT ROWID;
CREATE INDEX total_slot ON total (slot);";

/// The keys that are in the store while it is filled for the first time, by hash: a new one then needs no look-up. The
/// index on keys, whose places are all over it, is made when the first look-up needs it, else at the end.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    keys: HashSet<u64, RandomState>,
    hashes: RandomState,
    indexed: bool,
}

/// Makes the index on keys, if it is not there.
pub(crate) fn index_keys(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE INDEX IF NOT EXISTS sighting_key ON sighting (key)")
}

/// Takes the index on keys away, for a first filling.
pub(crate) fn drop_key_index(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP INDEX IF EXISTS sighting_key")
}

/// A stored sighting.
#[derive(Clone)]
struct Seen {
    sid: i64,
    sighting: Sighting,
}

/// Adds one conversation's sightings. `fresh` is there while the store is first filled.
pub(crate) fn add(
    w: &mut Writing<'_>,
    sid: i64,
    sightings: &[Sighting],
    mut fresh: Option<&mut Fresh>,
) -> rusqlite::Result<()> {
    let conn = w.conn;
    let mut ranks = HashMap::new();
    let mut differences = Differences::default();
    for s in sightings {
        if fresh.as_mut().is_some_and(|f| f.keys.insert(f.hashes.hash_one(&s.key))) {
            let named = w.named(&s.model)?;
            insert(conn, sid, s, named.mid)?;
            differences.count(Some(placed(sid, s, named)), 1);
            continue;
        }
        if let Some(f) = fresh.as_mut().filter(|f| !f.indexed) {
            index_keys(conn)?;
            f.indexed = true;
        }
        let before = seen(conn, &s.key)?;
        let (own, mut after): (Vec<Seen>, Vec<Seen>) = before.iter().cloned().partition(|b| b.sid == sid);
        let known = own.into_iter().next().map(|b| b.sighting);
        let merged = match known.clone() {
            Some(known) => known.merged(s.clone()),
            None => s.clone(),
        };
        if known.as_ref() == Some(&merged) {
            continue;
        }
        insert(conn, sid, &merged, w.named(&merged.model)?.mid)?;
        after.push(Seen { sid, sighting: merged });
        differences.count(counted(w, &before, &mut ranks)?, -1);
        differences.count(counted(w, &after, &mut ranks)?, 1);
    }
    differences.write(w)
}

fn insert(conn: &Connection, sid: i64, s: &Sighting, mid: i64) -> rusqlite::Result<()> {
    let d = Delta::of(s.tokens);
    conn.prepare_cached(
        "INSERT INTO sighting (sid, key, kind, mid, usage, input, output, cache_read, cache_write, thinking, at, at_source)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (sid, key) DO UPDATE SET kind = excluded.kind, mid = excluded.mid, usage = excluded.usage,
             input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
             cache_write = excluded.cache_write, thinking = excluded.thinking, at = excluded.at,
             at_source = excluded.at_source",
    )?
    .execute(params![
        sid,
        s.key.0,
        s.kind == CallKind::Background,
        mid,
        s.tokens.is_some(),
        d.input,
        d.output,
        d.cache_read,
        d.cache_write,
        d.thinking,
        s.stamp.map(|s| s.at.micros()),
        s.stamp.map(|s| source_number(s.source)),
    ])?;
    Ok(())
}

/// Runs `change`, which changes ranks of the sessions `sids`, and moves the calls that they share to their new owners.
pub(crate) fn reowned(
    w: &mut Writing<'_>,
    sids: &[i64],
    change: impl FnOnce() -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let conn = w.conn;
    index_keys(conn)?;
    let mut shared: BTreeSet<String> = BTreeSet::new();
    for sid in sids {
        let mut keys = conn.prepare_cached(
            "SELECT key FROM sighting AS s WHERE sid = ?1
             AND EXISTS (SELECT 1 FROM sighting AS o WHERE o.key = s.key AND o.sid <> ?1)",
        )?;
        let mut rows = keys.query([sid])?;
        while let Some(row) = rows.next()? {
            shared.insert(row.get(0)?);
        }
    }
    let mut differences = Differences::default();
    let mut ranks = HashMap::new();
    let all = shared.into_iter().map(|k| seen(conn, &CallKey(k))).collect::<Result<Vec<_>, _>>()?;
    for copies in &all {
        differences.count(counted(w, copies, &mut ranks)?, -1);
    }
    change()?;
    ranks.clear();
    for copies in &all {
        differences.count(counted(w, copies, &mut ranks)?, 1);
    }
    differences.write(w)
}

/// Where a call counts, and what: the owner is the copy of lowest rank, the numbers are those of all copies merged.
fn counted(
    w: &mut Writing<'_>,
    copies: &[Seen],
    ranks: &mut HashMap<i64, sessions::Rank>,
) -> rusqlite::Result<Option<(Place, Delta)>> {
    let Some((first, rest)) = copies.split_first() else { return Ok(None) };
    let mut owner = first.sid;
    let mut merged = first.sighting.clone();
    for c in rest {
        for sid in [owner, c.sid] {
            if let std::collections::hash_map::Entry::Vacant(v) = ranks.entry(sid) {
                v.insert(sessions::rank(w.conn, sid)?);
            }
        }
        if ranks.get(&c.sid) < ranks.get(&owner) {
            owner = c.sid;
        }
        merged = merged.merged(c.sighting.clone());
    }
    let named = w.named(&merged.model)?;
    Ok(Some(placed(owner, &merged, named)))
}

fn placed(owner: i64, s: &Sighting, named: Named<'_>) -> (Place, Delta) {
    let place = Place {
        sid: owner,
        slot: s.stamp.map_or(0, |s| s.at.slot()),
        mid: named.mid,
        approximate: s.stamp.is_none_or(Stamp::approximate),
        band: s.tokens.as_ref().map_or(Band::default(), Band::of).number(),
    };
    (place, Delta::priced(s.tokens, named.prices, &place))
}

/// Makes all of `total` anew from what was seen, without prices.
pub(crate) fn recount(conn: &Connection) -> rusqlite::Result<()> {
    index_keys(conn)?;
    conn.execute_batch("DELETE FROM total")?;
    sessions::forget_totals(conn)?;
    let book = Book::default();
    let mut w = Writing::new(conn, &book, false, None);
    let mut ranks = HashMap::new();
    let mut differences = Differences::default();
    let mut copies: Vec<Seen> = Vec::new();
    let mut all = conn.prepare(
        "SELECT sid, kind, usage, input, output, cache_read, cache_write, thinking, at, at_source,
                number, name, label, key FROM sighting JOIN model USING (mid) ORDER BY key",
    )?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        let seen = Seen { sid: r.get(0)?, sighting: from_row(r, CallKey(r.get(13)?))? };
        if copies.first().is_some_and(|c| c.sighting.key != seen.sighting.key) {
            differences.count(counted(&mut w, &copies, &mut ranks)?, 1);
            copies.clear();
        }
        copies.push(seen);
    }
    differences.count(counted(&mut w, &copies, &mut ranks)?, 1);
    differences.write(&mut w)
}

fn seen(conn: &Connection, key: &CallKey) -> rusqlite::Result<Vec<Seen>> {
    conn.prepare_cached(
        "SELECT sid, kind, usage, input, output, cache_read, cache_write, thinking, at, at_source,
                number, name, label FROM sighting JOIN model USING (mid) WHERE key = ?1",
    )?
    .query_map([&key.0], |r| Ok(Seen { sid: r.get(0)?, sighting: from_row(r, key.clone())? }))?
    .collect()
}

fn from_row(r: &Row<'_>, key: CallKey) -> rusqlite::Result<Sighting> {
    let at: Option<i64> = r.get(8)?;
    Ok(Sighting {
        key,
        kind: if r.get::<_, i64>(1)? == 0 { CallKind::Turn } else { CallKind::Background },
        model: models::from_columns(r, 10)?,
        tokens: if r.get(2)? { Some(tokens_from(r, 3)?) } else { None },
        stamp: match at {
            Some(us) => Some(Stamp { source: source_from(r.get(9)?), at: Time::from_micros(us) }),
            None => None,
        },
    })
}

/// Columns `key, kind, usage, input, …, at_source, number, name, label`.
pub(crate) fn from_columns(r: &Row<'_>) -> rusqlite::Result<Sighting> {
    from_row(r, CallKey(r.get(0)?))
}

/// Columns `input, output, cache_read, cache_write, thinking` from `first` on.
pub(crate) fn tokens_from(r: &Row<'_>, first: usize) -> rusqlite::Result<Tokens> {
    let n = |i| r.get::<_, i64>(first + i).map(|v| u64::try_from(v).unwrap_or(0));
    Ok(Tokens { input: n(0)?, output: n(1)?, cache_read: n(2)?, cache_write: n(3)?, thinking: n(4)? })
}

const fn source_number(s: AtSource) -> i64 {
    match s {
        AtSource::Request => 0,
        AtSource::Step => 1,
        AtSource::Transcript => 2,
        AtSource::File => 3,
    }
}

const fn source_from(n: i64) -> AtSource {
    match n {
        0 => AtSource::Request,
        1 => AtSource::Step,
        2 => AtSource::Transcript,
        _ => AtSource::File,
    }
}

impl Store {
    /// The calls of a session that count for another one, which is older or was copied from, with that one's id.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn copied_calls(&self, id: &SessionId) -> Result<HashMap<CallKey, SessionId>, StoreError> {
        self.read(|conn| {
            // The first filling makes the index on keys at its end; without it this would take minutes.
            let indexed: bool = conn.query_row(
                "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'sighting_key')",
                [],
                |r| r.get(0),
            )?;
            let mut owners: HashMap<CallKey, sessions::Rank> = HashMap::new();
            if !indexed {
                return Ok(HashMap::new());
            }
            let mut ranks: HashMap<i64, sessions::Rank> = HashMap::new();
            let mut copies = conn.prepare_cached(
                "SELECT s.key, s.sid, o.sid FROM sighting AS s JOIN sighting AS o ON o.key = s.key AND o.sid <> s.sid
                 WHERE s.sid = (SELECT sid FROM session WHERE id = ?1)",
            )?;
            let mut rows = copies.query([id.as_str()])?;
            while let Some(r) = rows.next()? {
                let (key, own, other): (String, i64, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
                for sid in [own, other] {
                    if let std::collections::hash_map::Entry::Vacant(v) = ranks.entry(sid) {
                        v.insert(sessions::rank(conn, sid)?);
                    }
                }
                let (Some(own), Some(other)) = (ranks.get(&own), ranks.get(&other)) else { continue };
                let owner = owners.entry(CallKey(key)).or_insert_with(|| own.clone());
                if other < owner {
                    *owner = other.clone();
                }
            }
            let other = |(key, owner): (CallKey, sessions::Rank)| {
                Some((key, SessionId::parse(owner.id()).filter(|o| o != id)?))
            };
            Ok(owners.into_iter().filter_map(other).collect())
        })
    }

    /// All sightings of one session, whether it owns the calls or not, in the order of their keys.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn sightings(&self, id: &SessionId) -> Result<Vec<Sighting>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT key, kind, usage, input, output, cache_read, cache_write, thinking, at, at_source,
                        number, name, label
                 FROM sighting JOIN model USING (mid) WHERE sid = (SELECT sid FROM session WHERE id = ?1) ORDER BY key",
            )?
            .query_map([id.as_str()], from_columns)?
            .collect()
        })
    }
}
