//! What must be there before a build: Rust, system packages, the page's packages, the page itself.

use crate::packages::{self, Purpose};
use crate::program::{Failure, say};
use crate::tree::Tree;
use crate::{page, toolchain};

/// For every command of this repository.
pub(crate) fn everything(tree: &Tree) -> Result<(), Failure> {
    to_test(tree, &[Purpose::Compile, Purpose::Desktop, Purpose::DesktopTests, Purpose::Bundle])?;
    page::build(tree)?;
    say("All that a build and its tests need is here.");
    Ok(())
}

/// For the crates that need no desktop and no page.
pub(crate) fn to_compile(tree: &Tree) -> Result<(), Failure> {
    toolchain::check(tree)?;
    packages::ensure(&[Purpose::Compile])
}

/// For the app: its packages, and the page that is built into it.
pub(crate) fn to_build(tree: &Tree, purposes: &[Purpose]) -> Result<(), Failure> {
    toolchain::check(tree)?;
    packages::ensure(purposes)?;
    page::ensure_npm()?;
    page::ensure_packages(tree)
}

/// For the tests: as for the app, and the toolchain's components.
pub(crate) fn to_test(tree: &Tree, purposes: &[Purpose]) -> Result<(), Failure> {
    to_build(tree, purposes)?;
    toolchain::check_components(tree)
}
