//! The timeline from the transcript: whole seconds, no tokens, no waits. For databases that can't be read.

use std::collections::{BTreeMap, VecDeque};

use super::{EntryKind, EntryState, MOST_ENTRIES, MOST_TEXT, Timeline, TimelineEntry};
use crate::{
    text,
    transcript::{Record, ToolUse, Transcript},
};

/// Tells the records in the order of their steps.
pub(super) fn tell(t: &Transcript) -> Timeline {
    let mut teller = Teller::default();
    for r in t.ordered() {
        teller.record(r);
    }
    let mut entries = teller.entries;
    let excess = entries.len().saturating_sub(MOST_ENTRIES);
    entries.drain(..excess);
    Timeline {
        entries,
        warnings: BTreeMap::new(),
        truncated: t.truncated || excess > 0,
        from_transcript: true,
    }
}

#[derive(Default)]
struct Teller {
    turn: u32,
    entries: Vec<TimelineEntry>,
    /// What the newest planner asked for and has not got yet: results come in that order.
    asked: VecDeque<ToolUse>,
}

impl Teller {
    fn record(&mut self, r: &Record) {
        match r.kind.as_str() {
            "USER_INPUT" => {
                self.turn = self.turn.saturating_add(1);
                self.asked.clear();
                let text = r.content.as_deref().map(|c| cut(text::unwrapped(c).trim()));
                self.push(EntryKind::Prompt, r, None, text, None);
            }
            "PLANNER_RESPONSE" => {
                self.asked = r.tool_calls.iter().cloned().collect();
                self.push(EntryKind::Call, r, None, r.content.as_deref().map(cut), None);
            }
            "ERROR_MESSAGE" => {
                let text = r.error.as_deref().or(r.content.as_deref()).map(cut);
                self.push(EntryKind::Error, r, None, text, None);
            }
            // A checkpoint's text claims a compaction even for a title call, and the rest is agy talking to itself.
            "CHECKPOINT" | "CONVERSATION_HISTORY" | "EPHEMERAL_MESSAGE" | "SYSTEM_MESSAGE" | "" => {}
            kind => {
                let call = self.asked.pop_front();
                let name = match &call {
                    Some(c) => c.name.clone(),
                    None => kind.to_ascii_lowercase(),
                };
                let entry = if name == "invoke_subagent" { EntryKind::Subagent } else { EntryKind::Tool };
                let args = call.map(|c| c.args.to_string());
                let argument = args.as_ref().and_then(|a| text::arguments_line(a.as_bytes(), MOST_TEXT));
                self.push(entry, r, Some(name), r.error.as_deref().map(cut), args.map(|a| cut(&a)));
                if let Some(e) = self.entries.last_mut() {
                    e.argument = argument;
                }
            }
        }
    }

    fn push(
        &mut self,
        kind: EntryKind,
        r: &Record,
        name: Option<String>,
        text: Option<String>,
        args: Option<String>,
    ) {
        let state = match (kind, r.status.as_str()) {
            (EntryKind::Error, _) | (_, "ERROR") => EntryState::Failed,
            (_, "RUNNING" | "PENDING" | "GENERATING") => EntryState::Running,
            (_, "CANCELED" | "INTERRUPTED") => EntryState::Canceled,
            _ => EntryState::Done,
        };
        self.entries.push(TimelineEntry {
            at: r.created_at,
            approximate: r.created_at.is_some(),
            name,
            state,
            text,
            args,
            ..TimelineEntry::new(kind, self.turn, Some(r.step_index))
        });
    }
}

fn cut(s: &str) -> String {
    text::cut(s, MOST_TEXT)
}
