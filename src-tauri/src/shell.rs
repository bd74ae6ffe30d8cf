//! What the running app holds, for commands and the tray alike.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use agenthub_engine::{
    Host, Snapshot,
    view::{BoardView, ErrorView, HostNote},
};
use tokio::sync::watch;

use crate::{text, windows::Place};

/// Managed by Tauri; lives as long as the app.
#[derive(Debug)]
pub(crate) struct Shell {
    host: Mutex<Option<Arc<Host>>>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    no_tray: AtomicBool,
    /// Why the system did not show the newest notification.
    refused: Mutex<Option<String>>,
    page: Mutex<Page>,
}

/// Whether the page in the window listens yet; until then the newest place that it was sent to waits for it.
#[derive(Debug, Default)]
struct Page {
    listens: bool,
    place: Option<Place>,
}

impl Shell {
    pub(crate) fn new(host: Host) -> Shell {
        let snapshots = host.watch();
        Shell {
            host: Mutex::new(Some(Arc::new(host))),
            snapshots,
            no_tray: AtomicBool::new(false),
            refused: Mutex::new(None),
            page: Mutex::default(),
        }
    }

    /// The engine, until the app quits.
    ///
    /// # Errors
    /// `internal` once the app is quitting.
    pub(crate) fn host(&self) -> Result<Arc<Host>, ErrorView> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(|| ErrorView {
            code: "internal".to_owned(),
            message: "AgentHub is quitting".to_owned(),
        })
    }

    /// Whether the person muted all notifications.
    pub(crate) fn muted(&self) -> bool {
        self.snapshots.borrow().settings.values.notifications.do_not_disturb
    }

    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// The newest board, with what only this host knows.
    pub(crate) fn board(&self) -> BoardView {
        let newest = Arc::clone(&self.snapshots.borrow().board);
        self.annotated(&newest)
    }

    pub(crate) fn annotated(&self, board: &BoardView) -> BoardView {
        let mut board = board.clone();
        board.notes.extend(self.own_notes());
        board
    }

    /// What only this host knows to be wrong.
    pub(crate) fn own_notes(&self) -> Vec<HostNote> {
        let note = |code: &str, message| HostNote { code: code.to_owned(), message };
        let no_tray = self.no_tray().then(|| note("no_tray", text::NO_TRAY.to_owned()));
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = refused.as_deref().map(|why| note("no_notifications", text::no_notifications(why)));
        no_tray.into_iter().chain(refused).collect()
    }

    /// Notes why the system did not show the newest notification, or that it did.
    pub(crate) fn set_refused(&self, why: Option<String>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(crate) fn no_tray(&self) -> bool {
        self.no_tray.load(Ordering::Relaxed)
    }

    /// Notes whether there is no tray, and says whether that is new.
    pub(crate) fn set_no_tray(&self, no_tray: bool) -> bool {
        self.no_tray.swap(no_tray, Ordering::Relaxed) != no_tray
    }

    /// A page is being made: it does not listen yet.
    pub(crate) fn page_begins(&self) {
        *self.page() = Page::default();
    }

    /// The page listens from now on. Gives the place that it was sent to meanwhile.
    pub(crate) fn page_listens(&self) -> Option<Place> {
        let mut page = self.page();
        page.listens = true;
        page.place.take()
    }

    /// Gives the place back if the page can be told of it now, and else keeps it for the page.
    pub(crate) fn to_tell(&self, place: Place) -> Option<Place> {
        let mut page = self.page();
        if page.listens {
            return Some(place);
        }
        page.place = Some(place);
        None
    }

    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the engine. A command that still runs keeps it until it is done.
    pub(crate) fn stop(&self) {
        let host = self.host.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(host) = host.and_then(Arc::into_inner) {
            host.stop();
        }
    }
}
