//! The prices as the page and `agenthub pricing` show them: which row prices which model, and which models have none.

use std::collections::{BTreeMap, HashSet};

use agenthub_core::{
    Model, Time, day_of,
    price::{Book, How, Own, Price, Row, Vendor, price_at, vendor},
    words::counted,
};
use agenthub_store::{Sum, Used};
use jiff::{civil::Date, tz::TimeZone};

use super::{Now, Prices, file::rates_view, sync};
use crate::{convert, view};

/// Costs never claim to be more than this.
const NOTE: &str = "List prices, not a bill: your plan may charge otherwise.";
/// New models and price cuts come about monthly.
const STALE_AFTER_DAYS: u32 = 30;

/// What the views hang on beside the prices.
pub(crate) struct At<'a> {
    pub(crate) now: Time,
    pub(crate) zone: &'a TimeZone,
    pub(crate) weekly_sync: bool,
}

pub(crate) fn view(prices: &Now, used: &[Used], at: &At<'_>) -> view::PricingView {
    view::PricingView {
        schema: view::SCHEMA,
        note: NOTE.to_owned(),
        table: table(&prices.prices, at),
        models: models(prices, used, at.now),
        rows: prices.prices.file.usable().iter().map(row).collect(),
        problems: Vec::new(),
    }
}

pub(crate) fn status(
    prices: &Now,
    used: &[Used],
    at: &At<'_>,
    synced: Option<view::PriceChanges>,
) -> view::PricingStatus {
    let models = models(prices, used, at.now);
    // What no call names is nothing that a price is missing for.
    let (of_calls, ahead): (Vec<_>, Vec<_>) = models.into_iter().partition(|m| m.calls > 0);
    let count = |models: &[view::PricedModel], is: &dyn Fn(&view::PricedModel) -> bool| {
        u32::try_from(models.iter().filter(|m| is(m)).count()).unwrap_or(u32::MAX)
    };
    view::PricingStatus {
        schema: view::SCHEMA,
        note: NOTE.to_owned(),
        table: table(&prices.prices, at),
        models_priced: count(&of_calls, &|m| m.price.is_some()),
        models_unpriced: count(&of_calls, &|m| m.price.is_none()),
        models_own: count(&of_calls, &|m| m.own.is_some()).saturating_add(count(&ahead, &|_| true)),
        synced,
    }
}

fn table(p: &Prices, at: &At<'_>) -> view::PriceTable {
    let today = day_of(at.now, at.zone);
    let age = p.file.date.parse::<Date>().ok().zip(today).map_or(0, |(made, today)| {
        let days = (today.to_zoned_datetime(TimeZone::UTC).ok())
            .zip(made.to_zoned_datetime(TimeZone::UTC).ok())
            .map_or(0, |(today, made)| {
                (today.timestamp().as_second() - made.timestamp().as_second()) / 86_400
            });
        u32::try_from(days).unwrap_or(0)
    });
    view::PriceTable {
        origin: if p.synced { view::PriceOrigin::Synced } else { view::PriceOrigin::Shipped },
        source: p.file.source.clone(),
        date: p.file.date.clone(),
        age_days: age,
        stale: age > STALE_AFTER_DAYS,
        rows: u32::try_from(p.file.rows.len()).unwrap_or(u32::MAX),
        synced_at: p.file.synced_at.clone(),
        weekly_sync: at.weekly_sync,
        url: sync::url(),
        problem: p.problem.clone(),
    }
}

/// Every model that calls name, by the name that the other documents give it and its label; and what the person set ahead,
/// for a name that no call has yet.
fn models(prices: &Now, used: &[Used], now: Time) -> Vec<view::PricedModel> {
    let mut grouped: BTreeMap<(String, Option<String>), (Model, Sum)> = BTreeMap::new();
    for u in used {
        let key = (convert::model_name(&u.model), u.model.label.clone());
        let (_, sum) = grouped.entry(key).or_insert((u.model.clone(), Sum::default()));
        *sum = sum.plus(u.sum);
    }
    let mut all: Vec<view::PricedModel> =
        grouped.values().map(|(m, sum)| model(&prices.book, m, sum, now)).collect();
    let set: HashSet<&str> =
        grouped.values().filter_map(|(m, _)| prices.book.own(m)).map(|(name, _)| name).collect();
    all.extend(prices.book.all_own().filter(|(name, _)| !set.contains(name)).map(|(name, _)| {
        let named = Model { number: 0, id: Some(name.to_owned()), label: None };
        model(&prices.book, &named, &Sum::default(), now)
    }));
    all.sort_by(|a, b| {
        let place = |m: &view::PricedModel| (m.price.is_some(), std::cmp::Reverse(m.calls));
        place(a).cmp(&place(b)).then_with(|| (&a.model, &a.model_label).cmp(&(&b.model, &b.model_label)))
    });
    all
}

pub(crate) fn model(book: &Book, m: &Model, sum: &Sum, now: Time) -> view::PricedModel {
    let found = book.find(m);
    let price = found.and_then(|f| price(f.how, f.prices, now));
    let own = book.own(m).map(|(_, own)| own_view(own));
    view::PricedModel {
        model: convert::model_name(m),
        model_label: m.label.clone(),
        model_enum: m.number,
        vendor: match vendor(m) {
            Vendor::Google => view::Vendor::Google,
            Vendor::Anthropic => view::Vendor::Anthropic,
            Vendor::OpenAi => view::Vendor::OpenAI,
            Vendor::Unknown => view::Vendor::Unknown,
        },
        calls: sum.calls,
        tokens: convert::known_tokens(sum),
        cost_usd: convert::cost(sum),
        tokens_unpriced: sum.cost.unpriced_tokens,
        hint: hint(m, price.as_ref(), own.as_ref(), sum),
        price,
        own,
    }
}

fn price(how: How, prices: &[Price], now: Time) -> Option<view::ModelPrice> {
    let current = price_at(prices, Some(now))?;
    let since = |p: &Price| p.since.map(Time::rfc3339);
    let earlier = prices.windows(2).filter_map(|pair| match pair {
        [old, new] if new.since <= Some(now) => Some(view::EarlierPrice {
            row: old.row.key.clone(),
            since: since(old),
            until: since(new)?,
            rates: rates_view(&old.row.rates),
            long: long(&old.row),
        }),
        _ => None,
    });
    let mut earlier: Vec<_> = earlier.collect();
    earlier.reverse();
    Some(view::ModelPrice {
        row: current.row.key.clone(),
        by: match how {
            How::Exact => view::PriceMatch::Exact,
            How::Alias => view::PriceMatch::Alias,
            How::WithoutEffort => view::PriceMatch::Effort,
            How::Own => view::PriceMatch::Own,
            How::OwnAlias => view::PriceMatch::OwnAlias,
        },
        since: since(current),
        rates: rates_view(&current.row.rates),
        long: long(&current.row),
        earlier,
    })
}

fn hint(
    m: &Model,
    price: Option<&view::ModelPrice>,
    own: Option<&view::OwnPrice>,
    sum: &Sum,
) -> Option<String> {
    let text = match (price, own.and_then(|o| o.alias.as_deref())) {
        (Some(_), _) if sum.cost.unpriced_tokens == 0 => return None,
        (Some(p), _) => {
            let (r, t) = (&p.rates, &sum.tokens);
            let parts = [
                ("input", &r.input, t.input),
                ("cache reads", &r.cache_read, t.cache_read),
                ("cache writes", &r.cache_write, t.cache_write),
                ("output", &r.output, t.output),
            ];
            // What was never used is not missed.
            let missing: Vec<&str> =
                parts.iter().filter(|(_, r, n)| r.is_none() && *n > 0).map(|(n, ..)| *n).collect();
            let missing = if missing.is_empty() { "long prompts".to_owned() } else { missing.join(" and ") };
            format!(
                "There is no rate for {missing}: {} not in the cost.",
                counted(sum.cost.unpriced_tokens, "token is", "tokens are")
            )
        }
        (None, Some(alias)) => {
            format!("Your alias `{alias}` leads to no price. Set another one, or take it back.")
        }
        (None, None) if m.id.is_none() && m.label.is_none() => {
            "agy told no name for this model, only a number that Google can point at another one. Set an alias if you know \
             which model it is."
                .to_owned()
        }
        (None, None) => {
            "No row of the price table has this name. Sync for newer prices, or set a price or an alias.".to_owned()
        }
    };
    Some(text)
}

fn own_view(own: &Own) -> view::OwnPrice {
    match own {
        Own::Alias(target) => view::OwnPrice { alias: Some(target.clone()), rates: None },
        Own::Rates(rates) => view::OwnPrice { alias: None, rates: Some(rates_view(rates)) },
    }
}

fn long(r: &Row) -> Vec<view::LongRates> {
    r.long.iter().map(|l| view::LongRates { above: l.above, rates: rates_view(&l.rates) }).collect()
}

fn row(r: &Row) -> view::PriceRow {
    view::PriceRow {
        row: r.key.clone(),
        model: r.model().to_owned(),
        label: r.label.clone(),
        rates: rates_view(&r.rates),
        long: long(r),
    }
}
