//! One command, run as agy does: it waits for the exit and for the ends of stdin, stdout and stderr, until time runs out;
//! then the whole process group is killed.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::sys;

/// What is kept of an output; the rest is read and thrown away.
const MOST_KEPT: usize = 1 << 20;
/// How long a killed group may take to let go of its pipes.
const AFTER_KILL: Duration = Duration::from_millis(500);

/// How a command ended.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) duration: Duration,
}

/// `sh -c "<command>"` in a process group of its own.
#[cfg(unix)]
pub(super) fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut out = Command::new("/bin/sh");
    out.arg("-c").arg(command).process_group(0);
    out
}

/// `cmd /c "<command>"`.
#[cfg(not(unix))]
pub(super) fn shell(command: &str) -> Command {
    let mut out = Command::new("cmd");
    out.arg("/c").arg(command);
    out
}

#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Reads to the end on a thread of its own, which outlives us when a grandchild keeps the pipe.
    fn drain(&self, mut from: impl Read + Send + 'static, done: Sender<()>) {
        let kept = self.clone();
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(length) = from.read(&mut buffer)
                && length > 0
            {
                let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_KEPT - kept.len();
                kept.extend(buffer.iter().take(length.min(room)));
            }
            // The receiver is gone when time ran out.
            let _ = done.send(());
        });
    }
}

/// Runs it.
pub(super) fn run(mut command: Command, input: Vec<u8>, timeout: Duration) -> Done {
    let began = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Done { stderr: error.to_string(), duration: began.elapsed(), ..Done::default() };
        }
    };
    let (sender, ends) = mpsc::channel();
    let (out, err) = (Kept::default(), Kept::default());
    if let Some(stdin) = child.stdin.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut stdin = stdin;
            // A hook need not read.
            let _ = stdin.write_all(&input);
            drop(stdin);
            let _ = sender.send(());
        });
    }
    if let Some(stdout) = child.stdout.take() {
        out.drain(stdout, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        err.drain(stderr, sender.clone());
    }
    drop(sender);
    let left = || timeout.saturating_sub(began.elapsed());
    let piped = (0..3).all(|_| ends.recv_timeout(left()).is_ok());
    let status = if piped { exit(&mut child, left) } else { None };
    let timed_out = status.is_none();
    if timed_out {
        sys::kill_group(&mut child);
        // After a kill it does not wait for long.
        let _ = child.wait();
        let dead = Instant::now();
        while dead.elapsed() < AFTER_KILL && ends.recv_timeout(AFTER_KILL / 5).is_ok() {}
    }
    Done {
        stdout: out.text(),
        stderr: err.text(),
        exit: status.and_then(|status| status.code()),
        timed_out,
        duration: began.elapsed(),
    }
}

/// Waits for the exit of a process that has closed its pipes: mostly it has ended already.
fn exit(child: &mut Child, left: impl Fn() -> Duration) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if left().is_zero() => return None,
            Ok(None) => thread::sleep(Duration::from_micros(100)),
            Err(_) => return None,
        }
    }
}
