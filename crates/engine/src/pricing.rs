//! Prices: the table that ships, the one that a sync fetched, what the person set, and the book that follows (spec §8).
//!
//! Which row prices a call is core's matter (`core::price`); here rows come from files. Costs are kept in the store, by the
//! book that the engine gave it; whoever asks for costs first has the store's be by today's book.

mod file;
pub mod litellm;
pub(crate) mod status;
pub(crate) mod sync;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::SystemTime,
};

use agenthub_core::{
    Time, day_of,
    price::{Book, Own, PriceTable, Rate, Rates},
};
use agenthub_store as store;
use jiff::{civil::Date, tz::TimeZone};
use rust_decimal::{Decimal, RoundingStrategy};

use crate::places::Places;

pub use file::{BadFile, PriceFile};

/// The table that ships, made by `cargo xtask prices`.
static SHIPPED: &str = include_str!("pricing/shipped.json");

/// A table with where it comes from.
#[derive(Clone, Debug)]
pub struct Prices {
    pub table: PriceTable,
    pub file: Arc<PriceFile>,
    /// The newest rows are fetched ones.
    pub synced: bool,
    /// Why the fetched table is not used, if it is there and can't be.
    pub problem: Option<String>,
}

/// # Panics
/// Never: what ships is tested to be readable, and an unreadable one would be an empty table with its problem.
fn shipped() -> &'static Prices {
    static PARSED: LazyLock<Prices> = LazyLock::new(|| match PriceFile::parse(SHIPPED) {
        Ok(file) => Prices { table: file.table(), file: Arc::new(file), synced: false, problem: None },
        Err(e) => Prices {
            table: PriceTable::default(),
            file: Arc::default(),
            synced: false,
            problem: Some(format!("The price table that ships can't be read: {e}.")),
        },
    });
    &PARSED
}

impl Prices {
    /// The fetched table, if it is there and good, else the one that ships. A program that is newer than the last sync
    /// brings newer rows: they hold from the day of its table.
    fn load(path: &Path) -> Prices {
        let shipped = shipped();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return shipped.clone(),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
                return shipped.clone().with_problem(path, "it is not UTF-8 text");
            }
            Err(e) => return shipped.clone().with_problem(path, &e.to_string()),
        };
        let file = match PriceFile::parse(&text) {
            Ok(file) => file,
            Err(e) => return shipped.clone().with_problem(path, &e.to_string()),
        };
        let table = file.table();
        if file.date < shipped.file.date
            && let Some(since) = shipped.file.date.parse().ok().and_then(|d| start_of(d, &TimeZone::UTC))
        {
            return Prices { table: table.followed_by(&shipped.table, since), ..shipped.clone() };
        }
        Prices { table, file: Arc::new(file), synced: true, problem: None }
    }

    fn with_problem(self, path: &Path, what: &str) -> Prices {
        let problem = format!(
            "The fetched price table {} can't be used, so that the one that ships is: {what}. Sync again.",
            path.display()
        );
        Prices { problem: Some(problem), ..self }
    }
}

/// When a day begins in a zone.
pub(crate) fn start_of(day: Date, zone: &TimeZone) -> Option<Time> {
    let start = day.to_zoned_datetime(zone.clone()).ok()?;
    // Every zone in use begins its days at the start of a quarter of an hour, and prices change at one.
    Some(Time::of_slot(Time::from_micros(start.timestamp().as_microsecond()).slot()))
}

/// When the day of a moment began.
pub(crate) fn day_start(now: Time, zone: &TimeZone) -> Time {
    day_of(now, zone).and_then(|day| start_of(day, zone)).unwrap_or(now)
}

/// What the person set, as rates and aliases. What can't be read is left out: it was checked when it was set.
fn own(set: &[store::OwnPrice]) -> Vec<(String, Own)> {
    let rate = |t: &Option<String>| t.as_deref().and_then(|t| Rate::parse_per_million(t).ok());
    set.iter()
        .map(|p| {
            let own = match &p.alias {
                Some(alias) => Own::Alias(alias.clone()),
                None => Own::Rates(Rates {
                    input: rate(&p.input),
                    cache_read: rate(&p.cache_read),
                    cache_write: rate(&p.cache_write),
                    output: rate(&p.output),
                }),
            };
            (p.model.clone(), own)
        })
        .collect()
}

/// A cost as people read it, rounded for show only: `$0.0471`, `$12.34`, `< $0.0001`; `no price` where nothing has one, and
/// `≥` where a part has none.
pub fn shown(cost_usd: Option<&str>, tokens_unpriced: u64) -> String {
    let Some(exact) = cost_usd.and_then(|c| Decimal::from_str_exact(c).ok()) else {
        return cost_usd.map_or_else(|| "no price".to_owned(), |c| format!("${c}"));
    };
    let places = if exact >= Decimal::ONE { 2 } else { 4 };
    let rounded = exact.round_dp_with_strategy(places, RoundingStrategy::MidpointAwayFromZero);
    let about = if tokens_unpriced > 0 { "≥ " } else { "" };
    if exact.is_zero() {
        return format!("{about}$0");
    }
    if rounded.is_zero() {
        // "At least less than" would say nothing: then what is known, exactly.
        return if tokens_unpriced > 0 {
            format!("≥ ${}", exact.normalize())
        } else {
            "< $0.0001".to_owned()
        };
    }
    let text = format!("{rounded:.*}", usize::try_from(places).unwrap_or(2));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "00"));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{about}${grouped}.{fraction}")
}

/// A file as it was when it was read. One that is replaced is another file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    len: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Seen {
    fn of(path: &Path) -> Option<Seen> {
        let m = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&m);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Seen { len: m.len(), modified: m.modified().ok(), inode })
    }
}

/// Prices as they stand now, read anew only when they changed.
#[derive(Debug)]
pub(crate) struct Shelf {
    file: PathBuf,
    person: PathBuf,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    seen: Option<Seen>,
    set: Vec<store::OwnPrice>,
    now: Now,
}

/// All that prices calls at this moment.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    pub(crate) prices: Arc<Prices>,
    pub(crate) book: Arc<Book>,
}

impl Shelf {
    pub(crate) fn new(places: &Places) -> Shelf {
        Shelf { file: places.prices(), person: places.person(), kept: Mutex::new(None) }
    }

    /// # Errors
    /// When what the person set can't be read.
    pub(crate) fn now(&self) -> Result<Now, store::StoreError> {
        let seen = Seen::of(&self.file);
        let set = store::PersonStore::prices_in(&self.person)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(k) = kept.as_ref()
            && k.seen == seen
            && k.set == set
        {
            return Ok(k.now.clone());
        }
        let prices = match kept.as_ref().filter(|k| k.seen == seen) {
            Some(k) => Arc::clone(&k.now.prices),
            None => Arc::new(Prices::load(&self.file)),
        };
        let book = Arc::new(Book::new(prices.table.clone(), own(&set)));
        let now = Now { prices, book };
        *kept = Some(Kept { seen, set, now: now.clone() });
        Ok(now)
    }
}

#[cfg(test)]
mod tests;
