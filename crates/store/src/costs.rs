//! What calls cost, kept beside their tokens in `total` and `session`, and made anew when prices change.
//!
//! Kept and not computed at each question, for a list of 100,000 sessions is to show its sum at once. A cost is linear in
//! tokens, so sums are kept by differences as tokens are, exactly. Which prices the numbers are by stands in
//! `price_stamp`, written in the same transaction as they are.

use std::{collections::HashMap, sync::Arc};

use agenthub_core::{
    Time, Tokens,
    price::{Band, Book, Cost, Price, Usd, price_at},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{Store, StoreError, calls, models, sessions};

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

/// A row of `total` whose worth changes.
struct Changed {
    key: [i64; 5],
    worth: Worth,
}

impl Store {
    /// Has all costs be by `book`, those that are there and those to come; says whether any had to be made anew.
    ///
    /// # Errors
    /// When SQLite refuses; all costs are as before then.
    pub fn price_by(&mut self, book: Arc<Book>) -> Result<bool, StoreError> {
        let stale = self.priced_by()?.as_deref() != Some(book.stamp());
        if stale {
            self.write(|tx| reprice(tx, &book))?;
        }
        self.book = book;
        Ok(stale)
    }

    /// The stamp of the book that all costs are by; `None` before there was one.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn priced_by(&self) -> Result<Option<String>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT stamp FROM price_stamp")?.query_row([], |r| r.get(0)).optional()
        })
    }
}

fn reprice(conn: &Connection, book: &Book) -> rusqlite::Result<()> {
    let mut prices: HashMap<i64, &[Price]> = HashMap::new();
    let mut names = conn.prepare("SELECT mid, number, name, label FROM model")?;
    let mut rows = names.query([])?;
    while let Some(r) = rows.next()? {
        if let Some(found) = book.find(&models::from_columns(r, 1)?) {
            prices.insert(r.get(0)?, found.prices);
        }
    }
    let mut changed: Vec<Changed> = Vec::new();
    let mut of_session: HashMap<i64, calls::Delta> = HashMap::new();
    let mut all = conn.prepare(
        "SELECT sid, slot, mid, approximate, band, calls - unknown, input, output, cache_read, cache_write, thinking,
             priced, unpriced, usd_large, usd_small FROM total",
    )?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        let key = [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?];
        let [sid, slot, mid, _, band] = key;
        let before =
            Worth { priced: r.get(11)?, unpriced: r.get(12)?, usd: Usd::from_parts(r.get(13)?, r.get(14)?) };
        let band = Band::from_number(u8::try_from(band).unwrap_or(u8::MAX));
        let of_model = prices.get(&mid).copied().unwrap_or_default();
        let worth = worth(of_model, slot, band, r.get(5)?, &calls::tokens_from(r, 6)?);
        if worth != before {
            let delta = of_session.entry(sid).or_default();
            delta.priced += worth.priced - before.priced;
            delta.unpriced += worth.unpriced - before.unpriced;
            delta.usd = delta.usd.plus(worth.usd).plus(before.usd.negated());
            changed.push(Changed { key, worth });
        }
    }
    let mut update = conn.prepare(
        "UPDATE total SET priced = ?6, unpriced = ?7, usd_large = ?8, usd_small = ?9
         WHERE sid = ?1 AND slot = ?2 AND mid = ?3 AND approximate = ?4 AND band = ?5",
    )?;
    for Changed { key: [sid, slot, mid, approximate, band], worth } in changed {
        let (large, small) = worth.usd.parts();
        update.execute(params![
            sid,
            slot,
            mid,
            approximate,
            band,
            worth.priced,
            worth.unpriced,
            large,
            small
        ])?;
    }
    for (sid, delta) in of_session {
        sessions::add_totals(conn, sid, &delta)?;
    }
    conn.execute("DELETE FROM price_stamp", [])?;
    conn.execute("INSERT INTO price_stamp VALUES (?1)", [book.stamp()])?;
    Ok(())
}
