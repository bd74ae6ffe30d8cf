//! The reader through its public API: over conversations of the simulated agy, and over real ones where they are at hand.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "clippy lets tests fail by panicking, but not the functions beside them"
)]

mod live;
mod quiet;
mod real;
mod timeline;
mod trace;
mod track;
mod world;
