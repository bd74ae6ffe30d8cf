//! Notices on their way from the domain to the history and to hosts: the person's rules, what belongs together, and the
//! words. Which notices there are is decided in `agenthub_core::notice`.

mod words;

use std::collections::HashSet;

use agenthub_core::{Held, LaneId, Notice, NoticeKind, Rules, Time, notice::QuietHours};
use agenthub_store::{self as store, NoticeRow};

use crate::{
    settings::{Zone, time_of_day},
    view::{self, LaneName, NoticePart, Notification, SCHEMA, Settings},
};

/// A notice that no host took up within this is one that nobody showed, ms.
const TAKEN_UP_MS: i64 = 10_000;

/// The person's settings as rules.
pub(crate) fn rules(settings: &Settings) -> Rules {
    let n = &settings.notifications;
    let switches = [
        (NoticeKind::Ready, n.ready),
        (NoticeKind::Ended, n.ended),
        (NoticeKind::Failed, n.failed),
        (NoticeKind::Waiting, n.waiting),
    ];
    let hours = n.quiet_hours.on.then(|| {
        Some(QuietHours { from: time_of_day(&n.quiet_hours.from)?, to: time_of_day(&n.quiet_hours.to)? })
    });
    Rules {
        do_not_disturb: n.do_not_disturb,
        off: switches.into_iter().filter(|(_, s)| !s.on).map(|(kind, _)| kind).collect::<HashSet<_>>(),
        least_turn_ms: i64::from(n.min_turn_s) * 1_000,
        quiet_hours: hours.flatten(),
        muted: n.muted_lanes.iter().map(|l| LaneId(l.clone())).collect(),
    }
}

/// A notice with what its turn used; both not known are `None`.
pub(crate) fn part(n: &Notice, tokens: Option<u64>, cost_usd: Option<String>) -> NoticePart {
    NoticePart {
        kind: kind(n.kind),
        lane_id: Some(n.lane.0.clone()),
        lane_name: n.lane_name.clone(),
        session_id: n.session.as_ref().map(ToString::to_string),
        session_name: n.session_name.clone(),
        tool: n.tool.clone(),
        detail: n.detail.clone(),
        duration_ms: n.duration_ms(),
        tokens,
        cost_usd,
    }
}

/// What the person sees when they ask whether notifications arrive.
pub(crate) fn test_part() -> NoticePart {
    NoticePart {
        kind: view::NoticeKind::Test,
        lane_id: None,
        lane_name: String::new(),
        session_id: None,
        session_name: None,
        tool: None,
        detail: None,
        duration_ms: None,
        tokens: None,
        cost_usd: None,
    }
}

/// A row of the history that is a test, taken up by whoever asked for it.
pub(crate) fn test_row(now: Time) -> NoticeRow {
    let content = serde_json::to_string(&[test_part()]).unwrap_or_default();
    NoticeRow { id: 0, at: now, round: 0, fate: store::NoticeFate::Shown, why: None, content }
}

const fn kind(k: NoticeKind) -> view::NoticeKind {
    match k {
        NoticeKind::Ready => view::NoticeKind::Ready,
        NoticeKind::Ended => view::NoticeKind::Ended,
        NoticeKind::Failed => view::NoticeKind::Failed,
        NoticeKind::Waiting => view::NoticeKind::Waiting,
    }
}

/// Why a notice was held back, as the history says it.
pub(crate) fn held_words(h: Held) -> String {
    match h {
        Held::KindOff => "This kind is switched off".to_owned(),
        Held::TooShort(ms) => format!("Turn shorter than {} s", ms / 1_000),
        Held::LaneMuted => "Lane is muted".to_owned(),
        Held::DoNotDisturb => "Do not disturb".to_owned(),
        Held::QuietHours(q) => {
            format!("Quiet hours, {} to {}", q.from.strftime("%H:%M"), q.to.strftime("%H:%M"))
        }
    }
}

/// A row of the history, as it is shown at `now`. `None` for one that we cannot read.
pub(crate) fn notification(row: &NoticeRow, settings: &Settings, now: Time) -> Option<Notification> {
    let parts: Vec<NoticePart> = serde_json::from_str(&row.content).ok()?;
    let first = parts.iter().min_by_key(|p| rank(p.kind))?;
    let one_kind = parts.iter().all(|p| p.kind == first.kind);
    let n = &settings.notifications;
    let sounds = |k| match k {
        view::NoticeKind::Ready => n.ready.sound,
        view::NoticeKind::Ended => n.ended.sound,
        view::NoticeKind::Failed => n.failed.sound,
        view::NoticeKind::Waiting => n.waiting.sound,
        view::NoticeKind::Several => false,
        view::NoticeKind::Test => n.ready.sound || n.waiting.sound || n.failed.sound || n.ended.sound,
    };
    let (title, body) = words::told(&parts);
    let (fate, why) = match row.fate {
        store::NoticeFate::Pending if now.ms_since(row.at) > TAKEN_UP_MS => {
            (view::NoticeFate::Held, Some("No desktop app was running".to_owned()))
        }
        store::NoticeFate::Pending => (view::NoticeFate::Pending, None),
        store::NoticeFate::Shown => (view::NoticeFate::Shown, None),
        store::NoticeFate::Held => (view::NoticeFate::Held, row.why.clone()),
        store::NoticeFate::Refused => {
            let why = row.why.as_deref().unwrap_or("no reason given");
            (view::NoticeFate::Refused, Some(format!("The system refused: {}", words::line(why, 200))))
        }
    };
    Some(Notification {
        id: row.id,
        at: row.at.rfc3339(),
        round: row.round,
        kind: if one_kind { first.kind } else { view::NoticeKind::Several },
        urgent: parts.iter().any(|p| p.kind == view::NoticeKind::Waiting),
        sound: parts.iter().any(|p| sounds(p.kind)),
        title,
        body,
        lane_id: first.lane_id.clone(),
        session_id: first.session_id.clone(),
        fate,
        why,
        parts,
    })
}

/// The one that needs its person most comes first.
const fn rank(k: view::NoticeKind) -> u8 {
    match k {
        view::NoticeKind::Waiting => 0,
        view::NoticeKind::Failed => 1,
        view::NoticeKind::Ended => 2,
        _ => 3,
    }
}

/// What the Notifications screen shows.
pub(crate) fn document(
    rows: &[NoticeRow],
    settings: &Settings,
    zone: &Zone,
    now: Time,
    lane_name: impl Fn(&str) -> String,
) -> view::NotificationsDocument {
    let n = &settings.notifications;
    view::NotificationsDocument {
        schema: SCHEMA,
        do_not_disturb: n.do_not_disturb,
        quiet_now: rules(settings).quiet_hours.is_some_and(|q| q.hold(now, &zone.zone)),
        muted_lanes: n
            .muted_lanes
            .iter()
            .map(|id| LaneName { id: id.clone(), name: lane_name(id) })
            .collect(),
        kept: store::PersonStore::NOTICES,
        rows: rows.iter().filter_map(|r| notification(r, settings, now)).collect(),
    }
}
