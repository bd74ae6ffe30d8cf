//! Notifications of the freedesktop kind, over one connection to the session bus: it shows them and hears of clicks, so
//! that no notification holds a thread or a connection of its own.

use std::collections::{HashMap, VecDeque};

use agenthub_engine::view::Notification;
use futures_util::StreamExt;
use tauri::{AppHandle, Runtime, image::Image};
use tokio::sync::mpsc;
use zbus::{
    Connection, Proxy,
    proxy::SignalStream,
    zvariant::{StructureBuilder, Value},
};

use super::{Job, clicked, place_of};
use crate::{text, windows::Place};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
/// So many shown notifications are remembered, for their clicks; daemons need not tell of the end of each.
const REMEMBERED: usize = 64;

/// Shows jobs until the app quits.
pub(super) async fn serve<R: Runtime>(app: AppHandle<R>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let mut desk: Option<Desk> = None;
    let mut shown = Shown::default();
    loop {
        let job = tokio::select! {
            job = jobs.recv() => job,
            event = heard(&mut desk) => {
                match event {
                    // Daemons tell everybody of every click, also of other programs' notifications.
                    Some(Event::Clicked(id)) if shown.knows(id) => clicked(&app, shown.place_of(id)),
                    Some(Event::Clicked(_)) => {}
                    Some(Event::Closed(id)) => shown.forget(id),
                    // The bus is gone; the next notification looks for it anew.
                    None => desk = None,
                }
                continue;
            }
        };
        let Some(Job { notification, done }) = job else { return };
        let result = tell(&mut desk, &notification, &mut shown).await;
        if result.is_err() {
            desk = None;
        }
        // Whoever asked may have stopped waiting.
        let _ = done.send(result.map_err(|e| words(&e)));
    }
}

/// The connection, and what it hears.
struct Desk {
    proxy: Proxy<'static>,
    clicks: SignalStream<'static>,
    closes: SignalStream<'static>,
}

enum Event {
    Clicked(u32),
    Closed(u32),
}

/// What was shown, by the system's number.
#[derive(Default)]
struct Shown {
    places: HashMap<u32, (i64, Option<Place>)>,
    order: VecDeque<u32>,
}

impl Shown {
    fn remember(&mut self, system: u32, ours: i64, place: Option<Place>) {
        if self.places.insert(system, (ours, place)).is_none() {
            self.order.push_back(system);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.places.remove(&oldest);
            }
        }
    }

    fn forget(&mut self, system: u32) {
        self.places.remove(&system);
        self.order.retain(|id| *id != system);
    }

    fn place_of(&self, system: u32) -> Option<Place> {
        self.places.get(&system).and_then(|(_, place)| place.clone())
    }

    /// The system's number of what stands for this one; 0 for none.
    fn standing_for(&self, ours: i64) -> u32 {
        self.order
            .iter()
            .rev()
            .copied()
            .find(|id| self.places.get(id).is_some_and(|(o, _)| *o == ours))
            .unwrap_or(0)
    }

    fn knows(&self, system: u32) -> bool {
        self.places.contains_key(&system)
    }
}

async fn heard(desk: &mut Option<Desk>) -> Option<Event> {
    let Some(desk) = desk else { return std::future::pending().await };
    loop {
        let (message, event): (_, fn(u32) -> Event) = tokio::select! {
            // A click also closes: it is to be heard before what it leads to is forgotten.
            biased;
            click = desk.clicks.next() => (click?, Event::Clicked),
            close = desk.closes.next() => (close?, Event::Closed),
        };
        let body = message.body();
        let id = body.deserialize::<(u32, String)>().map(|(id, _)| id);
        match id.or_else(|_| body.deserialize::<(u32, u32)>().map(|(id, _)| id)) {
            Ok(id) => return Some(event(id)),
            Err(error) => tracing::debug!(%error, "a signal of the notification service was not understood"),
        }
    }
}

async fn tell(desk: &mut Option<Desk>, n: &Notification, shown: &mut Shown) -> zbus::Result<()> {
    let desk = match desk {
        Some(desk) => desk,
        None => desk.insert(connect().await?),
    };
    let able: Vec<String> = desk.proxy.call("GetCapabilities", &()).await?;
    let can = |what: &str| able.iter().any(|c| c == what);
    let body = if can("body-markup") { escaped(&n.body) } else { n.body.clone() };
    let actions: &[&str] = if can("actions") { &["default", text::OPEN] } else { &[] };
    let mut hints: HashMap<&str, Value<'_>> = HashMap::from([
        ("urgency", Value::U8(if n.urgent { 2 } else { 1 })),
        ("desktop-entry", "agenthub-desktop".into()),
    ]);
    if n.sound {
        hints.insert("sound-name", if n.urgent { "dialog-warning" } else { "message-new-instant" }.into());
    } else {
        hints.insert("suppress-sound", true.into());
    }
    if let Some(picture) = picture() {
        hints.insert("image-data", picture);
    }
    let replaces = shown.standing_for(n.id);
    let arguments = (text::APP, replaces, "", n.title.as_str(), body.as_str(), actions, hints, -1i32);
    let id: u32 = desk.proxy.call("Notify", &arguments).await?;
    if !(replaces != 0 && id == replaces && shown.knows(id)) {
        shown.forget(replaces);
    }
    shown.remember(id, n.id, place_of(n));
    Ok(())
}

async fn connect() -> zbus::Result<Desk> {
    let bus = Connection::session().await?;
    let proxy = Proxy::new_owned(bus, NAME, PATH, NAME).await?;
    let clicks = proxy.receive_signal("ActionInvoked").await?;
    let closes = proxy.receive_signal("NotificationClosed").await?;
    Ok(Desk { proxy, clicks, closes })
}

/// Plain text as markup that shows it.
fn escaped(plain: &str) -> String {
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The app's icon as the specification wants it: (width, height, row, alpha, bits, channels, bytes).
fn picture() -> Option<Value<'static>> {
    let icon =
        Image::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/icons/128x128.png"))).ok()?;
    let (width, height) = (i32::try_from(icon.width()).ok()?, i32::try_from(icon.height()).ok()?);
    let fields = StructureBuilder::new()
        .add_field(width)
        .add_field(height)
        .add_field(width.checked_mul(4)?)
        .add_field(true)
        .add_field(8i32)
        .add_field(4i32)
        .add_field(icon.rgba().to_vec())
        .build()
        .ok()?;
    Some(Value::Structure(fields))
}

/// What to say of an error, for a person.
fn words(e: &zbus::Error) -> String {
    let nobody = ["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"];
    match e {
        zbus::Error::MethodError(name, ..) if nobody.contains(&name.as_str()) => {
            "no notification service".to_owned()
        }
        // One is installed, and ends as soon as it begins.
        zbus::Error::MethodError(name, ..)
            if name.as_str().starts_with("org.freedesktop.DBus.Error.Spawn.") =>
        {
            "the notification service can't be started".to_owned()
        }
        zbus::Error::FDO(e) if matches!(**e, zbus::fdo::Error::ServiceUnknown(_)) => {
            "no notification service".to_owned()
        }
        e => e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t3_markup_of_an_agent_is_shown_and_not_obeyed() {
        assert_eq!(escaped("<b>&\"</b>"), "&lt;b&gt;&amp;\"&lt;/b&gt;");
    }

    #[test]
    fn what_was_shown_is_remembered_with_a_bound() {
        let mut shown = Shown::default();
        for n in 1..=100u32 {
            shown.remember(n, i64::from(n) + 1_000, Some(Place::lane(n.to_string())));
        }
        assert_eq!((shown.places.len(), shown.order.len()), (REMEMBERED, REMEMBERED));
        assert_eq!((shown.place_of(1), shown.place_of(100)), (None, Some(Place::lane("100".into()))));
        assert_eq!((shown.standing_for(1_100), shown.standing_for(1_001)), (100, 0));
        shown.forget(100);
        assert!(!shown.knows(100));
    }
}
