//! Which row prices a model, and from when (spec M3, M5); what the person set comes first.

use std::collections::BTreeMap;

use super::{Band, Cost, Rates, Row, alias};
use crate::{Model, Time, Tokens};

/// A row, and from when it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// The start of a quarter of an hour; `None`: from the beginning.
    pub since: Option<Time>,
    pub row: Row,
}

/// The prices of each model, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PriceTable {
    models: BTreeMap<String, Vec<Price>>,
}

impl PriceTable {
    /// A table whose rows all hold from the beginning. Of several rows of one model one counts (spec M2).
    pub fn new(rows: impl IntoIterator<Item = Row>) -> PriceTable {
        let mut best: BTreeMap<String, Row> = BTreeMap::new();
        for row in rows {
            match best.get_mut(row.model()) {
                Some(known) if (known.order(), &known.key) <= (row.order(), &row.key) => {}
                Some(known) => *known = row,
                None => {
                    best.insert(row.model().to_owned(), row);
                }
            }
        }
        let from_the_beginning = |row| vec![Price { since: None, row }];
        PriceTable { models: best.into_iter().map(|(m, row)| (m, from_the_beginning(row))).collect() }
    }

    /// This table with `newer`'s rows from `since` on. A row that stays the same holds on; so does one that `newer` leaves
    /// out, for its calls were made. A model that had no price has it from the beginning: there is no old one to keep.
    #[must_use]
    pub fn followed_by(mut self, newer: &PriceTable, since: Time) -> PriceTable {
        for (model, prices) in &newer.models {
            let Some(row) = prices.last().map(|p| &p.row) else { continue };
            match self.models.get_mut(model) {
                None => {
                    let first = Price { since: None, row: row.clone() };
                    self.models.insert(model.clone(), vec![first]);
                }
                Some(known) => {
                    if let Some(p) = known.last_mut().filter(|p| p.row.costs_like(row)) {
                        // The same price by another row is the same price.
                        p.row = row.clone();
                    } else {
                        // Several on one day: the last one counts.
                        known.retain(|p| p.since.is_none_or(|s| s < since));
                        if known.last().is_none_or(|p| !p.row.costs_like(row)) {
                            known.push(Price { since: Some(since), row: row.clone() });
                        }
                    }
                }
            }
        }
        self
    }

    /// Gives a model these prices, oldest first, instead of its own.
    pub fn set(&mut self, model: &str, mut prices: Vec<Price>) {
        prices.sort_by_key(|p| p.since);
        if !prices.is_empty() {
            self.models.insert(model.to_owned(), prices);
        }
    }

    pub fn model(&self, model: &str) -> Option<&[Price]> {
        self.models.get(model).map(Vec::as_slice)
    }

    /// Each model with its prices, oldest first.
    pub fn models(&self) -> impl Iterator<Item = (&str, &[Price])> {
        self.models.iter().map(|(m, prices)| (m.as_str(), prices.as_slice()))
    }

    pub fn len(&self) -> usize {
        self.models.len()
    }

    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }
}

/// What holds at `at`; a time that is not known is the oldest.
pub fn price_at(prices: &[Price], at: Option<Time>) -> Option<&Price> {
    prices.iter().rev().find(|p| p.since.is_none_or(|since| at.is_some_and(|at| since <= at)))
}

/// What the person set for a model, by one of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    Rates(Rates),
    /// The model that it is priced as.
    Alias(String),
}

/// How a model came to its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    Exact,
    Alias,
    WithoutEffort,
    Own,
    OwnAlias,
}

/// A model's prices, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    pub how: How,
    pub prices: &'a [Price],
}

/// The table with what the person set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    table: PriceTable,
    own: BTreeMap<String, Set>,
    stamp: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Set {
    own: Own,
    /// Of rates: the one price that they are.
    prices: Vec<Price>,
}

/// Raised when the same rows and settings come to price a call otherwise.
const RULES: u32 = 2;

impl Book {
    pub fn new(table: PriceTable, own: impl IntoIterator<Item = (String, Own)>) -> Book {
        let own: BTreeMap<String, Set> = own
            .into_iter()
            .map(|(name, own)| {
                let prices = match &own {
                    Own::Rates(rates) => {
                        let row = Row {
                            key: format!("own:{name}"),
                            label: "own".to_owned(),
                            rates: *rates,
                            long: Vec::new(),
                        };
                        vec![Price { since: None, row }]
                    }
                    Own::Alias(_) => Vec::new(),
                };
                (name, Set { own, prices })
            })
            .collect();
        let stamp = stamp(&table, &own);
        Book { table, own, stamp }
    }

    pub fn table(&self) -> &PriceTable {
        &self.table
    }

    /// Tells books apart that may price a call differently. The same in every process.
    pub fn stamp(&self) -> &str {
        &self.stamp
    }

    /// All that the person set, by name.
    pub fn all_own(&self) -> impl Iterator<Item = (&str, &Own)> {
        self.own.iter().map(|(name, set)| (name.as_str(), &set.own))
    }

    /// What the person set for a model, by the name under which it was set.
    pub fn own(&self, m: &Model) -> Option<(&str, &Own)> {
        names(m).iter().find_map(|n| self.own.get_key_value(n).map(|(n, s)| (n.as_str(), &s.own)))
    }

    /// The prices of a model (spec M3): what the person set; the row of its exact id; what the reviewed list says of its
    /// label, then of its id, for a route may lead elsewhere one day; the same for the id without its effort.
    pub fn find(&self, m: &Model) -> Option<Found<'_>> {
        if let Some(set) = names(m).iter().find_map(|n| self.own.get(n)) {
            return match &set.own {
                Own::Rates(_) => Some(Found { how: How::Own, prices: &set.prices }),
                // An alias that leads nowhere must not end at a price that the person did not mean.
                Own::Alias(target) => self.target(target),
            };
        }
        let found = |how| move |prices| Found { how, prices };
        let id = m.id.as_deref();
        let short = id.and_then(alias::without_effort);
        id.and_then(|id| self.direct(id, How::Exact))
            .or_else(|| self.named(alias::of_label(m.label.as_deref()?)?).map(found(How::Alias)))
            .or_else(|| self.named(alias::of_id(id?)?).map(found(How::Alias)))
            .or_else(|| self.direct(short?, How::WithoutEffort))
            .or_else(|| self.named(alias::of_id(short?)?).map(found(How::WithoutEffort)))
    }

    /// Whether a name can be an alias's target, and where it leads.
    pub fn target(&self, name: &str) -> Option<Found<'_>> {
        let model = row_model(name);
        let reached = [Some(model), alias::of_id(model), alias::of_label(name), alias::without_effort(model)];
        let prices = reached.into_iter().flatten().find_map(|n| self.named(n))?;
        Some(Found { how: How::OwnAlias, prices })
    }

    /// The person's rates for this name, else the table's.
    fn named(&self, model: &str) -> Option<&[Price]> {
        let own = self.own.get(model).map(|s| s.prices.as_slice()).filter(|p| !p.is_empty());
        own.or_else(|| self.table.model(model))
    }

    /// The same; an alias of the person's is followed too.
    fn direct(&self, model: &str, how: How) -> Option<Found<'_>> {
        match self.own.get(model).map(|s| &s.own) {
            Some(Own::Alias(target)) => self.target(target),
            _ => self.named(model).map(|prices| Found { how, prices }),
        }
    }

    /// The row that prices a call of this time.
    pub fn row(&self, m: &Model, at: Option<Time>) -> Option<&Row> {
        price_at(self.find(m)?.prices, at).map(|p| &p.row)
    }

    /// What one call costs, and the row; `None` without a row.
    pub fn cost(&self, m: &Model, at: Option<Time>, t: &Tokens) -> Option<(Cost, &Row)> {
        let row = self.row(m, at)?;
        Some((row.rates_in(Band::of(t)).cost(t), row))
    }
}

/// The names by which a person can set a model's price: the backend's, agy's placeholder where that told none, its label.
/// A call that has a name of its own is not meant by the number that it shares with one that has none (spec M3).
fn names(m: &Model) -> Vec<String> {
    let placeholder = if m.id.is_none() { m.placeholder() } else { None };
    [m.id.clone(), placeholder, m.label.clone()].into_iter().flatten().collect()
}

/// A row's key stands for its model.
fn row_model(name: &str) -> &str {
    name.strip_prefix("vertex_ai/").or_else(|| name.strip_prefix("gemini/")).unwrap_or(name)
}

fn stamp(table: &PriceTable, own: &BTreeMap<String, Set>) -> String {
    hash(&format!("{RULES} {table:?} {own:?}"))
}

/// Tells prices of one model apart by which its calls may cost differently. The same in every process.
pub fn fingerprint(prices: &[Price]) -> String {
    hash(&format!("{RULES} {prices:?}"))
}

fn hash(text: &str) -> String {
    // FNV-1a: the standard library's hashes may differ from one build to another.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// Whose model it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    Google,
    Anthropic,
    OpenAi,
    Unknown,
}

/// By the names that the vendors give; no price hangs on it.
pub fn vendor(m: &Model) -> Vendor {
    let name = m.label.as_deref().or(m.id.as_deref()).unwrap_or_default().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|w| name.starts_with(w));
    if begins(&["gemini"]) {
        Vendor::Google
    } else if begins(&["claude"]) {
        Vendor::Anthropic
    } else if begins(&["gpt", "openai/"]) {
        Vendor::OpenAi
    } else {
        Vendor::Unknown
    }
}

#[cfg(test)]
mod tests;
