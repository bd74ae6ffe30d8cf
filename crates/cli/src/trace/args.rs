//! `agenthub trace` as it is typed.

use agenthub_engine::tracer::UserName;
use clap::{Subcommand, ValueEnum};

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// How tracing stands: the hook, each destination, what waits
    Status {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Switch it on: where traces go, and the hook in agy; prints what changes
    Install(Install),
    /// Take the hook away; destinations are kept unless `--purge`
    Uninstall {
        /// Destinations, their headers and all that waits to be sent, too
        #[arg(long)]
        purge: bool,
        /// Show what would change, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Send one span to each destination, and show what the backend says
    Test {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Send a session's turns once more, under the same ids
    Export {
        /// Its id
        #[arg(long, value_name = "ID")]
        session: String,
        /// Print what would be sent, as OTLP JSON, and send nothing
        #[arg(long)]
        dry_run: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// What agy's hook runs: takes one event from standard input
    Hook {
        /// PreInvocation or Stop
        event: String,
    },
    /// What a hook leaves behind: sends what is due, then ends
    #[command(hide = true)]
    Work {
        /// At most so long
        #[arg(long, default_value_t = 55)]
        limit_s: u64,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Install {
    /// The backend's OTLP/HTTP endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// A backend that settings are ready for: phoenix, arize, langfuse, honeycomb, jaeger, grafana, collector or atatus
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// The destination to change, by its name; without it, the one with this endpoint or of this preset
    #[arg(long, value_name = "NAME", conflicts_with = "add")]
    pub(crate) destination: Option<String>,
    /// One more destination, beside those that are there
    #[arg(long)]
    pub(crate) add: bool,
    /// A header for that endpoint, as often as needed; kept in secrets.json, for you alone
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// The project by which Phoenix and Arize sort
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// How you are named in traces [default: none]
    #[arg(long, value_enum)]
    pub(crate) user: Option<User>,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum User {
    None,
    Email,
    Hashed,
}

impl From<User> for UserName {
    fn from(u: User) -> UserName {
        match u {
            User::None => UserName::None,
            User::Email => UserName::Email,
            User::Hashed => UserName::Hashed,
        }
    }
}

impl TraceCommand {
    pub(crate) const fn json(&self) -> bool {
        match self {
            TraceCommand::Status { json }
            | TraceCommand::Uninstall { json, .. }
            | TraceCommand::Test { json }
            | TraceCommand::Export { json, .. } => *json,
            TraceCommand::Install(i) => i.json,
            TraceCommand::Hook { .. } | TraceCommand::Work { .. } => false,
        }
    }
}
