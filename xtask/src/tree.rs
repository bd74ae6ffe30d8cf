//! Where things are: the repository, the folder of what is built, and Cargo and npm with the right folder under them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::program::{Failure, Program};

/// The repository and the folders that belong to it.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    root: PathBuf,
    built: PathBuf,
}

impl Tree {
    /// From where Cargo built this very program: that holds with `CARGO_TARGET_DIR` and `build.target-dir` too.
    pub(crate) fn here() -> Result<Self, Failure> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
        let ourselves = std::env::current_exe().ok();
        let built = ourselves.as_deref().and_then(Path::parent).map(Path::to_owned);
        match built {
            Some(built) if root.join("Cargo.toml").is_file() => Ok(Self { root, built }),
            _ => Err(Failure::new(
                format!("this xtask was built for {}, and no repository is there", root.display()),
                "run `cargo xtask` in the repository: Cargo then builds it anew",
            )),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The page's sources.
    pub(crate) fn page(&self) -> PathBuf {
        self.root.join("ui")
    }

    /// Where xtask keeps what it remembers between runs. Made when it is not there.
    pub(crate) fn stamps(&self) -> PathBuf {
        let stamps = self.built.parent().unwrap_or(&self.built).join("xtask");
        // Without it nothing is remembered, and the next run does the work again.
        let _ = std::fs::create_dir_all(&stamps);
        stamps
    }

    /// A program of this workspace, as `cargo build` leaves it.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.built.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Cargo, at the root: the very one that runs us. What it told us of our own package it does not hear again: build scripts
    /// ask for some of it by name (ring's does), and would run anew whenever another program than we starts Cargo.
    pub(crate) fn cargo(&self) -> Program {
        let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| is_of_a_package(name));
        Program::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .called("cargo")
            .dir(&self.root)
            .without(ours)
    }

    /// npm, in the page's folder, in plain letters (its output is counted).
    pub(crate) fn npm(&self) -> Program {
        Program::new(if cfg!(windows) { "npm.cmd" } else { "npm" }).dir(&self.page()).env("NO_COLOR", "1")
    }
}

/// Variables by which Cargo tells a program that it runs of the package that it belongs to.
fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn cargo_does_not_hear_of_our_own_package_again() {
        for (name, of_a_package) in [
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO", false),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_TERM_COLOR", false),
        ] {
            assert_eq!(is_of_a_package(OsStr::new(name)), of_a_package, "{name}");
        }
    }
}
