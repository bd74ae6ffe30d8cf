//! The store over real files, through its public API.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod hooks;
mod lanes;
mod listing;
mod m06_costs;
mod memory;
mod notices;
mod opening;
mod person;
mod q02_transactions;
mod runs;
mod s03_owners;
mod s09_deletion;
mod searching;
mod sessions;
mod world;
