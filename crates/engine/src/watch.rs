//! File events, filtered to what can mean news (spec S1): our own reads make events too, and must not wake us.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use agenthub_core::SessionId;
use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, ModifyKind},
};

/// What a file event means to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A conversation's file, or its `-wal`, changed, came or went.
    Conversation(SessionId),
    /// Somebody closed a presence lock that was open for writing: agy may have gone.
    Presence,
    /// A folder that we wait for came, or events were lost: look at everything.
    Everything,
}

/// What one event means; most mean nothing.
pub fn news(event: &Event, conversations: &Path, presence: &Path) -> Vec<News> {
    if event.need_rescan() {
        return vec![News::Everything];
    }
    let touches = match event.kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(_) | ModifyKind::Any) => true,
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
            return if event.paths.iter().any(|p| is_in(p, presence, "lock").is_some()) {
                vec![News::Presence]
            } else {
                Vec::new()
            };
        }
        _ => false,
    };
    if !touches {
        return Vec::new();
    }
    let mut out = Vec::new();
    for path in &event.paths {
        if let Some(name) = is_in(path, conversations, "db").or_else(|| is_in(path, conversations, "db-wal"))
        {
            // A name that is no UUID, and what is no conversation, shows at the next pass.
            out.extend(SessionId::parse(name).map(News::Conversation));
        } else if path == conversations || path == presence || conversations.starts_with(path) {
            out.push(News::Everything);
        } else if is_in(path, presence, "lock").is_some() && matches!(event.kind, EventKind::Create(_)) {
            out.push(News::Presence);
        }
    }
    out.dedup();
    out
}

/// The name before `.extension` of a file directly in `folder`.
fn is_in<'a>(path: &'a Path, folder: &Path, extension: &str) -> Option<&'a str> {
    if path.parent()? != folder {
        return None;
    }
    path.file_name()?.to_str()?.strip_suffix(extension)?.strip_suffix('.')
}

/// Watches the two folders, or the nearest ones above them that exist, never recursively: agy's tree can hold more
/// folders than the kernel has watches.
pub struct Watcher {
    inner: Option<RecommendedWatcher>,
    targets: [PathBuf; 2],
    watched: HashSet<PathBuf>,
    /// Why there are no file events, when there are none.
    failure: Option<String>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("watched", &self.watched).field("failure", &self.failure).finish()
    }
}

impl Watcher {
    /// Calls `tell` from a thread of its own for all news.
    pub fn start(
        conversations: PathBuf,
        presence: PathBuf,
        mut tell: impl FnMut(News) + Send + 'static,
    ) -> Watcher {
        let (c, p) = (conversations.clone(), presence.clone());
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) => news(&event, &c, &p).into_iter().for_each(&mut tell),
            Err(_) => tell(News::Everything),
        });
        let (inner, failure) = match made {
            Ok(w) => (Some(w), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let mut w = Watcher { inner, targets: [conversations, presence], watched: HashSet::new(), failure };
        w.arrange();
        w
    }

    /// Watches what exists by now. Called at each pass: folders come, go and come again.
    pub fn arrange(&mut self) {
        let Some(inner) = &mut self.inner else { return };
        let wanted: HashSet<PathBuf> = self.targets.iter().filter_map(|t| nearest_folder(t)).collect();
        for old in self.watched.difference(&wanted) {
            // It may be gone, and its watch with it.
            let _ = inner.unwatch(old);
        }
        self.watched.retain(|w| wanted.contains(w));
        self.failure = None;
        for path in wanted {
            if self.watched.contains(&path) {
                continue;
            }
            match inner.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path);
                }
                Err(e) => self.failure = Some(format!("{}: {e}", path.display())),
            }
        }
    }

    /// A watched folder may have been replaced by another of the same name: watch it anew.
    pub fn renew(&mut self) {
        if let Some(inner) = &mut self.inner {
            for old in self.watched.drain() {
                let _ = inner.unwatch(&old);
            }
        }
        self.arrange();
    }

    /// Why only the poll looks, when file events do not come.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

fn nearest_folder(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|p| p.is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};

    const ID: &str = "18ee78b4-4643-45db-85df-8abd89b51b1b";

    fn check(kind: EventKind, path: &str, expected: &[News]) {
        let e = Event::new(kind).add_path(PathBuf::from(path));
        assert_eq!(
            news(&e, Path::new("/g/cli/conversations"), Path::new("/g/cli/presence")),
            expected,
            "{kind:?} {path}"
        );
    }

    #[test]
    fn s01_only_changes_of_content_count() {
        let id = || News::Conversation(SessionId::parse(ID).unwrap());
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let db = format!("/g/cli/conversations/{ID}.db");
        let wal = format!("/g/cli/conversations/{ID}.db-wal");
        check(data, &db, &[id()]);
        check(data, &wal, &[id()]);
        check(EventKind::Create(CreateKind::File), &db, &[id()]);
        check(EventKind::Remove(RemoveKind::File), &wal, &[id()]);
        // Our own reading: opens, closes, SQLite's chown, and its map of the -shm.
        check(EventKind::Access(AccessKind::Open(AccessMode::Any)), &db, &[]);
        check(EventKind::Access(AccessKind::Close(AccessMode::Write)), &db, &[]);
        check(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), &wal, &[]);
        check(data, &format!("/g/cli/conversations/{ID}.db-shm"), &[]);
        check(data, "/g/cli/conversations/notes.txt", &[]);
        check(data, &format!("/g/cli/other/{ID}.db"), &[]);
    }

    #[test]
    fn s01_presence_is_looked_at_when_a_lock_is_closed() {
        let lock = format!("/g/cli/presence/{ID}.lock");
        check(EventKind::Access(AccessKind::Close(AccessMode::Write)), &lock, &[News::Presence]);
        check(EventKind::Access(AccessKind::Close(AccessMode::Read)), &lock, &[]);
        check(EventKind::Create(CreateKind::File), &lock, &[News::Presence]);
        check(EventKind::Create(CreateKind::Folder), "/g/cli/conversations", &[News::Everything]);
        check(EventKind::Create(CreateKind::Folder), "/g/cli", &[News::Everything]);
        check(EventKind::Create(CreateKind::Folder), "/g/other", &[]);
    }

    #[test]
    fn s01_lost_events_mean_a_whole_pass() {
        let e = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(news(&e, Path::new("/c"), Path::new("/p")), [News::Everything]);
    }
}
