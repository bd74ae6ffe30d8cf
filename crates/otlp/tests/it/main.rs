//! Encoding, sending and keeping, over real sockets and files, against a receiver that decodes what it gets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod docs;
mod encoding;
mod json;
mod probe;
mod queue;
mod queue_kill;
mod sending;
mod tree;
