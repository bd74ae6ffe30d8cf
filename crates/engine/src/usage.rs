//! Sums by day, model, project or session, in the person's time zone.

pub(crate) mod export;
mod screen;

use std::collections::BTreeMap;

use agenthub_core::{Time, day_of};
use agenthub_store::{self as store, By, Sum};
use jiff::{Timestamp, ZonedDateTime, civil::Date, fmt::temporal::Pieces, tz::TimeZone};

pub use export::csv;
pub(crate) use screen::document as screen;

use crate::{
    convert, host, settings,
    view::{
        ErrorView, ExportFormat, Exported, Problem, SCHEMA, Totals, UsageBy, UsageDocument, UsageRow,
        UsageScreenQuery,
    },
};

/// What to sum. `since` and `until` are days (`2026-11-30`, both included) or moments: RFC 3339, or without a zone and then
/// read in `tz`. They count in whole quarters of an hour: those that they fall into are counted whole. `tz` is an IANA name, else
/// the person's zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    pub by: UsageBy,
    pub since: Option<String>,
    pub until: Option<String>,
    pub tz: Option<String>,
}

/// All of it as of one moment. `home` is the person's zone; `problems` are of what could not be read.
pub(crate) fn at_once(
    reader: &store::Store,
    q: &UsageQuery,
    home: &TimeZone,
    problems: &[Problem],
) -> Result<UsageDocument, ErrorView> {
    let found = reader.at_once(|reader| document(reader, q, home).map_err(screen::Failed));
    found.map(|doc| UsageDocument { problems: problems.to_vec(), ..doc }).map_err(|e| e.0)
}

fn document(reader: &store::Store, q: &UsageQuery, home: &TimeZone) -> Result<UsageDocument, ErrorView> {
    let zone = zone(q.tz.as_deref(), home)?;
    let since = q.since.as_ref().map(|s| edge(s, &zone, Edge::Start)).transpose()?;
    let until = q.until.as_ref().map(|s| edge(s, &zone, Edge::End)).transpose()?;
    if let (Some(from), Some(to)) = (since, until)
        && from >= to
    {
        let (since, until) = (q.since.as_deref().unwrap_or_default(), q.until.as_deref().unwrap_or_default());
        if edge(until, &zone, Edge::Start)? == from {
            return Err(bad(format!(
                "The range is empty: it ends at `{until}`, the moment at which it begins, and that is not in it. Give a later \
                 end, or one day for both, which counts whole."
            )));
        }
        let (from, to) = (since, until);
        return Err(bad(format!(
            "The range ends before it begins: it is from `{from}` until `{to}`. Exchange the two."
        )));
    }
    let from = since.map_or(i64::MIN, Time::slot);
    let until = until.map_or(i64::MAX, Time::slot);
    let says = |e| host::store_error(&e);
    let ask = |by| reader.usage(by, from, until).map_err(says);
    let models = ask(By::Model)?;
    let mut rows = match q.by {
        UsageBy::Day => by_day(&reader.usage_in(from, until, |slot| day(slot, &zone)).map_err(says)?),
        UsageBy::Model => by_model(&models),
        UsageBy::Project => ask(By::Project)?
            .into_iter()
            .map(|u| {
                let label = u.cwd.clone().unwrap_or_else(|| "No folder".to_owned());
                row(u.cwd, label, u.approximate_calls, &u.sum)
            })
            .collect(),
        UsageBy::Session => ask(By::Session)?
            .into_iter()
            .map(|u| {
                let (id, name) = u.session.unwrap_or_default();
                let label = name.unwrap_or_else(|| id.chars().take(8).collect());
                row(Some(id), label, u.approximate_calls, &u.sum)
            })
            .collect(),
    };
    if q.by != UsageBy::Day {
        // Biggest first; what is not known is smaller than anything known.
        rows.sort_by(|a, b| {
            let size = |r: &UsageRow| (r.tokens.map(|t| t.total), r.calls);
            size(b).cmp(&size(a)).then_with(|| (&a.label, &a.key).cmp(&(&b.label, &b.key)))
        });
    }
    let total = models.iter().map(|u| u.sum).fold(Sum::default(), Sum::plus);
    let sessions = reader.sessions_with_calls(from, until).map_err(says)?;
    Ok(UsageDocument {
        schema: SCHEMA,
        by: q.by.name().to_owned(),
        time_zone: settings::name_of(&zone),
        rows,
        problems: Vec::new(),
        totals: totals(sessions, &total),
    })
}

/// Writes the sums of a range of days into `folder`.
pub(crate) fn export(
    reader: &store::Store,
    (by, asked, format): (UsageBy, &UsageScreenQuery, ExportFormat),
    now: Time,
    zone: &TimeZone,
    problems: &[Problem],
    folder: &std::path::Path,
) -> Result<Exported, ErrorView> {
    let today = screen::today(now, zone);
    let query = screen::Days::asked(asked, today)?.query(by);
    let doc = at_once(reader, &query, zone, problems)?;
    export::export(&doc, format, folder, &format!("agenthub-usage-{}-{today}", by.name()))
}

pub(crate) fn totals(sessions: u32, s: &Sum) -> Totals {
    Totals {
        sessions,
        calls: s.calls,
        calls_without_usage: s.unknown,
        tokens: convert::tokens(s.tokens),
        cost_usd: convert::cost(s),
        tokens_unpriced: s.cost.unpriced_tokens,
    }
}

fn row(key: Option<String>, label: String, approximate: u32, s: &Sum) -> UsageRow {
    UsageRow {
        key,
        label,
        calls: s.calls,
        calls_without_usage: s.unknown,
        calls_approximate: approximate,
        tokens: convert::known_tokens(s),
        cost_usd: convert::cost(s),
        tokens_unpriced: s.cost.unpriced_tokens,
    }
}

/// The day of a slot; `None` for calls whose time is not known.
fn day(slot: i64, zone: &TimeZone) -> Option<Date> {
    if slot == 0 { None } else { day_of(Time::of_slot(slot), zone) }
}

fn by_day(used: &[(Option<Date>, store::Used)]) -> Vec<UsageRow> {
    // What has no day comes last.
    let mut days: BTreeMap<(bool, Option<Date>), (u32, Sum)> = BTreeMap::new();
    for (day, u) in used {
        let (approximate, sum) = days.entry((day.is_none(), *day)).or_default();
        *approximate = approximate.saturating_add(u.approximate_calls);
        *sum = sum.plus(u.sum);
    }
    days.into_iter()
        .map(|((_, day), (approximate, sum))| {
            let key = day.map(|d| d.to_string());
            let label = key.clone().unwrap_or_else(|| "Time not known".to_owned());
            row(key, label, approximate, &sum)
        })
        .collect()
}

fn by_model(models: &[store::Used]) -> Vec<UsageRow> {
    // By what prices a call: its name. A number may stand for several names, and for calls that tell none.
    let mut grouped: BTreeMap<String, (Option<String>, u32, Sum)> = BTreeMap::new();
    for u in models {
        let (label, approximate, sum) = grouped.entry(convert::model_name(&u.model)).or_default();
        *label = label.take().or_else(|| u.model.label.clone());
        *approximate = approximate.saturating_add(u.approximate_calls);
        *sum = sum.plus(u.sum);
    }
    grouped
        .into_iter()
        .map(|(name, (label, approximate, sum))| {
            let label = label.unwrap_or_else(|| name.clone());
            row(Some(name), label, approximate, &sum)
        })
        .collect()
}

fn zone(name: Option<&str>, home: &TimeZone) -> Result<TimeZone, ErrorView> {
    match name {
        None => Ok(home.clone()),
        Some(name) => TimeZone::get(name).map_err(|_| {
            bad(format!("`{name}` is not a time zone; use an IANA name such as `Europe/Berlin` or `UTC`"))
        }),
    }
}

#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
}

/// The moment at which a range starts or ends. A day is its start, or its end; a moment says its zone itself, or is read in
/// `zone`. What lies beyond the calendar is its end.
fn edge(text: &str, zone: &TimeZone, edge: Edge) -> Result<Time, ErrorView> {
    let asked = text.trim();
    let says = || {
        bad(format!(
            "`{text}` is neither a day (`2026-11-30`) nor a moment (`2026-11-30T08:00`, or with its zone \
             `2026-11-30T08:00Z`)"
        ))
    };
    let parts = Pieces::parse(asked).map_err(|_| says())?;
    let at = match (parts.time(), parts.offset(), parts.time_zone_annotation()) {
        // `[Europe/Berlin]`, perhaps with an offset, which must be that zone's then.
        (Some(_), _, Some(_)) => asked.parse::<ZonedDateTime>().map_err(|_| says())?.timestamp(),
        (Some(_), Some(_), None) => asked.parse::<Timestamp>().map_err(|_| says())?,
        (Some(time), None, None) => match parts.date().to_datetime(time).to_zoned_datetime(zone.clone()) {
            Ok(at) => at.timestamp(),
            Err(_) => return Ok(beyond(parts.date())),
        },
        (None, None, None) => {
            let day = match edge {
                Edge::Start => Ok(parts.date()),
                Edge::End => parts.date().tomorrow(),
            };
            match day.and_then(|day| day.to_zoned_datetime(zone.clone())) {
                Ok(at) => at.timestamp(),
                Err(_) => return Ok(beyond(parts.date())),
            }
        }
        (None, ..) => return Err(says()),
    };
    let at = Time::from_micros(at.as_microsecond());
    Ok(match edge {
        Edge::Start => at,
        // Up to the end of the quarter of an hour that it falls into: nothing that was asked for is left out.
        Edge::End if Time::of_slot(at.slot()) < at => Time::of_slot(at.slot().saturating_add(1)),
        Edge::End => at,
    })
}

/// The end of time that is next to a day which no clock of this zone can show.
fn beyond(day: Date) -> Time {
    Time::from_micros(if day > Date::ZERO { i64::MAX } else { i64::MIN })
}

pub(crate) fn bad(message: String) -> ErrorView {
    ErrorView { code: "bad_request".to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_without_a_zone_is_of_the_asked_zone_and_never_a_whole_day() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let at = |text: &str| Time::from_micros(text.parse::<Timestamp>().unwrap().as_microsecond());
        for (text, start, end) in [
            ("2026-11-30", "2026-11-29T23:00Z", "2026-11-30T23:00Z"),
            ("2026-11-30T12:00:00", "2026-11-30T11:00Z", "2026-11-30T11:00Z"),
            ("2026-11-30T12:00", "2026-11-30T11:00Z", "2026-11-30T11:00Z"),
            (" 2026-11-30 12:00 ", "2026-11-30T11:00Z", "2026-11-30T11:00Z"),
            ("2026-07-01T12:00", "2026-07-01T10:00Z", "2026-07-01T10:00Z"),
            // The quarter of an hour that it falls into is counted.
            ("2026-11-30T23:59", "2026-11-30T22:59Z", "2026-11-30T23:00Z"),
            ("2026-11-30T12:00Z", "2026-11-30T12:00Z", "2026-11-30T12:00Z"),
            ("2026-11-30T12:00-05:00", "2026-11-30T17:00Z", "2026-11-30T17:00Z"),
            ("2026-11-30T12:00[America/New_York]", "2026-11-30T17:00Z", "2026-11-30T17:00Z"),
            ("2026-11-30T12:00-05:00[America/New_York]", "2026-11-30T17:00Z", "2026-11-30T17:00Z"),
        ] {
            assert_eq!(edge(text, &berlin, Edge::Start).unwrap(), at(start), "{text}");
            assert_eq!(edge(text, &berlin, Edge::End).unwrap(), at(end), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-02-30",
            "12:00",
            "2026-11-30T25:00",
            "2026-11-30T12:00[Mars/Olympus]",
            "2026-11-30T12:00+09:00[Europe/Berlin]",
        ] {
            let said = edge(text, &berlin, Edge::End).unwrap_err();
            assert!(said.code == "bad_request" && said.message.contains("neither a day"), "{text}: {said:?}");
        }
        // The calendar's ends are the ends of time, in every zone.
        for zone in ["UTC", "Pacific/Auckland", "America/Los_Angeles"] {
            let zone = TimeZone::get(zone).unwrap();
            assert!(edge("9999-12-31", &zone, Edge::End).unwrap() >= at("9999-12-30T00:00Z"));
            assert!(edge("9999-12-31T23:59", &zone, Edge::End).unwrap() >= at("9999-12-30T00:00Z"));
            assert!(edge("-009999-01-01", &zone, Edge::Start).unwrap() <= at("-009999-01-03T00:00Z"));
        }
    }
}
