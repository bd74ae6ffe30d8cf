//! LiteLLM's public price file: which of its rows may be used, read from the digits as they stand there.

use std::collections::BTreeMap;

use agenthub_core::price::{LongPrompts, Rate, Rates, Refused, Row, model_of};
use serde_json::value::RawValue;

use super::BadFile;

/// What a file held.
#[derive(Clone, Debug, Default)]
pub struct Sifted {
    pub rows: Vec<Row>,
    /// How many rows were refused, by LiteLLM's label and by why.
    pub refused: BTreeMap<(String, Refused), u32>,
    /// Every key of the file.
    pub keys: Vec<String>,
}

/// The parts that are priced, as LiteLLM names them.
const PARTS: [&str; 4] = [
    "input_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "output_cost_per_token",
];

/// What a call of agy's can be.
const MODES: [&str; 3] = ["chat", "completion", "responses"];

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Takes from a file what may be used.
///
/// # Errors
/// When it is not a JSON object.
pub fn sift(text: &str) -> Result<Sifted, BadFile> {
    let all: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|e| BadFile::of(&e, text))?;
    let mut found = Sifted::default();
    for (key, row) in &all {
        found.keys.push(key.clone());
        let fields: Fields<'_> = serde_json::from_str(row.get()).unwrap_or_default();
        let label = text_of(&fields, "litellm_provider").unwrap_or_default();
        match read(key, &label, &fields) {
            Ok(row) => found.rows.push(row),
            Err(why) => *found.refused.entry((label, why)).or_default() += 1,
        }
    }
    Ok(found)
}

fn read(key: &str, label: &str, fields: &Fields<'_>) -> Result<Row, Refused> {
    model_of(key, label)?;
    if text_of(fields, "mode").is_some_and(|mode| !MODES.contains(&mode.as_str())) {
        return Err(Refused::Mode);
    }
    let rates = rates(fields, "")?;
    let mut bounds: Vec<u64> = Vec::new();
    for name in fields.keys() {
        let bound = PARTS
            .iter()
            .find_map(|p| name.strip_prefix(p)?.strip_prefix("_above_")?.strip_suffix("k_tokens"));
        if let Some(thousands) = bound.and_then(|n| n.parse::<u64>().ok()) {
            bounds.push(thousands);
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    let long = bounds.into_iter().map(|thousands| {
        let rates = self::rates(fields, &format!("_above_{thousands}k_tokens"))?;
        Ok(LongPrompts { above: thousands.saturating_mul(1_000), rates })
    });
    Row::new(key, label, rates, long.collect::<Result<_, _>>()?)
}

fn rates(fields: &Fields<'_>, suffix: &str) -> Result<Rates, Refused> {
    let [input, cache_read, cache_write, output] = PARTS.map(|p| rate(fields, &format!("{p}{suffix}")));
    Ok(Rates { input: input?, cache_read: cache_read?, cache_write: cache_write?, output: output? })
}

/// A rate from the digits of its number; never by way of a float.
fn rate(fields: &Fields<'_>, name: &str) -> Result<Option<Rate>, Refused> {
    match fields.get(name).map(|v| v.get().trim()) {
        None | Some("null") => Ok(None),
        Some(digits) => Rate::parse(digits).map(Some).map_err(|_| Refused::Unreadable),
    }
}

fn text_of(fields: &Fields<'_>, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}
