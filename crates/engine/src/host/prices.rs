//! What hosts ask and say about prices.

use std::time::{Duration, Instant};

use agenthub_core::{
    Model,
    price::{Own, Rate},
};
use agenthub_store::{self as store, By, Used};

use super::{Host, store_error};
use crate::{
    convert, port,
    pricing::{status, sync},
    usage::bad,
    view::{ErrorView, OwnPrice, PriceRates, PricedModel, PricingSet, PricingStatus, PricingView, SCHEMA},
};

/// Names of models are short; whatever is longer is something else.
const LONGEST_NAME: usize = 200;
/// How long it is waited for another process to make costs anew.
const PATIENCE: Duration = Duration::from_secs(20);

impl Host {
    /// The price table, which row prices which model, and which models have no price. Blocks.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn pricing(&self) -> Result<PricingView, ErrorView> {
        let used = self.models_used()?;
        let view = self.at(|at| Ok(status::view(&self.prices()?, &used, at)))?;
        Ok(PricingView { problems: self.snapshot().problems.clone(), ..view })
    }

    /// How old the table is, and how many models have a price. Blocks.
    ///
    /// # Errors
    /// `store` when the store fails.
    pub fn pricing_status(&self) -> Result<PricingStatus, ErrorView> {
        let used = self.models_used()?;
        self.at(|at| Ok(status::status(&self.prices()?, &used, at, None)))
    }

    /// Fetches the newest prices: the one thing here that asks the network, and only when it is called (spec P4). What
    /// changed holds from today on. Blocks.
    ///
    /// # Errors
    /// `sync_unreachable`, `sync_timeout`, `sync_redirect`, `sync_status`, `sync_not_prices`, `sync_short`,
    /// `sync_too_large`, and the good table stays; `io` and `store` when it can't be kept.
    pub fn pricing_sync(&self) -> Result<PricingStatus, ErrorView> {
        let zone = self.time_zone();
        let changes = sync::run(&self.shared.places, &sync::url(), sync::LIMITS, self.now(), &zone)?;
        self.have_costs_made_anew()?;
        let used = self.models_used()?;
        self.at(|at| Ok(status::status(&self.prices()?, &used, at, Some(changes))))
    }

    /// Sets a model's price, or the row that prices it; both hold for all of its calls, at once. Answers how the model
    /// stands then; `None` when no call names it yet. Blocks.
    ///
    /// What is set for an id counts before what is set for a label. So by a label that has one id, what is set for that id
    /// already is replaced; else what is set would change nothing.
    ///
    /// # Errors
    /// `bad_request` for rates that are none, an alias that leads to no price, or a label whose id has others, too, and has
    /// something set already; `store` when it cannot be written down.
    pub fn set_price(&self, model: &str, price: &OwnPrice) -> Result<Option<PricedModel>, ErrorView> {
        let model = model.trim();
        if model.is_empty() || model.chars().count() > LONGEST_NAME || model.chars().any(char::is_control) {
            return Err(bad(format!("`{}` is no name of a model.", model.escape_debug())));
        }
        let name = &match self.set_by_id(model)? {
            SetById::Not => model.to_owned(),
            SetById::Alone(id) => id,
            SetById::Shared(ids) => return Err(counts_before(model, &ids)),
        };
        let row = match (&price.alias, &price.rates) {
            (Some(alias), None) => self.alias(name, alias.trim())?,
            (None, Some(rates)) => own_rates(name, rates)?,
            _ => return Err(bad("Give a model either rates or an alias.".to_owned())),
        };
        let at = self.now();
        self.say(|p| p.set_price(&row, at))?;
        self.have_costs_made_anew()?;
        self.priced_model(model)
    }

    /// Takes back what `set_price` set. Blocks.
    ///
    /// # Errors
    /// `not_found` when nothing was set; `bad_request` for a label whose id has others, too, and has what was set; `store` when
    /// it cannot be written down.
    pub fn clear_price(&self, model: &str) -> Result<Option<PricedModel>, ErrorView> {
        let model = model.trim();
        let book = self.prices()?.book;
        // It may have been set by another name of the same model.
        let used = self.models_used()?;
        let named = used.iter().filter(|u| convert::model_name(&u.model) == model);
        let mut names: Vec<String> =
            named.filter_map(|u| book.own(&u.model)).map(|(name, _)| name.to_owned()).collect();
        names.insert(0, model.to_owned());
        let by_id = self.set_by_id(model)?;
        if let SetById::Alone(id) = &by_id {
            names.push(id.clone());
        }
        let mut cleared = false;
        for name in names {
            self.say(|p| {
                cleared |= p.clear_price(&name)?;
                Ok(())
            })?;
            if cleared {
                self.have_costs_made_anew()?;
                return self.priced_model(model);
            }
        }
        match by_id {
            SetById::Shared(ids) => Err(counts_before(model, &ids)),
            SetById::Not | SetById::Alone(_) => Err(ErrorView {
                code: "not_found".to_owned(),
                message: format!("No price or alias of yours is set for `{model}`."),
            }),
        }
    }

    /// Whether what prices the models of this label is set for their ids.
    fn set_by_id(&self, label: &str) -> Result<SetById, ErrorView> {
        let book = self.prices()?.book;
        let used = self.models_used()?;
        let has_label = |m: &Model| m.label.as_deref() == Some(label);
        let set_for = |m: &Model| book.own(m).map(|(name, _)| name.to_owned()).filter(|name| name != label);
        let mut ids: Vec<String> =
            used.iter().filter(|u| has_label(&u.model)).filter_map(|u| set_for(&u.model)).collect();
        ids.sort();
        ids.dedup();
        // All that is priced by what is set for that id.
        let is_alone = |id: &String| {
            used.iter().filter(|u| set_for(&u.model).as_ref() == Some(id)).all(|u| has_label(&u.model))
        };
        Ok(match ids.as_slice() {
            [] => SetById::Not,
            [id] if is_alone(id) => SetById::Alone(id.clone()),
            _ => SetById::Shared(ids),
        })
    }

    /// Does `change` (a [`Host::set_price`] or [`Host::clear_price`] of `model`), and says what it did to others: an alias of
    /// another model may lead to this one. Blocks.
    ///
    /// # Errors
    /// Those of `change`; `store` when the store fails.
    pub fn price_change(
        &self,
        model: &str,
        change: impl FnOnce(&Host) -> Result<Option<PricedModel>, ErrorView>,
    ) -> Result<PricingSet, ErrorView> {
        let before = self.pricing()?.models;
        let changed = change(self)?;
        let same = |a: &PricedModel, b: &PricedModel| {
            (&a.model, &a.model_label, &a.price) == (&b.model, &b.model_label, &b.price)
        };
        let is_it =
            |m: &PricedModel| m.model == model.trim() || m.model_label.as_deref() == Some(model.trim());
        let mut others = self.pricing()?.models;
        others.retain(|m| m.calls > 0 && !is_it(m) && !before.iter().any(|b| same(b, m)));
        Ok(PricingSet { schema: SCHEMA, model: changed, others })
    }

    fn alias(&self, model: &str, alias: &str) -> Result<store::OwnPrice, ErrorView> {
        if alias.is_empty() {
            return Err(bad(format!(
                "Name what prices `{model}`: another model, or a row of the price table (`agenthub pricing list --rows` shows \
                 them)."
            )));
        }
        if alias.chars().count() > LONGEST_NAME {
            return Err(bad(format!(
                "The name of another model or of a row has at most {LONGEST_NAME} characters; this one has {}.",
                alias.chars().count()
            )));
        }
        let book = self.prices()?.book;
        if alias == model {
            return Err(bad(format!(
                "`{model}` can't be an alias of itself. Name another model that prices it, or a row of the price table: \
                 `agenthub pricing list --rows` shows them."
            )));
        }
        if book.target(alias).is_none() {
            let led = book.all_own().find_map(|(name, own)| match own {
                Own::Alias(target) if name == alias => Some(target),
                _ => None,
            });
            if let Some(target) = led {
                let circle = if target == model { ": they would go in a circle" } else { "" };
                return Err(bad(format!(
                    "`{alias}` is itself an alias of yours, of `{target}`, and an alias leads to no other one{circle}. Name \
                     a model that has a price of its own, or a row of the price table: `agenthub pricing list --rows` shows \
                     them."
                )));
            }
            return Err(bad(format!(
                "`{alias}` leads to no price. Name a model or a row of the price table: `agenthub pricing list --rows` \
                 shows them."
            )));
        }
        Ok(store::OwnPrice {
            model: model.to_owned(),
            alias: Some(alias.to_owned()),
            ..store::OwnPrice::default()
        })
    }

    fn priced_model(&self, model: &str) -> Result<Option<PricedModel>, ErrorView> {
        let view = self.pricing()?;
        // Several labels of one id are several models here; the most used one answers. A name that was set is first of all
        // an id or a placeholder, which documents show as the model.
        let place = |m: &PricedModel| match m.model == model {
            true => Some(0),
            false => (m.model_label.as_deref() == Some(model)).then_some(1),
        };
        let called = view.models.into_iter().filter(|m| m.calls > 0);
        let best = called.filter_map(|m| Some((place(&m)?, m)));
        Ok(best.min_by_key(|(place, m)| (*place, std::cmp::Reverse(m.calls))).map(|(_, m)| m))
    }

    fn models_used(&self) -> Result<Vec<Used>, ErrorView> {
        self.asked(|reader| reader.usage(By::Model, i64::MIN, i64::MAX).map_err(|e| store_error(&e)))
    }

    fn at<T>(&self, f: impl FnOnce(&status::At<'_>) -> Result<T, ErrorView>) -> Result<T, ErrorView> {
        let weekly_sync = self.settings().values.prices.weekly_sync;
        f(&status::At { now: self.now(), zone: &self.time_zone(), weekly_sync })
    }

    /// Has all costs be by today's book: by the engine that runs, here or in another process, or by one that is opened for
    /// it.
    fn have_costs_made_anew(&self) -> Result<(), ErrorView> {
        let here = self.shared.tell(crate::engine::Input::Person);
        if !here && port::look(&self.shared.places.port()).is_err() {
            // None runs: one is opened for it.
            if let Some(mut engine) = self.shared.engine()? {
                engine.reprice_all();
            }
        }
        let wanted = self.prices()?.book.stamp().to_owned();
        let started = Instant::now();
        while self.reader()?.priced_by().map_err(|e| store_error(&e))?.as_deref() != Some(wanted.as_str()) {
            if started.elapsed() > PATIENCE {
                tracing::warn!(
                    "costs are not by the new prices yet; the running AgentHub will make them anew"
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// Where that stands which prices the models of a label, if the person set it for their ids.
enum SetById {
    Not,
    /// For this id, which has no other label.
    Alone(String),
    /// For these, of which one has other labels, or which are several.
    Shared(Vec<String>),
}

fn counts_before(label: &str, ids: &[String]) -> ErrorView {
    let names: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let first = ids.first().map_or("", String::as_str);
    bad(format!(
        "`{label}` is a label of {}, for which something of yours is set. That counts first, and not for this label alone. Set a \
         price or an alias for the id, or take that back first: `agenthub pricing unset {first}`.",
        names.join(" and ")
    ))
}

fn own_rates(model: &str, r: &PriceRates) -> Result<store::OwnPrice, ErrorView> {
    let parts = [
        ("input", &r.input),
        ("cache_read", &r.cache_read),
        ("cache_write", &r.cache_write),
        ("output", &r.output),
    ];
    for (name, text) in parts {
        if let Some(Err(why)) = text.as_deref().map(Rate::parse_per_million) {
            let text = text.as_deref().unwrap_or_default().escape_debug().to_string();
            return Err(bad(format!(
                "The rate for {name}, `{text}`, {why}. Rates are USD for a million tokens."
            )));
        }
    }
    if parts.iter().all(|(_, text)| text.is_none()) {
        return Err(bad("Give at least one rate, in USD for a million tokens.".to_owned()));
    }
    let text = |t: &Option<String>| t.as_deref().map(|t| t.trim().to_owned());
    Ok(store::OwnPrice {
        model: model.to_owned(),
        alias: None,
        input: text(&r.input),
        cache_read: text(&r.cache_read),
        cache_write: text(&r.cache_write),
        output: text(&r.output),
    })
}
