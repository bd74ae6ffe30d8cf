//! Notifications on macOS and Windows. A click there brings the app forward, which opens the window.

use tauri::{AppHandle, Runtime};
use tokio::sync::mpsc;

use super::Job;
use crate::text;

/// Shows jobs until the app quits.
pub(super) async fn serve<R: Runtime>(app: AppHandle<R>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let identifier = app.config().identifier.clone();
    while let Some(job) = jobs.recv().await {
        let (n, done) = match job {
            Job::Show { notification, done } => (notification, done),
            // The system keeps them, and a click starts the app if need be.
            Job::TakeOff(_) => continue,
            Job::Quit(done) => {
                let _ = done.send(());
                return;
            }
        };
        let identifier = identifier.clone();
        let shown = tauri::async_runtime::spawn_blocking(move || {
            #[cfg(target_os = "macos")]
            // The first call counts; later ones say that it is set already.
            let _ = notify_rust::set_application(&identifier);
            let mut system = notify_rust::Notification::new();
            system.appname(text::APP).summary(&n.title).body(&n.body);
            #[cfg(windows)]
            system.app_id(&identifier);
            if n.sound {
                system.sound_name(if cfg!(windows) { "Default" } else { "Ping" });
            }
            system.show().map(drop).map_err(|e| e.to_string())
        });
        // Whoever asked may have stopped waiting.
        let _ = done.send(shown.await.unwrap_or_else(|e| Err(e.to_string())));
    }
}
