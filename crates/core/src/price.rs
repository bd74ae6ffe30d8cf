//! What calls cost: rates, the rows that may be used, and which of them prices a model (spec §8).
//!
//! Amounts are exact; nothing here is a float. A part without a rate has no price, which is not the same as costing
//! nothing, and is counted in tokens beside the sum. Where rows come from is not known here.

mod alias;
mod book;
mod money;
mod row;

pub use alias::{of_id as reviewed, without_effort, without_effort_label};
pub use book::{Book, Found, How, Own, Price, PriceTable, Vendor, fingerprint, price_at, vendor};
pub use money::{BadRate, Rate, Usd};
pub use row::{Band, Cost, LongPrompts, Rates, Refused, Row, model_of};
