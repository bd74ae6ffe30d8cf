//! What of it is shown (spec T4): a pure function of the person's rules and the clock.

use std::collections::HashSet;

use jiff::{civil, tz::TimeZone};

use super::{Notice, NoticeKind};
use crate::{LaneId, Time};

/// Notices that come within this after the first one are told with it, ms.
pub const TOGETHER_MS: i64 = 2_000;

/// What the person wants to hear of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub do_not_disturb: bool,
    /// Kinds that are switched off.
    pub off: HashSet<NoticeKind>,
    /// Turns that end well after less than this are not told, ms.
    pub least_turn_ms: i64,
    pub quiet_hours: Option<QuietHours>,
    pub muted: HashSet<LaneId>,
}

/// A part of each day: from `from`, included, to `to`, excluded, over midnight if that is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    pub from: civil::Time,
    pub to: civil::Time,
}

impl QuietHours {
    /// Whether `now` is in it, by the clock on the person's wall: on the night when it is turned, too.
    pub fn hold(&self, now: Time, zone: &TimeZone) -> bool {
        let Some(t) = now.to_timestamp().map(|t| t.to_zoned_datetime(zone.clone()).time()) else {
            return false;
        };
        if self.from <= self.to { self.from <= t && t < self.to } else { self.from <= t || t < self.to }
    }
}

/// Why a notice is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    KindOff,
    /// The turn was shorter than so many milliseconds.
    TooShort(i64),
    LaneMuted,
    DoNotDisturb,
    QuietHours(QuietHours),
}

impl Rules {
    /// Why a notice that comes up now is not shown; `None` when it is.
    pub fn held(&self, n: &Notice, now: Time, zone: &TimeZone) -> Option<Held> {
        if self.off.contains(&n.kind) {
            return Some(Held::KindOff);
        }
        let short = n.duration_ms().is_some_and(|ms| ms < self.least_turn_ms);
        if n.kind == NoticeKind::Ready && short {
            return Some(Held::TooShort(self.least_turn_ms));
        }
        if self.muted.contains(&n.lane) {
            return Some(Held::LaneMuted);
        }
        if self.do_not_disturb {
            return Some(Held::DoNotDisturb);
        }
        self.quiet_hours.filter(|q| q.hold(now, zone)).map(Held::QuietHours)
    }
}
