//! `agenthub open`: the desktop app's window, at a lane or a session. A server has none, and is told what it has instead.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use agenthub_engine::{
    Config, Host, Options,
    view::{ErrorView, Lane},
};

use crate::run::Failed;

const DESKTOP: &str = "agenthub-desktop";
/// A start that hands over to the running app, or fails, ends within this; one that goes on is the app.
const TAKES: Duration = Duration::from_millis(1_500);

pub(crate) fn open(config: Config, what: Option<&str>) -> anyhow::Result<()> {
    // Without a screen there is nothing to look for.
    let screen =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()));
    if cfg!(target_os = "linux") && !screen {
        return Err(failed(
            "no_display",
            "There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set. `agenthub lanes` and `agenthub watch` \
             show the same without one."
                .to_owned(),
        ));
    }
    let program = found()?;
    let place = what.map(|what| place(&config, what)).transpose()?;
    let mut command = Command::new(&program);
    for (option, folder) in [
        ("--gemini-dir", &config.gemini_dir),
        ("--data-dir", &config.data_dir),
        ("--config-dir", &config.config_dir),
    ] {
        command.arg(option).arg(folder);
    }
    match place {
        Some((option, id)) => command.arg(format!("{option}={id}")),
        None => command.arg("--window"),
    };
    start(command, &program)
}

/// Starts it, and sees to it that it came up or handed over.
fn start(mut command: Command, program: &Path) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It is no job of this terminal: Ctrl-C here does not end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let told = |why: String| {
        let message = format!("{} {why}. Start it by itself to see what it says.", program.display());
        failed("desktop_failed", message)
    };
    let mut child = command.spawn().map_err(|e| told(format!("can't be started: {e}")))?;
    let started = Instant::now();
    let ended: Option<ExitStatus> = loop {
        let ended = child.try_wait().map_err(|e| told(format!("can't be waited for: {e}")))?;
        if ended.is_some() || started.elapsed() >= TAKES {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    match ended.filter(|status| !status.success()) {
        Some(status) => Err(told(format!("ended at once ({status})"))),
        None => Ok(()),
    }
}

/// The desktop app: beside this program, else on the path.
fn found() -> anyhow::Result<PathBuf> {
    let name = format!("{DESKTOP}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    // A link to us may stand elsewhere; the app stands beside what it leads to, or beside the link.
    let real = own.as_ref().and_then(|p| p.canonicalize().ok());
    let beside = [real, own].into_iter().flatten().filter_map(|p| Some(p.parent()?.to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).filter(|p| p.is_absolute()).collect();
    beside.chain(path).map(|folder| folder.join(&name)).find(|p| is_program(p)).ok_or_else(|| {
        failed(
            "no_desktop",
            format!(
                "The desktop app ({name}) is neither beside this program nor on the path. Install it; on a server \
                 `agenthub lanes` and `agenthub watch` show the same."
            ),
        )
    })
}

fn is_program(path: &Path) -> bool {
    let Ok(meta) = path.metadata() else { return false };
    #[cfg(unix)]
    let may = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may = true;
    meta.is_file() && may
}

/// The desktop app's option, and the id that it takes.
fn place(config: &Config, what: &str) -> anyhow::Result<(&'static str, String)> {
    let host = Host::once(config.clone(), Options::default()).and_then(Host::whole).map_err(Failed)?;
    let lanes = host.watch().borrow().lanes().lanes;
    match lane(&lanes, what)? {
        Some(id) => Ok(("--lane", id)),
        None => session(&host, what),
    }
}

/// The one lane that is called so.
///
/// # Errors
/// `bad_request` when several are.
pub(crate) fn lane(lanes: &[Lane], what: &str) -> anyhow::Result<Option<String>> {
    // A folder that is not on this disk, or not any more, is called as the board calls it.
    let folder = std::fs::canonicalize(what).unwrap_or_else(|_| PathBuf::from(what));
    let matches =
        |is: &dyn Fn(&Lane) -> bool| lanes.iter().filter(|l| is(l)).map(|l| l.id.clone()).collect::<Vec<_>>();
    // What names a lane best comes first: one that is called like a folder is not that folder.
    let found = [
        matches(&|l| l.id == what || l.run_id.as_deref() == Some(what)),
        matches(&|l| l.name == what),
        matches(&|l| l.run_id.is_none() && is_folder(l, &folder)),
        matches(&|l| is_folder(l, &folder)),
    ]
    .into_iter()
    .find(|found| !found.is_empty())
    .unwrap_or_default();
    match found.as_slice() {
        [one] => Ok(Some(one.clone())),
        [] => Ok(None),
        several => Err(failed(
            "bad_request",
            format!("Several lanes are called `{what}`. Say which: {}", several.join(", ")),
        )),
    }
}

/// A session by its id or the beginning of one.
fn session(host: &Host, what: &str) -> anyhow::Result<(&'static str, String)> {
    let unknown = || {
        let message = format!(
            "There is no lane `{what}` on the board, and no session of that id. `agenthub lanes` and `agenthub sessions` \
             list them."
        );
        failed("not_found", message)
    };
    // Less is a word, also where it happens to be hexadecimal.
    if what.len() < LEAST_OF_AN_ID {
        return Err(unknown());
    }
    match host.session(what) {
        Ok(found) => Ok(("--session", found.row.session.id)),
        Err(e) if e.code == "not_found" => Err(unknown()),
        Err(e) => Err(Failed(e).into()),
    }
}

const LEAST_OF_AN_ID: usize = 8;

fn is_folder(lane: &Lane, folder: &Path) -> bool {
    lane.cwd.as_ref().is_some_and(|cwd| Path::new(cwd) == folder)
}

fn failed(code: &str, message: String) -> anyhow::Error {
    Failed(ErrorView { code: code.to_owned(), message }).into()
}
