//! Sums by day, model, project or session, in the person's time zone.

pub(crate) mod export;
mod screen;

use std::collections::BTreeMap;

use agenthub_core::{Time, day_of};
use agenthub_store::{self as store, By, Sum};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

pub use export::csv;
pub(crate) use screen::document as screen;

use crate::{
    convert, host, settings,
    view::{
        ErrorView, ExportFormat, Exported, SCHEMA, Totals, UsageBy, UsageDocument, UsageRow, UsageScreenQuery,
    },
};

/// What to sum. `since` and `until` are days (`2026-11-30`, both included) or moments (RFC 3339, `until` excluded),
/// counted in whole quarters of an hour; `tz` is an IANA name, else the person's zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    pub by: UsageBy,
    pub since: Option<String>,
    pub until: Option<String>,
    pub tz: Option<String>,
}

/// All of it as of one moment. `home` is the person's zone.
pub(crate) fn at_once(
    reader: &store::Store,
    q: &UsageQuery,
    home: &TimeZone,
) -> Result<UsageDocument, ErrorView> {
    reader.at_once(|reader| document(reader, q, home).map_err(screen::Failed)).map_err(|e| e.0)
}

fn document(reader: &store::Store, q: &UsageQuery, home: &TimeZone) -> Result<UsageDocument, ErrorView> {
    let zone = zone(q.tz.as_deref(), home)?;
    let since = q.since.as_ref().map(|s| edge(s, &zone, Edge::Start)).transpose()?;
    let until = q.until.as_ref().map(|s| edge(s, &zone, Edge::End)).transpose()?;
    if let (Some(from), Some(to)) = (since, until)
        && from >= to
    {
        let (from, to) = (q.since.as_deref().unwrap_or_default(), q.until.as_deref().unwrap_or_default());
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
        totals: totals(sessions, &total),
    })
}

/// Writes the sums of a range of days into `folder`.
pub(crate) fn export(
    reader: &store::Store,
    (by, asked, format): (UsageBy, &UsageScreenQuery, ExportFormat),
    now: Time,
    zone: &TimeZone,
    folder: &std::path::Path,
) -> Result<Exported, ErrorView> {
    let today = screen::today(now, zone);
    let query = screen::Days::asked(asked, today)?.query(by);
    let doc = at_once(reader, &query, zone)?;
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
    let mut grouped: BTreeMap<(i32, String), (String, String, u32, Sum)> = BTreeMap::new();
    for u in models {
        let name = convert::model_name(&u.model);
        let group = if u.model.number == 0 { (0, name.clone()) } else { (u.model.number, String::new()) };
        let label = u.model.label.clone().unwrap_or_else(|| name.clone());
        let (_, _, approximate, sum) = grouped.entry(group).or_insert((name, label, 0, Sum::default()));
        *approximate = approximate.saturating_add(u.approximate_calls);
        *sum = sum.plus(u.sum);
    }
    grouped
        .into_values()
        .map(|(name, label, approximate, sum)| row(Some(name), label, approximate, &sum))
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

/// The moment at which a range starts or ends.
fn edge(text: &str, zone: &TimeZone, edge: Edge) -> Result<Time, ErrorView> {
    if let Ok(t) = text.parse::<Timestamp>() {
        return Ok(Time::from_micros(t.as_microsecond()));
    }
    let day = text.parse::<Date>().ok().and_then(|d| match edge {
        Edge::Start => Some(d),
        Edge::End => d.tomorrow().ok(),
    });
    day.and_then(|d| d.to_zoned_datetime(zone.clone()).ok())
        .map(|z| Time::from_micros(z.timestamp().as_microsecond()))
        .ok_or_else(|| {
            bad(format!("`{text}` is neither a day (`2026-11-30`) nor a moment (`2026-11-30T08:00:00Z`)"))
        })
}

pub(crate) fn bad(message: String) -> ErrorView {
    ErrorView { code: "bad_request".to_owned(), message }
}
