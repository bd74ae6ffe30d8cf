//! Our own file of a price table: what ships, and what a sync leaves in the data folder, with what held before.
//!
//! Rates are decimal text in USD for a million tokens, so that no reader makes floats of them.

use std::{collections::BTreeMap, fmt};

use agenthub_core::{
    Time,
    price::{LongPrompts, Price, PriceTable, Rate, Rates, Row},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::view;

const UNIT: &str = "USD for a million tokens";
const SCHEMA: u32 = 1;

/// A table of prices as a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceFile {
    pub schema: u32,
    pub source: String,
    pub licence: String,
    /// `YYYY-MM-DD`.
    pub date: String,
    /// When it was fetched, RFC 3339; `None` for what ships.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<String>,
    pub unit: String,
    /// By LiteLLM's key.
    pub rows: BTreeMap<String, FileRow>,
    /// Models whose price changed: all of their prices, oldest first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub history: BTreeMap<String, Vec<FilePrice>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    pub label: String,
    #[serde(flatten)]
    pub rates: FileRates,
    /// By the length of the prompt, in tokens, above which they hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub above: BTreeMap<u64, FileRates>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRates {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// One price of a model whose price changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePrice {
    /// RFC 3339; `None`: from the beginning.
    pub since: Option<String>,
    pub key: String,
    pub row: FileRow,
}

/// Why a file is no price table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile(String);

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFile {}

impl BadFile {
    /// What keeps a text from being read, in words for people who never heard of parsers: nobody wrote it by hand, so where
    /// it is broken says enough.
    pub(super) fn of(e: &serde_json::Error, text: &str) -> BadFile {
        let (line, column) = (e.line().max(1), e.column().max(1));
        BadFile(match e.classify() {
            _ if text.trim().is_empty() => "it is empty".to_owned(),
            Category::Eof => format!("it is JSON that ends too early, in line {line}"),
            Category::Syntax => format!("it is no JSON from line {line}, column {column} on"),
            Category::Data | Category::Io if !text.trim_start().starts_with('{') => {
                "it is no JSON object, `{…}`".to_owned()
            }
            Category::Data | Category::Io => {
                format!("it is not as AgentHub writes it, at line {line}, column {column}")
            }
        })
    }
}

impl PriceFile {
    /// # Errors
    /// When it is no such file, of a newer format, or holds a row that must not be used.
    pub fn parse(text: &str) -> Result<PriceFile, BadFile> {
        let file: PriceFile = serde_json::from_str(text).map_err(|e| BadFile::of(&e, text))?;
        if file.schema != SCHEMA || file.unit != UNIT {
            return Err(BadFile(format!("it is of format {} in {}", file.schema, file.unit)));
        }
        if file.rows.is_empty() {
            return Err(BadFile("it has no rows".to_owned()));
        }
        for (key, row) in &file.rows {
            row.read(key)?;
        }
        for prices in file.history.values() {
            for p in prices {
                p.read()?;
            }
        }
        Ok(file)
    }

    /// A file of these rows, with `table`'s history.
    pub fn new(source: &str, date: &str, rows: &[Row], table: &PriceTable) -> PriceFile {
        let mut of_rows: BTreeMap<String, FileRow> =
            rows.iter().map(|r| (r.key.clone(), FileRow::of(r))).collect();
        // A model that the newest rows leave out keeps its price.
        let plain = PriceTable::new(rows.iter().cloned());
        for (model, prices) in table.models() {
            if let Some(last) = prices.last().filter(|_| plain.model(model).is_none()) {
                of_rows.insert(last.row.key.clone(), FileRow::of(&last.row));
            }
        }
        let history = table
            .models()
            .filter(|(_, prices)| prices.len() > 1)
            .map(|(model, prices)| (model.to_owned(), prices.iter().map(FilePrice::of).collect()));
        PriceFile {
            schema: SCHEMA,
            source: source.to_owned(),
            licence: "MIT, Copyright (c) 2023 Berri AI".to_owned(),
            date: date.to_owned(),
            synced_at: None,
            unit: UNIT.to_owned(),
            rows: of_rows,
            history: history.collect(),
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .map(|mut t| {
                t.push('\n');
                t
            })
            .unwrap_or_default()
    }

    /// Rows that can be read; all can, in a file that was parsed.
    pub fn usable(&self) -> Vec<Row> {
        self.rows.iter().filter_map(|(key, row)| row.read(key).ok()).collect()
    }

    pub fn table(&self) -> PriceTable {
        let mut table = PriceTable::new(self.usable());
        for (model, prices) in &self.history {
            let prices: Vec<Price> = prices.iter().filter_map(|p| p.read().ok()).collect();
            table.set(model, prices);
        }
        table
    }
}

impl FileRow {
    fn of(r: &Row) -> FileRow {
        FileRow {
            label: r.label.clone(),
            rates: FileRates::of(&r.rates),
            above: r.long.iter().map(|l| (l.above, FileRates::of(&l.rates))).collect(),
        }
    }

    fn read(&self, key: &str) -> Result<Row, BadFile> {
        let long = self
            .above
            .iter()
            .map(|(above, rates)| Ok(LongPrompts { above: *above, rates: rates.read(key)? }));
        let long = long.collect::<Result<Vec<_>, BadFile>>()?;
        Row::new(key, &self.label, self.rates.read(key)?, long)
            .map_err(|why| BadFile(format!("the row `{key}` must not be used: {why}")))
    }
}

impl FileRates {
    fn of(r: &Rates) -> FileRates {
        let text = |rate: Option<Rate>| rate.map(Rate::per_million);
        FileRates {
            input: text(r.input),
            cache_read: text(r.cache_read),
            cache_write: text(r.cache_write),
            output: text(r.output),
        }
    }

    fn read(&self, key: &str) -> Result<Rates, BadFile> {
        let rate = |text: &Option<String>| match text {
            None => Ok(None),
            Some(t) => Rate::parse_per_million(t)
                .map(Some)
                .map_err(|why| BadFile(format!("a rate of the row `{key}`, `{t}`, {why}"))),
        };
        Ok(Rates {
            input: rate(&self.input)?,
            cache_read: rate(&self.cache_read)?,
            cache_write: rate(&self.cache_write)?,
            output: rate(&self.output)?,
        })
    }
}

impl FilePrice {
    fn of(p: &Price) -> FilePrice {
        FilePrice { since: p.since.map(Time::rfc3339), key: p.row.key.clone(), row: FileRow::of(&p.row) }
    }

    fn read(&self) -> Result<Price, BadFile> {
        let since = match &self.since {
            None => None,
            Some(text) => {
                let at: Timestamp =
                    text.parse().map_err(|_| BadFile(format!("`{text}` of `{}` is no moment", self.key)))?;
                Some(Time::from_micros(at.as_microsecond()))
            }
        };
        Ok(Price { since, row: self.row.read(&self.key)? })
    }
}

/// Rates as documents show them.
pub(crate) fn rates_view(r: &Rates) -> view::PriceRates {
    let FileRates { input, cache_read, cache_write, output } = FileRates::of(r);
    view::PriceRates { input, cache_read, cache_write, output }
}
