//! A request to end, from outside, is a proper end.

use tauri::{AppHandle, Runtime};

/// Turns a request to end into a proper end.
pub(crate) async fn quit_on_signal<R: Runtime>(app: AppHandle<R>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut int), Ok(mut hup)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
        else {
            return tracing::warn!("signals cannot be watched");
        };
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {}, _ = hup.recv() => {} }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    app.exit(0);
}
