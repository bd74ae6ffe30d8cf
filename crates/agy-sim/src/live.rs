//! A live conversation, played step by step as agy plays it: WAL growing, presence lock held, transcript lines as steps
//! finish, hooks run. The verbs of a turn, of tools and of lineage are in the files of `live/`.

mod branch;
mod hooks;
mod tools;
mod turn;

use std::fs::{self, File};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::clock::Clock;
use crate::home::{Home, Layout};
use crate::hooks::{HookOptions, Hooks};
use crate::recording::Recording;
use crate::step::status;
use crate::truth::Session;
use crate::{schema, sidecars, sys, transcript, writer};

use hooks::RunState;
pub use tools::ToolEnd;
pub use turn::Esc;

/// How a live conversation begins.
#[derive(Debug, Clone)]
pub struct LiveSpec {
    /// UUID of the conversation.
    pub id: String,
    /// Workspace folder, if any.
    pub cwd: Option<String>,
    /// Which version plays.
    pub layout: Layout,
    /// Whether `presence/<id>.lock` is held, as since 1.1.22.
    pub presence: bool,
    /// Number of the model.
    pub model: u32,
    /// Where its times come from. With a manual clock, file times are set by it too.
    pub clock: Clock,
    /// Writes transcripts.
    pub transcript: bool,
    /// Keeps `conversation_summaries.db` up to date, as 1.3 does.
    pub summaries: bool,
    /// How it runs the hooks of `config/hooks.json`, if there are any.
    pub hooks: HookOptions,
}

impl LiveSpec {
    /// agy 1.2 on Gemini 3.1 Pro, lock held, system clock, no workspace.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            cwd: None,
            layout: Layout::V1_2,
            presence: true,
            model: 1016,
            clock: Clock::system(),
            transcript: true,
            summaries: false,
            hooks: HookOptions::default(),
        }
    }

    /// In this folder.
    pub fn cwd(self, path: &str) -> Self {
        Self { cwd: Some(path.to_owned()), ..self }
    }

    /// By this clock.
    pub fn clock(self, clock: &Clock) -> Self {
        Self { clock: clock.clone(), ..self }
    }

    /// With hooks run so.
    pub fn hooks(self, hooks: HookOptions) -> Self {
        Self { hooks, ..self }
    }

    /// As this version.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// With this model.
    pub fn model(self, model: u32) -> Self {
        Self { model, ..self }
    }

    /// Without a presence lock, as before 1.1.22.
    pub fn without_presence(self) -> Self {
        Self { presence: false, ..self }
    }
}

/// What a live conversation keeps open. Separate from the rows, so that it can be given up in two ways.
#[derive(Debug)]
struct Open {
    conn: Connection,
    lock: Option<Lock>,
}

/// A conversation that is being played. Every verb writes its rows in one transaction before it returns, unless writes
/// are held back ([`Live::hold_writes`]).
#[derive(Debug)]
pub struct Live {
    home: Home,
    spec: LiveSpec,
    recording: Recording,
    open: Open,
    /// The planner step that is GENERATING.
    call: Option<u32>,
    /// Tool steps that are RUNNING or WAITING, in the order in which they began.
    tools: Vec<u32>,
    /// Prompts that wait.
    queued: Vec<u32>,
    /// Lines of the transcript so far.
    lines: usize,
    /// A rewind happened since the last write.
    rewound: bool,
    held: bool,
    hooks: Hooks,
    run: RunState,
}

impl Live {
    /// Starts a new conversation: lock, log, database with its empty tables.
    pub fn start(home: &Home, spec: LiveSpec) -> Result<Self> {
        let mut recording = Recording::new(&spec.id, spec.layout, spec.clock.now());
        recording.model = spec.model;
        recording.blob.workspaces.extend(spec.cwd.clone());
        let hooks = Hooks::load(home, spec.hooks.clone());
        sidecars::write_start(
            home,
            recording.blob.created,
            "1.2.13",
            &spec.id,
            std::process::id(),
            &hooks.log_lines(),
        )?;
        let mut live = Self::open(home, spec, recording, 0, hooks)?;
        live.session_starts();
        Ok(live)
    }

    /// Opens a conversation that is on disk already, as `--continue` does. Id, layout and folder are the recording's.
    /// Steps that a killed agy left alive become CANCELED in place.
    pub fn resume(home: &Home, recording: Recording, spec: LiveSpec) -> Result<Self> {
        let spec = LiveSpec {
            id: recording.id.clone(),
            layout: recording.layout,
            cwd: recording.blob.workspaces.first().cloned(),
            ..spec
        };
        let mut recording = recording;
        recording.dirty = Default::default();
        let lines = recording.finished.len();
        let now = spec.clock.now();
        for idx in 0..recording.next_step() {
            if recording.step(idx)?.is_live() {
                recording.set_status(idx, status::CANCELED, now)?;
            }
        }
        let hooks = Hooks::load(home, spec.hooks.clone());
        sidecars::append_log(home, now, &hooks.log_lines())?;
        Self::open(home, spec, recording, lines, hooks)
    }

    /// `lines`: how many lines the transcripts have already. `hooks`: those of the process, which read them at its start.
    fn open(home: &Home, spec: LiveSpec, recording: Recording, lines: usize, hooks: Hooks) -> Result<Self> {
        let lock = spec.presence.then(|| hold(home, &spec.id)).transpose()?;
        let conn = schema::open_live(&home.db(&spec.id))?;
        let mut live = Self {
            home: home.clone(),
            spec,
            recording,
            open: Open { conn, lock },
            call: None,
            tools: Vec::new(),
            queued: Vec::new(),
            lines,
            rewound: false,
            held: false,
            hooks,
            run: RunState::default(),
        };
        live.write()?;
        Ok(live)
    }

    /// UUID of the conversation.
    pub fn id(&self) -> &str {
        &self.spec.id
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.spec.clock
    }

    /// The rows so far.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The right answer for the rows so far, as if no other file held the same calls.
    pub fn session(&self) -> Session {
        self.recording.session()
    }

    /// From now on rows stay in memory, as when agy flushes late.
    pub fn hold_writes(&mut self) {
        self.held = true;
    }

    /// Writes what was held back, and goes on writing at once.
    pub fn flush(&mut self) -> Result<()> {
        self.held = false;
        self.write()
    }

    /// Puts what changed on disk: one transaction, then the transcript's lines.
    fn write(&mut self) -> Result<()> {
        if self.held {
            return Ok(());
        }
        writer::flush(&self.open.conn, &mut self.recording)?;
        if self.spec.transcript {
            // After a rewind lines go; agy writes the file anew then.
            let anew = std::mem::take(&mut self.rewound);
            let from = if anew { 0 } else { self.lines };
            let fresh: Vec<u32> = self.recording.finished.iter().skip(from).copied().collect();
            if anew || !fresh.is_empty() {
                transcript::append(&self.home, &self.recording, &fresh, anew)?;
            }
        }
        self.lines = self.recording.finished.len();
        if self.spec.summaries {
            let conn = sidecars::open_summaries(&self.home)?;
            let running = self.call.is_some() || !self.tools.is_empty();
            sidecars::summarise(&conn, &self.recording, running)?;
            schema::close(conn)?;
        }
        self.stamp()
    }

    /// Gives the files the times of a manual clock. By path: opening the `.db` would drop SQLite's locks on it.
    fn stamp(&self) -> Result<()> {
        if !self.spec.clock.is_manual() {
            return Ok(());
        }
        let id = self.id();
        let now = self.spec.clock.peek();
        for path in [
            self.home.db(id),
            self.home.wal(id),
            self.home.shm(id),
            self.home.presence(id),
            self.home.transcript(id),
            self.home.transcript_full(id),
        ] {
            if path.exists() {
                sys::set_mtime(&path, now)?;
            }
        }
        Ok(())
    }

    /// agy ends in good order: a checkpoint, no `-wal` and `-shm` left, the lock free (its file stays). Gives back the
    /// rows, for [`Live::resume`] or for forks.
    pub fn close(mut self) -> Result<Recording> {
        self.flush()?;
        let Self { open, home, spec, recording, .. } = self;
        schema::close(open.conn)?;
        drop(open.lock);
        if spec.clock.is_manual() {
            sys::set_mtime(&home.db(&spec.id), spec.clock.peek())?;
        }
        Ok(recording)
    }

    /// agy dies, as far as its files show it: rows stay in the `-wal`, `-shm` stays, the lock is free. (A real SIGKILL is
    /// [`crate::SimProcess::kill`].) Rows that were held back are lost: do not resume from them.
    pub fn kill(self) -> Result<Recording> {
        let Self { open, recording, .. } = self;
        open.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::close(open.conn)?;
        drop(open.lock);
        Ok(recording)
    }

    /// Path of the database.
    pub fn db(&self) -> PathBuf {
        self.home.db(self.id())
    }

    /// True while the presence lock is held.
    pub fn holds_lock(&self) -> bool {
        self.open.lock.is_some()
    }

    /// Lets go of the presence lock and keeps playing, as `/clear` does when it swaps conversations.
    pub fn release_lock(&mut self) {
        self.open.lock = None;
    }
}

/// A presence lock that is held.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread starts has a share of it between its fork and its exec.
        drop(self.0.unlock());
    }
}

/// Opens the presence file and takes its lock.
fn hold(home: &Home, id: &str) -> Result<Lock> {
    let path = home.presence(id);
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
    // Another conversation may be letting go of it at this moment.
    let began = Instant::now();
    while let Err(error) = file.try_lock() {
        if began.elapsed() > Duration::from_secs(1) {
            return Err(error).with_context(|| format!("{} is held by somebody else", path.display()));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(Lock(file))
}
