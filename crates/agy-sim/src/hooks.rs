//! Hooks as agy runs them: `config/hooks.json` is read once when a process starts, and its commands are run, one after the
//! other, at the moments that the verbs of [`crate::Live`] stand for. Every run is kept, so that tests can ask.

mod answer;
mod file;
mod json;
mod payload;
mod run;

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::clock::At;
use crate::home::Home;

pub(crate) use answer::{ToolAnswer, aborts, keeps_going, of_tool};
pub(crate) use payload::{Subject, payload, reason_name};

/// The moments at which hooks fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum HookEvent {
    /// A new conversation (1.2 only).
    SessionStart,
    /// Before each model call.
    PreInvocation,
    /// After each model call.
    PostInvocation,
    /// Before each tool.
    PreToolUse,
    /// After each tool.
    PostToolUse,
    /// The end of an execution.
    Stop,
}

impl HookEvent {
    const ALL: [Self; 6] = [
        Self::SessionStart,
        Self::PreInvocation,
        Self::PostInvocation,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
    ];

    /// As it is written in `hooks.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::PreInvocation => "PreInvocation",
            Self::PostInvocation => "PostInvocation",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
        }
    }

    /// The event with this name, in any case.
    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name().eq_ignore_ascii_case(name))
    }

    /// True for those that need the `{matcher, hooks}` group.
    fn is_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }
}

/// What hooks find around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookEnvironment {
    /// agy's own environment, and `ANTIGRAVITY_CONVERSATION_ID`.
    #[default]
    Inherited,
    /// As under `env -i`: `HOME` (the folder that holds the home) and `ANTIGRAVITY_CONVERSATION_ID`, nothing else.
    Empty,
}

/// How hooks are run.
#[derive(Debug, Clone, Default)]
pub struct HookOptions {
    /// What they find around them.
    pub environment: HookEnvironment,
    /// Variables that agy passes on beside those.
    pub env: Vec<(String, String)>,
    /// Of several named hooks on `PostToolUse` only the first by name fires, as one probe saw.
    pub one_post_tool_use: bool,
    /// `Stop` never fires; the executor row is written as always.
    pub lose_stops: bool,
    /// The person is signed in by `GEMINI_API_KEY`: no hook runs.
    pub api_key: bool,
}

/// What became of `hooks.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HooksFile {
    /// It is not there.
    Absent,
    /// All of it holds: so many named hooks, switched off ones included.
    Loaded(usize),
    /// Dropped as a whole, for this reason.
    Dropped(String),
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookRun {
    /// When it began, by the system's clock, in microseconds since 1970.
    pub at: i64,
    /// The event.
    pub event: HookEvent,
    /// The named hook that it belongs to.
    pub hook: String,
    /// The conversation that it was about.
    pub conversation: String,
    /// The command.
    pub command: String,
    /// The JSON that it got.
    pub stdin: String,
    /// What it answered, at most 1 MiB.
    pub stdout: String,
    /// What it complained about, at most 1 MiB.
    pub stderr: String,
    /// Its exit code; none when a signal ended it or it did not start.
    pub exit: Option<i32>,
    /// How long agy stood still for it.
    #[serde(rename = "duration_us", serialize_with = "micros")]
    pub duration: Duration,
    /// Its time ran out, and its process group was killed.
    pub timed_out: bool,
}

fn micros<S: serde::Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(duration.as_micros() as u64)
}

impl HookRun {
    /// True when agy takes no notice of its answer.
    pub fn failed(&self) -> bool {
        self.timed_out || self.exit != Some(0)
    }

    /// The JSON that it got.
    pub fn input(&self) -> Value {
        serde_json::from_str(&self.stdin).unwrap_or_default()
    }
}

/// A command of `hooks.json` that can fire.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Handler {
    hook: String,
    event: HookEvent,
    /// Tool events only.
    matcher: String,
    command: String,
    timeout: Duration,
}

/// The hooks of one process. Clones are the same hooks: what one runs is seen in all.
#[derive(Debug, Clone)]
pub struct Hooks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    home: PathBuf,
    options: HookOptions,
    file: HooksFile,
    handlers: Vec<Handler>,
    runs: Mutex<Vec<HookRun>>,
}

impl Hooks {
    /// Reads `config/hooks.json` as it is now.
    pub fn load(home: &Home, options: HookOptions) -> Self {
        let (file, handlers) = match fs::read(home.hooks_file()) {
            Err(error) if error.kind() == ErrorKind::NotFound => (HooksFile::Absent, Vec::new()),
            Err(error) => (HooksFile::Dropped(error.to_string()), Vec::new()),
            Ok(bytes) => match file::read(&bytes) {
                Ok((named, handlers)) => (HooksFile::Loaded(named), handlers),
                Err(error) => (HooksFile::Dropped(format!("{error:#}")), Vec::new()),
            },
        };
        Self(Arc::new(Inner {
            folder: home.root().join("config"),
            home: home.root().parent().unwrap_or(home.root()).to_owned(),
            options,
            file,
            handlers,
            runs: Mutex::default(),
        }))
    }

    /// What became of the file.
    pub fn file(&self) -> &HooksFile {
        &self.0.file
    }

    /// How they are run.
    pub fn options(&self) -> &HookOptions {
        &self.0.options
    }

    /// Every command that was run, in order, sub-agents' included.
    pub fn runs(&self) -> Vec<HookRun> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events that were run, with the conversation of each.
    pub fn fired(&self) -> Vec<(HookEvent, String)> {
        self.runs().into_iter().map(|run| (run.event, run.conversation)).collect()
    }

    /// The lines of `cli.log` about the file, without their heads: level, then text.
    pub(crate) fn log_lines(&self) -> Vec<(char, String)> {
        let named = |named: usize| {
            let files = usize::from(matches!(self.0.file, HooksFile::Loaded(_)));
            ('I', format!("hooks_manager.go:53] loaded {named} named hooks from {files} hooks.json file(s)"))
        };
        match &self.0.file {
            HooksFile::Absent => vec![named(0)],
            HooksFile::Loaded(count) => vec![named(*count)],
            HooksFile::Dropped(reason) => {
                let path = self.0.folder.join("hooks.json");
                let text = format!(
                    "hooks_manager.go:33] failed to parse hooks.json at {}: {reason}",
                    path.display()
                );
                vec![('E', text), named(0)]
            }
        }
    }

    /// True when something could fire at this event: the payload of a big tool is not made for nothing.
    pub(crate) fn listens(&self, event: HookEvent) -> bool {
        !self.0.options.api_key && self.0.handlers.iter().any(|handler| handler.event == event)
    }

    /// Runs what fires at this event, one after the other. Gives back what those that did not fail had on stdout.
    pub(crate) fn fire(
        &self,
        event: HookEvent,
        tool: &str,
        conversation: &str,
        input: &Map<String, Value>,
    ) -> Vec<String> {
        if !self.listens(event) {
            return Vec::new();
        }
        let input = Value::Object(input.clone()).to_string();
        let mut answers = Vec::new();
        let mut first: Option<&str> = None;
        for handler in &self.0.handlers {
            if handler.event != event || (event.is_tool() && !file::matches(&handler.matcher, tool)) {
                continue;
            }
            let owner = *first.get_or_insert(&handler.hook);
            if event == HookEvent::PostToolUse && self.0.options.one_post_tool_use && owner != handler.hook {
                continue;
            }
            let run = self.run(handler, conversation, &input);
            if !run.failed() {
                answers.push(run.stdout.clone());
            }
            self.0.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        }
        answers
    }

    fn run(&self, handler: &Handler, conversation: &str, input: &str) -> HookRun {
        let at = At::now();
        let mut command = run::shell(&handler.command);
        command.current_dir(&self.0.folder);
        if self.0.options.environment == HookEnvironment::Empty {
            command.env_clear().env("HOME", &self.0.home);
        }
        command.envs(self.0.options.env.iter().map(|(name, value)| (name, value)));
        command.env("ANTIGRAVITY_CONVERSATION_ID", conversation);
        let done = run::run(command, input.as_bytes().to_vec(), handler.timeout);
        HookRun {
            at: at.as_micros(),
            event: handler.event,
            hook: handler.hook.clone(),
            conversation: conversation.to_owned(),
            command: handler.command.clone(),
            stdin: input.to_owned(),
            stdout: done.stdout,
            stderr: done.stderr,
            exit: done.exit,
            duration: done.duration,
            timed_out: done.timed_out,
        }
    }
}
