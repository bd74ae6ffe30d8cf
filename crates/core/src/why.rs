//! The evidence behind a state: the fact that decided, and those that it beat (spec L11).

use crate::Time;

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Database,
    Hook,
    Presence,
    Run,
    Clock,
}

impl Source {
    pub const fn name(self) -> &'static str {
        match self {
            Source::Database => "database",
            Source::Hook => "hook",
            Source::Presence => "presence",
            Source::Run => "run",
            Source::Clock => "clock",
        }
    }
}

/// A fact that speaks about a state, in words of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    StepWaits {
        step: i64,
        tool: Option<String>,
    },
    TurnEnded {
        reason: i32,
    },
    TurnFailed {
        reason: i32,
    },
    ErrorMessage {
        step: i64,
        text: Option<String>,
    },
    Canceled {
        step: i64,
    },
    StepLive {
        step: i64,
        tool: Option<String>,
    },
    PromptOpen {
        step: i64,
    },
    NoTurn,
    /// A Stop while background work goes on.
    HookHeld,
    /// A final Stop, with agy's reason.
    HookEnded {
        reason: String,
    },
    /// A final Stop with an error.
    HookFailed {
        text: String,
    },
    /// agy called its model, and no end came since.
    HookCall,
    /// A tool ended, and no end of the turn came since.
    HookTool {
        tool: Option<String>,
    },
    AgyGone,
    LockHeld,
    /// A sub-agent without a lock of its own, at work in an agy that is there.
    ParentOpen,
    LockUnknown,
    Quiet {
        minutes: i64,
    },
    /// A sub-agent whose parent settled.
    ParentSettled,
    /// A command that `agenthub run` started is at work.
    RunLives {
        command: String,
    },
    RunExited {
        command: String,
        code: i32,
    },
    RunKilled {
        command: String,
        signal: i32,
    },
    RunNotStarted {
        command: String,
        reason: String,
    },
    /// It is gone, and so is the process that waited for it: nobody saw how it ended.
    RunLost {
        command: String,
    },
}

impl Fact {
    pub const fn source(&self) -> Source {
        match self {
            Fact::StepWaits { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnFailed { .. }
            | Fact::ErrorMessage { .. }
            | Fact::Canceled { .. }
            | Fact::StepLive { .. }
            | Fact::PromptOpen { .. }
            | Fact::NoTurn => Source::Database,
            Fact::HookHeld
            | Fact::HookEnded { .. }
            | Fact::HookFailed { .. }
            | Fact::HookCall
            | Fact::HookTool { .. } => Source::Hook,
            Fact::AgyGone | Fact::LockHeld | Fact::ParentOpen | Fact::LockUnknown => Source::Presence,
            Fact::Quiet { .. } | Fact::ParentSettled => Source::Clock,
            Fact::RunLives { .. }
            | Fact::RunExited { .. }
            | Fact::RunKilled { .. }
            | Fact::RunNotStarted { .. }
            | Fact::RunLost { .. } => Source::Run,
        }
    }
}

impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fact::StepWaits { step, tool: Some(tool) } => write!(f, "Step {step} waits: {tool}"),
            Fact::StepWaits { step, tool: None } => write!(f, "Step {step} waits"),
            Fact::TurnEnded { reason } => write!(f, "The turn ended ({})", reason_words(*reason)),
            Fact::TurnFailed { reason } => write!(f, "The turn failed ({})", reason_words(*reason)),
            Fact::ErrorMessage { step, text: Some(text) } => write!(f, "Step {step} is an error: {text}"),
            Fact::ErrorMessage { step, text: None } => write!(f, "Step {step} is an error"),
            Fact::Canceled { step } => write!(f, "Step {step} was canceled"),
            Fact::StepLive { step, tool: Some(tool) } => write!(f, "Step {step} is at work: {tool}"),
            Fact::StepLive { step, tool: None } => write!(f, "Step {step} is at work"),
            Fact::PromptOpen { step } => write!(f, "The prompt of step {step} has no end yet"),
            Fact::NoTurn => f.write_str("No prompt yet"),
            Fact::HookHeld => f.write_str("agy paused while background work goes on"),
            Fact::HookEnded { reason } => write!(f, "agy stopped ({})", stop_words(reason)),
            Fact::HookFailed { text } if text.is_empty() => f.write_str("agy stopped with an error"),
            Fact::HookFailed { text } => write!(f, "agy stopped with an error: {text}"),
            Fact::HookCall => f.write_str("agy called its model"),
            Fact::HookTool { tool: Some(tool) } => write!(f, "A tool ended: {tool}"),
            Fact::HookTool { tool: None } => f.write_str("A tool ended"),
            Fact::AgyGone => f.write_str("agy let go of the session's lock"),
            Fact::LockHeld => f.write_str("agy holds the session's lock"),
            Fact::ParentOpen => f.write_str("agy holds the lock of the session that started it"),
            Fact::LockUnknown => f.write_str("No lock of agy was seen for it"),
            Fact::Quiet { minutes } => write!(f, "Nothing was written for {minutes} min"),
            Fact::ParentSettled => f.write_str("The session that started it is over"),
            Fact::RunLives { command } => write!(f, "{command} is at work"),
            Fact::RunExited { command, code: 0 } => write!(f, "{command} ended (exit code 0)"),
            Fact::RunExited { command, code } => write!(f, "{command} failed ({})", exit_words(*code)),
            Fact::RunKilled { command, signal } => {
                write!(f, "{command} was ended by {}", signal_words(*signal))
            }
            Fact::RunNotStarted { command, reason } => write!(f, "{command} could not be started: {reason}"),
            Fact::RunLost { command } => {
                write!(
                    f,
                    "{command} ended without finishing: what waited for it was killed, so nobody saw how"
                )
            }
        }
    }
}

/// An exit code, and what shells mean by it.
fn exit_words(code: i32) -> String {
    match code {
        126 => "exit code 126: a command in it could not be executed".to_owned(),
        127 => "exit code 127: a command in it was not found".to_owned(),
        129..=192 => format!("exit code {code}: {} in it", signal_words(code - 128)),
        _ => format!("exit code {code}"),
    }
}

/// A signal by the name that it has on every Unix; the others differ, and keep their number.
fn signal_words(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP, its terminal was closed",
        2 => "SIGINT, Ctrl-C",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

/// agy's termination reasons, in words (agy-format §6.4).
fn reason_words(reason: i32) -> &'static str {
    match reason {
        1 => "error",
        2 => "canceled by its person",
        3 => "most model calls reached",
        4 => "answer complete",
        6 => "most forced calls reached",
        7 => "continued early",
        8 => "last step of its kind",
        9 => "ended by a hook",
        10 => "answer injected",
        _ => "reason not known",
    }
}

/// The same from a Stop hook, which names them in words of its own.
fn stop_words(reason: &str) -> String {
    let number = match reason {
        "ERROR" => 1,
        "USER_CANCELED" => 2,
        "MAX_INVOCATIONS" | "MAX_STEPS_EXCEEDED" => 3,
        "NO_TOOL_CALL" | "MODEL_STOP" => 4,
        "MAX_FORCED_INVOCATIONS" => 6,
        "EARLY_CONTINUE" => 7,
        "TERMINAL_STEP_TYPE" => 8,
        "TERMINAL_CUSTOM_HOOK" => 9,
        "INJECTED_RESPONSE" => 10,
        "" | "UNSPECIFIED" => 0,
        other => return other.to_ascii_lowercase().replace('_', " "),
    };
    reason_words(number).to_owned()
}

/// A fact with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub fact: Fact,
    /// The fact's own time; `None` where agy gave it none.
    pub at: Option<Time>,
}

/// Why a session or a lane is in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    pub decided: Evidence,
    /// Facts that were known too and lost against it, strongest first.
    pub beat: Vec<Evidence>,
}
