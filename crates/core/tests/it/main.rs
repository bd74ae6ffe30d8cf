//! The rules of spec §4, each held by a test that bears its number.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod hooks;
mod l05_state;
mod l06_settling;
mod l07_lanes;
mod l08_runs;
mod l09_any_order;
mod l09_clock;
mod l09_hooked_turns;
mod l09_turns;
mod script;
mod t3_notices;
mod t4_rules;
