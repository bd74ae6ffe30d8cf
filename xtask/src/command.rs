//! The command line of xtask: which commands there are, what they take, and what the process ends with.

use std::process::ExitCode;

use crate::packages::Purpose;
use crate::program::{Failure, say};
use crate::run::APP;
use crate::tree::Tree;
use crate::{bundle, count, demo, page, run, screens, setup, suite};

const HELP: &str = "\
The commands of this repository. Rust 1.95 or newer is the one thing that they presuppose.

    cargo xtask run [--demo] [-- ARGS…]   build the app and start it; with --demo on a made-up, lively home
    cargo xtask test [--quick]            every check and every test, as CI runs them; --quick leaves the desktop out
                     [--with-phoenix]     and traces against a real backend, which PyPI and a minute are needed for
    cargo xtask bench [ARGS…]             the numbers of benches/, in release; `b6 --window` asks the real window
    cargo xtask bundle                    a .deb of the app, in target/release/bundle
    cargo xtask screenshots               pictures of every screen in the demo's world, into docs/screens
    cargo xtask prices FILE SOURCE        make the price table that ships from LiteLLM's file; SOURCE names its version
    cargo xtask bindings                  write the page's types anew from the engine's
    cargo xtask setup                     install what a build and its tests need (`run` and `test` call it first)
    cargo xtask help                      this text
";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Run { demo: bool, args: Vec<String> },
    Test { scope: suite::Scope, with_phoenix: bool },
    Bench { args: Vec<String> },
    Bundle,
    Screenshots,
    Prices { args: Vec<String> },
    Bindings,
    Setup,
    Help,
}

/// Runs the command of this process: 0 done, 1 failed, 2 wrong use.
pub(crate) fn main() -> ExitCode {
    let command = match parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(wrong) => {
            say(&format!("{wrong}\n\n{HELP}"));
            return ExitCode::from(2);
        }
    };
    match carry_out(command) {
        Ok(code) => code,
        Err(failure) => {
            say(&format!("\nxtask: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn carry_out(command: Command) -> Result<ExitCode, Failure> {
    let tree = Tree::here()?;
    match command {
        Command::Run { demo: false, args } => run::app(&tree, &args),
        Command::Run { demo: true, args } => demo::app(&tree, &args),
        Command::Test { scope, with_phoenix } => Ok(suite::all(&tree, scope, with_phoenix)),
        Command::Bench { args } => bench(&tree, &args).map(|()| ExitCode::SUCCESS),
        Command::Bundle => bundle::deb(&tree).map(|()| ExitCode::SUCCESS),
        Command::Screenshots => screens::draw(&tree).map(|()| ExitCode::SUCCESS),
        Command::Prices { args } => prices(&tree, &args).map(|()| ExitCode::SUCCESS),
        Command::Bindings => bindings(&tree).map(|()| ExitCode::SUCCESS),
        Command::Setup => setup::everything(&tree).map(|()| ExitCode::SUCCESS),
        Command::Help => {
            say(HELP);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn bench(tree: &Tree, args: &[String]) -> Result<(), Failure> {
    if args.iter().any(|arg| arg == "--window") {
        setup::to_test(tree, &[Purpose::Compile, Purpose::Desktop, Purpose::DesktopTests])?;
        page::build(tree)?;
        return tree.cargo().args(["bench", "-p", APP, "--bench", "window", "--"]).args(args).run();
    }
    setup::to_compile(tree)?;
    tree.cargo().args(["bench", "-p", "agenthub-cli", "--bench", "*", "--"]).args(args).run()
}

/// An example of the engine's does it: this crate reads no JSON.
fn prices(tree: &Tree, args: &[String]) -> Result<(), Failure> {
    setup::to_compile(tree)?;
    tree.cargo()
        .args(["run", "--quiet", "-p", "agenthub-engine", "--example", "prices", "--"])
        .args(args)
        .run()
}

/// The test that compares the page's types with the engine's writes them instead when this variable is set.
fn bindings(tree: &Tree) -> Result<(), Failure> {
    const TEST: &str = "the_committed_bindings_are_these_types";
    setup::to_compile(tree)?;
    let ran = tree
        .cargo()
        .args(["test", "-p", "agenthub-engine", TEST])
        .env("AGENTHUB_WRITE_BINDINGS", "1")
        .tee()?;
    if ran.success && count::libtest(&ran.stdout).passed > 0 {
        return Ok(());
    }
    Err(Failure::new(
        format!("the test `{TEST}` of agenthub-engine did not write the page's types"),
        "read its output above; if no test ran at all, its name has changed and `xtask/src/command.rs` must follow",
    ))
}

fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut args = args.peekable();
    let name = args.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = args.collect();
    let alone = |command: Command| match rest.first() {
        None => Ok(command),
        Some(extra) => Err(format!("`cargo xtask {name}` takes no `{extra}`.")),
    };
    match name.as_str() {
        "run" => parse_run(&rest),
        "test" => parse_test(&rest),
        "bench" => Ok(Command::Bench { args: rest.into_iter().skip_while(|arg| arg == "--").collect() }),
        "bundle" => alone(Command::Bundle),
        "screenshots" => alone(Command::Screenshots),
        "prices" if rest.len() == 2 => Ok(Command::Prices { args: rest }),
        "prices" => {
            Err("`cargo xtask prices` takes LiteLLM's file and its version: FILE \"LiteLLM 1.110.2\"."
                .to_owned())
        }
        "bindings" => alone(Command::Bindings),
        "setup" => alone(Command::Setup),
        "help" | "--help" | "-h" => Ok(Command::Help),
        other => Err(format!("There is no `cargo xtask {other}`.")),
    }
}

fn parse_test(rest: &[String]) -> Result<Command, String> {
    let (mut scope, mut with_phoenix) = (suite::Scope::Everything, false);
    for flag in rest {
        match flag.as_str() {
            "--quick" => scope = suite::Scope::WithoutDesktop,
            "--with-phoenix" => with_phoenix = true,
            other => {
                return Err(format!(
                    "`cargo xtask test` takes `--quick` and `--with-phoenix`, not `{other}`."
                ));
            }
        }
    }
    Ok(Command::Test { scope, with_phoenix })
}

/// `--demo` stands before `--`; all that comes after `--` is the app's.
fn parse_run(rest: &[String]) -> Result<Command, String> {
    let mut ours = rest.split(|arg| arg == "--");
    let mut demo = false;
    for flag in ours.next().unwrap_or_default() {
        match flag.as_str() {
            "--demo" => demo = true,
            other => {
                return Err(format!(
                    "`cargo xtask run` takes no `{other}`; arguments for the app come after `--`."
                ));
            }
        }
    }
    let args = rest.iter().skip_while(|arg| *arg != "--").skip(1).cloned().collect();
    Ok(Command::Run { demo, args })
}

#[cfg(test)]
mod test {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_apps_arguments_come_after_two_dashes() {
        assert_eq!(parsed("run"), Ok(Command::Run { demo: false, args: vec![] }));
        assert_eq!(
            parsed("run --demo -- --window -- x"),
            Ok(Command::Run { demo: true, args: vec!["--window".into(), "--".into(), "x".into()] })
        );
        assert!(parsed("run --window").is_err_and(|e| e.contains("after `--`")));
    }

    #[test]
    fn test_and_bench_take_their_options() {
        let test = |scope, with_phoenix| Ok(Command::Test { scope, with_phoenix });
        assert_eq!(parsed("test"), test(suite::Scope::Everything, false));
        assert_eq!(parsed("test --quick"), test(suite::Scope::WithoutDesktop, false));
        assert_eq!(parsed("test --with-phoenix --quick"), test(suite::Scope::WithoutDesktop, true));
        assert!(parsed("test --fast").is_err());
        assert_eq!(parsed("bench -- B2"), Ok(Command::Bench { args: vec!["B2".into()] }));
        assert_eq!(parsed("bench B2"), parsed("bench -- B2"));
    }

    #[test]
    fn prices_come_from_a_file_whose_version_is_said() {
        let args = vec!["prices.json".to_owned(), "1.110.2".to_owned()];
        assert_eq!(parsed("prices prices.json 1.110.2"), Ok(Command::Prices { args }));
        assert!(parsed("prices prices.json").is_err());
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        assert_eq!(parsed(""), Ok(Command::Help));
        assert!(parsed("tset").is_err_and(|e| e.contains("tset")));
        assert!(parsed("bundle --rpm").is_err_and(|e| e.contains("--rpm")));
    }

    #[test]
    fn the_help_names_every_command() {
        for name in ["run", "test", "bench", "bundle", "screenshots", "prices", "bindings", "setup", "help"] {
            assert!(HELP.contains(&format!("cargo xtask {name}")), "{name}");
        }
    }
}
