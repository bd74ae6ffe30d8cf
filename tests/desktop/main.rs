//! The app on a real (if invisible) desktop: tray over D-Bus, windows, the page in its web view.
//!
//! Each test has a desktop of its own (`harness::desk::Desk`), so they run side by side.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stderr, reason = "measurements are printed")]

mod first_start;
mod harness;
mod hooks;
mod hostile;
mod life;
mod looks;
mod notifications;
mod screens;
mod sessions;
mod settings;
mod tracing;
mod turn;
mod usage;
mod window;
