//! A point in time, and the one function that says which day it belongs to.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// Microseconds since 1970-01-01T00:00:00Z; agy's own clock has this resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// 2000-01-01 and 2100-01-01, in seconds. A time outside is a decoy or damage: agy is from 2026, and it has written
/// `u64::MAX` where a time stood before (agy-format §3.4).
const PLAUSIBLE_S: std::ops::Range<i64> = 946_684_800..4_102_444_800;

impl Time {
    pub const fn from_micros(us: i64) -> Time {
        Time(us)
    }

    pub const fn from_millis(ms: i64) -> Time {
        Time(ms.saturating_mul(1_000))
    }

    /// A time that somebody else wrote as whole seconds and nanoseconds; `None` when it is absent or absurd.
    pub fn plausible(seconds: i64, nanos: i32) -> Option<Time> {
        if !PLAUSIBLE_S.contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
            return None;
        }
        Some(Time(seconds * 1_000_000 + i64::from(nanos) / 1_000))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms.saturating_mul(1_000)))
    }

    /// Milliseconds from `earlier` to this; negative when it is the other way round.
    pub const fn ms_since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }

    /// `None` only for times that no calendar holds (years beyond ±9999).
    pub fn to_timestamp(self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.0).ok()
    }

    /// RFC 3339 in UTC with milliseconds, as every JSON document of ours writes times.
    pub fn rfc3339(self) -> String {
        self.to_timestamp().map_or_else(String::new, |t| format!("{t:.3}"))
    }

    /// The number of the 15-minute slot that this falls into. Every time zone in use is a multiple of 15 minutes off
    /// UTC, so sums per slot can be cut into days of any zone later.
    pub const fn slot(self) -> i64 {
        self.0.div_euclid(900_000_000)
    }

    /// The start of a 15-minute slot.
    pub const fn of_slot(slot: i64) -> Time {
        Time(slot.saturating_mul(900_000_000))
    }
}

/// The calendar day of `t` in `zone` (spec S8). Every view asks here, so that "today" is one thing.
pub fn day_of(t: Time, zone: &TimeZone) -> Option<Date> {
    Some(t.to_timestamp()?.to_zoned_datetime(zone.clone()).date())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: &str) -> Time {
        Time::from_micros(s.parse::<Timestamp>().unwrap().as_microsecond())
    }

    #[test]
    fn s08_an_absurd_time_is_absent() {
        assert_eq!(Time::plausible(-1, 0), None);
        assert_eq!(Time::plausible(0, 0), None);
        assert_eq!(Time::plausible(i64::MAX, 0), None);
        assert_eq!(Time::plausible(u64::MAX as i64, 999), None);
        assert_eq!(Time::plausible(1_782_640_471, 1_000_000_000), None);
        assert_eq!(Time::plausible(1_782_640_471, 867_081_999), Some(Time(1_782_640_471_867_081)));
    }

    #[test]
    fn s08_days_are_cut_in_the_persons_zone() {
        // Late evening and early morning, in zones west, east and off by a quarter hour (user-reports 23).
        for (zone, t, day) in [
            ("America/New_York", "2026-11-15T04:30:00Z", "2026-11-14"),
            ("America/New_York", "2026-11-15T05:30:00Z", "2026-11-15"),
            ("Asia/Shanghai", "2026-11-14T15:30:00Z", "2026-11-14"),
            ("Asia/Shanghai", "2026-11-14T16:30:00Z", "2026-11-15"),
            ("Asia/Kathmandu", "2026-11-14T18:10:00Z", "2026-11-14"),
            ("Asia/Kathmandu", "2026-11-14T18:16:00Z", "2026-11-15"),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            assert_eq!(day_of(at(t), &zone).unwrap().to_string(), day, "{t}");
            // A slot never straddles a day, so sums per slot can be cut afterwards.
            assert_eq!(day_of(Time::of_slot(at(t).slot()), &zone).unwrap().to_string(), day, "{t} by slot");
        }
    }

    #[test]
    fn s08_both_dst_nights_have_every_slot_in_one_day() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for (day, slots) in [("2026-03-29", 92), ("2026-10-25", 100)] {
            let from = at(&format!("{day}T00:00:00Z")).slot() - 100;
            let n = (from..from + 300)
                .filter(|s| day_of(Time::of_slot(*s), &zone).unwrap().to_string() == day)
                .count();
            assert_eq!(n, slots, "{day}");
        }
    }
}
