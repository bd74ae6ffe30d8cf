//! A page of the Sessions screen: what is asked for, as the store has it.

use std::{collections::BTreeMap, path::Path};

use agenthub_core::{SessionId, Time, board::folder_name, day_of, price::Book};
use agenthub_store::{self as store, Filter, Sort, Store};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use crate::{
    Snapshot, convert,
    doctor::is_of_one_file,
    host::store_error,
    queries::{LARGEST_PAGE, row},
    usage::{bad, totals},
    view::{self, ErrorView},
};

const USUAL_PAGE: u32 = 100;

/// A page of the Sessions screen.
pub(crate) fn page(
    reader: &Store,
    now: &Snapshot,
    q: &view::SessionsQuery,
    at: Time,
    zone: &TimeZone,
    book: &Book,
    gemini_dir: &Path,
) -> Result<view::SessionsPage, ErrorView> {
    let since = match &q.since {
        Some(s) => match s.parse::<Timestamp>() {
            Ok(t) => Some(Time::from_micros(t.as_microsecond())),
            Err(_) => return Err(bad(format!("`{s}` is not a moment such as `2026-11-30T08:00:00Z`"))),
        },
        None => None,
    };
    let (from, until) = q.period.map_or((None, None), |p| period(p, at, zone));
    let (ids, not_ids) = in_state(now, q.state);
    let parent = match &q.parent_id {
        Some(id) => Some(SessionId::parse(id).ok_or_else(|| bad(format!("`{id}` is no session's id")))?),
        None => None,
    };
    let filter = Filter {
        roots_only: parent.is_none(),
        parent,
        search: q.search.clone(),
        lane: q.lane_id.clone(),
        model: q.model.clone(),
        since: since.max(from),
        until,
        ids,
        not_ids,
    };
    let sort = match q.sort {
        view::SessionsSort::Active => Sort::Active,
        view::SessionsSort::Started => Sort::Started,
        view::SessionsSort::Name => Sort::Name,
        view::SessionsSort::Tokens => Sort::Tokens,
        view::SessionsSort::Cost => Sort::Cost,
    };
    let limit = if q.limit == 0 { USUAL_PAGE } else { q.limit.min(LARGEST_PAGE) };
    let fail = |e: store::StoreError| store_error(&e);
    let found = reader.page(&filter, sort, q.ascending, q.offset, limit).map_err(fail)?;
    let roots = Filter { roots_only: true, ..Filter::default() };
    let sessions_total = reader.count(&roots).map_err(fail)?;
    let (models, lanes) = reader.choices().map_err(fail)?;
    let mut model_labels: BTreeMap<String, String> = BTreeMap::new();
    for m in reader.models().map_err(fail)? {
        let id = convert::model_name(&m.model);
        if let Some(label) = m.model.label.filter(|_| models.contains(&id)) {
            // The newest name stands.
            model_labels.insert(id, label);
        }
    }
    let shown = |rows: &[store::SessionRow]| {
        rows.iter().map(|r| row(reader, now, r, zone, book)).collect::<Result<Vec<_>, _>>()
    };
    let inside = |i: &store::FoundInside| {
        Ok(view::FoundInside { session_id: i.session.to_string(), found: i.found, rows: shown(&i.rows)? })
    };
    Ok(view::SessionsPage {
        rows: shown(&found.rows)?,
        inside: found.inside.iter().map(inside).collect::<Result<_, ErrorView>>()?,
        totals: totals(found.sessions, &found.sum),
        subagents: found.subagents,
        sessions_total,
        models,
        model_labels,
        lanes: lanes
            .into_iter()
            .map(|(id, cwd)| {
                let run = reader.run_lane_name(&id).map_err(fail)?;
                let folder = cwd.as_deref().and_then(folder_name).map(str::to_owned);
                Ok(view::LaneName { name: run.or(folder).unwrap_or_else(|| id.clone()), id })
            })
            .collect::<Result<_, ErrorView>>()?,
        // A note says what is wrong with the whole folder.
        problems: now.problems.iter().filter(|p| is_of_one_file(p, gemini_dir)).cloned().collect(),
    })
}

/// The moments between which a period lies, cut where the person's days are cut.
fn period(p: view::Period, at: Time, zone: &TimeZone) -> (Option<Time>, Option<Time>) {
    let start = |d: Option<Date>| {
        let z = d?.to_zoned_datetime(zone.clone()).ok()?;
        Some(Time::from_micros(z.timestamp().as_microsecond()))
    };
    let today = day_of(at, zone);
    let ago = |days: i64| today.and_then(|d| d.checked_sub(days.days()).ok());
    match p {
        view::Period::Today => (start(today), None),
        view::Period::Yesterday => (start(ago(1)), start(today)),
        view::Period::Week => (start(ago(6)), None),
        view::Period::Month => (start(ago(29)), None),
    }
}

/// Which sessions are in a state: those that the board follows are known by their ids, and the rest are completed.
fn in_state(
    now: &Snapshot,
    state: Option<view::ListedState>,
) -> (Option<Vec<SessionId>>, Option<Vec<SessionId>>) {
    let active = |wanted: &[view::State]| {
        let mut ids: Vec<SessionId> = now
            .states
            .iter()
            .filter(|(_, live)| !live.settled && wanted.contains(&live.state))
            .filter_map(|(id, _)| SessionId::parse(id))
            .collect();
        ids.sort();
        Some(ids)
    };
    use view::{ListedState, State};
    match state {
        None => (None, None),
        Some(ListedState::NeedsYou) => (active(&[State::Error, State::Waiting]), None),
        Some(ListedState::Running) => (active(&[State::Running]), None),
        Some(ListedState::Idle) => (active(&[State::Idle]), None),
        Some(ListedState::Completed) => {
            let active = active(&[State::Error, State::Waiting, State::Running, State::Idle]);
            (None, active.filter(|ids| !ids.is_empty()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s08_a_period_is_cut_where_the_days_are_also_on_a_dst_night() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let at = |s: &str| Time::from_micros(s.parse::<Timestamp>().unwrap().as_microsecond());
        let cut = |p| {
            let (from, until) = period(p, at("2026-10-26T12:00:00Z"), &zone);
            (from.map(Time::rfc3339), until.map(Time::rfc3339))
        };
        let day = |s: &str| Some(at(s).rfc3339());
        assert_eq!(cut(view::Period::Today), (day("2026-10-25T23:00:00Z"), None));
        // The 25th has 25 hours.
        let yesterday = (day("2026-10-24T22:00:00Z"), day("2026-10-25T23:00:00Z"));
        assert_eq!(cut(view::Period::Yesterday), yesterday);
        assert_eq!(cut(view::Period::Week).0, day("2026-10-19T22:00:00Z"));
        assert_eq!(cut(view::Period::Month).0, day("2026-09-26T22:00:00Z"));
    }
}
