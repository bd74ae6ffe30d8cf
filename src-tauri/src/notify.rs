//! Shows the notifications that the engine, of this process or another, has found: takes each up once, hands it to the
//! system, and writes down when the system refuses.
//!
//! Which there are, what they say, and which are held back is not decided here.

#[cfg(target_os = "linux")]
#[path = "notify/bus.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "notify/elsewhere.rs"]
mod system;

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use agenthub_engine::{
    Snapshot,
    view::{ErrorView, NoticeFate, NoticeKind, NoticePart, Notification, State},
};
use jiff::Timestamp;
use tauri::{AppHandle, Manager, Runtime};
use tokio::sync::{mpsc, oneshot};

use crate::{
    shell::Shell,
    windows::{self, Place},
};

/// What there is to do at the desktop.
enum Job {
    /// To show a notification, in the place of the one that stands under its number, and to say how it went.
    Show { notification: Notification, done: oneshot::Sender<Result<(), String>> },
    /// To take the one with this number off, if it stands.
    TakeOff(i64),
    /// To take all off, and to end.
    Quit(oneshot::Sender<()>),
}

/// The way to the task that shows notifications. Managed by Tauri.
#[derive(Default)]
pub(crate) struct Notifier(Mutex<Option<mpsc::UnboundedSender<Job>>>);

impl Notifier {
    /// Whether there is somebody to do it.
    fn tell(&self, job: Job) -> bool {
        let tell = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tell.as_ref().is_some_and(|tell| tell.send(job).is_ok())
    }
}

/// A notification service that takes longer than this is one that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A wait that is not there for so long is over.
const SURE: Duration = Duration::from_secs(2);
/// So long quitting waits for the desktop to be cleared.
const AT_QUIT: Duration = Duration::from_secs(2);

/// Shows what comes up from now on, until the app quits.
pub(crate) async fn follow<R: Runtime>(app: AppHandle<R>) {
    let (tell, jobs) = mpsc::unbounded_channel();
    *app.state::<Notifier>().0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell);
    tauri::async_runtime::spawn(system::serve(app.clone(), jobs));
    let since = Timestamp::now();
    let mut snapshots = app.state::<Shell>().snapshots();
    let mut taken: HashSet<(i64, i64)> = HashSet::new();
    let mut answered: HashSet<i64> = HashSet::new();
    loop {
        let (notices, over) = {
            let snapshot = snapshots.borrow_and_update();
            (snapshot.notices.clone(), answered_in(&snapshot))
        };
        for n in &over {
            if !answered.contains(&n.id) {
                tauri::async_runtime::spawn(take_off(app.clone(), n.id));
            }
        }
        answered = over.iter().map(|n| n.id).collect();
        for n in notices.iter().rev().filter(|n| n.fate == NoticeFate::Pending) {
            // What came up before this app was there is not shouted after it.
            let news = n.at.parse::<Timestamp>().is_ok_and(|at| at >= since);
            if news && taken.insert((n.id, n.round)) {
                take_up(&app, n.clone()).await;
            }
        }
        taken.retain(|(id, _)| notices.iter().any(|n| n.id == *id));
        if snapshots.changed().await.is_err() {
            return;
        }
    }
}

async fn take_up<R: Runtime>(app: &AppHandle<R>, n: Notification) {
    let Ok(host) = app.state::<Shell>().host() else { return };
    let claimed = {
        let n = n.clone();
        tauri::async_runtime::spawn_blocking(move || host.take_notification(&n)).await
    };
    match claimed {
        Ok(Ok(true)) => {
            if let Err(error) = show(app, n).await {
                tracing::warn!(code = error.code, "{}", error.message);
            }
        }
        Ok(Ok(false)) => {}
        Ok(Err(error)) => {
            tracing::warn!(code = error.code, "a notification can't be taken up: {}", error.message);
        }
        Err(error) => tracing::warn!(%error, "a notification can't be taken up"),
    }
}

/// Hands it to the system. What the system says against it goes into the history and onto the board.
///
/// # Errors
/// When that can't be written down.
pub(crate) async fn show<R: Runtime>(app: &AppHandle<R>, n: Notification) -> Result<(), ErrorView> {
    let id = n.id;
    let (done, shown) = oneshot::channel();
    let notifier = app.state::<Notifier>();
    let sent = notifier.tell(Job::Show { notification: n, done });
    let result = match (sent, tokio::time::timeout(PATIENCE, shown)) {
        (false, _) => Err("notifications are not ready yet".to_owned()),
        (true, answer) => match answer.await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err("AgentHub is quitting".to_owned()),
            Err(_) => Err("the notification service does not answer".to_owned()),
        },
    };
    let shell = app.state::<Shell>();
    shell.set_refused(result.as_ref().err().cloned());
    let Err(why) = result else { return Ok(()) };
    let host = shell.host()?;
    let written = tauri::async_runtime::spawn_blocking(move || host.notification_refused(id, &why)).await;
    written.unwrap_or_else(|e| Err(ErrorView { code: "internal".to_owned(), message: e.to_string() }))
}

/// Takes all notifications off the desktop: with the app gone, a click on them would lead nowhere.
pub(crate) fn quit<R: Runtime>(app: &AppHandle<R>) {
    let (done, is_done) = oneshot::channel();
    if app.state::<Notifier>().tell(Job::Quit(done)) {
        let clear = async { tokio::time::timeout(AT_QUIT, is_done).await };
        if tauri::async_runtime::block_on(clear).is_err() {
            tracing::debug!("the notification service did not answer when AgentHub quit");
        }
    }
}

/// A wait whose person has answered elsewhere would go on asking: an urgent notification stays until it is taken off. But a
/// hook of another tool can hide a wait for a moment.
async fn take_off<R: Runtime>(app: AppHandle<R>, id: i64) {
    tokio::time::sleep(SURE).await;
    let snapshots = app.state::<Shell>().snapshots();
    let still = answered_in(&snapshots.borrow()).iter().any(|n| n.id == id);
    if still {
        app.state::<Notifier>().tell(Job::TakeOff(id));
    }
}

/// The notifications that tell of waits alone, none of which goes on.
fn answered_in(snapshot: &Snapshot) -> Vec<Notification> {
    let goes_on = |p: &NoticePart| {
        let members = snapshot.board.lanes.iter().flat_map(|lane| &lane.members);
        let mut waiting = members.filter(|m| m.state == State::Waiting);
        p.session_id.as_ref().is_none_or(|id| waiting.any(|m| m.id == *id))
    };
    let waits =
        snapshot.notices.iter().filter(|n| n.fate == NoticeFate::Shown && n.kind == NoticeKind::Waiting);
    waits.filter(|n| !n.parts.iter().any(goes_on)).cloned().collect()
}

/// Opens what a notification is about.
fn clicked<R: Runtime>(app: &AppHandle<R>, place: Option<Place>) {
    windows::open_soon(app, place);
}

fn place_of(n: &Notification) -> Option<Place> {
    match (n.kind, &n.lane_id) {
        (NoticeKind::Test, _) | (_, None) => None,
        (_, Some(lane)) => Some(Place::lane(lane.clone())),
    }
}
