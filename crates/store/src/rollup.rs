//! Table `used`: the sums of sessions that are not deleted, by blocks of time, so that a view of 100,000 sessions reads
//! no more rows than it shows.
//!
//! Blocks are a slot, and 16, 256 and 4,096 slots wide, aligned; any stretch of time is a few of each. So no view depends
//! on a time zone here, and a day of any zone is put together from its blocks. Kept by differences in the transaction that
//! changes `total`; while there is no row in `rolled_up`, during a first filling, `total` is asked itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use crate::{
    Store, StoreError,
    sums::{Delta, Place},
};

pub(crate) const CREATE: &str = "
CREATE TABLE folder (fid INTEGER PRIMARY KEY, cwd TEXT NOT NULL UNIQUE);
CREATE TABLE used (
    cut         INTEGER NOT NULL,    -- 0 by model, 1 by folder, 2 sub-agents and other sessions
    grain       INTEGER NOT NULL,    -- blocks of 16^grain slots
    bucket      INTEGER NOT NULL,    -- the slots' number divided by that
    which       INTEGER NOT NULL,    -- `mid`; `fid`, 0 for no folder; 1 for a sub-agent whose parent is here
    sessions    INTEGER NOT NULL,    -- of the third cut only
    approximate INTEGER NOT NULL,    -- calls whose time is only about known
    calls       INTEGER NOT NULL,    -- this and the following as in `total`
    unknown     INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    thinking    INTEGER NOT NULL,
    priced      INTEGER NOT NULL,
    unpriced    INTEGER NOT NULL,
    usd_large   INTEGER NOT NULL,
    usd_small   INTEGER NOT NULL,
    PRIMARY KEY (cut, grain, bucket, which)
) WITHOUT ROWID;
CREATE TABLE rolled_up (yes INTEGER NOT NULL);
ALTER TABLE session ADD COLUMN approximate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN first_slot INTEGER;
ALTER TABLE session ADD COLUMN last_slot INTEGER;
UPDATE session SET
    approximate = (SELECT coalesce(sum(calls), 0) FROM total WHERE total.sid = session.sid AND approximate = 1),
    first_slot = (SELECT min(slot) FROM total WHERE total.sid = session.sid),
    last_slot = (SELECT max(slot) FROM total WHERE total.sid = session.sid);";

/// Ways in which sums are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cut {
    Model = 0,
    Folder = 1,
    /// Not by time.
    Lineage = 2,
}

/// A block of each grain is 16 of the one before it.
const SHIFT: u32 = 4;
pub(crate) const TOP: u32 = 3;
/// Sums by folder begin at this grain: most slots have as many folders as sessions, and `total` has those.
pub(crate) const FOLDER_FLOOR: u32 = 1;

const SUMS: &str =
    "sum(calls), sum(unknown), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(thinking),
    sum(priced), sum(unpriced), sum(usd_large), sum(usd_small)";

/// Blocks of one grain: `first` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) grain: u32,
    pub(crate) first: i64,
    pub(crate) end: i64,
}

/// The fewest runs of blocks that are the slots `from..until`.
pub(crate) fn runs(from: i64, until: i64) -> Vec<Run> {
    // Beyond any time that there is; whole blocks of the widest grain.
    const END: i64 = 1 << 48;
    let (mut from, mut until) = (from.clamp(-END, END), until.clamp(-END, END));
    let mut runs = Vec::new();
    let mut add = |grain, first, end| {
        if first < end {
            runs.push(Run { grain, first, end });
        }
    };
    for grain in 0..TOP {
        let width = 1 << SHIFT;
        let (inner_from, inner_until) = ((from + width - 1) >> SHIFT, until >> SHIFT);
        if inner_from >= inner_until {
            add(grain, from, until);
            return runs;
        }
        add(grain, from, inner_from << SHIFT);
        add(grain, inner_until << SHIFT, until);
        (from, until) = (inner_from, inner_until);
    }
    add(TOP, from, until);
    runs
}

/// The slots of a block.
pub(crate) fn slots(grain: u32, bucket: i64) -> std::ops::Range<i64> {
    bucket << (SHIFT * grain)..(bucket + 1) << (SHIFT * grain)
}

/// What decides where the sums of a session are rolled up to; `None`: nowhere, for it is deleted.
#[derive(Clone, Copy, Debug)]
struct Attributes {
    fid: i64,
    below: bool,
}

/// The differences of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Rollup {
    /// By cut, the bucket of its finest grain, and which.
    sums: BTreeMap<(Cut, i64, i64), Delta>,
    sessions: [i64; 2],
    attributes: HashMap<i64, Option<Attributes>>,
    folders: HashMap<String, i64>,
    /// Sessions that are nowhere at the moment.
    moving: HashSet<i64>,
}

impl Rollup {
    pub(crate) fn count(&mut self, conn: &Connection, p: &Place, d: &Delta) -> rusqlite::Result<()> {
        if self.moving.contains(&p.sid) {
            return Ok(());
        }
        if let Some(a) = self.attributes(conn, p.sid)? {
            self.add(p.slot, p.mid, a, d, 1);
        }
        Ok(())
    }

    fn add(&mut self, slot: i64, mid: i64, a: Attributes, d: &Delta, sign: i64) {
        let block = slot >> (SHIFT * FOLDER_FLOOR);
        for key in
            [(Cut::Model, slot, mid), (Cut::Folder, block, a.fid), (Cut::Lineage, 0, i64::from(a.below))]
        {
            self.sums.entry(key).or_default().add(d, sign);
        }
    }

    fn attributes(&mut self, conn: &Connection, sid: i64) -> rusqlite::Result<Option<Attributes>> {
        if let Some(known) = self.attributes.get(&sid) {
            return Ok(*known);
        }
        let (hidden, cwd, below): (bool, Option<String>, bool) = conn
            .prepare_cached(
                "SELECT hidden, cwd, parent IS NOT NULL AND EXISTS (SELECT 1 FROM session AS p WHERE p.id = s.parent)
                 FROM session AS s WHERE sid = ?1",
            )?
            .query_row([sid], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let found = if hidden { None } else { Some(Attributes { fid: self.fid(conn, cwd)?, below }) };
        self.attributes.insert(sid, found);
        Ok(found)
    }

    fn fid(&mut self, conn: &Connection, cwd: Option<String>) -> rusqlite::Result<i64> {
        let Some(cwd) = cwd else { return Ok(0) };
        if let Some(fid) = self.folders.get(&cwd) {
            return Ok(*fid);
        }
        let known = conn
            .prepare_cached("SELECT fid FROM folder WHERE cwd = ?1")?
            .query_row([&cwd], |r| r.get(0))
            .optional()?;
        let fid = match known {
            Some(fid) => fid,
            None => conn.prepare_cached("INSERT INTO folder (cwd) VALUES (?1)")?.insert([&cwd])?,
        };
        self.folders.insert(cwd, fid);
        Ok(fid)
    }

    /// A session was written for the first time.
    pub(crate) fn began(&mut self, conn: &Connection, sid: i64) -> rusqlite::Result<()> {
        if let Some(a) = self.attributes(conn, sid)? {
            self.count_session(a, 1);
        }
        Ok(())
    }

    fn count_session(&mut self, a: Attributes, sign: i64) {
        let [others, below] = &mut self.sessions;
        *(if a.below { below } else { others }) += sign;
    }

    /// Takes all of these sessions out, as they are now, until they have [`Rollup::moved`].
    pub(crate) fn moving(&mut self, conn: &Connection, sids: &[i64]) -> rusqlite::Result<()> {
        for sid in sids {
            // What else of it is pending is in `total` already.
            self.whole(conn, *sid, -1)?;
            self.moving.insert(*sid);
        }
        Ok(())
    }

    /// Puts them back, as they are by now.
    pub(crate) fn moved(&mut self, conn: &Connection, sids: &[i64]) -> rusqlite::Result<()> {
        for sid in sids {
            self.moving.remove(sid);
            self.attributes.remove(sid);
            self.whole(conn, *sid, 1)?;
        }
        Ok(())
    }

    fn whole(&mut self, conn: &Connection, sid: i64, sign: i64) -> rusqlite::Result<()> {
        let Some(a) = self.attributes(conn, sid)? else { return Ok(()) };
        self.count_session(a, sign);
        let mut all = conn.prepare_cached(
            "SELECT slot, mid, approximate * calls, calls, unknown, input, output, cache_read, cache_write, thinking,
                 priced, unpriced, usd_large, usd_small FROM total WHERE sid = ?1",
        )?;
        let mut rows = all.query([sid])?;
        while let Some(r) = rows.next()? {
            let delta = Delta {
                approximate: r.get(2)?,
                calls: r.get(3)?,
                unknown: r.get(4)?,
                input: r.get(5)?,
                output: r.get(6)?,
                cache_read: r.get(7)?,
                cache_write: r.get(8)?,
                thinking: r.get(9)?,
                priced: r.get(10)?,
                unpriced: r.get(11)?,
                usd: agenthub_core::price::Usd::from_parts(r.get(12)?, r.get(13)?),
            };
            self.add(r.get(0)?, r.get(1)?, a, &delta, sign);
        }
        Ok(())
    }

    /// Writes all differences, each into every grain.
    pub(crate) fn write(self, conn: &Connection) -> rusqlite::Result<()> {
        let mut all: BTreeMap<(Cut, u32, i64, i64), (i64, Delta)> = BTreeMap::new();
        for ((cut, bucket, which), delta) in &self.sums {
            let (floor, top) = match cut {
                Cut::Model => (0, TOP),
                Cut::Folder => (FOLDER_FLOOR, TOP),
                Cut::Lineage => (0, 0),
            };
            for grain in floor..=top {
                let wide = bucket >> (SHIFT * (grain - floor));
                all.entry((*cut, grain, wide, *which)).or_default().1.add(delta, 1);
            }
        }
        for (below, sessions) in (0..).zip(self.sessions) {
            all.entry((Cut::Lineage, 0, 0, below)).or_default().0 += sessions;
        }
        let mut upsert = conn.prepare_cached(
            "INSERT INTO used VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT (cut, grain, bucket, which) DO UPDATE SET
                 sessions = sessions + excluded.sessions, approximate = approximate + excluded.approximate,
                 calls = calls + excluded.calls, unknown = unknown + excluded.unknown,
                 input = input + excluded.input, output = output + excluded.output,
                 cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
                 thinking = thinking + excluded.thinking, priced = priced + excluded.priced,
                 unpriced = unpriced + excluded.unpriced, usd_large = usd_large + excluded.usd_large,
                 usd_small = usd_small + excluded.usd_small",
        )?;
        let mut gone = conn.prepare_cached(
            "DELETE FROM used WHERE cut = ?1 AND grain = ?2 AND bucket = ?3 AND which = ?4 AND calls = 0 AND sessions = 0",
        )?;
        for ((cut, grain, bucket, which), (sessions, d)) in all {
            if sessions == 0 && d == Delta::default() {
                continue;
            }
            let place = [cut as i64, i64::from(grain), bucket, which, sessions, d.approximate];
            upsert.execute(params_from_iter(place.into_iter().chain(d.columns())))?;
            if d.calls < 0 || sessions < 0 {
                gone.execute(params![cut as i64, grain, bucket, which])?;
            }
        }
        Ok(())
    }
}

/// Whether the sums are rolled up.
pub(crate) fn is_there(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM rolled_up)")?.query_row([], |r| r.get(0))
}

/// Rolls all sums up, from `total` and `session` as they are.
fn build(conn: &Connection) -> rusqlite::Result<()> {
    const FROM: &str = "FROM total AS t JOIN session AS s USING (sid)";
    let sums = SUMS.replace("sum(", "sum(t.");
    let approximate = "sum(t.approximate * t.calls)";
    let wider = |cut: i64, grain: u32| {
        format!(
            "INSERT INTO used SELECT {cut}, {grain}, bucket >> {SHIFT}, which, 0, sum(approximate), {SUMS} FROM used
             WHERE cut = {cut} AND grain = {} GROUP BY bucket >> {SHIFT}, which;",
            grain - 1
        )
    };
    conn.execute_batch(&format!(
        "DELETE FROM used;
         INSERT OR IGNORE INTO folder (cwd) SELECT DISTINCT cwd FROM session WHERE hidden = 0 AND cwd IS NOT NULL;
         INSERT INTO used SELECT 0, 0, t.slot, t.mid, 0, {approximate}, {sums} {FROM}
             WHERE +s.hidden = 0 GROUP BY t.slot, t.mid;
         {}
         INSERT INTO used SELECT 1, {FOLDER_FLOOR}, t.slot >> {SHIFT}, coalesce(f.fid, 0), 0, {approximate}, {sums}
             {FROM} LEFT JOIN folder AS f ON f.cwd = s.cwd
             WHERE +s.hidden = 0 GROUP BY t.slot >> {SHIFT}, coalesce(f.fid, 0);
         {}
         INSERT INTO used SELECT 2, 0, 0,
             s.parent IS NOT NULL AND EXISTS (SELECT 1 FROM session AS p WHERE p.id = s.parent) AS below,
             count(*), sum(approximate), {SUMS} FROM session AS s WHERE +hidden = 0 GROUP BY below;
         INSERT INTO rolled_up VALUES (1);",
        (1..=TOP).map(|grain| wider(0, grain)).collect::<String>(),
        (FOLDER_FLOOR + 1..=TOP).map(|grain| wider(1, grain)).collect::<String>(),
    ))
}

impl Store {
    /// Rolls the sums up, if they are not: after a first filling, and after an update from before there was this. Until
    /// then views are right, and slower. A filling that is under way goes on to do without.
    ///
    /// # Errors
    /// When SQLite refuses; it is tried again at the next call.
    pub fn roll_up(&mut self) -> Result<(), StoreError> {
        if self.rolled_up || self.filling {
            return Ok(());
        }
        self.write(build)?;
        self.rolled_up = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_the_slots_that_were_asked_for_each_once(from in -9_000..9_000i64, length in 0..20_000i64) {
            let found = runs(from, from + length);
            prop_assert!(found.len() <= 2 * TOP as usize + 1);
            let mut seen = BTreeSet::new();
            for run in found {
                prop_assert!(run.grain == TOP || run.end - run.first < 32);
                for slot in (run.first..run.end).flat_map(|bucket| slots(run.grain, bucket)) {
                    prop_assert!(seen.insert(slot), "{slot} twice");
                }
            }
            prop_assert_eq!(seen, (from..from + length).collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn all_of_time_is_one_run() {
        assert_eq!(runs(i64::MIN, i64::MAX).len(), 1);
        assert_eq!(runs(5, 5), []);
        assert_eq!(runs(i64::MAX, i64::MIN), []);
    }
}
