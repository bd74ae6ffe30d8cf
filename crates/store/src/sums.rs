//! Sums of calls by place, kept by differences in `total`, `session` and what is rolled up from them (`rollup.rs`).

use std::collections::{BTreeMap, HashMap};

use agenthub_core::{
    Tokens,
    price::{Band, Price, Usd},
};
use rusqlite::{params, params_from_iter};

use crate::{Sum, costs, sessions, writing::Writing};

/// What a call adds to a sum, or takes from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) calls: i64,
    /// Calls whose time is only known to the second, or from the file: part of `calls`.
    pub(crate) approximate: i64,
    pub(crate) unknown: i64,
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) cache_read: i64,
    pub(crate) cache_write: i64,
    pub(crate) thinking: i64,
    /// Calls with usage whose model has a price.
    pub(crate) priced: i64,
    /// Tokens without one.
    pub(crate) unpriced: i64,
    pub(crate) usd: Usd,
}

impl Delta {
    pub(crate) fn of(tokens: Option<Tokens>) -> Delta {
        let n = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
        let t = tokens.unwrap_or_default();
        Delta {
            calls: 1,
            approximate: 0,
            unknown: i64::from(tokens.is_none()),
            input: n(t.input),
            output: n(t.output),
            cache_read: n(t.cache_read),
            cache_write: n(t.cache_write),
            thinking: n(t.thinking),
            priced: 0,
            unpriced: 0,
            usd: Usd::ZERO,
        }
    }

    /// The same with its cost by a model's prices.
    pub(crate) fn priced(tokens: Option<Tokens>, prices: &[Price], place: &Place) -> Delta {
        let delta = Delta { approximate: i64::from(place.approximate), ..Delta::of(tokens) };
        let Some(tokens) = tokens else { return delta };
        let worth = costs::worth(prices, place.slot, Band::from_number(place.band), 1, &tokens);
        Delta { priced: worth.priced, unpriced: worth.unpriced, usd: worth.usd, ..delta }
    }

    /// In the order of the columns from `calls` on, in each table that has them.
    pub(crate) fn columns(&self) -> [i64; Sum::COLUMNS] {
        let (usd_large, usd_small) = self.usd.parts();
        [
            self.calls,
            self.unknown,
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.thinking,
            self.priced,
            self.unpriced,
            usd_large,
            usd_small,
        ]
    }

    pub(crate) fn add(&mut self, d: &Delta, sign: i64) {
        self.calls += sign * d.calls;
        self.approximate += sign * d.approximate;
        self.unknown += sign * d.unknown;
        self.input += sign * d.input;
        self.output += sign * d.output;
        self.cache_read += sign * d.cache_read;
        self.cache_write += sign * d.cache_write;
        self.thinking += sign * d.thinking;
        self.priced += sign * d.priced;
        self.unpriced += sign * d.unpriced;
        self.usd = self.usd.plus(if sign < 0 { d.usd.negated() } else { d.usd });
    }
}

/// Where in `total` a call counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) sid: i64,
    pub(crate) slot: i64,
    pub(crate) mid: i64,
    pub(crate) approximate: bool,
    pub(crate) band: u8,
}

/// The sums that change, collected and written once.
#[derive(Default)]
pub(crate) struct Differences(BTreeMap<Place, Delta>);

/// What changes of one session.
#[derive(Default)]
struct OfSession {
    delta: Delta,
    /// The first and the last slot that something was added to.
    span: Option<(i64, i64)>,
    /// A row went.
    shrank: bool,
}

impl Differences {
    pub(crate) fn count(&mut self, c: Option<(Place, Delta)>, sign: i64) {
        if let Some((place, delta)) = c {
            self.0.entry(place).or_default().add(&delta, sign);
        }
    }

    pub(crate) fn write(self, w: &mut Writing<'_>) -> rusqlite::Result<()> {
        let mut sids: Vec<i64> =
            self.0.iter().filter(|(_, d)| **d != Delta::default()).map(|(p, _)| p.sid).collect();
        sids.dedup();
        // Differences are by the prices of today, so what they change has to be by them, too.
        w.have_priced(&sids)?;
        let mut total = w.conn.prepare_cached(
            "INSERT INTO total VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             ON CONFLICT (sid, slot, mid, approximate, band) DO UPDATE SET
                 calls = calls + excluded.calls, unknown = unknown + excluded.unknown,
                 input = input + excluded.input, output = output + excluded.output,
                 cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
                 thinking = thinking + excluded.thinking, priced = priced + excluded.priced,
                 unpriced = unpriced + excluded.unpriced, usd_large = usd_large + excluded.usd_large,
                 usd_small = usd_small + excluded.usd_small",
        )?;
        let mut gone = w.conn.prepare_cached(
            "DELETE FROM total
             WHERE sid = ?1 AND slot = ?2 AND mid = ?3 AND approximate = ?4 AND band = ?5 AND calls = 0",
        )?;
        let mut of_session: HashMap<i64, OfSession> = HashMap::new();
        for (p, d) in &self.0 {
            if *d == Delta::default() {
                continue;
            }
            let place = [p.sid, p.slot, p.mid, i64::from(p.approximate), i64::from(p.band)];
            total.execute(params_from_iter(place.into_iter().chain(d.columns())))?;
            let of = of_session.entry(p.sid).or_default();
            of.delta.add(d, 1);
            if d.calls < 0 {
                of.shrank |= gone.execute(params![p.sid, p.slot, p.mid, p.approximate, p.band])? > 0;
            }
            if d.calls > 0 {
                let (first, last) = of.span.unwrap_or((p.slot, p.slot));
                of.span = Some((first.min(p.slot), last.max(p.slot)));
            }
            w.rolled_up(p, d)?;
        }
        for (sid, of) in of_session {
            sessions::add_totals(w.conn, sid, &of.delta, of.span)?;
            if of.shrank {
                sessions::find_span(w.conn, sid)?;
            }
        }
        Ok(())
    }
}
