//! What must be known about earlier writes: one backup for undoing, and which files did not exist before us.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use agenthub_agy::hooks::Refusal;
use serde::{Deserialize, Serialize};

use super::files::put;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    /// The hooks.json files that we made; removing our hook from one that holds no other removes it.
    pub(super) made: BTreeSet<String>,
    /// The folders that we made for hooks.json and the script, outer ones first; empty, they go with our hook.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) backup: Option<Backup>,
}

/// The last write. hooks.json is JSON in UTF-8 before and after it, or nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Backup {
    pub(super) file: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Memory {
    /// Lost or damaged, it is empty: then there is nothing to undo, and no file counts as ours.
    pub(super) fn read(path: &Path) -> Memory {
        let Ok(text) = std::fs::read_to_string(path) else { return Memory::default() };
        serde_json::from_str(&text).unwrap_or_else(|e| {
            tracing::warn!("{} can't be read, and is begun anew: {e}", path.display());
            Memory::default()
        })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Refusal> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        put(path, &text, 0o600)
    }

    /// Notes a write of `file`, before it is done. `fresh`: our hook was not in it.
    pub(super) fn note(&mut self, backup: Backup, fresh: bool) {
        match (&backup.before, fresh) {
            (None, _) => drop(self.made.insert(backup.file.clone())),
            (Some(_), true) => drop(self.made.remove(&backup.file)),
            (Some(_), false) => {}
        }
        self.backup = Some(backup);
    }
}
