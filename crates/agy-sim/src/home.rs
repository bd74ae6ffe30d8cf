//! A home of agy: the folder that is `~/.gemini` on a real machine, and the paths in it.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::schema;

/// Which agy wrote a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// 1.0.x: call time in the generator row, a step type per tool, a title call after turn one.
    V1_0,
    /// 1.2 and later: no call time, every tool step GENERIC, `max_context_tokens`, message ids.
    #[default]
    V1_2,
}

/// A `.gemini` folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Makes the CLI's folders below `root`, which stands for `~/.gemini` itself.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self> {
        let home = Self { root: root.into() };
        for folder in ["conversations", "presence", "brain", "annotations", "log", "cache", "implicit"] {
            let path = home.cli().join(folder);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        fs::create_dir_all(home.root.join("config"))?;
        Ok(home)
    }

    /// A `.gemini` in a new temporary folder, which goes when the value is dropped.
    pub fn temp() -> Result<TempHome> {
        let dir = tempfile::tempdir()?;
        let home = Self::create(dir.path().join(".gemini"))?;
        Ok(TempHome { home, dir })
    }

    /// The folder itself: what `AGENTHUB_GEMINI_DIR` is set to.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// `antigravity-cli`.
    pub fn cli(&self) -> PathBuf {
        self.root.join("antigravity-cli")
    }
    /// `antigravity-cli/conversations`.
    pub fn conversations(&self) -> PathBuf {
        self.cli().join("conversations")
    }
    /// The database of a conversation.
    pub fn db(&self, id: &str) -> PathBuf {
        self.conversations().join(format!("{id}.db"))
    }
    /// Its `-wal`.
    pub fn wal(&self, id: &str) -> PathBuf {
        self.conversations().join(format!("{id}.db-wal"))
    }
    /// Its `-shm`.
    pub fn shm(&self, id: &str) -> PathBuf {
        self.conversations().join(format!("{id}.db-shm"))
    }
    /// The opaque file of an old conversation, or beside a fork.
    pub fn pb(&self, id: &str) -> PathBuf {
        self.conversations().join(format!("{id}.pb"))
    }
    /// The file that agy holds a lock on while the conversation is open.
    pub fn presence(&self, id: &str) -> PathBuf {
        self.cli().join("presence").join(format!("{id}.lock"))
    }
    /// `config/hooks.json`.
    pub fn hooks_file(&self) -> PathBuf {
        self.root.join("config").join("hooks.json")
    }
    /// `brain/<id>`.
    pub fn brain(&self, id: &str) -> PathBuf {
        self.cli().join("brain").join(id)
    }
    /// `brain/<id>/.system_generated`.
    pub fn generated(&self, id: &str) -> PathBuf {
        self.brain(id).join(".system_generated")
    }
    /// `transcript.jsonl`, with arguments encoded twice.
    pub fn transcript(&self, id: &str) -> PathBuf {
        self.generated(id).join("logs").join("transcript.jsonl")
    }
    /// `transcript_full.jsonl`, with arguments encoded once.
    pub fn transcript_full(&self, id: &str) -> PathBuf {
        self.generated(id).join("logs").join("transcript_full.jsonl")
    }
    /// The title of a conversation.
    pub fn annotation(&self, id: &str) -> PathBuf {
        self.cli().join("annotations").join(format!("{id}.pbtxt"))
    }
    /// `conversation_summaries.db`.
    pub fn summaries(&self) -> PathBuf {
        self.cli().join("conversation_summaries.db")
    }
    /// `history.jsonl`.
    pub fn history(&self) -> PathBuf {
        self.cli().join("history.jsonl")
    }
    /// `cache`.
    pub fn cache(&self) -> PathBuf {
        self.cli().join("cache")
    }
    /// `log`.
    pub fn log(&self) -> PathBuf {
        self.cli().join("log")
    }

    /// Opens the conversation's database (made with agy's schema if it is not there), lets `edit` do what it wants, and
    /// closes it cleanly.
    pub fn raw_db<T>(&self, id: &str, edit: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let conn = schema::open_live(&self.db(id))?;
        let out = edit(&conn)?;
        schema::close(conn)?;
        Ok(out)
    }

    /// Writes a file of any name and content into `conversations/`.
    pub fn raw_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.conversations().join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }
}

/// A [`Home`] in a temporary folder.
#[derive(Debug)]
pub struct TempHome {
    home: Home,
    dir: tempfile::TempDir,
}

impl TempHome {
    /// The folder that holds `.gemini`: what `HOME` would be.
    pub fn parent(&self) -> &Path {
        self.dir.path()
    }
}

impl Deref for TempHome {
    type Target = Home;
    fn deref(&self) -> &Home {
        &self.home
    }
}
