//! Where things are, from the environment and the command line (spec P1).

use std::path::{Path, PathBuf};

use crate::view::ErrorView;

/// Resolved places and periods. `.env.example` lists the variables with their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// agy's home: `AGENTHUB_GEMINI_DIR`, else `~/.gemini`.
    pub gemini_dir: PathBuf,
    /// Ours: `AGENTHUB_DATA_DIR`, else the platform's data folder with `agenthub` in it.
    pub data_dir: PathBuf,
    /// Ours: `AGENTHUB_CONFIG_DIR`, else the platform's configuration folder with `agenthub` in it.
    pub config_dir: PathBuf,
    /// `DASHBOARD_ANTIGRAVITY_POLL_MS`, at least 250.
    pub poll_ms: u64,
}

/// Places named on a command line; they win over the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub gemini_dir: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    pub config_dir: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("no home folder is known for this user: set `{variable}` to say where to look")]
    NoHome { variable: &'static str },
    #[error("`{variable}` must be a whole number of milliseconds, but it is `{value}`")]
    NotANumber { variable: &'static str, value: String },
}

const POLL_MS: u64 = 15_000;
const LEAST_POLL_MS: u64 = 250;

impl Config {
    /// From this process's environment.
    ///
    /// # Errors
    /// When there is no home folder and no variable in its place, or a number does not parse.
    pub fn from_env(overrides: &Overrides) -> Result<Config, ConfigError> {
        Config::from(overrides, &|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
    }

    /// The same places, whatever folder is the current one later.
    ///
    /// # Errors
    /// `io` when the current folder, from which a path is relative, is unknown.
    pub(crate) fn absolute(&self) -> Result<Config, ErrorView> {
        let absolute = |p: &Path| {
            std::path::absolute(p).map_err(|e| ErrorView {
                code: "io".to_owned(),
                message: format!(
                    "The current folder is not known, and {} is relative to it: {e}. Change to a folder that is there, or name \
                     a whole path.",
                    p.display()
                ),
            })
        };
        Ok(Config {
            gemini_dir: absolute(&self.gemini_dir)?,
            data_dir: absolute(&self.data_dir)?,
            config_dir: absolute(&self.config_dir)?,
            ..self.clone()
        })
    }

    fn from(o: &Overrides, var: &dyn Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
        let place = |flag: &Option<PathBuf>, variable: &'static str, default: Option<PathBuf>| {
            flag.clone()
                .or_else(|| var(variable).map(PathBuf::from))
                .or(default)
                .ok_or(ConfigError::NoHome { variable })
        };
        let poll_ms = match var("DASHBOARD_ANTIGRAVITY_POLL_MS") {
            None => POLL_MS,
            Some(value) => match value.trim().parse::<u64>() {
                Ok(ms) => ms.max(LEAST_POLL_MS),
                Err(_) => {
                    return Err(ConfigError::NotANumber { variable: "DASHBOARD_ANTIGRAVITY_POLL_MS", value });
                }
            },
        };
        Ok(Config {
            gemini_dir: place(
                &o.gemini_dir,
                "AGENTHUB_GEMINI_DIR",
                dirs::home_dir().map(|h| h.join(".gemini")),
            )?,
            data_dir: place(&o.data_dir, "AGENTHUB_DATA_DIR", dirs::data_dir().map(|d| d.join("agenthub")))?,
            config_dir: place(
                &o.config_dir,
                "AGENTHUB_CONFIG_DIR",
                dirs::config_dir().map(|d| d.join("agenthub")),
            )?,
            poll_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_a_flag_wins_over_the_variable_and_the_poll_has_a_floor() {
        let var = |name: &str| match name {
            "AGENTHUB_GEMINI_DIR" => Some("/from/env".to_owned()),
            "AGENTHUB_DATA_DIR" => Some("/data".to_owned()),
            "DASHBOARD_ANTIGRAVITY_POLL_MS" => Some("1".to_owned()),
            _ => None,
        };
        let o = Overrides { gemini_dir: Some("/from/flag".into()), ..Overrides::default() };
        let c = Config::from(&o, &var).unwrap();
        assert_eq!(c.gemini_dir, PathBuf::from("/from/flag"));
        assert_eq!(c.data_dir, PathBuf::from("/data"));
        assert_eq!(c.poll_ms, LEAST_POLL_MS);
    }

    #[test]
    fn p1_a_poll_that_is_no_number_is_refused_by_name() {
        let var = |name: &str| (name == "DASHBOARD_ANTIGRAVITY_POLL_MS").then(|| "fast".to_owned());
        let e = Config::from(&Overrides::default(), &var).unwrap_err();
        assert!(e.to_string().contains("DASHBOARD_ANTIGRAVITY_POLL_MS"), "{e}");
    }
}
