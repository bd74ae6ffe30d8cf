//! The command line of the desktop app.

use std::path::PathBuf;

use agenthub_engine::config::Overrides;
use clap::Parser;

use crate::windows::Place;

/// See in the tray what your AI coding agents do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Parser)]
#[command(name = "agenthub-desktop", version)]
pub(crate) struct Args {
    /// Open the window at start
    #[arg(long, conflicts_with = "background")]
    pub(crate) window: bool,
    /// Open the window at this lane
    #[arg(long, value_name = "ID", conflicts_with = "background")]
    pub(crate) lane: Option<String>,
    /// Open the window at this session
    #[arg(long, value_name = "ID", conflicts_with_all = ["background", "lane"])]
    pub(crate) session: Option<String>,
    /// Start quietly, for a start at login: a second start with this opens nothing
    #[arg(long)]
    pub(crate) background: bool,
    /// Where agy's files are (default: ~/.gemini)
    #[arg(long, value_name = "DIR")]
    pub(crate) gemini_dir: Option<PathBuf>,
    /// Where AgentHub keeps its own files
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where AgentHub keeps its settings
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

impl Args {
    /// Where the window is to open, if anywhere in particular.
    pub(crate) fn place(&self) -> Option<Place> {
        let session = self.session.clone().map(Place::session);
        session.or_else(|| self.lane.clone().map(Place::lane))
    }

    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            gemini_dir: self.gemini_dir.clone(),
            data_dir: self.data_dir.clone(),
            config_dir: self.config_dir.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Place>, clap::Error> {
        Args::try_parse_from([&["agenthub-desktop"], words].concat()).map(|args| args.place())
    }

    #[test]
    fn a_start_can_name_a_lane_or_a_session_to_show() {
        assert_eq!(parse(&[]).unwrap(), None);
        assert_eq!(parse(&["--window"]).unwrap(), None);
        assert_eq!(
            parse(&["--lane=antigravity:/a b"]).unwrap(),
            Some(Place::lane("antigravity:/a b".into()))
        );
        assert_eq!(parse(&["--window", "--session", "x"]).unwrap(), Some(Place::session("x".into())));
        assert!(parse(&["--lane", "x", "--background"]).is_err());
        assert!(parse(&["--lane", "x", "--session", "y"]).is_err());
    }
}
