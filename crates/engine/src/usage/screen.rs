//! The Usage screen: one range of days, cut in three ways whose sums agree, for they are read as of one moment.

use std::collections::BTreeMap;

use agenthub_core::{
    Model, Time,
    board::folder_name,
    day_of,
    price::{Book, Usd},
};
use agenthub_store::{self as store, By, Sum};
use jiff::{
    ToSpan,
    civil::{Date, Weekday},
    tz::TimeZone,
};

use super::{Edge, UsageQuery, bad, day, edge, row, totals};
use crate::{
    convert, host, pricing, settings,
    view::{
        ErrorView, UsageBar, UsageBy, UsageMeasure, UsageModel, UsagePart, UsageProject, UsageRange,
        UsageScreen, UsageScreenQuery, UsageStep,
    },
};

/// So many models have a colour of their own in one picture; more can't be told apart.
const COLOURED: usize = 8;
/// The colours of the page's charts, one more being that of the rest.
const COLOURS: usize = 5;
/// So many bars at most stand beside each other for days, and then for weeks.
const MOST_DAYS: i32 = 92;
const MOST_WEEKS: i32 = 92;

/// The first and the last day of a range; for `All` as far as there are calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Days {
    first: Option<Date>,
    last: Option<Date>,
}

/// A longer range is a slip of the hand, and would be more bars than anybody can read.
const MOST_YEARS: i16 = 50;

impl Days {
    /// The days of a question.
    ///
    /// # Errors
    /// `bad_request` for a custom range that is none.
    pub(super) fn asked(q: &UsageScreenQuery, today: Date) -> Result<Days, ErrorView> {
        if q.range != UsageRange::Custom {
            return Ok(Days::of(q.range, today));
        }
        let day = |text: &Option<String>| match text.as_deref().map(str::trim).filter(|t| !t.is_empty()) {
            None => Ok(None),
            Some(t) => match t.parse::<Date>() {
                Ok(day) if t.len() == "2026-11-30".len() => Ok(Some(day)),
                _ => Err(bad(format!("`{t}` is not a day such as `{today}`."))),
            },
        };
        let days = Days { first: day(&q.since)?, last: day(&q.until)? };
        let (from, to) = (days.first.unwrap_or(today), days.last.unwrap_or(today));
        if days.first.is_some() && from > to {
            return Err(bad(format!("The range ends before it begins: it is from `{from}` until `{to}`.")));
        }
        if days.first.is_some() && to.year().saturating_sub(from.year()) > MOST_YEARS {
            return Err(bad(format!(
                "The range is longer than {MOST_YEARS} years: from `{from}` until `{to}`."
            )));
        }
        Ok(days)
    }

    pub(super) fn of(range: UsageRange, today: Date) -> Days {
        let back = |days: i32| today.checked_sub(days.days()).unwrap_or(Date::MIN);
        let before = today.first_of_month().yesterday().unwrap_or(Date::MIN);
        let (first, last) = match range {
            UsageRange::Week => (Some(back(6)), Some(today)),
            UsageRange::Days30 => (Some(back(29)), Some(today)),
            UsageRange::Days90 => (Some(back(89)), Some(today)),
            UsageRange::ThisMonth => (Some(today.first_of_month()), Some(today)),
            UsageRange::LastMonth => (Some(before.first_of_month()), Some(before)),
            UsageRange::All | UsageRange::Custom => (None, None),
        };
        Days { first, last }
    }

    /// The same as a question for sums.
    pub(super) fn query(self, by: UsageBy) -> UsageQuery {
        let text = |day: Option<Date>| day.map(|d| d.to_string());
        UsageQuery { by, since: text(self.first), until: text(self.last), tz: None }
    }
}

pub(super) fn today(now: Time, zone: &TimeZone) -> Date {
    day_of(now, zone).unwrap_or(Date::ZERO)
}

pub(crate) fn document(
    reader: &store::Store,
    q: &UsageScreenQuery,
    book: &Book,
    now: Time,
    zone: &TimeZone,
) -> Result<UsageScreen, ErrorView> {
    reader.at_once(|reader| asked(reader, q, book, now, zone).map_err(Failed)).map_err(|Failed(e)| e)
}

/// Lets any error pass through a transaction of the store's.
pub(super) struct Failed(pub(super) ErrorView);

impl From<store::StoreError> for Failed {
    fn from(e: store::StoreError) -> Failed {
        Failed(host::store_error(&e))
    }
}

fn asked(
    reader: &store::Store,
    q: &UsageScreenQuery,
    book: &Book,
    now: Time,
    zone: &TimeZone,
) -> Result<UsageScreen, ErrorView> {
    let says = |e| host::store_error(&e);
    let today = today(now, zone);
    let days = Days::asked(q, today)?;
    let slot = |day: Option<Date>, at: Edge, none: i64| {
        day.map_or(Ok(none), |d| edge(&d.to_string(), zone, at).map(Time::slot))
    };
    let (from, until) = (slot(days.first, Edge::Start, i64::MIN)?, slot(days.last, Edge::End, i64::MAX)?);

    let order = Order::of(&reader.models_in_order().map_err(says)?);
    let mut models: BTreeMap<usize, (u32, Sum)> = BTreeMap::new();
    let mut by_day: BTreeMap<Option<Date>, BTreeMap<usize, (u32, Sum)>> = BTreeMap::new();
    for (day, u) in reader.usage_in(from, until, |slot| day(slot, zone)).map_err(says)? {
        let model = order.place(&u.model);
        for group in [models.entry(model), by_day.entry(day).or_default().entry(model)] {
            let (approximate, sum) = group.or_default();
            *approximate = approximate.saturating_add(u.approximate_calls);
            *sum = sum.plus(u.sum);
        }
    }
    let untimed = by_day.remove(&None).map(|parts| added(parts.into_values()));
    let by_day: BTreeMap<Date, _> =
        by_day.into_iter().filter_map(|(day, parts)| Some((day?, parts))).collect();
    let all = added(models.values().copied());

    let mut ranked: Vec<usize> = models.keys().copied().collect();
    let weight = |place: &usize| models.get(place).map(|(_, sum)| weight(q.measure, sum));
    ranked.sort_by(|a, b| weight(b).cmp(&weight(a)).then(a.cmp(b)));

    let first = days.first.or_else(|| by_day.keys().next().copied());
    let last = days.last.or_else(|| by_day.keys().next_back().map(|d| today.max(*d)));
    let step = step(first, last);
    let sessions = reader.sessions_with_calls(from, until).map_err(says)?;
    let subagents = reader.subagents_with_calls(from, until).map_err(says)?;
    let mut projects: Vec<_> = reader.usage(By::Project, from, until).map_err(says)?;
    projects.sort_by_key(|p| std::cmp::Reverse(self::weight(q.measure, &p.sum)));

    Ok(UsageScreen {
        time_zone: settings::name_of(zone),
        since: first.map(|d| d.to_string()),
        until: last.map(|d| d.to_string()),
        step,
        bars: first
            .zip(last)
            .map(|(first, last)| bars(&by_day, first, last, step, &ranked))
            .unwrap_or_default(),
        untimed: untimed.map(|(approximate, sum)| row(None, "Time not known".to_owned(), approximate, &sum)),
        models: ranked
            .iter()
            .enumerate()
            .filter_map(|(rank, place)| {
                let (approximate, sum) = models.get(place)?;
                let (name, label) = order.names(*place);
                let coloured = rank < COLOURED;
                let priced = order.model(*place).map(|m| pricing::status::model(book, m, sum, now));
                let (price, hint) = priced.map_or((None, None), |p| (p.price, p.hint));
                Some(UsageModel {
                    row: row(Some(name), label, *approximate, sum),
                    colour: u8::try_from(place % COLOURS + 1).ok().filter(|_| coloured),
                    striped: coloured && (place / COLOURS) % 2 == 1,
                    price_row: price.map(|p| p.row),
                    hint,
                })
            })
            .collect(),
        projects: projects
            .into_iter()
            .map(|u| {
                let name = u.cwd.as_deref().map(|c| folder_name(c).unwrap_or(c).to_owned());
                let folder = u.cwd.as_deref().map(|c| convert::for_people(std::path::Path::new(c)));
                let label = name.unwrap_or_else(|| "No folder".to_owned());
                UsageProject { row: row(u.cwd, label, u.approximate_calls, &u.sum), folder }
            })
            .collect(),
        totals: totals(sessions, &all.1),
        subagents,
        cached_percent: cached_percent(&all.1),
    })
}

/// Models in the order in which they were first met, by the names that price their calls: as everywhere else (spec M6).
struct Order {
    places: BTreeMap<String, usize>,
    models: Vec<Model>,
}

impl Order {
    fn of(all: &[Model]) -> Order {
        let mut order = Order { places: BTreeMap::new(), models: Vec::new() };
        for model in all {
            let key = convert::model_name(model);
            if let Some(known) = order.places.get(&key).and_then(|place| order.models.get_mut(*place)) {
                known.label = known.label.take().or_else(|| model.label.clone());
            } else {
                order.places.insert(key, order.models.len());
                order.models.push(model.clone());
            }
        }
        order
    }

    fn place(&self, model: &Model) -> usize {
        self.places.get(&convert::model_name(model)).copied().unwrap_or(self.models.len())
    }

    fn model(&self, place: usize) -> Option<&Model> {
        self.models.get(place)
    }

    /// Its name and its label.
    fn names(&self, place: usize) -> (String, String) {
        let Some(model) = self.model(place) else { return Default::default() };
        let name = convert::model_name(model);
        (name.clone(), model.label.clone().unwrap_or(name))
    }
}

fn added(all: impl Iterator<Item = (u32, Sum)>) -> (u32, Sum) {
    all.fold((0, Sum::default()), |(n, sum), (more, other)| (n.saturating_add(more), sum.plus(other)))
}

/// What ranks first: the measure, then tokens, then calls. What is not known is smaller than anything known.
fn weight(measure: UsageMeasure, sum: &Sum) -> (Option<Usd>, Option<u64>, u32) {
    let usd = match measure {
        UsageMeasure::Cost => sum.usd(),
        UsageMeasure::Tokens => None,
    };
    (usd, convert::known_tokens(sum).map(|t| t.total), sum.calls)
}

fn step(first: Option<Date>, last: Option<Date>) -> UsageStep {
    let days = first.zip(last).and_then(|(a, b)| a.until(b).ok()).map_or(0, |span| span.get_days() + 1);
    match days {
        ..=MOST_DAYS => UsageStep::Day,
        d if d <= MOST_WEEKS * 7 => UsageStep::Week,
        _ => UsageStep::Month,
    }
}

fn bars(
    by_day: &BTreeMap<Date, BTreeMap<usize, (u32, Sum)>>,
    first: Date,
    last: Date,
    step: UsageStep,
    ranked: &[usize],
) -> Vec<UsageBar> {
    let mut bars = Vec::new();
    let mut at = first;
    while at <= last {
        let end = end(at, step).min(last);
        let mut parts: BTreeMap<usize, (u32, Sum)> = BTreeMap::new();
        for (model, (approximate, sum)) in by_day.range(at..=end).flat_map(|(_, parts)| parts) {
            let (n, whole) = parts.entry(*model).or_default();
            *n = n.saturating_add(*approximate);
            *whole = whole.plus(*sum);
        }
        let (approximate, sum) = added(parts.values().copied());
        let (own, rest) = ranked.split_at(ranked.len().min(COLOURED));
        let mut shown: Vec<UsagePart> = own
            .iter()
            .enumerate()
            .filter_map(|(rank, place)| Some(part(u32::try_from(rank).ok(), &parts.get(place)?.1)))
            .collect();
        let (_, others) = added(rest.iter().filter_map(|place| parts.get(place).copied()));
        if others.calls > 0 {
            shown.push(part(None, &others));
        }
        bars.push(UsageBar {
            row: row(Some(at.to_string()), at.to_string(), approximate, &sum),
            until: end.to_string(),
            parts: shown,
        });
        match end.tomorrow() {
            Ok(next) => at = next,
            Err(_) => break,
        }
    }
    bars
}

/// The last day of the bar in which a day is.
fn end(day: Date, step: UsageStep) -> Date {
    match step {
        UsageStep::Day => day,
        UsageStep::Week if day.weekday() == Weekday::Sunday => day,
        UsageStep::Week => day.nth_weekday(1, Weekday::Sunday).unwrap_or(day),
        UsageStep::Month => day.last_of_month(),
    }
}

fn part(model: Option<u32>, sum: &Sum) -> UsagePart {
    let row = row(None, String::new(), 0, sum);
    UsagePart {
        model,
        calls: row.calls,
        tokens_total: row.tokens.map(|t| t.total),
        cost_usd: row.cost_usd,
        tokens_unpriced: row.tokens_unpriced,
    }
}

fn cached_percent(sum: &Sum) -> Option<u8> {
    let prompts = sum.tokens.input.saturating_add(sum.tokens.cache_read);
    let percent = sum.tokens.cache_read.saturating_mul(100).checked_div(prompts)?;
    u8::try_from(percent).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn ranges_are_whole_days_and_months() {
        let of = |range| Days::of(range, date(2026, 3, 31));
        let days = |first, last| Days { first: Some(first), last: Some(last) };
        assert_eq!(of(UsageRange::Week), days(date(2026, 3, 25), date(2026, 3, 31)));
        assert_eq!(of(UsageRange::Days30), days(date(2026, 3, 2), date(2026, 3, 31)));
        assert_eq!(of(UsageRange::ThisMonth), days(date(2026, 3, 1), date(2026, 3, 31)));
        assert_eq!(of(UsageRange::LastMonth), days(date(2026, 2, 1), date(2026, 2, 28)));
        assert_eq!(
            Days::of(UsageRange::LastMonth, date(2026, 1, 5)),
            days(date(2025, 12, 1), date(2025, 12, 31))
        );
        assert_eq!(of(UsageRange::All), Days { first: None, last: None });
    }

    #[test]
    fn a_custom_range_is_days_or_a_refusal_that_says_why() {
        let asked = |since: &str, until: &str| {
            let text = |t: &str| (!t.is_empty()).then(|| t.to_owned());
            let (since, until) = (text(since), text(until));
            let q = UsageScreenQuery { range: UsageRange::Custom, since, until, ..Default::default() };
            Days::asked(&q, date(2026, 11, 30)).map_err(|e| e.message)
        };
        let days = |first, last| Ok(Days { first, last });
        let (a, b) = (date(2026, 11, 1), date(2026, 11, 9));
        assert_eq!(asked("2026-11-01", " 2026-11-09 "), days(Some(a), Some(b)));
        assert_eq!(asked("2026-11-01", "2026-11-01"), days(Some(a), Some(a)));
        assert_eq!(asked("", "2026-11-09"), days(None, Some(b)));
        assert_eq!(asked("2026-11-01", ""), days(Some(a), None));
        assert_eq!(asked("", " "), days(None, None));
        for (since, until, says) in [
            ("2026-02-30", "", "is not a day"),
            ("yesterday", "", "is not a day"),
            ("2026-11-01T10:00", "", "is not a day"),
            ("2026-11-09", "2026-11-01", "ends before it begins"),
            ("2026-12-24", "", "ends before it begins"),
            ("0001-01-01", "2026-11-01", "longer than 50 years"),
        ] {
            let said = asked(since, until).unwrap_err();
            assert!(said.contains(says), "{since} {until}: {said}");
        }
        // What is not custom has days of its own.
        let q = UsageScreenQuery { since: Some("nonsense".to_owned()), ..Default::default() };
        assert_eq!(Days::asked(&q, date(2026, 3, 31)), Ok(Days::of(UsageRange::Days30, date(2026, 3, 31))));
    }

    #[test]
    fn long_ranges_have_wider_bars_without_a_gap_or_an_overlap() {
        let none = BTreeMap::new();
        let all = |first: Date, last: Date| {
            let step = step(Some(first), Some(last));
            (step, bars(&none, first, last, step, &[]))
        };
        for (first, last, wanted, count) in [
            (date(2026, 11, 1), date(2026, 11, 30), UsageStep::Day, 30),
            (date(2026, 9, 1), date(2026, 12, 1), UsageStep::Day, 92),
            (date(2026, 8, 31), date(2026, 12, 1), UsageStep::Week, 14),
            (date(2020, 1, 15), date(2026, 2, 3), UsageStep::Month, 74),
        ] {
            let (step, bars) = all(first, last);
            assert_eq!((step, bars.len()), (wanted, count), "{first} to {last}");
            assert_eq!(bars.first().unwrap().row.key, Some(first.to_string()));
            assert_eq!(bars.last().unwrap().until, last.to_string());
            for pair in bars.windows(2) {
                let [a, b] = pair else { unreachable!() };
                let next = a.until.parse::<Date>().unwrap().tomorrow().unwrap();
                assert_eq!(b.row.key, Some(next.to_string()));
            }
        }
        assert_eq!(all(date(2026, 11, 30), date(2026, 11, 1)).1, []);
    }

    #[test]
    fn m6_a_model_keeps_its_place_and_each_name_is_one_model() {
        let model = |number, id: &str, label: &str| Model {
            number,
            id: Some(id.to_owned()),
            label: Some(label.to_owned()).filter(|l| !l.is_empty()),
        };
        let mut all =
            vec![model(1016, "a", ""), model(0, "x", ""), model(1016, "b", "B"), model(7, "a", "A")];
        all.push(Model { number: 1016, ..Model::default() });
        let order = Order::of(&all);
        assert_eq!(all.iter().map(|m| order.place(m)).collect::<Vec<_>>(), [0, 1, 2, 0, 3]);
        assert_eq!(order.names(0), ("a".to_owned(), "A".to_owned()));
        assert_eq!(order.names(3).0, "MODEL_PLACEHOLDER_M16");
        all.push(model(9, "new", ""));
        assert_eq!(Order::of(&all).place(&model(1016, "b", "B")), 2);
    }

    #[test]
    fn the_cache_is_known_only_where_there_was_a_prompt() {
        let mut sum = Sum::default();
        assert_eq!(cached_percent(&sum), None);
        sum.tokens.input = 22;
        sum.tokens.cache_read = 78;
        assert_eq!(cached_percent(&sum), Some(78));
        sum.tokens.input = 0;
        assert_eq!(cached_percent(&sum), Some(100));
    }
}
