//! `cargo xtask run`: the app, built and started.

use std::process::ExitCode;

use crate::packages::Purpose;
use crate::program::{Failure, Program};
use crate::tree::Tree;
use crate::{page, setup};

/// The desktop app's program.
pub(crate) const APP: &str = "agenthub-desktop";

pub(crate) fn app(tree: &Tree, args: &[String]) -> Result<ExitCode, Failure> {
    build(tree, &[])?;
    let status = Program::new(tree.binary(APP)).args(args).status()?;
    Ok(ended_with(status.code()))
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
