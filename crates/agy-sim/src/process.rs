//! `agy-sim play` as a process of its own, for tests that need a real SIGKILL or a lock that somebody else holds.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::home::Home;

/// A running `agy-sim play`. Dropping it kills it.
#[derive(Debug)]
pub struct SimProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: String,
}

impl SimProcess {
    /// Starts `program play --home HOME ARGS…` and waits until its conversation is open.
    pub fn spawn(program: &Path, home: &Home, args: &[&str]) -> Result<Self> {
        Self::spawn_by(Command::new(program), home, args)
    }

    /// The same by way of another command, for example one that takes `agy-sim` as its last argument. What it prints must be
    /// agy-sim's, and it is the one that is killed.
    pub fn spawn_by(mut command: Command, home: &Home, args: &[&str]) -> Result<Self> {
        let program = command.get_program().to_owned();
        let mut child = command
            .arg("play")
            .arg("--home")
            .arg(home.root())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut process = Self { child, stdin, stdout, id: String::new() };
        process.id = process.answer()?;
        Ok(process)
    }

    /// UUID of the conversation that it began with.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one command and waits for its answer; what stands after `ok`. The rows are on disk when this returns.
    pub fn send(&mut self, command: &str) -> Result<String> {
        writeln!(self.stdin, "{command}")?;
        self.stdin.flush()?;
        self.answer().with_context(|| format!("`{command}`"))
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let line = line.trim_end();
        match (line.strip_prefix("ok"), line.strip_prefix("err ")) {
            (Some(rest), _) => Ok(rest.trim_start().to_owned()),
            (None, Some(error)) => bail!("{error}"),
            (None, None) => bail!("agy-sim ended or said something odd: {line:?}"),
        }
    }

    /// SIGKILL, and waits until the process is gone: rows stay in the `-wal`, and the kernel frees the lock.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Closes its conversations cleanly and waits until the process is gone.
    pub fn quit(mut self) -> Result<()> {
        self.send("quit")?;
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "agy-sim ended with {status}");
        Ok(())
    }
}

impl Drop for SimProcess {
    fn drop(&mut self) {
        // Both fail only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Path of `agy-sim`, for tests of other crates: `AGY_SIM` if it is set, else as [`built`] says.
pub fn program() -> Result<PathBuf> {
    match std::env::var_os("AGY_SIM") {
        Some(path) => Ok(path.into()),
        None => built("agy-sim", "agy-sim"),
    }
}

/// A program of this workspace in the folder that the running test or bench was built into, for those that belong to another
/// package: Cargo builds only their own. A no-op when it is fresh; not asked for where `AGENTHUB_TESTS_BUILT` says that the
/// whole workspace has just been built, as `cargo xtask test` does it.
///
/// # Errors
/// When Cargo cannot be started, or does not build it.
pub fn built(package: &str, program: &str) -> Result<PathBuf> {
    // Of one process, the first builds it and the others wait for that.
    static DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let test = std::env::current_exe()?;
    let profile = test.ancestors().nth(2).context("a test runs from target/<profile>/deps")?;
    let path = profile.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = std::env::var_os("AGENTHUB_TESTS_BUILT").is_some() && path.is_file();
    if fresh || done.contains(&path) {
        return Ok(path);
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", package, "--bin", program]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("--target-dir").arg(profile.parent().context("no target folder")?);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    // What Cargo told us of our own package is another matter; some build scripts run anew when it changes (ring's).
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().context("cannot run cargo")?;
    anyhow::ensure!(status.success(), "cargo build -p {package}: {status}");
    done.push(path.clone());
    Ok(path)
}
