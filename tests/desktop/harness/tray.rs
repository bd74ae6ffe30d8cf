//! The app's tray item as a panel sees it over D-Bus.

use std::collections::HashMap;

use zbus::{
    blocking::{Connection, Proxy},
    zvariant::{OwnedValue, Structure, Value},
};

/// A node of `com.canonical.dbusmenu`: id, properties, children.
type Node = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

#[derive(Debug)]
pub(crate) struct Tray {
    bus: Connection,
    name: String,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    id: i32,
    /// `---` for a separator.
    pub(crate) label: String,
    pub(crate) enabled: bool,
}

/// One picture of the icon: premultiplied or not, as the app sends it (ARGB, network order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pixmap {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) argb: Vec<u8>,
}

impl Tray {
    /// `item` is `bus name/object path`.
    pub(crate) fn new(bus: &Connection, item: &str) -> Tray {
        let (name, path) = item.split_at(item.find('/').unwrap());
        Tray { bus: bus.clone(), name: name.to_owned(), path: path.to_owned() }
    }

    pub(crate) fn text(&self, property: &str) -> String {
        match &*self.property(property) {
            Value::Str(text) => text.to_string(),
            Value::ObjectPath(path) => path.to_string(),
            other => other.to_string(),
        }
    }

    /// Title and description of the tooltip.
    pub(crate) fn tooltip(&self) -> (String, String) {
        let tooltip = Structure::try_from(self.property("ToolTip")).unwrap();
        let text = |at: usize| String::try_from(tooltip.fields()[at].try_clone().unwrap()).unwrap();
        (text(2), text(3))
    }

    pub(crate) fn icon(&self) -> Pixmap {
        let pixmaps: Vec<(i32, i32, Vec<u8>)> = self.property("IconPixmap").try_into().unwrap();
        let (width, height, argb) = pixmaps.into_iter().next().expect("an icon");
        Pixmap { width, height, argb }
    }

    /// A left click.
    pub(crate) fn activate(&self) {
        self.item().call::<_, _, ()>("Activate", &(10, 10)).unwrap();
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        let (_, root): (u32, Node) = self.menu().call("GetLayout", &(0, -1, Vec::<&str>::new())).unwrap();
        root.2
            .into_iter()
            .map(|child| {
                let (id, properties, _): Node = child.try_into().unwrap();
                let text = |key: &str| {
                    properties.get(key).and_then(|v| <&str>::try_from(v).ok()).unwrap_or_default().to_owned()
                };
                let enabled = properties.get("enabled").and_then(|v| bool::try_from(v).ok()).unwrap_or(true);
                // A panel underlines the letter behind one `_`, and shows two as one.
                let label = if text("type") == "separator" {
                    "---".to_owned()
                } else {
                    text("label").replace("__", "_")
                };
                Item { id, label, enabled }
            })
            .collect()
    }

    pub(crate) fn labels(&self) -> Vec<String> {
        self.items().into_iter().map(|item| item.label).collect()
    }

    /// The first line that holds `part`.
    pub(crate) fn line(&self, part: &str) -> Option<String> {
        self.labels().into_iter().find(|label| label.contains(part))
    }

    /// Whether the first item that holds `part` is checked; `None` for one that can't be.
    pub(crate) fn checked(&self, part: &str) -> Option<bool> {
        let (_, root): (u32, Node) = self.menu().call("GetLayout", &(0, -1, Vec::<&str>::new())).unwrap();
        root.2.into_iter().find_map(|child| {
            let (_, properties, _): Node = child.try_into().unwrap();
            let label = properties.get("label").and_then(|v| <&str>::try_from(v).ok()).unwrap_or_default();
            let state = properties.get("toggle-state").and_then(|v| i32::try_from(v).ok());
            label.contains(part).then(|| state.map(|s| s == 1))?
        })
    }

    /// Chooses the first item that holds `part`.
    pub(crate) fn choose(&self, part: &str) {
        let items = self.items();
        let item = items.iter().find(|item| item.label.contains(part));
        let id = item.unwrap_or_else(|| panic!("no `{part}` in {items:?}")).id;
        self.menu().call::<_, _, ()>("Event", &(id, "clicked", Value::from(0i32), 0u32)).unwrap();
    }

    fn property(&self, name: &str) -> OwnedValue {
        let properties = self.proxy(&self.path, "org.freedesktop.DBus.Properties");
        properties.call("Get", &("org.kde.StatusNotifierItem", name)).unwrap()
    }

    fn item(&self) -> Proxy<'_> {
        self.proxy(&self.path, "org.kde.StatusNotifierItem")
    }

    fn menu(&self) -> Proxy<'_> {
        self.proxy(&self.text("Menu"), "com.canonical.dbusmenu")
    }

    fn proxy(&self, path: &str, interface: &'static str) -> Proxy<'_> {
        Proxy::new(&self.bus, self.name.clone(), path.to_owned(), interface).unwrap()
    }
}
