//! The builder of finished conversations: turns, calls and tools one after the other, with times that pass by themselves.

use std::fs;

use anyhow::Result;
use rusqlite::config::DbConfig;

use crate::call::{Call, Outcome};
use crate::clock::At;
use crate::home::{Home, Layout};
use crate::recording::Recording;
use crate::rng::Rng;
use crate::step::{Content, kind, status};
use crate::trajectory::{SubagentSpec, reason};
use crate::usage::Tokens;
use crate::{schema, sidecars, sys, transcript, writer};

/// How a turn ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TurnEnd {
    /// An execution row with reason NO_TOOL_CALL.
    #[default]
    Done,
    /// An error step and no execution row.
    ApiError(u32, String),
    /// The last planner step INTERRUPTED, and no execution row.
    Esc,
    /// Nothing: agy died or is still at it.
    Open,
}

/// One turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    prompt: String,
    calls: Vec<Call>,
    end: TurnEnd,
    gap_ms: u64,
}

impl Turn {
    /// A turn that this text starts.
    pub fn prompt(text: &str) -> Self {
        Self { prompt: text.to_owned(), calls: Vec::new(), end: TurnEnd::Done, gap_ms: 45_000 }
    }

    /// The next call of the turn.
    pub fn call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Ends so instead of with an execution row.
    pub fn end(mut self, end: TurnEnd) -> Self {
        self.end = end;
        self
    }

    /// Begins so long after the turn before (45 s otherwise).
    pub fn after_ms(mut self, ms: u64) -> Self {
        self.gap_ms = ms;
        self
    }
}

/// How the writer left the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// Everything in the `.db`, neither `-wal` nor `-shm`.
    #[default]
    Closed,
    /// The last turn's rows are in the `-wal` only, and `-shm` is there: as with a running agy.
    WalLeft,
    /// The same with `-shm` gone: agy died and somebody cleaned up.
    Died,
}

#[derive(Debug, Clone)]
enum Op {
    Turn(Turn),
    Rewind(usize),
    Compaction(Tokens),
}

/// A conversation to be written.
#[derive(Debug, Clone)]
pub struct Conversation {
    recording: Recording,
    at: At,
    ops: Vec<Op>,
    title: Option<String>,
    title_tokens: Option<Tokens>,
    annotation: bool,
    transcript: bool,
    ending: Ending,
    spawn_step: u32,
}

impl Conversation {
    /// An empty conversation of agy 1.2 that began on 2026-06-28 at 09:54:31, without a workspace.
    pub fn new(id: &str) -> Self {
        Self::go_on(Recording::new(id, Layout::V1_2, At::unix(1_782_640_471)))
    }

    /// Goes on from a recording: a fork, a sub-agent, or a conversation that was written before. The next turn begins
    /// after its last step.
    pub fn go_on(recording: Recording) -> Self {
        let last = recording.steps.iter().filter_map(|step| step.completed).max();
        Self {
            at: last.unwrap_or(recording.blob.created).max(recording.blob.created),
            title: recording.title.clone(),
            recording,
            ops: Vec::new(),
            title_tokens: None,
            annotation: true,
            transcript: true,
            ending: Ending::Closed,
            spawn_step: 0,
        }
    }

    /// A sub-agent of `parent`, spawned by its step `spawn_step`.
    pub fn subagent_of(parent: &Recording, id: &str, at: At, spawn_step: u32, spec: SubagentSpec) -> Self {
        Self { spawn_step, ..Self::go_on(parent.child(id, at, spec)) }
    }

    /// Which version writes it.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.recording.layout = layout;
        self
    }

    /// A workspace folder (absolute, not encoded); the first one is the session's.
    pub fn cwd(mut self, path: &str) -> Self {
        self.recording.blob.workspaces.push(path.to_owned());
        self
    }

    /// When it began.
    pub fn at(mut self, at: At) -> Self {
        self.recording.blob.created = at;
        self.at = at;
        self
    }

    /// agy's title. In 1.0.x it comes from a title call after turn one; both versions keep it in `annotations/`.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        if self.recording.layout == Layout::V1_0 && self.title_tokens.is_none() {
            self.title_tokens =
                Some(Tokens { input: 46, output: 5, cache_read: 0, cache_write: 0, thinking: 0 });
        }
        self
    }

    /// Makes the title call cost this, in any layout; `None` for no call.
    pub fn title_tokens(mut self, tokens: Option<Tokens>) -> Self {
        self.title_tokens = tokens;
        self
    }

    /// Leaves out `annotations/<id>.pbtxt`. Without a title call either, no title is left, and the name is the prompt.
    pub fn no_annotation(mut self) -> Self {
        self.annotation = false;
        self
    }

    /// Leaves out the transcripts.
    pub fn no_transcript(mut self) -> Self {
        self.transcript = false;
        self
    }

    /// The model that prompts name; the first call's otherwise.
    pub fn model(mut self, model: u32) -> Self {
        self.recording.model = model;
        self
    }

    /// Gives the newest generator row the messages only, not the tool definitions: 44 KB instead of 114.
    pub fn light_prompt(mut self) -> Self {
        self.recording.full_prompt = false;
        self
    }

    /// How the writer left the files.
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// The next turn.
    pub fn turn(mut self, turn: Turn) -> Self {
        self.ops.push(Op::Turn(turn));
        self
    }

    /// `/rewind` to before turn `turn` (0-based).
    pub fn rewind(mut self, turn: usize) -> Self {
        self.ops.push(Op::Rewind(turn));
        self
    }

    /// A compaction by the background model.
    pub fn compaction(mut self, tokens: Tokens) -> Self {
        self.ops.push(Op::Compaction(tokens));
        self
    }

    /// Plays everything into rows, without touching the disk.
    pub fn record(self) -> Result<Recording> {
        Ok(self.play()?.0)
    }

    fn play(self) -> Result<(Recording, At)> {
        let mut recording = self.recording;
        let mut at = self.at;
        let mut first = recording.steps.is_empty();
        for op in self.ops {
            match op {
                Op::Turn(turn) => {
                    at = play_turn(&mut recording, at, &turn, first, |recording, at| {
                        let Some(title) = &self.title else { return Ok(at) };
                        let Some(tokens) = self.title_tokens else { return Ok(at) };
                        recording.title_call(at, 734, title, tokens)?;
                        Ok(at.plus_ms(740))
                    })?;
                    first = false;
                }
                Op::Rewind(turn) => {
                    let step = turn_start(&recording, turn);
                    recording.rewind(step)?;
                    at = at.plus_ms(6000);
                }
                Op::Compaction(tokens) => {
                    recording.compaction(at, 2100, "The person asked for a change and got it.", tokens)?;
                    at = at.plus_ms(2200);
                }
            }
        }
        if self.annotation || recording.title.is_some() {
            recording.title = self.title;
        }
        Ok((recording, at))
    }

    /// Plays everything and writes database, transcripts, title and the rest. Gives back the rows, which know the right
    /// answer ([`Recording::session`]) and can be forked.
    pub fn write(self, home: &Home) -> Result<Recording> {
        let (ending, annotation, with_transcript) = (self.ending, self.annotation, self.transcript);
        let spawn_step = self.spawn_step;
        let (recording, end) = self.play()?;
        write_database(home, &recording, ending)?;
        if with_transcript {
            transcript::write(home, &recording)?;
            sys::set_mtime(&home.transcript(&recording.id), end)?;
            sys::set_mtime(&home.transcript_full(&recording.id), end)?;
        }
        if let (true, Some(title)) = (annotation, &recording.title) {
            sidecars::write_annotation(home, &recording.id, title)?;
        }
        if recording.forked_from.is_some() {
            fs::write(home.pb(&recording.id), Rng::named(&recording.id).bytes(4096))?;
        }
        sidecars::write_subagent_link(home, &recording, spawn_step)?;
        if recording.layout == Layout::V1_2 {
            // Lock files survive the exit; a file alone says nothing.
            fs::write(home.presence(&recording.id), "")?;
        }
        for path in [home.db(&recording.id), home.wal(&recording.id), home.shm(&recording.id)] {
            if path.exists() {
                sys::set_mtime(&path, end)?;
            }
        }
        Ok(recording)
    }
}

/// Index of the step that starts turn `turn` (0-based).
pub(crate) fn turn_start(recording: &Recording, turn: usize) -> u32 {
    recording
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.kind == kind::USER_INPUT)
        .nth(turn)
        .map_or(recording.next_step(), |(idx, _)| idx as u32)
}

fn play_turn(
    recording: &mut Recording,
    start: At,
    turn: &Turn,
    first: bool,
    title: impl Fn(&mut Recording, At) -> Result<At>,
) -> Result<At> {
    let mut at = if first { start } else { start.plus_ms(turn.gap_ms as i64) };
    if let Some(call) = turn.calls.first() {
        recording.model = call.model;
    }
    recording.prompt(at, &turn.prompt)?;
    at = at.plus_us(42_000);
    for call in &turn.calls {
        let step = recording.begin_call(at, call.model)?;
        at = at.plus_ms(call.ms as i64);
        recording.end_call(step, at, call)?;
        at = play_tools(recording, at.plus_us(5100), step, call)?;
    }
    match &turn.end {
        TurnEnd::Done => {
            if first {
                at = title(recording, at.plus_us(3100))?;
            }
            recording.end_execution(reason::NO_TOOL_CALL);
        }
        TurnEnd::ApiError(code, message) => {
            recording.api_error(at, *code, message)?;
        }
        TurnEnd::Esc => {
            let step = recording.begin_call(at, recording.model)?;
            at = at.plus_ms(900);
            recording.set_status(step, status::INTERRUPTED, at)?;
        }
        TurnEnd::Open => {}
    }
    Ok(at.plus_ms(5))
}

/// Tools of one call run in parallel and finish in reverse order, so that transcripts are out of order as real ones are.
fn play_tools(recording: &mut Recording, at: At, planner: u32, call: &Call) -> Result<At> {
    let asked = match &recording.step(planner)?.content {
        Content::Planner { tools, .. } => tools.clone(),
        _ => Vec::new(),
    };
    let mut open = Vec::new();
    let mut end = at;
    for (i, asked) in asked.into_iter().enumerate() {
        open.push(recording.tool(at.plus_us(170 * i as i64), asked, status::RUNNING)?);
    }
    for (idx, tool) in open.into_iter().zip(&call.tools).rev() {
        end = end.max(at.plus_ms(tool.ms as i64)).plus_us(90);
        let (to, denied) = match tool.outcome {
            Outcome::Ok => (status::DONE, false),
            Outcome::Failed => (status::ERROR, false),
            Outcome::Denied => (status::ERROR, true),
        };
        recording.end_tool(idx, end, to, &tool.result, denied)?;
    }
    Ok(end.plus_us(4000))
}

fn write_database(home: &Home, recording: &Recording, ending: Ending) -> Result<()> {
    if ending == Ending::Closed {
        return writer::write_closed(&home.db(&recording.id), recording);
    }
    // Checkpointed so far: all but the last turn. The rest goes into a `-wal` that no checkpoint follows.
    let conn = schema::open_live(&home.db(&recording.id))?;
    let turns = recording.steps.iter().filter(|step| step.kind == kind::USER_INPUT).count();
    let mut base = recording.clone();
    base.rewind_quietly(turn_start(recording, turns.saturating_sub(1)));
    base.dirty = writer::everything(&base);
    writer::flush(&conn, &mut base)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    let mut whole = recording.clone();
    whole.dirty = writer::everything(&whole);
    writer::flush(&conn, &mut whole)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema::close(conn)?;
    if ending == Ending::Died {
        fs::remove_file(home.shm(&recording.id))?;
    }
    Ok(())
}
