//! Table `model`: the names that agy gave to models, each combination once.

use agenthub_core::{
    Model,
    price::{Price, fingerprint},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{Store, StoreError};

pub(crate) const CREATE: &str = "
CREATE TABLE model (
    mid    INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,         -- agy's enum; 0 = none
    name   TEXT NOT NULL,            -- the backend's name; '' = none
    label  TEXT NOT NULL,            -- for people; '' = none
    UNIQUE (number, name, label)
);";

/// A combination of names, with its row number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    pub mid: i64,
    pub model: Model,
}

/// By which prices the costs of a model's calls are: a fingerprint, or nothing where that is not known. A new book then
/// has only those models priced anew whose prices are others.
pub(crate) const ADD_PRICES: &str = "ALTER TABLE model ADD COLUMN prices TEXT";

/// The row number of `model`, made if it is new: its calls will cost by `prices`.
pub(crate) fn intern(conn: &Connection, model: &Model, prices: &[Price]) -> rusqlite::Result<i64> {
    let name = model.id.as_deref().unwrap_or("");
    let label = model.label.as_deref().unwrap_or("");
    let found = conn
        .prepare_cached("SELECT mid FROM model WHERE number = ?1 AND name = ?2 AND label = ?3")?
        .query_row(params![model.number, name, label], |r| r.get(0))
        .optional()?;
    if let Some(mid) = found {
        return Ok(mid);
    }
    conn.prepare_cached("INSERT INTO model (number, name, label, prices) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![model.number, name, label, fingerprint(prices)])
}

impl Store {
    /// All combinations of names.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn models(&self) -> Result<Vec<ModelRow>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT mid, number, name, label FROM model ORDER BY mid")?
                .query_map([], |r| Ok(ModelRow { mid: r.get(0)?, model: from_columns(r, 1)? }))?
                .collect()
        })
    }
}

/// Columns `number, name, label` from `first` on.
pub(crate) fn from_columns(r: &Row<'_>, first: usize) -> rusqlite::Result<Model> {
    let some = |s: String| (!s.is_empty()).then_some(s);
    Ok(Model { number: r.get(first)?, id: some(r.get(first + 1)?), label: some(r.get(first + 2)?) })
}

impl Store {
    /// All names, in the order in which they were first met, which never changes.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn models_in_order(&self) -> Result<Vec<Model>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached("SELECT number, name, label FROM model ORDER BY mid")?
                .query_map([], |r| from_columns(r, 0))?
                .collect()
        })
    }
}
