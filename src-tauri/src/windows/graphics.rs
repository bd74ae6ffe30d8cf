//! How the web view draws. It puts a page together from layers with OpenGL; on a machine without a graphics device that is
//! made by the processor, which then does everything twice: drawn plainly, a screen is there in two thirds of the time, and the
//! web process takes a third less memory.

use std::path::Path;

use tauri::{Runtime, WebviewWindow};
use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt, WebViewExt};

/// Has the window drawn plainly where nothing would speed up anything else.
pub(super) fn suit<R: Runtime>(window: &WebviewWindow<R>) -> tauri::Result<()> {
    if has_device(Path::new("/dev")) {
        return Ok(());
    }
    window.with_webview(|view| {
        if let Some(settings) = view.inner().settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        }
    })
}

/// Whether one of the devices is there through which a program reaches a graphics card: one that the kernel's own drivers
/// render with, NVIDIA's, or that of Windows below WSL.
fn has_device(dev: &Path) -> bool {
    let begins = |folder: &Path, name: &str| {
        let mut entries = folder.read_dir().into_iter().flatten().flatten();
        entries.any(|e| e.file_name().to_string_lossy().starts_with(name))
    };
    begins(&dev.join("dri"), "renderD") || begins(dev, "nvidia") || dev.join("dxg").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_only_shows_pictures_speeds_up_nothing() {
        for (devices, expected) in [
            (&[][..], false),
            (&["dri/card0", "null"], false),
            (&["dri/card0", "dri/renderD128"], true),
            (&["nvidia0", "nvidiactl"], true),
            (&["dxg"], true),
        ] {
            let dev = tempfile::tempdir().unwrap();
            for device in devices {
                let path = dev.path().join(device);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            assert_eq!(has_device(dev.path()), expected, "{devices:?}");
        }
        assert!(!has_device(Path::new("/nonexistent")));
    }
}
