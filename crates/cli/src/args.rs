//! The command line as it is typed.

use std::path::PathBuf;

use agenthub_engine::{Overrides, UsageBy};
use clap::{Parser, Subcommand, ValueEnum};

/// Watches coding agents: which one works, which one waits for you, which one failed, and what it used.
#[derive(Debug, Parser)]
#[command(name = "agenthub", version, propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// agy's home [default: $AGENTHUB_GEMINI_DIR, else ~/.gemini]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) gemini_dir: Option<PathBuf>,
    /// AgentHub's data [default: $AGENTHUB_DATA_DIR, else the platform's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// AgentHub's settings [default: $AGENTHUB_CONFIG_DIR, else the platform's configuration folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

impl Args {
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            gemini_dir: self.gemini_dir.clone(),
            data_dir: self.data_dir.clone(),
            config_dir: self.config_dir.clone(),
        }
    }

    /// Whether errors go out as JSON too.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            Command::Lanes { json, .. }
            | Command::Sessions { json, .. }
            | Command::Session { json, .. }
            | Command::Usage { json, .. }
            | Command::Doctor { json, .. } => *json,
            Command::Hooks { command } => command.json(),
            Command::Trace { command } => command.json(),
            Command::Pricing { command } => command.json(),
            Command::Watch { .. } => true,
            Command::Run(_) | Command::Open { .. } => false,
        }
    }
}

/// Whether a command line that did not parse asks for JSON: it says so, or is `watch`, whose lines always are.
pub(crate) fn wants_json(words: impl Iterator<Item = std::ffi::OsString>) -> bool {
    let words: Vec<_> = words.take_while(|w| w != "--").collect();
    let places = ["--gemini-dir", "--data-dir", "--config-dir"];
    let is_value =
        |n: usize| n.checked_sub(1).and_then(|n| words.get(n)).is_some_and(|w| places.iter().any(|p| w == p));
    let command = words
        .iter()
        .enumerate()
        .find(|(n, w)| !is_value(*n) && !w.to_string_lossy().starts_with('-'))
        .map(|(_, w)| w);
    words.iter().any(|w| w == "--json") || command.is_some_and(|w| w == "watch")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The lanes on the board, worst first
    Lanes {
        /// Take note of a lane's error, so that it no longer stands as failed: its name, its folder, its id or its run
        #[arg(long, value_name = "LANE", conflicts_with = "json")]
        dismiss: Option<String>,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// A JSON line with the whole board at the start and at each change; runs the engine when none runs
    Watch {
        /// Taken for likeness with the other commands: the lines are always JSON
        #[arg(long)]
        json: bool,
    },
    /// All sessions, newest first
    Sessions {
        /// Only those that have this in their name, folder or id
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// One session with its timeline
    Session {
        /// Its id
        id: String,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Tokens by day, model, project or session
    Usage {
        #[arg(long, value_enum, default_value_t = By::Day)]
        by: By,
        /// From this day (2026-11-30) or moment on: 2026-11-30T08:00 is read in `--tz`, 2026-11-30T08:00Z and
        /// 2026-11-30T08:00+01:00 as they say. The quarter of an hour that it falls into is counted
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Up to and including this day, or up to this moment, written as for `--since`
        #[arg(long, value_name = "WHEN")]
        until: Option<String>,
        /// The zone in which days are cut and moments without one are read, by its IANA name [default: yours in the settings, else
        /// the system's]
        #[arg(long, value_name = "ZONE")]
        tz: Option<String>,
        /// Comma-separated values
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// AgentHub's hook in agy, by which it learns of turns at once
    Hooks {
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Run a command in a lane of its own, which follows it to its end: `agenthub run -- agy -p "…"`
    ///
    /// Terminal, signals and exit code are passed through, and nothing is printed beside what the command prints. Should it
    /// not start, the exit code is 127 (not found) or 126 (not executable). Where AgentHub can't write it down it runs with no
    /// lane, which is said on the error output.
    Run(Run),
    /// Open the window of the desktop app, starting it if it does not run
    Open {
        /// A lane by its name, its folder, its id or its run, or a session by its id
        what: Option<String>,
    },
    /// agy's turns as traces, sent to your OpenTelemetry backend
    Trace {
        #[command(subcommand)]
        command: crate::trace::args::TraceCommand,
    },
    /// What models cost: list prices, newer ones, and your own
    Pricing {
        #[command(subcommand)]
        command: PricingCommand,
    },
    /// What is wrong, and what to do about it
    Doctor {
        /// Writes what somebody who is to help needs into a ZIP file that is not there yet, and can be shared as it is
        #[arg(long, value_name = "FILE")]
        bundle: Option<PathBuf>,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Run {
    /// What the lane is called [default: the command and its folder]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The command with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PricingCommand {
    /// Which row prices which model, and which models have no price
    List {
        /// The whole price table instead: what an alias can point to
        #[arg(long)]
        rows: bool,
        /// One JSON document: both
        #[arg(long)]
        json: bool,
    },
    /// Where the prices are from and how old they are
    Status {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Fetch the newest prices from LiteLLM's public file; what changed holds from today on
    Sync {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Give a model a price of your own, or the row of another model; it holds for all of its calls at once
    Set(PricingSet),
    /// Take back what `set` set
    Unset {
        /// The model, as `pricing list` names it
        model: String,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PricingSet {
    /// The model, as `pricing list` names it
    pub(crate) model: String,
    /// USD for a million tokens of input that no cache held
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// USD for a million tokens read from the cache
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub(crate) cache_read: Option<String>,
    /// USD for a million tokens written to the cache
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub(crate) cache_write: Option<String>,
    /// USD for a million tokens of output, thinking included
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub(crate) output: Option<String>,
    /// The model or row whose price it has, instead of rates
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["input", "cache_read", "cache_write", "output"])]
    pub(crate) alias: Option<String>,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl PricingCommand {
    pub(crate) const fn json(&self) -> bool {
        match self {
            PricingCommand::List { json, .. }
            | PricingCommand::Status { json }
            | PricingCommand::Sync { json }
            | PricingCommand::Unset { json, .. } => *json,
            PricingCommand::Set(set) => set.json,
        }
    }
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// How the hook stands, event by event
    Status {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Install it, or bring it up to date; prints what changes in agy's hooks.json
    Install(HooksChange),
    /// Take it away; nothing else in hooks.json changes
    Remove(HooksChange),
    /// Take back the last change of hooks.json
    Undo(HooksChange),
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct HooksChange {
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl HooksCommand {
    pub(crate) const fn json(self) -> bool {
        match self {
            HooksCommand::Status { json } => json,
            HooksCommand::Install(c) | HooksCommand::Remove(c) | HooksCommand::Undo(c) => c.json,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    Day,
    Model,
    Project,
    Session,
}

impl From<By> for UsageBy {
    fn from(by: By) -> UsageBy {
        match by {
            By::Day => UsageBy::Day,
            By::Model => UsageBy::Model,
            By::Project => UsageBy::Project,
            By::Session => UsageBy::Session,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_parse_asks_for_json_or_does_not() {
        let wants = |line: &str| wants_json(line.split(' ').map(Into::into));
        assert!(wants("usage --by colour --json") && wants("--json") && wants("watch --colour"));
        assert!(wants("--data-dir d watch --x"));
        assert!(!wants("usage --by colour") && !wants("--data-dir watch lanes") && !wants("run -- x --json"));
    }
}
