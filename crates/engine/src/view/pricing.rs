//! The shapes of prices: the table, which row prices which model, and what the person set.
//!
//! All rates are USD for a million tokens, as exact decimal text without trailing zeros (`0.075`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Problem, Rfc3339, Tokens};

/// Settings → Model Pricing, and `agenthub pricing list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PricingView {
    pub schema: u32,
    /// What these numbers are, said openly: list prices, not a bill.
    pub note: String,
    pub table: PriceTable,
    /// Every model that calls name, those without a price first, then the most used ones; and the names without a call yet
    /// for which the person set something.
    pub models: Vec<PricedModel>,
    /// All rows of the table: what an alias can point to.
    pub rows: Vec<PriceRow>,
    /// Files that could not be read: what their calls name is not among the models.
    pub problems: Vec<Problem>,
}

/// `agenthub pricing status --json`, and what `pricing sync --json` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PricingStatus {
    pub schema: u32,
    pub note: String,
    pub table: PriceTable,
    /// Of the models that calls name.
    pub models_priced: u32,
    pub models_unpriced: u32,
    /// Models with a price or an alias of the person's own.
    pub models_own: u32,
    /// What the sync that was just made changed; `null` when none was made.
    pub synced: Option<PriceChanges>,
}

/// `agenthub pricing set --json` and `unset --json`: how the model stands then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PricingSet {
    pub schema: u32,
    /// `null`: no call names it yet.
    pub model: Option<PricedModel>,
    /// Other models of calls that an alias leads to it, and that are priced otherwise by this, as they stand then.
    pub others: Vec<PricedModel>,
}

/// Where the prices in use come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PriceTable {
    pub origin: PriceOrigin,
    /// For people: "LiteLLM 1.110.2".
    pub source: String,
    /// The day of the table, `YYYY-MM-DD`.
    pub date: String,
    pub age_days: u32,
    /// The table is so old that new models and new prices are probably missing.
    pub stale: bool,
    pub rows: u32,
    /// When it was last fetched; `null` for the table that shipped.
    pub synced_at: Option<Rfc3339>,
    /// Whether it is fetched once a week.
    pub weekly_sync: bool,
    /// The address that a sync asks.
    pub url: String,
    /// Why the table that was fetched could not be used, so that the one that shipped is; `null` when all is well.
    pub problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum PriceOrigin {
    Shipped,
    Synced,
}

/// How many models a sync changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PriceChanges {
    pub added: u32,
    pub changed: u32,
    /// Left out by the new table; their last prices stay.
    pub kept: u32,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PriceRow {
    /// LiteLLM's key, for example `gemini-3.1-pro-preview`.
    pub row: String,
    /// The model that it prices.
    pub model: String,
    /// LiteLLM's label, for example `vertex_ai-language-models`.
    pub label: String,
    pub rates: PriceRates,
    /// Other rates for calls with long prompts, shortest first.
    pub long: Vec<LongRates>,
}

/// USD for a million tokens; `null` where there is no rate, so that this part stays without a price.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PriceRates {
    pub input: Option<String>,
    pub cache_read: Option<String>,
    pub cache_write: Option<String>,
    pub output: Option<String>,
}

/// The rates of calls whose whole prompt is longer than this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct LongRates {
    /// In tokens.
    #[ts(type = "number")]
    pub above: u64,
    pub rates: PriceRates,
}

/// Whose model it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    Google,
    Anthropic,
    OpenAI,
    Unknown,
}

/// How a model came to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum PriceMatch {
    /// The row is of exactly this id.
    Exact,
    /// The reviewed table of agy's names says so.
    Alias,
    /// The id without its effort (`-high`, `-medium`, `-low`).
    Effort,
    /// The person set this price.
    Own,
    /// The person set this alias.
    OwnAlias,
}

/// A model that calls name, or that the person set a price for, and its price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct PricedModel {
    /// As in the other documents, and what `set_price` takes.
    pub model: String,
    pub model_label: Option<String>,
    pub model_enum: i32,
    pub vendor: Vendor,
    pub calls: u32,
    pub tokens: Option<Tokens>,
    /// Exact decimal; `null`: no price, which is not zero.
    pub cost_usd: Option<String>,
    /// Tokens of parts that have no rate.
    #[ts(type = "number")]
    pub tokens_unpriced: u64,
    /// `null`: no price.
    pub price: Option<ModelPrice>,
    /// What the person set; `null` when nothing.
    pub own: Option<OwnPrice>,
    /// Why there is no price, or not for all parts, and what to do; `null` when all is priced.
    pub hint: Option<String>,
}

/// The price that holds now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ModelPrice {
    /// The row's key; `own:` and the model's name for a price of the person's own.
    pub row: String,
    pub by: PriceMatch,
    /// From when it holds; `null`: from the beginning.
    pub since: Option<Rfc3339>,
    pub rates: PriceRates,
    pub long: Vec<LongRates>,
    /// What held before, newest first.
    pub earlier: Vec<EarlierPrice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct EarlierPrice {
    pub row: String,
    pub since: Option<Rfc3339>,
    pub until: Rfc3339,
    pub rates: PriceRates,
    pub long: Vec<LongRates>,
}

/// What the person set for a model: rates, or the row that it is priced by. One of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(default)]
pub struct OwnPrice {
    /// The model or row that prices it.
    pub alias: Option<String>,
    pub rates: Option<PriceRates>,
}
