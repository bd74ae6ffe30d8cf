//! `agenthub-hook` from outside, as the forwarder starts it: what stands in its journal, and that it ends in time.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod bad_input;
mod journal;
#[cfg(target_os = "linux")]
mod linking;
#[cfg(unix)]
mod places;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

const ID: &str = "5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f1";

/// A throw-away data folder with the paths that an installed forwarder has baked in.
struct Place {
    root: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        // From a run that was killed.
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        Place { root }
    }

    fn journal(&self) -> PathBuf {
        self.root.join("hooks/journal")
    }

    fn doorbell(&self) -> PathBuf {
        self.root.join("hooks/doorbell")
    }

    fn dropped(&self) -> PathBuf {
        self.root.join("hooks/dropped")
    }

    /// The program as the forwarder calls it.
    fn command(&self, event: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_agenthub-hook"));
        c.arg("--journal").arg(self.journal());
        c.arg("--doorbell").arg(self.doorbell());
        c.arg("--dropped").arg(self.dropped());
        c.args(event).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in ["JOURNAL", "DOORBELL", "DROPPED"] {
            c.env_remove(format!("AGENTHUB_HOOK_{name}"));
        }
        c.env_remove("ANTIGRAVITY_CONVERSATION_ID");
        c
    }

    /// One event with this body. It must end well and print nothing.
    #[track_caller]
    fn event(&self, event: &[&str], body: &[u8]) {
        run(self.command(event), body);
    }

    fn count_dropped(&self) -> usize {
        std::fs::read(self.dropped()).map_or(0, |b| b.len())
    }

    fn records(&self) -> Vec<(String, Vec<u8>)> {
        records(&std::fs::read(self.journal()).unwrap_or_default())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[track_caller]
fn run(mut command: Command, body: &[u8]) {
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
}

/// How it ended, and after how long.
#[track_caller]
fn ends(child: &mut Child) -> (ExitStatus, Duration) {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, started.elapsed());
        }
        if started.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The events of a journal with their bodies, as its reader takes them: what is cut is skipped to the next record.
fn records(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if let Some((event, body, length)) = record(rest) {
            found.push((event, body));
            at += length;
        } else {
            match rest.windows(5).position(|w| w == b"\nAH1 ") {
                Some(next) => at += next + 1,
                None => break,
            }
        }
    }
    found
}

fn record(bytes: &[u8]) -> Option<(String, Vec<u8>, usize)> {
    let head = bytes.iter().position(|b| *b == b'\n')?;
    let line = std::str::from_utf8(&bytes[..head]).ok()?;
    let words: Vec<&str> = line.split(' ').collect();
    let [mark, length, ns, pid, event] = words[..] else { return None };
    (mark == "AH1" && ns.parse::<u64>().is_ok() && pid.parse::<u32>().is_ok()).then_some(())?;
    let end = head + 1 + length.parse::<usize>().ok()?;
    (bytes.get(end) == Some(&b'\n')).then_some(())?;
    Some((event.to_owned(), bytes[head + 1..end].to_vec(), end + 1))
}
