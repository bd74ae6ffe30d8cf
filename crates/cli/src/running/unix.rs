//! Waiting for a command as if we were not there.
//!
//! It stays in our process group, so that a shell sees one job: what the terminal sends (Ctrl-C, Ctrl-Z, a new size) goes to
//! both, and only what somebody sent to us alone is handed on. We outlive all of it, until the command ends.

use std::{io, process::Command};

use agenthub_core::RunEnd;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use signal_hook::{
    consts::signal::{
        SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
    },
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::{
        emulate_default_handler,
        siginfo::{Cause, Origin},
    },
};

/// What a person or a program may send to us and mean for the command.
const HANDED_ON: [i32; 9] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH];

/// Starts the command, tells its process id, and waits for its end.
///
/// # Errors
/// When it can't be started.
pub(super) fn follow(mut command: Command, started: impl FnOnce(u32)) -> io::Result<RunEnd> {
    // One that we were told to ignore (`nohup`) stays ignored, for us and for the command.
    let heard = HANDED_ON.into_iter().filter(|signal| !is_ignored(*signal)).chain([SIGCHLD]);
    // Handlers, which an `exec` takes off again: the command begins with the signals that we began with.
    let mut signals = SignalsInfo::<WithOrigin>::new(heard)?;
    // What the command leaves behind stays a descendant of the run while that goes on.
    #[cfg(target_os = "linux")]
    if let Err(e) = rustix::process::set_child_subreaper(Some(getpid())) {
        tracing::debug!("orphans of the command are not taken over: {e}");
    }
    let child = command.spawn()?;
    started(child.id());
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Err(io::Error::other("it has no process id"));
    };
    loop {
        for origin in signals.wait() {
            if origin.signal == SIGCHLD {
                if let Some(end) = look(pid)? {
                    return Ok(end);
                }
            } else if is_for_us_alone(&origin)
                && let Some(signal) = Signal::from_named_raw(origin.signal)
            {
                // It was not waited for yet, so its number is no other's. One that is just ending needs no signal.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// What became of our children: the command's end, if it ended.
fn look(command: Pid) -> io::Result<Option<RunEnd>> {
    loop {
        let (pid, status) = match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some(told)) => told,
            Ok(None) => return Ok(None),
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        };
        // Orphans that came to us are buried, and that is all.
        if pid != command {
            continue;
        }
        if let Some(code) = status.exit_status() {
            return Ok(Some(RunEnd::Exited(code)));
        }
        if let Some(signal) = status.terminating_signal() {
            return Ok(Some(RunEnd::Killed(signal)));
        }
        if status.stopped() {
            // It has put the terminal in order and stopped; now the shell may have it. We go on with the next SIGCONT.
            kill_process(getpid(), Signal::STOP)?;
        }
    }
}

/// Whether the signal went to us and not, as what a terminal sends, to the command as well.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_))
}

fn is_ignored(signal: i32) -> bool {
    #[expect(unsafe_code, reason = "std and rustix cannot ask what becomes of a signal")]
    // SAFETY: `old` is plain data that may be zero, the kernel fills it, and nothing is changed without a new action.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends as the command ended where whoever started us looks at more than the number: a shell leaves its loop only if what it
/// waited for died of Ctrl-C. `$?` is the same.
pub(super) fn die_alike(end: &RunEnd) {
    if *end == RunEnd::Killed(SIGINT) {
        // Comes back only where the signal is blocked or ignored; the exit code says it then.
        let _ = emulate_default_handler(SIGINT);
    }
}
