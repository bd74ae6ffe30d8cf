//! Makes the price table that ships from LiteLLM's public file; `cargo xtask prices` runs it.
//!
//! Reads the whole file, prints what was refused by label, checks over all of its keys that no reseller's and no
//! sibling's row can ever be chosen, and writes the table only then.
#![allow(clippy::print_stdout, reason = "a command for developers, which prints what it found")]

use std::{collections::BTreeMap, path::Path};

use agenthub_core::{
    Model,
    price::{Book, PriceTable, model_of, without_effort},
};
use agenthub_engine::pricing::{PriceFile, litellm};
use anyhow::{Context as _, ensure};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pricing/shipped.json");

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(source)) = (args.next(), args.next()) else {
        anyhow::bail!("usage: cargo xtask prices FILE SOURCE, for example `prices.json \"LiteLLM 1.110.2\"`");
    };
    let text = std::fs::read_to_string(&file).with_context(|| format!("{file} can't be read"))?;
    let found = litellm::sift(&text).with_context(|| format!("{file} is not LiteLLM's price file"))?;
    refused(&found);
    let table = PriceTable::new(found.rows.iter().cloned());
    let named = check(&found, &table)?;
    println!("{} keys of {} lead to a row, each to that of its own model.", named, found.keys.len());
    let today = jiff::Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::system()).date().to_string();
    let made = PriceFile::new(&source, &today, &found.rows, &table);
    std::fs::write(TABLE, made.to_json()).with_context(|| format!("{TABLE} can't be written"))?;
    let of = Path::new(TABLE).file_name().unwrap_or_default().to_string_lossy().into_owned();
    println!("{of}: {} rows for {} models, {source}, {today}.", made.rows.len(), table.len());
    Ok(())
}

fn refused(found: &litellm::Sifted) {
    let mut by_label: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((label, why), n) in &found.refused {
        by_label.entry(label).or_default().push(format!("{n} {why}"));
    }
    println!("Refused, by label:");
    for (label, why) in by_label {
        println!("  {:40} {}", if label.is_empty() { "(none)" } else { label }, why.join(", "));
    }
}

/// Has each key, and each last part of one, be a model's name as agy might tell it.
fn check(found: &litellm::Sifted, table: &PriceTable) -> anyhow::Result<usize> {
    for (model, prices) in table.models() {
        for p in prices {
            ensure!(model_of(&p.row.key, &p.row.label) == Ok(model), "{} must not price {model}", p.row.key);
            let of = [model.to_owned(), format!("vertex_ai/{model}"), format!("gemini/{model}")];
            ensure!(of.contains(&p.row.key), "{} is no key of {model}", p.row.key);
        }
    }
    let book = Book::new(table.clone(), []);
    let mut named = 0;
    let parts = found.keys.iter().flat_map(|k| [k.as_str(), k.rsplit('/').next().unwrap_or_default()]);
    for id in parts {
        let model = Model { number: 0, id: Some(id.to_owned()), label: None };
        let Some(row) = book.row(&model, None) else { continue };
        named += 1;
        let short = without_effort(id);
        let own = row.model() == id || short == Some(row.model());
        let reviewed = [Some(id), short]
            .into_iter()
            .flatten()
            .any(|n| agenthub_core::price::reviewed(n) == Some(row.model()));
        ensure!(own || reviewed, "`{id}` would be priced by `{}`", row.key);
    }
    Ok(named)
}
