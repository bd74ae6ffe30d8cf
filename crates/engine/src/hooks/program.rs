//! `agenthub-hook` and, for tracing, `agenthub` on this machine: where they came with, and the copies that hooks start.
//!
//! Hooks start a copy in the data folder, never the program beside us: an update may move that, and an AppImage's is gone
//! when the app ends.

use std::path::{Path, PathBuf};

use agenthub_agy::hooks::{Code, Hook, Refusal};

use super::files::{is_program, put, refusal};

const fn name(which: Hook) -> &'static str {
    match (which, cfg!(windows)) {
        (Hook::Watch, true) => "agenthub-hook.exe",
        (Hook::Watch, false) => "agenthub-hook",
        (Hook::Tracing, true) => "agenthub.exe",
        (Hook::Tracing, false) => "agenthub",
    }
}

const fn variable(which: Hook) -> &'static str {
    match which {
        Hook::Watch => "AGENTHUB_HOOK_PROGRAM",
        Hook::Tracing => "AGENTHUB_TRACE_PROGRAM",
    }
}

/// The copy in this data folder.
pub(super) fn copy_in(data_dir: &Path, which: Hook) -> PathBuf {
    data_dir.join("bin").join(name(which))
}

/// What to copy: what the person says, else the one beside this program (or itself), else the first in `PATH`.
fn source(which: Hook) -> Option<PathBuf> {
    let said = std::env::var_os(variable(which)).filter(|v| !v.is_empty()).map(PathBuf::from);
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|folder| folder.join(name(which)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        std::env::split_paths(&path).filter(|p| p.is_absolute()).map(|folder| folder.join(name(which)));
    said.into_iter().chain(beside).chain(in_path).find(|p| is_program(p))
}

/// Whether `bring` would find something.
///
/// # Errors
/// When there is neither a program to copy nor a copy.
pub(super) fn can_be_brought(data_dir: &Path, which: Hook) -> Result<(), Refusal> {
    let found = source(which).is_some() || is_program(&copy_in(data_dir, which));
    if found { Ok(()) } else { Err(missing(which)) }
}

/// Brings the copy up to date. Without a program to copy, a copy that is there stays.
///
/// # Errors
/// When there is neither, or no room.
pub(super) fn bring(data_dir: &Path, which: Hook) -> Result<(), Refusal> {
    let copy = copy_in(data_dir, which);
    let Some(source) = source(which) else {
        return if is_program(&copy) { Ok(()) } else { Err(missing(which)) };
    };
    // The copy brings itself up to date.
    let same = |a: &Path, b: &Path| {
        std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b))
    };
    if same(&source, &copy) || (which == Hook::Tracing && linked(&source, &copy)) {
        return Ok(());
    }
    let new = std::fs::read(&source).map_err(|e| refusal(&e, &source))?;
    if is_program(&copy) && std::fs::read(&copy).is_ok_and(|old| old == new) {
        return Ok(());
    }
    put(&copy, &new, 0o755)
}

/// `agenthub` is large: where the folder is on its disk and the file is ours, a second name of it will do. An update puts
/// another file in its place, and leaves the one that hooks start as it is.
fn linked(source: &Path, copy: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let of = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
        if of(source).is_some() && of(source) == of(copy) {
            return true;
        }
        let Some(folder) = copy.parent() else { return false };
        let new = folder.join(format!(".agenthub-{}", std::process::id()));
        let done = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::canonicalize(source))
            .and_then(|source| std::fs::hard_link(source, &new))
            .and_then(|()| std::fs::rename(&new, copy));
        let _ = std::fs::remove_file(&new);
        done.is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = (source, copy);
        false
    }
}

fn missing(which: Hook) -> Refusal {
    let (name, variable) = (name(which), variable(which));
    Refusal::new(
        Code::Io,
        format!(
            "The program `{name}` was not found beside AgentHub, nor in PATH. Install AgentHub anew, or name it in \
             {variable}."
        ),
    )
}

/// Takes the copy away. One that can't be removed does no harm: nothing starts it any more.
pub(super) fn discard(data_dir: &Path, which: Hook) {
    let copy = copy_in(data_dir, which);
    match std::fs::remove_file(&copy) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!("{} could not be removed: {e}", copy.display());
        }
        _ => {}
    }
}
