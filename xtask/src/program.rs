//! Other programs: started, shown, waited for. The only module that prints.
#![expect(clippy::print_stdout, reason = "a command's output is what it is for")]

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// What went wrong, and what a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) to_do: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, to_do: impl Into<String>) -> Self {
        Self { what: what.into(), to_do: to_do.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  What to do: {}", self.what, self.to_do)
    }
}

/// A line for the person, on standard output.
pub(crate) fn say(line: &str) {
    println!("{}", line.trim_end_matches('\n'));
}

/// A program with its arguments, folder and variables.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    shown: String,
    hidden: bool,
}

/// How a program ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        Self { command: Command::new(name), shown: name.to_string_lossy().into_owned(), hidden: false }
    }

    /// Shown under this name instead of its whole path.
    pub(crate) fn called(mut self, name: &str) -> Self {
        self.shown = name.to_owned();
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        for arg in args {
            self.shown.push(' ');
            self.shown.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Without these variables of ours.
    pub(crate) fn without(mut self, names: impl IntoIterator<Item = OsString>) -> Self {
        for name in names {
            self.command.env_remove(name);
        }
        self
    }

    /// The same, started by another program, as `nice` starts one.
    pub(crate) fn behind(self, starter: &str, args: &[&str]) -> Self {
        let inner = self.command;
        let mut command = Command::new(starter);
        command.args(args).arg(inner.get_program()).args(inner.get_args());
        if let Some(dir) = inner.get_current_dir() {
            command.current_dir(dir);
        }
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self { command, ..self }
    }

    /// Not shown when it is spawned: it is no business of the person's.
    pub(crate) fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Runs it in the open: its output is ours. Anything but success is a failure.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let shown = self.shown.clone();
        let status = self.status()?;
        if status.success() { Ok(()) } else { Err(ended_badly(&shown, status)) }
    }

    /// Runs it in the open, and tells how it ended.
    pub(crate) fn status(mut self) -> Result<ExitStatus, Failure> {
        println!("$ {}", self.shown);
        self.command.status().map_err(|error| not_started(&self.shown, &error))
    }

    /// Starts it and leaves it running.
    pub(crate) fn spawn(mut self, stdin: Stdio, stdout: Stdio) -> Result<Child, Failure> {
        if !self.hidden {
            println!("$ {}", self.shown);
        }
        self.command.stdin(stdin).stdout(stdout).spawn().map_err(|error| not_started(&self.shown, &error))
    }

    /// Starts it and leaves it running; what it prints goes into a file.
    pub(crate) fn spawn_into(mut self, log: &std::fs::File) -> Result<Child, Failure> {
        println!("$ {}", self.shown);
        let copy = |log: &std::fs::File| log.try_clone().map_err(|error| not_started(&self.shown, &error));
        let (out, err) = (copy(log)?, copy(log)?);
        self.command.stdin(Stdio::null()).stdout(out).stderr(err);
        self.command.spawn().map_err(|error| not_started(&self.shown, &error))
    }

    /// Runs it unseen.
    pub(crate) fn quiet(mut self) -> Result<Ran, Failure> {
        let output =
            self.command.stdin(Stdio::null()).output().map_err(|error| not_started(&self.shown, &error))?;
        Ok(Ran {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs it in the open and keeps what it prints, colours included.
    pub(crate) fn tee(mut self) -> Result<Ran, Failure> {
        println!("$ {}", self.shown);
        if std::io::stdout().is_terminal() {
            // A pipe is no terminal; the person's is.
            self.command.env("CARGO_TERM_COLOR", "always");
        }
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&self.shown, &error))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = std::thread::scope(|scope| {
            let err = scope.spawn(|| err.map(|pipe| pass_on(pipe, std::io::stderr())).unwrap_or_default());
            let out = out.map(|pipe| pass_on(pipe, std::io::stdout())).unwrap_or_default();
            (out, err.join().unwrap_or_default())
        });
        let status = child.wait().map_err(|error| not_started(&self.shown, &error))?;
        Ok(Ran { success: status.success(), stdout, stderr })
    }
}

/// Copies line by line, as the lines come, and returns them all.
fn pass_on(from: impl Read, mut to: impl Write) -> String {
    let mut kept = Vec::new();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(n) if n > 0) {
        // A reader of ours that went away must not stop the run.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        kept.append(&mut line);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn not_started(shown: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("`{shown}` could not be run: {error}"),
        "see that the program is installed and on the PATH",
    )
}

fn ended_badly(shown: &str, status: ExitStatus) -> Failure {
    Failure::new(format!("`{shown}` failed ({status})"), "read its output above")
}

/// Where a program is on the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|dir| dir.join(&file)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn what_a_program_prints_is_passed_on_and_kept() {
        let mut seen = Vec::new();
        let kept = pass_on(&b"one\ntwo\nno end"[..], &mut seen);
        assert_eq!(kept, "one\ntwo\nno end");
        assert_eq!(seen, kept.as_bytes());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let failure = Program::new("no-such-program-of-agenthub").args(["--x"]).quiet().unwrap_err();
        assert!(failure.what.contains("no-such-program-of-agenthub --x"), "{failure}");
        assert_eq!(on_path("no-such-program-of-agenthub"), None);
    }
}
