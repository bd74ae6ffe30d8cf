//! What calls cost, kept beside their tokens in `total` and `session`, and made anew when prices change.
//!
//! Kept and not computed at each question, for a list of 100,000 sessions is to show its sum at once. A cost is linear in
//! tokens, so sums are kept by differences as tokens are, exactly. Which prices the numbers are by stands in
//! `price_stamp`, written in the same transaction as they are.
//!
//! They are made anew a number of sessions at a time, so that nobody waits for all of them. Each portion is one
//! transaction that changes every sum alike, so that at any moment all views agree (spec M6); a session that is written
//! meanwhile comes first. How far it went stands in `repricing`, and a kill costs one portion.

use std::{collections::HashMap, sync::Arc};

use agenthub_core::{
    Time, Tokens,
    price::{Band, Book, Cost, Price, Usd, fingerprint, price_at},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    Store, StoreError, calls, models, sessions,
    sums::{Delta, Place},
    writing::Writing,
};

/// `total` was first without costs: it is made anew (`calls::recount`).
pub(crate) const CREATE: &str = "
DROP TABLE total;
CREATE TABLE total (
    sid         INTEGER NOT NULL,
    slot        INTEGER NOT NULL,    -- 15-minute slots since 1970; 0 = time not known
    mid         INTEGER NOT NULL,
    approximate INTEGER NOT NULL,
    band        INTEGER NOT NULL,    -- of prompt lengths: calls of one band cost alike
    calls       INTEGER NOT NULL,
    unknown     INTEGER NOT NULL,    -- calls without usage, part of `calls`
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    thinking    INTEGER NOT NULL,
    priced      INTEGER NOT NULL,    -- calls with usage whose model has a price, part of `calls`
    unpriced    INTEGER NOT NULL,    -- tokens without a price
    usd_large   INTEGER NOT NULL,    -- the cost: 10^-5 USD,
    usd_small   INTEGER NOT NULL,    -- and 10^-15 USD
    PRIMARY KEY (sid, slot, mid, approximate, band)
) WITHOUT ROWID;
CREATE INDEX total_slot ON total (slot);
ALTER TABLE session ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN usd_large INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN usd_small INTEGER NOT NULL DEFAULT 0;
CREATE TABLE price_stamp (stamp TEXT NOT NULL);";

pub(crate) const CREATE_REPRICING: &str = "
CREATE TABLE repricing (      -- one row while costs are made anew, and none in `price_stamp` then
    stamp TEXT NOT NULL,      -- of the book that they will be by
    next  INTEGER NOT NULL    -- sessions before this `sid` are done
);";

/// Costs that are being made anew.
#[derive(Debug)]
pub(crate) struct Repricing {
    /// Sessions before this one are done.
    pub(crate) next: i64,
    /// The prices of models whose prices are others than before.
    pub(crate) models: HashMap<i64, Vec<Price>>,
}

/// What a number of calls of one model, slot and band is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Worth {
    pub(crate) priced: i64,
    pub(crate) unpriced: i64,
    pub(crate) usd: Usd,
}

/// `known` is how many of the calls told their usage.
pub(crate) fn worth(prices: &[Price], slot: i64, band: Band, known: i64, tokens: &Tokens) -> Worth {
    let at = (slot != 0).then(|| Time::of_slot(slot));
    let cost = match price_at(prices, at) {
        Some(p) => p.row.rates_in(band).cost(tokens),
        None => Cost::none(tokens),
    };
    Worth {
        priced: if price_at(prices, at).is_some() { known } else { 0 },
        unpriced: i64::try_from(cost.unpriced_tokens).unwrap_or(i64::MAX),
        usd: cost.usd,
    }
}

impl Store {
    /// Has costs be by `book`: those to come from now on, those that are there as [`Store::reprice`] is called. Says
    /// whether there are any to be made anew.
    ///
    /// # Errors
    /// When SQLite refuses; all costs are as before then.
    pub fn price_by(&mut self, book: Arc<Book>) -> Result<bool, StoreError> {
        if self.priced_by()?.as_deref() == Some(book.stamp()) {
            self.repricing = None;
        } else if self.repricing.is_none() || self.book.stamp() != book.stamp() {
            self.repricing = self.write(|tx| begin(tx, &book))?;
        }
        self.book = book;
        Ok(self.is_repricing())
    }

    /// Whether some costs are not yet by the book that was given last.
    pub fn is_repricing(&self) -> bool {
        self.repricing.is_some()
    }

    /// Leaves the costs that are not by the newest book as they are until [`Store::price_by`] is called again.
    pub fn put_off_repricing(&mut self) {
        self.repricing = None;
    }

    /// Makes the costs of so many sessions anew, in one transaction; says whether some are left.
    ///
    /// # Errors
    /// When SQLite refuses; nothing was written then.
    pub fn reprice(&mut self, sessions: u32) -> Result<bool, StoreError> {
        let Some(next) = self.repricing.as_ref().map(|r| r.next) else { return Ok(false) };
        let until = next.saturating_add(i64::from(sessions.max(1)));
        let last: i64 =
            self.read(|conn| conn.query_row("SELECT coalesce(max(sid), 0) FROM session", [], |r| r.get(0)))?;
        let stamp = self.book.stamp().to_owned();
        self.write_sums(|w| {
            let Some(now) = w.repricing() else { return Ok(()) };
            reprice(w, next, until, &now.models)?;
            if until > last {
                finish(w.conn, &now.models, &stamp)
            } else {
                w.conn.execute("UPDATE repricing SET next = ?1", [until]).map(|_| ())
            }
        })?;
        match &mut self.repricing {
            Some(now) if until <= last => now.next = until,
            _ => self.repricing = None,
        }
        Ok(self.is_repricing())
    }

    /// The stamp of the book that all costs are by; `None` before there was one, and while they are made anew.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn priced_by(&self) -> Result<Option<String>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT stamp FROM price_stamp")?.query_row([], |r| r.get(0)).optional()
        })
    }
}

/// Finds out which models' prices are others, and notes down that their costs are of both kinds from now on.
fn begin(conn: &Connection, book: &Book) -> rusqlite::Result<Option<Repricing>> {
    let mut models = HashMap::new();
    let mut names = conn.prepare("SELECT mid, number, name, label, prices FROM model")?;
    let mut rows = names.query([])?;
    while let Some(r) = rows.next()? {
        let prices = book.find(&models::from_columns(r, 1)?).map_or(&[][..], |found| found.prices);
        if r.get::<_, Option<String>>(4)?.as_deref() != Some(fingerprint(prices).as_str()) {
            models.insert(r.get::<_, i64>(0)?, prices.to_vec());
        }
    }
    if models.is_empty() {
        finish(conn, &models, book.stamp())?;
        return Ok(None);
    }
    for mid in models.keys() {
        conn.prepare_cached("UPDATE model SET prices = NULL WHERE mid = ?1")?.execute([mid])?;
    }
    let next = conn
        .query_row("SELECT next FROM repricing WHERE stamp = ?1", [book.stamp()], |r| r.get(0))
        .optional()?
        .unwrap_or(0);
    conn.execute("DELETE FROM price_stamp", [])?;
    conn.execute("DELETE FROM repricing", [])?;
    conn.execute("INSERT INTO repricing VALUES (?1, ?2)", params![book.stamp(), next])?;
    Ok(Some(Repricing { next, models }))
}

fn finish(conn: &Connection, models: &HashMap<i64, Vec<Price>>, stamp: &str) -> rusqlite::Result<()> {
    for (mid, prices) in models {
        conn.prepare_cached("UPDATE model SET prices = ?2 WHERE mid = ?1")?
            .execute(params![mid, fingerprint(prices)])?;
    }
    conn.execute("DELETE FROM repricing", [])?;
    conn.execute("DELETE FROM price_stamp", [])?;
    conn.execute("INSERT INTO price_stamp VALUES (?1)", [stamp])?;
    Ok(())
}

/// Has the calls of these models in sessions `from..until` cost by these prices.
pub(crate) fn reprice(
    w: &mut Writing<'_>,
    from: i64,
    until: i64,
    models: &HashMap<i64, Vec<Price>>,
) -> rusqlite::Result<()> {
    let conn = w.conn;
    let mut changed: Vec<(Place, Worth, Delta)> = Vec::new();
    let mut of_session: HashMap<i64, Delta> = HashMap::new();
    let mut all = conn.prepare_cached(
        "SELECT mid, sid, slot, approximate, band, calls - unknown, input, output, cache_read, cache_write, thinking,
             priced, unpriced, usd_large, usd_small FROM total WHERE sid >= ?1 AND sid < ?2",
    )?;
    let mut rows = all.query([from, until])?;
    while let Some(r) = rows.next()? {
        let mid = r.get(0)?;
        let Some(prices) = models.get(&mid) else { continue };
        let place = Place { sid: r.get(1)?, slot: r.get(2)?, mid, approximate: r.get(3)?, band: r.get(4)? };
        let before =
            Worth { priced: r.get(11)?, unpriced: r.get(12)?, usd: Usd::from_parts(r.get(13)?, r.get(14)?) };
        let band = Band::from_number(place.band);
        let worth = worth(prices, place.slot, band, r.get(5)?, &calls::tokens_from(r, 6)?);
        if worth != before {
            let delta = Delta {
                priced: worth.priced - before.priced,
                unpriced: worth.unpriced - before.unpriced,
                usd: worth.usd.plus(before.usd.negated()),
                ..Delta::default()
            };
            of_session.entry(place.sid).or_default().add(&delta, 1);
            changed.push((place, worth, delta));
        }
    }
    let mut update = conn.prepare_cached(
        "UPDATE total SET priced = ?6, unpriced = ?7, usd_large = ?8, usd_small = ?9
         WHERE sid = ?1 AND slot = ?2 AND mid = ?3 AND approximate = ?4 AND band = ?5",
    )?;
    for (p, worth, delta) in changed {
        let (large, small) = worth.usd.parts();
        update.execute(params![
            p.sid,
            p.slot,
            p.mid,
            p.approximate,
            p.band,
            worth.priced,
            worth.unpriced,
            large,
            small
        ])?;
        w.rolled_up(&p, &delta)?;
    }
    for (sid, delta) in of_session {
        sessions::add_totals(conn, sid, &delta, None)?;
    }
    Ok(())
}
