//! The Rust toolchain: new enough, and with the components that the checks need.

use crate::program::{Failure, Program};
use crate::tree::Tree;

const NEEDED: &str = env!("CARGO_PKG_RUST_VERSION");

/// A version as numbers, so that 1.100 is newer than 1.95. Missing parts are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32, pub(crate) u32);

impl Version {
    /// The first thing in `text` that looks like one: `rustc 1.95.0 (…)`, `v22.23.3`, `1.96.0-nightly`.
    pub(crate) fn find(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| {
            let word = word.trim_start_matches('v');
            let number: String = word.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let mut parts = number.split('.').map(str::parse::<u32>);
            let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
            Some(Self(major, minor, parts.next().and_then(Result::ok).unwrap_or(0)))
        })
    }
}

/// The compiler must be at least the workspace's `rust-version`.
pub(crate) fn check(tree: &Tree) -> Result<(), Failure> {
    let printed = Program::new("rustc").args(["--version"]).dir(tree.root()).quiet()?.stdout;
    new_enough(&printed, NEEDED)
}

fn new_enough(printed: &str, needed: &str) -> Result<(), Failure> {
    match (Version::find(printed), Version::find(needed)) {
        (Some(have), Some(need)) if have < need => Err(Failure::new(
            format!("Rust {needed} or newer is needed, and this is `{}`", printed.trim()),
            "run `rustup update stable` (and, if another version is chosen here, `rustup default stable`)",
        )),
        (Some(_), _) => Ok(()),
        (None, _) => Err(Failure::new(
            format!("`rustc --version` printed `{}`, which names no version", printed.trim()),
            "install Rust with rustup, then run this again",
        )),
    }
}

/// `cargo fmt` and `cargo clippy`, which a minimal toolchain lacks.
pub(crate) fn check_components(tree: &Tree) -> Result<(), Failure> {
    let lacks = |name: &&str| !tree.cargo().args([name, "--version"]).quiet().is_ok_and(|ran| ran.success);
    match ["fmt", "clippy"].iter().find(|name| lacks(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::new(
            format!("`cargo {name}` is not installed"),
            "run `rustup component add rustfmt clippy`",
        )),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(Version::find("rustc 1.95.0 (59807616e 2026-04-14)"), Some(Version(1, 95, 0)));
        assert_eq!(Version::find("rustc 1.96.0-nightly (abc 2026-05-01)"), Some(Version(1, 96, 0)));
        assert_eq!(Version::find("v22.23.3\n"), Some(Version(22, 23, 3)));
        assert_eq!(Version::find("1.95"), Some(Version(1, 95, 0)));
        assert_eq!(Version::find("rustc: command not found"), None);
    }

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert!(Version(1, 100, 0) > Version(1, 95, 7));
        assert!(Version(2, 0, 0) > Version(1, 95, 7));
        assert!(new_enough("rustc 1.95.0 (x)", "1.95").is_ok());
        assert!(new_enough("rustc 1.100.0 (x)", "1.95").is_ok());
    }

    #[test]
    fn an_old_compiler_is_told_what_to_do() {
        let failure = new_enough("rustc 1.85.1 (x)", "1.95").unwrap_err();
        assert!(failure.what.contains("1.95") && failure.what.contains("1.85.1"), "{failure}");
        assert!(failure.to_do.contains("rustup update"), "{failure}");
        assert!(new_enough("nonsense", "1.95").is_err());
    }
}
