//! `cargo xtask screenshots`: a picture of every screen in the demo's world, light and dark, into `docs/screens`.

use std::fs;

use crate::packages::Purpose;
use crate::program::{Failure, say};
use crate::run::APP;
use crate::tree::Tree;
use crate::{page, setup};

/// All of them together: they are part of every clone.
const MOST_BYTES: u64 = 3_000_000;

pub(crate) fn draw(tree: &Tree) -> Result<(), Failure> {
    setup::to_test(tree, &[Purpose::Compile, Purpose::Desktop, Purpose::DesktopTests])?;
    page::build(tree)?;
    // The test builds the app by itself.
    tree.cargo().args(["build", "-p", "agy-sim"]).run()?;
    let folder = tree.root().join("docs/screens");
    tree.cargo()
        .args(["test", "-p", APP, "--test", "desktop", "--", "--ignored", "screens::"])
        .env("AGENTHUB_SCREENS", &folder)
        .run()?;
    let mut bytes = 0;
    let mut pictures = 0;
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        if let Ok(about) = entry.metadata() {
            bytes += about.len();
            pictures += 1;
        }
    }
    say(&format!("{pictures} pictures in docs/screens, {} kB", bytes / 1_000));
    if bytes > MOST_BYTES {
        return Err(Failure::new(
            format!("the pictures have {bytes} bytes, and at most {MOST_BYTES} are to be in the tree"),
            "draw fewer of them, or smaller ones",
        ));
    }
    Ok(())
}
