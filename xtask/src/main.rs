//! `cargo xtask`: every command that a developer, or CI, types in this repository.

mod bundle;
mod command;
mod count;
mod demo;
mod packages;
mod page;
mod phoenix;
mod program;
mod run;
mod screens;
mod setup;
mod stages;
mod suite;
mod toolchain;
mod tree;

fn main() -> std::process::ExitCode {
    command::main()
}
