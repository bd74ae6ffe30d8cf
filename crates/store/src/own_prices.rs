//! Table `own_price`: a copy of the prices and aliases that the person set, which the person's own file is given when it was
//! damaged (`person.rs`).

use rusqlite::{Connection, params};

use crate::{OwnPrice, Store, StoreError};

/// The step may meet a store that has it.
pub(crate) const CREATE: &str = "
CREATE TABLE IF NOT EXISTS own_price (
    model TEXT PRIMARY KEY, alias TEXT, input TEXT, cache_read TEXT, cache_write TEXT, output TEXT
) WITHOUT ROWID;";

impl Store {
    /// The prices and aliases that the person set, by model, as the store was told last.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn own_prices(&self) -> Result<Vec<OwnPrice>, StoreError> {
        self.read(|conn| all(conn, "own_price"))
    }

    /// Keeps a copy of all that the person set, in place of the one before.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn keep_own_prices(&mut self, set: &[OwnPrice]) -> Result<(), StoreError> {
        if self.own_prices()? == set {
            return Ok(());
        }
        self.write(|tx| {
            tx.execute("DELETE FROM own_price", [])?;
            let mut add = tx.prepare_cached("INSERT INTO own_price VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for p in set {
                add.execute(params![p.model, p.alias, p.input, p.cache_read, p.cache_write, p.output])?;
            }
            Ok(())
        })
    }
}

/// Prices of a table, by model.
pub(crate) fn all(conn: &Connection, table: &str) -> rusqlite::Result<Vec<OwnPrice>> {
    conn.prepare(&format!(
        "SELECT model, alias, input, cache_read, cache_write, output FROM {table} ORDER BY model"
    ))?
    .query_map([], |r| {
        Ok(OwnPrice {
            model: r.get(0)?,
            alias: r.get(1)?,
            input: r.get(2)?,
            cache_read: r.get(3)?,
            cache_write: r.get(4)?,
            output: r.get(5)?,
        })
    })?
    .collect()
}
