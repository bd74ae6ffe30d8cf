//! Making costs anew when prices change, and fetching newer prices once a week, if the person switched that on (spec M1,
//! P4).

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use agenthub_core::Time;
use jiff::Timestamp;

use super::{Engine, Input};
use crate::{pricing::sync, settings::Zone};

const WEEK_MS: i64 = 7 * 24 * 3_600_000;
/// After an attempt that failed, and at the most.
const LEAST_GAP: Duration = Duration::from_secs(6 * 3_600);

/// So many sessions' costs are made anew at a time: some 50 ms, in which nothing else is done.
const PORTION: u32 = 1_000;

impl Engine {
    /// Makes a portion of the costs anew that are not by today's prices yet.
    pub(super) fn reprice(&mut self) {
        match self.store.reprice(PORTION) {
            Ok(true) => {}
            Ok(false) => self.stored = true,
            Err(e) => {
                self.failed(&e);
                self.store.put_off_repricing();
            }
        }
    }

    /// Makes all of them anew.
    pub(crate) fn reprice_all(&mut self) {
        while self.store.is_repricing() {
            self.reprice();
        }
    }

    /// Starts a sync on a thread of its own, when one is due; the engine looks again when it is done.
    pub(super) fn sync_prices(&mut self, tell: &mpsc::Sender<Input>) {
        if !self.settings.values.prices.weekly_sync
            || self.asked_prices.is_some_and(|asked| asked.elapsed() < LEAST_GAP)
        {
            return;
        }
        let now = self.clock.now();
        let Ok(prices) = self.shelf.now().map(|n| n.prices) else { return };
        let synced = prices.file.synced_at.as_deref().and_then(|t| t.parse::<Timestamp>().ok());
        let age_ms = synced.map(|t| now.ms_since(Time::from_micros(t.as_microsecond())));
        if age_ms.is_some_and(|age| (0..WEEK_MS).contains(&age)) {
            return;
        }
        self.asked_prices = Some(Instant::now());
        let (places, zone, tell) = (self.places.clone(), Zone::of(&self.settings.values).zone, tell.clone());
        let started = std::thread::Builder::new().name("agenthub-prices".to_owned()).spawn(move || {
            match sync::run(&places, &sync::url(), sync::LIMITS, now, &zone) {
                Ok(changes) => {
                    tracing::info!(changes.added, changes.changed, "newer prices were fetched");
                    // The loop may be over already; the table is read at the next start then.
                    let _ = tell.send(Input::Person);
                }
                Err(e) => tracing::warn!("the weekly price sync failed: {} ({})", e.message, e.code),
            }
        });
        if let Err(e) = started {
            tracing::warn!("the weekly price sync could not be started: {e}");
        }
    }
}
