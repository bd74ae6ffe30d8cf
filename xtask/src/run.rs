//! `cargo xtask run`: the app, built and started.

use std::process::ExitCode;

use crate::packages::Purpose;
use crate::program::{Failure, Program};
use crate::tree::Tree;
use crate::{page, setup};

/// The desktop app's program.
pub(crate) const APP: &str = "agenthub-desktop";

pub(crate) fn app(tree: &Tree, args: &[String]) -> Result<ExitCode, Failure> {
    needs_screen(args)?;
    build(tree, &[])?;
    let status = Program::new(tree.binary(APP)).args(args).status()?;
    Ok(ended_with(status.code()))
}

/// Before the long build: without a desktop the app could not be shown after it.
///
/// # Errors
/// Where there is no screen, and more than a word about itself is asked of the app.
pub(crate) fn needs_screen(args: &[String]) -> Result<(), Failure> {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_word = args.iter().any(|arg| ["--help", "-h", "--version", "-V"].contains(&arg.as_str()));
    if !cfg!(target_os = "linux") || is_word || set("DISPLAY") || set("WAYLAND_DISPLAY") {
        return Ok(());
    }
    Err(Failure::new(
        "there is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set, and the app is a window and a tray icon",
        "run this in a terminal of your desktop; the command line needs none: `cargo run -p agenthub-cli -- lanes`",
    ))
}

/// Builds the app, the command line and `more`, in one go, so that Cargo settles features once.
pub(crate) fn build(tree: &Tree, more: &[&str]) -> Result<(), Failure> {
    setup::to_build(tree, &[Purpose::Compile, Purpose::Desktop])?;
    page::build(tree)?;
    let packages = [APP, "agenthub-cli", "agenthub-hook"].into_iter().chain(more.iter().copied());
    tree.cargo().args(["build"]).args(packages.flat_map(|name| ["-p", name])).run()
}

/// Our exit code is the app's; a signal has none.
pub(crate) fn ended_with(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
