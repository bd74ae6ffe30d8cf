//! The desktop host of AgentHub: puts the engine's board into the tray and the window.
//!
//! This file only puts the parts together. It holds no rule of its own: states, sums and texts come from the engine's
//! views, and what the tray says about them from `tray::model` and `text`.

mod args;
mod commands;
mod instance;
mod live;
mod login;
mod notify;
#[cfg(test)]
mod samples;
mod shell;
mod signals;
#[cfg(test)]
mod tests;
mod text;
mod tray;
mod tray_host;
mod windows;

use std::{path::Path, process::ExitCode, time::Duration};

use agenthub_engine::{Config, Host, LogFile};
use args::Args;
use clap::Parser;
use shell::Shell;
use tauri::{AppHandle, Builder, Context, Manager, RunEvent, Runtime, WindowEvent, Wry};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tray::Tray;

/// How long the tray host may take to appear before the window opens in its place.
const GRACE: Duration = Duration::from_secs(1);
/// The same at login, where panels start beside us.
const GRACE_AT_LOGIN: Duration = Duration::from_secs(15);

/// Runs the app to its end.
pub fn main() -> ExitCode {
    let args = Args::parse();
    // Kept beside the store, too, for a diagnostics bundle. Without a place for it there is an error soon enough.
    let writer = match Config::from_env(&args.overrides()) {
        Ok(config) => {
            let log = LogFile::new(&config.data_dir);
            BoxMakeWriter::new(move || log.clone())
        }
        Err(_) => BoxMakeWriter::new(std::io::stderr),
    };
    tracing_subscriber::fmt()
        // A log that can't be written is no reason to end.
        .log_internal_errors(false)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("AGENTHUB_LOG").unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(writer)
        .init();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            tell(&message);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "the one place that speaks to whoever started the program")]
fn tell(message: &str) {
    eprintln!("agenthub-desktop: {message}");
}

fn run(args: Args) -> Result<(), String> {
    let config = Config::from_env(&args.overrides()).map_err(|e| e.to_string())?;
    check_display()?;
    let app =
        builder(Builder::<Wry>::default(), &config.data_dir).build(context()).map_err(|e| e.to_string())?;
    // Before the engine: a second start ends in here, once the first one has its arguments.
    instance::guard(app.handle(), &config);
    let host = Host::start(config).map_err(|e| e.message)?;
    app.manage(Shell::new(host));
    app.run(move |app, event| on_event(app, &args, event));
    Ok(())
}

fn context<R: Runtime>() -> Context<R> {
    tauri::generate_context!()
}

/// What the app and the tests' mock runtime share.
fn builder<R: Runtime>(builder: Builder<R>, data_dir: &Path) -> Builder<R> {
    let kept = windows::Kept::below(data_dir);
    builder
        .plugin(
            tauri_plugin_window_state::Builder::new()
                .with_state_flags(windows::KEPT)
                .with_filename(kept.size_file())
                .build(),
        )
        .manage(kept)
        .plugin(tauri_plugin_autostart::init(
            tauri_plugin_autostart::MacosLauncher::LaunchAgent,
            Some(vec!["--background"]),
        ))
        .manage(Tray::<R>::default())
        .manage(notify::Notifier::default())
        .invoke_handler(commands::handler())
}

fn on_event<R: Runtime>(app: &AppHandle<R>, args: &Args, event: RunEvent) {
    match event {
        RunEvent::Ready => {
            #[cfg(target_os = "macos")]
            let _ = app.set_activation_policy(tauri::ActivationPolicy::Accessory);
            tauri::async_runtime::spawn(signals::quit_on_signal(app.clone()));
            let grace = if args.background { GRACE_AT_LOGIN } else { GRACE };
            tauri::async_runtime::spawn(live::follow(app.clone(), tray_host::follow(grace)));
            tauri::async_runtime::spawn(notify::follow(app.clone()));
            let place = args.place();
            if args.window || place.is_some() {
                windows::open(app, place);
            }
        }
        RunEvent::WindowEvent { event: WindowEvent::Destroyed, .. } => {
            windows::remember(app);
            // Without a tray and a window nobody could reach the app any more.
            if app.state::<Shell>().no_tray() {
                app.exit(0);
            }
        }
        // The last window is closed: the tray stays. `app.exit` comes with a code and goes through.
        RunEvent::ExitRequested { code: None, api, .. } => api.prevent_exit(),
        RunEvent::Exit => {
            notify::quit(app);
            app.state::<Shell>().stop();
            windows::tidy(app);
        }
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => windows::open(app, None),
        _ => {}
    }
}

/// GTK panics without a display; this says it in words.
fn check_display() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    gtk::init().map_err(|_| text::NO_DISPLAY.to_owned())?;
    Ok(())
}
