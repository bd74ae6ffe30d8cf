//! `agenthub pricing`: which row prices which model, newer prices, and prices of the person's own.

use agenthub_core::words::{counted, plural};
use agenthub_engine::{
    Config, Host, Options,
    view::{
        self, ErrorView, ModelPrice, OwnPrice, PriceMatch, PriceOrigin, PriceRates, PriceTable, PricedModel,
        PricingStatus, PricingView,
    },
};
use comfy_table::{CellAlignment, Table, presets};

use crate::{
    args::{PricingCommand, PricingSet},
    out::{self, count, cut, safe},
    run::{Failed, say_notes},
    tables::{cost, with_unread},
};

pub(crate) fn run(config: Config, command: &PricingCommand) -> anyhow::Result<()> {
    let host = Host::once(config, Options::default()).and_then(Host::whole).map_err(Failed)?;
    say_notes(&host);
    match command {
        PricingCommand::List { rows, json } => {
            let view = host.pricing().map_err(Failed)?;
            match (json, rows) {
                (true, _) => out::json(&view),
                (false, true) => Ok(out::line(&rows_of(&view))?),
                (false, false) => Ok(out::line(&with_unread(list(&view), &host))?),
            }
        }
        PricingCommand::Status { json } => {
            let status = host.pricing_status().map_err(Failed)?;
            if *json { out::json(&status) } else { Ok(out::line(&status_text(&status))?) }
        }
        PricingCommand::Sync { json } => {
            let status = host.pricing_sync().map_err(Failed)?;
            if *json { out::json(&status) } else { Ok(out::line(&status_text(&status))?) }
        }
        PricingCommand::Set(set) => {
            let own = own_price(set).map_err(Failed)?;
            told_set(set, &host.price_change(&set.model, |h| h.set_price(&set.model, &own)).map_err(Failed)?)
        }
        PricingCommand::Unset { model, json } => {
            told_unset(model, &host.price_change(model, |h| h.clear_price(model)).map_err(Failed)?, *json)
        }
    }
}

fn own_price(set: &PricingSet) -> Result<OwnPrice, ErrorView> {
    let rates = PriceRates {
        input: set.input.clone(),
        cache_read: set.cache_read.clone(),
        cache_write: set.cache_write.clone(),
        output: set.output.clone(),
    };
    if set.alias.is_none() && rates == PriceRates::default() {
        return Err(ErrorView {
            code: "bad_request".to_owned(),
            message: "Say what it costs (`--input 0.30 --output 2.50`, USD for a million tokens), or which model prices it \
                      (`--alias gemini-3.8-flash`)."
                .to_owned(),
        });
    }
    let rates = set.alias.is_none().then_some(rates);
    Ok(OwnPrice { alias: set.alias.clone(), rates })
}

/// How a model stands after it was set, and those that an alias leads to it.
fn told_set(set: &PricingSet, done: &view::PricingSet) -> anyhow::Result<()> {
    if set.json {
        return out::json(done);
    }
    let mut text = match &done.model {
        None if done.others.is_empty() => {
            format!("No call names `{}` yet; it holds from the first one on.", safe(&set.model))
        }
        None => format!("`{}` is set. No call names it itself.", safe(&set.model)),
        Some(m) => stands(m),
    };
    text.push_str(&by_alias(done));
    if let Some(missing) = missing(set, done.model.as_ref()) {
        text.push_str(&format!("\n{missing}"));
    }
    Ok(out::line(&text)?)
}

/// How a model stands after what was set was taken back, and those that an alias leads to it.
fn told_unset(name: &str, done: &view::PricingSet, json: bool) -> anyhow::Result<()> {
    if json {
        return out::json(done);
    }
    let itself = if done.others.is_empty() { "" } else { " itself" };
    let text = match &done.model {
        None => format!("What you set for `{}` is taken back. No call names it{itself}.", safe(name)),
        Some(m) => format!("What you set is taken back. {}", stands(m)),
    };
    Ok(out::line(&(text + &by_alias(done)))?)
}

/// The models that stand otherwise because an alias leads to what was set, a line each.
fn by_alias(done: &view::PricingSet) -> String {
    let told = |m: &PricedModel| match &m.price {
        None => format!(
            "\n`{}` was priced by it, as its alias: its {} no price now. Set one, or another alias.",
            safe(&m.model),
            counted(m.calls, "call has", "calls have")
        ),
        Some(_) => format!("\n{}", stands(m)),
    };
    done.others.iter().map(told).collect()
}

fn stands(m: &PricedModel) -> String {
    match &m.price {
        None => format!("`{}` has no price.", safe(&m.model)),
        Some(p) => format!(
            "`{}` is priced by {}: {}. {} cost {} so far.",
            safe(&m.model),
            safe(&p.row),
            rates_text(&p.rates),
            counted(m.calls, "call", "calls"),
            cost(m.cost_usd.as_deref(), m.tokens_unpriced, m.tokens.is_some())
        ),
    }
}

/// Which of the rates that were set are missing, and the options that give them; `None` when its calls need no other.
fn missing(set: &PricingSet, model: Option<&PricedModel>) -> Option<String> {
    if set.alias.is_some() {
        return None;
    }
    // Most of what agents use is read from the cache. agy has never told a cache write so far: it is missed only once used.
    let used = model.and_then(|m| m.tokens).map(|t| [t.input, t.cache_read, t.cache_write, t.output]);
    let wanted = used.map_or([true, true, false, true], |used| used.map(|n| n > 0));
    let given = [&set.input, &set.cache_read, &set.cache_write, &set.output].map(|rate| rate.is_some());
    let names = [
        ("input", "--input"),
        ("cache reads", "--cache-read"),
        ("cache writes", "--cache-write"),
        ("output", "--output"),
    ];
    let lacking: Vec<(&str, &str)> = names
        .into_iter()
        .zip(wanted.into_iter().zip(given))
        .filter_map(|(name, (wanted, given))| (wanted && !given).then_some(name))
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let parts: Vec<&str> = lacking.iter().map(|(part, _)| *part).collect();
    let options: Vec<String> = lacking.iter().map(|(_, option)| format!("{option} USD")).collect();
    let tokens = model.map_or(0, |m| m.tokens_unpriced);
    let left_out = if tokens > 0 {
        format!("{} {} not in the cost", count(tokens), plural(tokens, "token is", "tokens are"))
    } else {
        "such tokens are not in the cost".to_owned()
    };
    Some(format!(
        "There is no rate for {}: {left_out}. Set it again with `{}` as well.",
        parts.join(" and "),
        options.join(" ")
    ))
}

fn rates_text(r: &PriceRates) -> String {
    let parts = [
        ("input", &r.input),
        ("cache read", &r.cache_read),
        ("cache write", &r.cache_write),
        ("output", &r.output),
    ];
    let told: Vec<String> =
        parts.iter().filter_map(|(name, rate)| Some(format!("{name} ${}", rate.as_deref()?))).collect();
    format!("{} for a million tokens", told.join(", "))
}

fn table(head: &[&str], right: std::ops::Range<usize>) -> Table {
    let mut t = Table::new();
    t.load_preset(presets::NOTHING);
    t.set_header(head);
    for c in right {
        if let Some(column) = t.column_mut(c) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    t
}

fn rendered(t: &Table) -> String {
    t.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn list(view: &PricingView) -> String {
    let mut t =
        table(&["Model", "Input", "Cached", "Output", "Calls", "Tokens", "Cost", "Priced by", "How"], 1..7);
    for m in &view.models {
        let rate = |f: fn(&PriceRates) -> &Option<String>| {
            m.price.as_ref().and_then(|p| f(&p.rates).clone()).unwrap_or_else(|| "–".to_owned())
        };
        let label = m.model_label.as_deref().filter(|l| *l != m.model).map(|l| format!(" · {}", cut(l, 40)));
        t.add_row([
            format!("{}{}", cut(&m.model, 60), label.unwrap_or_default()),
            rate(|r| &r.input),
            rate(|r| &r.cache_read),
            rate(|r| &r.output),
            m.calls.to_string(),
            m.tokens.as_ref().map_or("–".to_owned(), |t| count(t.total)),
            cost(m.cost_usd.as_deref(), m.tokens_unpriced, m.calls > 0 && m.tokens.is_some()),
            m.price.as_ref().map_or("–".to_owned(), |p| safe(&p.row)),
            m.price.as_ref().map_or("–", how).to_owned(),
        ]);
    }
    let mut out = if view.models.is_empty() {
        "No model has been used yet.".to_owned()
    } else {
        format!("{}\nRates are USD for a million tokens.", rendered(&t))
    };
    for m in &view.models {
        if let Some(hint) = &m.hint {
            out.push_str(&format!("\n{}: {}", cut(&m.model, 60), safe(hint)));
        }
    }
    format!("{out}\n{} {}", view.note, of_table(&view.table))
}

const fn how(p: &ModelPrice) -> &'static str {
    match p.by {
        PriceMatch::Exact => "its id",
        PriceMatch::Alias => "its name in agy",
        PriceMatch::Effort => "its id without effort",
        PriceMatch::Own => "your price",
        PriceMatch::OwnAlias => "your alias",
    }
}

fn rows_of(view: &PricingView) -> String {
    let mut t = table(&["Row", "Input", "Cached", "Written", "Output", "Above", "Label"], 1..6);
    let rate = |r: &Option<String>| r.clone().unwrap_or_else(|| "–".to_owned());
    for r in &view.rows {
        let mut add = |key: &str, rates: &PriceRates, above: String| {
            t.add_row([
                safe(key),
                rate(&rates.input),
                rate(&rates.cache_read),
                rate(&rates.cache_write),
                rate(&rates.output),
                above,
                safe(&r.label),
            ]);
        };
        add(&r.row, &r.rates, String::new());
        for l in &r.long {
            add("", &l.rates, count(l.above));
        }
    }
    format!("{}\nRates are USD for a million tokens. {}", rendered(&t), of_table(&view.table))
}

fn of_table(t: &PriceTable) -> String {
    let origin = match t.origin {
        PriceOrigin::Shipped => "shipped with this program",
        PriceOrigin::Synced => "fetched",
    };
    let mut out = format!(
        "Table: {} of {}, {}, {origin}.",
        safe(&t.source),
        safe(&t.date),
        counted(t.rows, "row", "rows")
    );
    if t.stale {
        out.push_str(&format!(
            " It is {} old: `agenthub pricing sync` fetches a newer one.",
            counted(t.age_days, "day", "days")
        ));
    }
    if let Some(problem) = &t.problem {
        out.push_str(&format!("\n{}", safe(problem)));
    }
    out
}

fn status_text(s: &PricingStatus) -> String {
    let mut out = String::new();
    if let Some(c) = s.synced {
        out.push_str(&format!(
            "Fetched: {} new, {} changed from today on, {} only in the old table and kept.\n",
            counted(c.added, "model", "models"),
            c.changed,
            c.kept
        ));
    }
    out.push_str(&of_table(&s.table));
    out.push_str(&format!(
        "\n{} with a price, {} without, {} with one of your own.",
        counted(s.models_priced, "model", "models"),
        s.models_unpriced,
        s.models_own
    ));
    if s.models_unpriced > 0 {
        out.push_str(" `agenthub pricing list` names them.");
    }
    let weekly = if s.table.weekly_sync { "on" } else { "off" };
    format!("{out}\nWeekly sync is {weekly}. {}", s.note)
}
