//! Waiting for a command on Windows: Ctrl-C goes to the whole console, so to the command too, and we outlive it.

use std::{io, process::Command};

use agenthub_core::RunEnd;

/// Starts the command, tells its process id, and waits for its end.
///
/// # Errors
/// When it can't be started.
pub(super) fn follow(mut command: Command, started: impl FnOnce(u32)) -> io::Result<RunEnd> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Once asked for, Ctrl-C no longer ends this process; the command decides what it means.
    let _heard = runtime.block_on(async { tokio::signal::windows::ctrl_c() })?;
    let mut child = command.spawn()?;
    started(child.id());
    let status = child.wait()?;
    Ok(RunEnd::Exited(status.code().unwrap_or(1)))
}

pub(super) fn die_alike(_: &RunEnd) {}
