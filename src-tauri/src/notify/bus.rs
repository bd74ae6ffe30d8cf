//! Notifications of the freedesktop kind, through notify-rust.
//!
//! Each keeps the connection that it was sent over for as long as it stands: some services tell of a click there alone, and
//! take away what a connection sent that is gone. A connection has a thread, so only so many stand at a time.

use std::{sync::Arc, time::Duration};

use agenthub_engine::view::Notification;
use notify_rust::{Hint, Image, NotificationHandle, NotificationResponse, Urgency, error};
use tauri::{AppHandle, Runtime, async_runtime, image};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{Job, PATIENCE, clicked, place_of};
use crate::text;

/// More than a person looks at. An older one is taken off the desktop, for its click would lead nowhere.
const MOST: usize = 16;
/// So long the service may take to take one off.
const TAKING_OFF: Duration = Duration::from_secs(1);

/// Does what it is told until the app quits.
pub(super) async fn serve<R: Runtime>(app: AppHandle<R>, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let service = Service::new();
    let mut all = Shown::default();
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Show { notification: n, done } => {
                let earlier = match all.take(n.id) {
                    Some(standing) => standing.taken_back().await,
                    None => None,
                };
                let told = n.clone();
                let result = service.ask(move || show(earlier, &told)).await;
                let result = result.map(|handle| all.add(Standing::of(app.clone(), handle, &n)));
                // Whoever asked may have stopped waiting.
                let _ = done.send(result.map(drop));
                if let Some(oldest) = all.surplus() {
                    oldest.take_off().await;
                }
            }
            Job::TakeOff(id) => {
                if let Some(standing) = all.take(id) {
                    standing.take_off().await;
                }
            }
            Job::Quit(done) => {
                all.take_all_off().await;
                let _ = done.send(());
                return;
            }
        }
    }
}

/// The notifications on the desktop, oldest first.
#[derive(Default)]
struct Shown(Vec<Standing>);

impl Shown {
    fn take(&mut self, ours: i64) -> Option<Standing> {
        self.0.iter().position(|s| s.ours == ours).map(|at| self.0.remove(at))
    }

    fn add(&mut self, standing: Standing) {
        self.0.retain(|s| !s.is_over());
        self.0.push(standing);
    }

    /// The oldest, if there is one too many.
    fn surplus(&mut self) -> Option<Standing> {
        (self.0.len() > MOST).then(|| self.0.remove(0))
    }

    async fn take_all_off(&mut self) {
        let all: Vec<_> = self.0.drain(..).map(|s| async_runtime::spawn(s.take_off())).collect();
        for one in all {
            // One that can't be taken off stays.
            let _ = one.await;
        }
    }
}

/// A notification on the desktop, with the task that waits for what its person does with it.
struct Standing {
    ours: i64,
    /// Dropped, the handle is wanted back.
    wanted: oneshot::Sender<()>,
    /// Without the handle, the notification is over.
    task: async_runtime::JoinHandle<Option<NotificationHandle>>,
}

impl Standing {
    fn of<R: Runtime>(app: AppHandle<R>, handle: NotificationHandle, n: &Notification) -> Standing {
        let (wanted, back) = oneshot::channel();
        let place = place_of(n);
        let task = async_runtime::spawn(async move {
            let heard = tokio::select! {
                heard = response(&handle) => heard,
                _ = back => return Some(handle),
            };
            if matches!(heard, Some(NotificationResponse::Default | NotificationResponse::Action(_))) {
                clicked(&app, place);
            }
            None
        });
        Standing { ours: n.id, wanted, task }
    }

    fn is_over(&self) -> bool {
        self.task.inner().is_finished()
    }

    async fn taken_back(self) -> Option<NotificationHandle> {
        drop(self.wanted);
        self.task.await.ok().flatten()
    }

    async fn take_off(self) {
        let Some(handle) = self.taken_back().await else { return };
        if tokio::time::timeout(TAKING_OFF, handle.close_async()).await.is_err() {
            tracing::debug!("the notification service did not take a notification off");
        }
    }
}

/// What its person did with it; `None` when the bus went away.
async fn response(handle: &NotificationHandle) -> Option<NotificationResponse> {
    let mut heard = None;
    handle.wait_for_action_async(|response| heard = Some(response.clone())).await;
    heard
}

/// The way to the notification service: one at a time asks, for that blocks a thread. A service that hangs has that one thread,
/// and whoever comes after is refused.
struct Service(Arc<Semaphore>);

impl Service {
    fn new() -> Service {
        Service(Arc::new(Semaphore::new(1)))
    }

    /// # Errors
    /// For a person: what the service said, or that it says nothing.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce() -> error::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let silent = || "the notification service does not answer".to_owned();
        let turn = Arc::clone(&self.0).try_acquire_owned().map_err(|_| silent())?;
        let asked = async_runtime::spawn_blocking(move || {
            let _turn = turn;
            question()
        });
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(answer)) => answer.map_err(|e| words(&e.to_string())),
            Ok(Err(e)) => Err(e.to_string()),
            Err(_) => Err(silent()),
        }
    }
}

/// Shows it, in the place of an earlier one that stands. Blocks.
fn show(earlier: Option<NotificationHandle>, n: &Notification) -> error::Result<NotificationHandle> {
    let able = notify_rust::get_capabilities()?;
    let system = laid_out(n, &able);
    if let Some(mut handle) = earlier {
        system.clone_into(&mut handle);
        match handle.update() {
            Ok(()) => return Ok(handle),
            // The bus began anew, perhaps.
            Err(error) => tracing::debug!(%error, "a notification could not be replaced"),
        }
    }
    system.show()
}

/// As the service wants it that is able to do these things.
fn laid_out(n: &Notification, able: &[String]) -> notify_rust::Notification {
    let can = |what: &str| able.iter().any(|c| c == what);
    let mut system = notify_rust::Notification::new();
    system
        .appname(text::APP)
        .summary(&n.title)
        .body(&if can("body-markup") { escaped(&n.body) } else { n.body.clone() })
        .urgency(if n.urgent { Urgency::Critical } else { Urgency::Normal })
        .hint(Hint::DesktopEntry("agenthub-desktop".to_owned()));
    if can("actions") {
        system.action("default", text::OPEN);
    }
    if n.sound {
        system.sound_name(if n.urgent { "dialog-warning" } else { "message-new-instant" });
    } else {
        system.hint(Hint::SuppressSound(true));
    }
    if let Some(picture) = picture() {
        system.image_data(picture);
    }
    system.finalize()
}

/// Plain text as markup that shows it.
fn escaped(plain: &str) -> String {
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The app's icon.
fn picture() -> Option<Image> {
    let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/icons/128x128.png"));
    let icon = image::Image::from_bytes(bytes).ok()?;
    let (width, height) = (i32::try_from(icon.width()).ok()?, i32::try_from(icon.height()).ok()?);
    Image::from_rgba(width, height, icon.rgba().to_vec()).ok()
}

/// What to say of an error, for a person. notify-rust gives the bus's errors as text alone, their names first.
fn words(error: &str) -> String {
    let is = |name: &str| error.starts_with("org.freedesktop.DBus.Error.") && error.contains(name);
    if is("ServiceUnknown") || is("NameHasNoOwner") {
        "no notification service".to_owned()
    } else if is("Error.Spawn.") {
        // One is installed, and ends as soon as it begins.
        "the notification service can't be started".to_owned()
    } else {
        error.to_owned()
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
    fn t4_what_the_bus_says_is_put_into_words() {
        let unknown = "org.freedesktop.DBus.Error.ServiceUnknown: The name is not activatable";
        assert_eq!(words(unknown), "no notification service");
        let spawned = "org.freedesktop.DBus.Error.Spawn.ChildExited: Process x exited with status 1";
        assert_eq!(words(spawned), "the notification service can't be started");
        assert_eq!(words("I/O error: ServiceUnknown"), "I/O error: ServiceUnknown");
    }

    #[tokio::test]
    async fn t4_a_service_that_hangs_holds_up_one_thread_and_refuses_the_next() {
        let service = Service::new();
        let (free, hangs) = std::sync::mpsc::channel::<()>();
        let (began, begins) = oneshot::channel();
        let stuck = service.ask(move || {
            let _ = began.send(());
            Ok(hangs.recv().is_ok())
        });
        let next = async {
            begins.await.unwrap();
            let next = service.ask(|| Ok(())).await;
            free.send(()).unwrap();
            next
        };
        let (stuck, next) = tokio::join!(stuck, next);
        assert_eq!(stuck, Ok(true));
        assert!(next.unwrap_err().contains("does not answer"));
        assert_eq!(service.ask(|| Ok(1)).await, Ok(1));
    }
}
