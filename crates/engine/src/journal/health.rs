//! What hinders the journal and the doorbell, as their folder shows it.
//!
//! None of this blocks agy or the engine: hooks count what they can't write, and what can't be read is passed over.

use std::{
    fs::Metadata,
    path::{Path, PathBuf},
};

use crate::places::Places;

/// Beyond this `agenthub-hook` writes nothing more (spec H7).
const FULL: u64 = 64 << 20;
/// An event is no longer than this; with less room than that left, the next one may not fit.
const ONE_EVENT: u64 = 1 << 20;
/// A socket's path holds 107 bytes on Linux, 103 on macOS (engineering-notes 8).
const LONGEST_SOCKET: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Something that hinders events on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Closed list: `journal_folder`, `journal_not_a_file`, `journal_not_ours`, `journal_unreadable`, `journal_full`,
    /// `journal_too_long`, `doorbell_too_long`, `doorbell_taken`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) advice: String,
    /// Events are lost, and not only late.
    pub(crate) loses: bool,
}

/// Looks at the folder. What is not there is no fault: the first hook makes it.
pub(crate) fn faults(places: &Places) -> Vec<Fault> {
    let folder = places.hooks();
    match std::fs::metadata(&folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !folder.is_symlink() => return Vec::new(),
        Err(e) => return vec![folder_fault(&folder, &format!("can't be looked at ({e})"))],
        Ok(m) if !m.is_dir() => return vec![folder_fault(&folder, "is not a folder")],
        Ok(m) if !is_mine(&m) => return vec![folder_fault(&folder, "belongs to another user")],
        Ok(_) => {}
    }
    if let Err(e) = std::fs::read_dir(&folder) {
        return vec![folder_fault(&folder, &format!("can't be listed ({e})"))];
    }
    let mut found: Vec<Fault> = journal(&places.journal()).into_iter().collect();
    found.extend(too_long(&folder));
    found.extend(doorbell(&places.doorbell()));
    found
}

fn folder_fault(folder: &Path, what: &str) -> Fault {
    Fault {
        code: "journal_folder",
        message: format!("The folder of hook events, {}, {what}: no event arrives.", folder.display()),
        advice: "Move it away or make it yours; AgentHub makes a new one at its next start.".to_owned(),
        loses: true,
    }
}

fn journal(path: &Path) -> Option<Fault> {
    let fault = |code, what: &str, advice: &str| {
        let message = format!("The journal of hook events, {}, {what}", path.display());
        Some(Fault { code, message, advice: advice.to_owned(), loses: true })
    };
    let away = "Move it away; the next event begins a new one.";
    let meta = std::fs::symlink_metadata(path).ok()?;
    if !meta.is_file() {
        return fault("journal_not_a_file", "is not a plain file: events can't be written.", away);
    }
    if !is_mine(&meta) {
        return fault("journal_not_ours", "belongs to another user: it is neither written nor read.", away);
    }
    if let Err(e) = std::fs::File::open(path) {
        let what = format!("can't be read ({e}): events wait in it.");
        return fault("journal_unreadable", &what, "Make it readable and writable for you.");
    }
    if meta.len() + ONE_EVENT > FULL {
        let advice = "Start AgentHub, or `agenthub watch`: it takes the events in and makes room. If it runs, see whether it \
                      can write its data folder.";
        return fault("journal_full", "is full: new events are dropped and counted.", advice);
    }
    None
}

/// Journals that were put aside and not removed, for they hold more than hooks can have written.
fn too_long(folder: &Path) -> Option<Fault> {
    let files = std::fs::read_dir(folder).ok()?;
    let is_long = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        name.starts_with("journal.") && std::fs::metadata(path).is_ok_and(|m| m.len() > super::LONGEST)
    };
    let long = files.filter_map(|f| Some(f.ok()?.path())).filter(is_long).min()?;
    Some(Fault {
        code: "journal_too_long",
        message: format!(
            "{} is longer than hooks can have made it: it was read as far as 80 MiB.",
            long.display()
        ),
        advice: "Delete it if you do not need it; AgentHub does not.".to_owned(),
        loses: false,
    })
}

fn doorbell(path: &Path) -> Option<Fault> {
    if cfg!(windows) {
        return None;
    }
    let late = "The journal's folder is watched instead: events arrive, some milliseconds later.";
    if path.as_os_str().len() > LONGEST_SOCKET {
        return Some(Fault {
            code: "doorbell_too_long",
            message: format!("The path {} is too long for a socket. {late}", path.display()),
            advice: "Nothing has to be done; a shorter data folder (AGENTHUB_DATA_DIR) makes it faster."
                .to_owned(),
            loses: false,
        });
    }
    let meta = std::fs::symlink_metadata(path).ok()?;
    #[cfg(unix)]
    let is_bell = std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type());
    #[cfg(not(unix))]
    let is_bell = !meta.is_file();
    (!is_bell).then(|| Fault {
        code: "doorbell_taken",
        message: format!("Something that is no socket stands at {}. {late}", path.display()),
        advice: "Move it away and start AgentHub again.".to_owned(),
        loses: false,
    })
}

#[cfg(unix)]
pub(super) fn is_mine(m: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(m) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(super) fn is_mine(_: &Metadata) -> bool {
    true
}
