//! Where things are: the repository, the folder of what is built, and Cargo and npm with the right folder under them.

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

    /// Cargo, at the root: the very one that runs us.
    pub(crate) fn cargo(&self) -> Program {
        Program::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .called("cargo")
            .dir(&self.root)
    }

    /// npm, in the page's folder, in plain letters (its output is counted).
    pub(crate) fn npm(&self) -> Program {
        Program::new(if cfg!(windows) { "npm.cmd" } else { "npm" }).dir(&self.page()).env("NO_COLOR", "1")
    }
}
