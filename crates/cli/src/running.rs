//! `agenthub run`: a command in a lane of its own. It is as if it had been started without us: terminal, signals, job
//! control and exit code pass through, and what is printed is the command's.
//!
//! No engine is needed: the run is written down in the data folder, and whoever looks there knows of it.

use std::{io, process::ExitCode};

use agenthub_core::RunEnd;
use agenthub_engine::{Config, NewRun, Overrides, RunRecord, way_out_of};

use crate::{args::Run, run::complain};

/// Our own failure, where nothing was started; as `env`, `nohup` and `timeout` use it.
const OURS: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

pub(crate) fn run(overrides: &Overrides, run: &Run) -> ExitCode {
    let Some((program, arguments)) = run.command.split_first() else { return ExitCode::from(2) };
    let config = match Config::from_env(overrides) {
        Ok(config) => config,
        Err(e) => return refused(&e.to_string()),
    };
    let cwd = std::env::current_dir().ok();
    let new = NewRun { name: run.name.as_deref(), program, cwd: cwd.as_deref() };
    // Before the start: whoever sees the command's first session knows already whose it is.
    let record = match RunRecord::begin(&config, &new) {
        Ok(record) => Some(record),
        // The command is what matters: whoever asked for it at night gets it, and reads in the morning why it has no lane.
        Err(e) => {
            complain(&format!(
                "agenthub: {} The command runs all the same, with no lane of its own.",
                e.message
            ));
            None
        }
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    let mut amiss = None;
    let ended = system::follow(command, |pid| {
        amiss = record.as_ref().and_then(|record| record.started(pid).err());
    });
    let (end, code) = match ended {
        Ok(end) => {
            let code = code_of(&end);
            (end, code)
        }
        Err(e) => {
            let (reason, code) = why_not(&e);
            complain(&format!("agenthub: {} could not be started: {reason}", program.to_string_lossy()));
            (RunEnd::NotStarted(reason), code)
        }
    };
    // Said once, and not while the command has the terminal.
    if let Some(Err(e)) = record.map(|record| record.ended(&end)) {
        complain(&format!(
            "agenthub: the command's end can't be written down, so its lane will say that it failed: {e}. {}",
            way_out_of(&e)
        ));
    } else if let Some(e) = amiss {
        complain(&format!("agenthub: the run is not fully written down: {e}. {}", way_out_of(&e)));
    }
    system::die_alike(&end);
    ExitCode::from(code)
}

fn refused(why: &str) -> ExitCode {
    complain(&format!("agenthub: {why} The command was not started."));
    ExitCode::from(OURS)
}

/// The exit code; 128 and the number for a signal, as a shell gives it.
fn code_of(end: &RunEnd) -> u8 {
    let code = match end {
        RunEnd::Exited(code) => *code,
        RunEnd::Killed(signal) => signal.saturating_add(128),
        RunEnd::NotStarted(_) => i32::from(OURS),
    };
    // Windows has larger codes than fit here; one that is not 0 stays one that is not 0.
    u8::try_from(code).unwrap_or(1)
}

fn why_not(e: &io::Error) -> (String, u8) {
    match e.kind() {
        io::ErrorKind::NotFound => ("it was not found".to_owned(), NOT_FOUND),
        io::ErrorKind::PermissionDenied => ("it is not executable".to_owned(), NOT_EXECUTABLE),
        _ => (e.to_string(), NOT_EXECUTABLE),
    }
}

#[cfg(unix)]
#[path = "running/unix.rs"]
mod system;

#[cfg(not(unix))]
#[path = "running/elsewhere.rs"]
mod system;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_commands_own() {
        for (end, code) in [
            (RunEnd::Exited(0), 0),
            (RunEnd::Exited(255), 255),
            (RunEnd::Killed(2), 130),
            (RunEnd::Killed(64), 192),
            (RunEnd::Exited(-1_073_741_510), 1),
        ] {
            assert_eq!(code_of(&end), code, "{end:?}");
        }
    }
}
