//! A command that AgentHub itself started (`agenthub run`), and what is known of it. It decides when its lane begins and
//! ends (spec L5.1).
//!
//! What is known is joined as a session's facts are: commutative, associative, idempotent.

use std::sync::Arc;

use crate::{Evidence, Fact, Latest, Outcome, State, Time, Tool};

/// A run's id. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// `None` unless `s` is a short word of letters, digits and hyphens, in lower case: it is part of a file's name.
    pub fn parse(s: &str) -> Option<RunId> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (!s.is_empty() && s.len() <= 64 && s.bytes().all(plain)).then(|| RunId(s.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a run ended, as the process that waited for it saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunEnd {
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// The system refused to start it, with its reason.
    NotStarted(String),
}

/// What is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// When it began.
    pub started: Option<Time>,
    /// When it was last seen alive.
    pub lives: Option<Time>,
    /// When and how it ended.
    pub end: Latest<RunEnd>,
    /// When it was last found gone although nobody had told of its end.
    pub lost: Option<Time>,
}

impl RunFacts {
    #[must_use]
    pub fn joined(self, o: RunFacts) -> RunFacts {
        let started = match (self.started, o.started) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        RunFacts {
            started,
            lives: self.lives.max(o.lives),
            end: self.end.joined(o.end),
            lost: self.lost.max(o.lost),
        }
    }

    pub fn from_start(at: Time) -> RunFacts {
        RunFacts { started: Some(at), ..RunFacts::default() }
    }

    pub fn from_life(at: Time) -> RunFacts {
        RunFacts { lives: Some(at), ..RunFacts::default() }
    }

    pub fn from_end(at: Time, how: RunEnd) -> RunFacts {
        RunFacts { end: Latest::new(at, how), ..RunFacts::default() }
    }

    pub fn from_loss(at: Time) -> RunFacts {
        RunFacts { lost: Some(at), ..RunFacts::default() }
    }

    /// When the run was over; `None` while it lives. An end that was told is the end, whoever else thought so or not.
    pub fn over(&self) -> Option<Time> {
        self.end.at().or(self.lost.filter(|lost| Some(*lost) > self.lives))
    }

    /// The newest sign of it.
    pub(crate) fn activity(&self) -> Option<Time> {
        self.started.max(self.over())
    }
}

/// A run, as its lane shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    /// What its lane is called.
    pub name: String,
    /// The command's own name, without its folder and its arguments.
    pub program: String,
    pub tool: Tool,
    /// The folder that it was started in.
    pub cwd: Option<String>,
    pub facts: RunFacts,
}

/// The derived state of a run. No clock is needed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunVerdict {
    pub state: State,
    pub outcome: Outcome,
    pub since: Option<Time>,
    pub why: Evidence,
}

impl Run {
    /// Running while it lives; then idle if it ended with 0, else an error (L5.1). One whose end nobody saw did not end
    /// with 0 as far as anybody knows, and a person should look: an error as well.
    pub fn verdict(&self) -> RunVerdict {
        let command = self.program.clone();
        let over = self.facts.over();
        let (state, outcome, fact) = match (self.facts.end.get(), over) {
            (Some(RunEnd::Exited(0)), _) => {
                (State::Idle, Outcome::Finished, Fact::RunExited { command, code: 0 })
            }
            (Some(RunEnd::Exited(code)), _) => {
                (State::Error, Outcome::Failed, Fact::RunExited { command, code: *code })
            }
            (Some(RunEnd::Killed(signal)), _) => {
                (State::Error, Outcome::Failed, Fact::RunKilled { command, signal: *signal })
            }
            (Some(RunEnd::NotStarted(reason)), _) => {
                (State::Error, Outcome::Failed, Fact::RunNotStarted { command, reason: reason.clone() })
            }
            (None, Some(_)) => (State::Error, Outcome::Unfinished, Fact::RunLost { command }),
            (None, None) => (State::Running, Outcome::InProgress, Fact::RunLives { command }),
        };
        let since = over.or(self.facts.started);
        RunVerdict { state, outcome, since, why: Evidence { fact, at: since } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_a_plain_word() {
        assert_eq!(RunId::parse("18f2-0a").map(|r| r.to_string()).as_deref(), Some("18f2-0a"));
        for bad in ["", "../x", "A", "a b", "a.b", &"x".repeat(65)] {
            assert_eq!(RunId::parse(bad), None, "{bad}");
        }
    }
}
