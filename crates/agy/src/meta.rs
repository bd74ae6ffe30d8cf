//! Who and where a session is: its name, its folder, its origin (spec S6, S11).

use agenthub_core::{SessionId, Time};
use rusqlite::Connection;

use crate::{
    ForkRef, Home, Index, Meta,
    cursor::Cursor,
    rows::{self, Head},
    tally::{GenTally, Newest, StepTally},
    text, transcript,
    wire::{self, Payload, Reference, StepDetail, Trajectory},
};

/// `trajectory_meta.source` of a sub-agent.
const SOURCE_SUBAGENT: i64 = 16;
/// `parent_references` kinds: agy writes a PRUNE at a rewind, the others when it copies rows.
pub(crate) const REFERENCE_PRUNE: i32 = 1;

/// References to other conversations and to own pasts, newest first, and how many don't decode.
pub(crate) fn references(db: &Connection, exist: bool) -> rusqlite::Result<(Vec<Reference>, u64)> {
    let (mut references, mut bad) = (Vec::new(), 0);
    if !exist {
        return Ok((references, bad));
    }
    // One per rewind or fork. The newest ones are enough to know an origin.
    let mut all = db.prepare("SELECT data FROM parent_references ORDER BY idx DESC LIMIT 1000")?;
    let mut rows = all.query([])?;
    while let Some(r) = rows.next()? {
        match wire::decode::<Reference>(rows::blob(r, 0)?.unwrap_or_default()) {
            Ok(reference) => references.push(reference),
            Err(_) => bad += 1,
        }
    }
    Ok((references, bad))
}

/// The conversation whose sub-agent `id` is.
pub(crate) fn parent(id: &SessionId, source: i64, blob: Option<&Trajectory>) -> Option<SessionId> {
    let b = blob?;
    let named = wire::session_id(&b.parent_conversation_id);
    // A sub-agent whose file does not name its parent belongs to the conversation at the root.
    let root = || wire::session_id(&b.root_conversation_id);
    let parent = named.or_else(|| if source == SOURCE_SUBAGENT { root() } else { None });
    parent.filter(|p| p != id)
}

/// Where names and folders are looked for.
pub(crate) struct Places<'a> {
    pub(crate) home: &'a Home,
    pub(crate) index: &'a Index,
    pub(crate) id: &'a SessionId,
    pub(crate) db: &'a Connection,
    pub(crate) steps: &'a StepTally,
}

impl Places<'_> {
    /// What is found in single rows is kept in `cursor`, so that it is looked for once.
    pub(crate) fn meta(
        &self,
        head: Head,
        references: &[Reference],
        gens: &GenTally,
        cursor: &mut Cursor,
    ) -> rusqlite::Result<Meta> {
        let blob = head.about.as_ref().and_then(|b| b.as_ref().ok());
        let created_at = blob.and_then(|b| wire::time(b.created_at));
        let parent = parent(self.id, head.source, blob);
        let first = self.steps.first.and_then(|(_, at)| at).map(Time::from_micros);
        Ok(Meta {
            name: self.name(cursor)?,
            cwd: self.folder(blob, cursor)?,
            model: gens.newest.as_ref().map(Newest::model),
            is_subagent: parent.is_some() || head.source == SOURCE_SUBAGENT,
            parent,
            forked_from: self.forked_from(references, head.trajectory.as_deref())?,
            trajectory_id: head.trajectory,
            started_at: created_at.or(first).or_else(|| transcript::started_at(self.home, self.id)),
            created_at,
        })
    }

    fn name(&self, cursor: &mut Cursor) -> rusqlite::Result<Option<String>> {
        if let Some(title) = self.index.title(self.home, self.id).as_deref().and_then(text::name) {
            return Ok(Some(title));
        }
        cursor.title = match (self.steps.first_checkpoint, cursor.title.take()) {
            (Some(idx), Some(known)) if known.0 == idx => Some(known),
            (Some(idx), _) => self.title_call(idx)?.map(|title| (idx, title)),
            (None, _) => None,
        };
        if let Some((_, title)) = &cursor.title {
            return Ok(Some(title.clone()));
        }
        let first = self.steps.first_user;
        if cursor.prompt.as_ref().is_none_or(|(idx, _)| *idx != first) {
            let prompt = match transcript::first_prompt(self.home, self.id) {
                Some(p) => Some(p),
                None => self.first_prompt()?,
            };
            cursor.prompt = prompt.map(|p| (first, p));
        }
        Ok(cursor.prompt.as_ref().map(|(_, p)| p.clone()))
    }

    fn title_call(&self, idx: i64) -> rusqlite::Result<Option<String>> {
        let c = self.payload(idx)?.checkpoint.unwrap_or_default();
        // `user_intent` is a title only in a title call; in a compaction it is a summary.
        let intent: &[u8] = if c.intent_only { &c.user_intent } else { &[] };
        let title = [&c.conversation_title[..], intent].into_iter().find_map(wire::text);
        Ok(title.as_deref().and_then(text::name))
    }

    fn first_prompt(&self) -> rusqlite::Result<Option<String>> {
        let Some(idx) = self.steps.first_user else { return Ok(None) };
        Ok(self.payload(idx)?.user_input.and_then(|u| text::name(&prompt_text(&u)?)))
    }

    fn payload(&self, idx: i64) -> rusqlite::Result<Payload> {
        let bytes = rows::step_bytes(self.db, idx)?.map(|(_, p)| p).unwrap_or_default();
        Ok(wire::decode::<Payload>(bytes.as_slice()).unwrap_or_default())
    }

    fn folder(&self, blob: Option<&Trajectory>, cursor: &mut Cursor) -> rusqlite::Result<Option<String>> {
        let own = blob.into_iter().flat_map(|b| {
            let folders = b.workspaces.iter().map(|w| &w.folder_uri);
            folders.chain(&b.workspace_uris).chain(&b.mapped_workspace_uris)
        });
        let usable = |f: &String| !self.index.is_scratch(self.home, f);
        let own = own.filter_map(|uri| text::folder(&wire::text(uri)?)).find(usable);
        if let Some(f) = own.or_else(|| self.index.folder(self.home, self.id)) {
            return Ok(Some(f));
        }
        if cursor.command_cwd.is_none() {
            cursor.command_cwd = self.first_command_folder()?.filter(usable);
        }
        Ok(cursor.command_cwd.clone())
    }

    /// `Cwd` of the first command. Only the first tools are looked at, through agy's own index on types.
    fn first_command_folder(&self) -> rusqlite::Result<Option<String>> {
        let mut tools = self.db.prepare(
            "SELECT metadata, step_payload FROM steps WHERE step_type IN (21, 132) ORDER BY idx LIMIT 20",
        )?;
        let mut rows = tools.query([])?;
        while let Some(r) = rows.next()? {
            let meta = wire::decode::<StepDetail>(rows::blob(r, 0)?.unwrap_or_default()).unwrap_or_default();
            let call = meta.tool_call.unwrap_or_default();
            let args: Option<serde_json::Value> = serde_json::from_slice(&call.arguments).ok();
            let from_args = args.as_ref().and_then(|a| a.get("Cwd")).and_then(serde_json::Value::as_str);
            let found = from_args.and_then(text::folder).or_else(|| {
                let payload = wire::decode::<Payload>(rows::blob(r, 1).ok()??).ok()?;
                text::folder(&wire::text(&payload.run_command?.cwd)?)
            });
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The newest reference to another conversation. A rewind's names its own.
    fn forked_from(
        &self,
        references: &[Reference],
        trajectory: Option<&str>,
    ) -> rusqlite::Result<Option<ForkRef>> {
        for r in references.iter().filter(|r| r.reference_type != REFERENCE_PRUNE) {
            let other = wire::text(&r.trajectory_id);
            let conversation = match wire::session_id(&r.conversation_id) {
                Some(c) => Some(c),
                None => self.origin_of_step(r)?,
            };
            let is_own = match &conversation {
                Some(c) => c == self.id,
                None => other.is_none() || other.as_deref() == trajectory,
            };
            if !is_own {
                return Ok(Some(ForkRef { conversation, trajectory: other }));
            }
        }
        Ok(None)
    }

    /// 1.0.x names the trajectory of a fork's origin only. The copied step still says whose it was.
    fn origin_of_step(&self, r: &Reference) -> rusqlite::Result<Option<SessionId>> {
        let bytes = rows::step_bytes(self.db, i64::from(r.step_index))?;
        let detail = bytes.and_then(|(meta, _)| wire::decode::<StepDetail>(&meta).ok());
        let origin = detail.and_then(|d| d.origin).filter(|o| o.trajectory_id == r.trajectory_id);
        Ok(origin.and_then(|o| wire::session_id(&o.cascade_id)))
    }
}

/// The trajectory ids that the conversation had before its rewinds.
pub(crate) fn former_trajectories(references: &[Reference]) -> Vec<String> {
    let pruned = references.iter().filter(|r| r.reference_type == REFERENCE_PRUNE);
    pruned.filter_map(|r| wire::text(&r.trajectory_id)).collect()
}

/// A prompt's text, wherever this version of agy keeps it: 1.0.10 leaves `query` empty.
pub(crate) fn prompt_text(u: &wire::UserInput) -> Option<String> {
    let items = u.items.iter().map(|i| &i.text);
    [&u.response].into_iter().chain(items).chain([&u.query]).find_map(|b| wire::text(b))
}
