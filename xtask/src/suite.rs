//! `cargo xtask test`: every check and every test of the tree, as CI runs them. Cargo compiles the tests once, for the
//! whole workspace: its features are settled by what is built together, and two selections mean two builds.

use std::process::ExitCode;

use crate::count::{self, Counts};
use crate::packages::Purpose;
use crate::phoenix::Phoenix;
use crate::program::{Failure, Program, Ran, on_path, say};
use crate::run::APP;
use crate::stages::{Broken, Done, Stages};
use crate::tree::Tree;
use crate::{page, setup};

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// No app, no GTK, no virtual screen.
    WithoutDesktop,
}

/// The app's test program that needs a virtual screen: last, and alone.
const DESKTOP_TESTS: &str = "desktop";

/// How many tests libtest runs at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// For a program whose tests wait for a part of their time: so many at once for each two processors.
fn at_once(tests: Program, for_two: usize) -> Program {
    if std::env::var_os(THREADS).is_some() {
        return tests;
    }
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    tests.env(THREADS, (processors * for_two).div_ceil(2).to_string())
}

/// What the command line must never bring along, by crate and by shared library.
const CRATES_OF_A_DESKTOP: &[&str] = &["tauri", "wry", "tao", "gtk", "gdk", "webkit2gtk", "tray-icon"];
const LIBRARIES_OF_A_DESKTOP: &[&str] =
    &["libgtk", "libgdk", "libwebkit", "libjavascriptcore", "libsoup", "libX11"];

pub(crate) fn all(tree: &Tree, scope: Scope, with_phoenix: bool) -> ExitCode {
    let mut run = Stages::begin();
    let mut programs = Vec::new();

    run.stage("setup", &[], || done(setup::to_test(tree, purposes(scope))));
    run.stage("format", &["setup"], || done(tree.cargo().args(["fmt", "--all", "--check"]).run()));
    run.stage("page: build", &["setup"], || done(page::build(tree).and_then(|()| page::size(tree))));
    let mut page_tests = None;
    run.stage("page: check", &["setup"], || {
        page_tests = Some(page::Tests::start(tree)?);
        done(page::check(tree))
    });
    run.stage("clippy", &["page: build"], || {
        done(cargo(tree, "clippy", scope).args(["--all-targets", "--", "-D", "warnings"]).run())
    });
    run.stage("compile", &["page: build"], || {
        let ran = cargo(tree, "test", scope).args(["--no-run"]).tee()?;
        programs = integration_tests(&ran.stderr);
        if ran.success { Ok(Counts::default()) } else { Err(failed("the tests do not compile").into()) }
    });
    run.stage("unit tests", &["compile"], || {
        let ran = cargo(tree, "test", scope).args(["--no-fail-fast", "--lib", "--bins"]).tee()?;
        counted(&ran, count::libtest)
    });
    run.stage("integration tests", &["compile"], || {
        let others: Vec<&String> = programs.iter().filter(|name| *name != DESKTOP_TESTS).collect();
        if others.is_empty() {
            return Err(failed("no integration test was compiled").into());
        }
        let chosen = others.iter().flat_map(|name| ["--test", name.as_str()]);
        let tests = cargo(tree, "test", scope).args(["--no-fail-fast"]).args(chosen);
        // They mostly wait: for a file event, a quiet second, another process.
        counted(&at_once(tests, 4).tee()?, count::libtest)
    });
    run.stage("page: tests", &["setup"], || match page_tests.take() {
        Some(tests) => counted(&tests.end()?, count::vitest),
        None => Err(failed("the page's tests did not start").into()),
    });
    run.stage("examples in the docs", &["compile"], || {
        let ran = cargo(tree, "test", scope).args(["--no-fail-fast", "--doc"]).tee()?;
        let counts = count::libtest(&ran.stdout);
        if ran.success { Ok(counts) } else { Err(Broken { counts, failure: failed("an example failed") }) }
    });
    run.stage("command line alone", &["compile"], || done(command_line_alone(tree)));
    if scope == Scope::Everything && cfg!(target_os = "linux") {
        run.stage("desktop tests", &["compile"], || {
            // A third of the time they wait for what is asked again, drawn or notified.
            let tests = cargo(tree, "test", scope).args(["--test", DESKTOP_TESTS]);
            counted(&at_once(tests, 3).tee()?, count::libtest)
        });
    } else {
        say("\n── desktop tests: left out (`--quick`, or a system other than Linux)");
    }

    if with_phoenix {
        run.stage("traces in Phoenix", &["compile"], || traces_in_phoenix(tree, scope));
    }

    say(&run.summary());
    if run.all_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A real backend takes what simulated turns leave behind. Not part of the default run: it needs PyPI, and a minute.
fn traces_in_phoenix(tree: &Tree, scope: Scope) -> Done {
    let phoenix = Phoenix::start(tree)?;
    let ran = cargo(tree, "test", scope)
        .args(["--test", "it", "--", "--ignored", "--test-threads=1", "in_phoenix::"])
        .env("AGENTHUB_TEST_PHOENIX", phoenix.url())
        .tee()?;
    counted(&ran, count::libtest).map_err(|broken| phoenix.explained(broken))
}

fn purposes(scope: Scope) -> &'static [Purpose] {
    match scope {
        Scope::Everything => &[Purpose::Compile, Purpose::Desktop, Purpose::DesktopTests],
        Scope::WithoutDesktop => &[Purpose::Compile],
    }
}

/// Always the same selection of packages, so that nothing is built twice.
fn cargo(tree: &Tree, command: &str, scope: Scope) -> Program {
    let cargo = tree.cargo().args([command, "--workspace"]);
    let cargo = match scope {
        Scope::Everything => cargo,
        Scope::WithoutDesktop => cargo.args(["--exclude", APP]),
    };
    // `compile` has built all programs of the workspace; a test that needs one of them need not ask Cargo for it.
    let cargo = if command == "test" { cargo.env("AGENTHUB_TESTS_BUILT", "1") } else { cargo };
    // A change of Cargo.toml brings its Cargo.lock with it: on a developer's machine Cargo writes it, in CI it must be there.
    if std::env::var_os("CI").is_some() { cargo.args(["--locked"]) } else { cargo }
}

/// The names after `--test`, from Cargo's lines `Executable tests/it/main.rs (target/debug/deps/it-0123456789abcdef)`.
fn integration_tests(printed: &str) -> Vec<String> {
    let printed = count::without_colours(printed);
    let mut names: Vec<String> = printed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Executable "))
        .filter(|line| !line.starts_with("unittests "))
        .filter_map(|line| line.rsplit(['/', '\\']).next()?.trim_end_matches(')').rsplit_once('-'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Spec §10: the command line is built and runs on a machine without GTK and WebKit.
fn command_line_alone(tree: &Tree) -> Result<(), Failure> {
    let cli = "agenthub-cli";
    // As the README says: without the hook's program beside it, `hooks install` has nothing to install.
    tree.cargo().args(["build", "-p", cli, "-p", "agenthub-hook"]).run()?;
    let crates = tree.cargo().args(["tree", "-p", cli, "-e", "normal", "--prefix", "none"]).quiet()?;
    if !crates.success || !crates.stdout.contains(cli) {
        return Err(failed(&format!("`cargo tree` did not list {cli}: {}", crates.stderr.trim())));
    }
    let found = desktop_crates(&crates.stdout);
    if !found.is_empty() {
        return Err(Failure::new(
            format!("the command line depends on {}", found.join(", ")),
            "`cargo tree -p agenthub-cli -i CRATE` shows the way; only the root package may depend on it",
        ));
    }
    if on_path("ldd").is_none() {
        return Ok(());
    }
    let libraries = Program::new("ldd").args([tree.binary("agenthub")]).quiet()?.stdout;
    let loaded: Vec<&str> = libraries
        .lines()
        .map(str::trim)
        .filter(|line| LIBRARIES_OF_A_DESKTOP.iter().any(|library| line.starts_with(library)))
        .collect();
    if libraries.contains("libc.so") && loaded.is_empty() {
        say(&format!("agenthub links {} shared libraries, none of a desktop.", libraries.lines().count()));
        return Ok(());
    }
    Err(Failure::new(
        format!("`ldd` shows what the command line must not link, or nothing at all:\n{libraries}"),
        "find the crate that links it with `cargo tree -p agenthub-cli`",
    ))
}

/// From `cargo tree`: one `name vX.Y.Z` a line.
fn desktop_crates(printed: &str) -> Vec<&str> {
    let mut found: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| CRATES_OF_A_DESKTOP.contains(name) || name.starts_with("tauri-"))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn done(result: Result<(), Failure>) -> Done {
    Ok(result.map(|()| Counts::default())?)
}

/// A runner's end and its counts: neither is believed alone.
fn counted(ran: &Ran, count: fn(&str) -> Counts) -> Done {
    let counts = count(&ran.stdout);
    let broken = |what: &str| Err(Broken { counts, failure: failed(what) });
    match (ran.success, counts) {
        (true, counts) if counts.is_nothing() => broken("no test ran"),
        (true, Counts { failed: 0, .. }) => Ok(counts),
        (_, Counts { failed: 0, .. }) => broken("the tests did not run to their end"),
        (_, Counts { failed: 1, .. }) => broken("a test failed"),
        _ => broken("tests failed"),
    }
}

fn failed(what: &str) -> Failure {
    Failure::new(what, "read the output of this stage")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_prints() {
        let printed = "   Compiling agenthub-core v0.1.0\n    Finished `test` profile in 3.2s\n\
            \u{20} Executable unittests src/lib.rs (target/debug/deps/agenthub_core-0123456789abcdef)\n\
            \u{20} Executable tests/desktop/main.rs (target/debug/deps/desktop-0123456789abcdef)\n\
            \u{1b}[1m\u{1b}[32m  Executable\u{1b}[0m ../../tests/it/main.rs (/t/debug/deps/it-0123456789abcdef)\n\
            \u{20} Executable tests\\no-net.rs (target\\debug\\deps\\no_net-0123456789abcdef.exe)\n";
        assert_eq!(integration_tests(printed), ["desktop", "it", "no_net"]);
    }

    #[test]
    fn a_desktop_in_the_command_line_is_seen() {
        let clean = "agenthub-cli v0.1.0 (/x)\nserde v1.0.0\ngtk-free v1.0.0\n";
        assert!(desktop_crates(clean).is_empty());
        let tainted = "agenthub-cli v0.1.0\ntauri-utils v2.0.0\ngtk v0.18.2\ngtk v0.18.2 (*)\n";
        assert_eq!(desktop_crates(tainted), ["gtk", "tauri-utils"]);
    }

    #[test]
    fn a_runner_is_believed_only_when_its_end_and_its_counts_agree() {
        let ran = |success, stdout: &str| Ran { success, stdout: stdout.to_owned(), stderr: String::new() };
        let good =
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s\n";
        let bad = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s\n";
        assert_eq!(counted(&ran(true, good), count::libtest).map(|counts| counts.passed), Ok(2));
        for (success, printed) in [(true, ""), (false, good), (true, bad), (false, bad)] {
            assert!(counted(&ran(success, printed), count::libtest).is_err(), "{success} {printed}");
        }
    }
}
