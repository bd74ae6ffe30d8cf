//! T4: what is held back, and why.

use std::collections::HashSet;

use agenthub_core::{Held, LaneId, Notice, NoticeKind, QuietHours, Rules, Time};
use jiff::{civil::time, tz::TimeZone};

fn moment(s: &str) -> Time {
    Time::from_micros(s.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

fn notice(kind: NoticeKind, took_s: i64) -> Notice {
    let at = moment("2026-11-30T12:00:00Z");
    Notice {
        kind,
        lane: LaneId("antigravity:/src/api".into()),
        lane_name: "api".into(),
        session: None,
        session_name: None,
        sessions: Vec::new(),
        at,
        turn_at: Some(at.plus_ms(-took_s * 1_000)),
        tool: None,
        detail: None,
        confirmed: true,
    }
}

fn held(rules: &Rules, n: &Notice) -> Option<Held> {
    rules.held(n, n.at, &TimeZone::UTC)
}

#[test]
fn u52_only_a_turn_that_ends_well_can_be_too_short() {
    let rules = Rules { least_turn_ms: 30_000, ..Rules::default() };
    for kind in NoticeKind::ALL {
        let too_short = (kind == NoticeKind::Ready).then_some(Held::TooShort(30_000));
        assert_eq!(held(&rules, &notice(kind, 3)), too_short, "{kind:?}");
        assert_eq!(held(&rules, &notice(kind, 30)), None, "{kind:?}");
    }
    // A turn whose beginning is not known is not called short.
    assert_eq!(held(&rules, &Notice { turn_at: None, ..notice(NoticeKind::Ready, 3) }), None);
}

#[test]
fn u51_each_kind_has_its_switch_and_each_lane_its_mute() {
    for kind in NoticeKind::ALL {
        let rules = Rules { off: HashSet::from([kind]), ..Rules::default() };
        for other in NoticeKind::ALL {
            let expected = (other == kind).then_some(Held::KindOff);
            assert_eq!(held(&rules, &notice(other, 60)), expected);
        }
        let muted =
            Rules { muted: HashSet::from([LaneId("antigravity:/src/api".into())]), ..Rules::default() };
        assert_eq!(held(&muted, &notice(kind, 60)), Some(Held::LaneMuted));
        let other = Notice { lane: LaneId("antigravity:/src/web".into()), ..notice(kind, 60) };
        assert_eq!(held(&muted, &other), None);
        let disturb = Rules { do_not_disturb: true, ..Rules::default() };
        assert_eq!(held(&disturb, &notice(kind, 60)), Some(Held::DoNotDisturb));
    }
}

#[test]
fn t4_quiet_hours_go_over_midnight_and_by_the_clock_on_the_wall() {
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let night = QuietHours { from: time(22, 0, 0, 0), to: time(8, 0, 0, 0) };
    let noon = QuietHours { from: time(12, 0, 0, 0), to: time(13, 30, 0, 0) };
    let never = QuietHours { from: time(8, 0, 0, 0), to: time(8, 0, 0, 0) };
    for (hours, at, quiet) in [
        (night, "2026-11-30T21:59:59+01:00", false),
        (night, "2026-11-30T22:00:00+01:00", true),
        (night, "2026-12-01T03:00:00+01:00", true),
        (night, "2026-12-01T07:59:59+01:00", true),
        (night, "2026-12-01T08:00:00+01:00", false),
        (noon, "2026-11-30T11:59:59+01:00", false),
        (noon, "2026-11-30T12:00:00+01:00", true),
        (noon, "2026-11-30T13:30:00+01:00", false),
        // The nights on which the clock is turned end at eight on the wall.
        (night, "2026-03-29T07:59:59+02:00", true),
        (night, "2026-03-29T08:00:00+02:00", false),
        (night, "2026-10-25T07:59:59+01:00", true),
        (night, "2026-10-25T08:00:00+01:00", false),
        // An hour that is there twice is quiet twice; one that is not there starts with what comes after it.
        (QuietHours { from: time(2, 30, 0, 0), to: time(3, 0, 0, 0) }, "2026-10-25T02:45:00+02:00", true),
        (QuietHours { from: time(2, 30, 0, 0), to: time(3, 0, 0, 0) }, "2026-10-25T02:45:00+01:00", true),
        (QuietHours { from: time(2, 30, 0, 0), to: time(4, 0, 0, 0) }, "2026-03-29T03:00:00+02:00", true),
        (never, "2026-11-30T08:00:00+01:00", false),
        (never, "2026-11-30T07:00:00+01:00", false),
    ] {
        assert_eq!(hours.hold(moment(at), &berlin), quiet, "{at}");
        let rules = Rules { quiet_hours: Some(hours), ..Rules::default() };
        let n = notice(NoticeKind::Waiting, 0);
        assert_eq!(rules.held(&n, moment(at), &berlin).is_some(), quiet, "{at}");
    }
}
