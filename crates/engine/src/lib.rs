//! Runs AgentHub: reads agy's files, keeps what they said, derives the board and tells the hosts.
//!
//! Two hosts use it: the desktop app and the command line. It knows no window and no terminal.
//!
//! The way through: [`Host`] starts an engine, or joins the one that runs (`port`). The engine's thread takes one
//! closed list of inputs (`engine`): file events (`watch`), hook events (`doorbell`, `journal`), the poll, what the
//! person says. It reads what changed (`conversation`, `scan`), writes it down, derives the board and publishes it
//! (`publish`). Lists are asked of the store (`queries`).

mod board_view;
mod bundle;
pub mod clock;
pub mod config;
mod conversation;
mod convert;
mod doctor;
mod doorbell;
mod engine;
mod hook_entries;
pub mod hooks;
pub mod host;
mod journal;
mod listing;
mod logs;
mod notices;
pub mod places;
mod port;
pub mod pricing;
mod process;
mod queries;
pub mod runs;
mod scan;
mod settings;
pub mod tracer;
mod tracks;
mod usage;
pub mod view;
pub mod watch;
mod waterfall;
mod way_out;

pub use clock::Clock;
pub use config::{Config, ConfigError, Overrides};
pub use doctor::{groups as problem_groups, is_of_one_file, warning as warning_words};
pub use hooks::Hooks;
pub use host::{Host, Options, Snapshot};
pub use logs::LogFile;
pub use runs::{NewRun, RunRecord};
pub use settings::{has_put_aside, take_put_aside};
pub use usage::{UsageQuery, csv as usage_csv};
pub use view::UsageBy;
pub use way_out::of_io as way_out_of;
