//! Start at login: the system's own list of what starts is brought in line with the setting.

use tauri::{AppHandle, Runtime};
use tauri_plugin_autostart::ManagerExt;

/// Blocks for a small file.
///
/// # Errors
/// What the system says.
pub(crate) fn follow<R: Runtime>(app: &AppHandle<R>, wanted: bool) -> Result<(), String> {
    let list = app.autolaunch();
    // Written anew although it is there: the program may have been moved.
    let done = match (wanted, list.is_enabled()) {
        (true, _) => list.enable(),
        (false, Ok(true)) => list.disable(),
        (false, _) => Ok(()),
    };
    done.map_err(|e| e.to_string())
}
