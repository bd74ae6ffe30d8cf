//! `agenthub`: the same numbers as the window, for servers and scripts. It needs no desktop.

mod args;
mod hooks;
mod open;
mod out;
mod run;
mod running;
mod tables;
mod trace;
mod watch;

fn main() -> std::process::ExitCode {
    run::main()
}
