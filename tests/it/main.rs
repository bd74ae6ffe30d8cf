//! Tests that look at AgentHub from outside, in one program. It belongs to the command line's package, so that it links
//! no web view. Here stands what its modules share: where the repository is, and which files it tracks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

mod architecture;
mod command_line;
#[cfg(unix)]
mod damage;
mod diagnostics;
mod doctor;
mod hooks;
#[cfg(unix)]
mod hooks_agy;
mod hooks_install;
mod hosts;
#[cfg(unix)]
mod in_phoenix;
mod incomplete;
mod layout;
mod live;
mod notices;
#[cfg(unix)]
mod open;
mod prices;
mod rig;
#[cfg(unix)]
mod runs;
mod safety;
mod sample;
mod session;
mod settings;
mod today;
#[cfg(unix)]
mod trace;
mod tracks;
#[cfg(unix)]
mod unwritable;
mod usage_screen;
mod world;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.ancestors().nth(2).expect("crates/cli is two folders below the root").to_owned()
}

/// The files that git tracks and that are there, relative to the root, with `/` between folders.
fn tracked_files() -> Vec<String> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let output = output.expect("git lists the files of this repository, so it must be installed");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let files: Vec<String> = String::from_utf8(output.stdout)
        .expect("our files have names in UTF-8")
        .split_terminator('\0')
        .filter(|file| root().join(file).is_file())
        .map(str::to_owned)
        .collect();
    assert!(!files.is_empty(), "git tracks no file in {}", root().display());
    files
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Fails with every finding at once, so that one run is enough to see them all.
#[track_caller]
fn assert_none(findings: Vec<String>, rule: &str) {
    assert!(findings.is_empty(), "{rule}\n  {}", findings.join("\n  "));
}
