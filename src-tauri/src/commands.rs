//! What the page can ask. Each command is thin: find the engine, ask it off the UI thread, hand back its answer.
//!
//! A command needs four things, and a test holds them together: its function here, its permission, its line in the
//! capability, and its wrapper in `ui/src/api.ts`.

use std::path::{Path, PathBuf};

use agenthub_engine::{
    Host,
    view::{
        self, BoardView, DoctorDocument, ErrorView, HooksAction, HooksPlan, HooksStatus, Notification,
        NotificationsDocument, OwnPrice, PricedModel, PricingStatus, PricingView, SessionDetail,
        SessionsPage, SessionsQuery, SettingsView, Tracks, TracksQuery,
    },
};
use tauri::{AppHandle, Runtime, State, ipc::Invoke};

use crate::{notify, shell::Shell, windows::Place};

/// All commands, for the app's builder.
pub(crate) fn handler<R: Runtime>() -> impl Fn(Invoke<R>) -> bool + Send + Sync + 'static {
    tauri::generate_handler![
        board,
        page_listens,
        tracks,
        sessions,
        session,
        turn_tree,
        doctor,
        dismiss,
        delete_session,
        restore_session,
        open_folder,
        settings,
        set_settings,
        hooks_status,
        hooks_plan,
        hooks_apply,
        tracing_status,
        tracing_set,
        tracing_install,
        tracing_uninstall,
        tracing_undo,
        tracing_test,
        notifications,
        mute_lane,
        usage,
        usage_export,
        diagnostics,
        pricing,
        pricing_sync,
        set_price,
        clear_price,
        test_notification,
    ]
}

#[tauri::command]
fn board(shell: State<'_, Shell>) -> BoardView {
    shell.board()
}

#[tauri::command]
async fn tracks(shell: State<'_, Shell>, query: TracksQuery) -> Result<Tracks, ErrorView> {
    ask(&shell, move |host| host.tracks(&query)).await
}

#[tauri::command]
fn page_listens(shell: State<'_, Shell>) -> Option<Place> {
    shell.page_listens()
}

#[tauri::command]
async fn sessions(shell: State<'_, Shell>, query: SessionsQuery) -> Result<SessionsPage, ErrorView> {
    ask(&shell, move |host| host.sessions(&query)).await
}

#[tauri::command]
async fn session(shell: State<'_, Shell>, id: String) -> Result<SessionDetail, ErrorView> {
    ask(&shell, move |host| host.session(&id)).await
}

#[tauri::command]
async fn turn_tree(shell: State<'_, Shell>, id: String, step: i64) -> Result<view::TurnTree, ErrorView> {
    ask(&shell, move |host| host.turn_tree(&id, step)).await
}

#[tauri::command]
async fn doctor(shell: State<'_, Shell>) -> Result<DoctorDocument, ErrorView> {
    let own = shell.own_notes();
    ask(&shell, move |host| host.doctor_with(&own)).await
}

#[tauri::command]
async fn dismiss(shell: State<'_, Shell>, lane_id: String) -> Result<(), ErrorView> {
    ask(&shell, move |host| host.dismiss(&lane_id)).await
}

#[tauri::command]
async fn delete_session(shell: State<'_, Shell>, id: String) -> Result<(), ErrorView> {
    ask(&shell, move |host| host.delete_session(&id)).await
}

#[tauri::command]
async fn restore_session(shell: State<'_, Shell>, id: String) -> Result<(), ErrorView> {
    ask(&shell, move |host| host.restore_session(&id)).await
}

#[tauri::command]
async fn open_folder(path: PathBuf) -> Result<(), ErrorView> {
    off_the_ui_thread(move || open_in_file_manager(&path)).await
}

#[tauri::command]
async fn settings(shell: State<'_, Shell>) -> Result<SettingsView, ErrorView> {
    ask(&shell, |host| Ok(host.settings())).await
}

#[tauri::command]
async fn set_settings(shell: State<'_, Shell>, patch: serde_json::Value) -> Result<SettingsView, ErrorView> {
    ask(&shell, move |host| host.set_settings(&patch)).await
}

#[tauri::command]
async fn hooks_status(shell: State<'_, Shell>) -> Result<HooksStatus, ErrorView> {
    ask(&shell, Host::hooks_status).await
}

#[tauri::command]
async fn hooks_plan(shell: State<'_, Shell>, action: HooksAction) -> Result<HooksPlan, ErrorView> {
    ask(&shell, move |host| host.hooks_plan(action)).await
}

/// Writes only what a plan has shown: the token is of that plan, and of nothing else.
#[tauri::command]
async fn hooks_apply(shell: State<'_, Shell>, token: String) -> Result<HooksPlan, ErrorView> {
    ask(&shell, move |host| host.hooks_apply(&token)).await
}

#[tauri::command]
async fn tracing_status(shell: State<'_, Shell>) -> Result<view::TracingScreen, ErrorView> {
    ask(&shell, Host::tracing_status).await
}

#[tauri::command]
async fn tracing_set(
    shell: State<'_, Shell>,
    patch: view::TracingPatch,
) -> Result<view::TracingSaved, ErrorView> {
    ask(&shell, move |host| host.tracing_set(&patch)).await
}

#[tauri::command]
async fn tracing_install(
    shell: State<'_, Shell>,
    wish: view::TracingWish,
    dry_run: bool,
) -> Result<view::TracingChange, ErrorView> {
    ask(&shell, move |host| host.tracing_install(&wish, dry_run)).await
}

#[tauri::command]
async fn tracing_uninstall(
    shell: State<'_, Shell>,
    purge: bool,
    dry_run: bool,
    token: Option<String>,
) -> Result<view::TracingChange, ErrorView> {
    ask(&shell, move |host| host.tracing_uninstall(purge, dry_run, token.as_deref())).await
}

/// Without a token it shows; it writes only what a plan with this token has shown.
#[tauri::command]
async fn tracing_undo(shell: State<'_, Shell>, token: Option<String>) -> Result<HooksPlan, ErrorView> {
    ask(&shell, move |host| host.tracing_undo(token.as_deref())).await
}

#[tauri::command]
async fn tracing_test(shell: State<'_, Shell>) -> Result<view::TracingTests, ErrorView> {
    ask(&shell, Host::tracing_test).await
}

#[tauri::command]
async fn notifications(shell: State<'_, Shell>) -> Result<NotificationsDocument, ErrorView> {
    ask(&shell, |host| host.notifications()).await
}

#[tauri::command]
async fn mute_lane(shell: State<'_, Shell>, lane_id: String, mute: bool) -> Result<SettingsView, ErrorView> {
    ask(&shell, move |host| host.mute_lane(&lane_id, mute)).await
}

#[tauri::command]
async fn usage(
    shell: State<'_, Shell>,
    query: view::UsageScreenQuery,
) -> Result<view::UsageScreen, ErrorView> {
    ask(&shell, move |host| host.usage_screen(&query)).await
}

/// The folder is ours to say: the page names no path.
#[tauri::command]
async fn usage_export(
    shell: State<'_, Shell>,
    by: view::UsageBy,
    query: view::UsageScreenQuery,
    format: view::ExportFormat,
) -> Result<view::Exported, ErrorView> {
    ask(&shell, move |host| host.usage_export(by, &query, format, &downloads()?)).await
}

/// As above; what is in it is named in Rust, and none of it is the person's own words.
#[tauri::command]
async fn diagnostics(shell: State<'_, Shell>) -> Result<view::Bundle, ErrorView> {
    ask(&shell, move |host| host.bundle_into(&downloads()?)).await
}

/// Where what a person asked for is put: the downloads, else the home folder.
fn downloads() -> Result<PathBuf, ErrorView> {
    let folder = dirs::download_dir().or_else(dirs::home_dir);
    folder.ok_or_else(|| error("io", "there is no home folder to write into".to_owned()))
}

#[tauri::command]
async fn pricing(shell: State<'_, Shell>) -> Result<PricingView, ErrorView> {
    ask(&shell, |host| host.pricing()).await
}

#[tauri::command]
async fn pricing_sync(shell: State<'_, Shell>) -> Result<PricingStatus, ErrorView> {
    ask(&shell, |host| host.pricing_sync()).await
}

#[tauri::command]
async fn set_price(
    shell: State<'_, Shell>,
    model: String,
    price: OwnPrice,
) -> Result<Option<PricedModel>, ErrorView> {
    ask(&shell, move |host| host.set_price(&model, &price)).await
}

#[tauri::command]
async fn clear_price(shell: State<'_, Shell>, model: String) -> Result<Option<PricedModel>, ErrorView> {
    ask(&shell, move |host| host.clear_price(&model)).await
}

/// The same way as every other notification, whatever the settings hold back; answers with what became of it.
#[tauri::command]
async fn test_notification<R: Runtime>(
    app: AppHandle<R>,
    shell: State<'_, Shell>,
) -> Result<Notification, ErrorView> {
    let test = ask(&shell, Host::test_notification).await?;
    let id = test.id;
    notify::show(&app, test).await?;
    let document = ask(&shell, Host::notifications).await?;
    let row = document.rows.into_iter().find(|n| n.id == id);
    row.ok_or_else(|| error("internal", "the notification is not in the history".to_owned()))
}

/// Only a folder is ever opened: a file would start whatever program its name asks for.
fn open_in_file_manager(path: &Path) -> Result<(), ErrorView> {
    if !path.is_absolute() || !path.is_dir() {
        return Err(error("not_found", format!("there is no folder `{}`", path.display())));
    }
    // Finder is named, because macOS would start a folder that is an app.
    let opened = if cfg!(target_os = "macos") {
        open::with_detached(path, "Finder")
    } else {
        open::that_detached(path)
    };
    opened.map_err(|e| error("io", format!("no file manager could be started: {e}")))
}

async fn ask<T: Send + 'static>(
    shell: &Shell,
    question: impl FnOnce(&Host) -> Result<T, ErrorView> + Send + 'static,
) -> Result<T, ErrorView> {
    let host = shell.host()?;
    off_the_ui_thread(move || question(&host)).await
}

async fn off_the_ui_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorView> + Send + 'static,
) -> Result<T, ErrorView> {
    tauri::async_runtime::spawn_blocking(work)
        .await
        .unwrap_or_else(|e| Err(error("internal", format!("the question was not answered: {e}"))))
}

fn error(code: &str, message: String) -> ErrorView {
    ErrorView { code: code.to_owned(), message }
}
