//! One app at a time: a second start opens the first one's window and ends.

use agenthub_engine::Config;
use clap::Parser;
use tauri::{AppHandle, Runtime, plugin::TauriPlugin};

use crate::{args::Args, windows};

/// Does not come back when another process has the same data folder and took our arguments over.
pub(crate) fn guard<R: Runtime>(app: &AppHandle<R>, config: &Config) {
    // The first instance may just be ending: it takes the call and never answers. It is gone the second time.
    let guarded = app.plugin(plugin(config)).or_else(|_| app.plugin(plugin(config)));
    if let Err(error) = guarded {
        tracing::warn!(%error, "nothing keeps a second start from running beside this one");
    }
}

fn plugin<R: Runtime>(config: &Config) -> TauriPlugin<R> {
    tauri_plugin_single_instance::Builder::new()
        .callback(|app, argv, _cwd| second_start(app, argv))
        .dbus_id(bus_id(config))
        .build()
}

/// One app for each data folder, as there is one engine. (Linux only; elsewhere one app for each person.)
fn bus_id(config: &Config) -> String {
    let folder = std::path::absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
    // FNV-1a: the same in every version of the program.
    let hash = folder.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("dev.agenthub.desktop.d{hash:016x}")
}

/// Runs on the bus's thread, where no window may be made. All that another process can do here is to show the window.
fn second_start<R: Runtime>(app: &AppHandle<R>, argv: Vec<String>) {
    // Words that a later version knows show the window, too.
    let args = Args::try_parse_from(argv).unwrap_or_default();
    if !args.background {
        windows::open_soon(app, args.place());
    }
}
