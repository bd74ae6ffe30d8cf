//! Is there anything on this desktop that shows a tray?
//!
//! On Linux that is whoever owns `org.kde.StatusNotifierWatcher` on the session bus: a panel, or nobody (bare GNOME).
//! macOS and Windows always have a tray.

use std::time::Duration;

use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Not known yet: at login the panel may start after us.
    Looking,
    Here,
    /// Nobody for at least the time of grace.
    Gone,
}

/// Follows the tray host from now on. It counts as gone only after `grace` without one.
pub(crate) fn follow(grace: Duration) -> watch::Receiver<Presence> {
    let (tell, told) = watch::channel(Presence::Looking);
    #[cfg(target_os = "linux")]
    tauri::async_runtime::spawn(async move {
        if let Err(error) = linux::follow(&tell, grace).await {
            tracing::warn!(%error, "the session bus cannot be asked for a tray");
            tokio::time::sleep(grace).await;
            tell.send_replace(Presence::Gone);
        }
        tell.closed().await;
    });
    #[cfg(not(target_os = "linux"))]
    {
        let _ = grace;
        tell.send_replace(Presence::Here);
    }
    told
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Duration, Presence, watch};
    use futures_util::StreamExt;
    use zbus::{fdo::DBusProxy, names::BusName};

    const WATCHER: &str = "org.kde.StatusNotifierWatcher";

    /// Returns when the bus goes away.
    pub(super) async fn follow(tell: &watch::Sender<Presence>, grace: Duration) -> zbus::Result<()> {
        let bus = zbus::Connection::session().await?;
        let dbus = DBusProxy::new(&bus).await?;
        let mut changes = dbus.receive_name_owner_changed_with_args(&[(0, WATCHER)]).await?;
        let mut here = dbus.name_has_owner(BusName::from_static_str(WATCHER)?).await?;
        loop {
            if here {
                tell.send_replace(Presence::Here);
            }
            let change = tokio::select! {
                change = changes.next() => change,
                () = tokio::time::sleep(grace), if !here && *tell.borrow() != Presence::Gone => {
                    tell.send_replace(Presence::Gone);
                    continue;
                }
            };
            let Some(change) = change else { return Err(zbus::Error::InputOutput(bus_gone().into())) };
            here = change.args()?.new_owner().is_some();
        }
    }

    fn bus_gone() -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::ConnectionAborted, "the session bus is gone")
    }
}
