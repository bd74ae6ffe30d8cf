//! Carries each change of the board to the tray and to the page, and the passing of time to the menu's ages.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tauri::{AppHandle, Emitter, Manager, Runtime};
use tokio::sync::watch;

use crate::{
    login,
    shell::Shell,
    tray::{
        self,
        model::{TrayView, redraw_in_s},
    },
    tray_host::Presence,
    windows,
};

/// Carries a board to an open page.
const BOARD_CHANGED: &str = "board://changed";
/// Carries the settings to an open page.
const SETTINGS_CHANGED: &str = "settings://changed";
/// The shortest time between two drawings; what changes meanwhile is drawn together.
const GAP: Duration = Duration::from_millis(50);

/// Runs until the app quits.
pub(crate) async fn follow<R: Runtime>(app: AppHandle<R>, mut tray_host: watch::Receiver<Presence>) {
    let mut snapshots = app.state::<Shell>().snapshots();
    let mut drawn: Option<TrayView> = None;
    let mut sent = None;
    let mut told_settings = None;
    let mut at_login = None;
    loop {
        let (board, settings) = {
            let newest = snapshots.borrow_and_update();
            (Arc::clone(&newest.board), Arc::clone(&newest.settings))
        };
        let presence = *tray_host.borrow_and_update();
        let now = Timestamp::now();
        let view = TrayView::of(&board, settings.values.notifications.do_not_disturb, now);
        // A tray that stands is kept right without its host, so that it is right when the host comes back.
        let drawable = presence == Presence::Here || drawn.is_some();
        if drawable && drawn.as_ref() != Some(&view) {
            drawn = draw(&app, view.clone()).await.then_some(view);
        }
        let shell = app.state::<Shell>();
        let no_tray = match presence {
            Presence::Looking => false,
            Presence::Here => drawn.is_none(),
            Presence::Gone => true,
        };
        if shell.set_no_tray(no_tray) {
            sent = None;
            if no_tray && drawn.is_none() {
                windows::open_soon(&app, None);
            }
        }
        if sent != Some(board.revision) && app.get_webview_window(windows::MAIN).is_some() {
            sent = Some(board.revision);
            if let Err(error) = app.emit_to(windows::MAIN, BOARD_CHANGED, shell.annotated(&board)) {
                tracing::warn!(%error, "the page was not told of a change");
            }
        }

        let login = settings.values.start_at_login;
        if at_login != Some(login) {
            at_login = Some(login);
            let handle = app.clone();
            tauri::async_runtime::spawn_blocking(move || {
                if let Err(error) = login::follow(&handle, login) {
                    tracing::warn!(%error, "what starts at login could not be changed");
                }
            });
        }
        if told_settings.as_ref() != Some(&settings) && app.get_webview_window(windows::MAIN).is_some() {
            if let Err(error) = app.emit_to(windows::MAIN, SETTINGS_CHANGED, &*settings) {
                tracing::warn!(%error, "the page was not told of changed settings");
            }
            told_settings = Some(settings);
        }

        tokio::time::sleep(GAP).await;
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            Ok(()) = tray_host.changed() => {},
            () = pass(redraw_in_s(&board, now)) => {},
        }
    }
}

/// Waits for so many seconds; without a number, for ever.
async fn pass(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}

/// Draws on the main thread, and says whether there was a tray to draw in.
async fn draw<R: Runtime>(app: &AppHandle<R>, view: TrayView) -> bool {
    let (done, drawn) = tokio::sync::oneshot::channel();
    let handle = app.clone();
    let asked = app.run_on_main_thread(move || {
        let result = tray::draw(&handle, view);
        if let Err(error) = &result {
            tracing::warn!(%error, "the tray cannot be drawn");
        }
        let _ = done.send(result.is_ok());
    });
    asked.is_ok() && drawn.await.unwrap_or(false)
}
