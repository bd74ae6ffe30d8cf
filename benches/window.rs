//! `cargo xtask bench -- b6 --window`: the window's part of B6. It drives the app on a desktop of its own, which Linux alone has.

#[cfg(target_os = "linux")]
#[path = "window/screens.rs"]
mod screens;

fn main() {
    #[cfg(target_os = "linux")]
    screens::main();
}
