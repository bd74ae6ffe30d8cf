//! Where agy keeps its files. All paths are below `<home>/antigravity-cli/`: nothing else is ever read (spec P2), but by
//! tracing, which the person can have for the IDE and the desktop app as well (R12).

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use agenthub_core::SessionId;

/// agy's home, `~/.gemini` unless the person says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    surface: Surface,
    private: Option<PathBuf>,
}

/// A product of the family, by the folder below agy's home that it keeps its conversations in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Surface(Cow<'static, str>);

impl Surface {
    pub const CLI: Surface = Surface(Cow::Borrowed("antigravity-cli"));

    /// `None` for what is no plain name of a folder.
    pub fn named(folder: &str) -> Option<Surface> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name =
            (1..=64).contains(&folder.len()) && folder.chars().all(plain) && !folder.starts_with('.');
        is_name.then(|| Surface(Cow::Owned(folder.to_owned())))
    }

    /// Whose conversation a hook tells of, by the path of its transcript: below agy's home, as it is given or behind its
    /// links.
    pub fn of_transcript(root: &Path, transcript: &str) -> Option<Surface> {
        let path = Path::new(transcript);
        let given = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let real = std::fs::canonicalize(root).ok();
        [Some(given), real].into_iter().flatten().find_map(|root| {
            let mut parts = path.strip_prefix(root).ok()?.components();
            match (parts.next()?, parts.next()?) {
                (Component::Normal(folder), Component::Normal(_))
                    if parts.all(|c| matches!(c, Component::Normal(_))) =>
                {
                    Surface::named(folder.to_str()?)
                }
                _ => None,
            }
        })
    }

    pub fn folder(&self) -> &str {
        &self.0
    }
}

impl Home {
    /// `root` is agy's home itself, the folder that holds `antigravity-cli/`. It need not exist.
    pub fn new(root: PathBuf) -> Home {
        Home { root, surface: Surface::CLI, private: None }
    }

    /// Whether somebody's agy, or another product of its family, has used this home. A folder that was named by mistake is
    /// none.
    pub fn is_agys(&self) -> bool {
        let named = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("antigravity");
        self.root.file_name().is_some_and(|name| name == ".gemini") && self.root.is_dir()
            || std::fs::read_dir(&self.root).is_ok_and(|all| {
                all.filter_map(Result::ok).any(|f| named(&f.file_name()) && f.path().is_dir())
            })
    }

    /// The same home with the conversations of another product (R12).
    #[must_use]
    pub fn of_surface(self, surface: Surface) -> Home {
        Home { surface, ..self }
    }

    pub const fn surface(&self) -> &Surface {
        &self.surface
    }

    /// Where private copies of conversations go (see [`crate::read()`]); the system's temporary folder otherwise. Each
    /// copy gets a fresh folder, mode 0700, that is removed after the read.
    #[must_use]
    pub fn with_private_copies_in(self, folder: PathBuf) -> Home {
        Home { private: Some(folder), ..self }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The CLI's own folder, or that of the product that was asked for.
    pub fn cli(&self) -> PathBuf {
        self.root.join(self.surface.folder())
    }

    pub fn conversations(&self) -> PathBuf {
        self.cli().join("conversations")
    }

    /// The conversation file of `id`, in its usual spelling.
    pub fn conversation(&self, id: &SessionId) -> PathBuf {
        self.conversations().join(format!("{id}.db"))
    }

    pub fn presence(&self) -> PathBuf {
        self.cli().join("presence")
    }

    pub fn presence_lock(&self, id: &SessionId) -> PathBuf {
        self.presence().join(format!("{id}.lock"))
    }

    pub fn brain(&self, id: &SessionId) -> PathBuf {
        self.cli().join("brain").join(id.as_str())
    }

    /// `full` asks for `transcript_full.jsonl`, whose texts are not cut.
    pub fn transcript(&self, id: &SessionId, full: bool) -> PathBuf {
        let name = if full { "transcript_full.jsonl" } else { "transcript.jsonl" };
        self.brain(id).join(".system_generated").join("logs").join(name)
    }

    pub(crate) fn annotation(&self, id: &SessionId) -> PathBuf {
        self.cli().join("annotations").join(format!("{id}.pbtxt"))
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.cli().join("scratch")
    }

    pub(crate) fn private(&self) -> Option<&Path> {
        self.private.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12_a_transcripts_folder_names_its_product() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join(".gemini");
        std::fs::create_dir_all(&root).unwrap();
        let of = |path: &str| {
            let path = root.join(path).display().to_string();
            Surface::of_transcript(&root, &path).map(|s| s.folder().to_owned())
        };
        assert_eq!(of("antigravity-cli/brain/x/t.jsonl").as_deref(), Some("antigravity-cli"));
        assert_eq!(of("antigravity-ide/brain/x/t.jsonl").as_deref(), Some("antigravity-ide"));
        assert_eq!(of("jetski/brain/t.jsonl").as_deref(), Some("jetski"));
        for bad in ["t.jsonl", "../x/t.jsonl", "antigravity/../../x/t.jsonl", ".x/t.jsonl", "a b/t.jsonl"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(Surface::of_transcript(&root, "/etc/passwd"), None);
        #[cfg(unix)]
        {
            let link = temp.path().join("link");
            std::os::unix::fs::symlink(&root, &link).unwrap();
            let real = std::fs::canonicalize(&root).unwrap().join("antigravity/b/t.jsonl");
            let found = Surface::of_transcript(&link, &real.display().to_string());
            assert_eq!(found.unwrap().folder(), "antigravity");
        }
    }
}
