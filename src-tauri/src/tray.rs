//! The tray: draws `model::TrayView`, and only what differs from what stands there.
//!
//! Menus and icons are touched on the main thread only. On Linux this is a StatusNotifierItem (tray-icon's `ksni`
//! backend), which cannot be made while no tray host runs; `draw` tries again each time that it is called.

pub(crate) mod model;

use std::sync::{Mutex, PoisonError};

use tauri::{
    AppHandle, Manager, Runtime,
    image::Image,
    menu::{CheckMenuItem, Menu, MenuItem, PredefinedMenuItem},
    tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent},
};

use crate::{
    shell::Shell,
    text,
    windows::{self, Place},
};
use model::{MenuLine, TrayPicture, TrayView};

const SUMMARY_ID: &str = "summary";
const MORE_ID: &str = "more";
const OPEN_ID: &str = "open";
const MUTE_ID: &str = "mute";
const QUIT_ID: &str = "quit";
/// A lane's menu id is this with the lane's id behind it.
const LANE_ID: &str = "lane ";

/// The tray once it stands. Managed by Tauri.
pub(crate) struct Tray<R: Runtime>(Mutex<Option<Standing<R>>>);

struct Standing<R: Runtime> {
    icon: TrayIcon<R>,
    /// The items with a text, one for each line of `shown.menu` that is no separator.
    items: Vec<Item<R>>,
    shown: TrayView,
}

enum Item<R: Runtime> {
    Plain(MenuItem<R>),
    Check(CheckMenuItem<R>),
}

impl<R: Runtime> Item<R> {
    /// Shows what `new` says other than `old`.
    fn turn(&self, new: &MenuLine, old: &MenuLine) -> tauri::Result<()> {
        match (self, new) {
            (Item::Check(item), MenuLine::Mute(muted)) if new != old => item.set_checked(*muted),
            (Item::Plain(item), _) if item_text(new) != item_text(old) => {
                item.set_text(item_text(new).unwrap_or_default())
            }
            _ => Ok(()),
        }
    }
}

impl<R: Runtime> Default for Tray<R> {
    fn default() -> Tray<R> {
        Tray(Mutex::new(None))
    }
}

/// Shows `view`. An error means that there is no tray to show it in.
pub(crate) fn draw<R: Runtime>(app: &AppHandle<R>, view: TrayView) -> tauri::Result<()> {
    let tray = app.state::<Tray<R>>();
    let mut standing = tray.0.lock().unwrap_or_else(PoisonError::into_inner);
    match standing.as_mut() {
        Some(tray) => tray.redraw(app, view),
        None => {
            *standing = Some(Standing::raise(app, view)?);
            Ok(())
        }
    }
}

impl<R: Runtime> Standing<R> {
    fn raise(app: &AppHandle<R>, view: TrayView) -> tauri::Result<Standing<R>> {
        let (menu, items) = build_menu(app, &view.menu)?;
        let icon = TrayIconBuilder::with_id("agenthub")
            .icon(picture(app, view.picture)?)
            .icon_as_template(cfg!(target_os = "macos"))
            .tooltip(&view.tooltip)
            .title(title(&view))
            .menu(&menu)
            .show_menu_on_left_click(false)
            .on_menu_event(|app, event| choose(app, event.id().as_ref()))
            .on_tray_icon_event(|tray, event| {
                if let TrayIconEvent::Click {
                    button: MouseButton::Left,
                    button_state: MouseButtonState::Up,
                    ..
                } = event
                {
                    windows::open_soon(tray.app_handle(), None);
                }
            })
            .build(app)?;
        Ok(Standing { icon, items, shown: view })
    }

    fn redraw(&mut self, app: &AppHandle<R>, view: TrayView) -> tauri::Result<()> {
        if view.picture != self.shown.picture {
            let template = cfg!(target_os = "macos");
            self.icon.set_icon_with_as_template(Some(picture(app, view.picture)?), template)?;
        }
        if view.tooltip != self.shown.tooltip {
            self.icon.set_tooltip(Some(&view.tooltip))?;
        }
        if title(&view) != title(&self.shown) {
            self.icon.set_title(Some(title(&view)))?;
        }
        if view.menu.iter().map(item_id).eq(self.shown.menu.iter().map(item_id)) {
            // The same items: an open menu stays open, its texts change in place.
            let told = |line: &&MenuLine| item_id(line).is_some();
            let lines = view.menu.iter().filter(told).zip(self.shown.menu.iter().filter(told));
            for (item, (new, old)) in self.items.iter().zip(lines) {
                item.turn(new, old)?;
            }
        } else {
            let (menu, items) = build_menu(app, &view.menu)?;
            self.icon.set_menu(Some(menu))?;
            self.items = items;
        }
        self.shown = view;
        Ok(())
    }
}

fn build_menu<R: Runtime>(app: &AppHandle<R>, lines: &[MenuLine]) -> tauri::Result<(Menu<R>, Vec<Item<R>>)> {
    let menu = Menu::new(app)?;
    let mut items = Vec::new();
    for line in lines {
        match (item_id(line), item_text(line)) {
            (Some(id), Some(text)) => match line {
                MenuLine::Mute(muted) => {
                    let item = CheckMenuItem::with_id(app, id, text, true, *muted, None::<&str>)?;
                    menu.append(&item)?;
                    items.push(Item::Check(item));
                }
                line => {
                    let enabled = !matches!(line, MenuLine::Summary(_));
                    let item = MenuItem::with_id(app, id, text, enabled, None::<&str>)?;
                    menu.append(&item)?;
                    items.push(Item::Plain(item));
                }
            },
            _ => menu.append(&PredefinedMenuItem::separator(app)?)?,
        }
    }
    Ok((menu, items))
}

fn item_id(line: &MenuLine) -> Option<String> {
    match line {
        MenuLine::Summary(_) => Some(SUMMARY_ID.to_owned()),
        MenuLine::Lane { id, .. } => Some(format!("{LANE_ID}{id}")),
        MenuLine::More => Some(MORE_ID.to_owned()),
        MenuLine::Separator => None,
        MenuLine::Open => Some(OPEN_ID.to_owned()),
        MenuLine::Mute(_) => Some(MUTE_ID.to_owned()),
        MenuLine::Quit => Some(QUIT_ID.to_owned()),
    }
}

fn item_text(line: &MenuLine) -> Option<String> {
    match line {
        MenuLine::Summary(text) | MenuLine::Lane { text, .. } => Some(text::escape_mnemonics(text)),
        MenuLine::More => Some(text::MORE.to_owned()),
        MenuLine::Separator => None,
        MenuLine::Open => Some(text::OPEN.to_owned()),
        MenuLine::Mute(_) => Some(text::MUTE.to_owned()),
        MenuLine::Quit => Some(text::QUIT.to_owned()),
    }
}

fn choose<R: Runtime>(app: &AppHandle<R>, id: &str) {
    match id {
        QUIT_ID => app.exit(0),
        OPEN_ID => windows::open_soon(app, None),
        MUTE_ID => turn_mute(app),
        MORE_ID => windows::open_soon(app, Some(Place::lanes())),
        _ => {
            if let Some(lane) = id.strip_prefix(LANE_ID) {
                windows::open_soon(app, Some(Place::lane(lane.to_owned())));
            }
        }
    }
}

/// Mutes notifications, or no longer. The menu follows the settings, as for every other way to change them.
fn turn_mute<R: Runtime>(app: &AppHandle<R>) {
    let shell = app.state::<Shell>();
    let muted = shell.muted();
    let Ok(host) = shell.host() else { return };
    tauri::async_runtime::spawn_blocking(move || {
        if let Err(error) = host.mute(!muted) {
            tracing::warn!(code = error.code, "notifications stay as they are: {}", error.message);
        }
    });
}

/// The text beside the icon: on macOS the number of lanes that need the person; on Linux hosts show the title as
/// the program's name.
fn title(view: &TrayView) -> String {
    match (cfg!(target_os = "macos"), view.needing) {
        (false, _) => text::APP.to_owned(),
        (true, 0) => String::new(),
        (true, needing) => needing.to_string(),
    }
}

macro_rules! png {
    ($state:literal, $size:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/icons/tray/", $state, "-", $size, ".png"))
    };
}

macro_rules! png_of {
    ($picture:expr, $size:literal) => {
        match $picture {
            TrayPicture::Idle => png!("idle", $size).as_slice(),
            TrayPicture::Running => png!("running", $size),
            TrayPicture::Waiting => png!("waiting", $size),
            TrayPicture::Error => png!("error", $size),
            TrayPicture::Quiet => png!("quiet", $size),
        }
    };
}

/// The picture in the size that the platform draws, so that its lines stay on whole pixels.
fn picture<R: Runtime>(app: &AppHandle<R>, picture: TrayPicture) -> tauri::Result<Image<'static>> {
    let scale = app.primary_monitor().ok().flatten().map_or(1.0, |monitor| monitor.scale_factor());
    let png = match (scale > 1.25, cfg!(target_os = "macos"), cfg!(windows)) {
        (_, true, _) => png_of!(picture, "template-44"),
        (false, _, true) => png_of!(picture, "16"),
        (true, _, true) => png_of!(picture, "32"),
        (false, ..) => png_of!(picture, "22"),
        (true, ..) => png_of!(picture, "44"),
    };
    Image::from_bytes(png)
}
