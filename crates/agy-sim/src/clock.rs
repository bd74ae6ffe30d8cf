//! Points in time and where they come from: the system, or a hand that sets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::wire::Msg;

/// A point in time: microseconds since 1970 in UTC, the resolution of agy's own times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(i64);

impl At {
    /// From seconds since 1970.
    pub const fn unix(seconds: i64) -> Self {
        Self(seconds * 1_000_000)
    }

    /// From microseconds since 1970.
    pub const fn micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Now, by the system.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// That many milliseconds later.
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0 + ms * 1000)
    }

    /// That many microseconds later.
    pub const fn plus_us(self, us: i64) -> Self {
        Self(self.0 + us)
    }

    /// Time since an earlier point; zero if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// `google.protobuf.Timestamp`.
    pub fn timestamp(self) -> Msg {
        Msg::new()
            .uint(1, self.0.div_euclid(1_000_000) as u64)
            .uint(2, self.0.rem_euclid(1_000_000) as u64 * 1000)
    }

    /// For file times.
    pub fn system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(u64::try_from(self.0).unwrap_or(0))
    }

    fn civil(self) -> (i64, u32, u32, u32, u32, u32) {
        let seconds = self.0.div_euclid(1_000_000);
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400) as u32);
        // Howard Hinnant's `civil_from_days`.
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
        let month = (if mp < 10 { mp + 3 } else { mp - 9 }) as u32;
        let year = yoe + era * 400 + i64::from(month <= 2);
        (year, month, day, rest / 3600, rest / 60 % 60, rest % 60)
    }

    /// `2026-06-28T09:54:31Z`: whole seconds, as in transcripts.
    pub fn rfc3339(self) -> String {
        let (y, mo, d, h, mi, s) = self.civil();
        format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}Z")
    }

    /// `2026-06-28 09:54:31.123456+00:00`, as Go's database layer writes a DATETIME.
    pub fn datetime(self) -> String {
        let (y, mo, d, h, mi, s) = self.civil();
        format!("{y:04}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02}.{:06}+00:00", self.0.rem_euclid(1_000_000))
    }

    /// `0628 09:54:31.123456`, as glog begins a line.
    pub fn glog(self) -> String {
        let (_, mo, d, h, mi, s) = self.civil();
        format!("{mo:02}{d:02} {h:02}:{mi:02}:{s:02}.{:06}", self.0.rem_euclid(1_000_000))
    }

    /// `20260628_095431`, as in a log file's name.
    pub fn file_stamp(self) -> String {
        let (y, mo, d, h, mi, s) = self.civil();
        format!("{y:04}{mo:02}{d:02}_{h:02}{mi:02}{s:02}")
    }
}

impl From<SystemTime> for At {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64))
    }
}

/// `google.protobuf.Duration`.
pub(crate) fn duration(d: Duration) -> Msg {
    Msg::new().uint(1, d.as_secs()).uint(2, u64::from(d.subsec_nanos()))
}

/// Where a live conversation takes its times from. Clones share the same hand.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that only a hand moves, except that each look at it takes one millisecond, so that no two steps have
    /// the same time.
    pub fn manual(start: At) -> Self {
        Self(Some(Arc::new(AtomicI64::new(start.0))))
    }

    /// The time now.
    pub fn now(&self) -> At {
        match &self.0 {
            None => At::now(),
            Some(hand) => At(hand.fetch_add(1000, Ordering::SeqCst)),
        }
    }

    /// The time now, without the millisecond that a look at a manual clock takes.
    pub fn peek(&self) -> At {
        match &self.0 {
            None => At::now(),
            Some(hand) => At(hand.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock forward; nothing happens to the system's.
    pub fn advance(&self, by: Duration) {
        if let Some(hand) = &self.0 {
            hand.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
        }
    }

    /// Sets a manual clock; nothing happens to the system's.
    pub fn set(&self, at: At) {
        if let Some(hand) = &self.0 {
            hand.store(at.0, Ordering::SeqCst);
        }
    }

    /// True for a clock that a hand moves.
    pub fn is_manual(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_agy_writes_them() {
        let at = At::micros(1_782_640_471_929_111);
        assert_eq!(at.rfc3339(), "2026-06-28T09:54:31Z");
        assert_eq!(at.datetime(), "2026-06-28 09:54:31.929111+00:00");
        assert_eq!(At::unix(951_782_400).rfc3339(), "2000-02-29T00:00:00Z");
        assert_eq!(
            at.timestamp().into_bytes(),
            Msg::new().uint(1, 1_782_640_471).uint(2, 929_111_000).into_bytes()
        );
    }

    #[test]
    fn a_manual_clock_moves_by_hand() {
        let clock = Clock::manual(At::unix(10));
        assert_eq!(clock.now(), At::unix(10));
        clock.advance(Duration::from_secs(60));
        assert_eq!(clock.now(), At::unix(70).plus_ms(1));
    }
}
