//! `cargo xtask bundle`: the `.deb`, by Tauri's own packager from the page's packages.

use crate::packages::Purpose;
use crate::program::{Failure, Program};
use crate::setup;
use crate::tree::Tree;

pub(crate) fn deb(tree: &Tree) -> Result<(), Failure> {
    let packager =
        tree.page().join("node_modules/.bin").join(if cfg!(windows) { "tauri.cmd" } else { "tauri" });
    setup::to_build(tree, &[Purpose::Compile, Purpose::Desktop, Purpose::Bundle])?;
    if !packager.exists() {
        return Err(Failure::new(
            "Tauri's packager is not among the page's packages",
            "run `npm install --save-dev @tauri-apps/cli@2` in ui/ and commit package.json and package-lock.json",
        ));
    }
    // The packager puts the command line and the hook program into the package but does not build them: they are other packages' programs.
    tree.cargo().args(["build", "--release", "-p", "agenthub-cli", "-p", "agenthub-hook"]).run()?;
    Program::new(packager).args(["build", "--bundles", "deb"]).dir(tree.root()).run()
}
