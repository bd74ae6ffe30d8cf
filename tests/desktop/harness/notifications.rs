//! The part of a desktop that shows notifications, as programs see it: `org.freedesktop.Notifications` on the desk's bus.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use zbus::{
    blocking::Connection,
    interface,
    message::Header,
    zvariant::{OwnedValue, Value},
};

pub(crate) const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// One call of `Notify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: u32,
    pub(crate) replaces: u32,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) actions: Vec<String>,
    pub(crate) urgency: u8,
    pub(crate) sound: Option<String>,
    pub(crate) silent: bool,
    /// The connection that it came over.
    pub(crate) sender: String,
}

/// A notification daemon that writes down what it is asked to show.
#[derive(Clone, Debug)]
pub(crate) struct Notifications {
    bus: Connection,
    calls: Arc<Mutex<Vec<Shown>>>,
    closed: Arc<Mutex<Vec<u32>>>,
}

impl Notifications {
    /// On a connection of its own: `bus` is one to the desk's bus.
    pub(crate) fn serve(bus: Connection) -> Notifications {
        let (calls, closed) = (Arc::default(), Arc::default());
        bus.object_server()
            .at(PATH, Daemon { calls: Arc::clone(&calls), closed: Arc::clone(&closed) })
            .unwrap();
        bus.request_name(NAME).unwrap();
        Notifications { bus, calls, closed }
    }

    pub(crate) fn calls(&self) -> Vec<Shown> {
        self.calls.lock().unwrap().clone()
    }

    /// The notifications that their sender took off, in that order.
    pub(crate) fn closed(&self) -> Vec<u32> {
        self.closed.lock().unwrap().clone()
    }

    /// As if the person had clicked on it. Its sender, and nobody else, is told, as some services do it.
    pub(crate) fn click(&self, id: u32) {
        let sender = self.calls().into_iter().rfind(|s| s.id == id).unwrap().sender;
        let tell =
            |signal, body: &(u32, &str)| self.bus.emit_signal(Some(&*sender), PATH, NAME, signal, body);
        tell("ActionInvoked", &(id, "default")).unwrap();
    }
}

struct Daemon {
    calls: Arc<Mutex<Vec<Shown>>>,
    closed: Arc<Mutex<Vec<u32>>>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Daemon {
    fn get_capabilities(&self) -> Vec<String> {
        ["actions", "body", "body-markup", "sound"].map(str::to_owned).to_vec()
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ("desk".into(), "AgentHub's tests".into(), "1".into(), "1.2".into())
    }

    #[expect(clippy::too_many_arguments, reason = "so the specification has it")]
    fn notify(
        &self,
        _app: String,
        replaces: u32,
        _icon: String,
        title: String,
        body: String,
        actions: Vec<String>,
        hints: HashMap<String, OwnedValue>,
        _expires: i32,
        #[zbus(header)] header: Header<'_>,
    ) -> u32 {
        let mut calls = self.calls.lock().unwrap();
        let id = if replaces == 0 { 100 + u32::try_from(calls.len()).unwrap() } else { replaces };
        let urgency = match hints.get("urgency").map(|v| &**v) {
            Some(Value::U8(urgency)) => *urgency,
            other => panic!("the urgency is a byte, not {other:?}"),
        };
        let sound = hints.get("sound-name").and_then(|v| <&str>::try_from(v).ok()).map(str::to_owned);
        let silent = hints.get("suppress-sound").is_some_and(|v| bool::try_from(v).unwrap());
        let sender = header.sender().unwrap().to_string();
        calls.push(Shown { id, replaces, title, body, actions, urgency, sound, silent, sender });
        id
    }

    fn close_notification(&self, id: u32) {
        self.closed.lock().unwrap().push(id);
    }
}
