//! Checks that the page is built, then hands Tauri our configuration, capabilities and permissions.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    // The working directory is the repository's root: the root package is the app.
    println!("cargo:rerun-if-changed=ui/dist/index.html");
    // What the page may ask is compiled in; Tauri does not watch these two.
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    println!("cargo:rerun-if-changed=src-tauri/permissions");
    if !Path::new("ui/dist/index.html").is_file() {
        return failed(
            "the page is not built: `ui/dist/index.html` is missing.\n\
             `cargo xtask setup` and `npm run build` in `ui/` make it; `cargo xtask run` and `cargo xtask test` do both.",
        );
    }
    let attributes = tauri_build::Attributes::new()
        .capabilities_path_pattern("./src-tauri/capabilities/*.json")
        .app_manifest(
            tauri_build::AppManifest::new().permissions_path_pattern("./src-tauri/permissions/*.toml"),
        );
    match tauri_build::try_build(attributes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&format!("{error:#}")),
    }
}

#[expect(clippy::print_stderr, reason = "Cargo shows what a failed build script says there")]
fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}
