//! Who and where a session is.

use std::sync::Arc;

use crate::{Facts, Time};

/// An agent product. A second one is a new variant, and nothing outside its own crate may assume that there is only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    Antigravity,
    /// Any other command that AgentHub was told to run; it has no sessions.
    Command,
}

impl Tool {
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Antigravity => "antigravity",
            Tool::Command => "command",
        }
    }
}

/// A conversation's id: the UUID in its file's name, in lower case. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// `None` unless `s` is a hyphenated UUID; upper case is lowered.
    pub fn parse(s: &str) -> Option<SessionId> {
        let uuid = s.len() == 36
            && s.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            });
        uuid.then(|| SessionId(s.to_ascii_lowercase().into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the board needs to know of a session.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    pub tool: Tool,
    /// agy's title, else its first prompt; `None` before either exists.
    pub name: Option<String>,
    /// The workspace folder, as a path of this machine; `None` for a session without one.
    pub cwd: Option<String>,
    /// Set on sub-agents only.
    pub parent: Option<SessionId>,
    pub started_at: Option<Time>,
    pub facts: Facts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_a_uuid_in_lower_case() {
        let id = SessionId::parse("18EE78B4-4643-45db-85df-8abd89b51b1b").unwrap();
        assert_eq!(id.as_str(), "18ee78b4-4643-45db-85df-8abd89b51b1b");
        for bad in
            ["", "18ee78b4464345db85df8abd89b51b1b", "18ee78b4-4643-45db-85df-8abd89b51b1g", "notes", "é"]
        {
            assert_eq!(SessionId::parse(bad), None, "{bad}");
        }
    }
}
