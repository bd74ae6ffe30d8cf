//! The right answers about a home, as data: what a reader must say of each conversation and of all together.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::clock::At;
use crate::recording::{CallFact, Recording};
use crate::step::{Content, status};
use crate::usage::Tokens;

/// Calls and tokens of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ModelTotals {
    /// Calls whose tokens are known.
    pub calls: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// What is right about one conversation. Tokens and calls are those that it *owns*: calls that a fork copied count for
/// the origin. Turns, tool calls and warnings are those of the rows in its own file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Session {
    /// UUID.
    pub id: String,
    /// agy's title, else the first line of the first prompt, at most 80 characters.
    pub name: String,
    /// First workspace folder, decoded.
    pub cwd: Option<String>,
    /// Conversation whose sub-agent this is.
    pub parent: Option<String>,
    /// Conversation that this one was forked from.
    pub forked_from: Option<String>,
    /// The blob's `created_at`, microseconds since 1970.
    pub started_at_us: i64,
    /// Prompts that agy took up.
    pub turns: u64,
    /// Tool steps, failed and denied ones included.
    pub tool_calls: u64,
    /// Model of the newest generator row that has usage.
    pub model: Option<u32>,
    /// Per model number.
    pub models: BTreeMap<u32, ModelTotals>,
    /// Sum over `models`.
    pub tokens: Tokens,
    /// Calls without a usage message; not in `models`.
    pub calls_without_usage: u64,
    /// `undecodable_row`, `usage_mismatch` and how often.
    pub warnings: BTreeMap<String, u64>,
}

/// A file that a reader must list with a code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Name in `conversations/`.
    pub file: String,
    /// One of the spec's codes.
    pub code: String,
}

/// Sums over all conversations; each call once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Conversations.
    pub sessions: u64,
    /// Calls whose tokens are known.
    pub calls: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// The same per model.
    pub models: BTreeMap<u32, ModelTotals>,
    /// Calls without a usage message.
    pub calls_without_usage: u64,
    /// Rows of `steps` and `gen_metadata` in all files.
    pub rows: u64,
}

/// The right answer about a home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// By id.
    pub sessions: BTreeMap<String, Session>,
    /// Sums.
    pub totals: Totals,
    /// Files that are no conversation, sorted.
    pub problems: Vec<Problem>,
}

/// What one conversation brings into the sum, before it is known which of its calls are its own.
#[derive(Debug, Clone)]
pub struct Account {
    session: Session,
    calls: Vec<CallFact>,
    created: At,
    rows: u64,
}

impl Recording {
    /// Text of the first prompt.
    pub fn first_prompt(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| match &step.content {
            Content::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The answer for this file alone, as if no other held the same calls.
    pub fn session(&self) -> Session {
        let truth = Truth::of(vec![self.account()], Vec::new());
        truth.sessions.into_values().next().unwrap_or_else(|| self.account().session)
    }

    /// What goes into [`Truth::of`].
    pub fn account(&self) -> Account {
        let title = self.title.as_deref().or_else(|| self.first_prompt()).unwrap_or_default();
        let mut warnings = BTreeMap::new();
        for warning in &self.warnings {
            *warnings.entry(warning.code.to_owned()).or_default() += 1;
        }
        let taken_up = |status: u32| status != status::QUEUED;
        let session = Session {
            id: self.id.clone(),
            name: title.lines().next().unwrap_or_default().chars().take(80).collect(),
            cwd: self.blob.workspaces.first().or(self.folder_elsewhere.as_ref()).cloned(),
            parent: self.blob.parent.clone(),
            forked_from: self.forked_from.clone(),
            started_at_us: self.blob.created.as_micros(),
            turns: self
                .steps
                .iter()
                .filter(|s| matches!(s.content, Content::User { .. }) && taken_up(s.status))
                .count() as u64,
            tool_calls: self.steps.iter().filter(|s| s.tool().is_some()).count() as u64,
            model: self.gens.iter().rev().find(|g| g.usage.is_some() && !g.garbage).map(|g| g.model),
            models: BTreeMap::new(),
            tokens: Tokens::default(),
            calls_without_usage: 0,
            warnings,
        };
        Account {
            session,
            calls: self.calls.clone(),
            created: self.blob.created,
            rows: (self.steps.len() + self.gens.len()) as u64,
        }
    }
}

impl Truth {
    /// Gives every call to one conversation: a fork comes after its origin, then the earlier `created_at`, then the id.
    pub fn of(accounts: Vec<Account>, mut problems: Vec<Problem>) -> Self {
        let origins: HashMap<&str, Option<&str>> =
            accounts.iter().map(|a| (a.session.id.as_str(), a.session.forked_from.as_deref())).collect();
        let depth = |id: &str| {
            let mut depth = 0_u32;
            let mut at = id;
            // A chain longer than the number of conversations would be a ring.
            while let Some(Some(origin)) = origins.get(at) {
                depth += 1;
                at = origin;
                if depth as usize > origins.len() {
                    break;
                }
            }
            depth
        };
        let mut order: Vec<usize> = (0..accounts.len()).collect();
        order.sort_by_cached_key(|i| {
            accounts.get(*i).map(|a| (depth(&a.session.id), a.created, a.session.id.clone()))
        });
        let mut owned = std::collections::HashSet::new();
        let mut truth = Truth::default();
        for account in order.iter().filter_map(|i| accounts.get(*i)) {
            let mut session = account.session.clone();
            for call in account.calls.iter().filter(|call| owned.insert(call.uid.as_str())) {
                let Some(tokens) = call.tokens else {
                    session.calls_without_usage += 1;
                    continue;
                };
                let model = session.models.entry(call.model).or_default();
                model.calls += 1;
                model.tokens.add(tokens);
                session.tokens.add(tokens);
            }
            truth.totals.add(&session, account.rows);
            truth.sessions.insert(session.id.clone(), session);
        }
        problems.sort();
        truth.problems = problems;
        truth
    }
}

impl Totals {
    fn add(&mut self, session: &Session, rows: u64) {
        self.sessions += 1;
        self.rows += rows;
        self.calls_without_usage += session.calls_without_usage;
        self.tokens.add(session.tokens);
        for (model, totals) in &session.models {
            self.calls += totals.calls;
            let sum = self.models.entry(*model).or_default();
            sum.calls += totals.calls;
            sum.tokens.add(totals.tokens);
        }
    }
}
