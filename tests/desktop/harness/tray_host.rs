//! The part of a panel that programs see: a StatusNotifierWatcher on the desk's bus.

use std::sync::{Arc, Mutex};

use zbus::{blocking::Connection, interface, message::Header, object_server::SignalEmitter};

pub(crate) const NAME: &str = "org.kde.StatusNotifierWatcher";
pub(crate) const PATH: &str = "/StatusNotifierWatcher";

/// Tray items that have registered, as `bus name/object path`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items(Arc<Mutex<Vec<String>>>);

impl Items {
    pub(crate) fn first(&self) -> Option<String> {
        self.0.lock().unwrap().first().cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

pub(crate) fn serve(bus: &Connection, items: &Items) {
    bus.object_server().at(PATH, Watcher(items.clone())).unwrap();
    bus.request_name(NAME).unwrap();
}

pub(crate) fn leave(bus: &Connection, items: &Items) {
    bus.release_name(NAME).unwrap();
    bus.object_server().remove::<Watcher, _>(PATH).unwrap();
    items.0.lock().unwrap().clear();
}

struct Watcher(Items);

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    async fn register_status_notifier_item(
        &mut self,
        service: String,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) {
        // KDE-style items pass a bus name, Ayatana's an object path.
        let item = if service.starts_with('/') {
            let sender = header.sender().map(ToString::to_string).unwrap_or_default();
            format!("{sender}{service}")
        } else {
            format!("{service}/StatusNotifierItem")
        };
        self.0.0.lock().unwrap().push(item.clone());
        let _ = Self::status_notifier_item_registered(&emitter, &item).await;
    }

    fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }

    #[zbus(signal)]
    async fn status_notifier_item_registered(emitter: &SignalEmitter<'_>, item: &str) -> zbus::Result<()>;
}
