//! The one window: made on demand, destroyed on close, so that its web process ends with it.
//!
//! Everything here runs on the main thread.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tauri::{
    AppHandle, Emitter, Manager, Runtime, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
    webview::NewWindowResponse,
};
use tauri_plugin_window_state::{AppHandleExt, StateFlags, WindowExt};

use crate::{shell::Shell, text};

#[cfg(target_os = "linux")]
#[path = "windows/graphics.rs"]
mod graphics;

/// The window's label; the capability names it.
pub(crate) const MAIN: &str = "main";
/// Tells an open page where to go.
const NAVIGATE: &str = "navigate";
/// Where a window was comes out shifted by its frame under X11, so only its size is kept.
pub(crate) const KEPT: StateFlags = StateFlags::SIZE.union(StateFlags::MAXIMIZED);

/// Where the window's size and what the web view keeps stand: in our data folder, for another data folder is another app.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    data_dir: PathBuf,
}

impl Kept {
    pub(crate) fn below(data_dir: &Path) -> Kept {
        // The plugin takes a name that is not absolute for one in a folder of its own.
        Kept { data_dir: std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned()) }
    }

    /// As text, which the plugin wants: a folder whose name is none keeps no size.
    pub(crate) fn size_file(&self) -> String {
        self.data_dir.join("window.json").to_string_lossy().into_owned()
    }

    fn web_view(&self) -> PathBuf {
        self.data_dir.join("webview")
    }
}

/// A place in the page: the payload of `navigate`, and in the address (`#/lanes/ID`) of a page that is just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    pub(crate) screen: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
}

impl Place {
    pub(crate) const fn lanes() -> Place {
        Place { screen: "lanes", id: None }
    }

    pub(crate) const fn lane(id: String) -> Place {
        Place { screen: "lanes", id: Some(id) }
    }

    pub(crate) const fn session(id: String) -> Place {
        Place { screen: "session", id: Some(id) }
    }

    fn page(&self) -> String {
        let mut page = format!("index.html#/{}", self.screen);
        if let (Some(id), Ok(mut url)) = (&self.id, Url::parse("page:")) {
            url.query_pairs_mut().append_key_only(id);
            // What a form writes as `+` is a space; a plus sign itself is `%2B`.
            page.push_str(&format!("/{}", url.query().unwrap_or_default().replace('+', "%20")));
        }
        page
    }
}

/// Brings the window to the front, making it if there is none, and goes to `place`.
pub(crate) fn open<R: Runtime>(app: &AppHandle<R>, place: Option<Place>) {
    let shown = match app.get_webview_window(MAIN) {
        Some(window) => raise(&window, place),
        None => make(app, &place.unwrap_or(Place::lanes())),
    };
    if let Err(error) = shown {
        tracing::error!(%error, "the window cannot be shown");
    }
}

/// `open`, from any thread.
pub(crate) fn open_soon<R: Runtime>(app: &AppHandle<R>, place: Option<Place>) {
    let handle = app.clone();
    // Fails only when the event loop is gone, and then there is nothing to show.
    let _ = app.run_on_main_thread(move || open(&handle, place));
}

/// Writes the window's size down; called when it is gone and when the app quits.
pub(crate) fn remember<R: Runtime>(app: &AppHandle<R>) {
    if let Err(error) = app.save_window_state(KEPT) {
        tracing::warn!(%error, "the window's size is not kept");
    }
    tidy(app);
}

/// The plugin makes a folder in the person's configuration whenever it writes, wherever its file is. One in which something
/// stands stays.
pub(crate) fn tidy<R: Runtime>(app: &AppHandle<R>) {
    if let Ok(folder) = app.path().app_config_dir() {
        let _ = std::fs::remove_dir(folder);
    }
}

fn raise<R: Runtime>(window: &WebviewWindow<R>, place: Option<Place>) -> tauri::Result<()> {
    window.unminimize()?;
    window.show()?;
    window.set_focus()?;
    let place = place.and_then(|place| window.state::<Shell>().to_tell(place));
    place.map_or(Ok(()), |place| window.emit(NAVIGATE, place))
}

fn make<R: Runtime>(app: &AppHandle<R>, place: &Place) -> tauri::Result<()> {
    app.state::<Shell>().page_begins();
    let window = WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App(place.page().into()))
        .title(text::APP)
        .data_directory(app.state::<Kept>().web_view())
        .inner_size(1120.0, 720.0)
        .min_inner_size(760.0, 520.0)
        .on_navigation(is_ours)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build()?;
    #[cfg(target_os = "linux")]
    graphics::suit(&window)?;
    window.restore_state(KEPT)?;
    window.set_focus()
}

/// Our own page, under the name that each platform gives it; in `tauri dev` also Vite's.
fn is_ours(url: &Url) -> bool {
    let host = url.host_str();
    let packed = match url.scheme() {
        "tauri" => host == Some("localhost"),
        "http" | "https" => cfg!(windows) && host == Some("tauri.localhost"),
        _ => false,
    };
    packed || (tauri::is_dev() && host == Some("localhost") && url.port() == Some(5173))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w5_the_page_goes_nowhere_else() {
        for (url, ours) in [
            ("tauri://localhost/index.html#/lanes", true),
            ("tauri://localhost.evil.example/", false),
            ("https://example.org/", false),
            ("http://localhost:8080/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,x", false),
            ("about:blank", false),
        ] {
            assert_eq!(is_ours(&Url::parse(url).unwrap()), ours, "{url}");
        }
    }

    #[test]
    fn a_new_page_learns_its_place_from_its_address() {
        assert_eq!(Place::lanes().page(), "index.html#/lanes");
        let odd = Place::lane("antigravity:/a b+c?#ü".into()).page();
        assert_eq!(odd, "index.html#/lanes/antigravity%3A%2Fa%20b%2Bc%3F%23%C3%BC");
    }
}
