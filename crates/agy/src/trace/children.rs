//! Which conversations a turn's tools started (agy-format §7).

use agenthub_core::{SessionId, trace::SpanId};
use serde_json::Value;

use super::{Child, database::Row};
use crate::{
    Home, timeline,
    wire::{self, step_type},
};

/// Links that are read of one conversation, and bytes of each.
const MOST_LINKS: usize = 4_096;
const MOST_BYTES: u64 = 256 << 10;
/// Children that one result can name.
const MOST_NAMED: usize = 64;

/// `subagents/<child>.json`: which step started which conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) step: i64,
    pub(super) conversation: SessionId,
}

/// The links that agy keeps beside a conversation.
pub(super) fn linked(home: &Home, id: &SessionId) -> Vec<Link> {
    let folder = home.brain(id).join(".system_generated").join("subagents");
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut links: Vec<Link> = files
        .filter_map(|f| {
            let path = f.ok()?.path();
            let meta = std::fs::metadata(&path).ok()?;
            if !meta.is_file() || meta.len() > MOST_BYTES {
                return None;
            }
            let v: Value = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            let named = v.get("conversationId").and_then(Value::as_str);
            let conversation = SessionId::parse(named.or(path.file_stem()?.to_str())?)?;
            Some(Link { step: v.get("spawnStepIndex")?.as_i64()?, conversation })
        })
        .take(MOST_LINKS)
        .collect();
    links.sort_by(|a, b| (a.step, &a.conversation).cmp(&(b.step, &b.conversation)));
    links
}

/// The children of a turn's tools: those that a link names, those that a tool's own result names.
pub(super) fn of(own: &SessionId, tools: &[(&Row, SpanId)], linked: &[Link]) -> Vec<Child> {
    let mut out: Vec<Child> = Vec::new();
    for (row, tool) in tools.iter().filter(|(r, _)| timeline::is_subagent(&r.step, &r.detail)) {
        let of_step = linked.iter().filter(|l| l.step == row.step.idx).map(|l| l.conversation.clone());
        for conversation in of_step.chain(named(row)) {
            if conversation != *own && !out.iter().any(|c| c.conversation == conversation) {
                out.push(Child { tool: *tool, conversation });
            }
        }
    }
    out
}

/// Conversations in a tool's result. The text begins "Created the following subagents:" and goes on in JSON.
fn named(row: &Row) -> Vec<SessionId> {
    if let Some(s) =
        row.payload.subagents.as_ref().filter(|_| row.step.step_type == step_type::INVOKE_SUBAGENT)
    {
        let results = s.results.iter().map(|r| &r.conversation_id);
        return results
            .chain([&s.conversation_id])
            .filter_map(|b| wire::session_id(b))
            .take(MOST_NAMED)
            .collect();
    }
    let text =
        row.payload.generic.as_ref().and_then(|g| g.result.as_ref()).and_then(|r| wire::text(&r.result));
    named_in(&text.unwrap_or_default())
}

pub(super) fn named_in(text: &str) -> Vec<SessionId> {
    const KEY: &str = "\"conversationId\"";
    let after = text.match_indices(KEY).filter_map(|(at, _)| text.get(at + KEY.len()..));
    after
        .filter_map(|rest| {
            let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
            SessionId::parse(rest.get(..36)?)
        })
        .take(MOST_NAMED)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_a_result_names_its_children() {
        let (a, b) = ("18ee78b4-4643-45db-85df-8abd89b51b1b", "28ee78b4-4643-45db-85df-8abd89b51b1b");
        let text = format!(
            "Created the following subagents:\n[{{\"conversationId\":\"{a}\"}}, {{ \"conversationId\" : \"{b}\" }}]\n\"conversationId\":\"no\""
        );
        let ids: Vec<String> = named_in(&text).iter().map(ToString::to_string).collect();
        assert_eq!(ids, [a, b]);
        assert!(named_in("\"conversationId\":\"é").is_empty());
    }
}
