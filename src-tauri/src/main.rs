//! The desktop app's program; everything is in the library, so that tests can reach it.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

fn main() -> std::process::ExitCode {
    agenthub_desktop::main()
}
