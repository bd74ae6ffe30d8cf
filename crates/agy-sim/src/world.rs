//! Worlds: homes with any number of finished conversations, and the right answers about them.

use anyhow::Result;

use crate::call::Call;
use crate::clock::At;
use crate::conversation::{Conversation, Turn};
use crate::home::{Home, Layout};
use crate::pools;
use crate::recording::Recording;
use crate::rng::Rng;
use crate::truth::{Account, Truth};
use crate::usage::Tokens;
use crate::{sidecars, traps};

/// What a world holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldSpec {
    /// Ordinary conversations. Traps come on top.
    pub conversations: usize,
    /// Their calls in all, title calls included; at least one per conversation.
    pub calls: usize,
    /// Same seed, same bytes.
    pub seed: u64,
    /// Adds one conversation or file per known difficulty.
    pub traps: bool,
    /// Writes transcripts too; off by default beyond 200 conversations, where they would double the size.
    pub transcripts: bool,
}

impl WorldSpec {
    /// A world without traps.
    pub fn new(conversations: usize, calls: usize) -> Self {
        Self { conversations, calls, seed: 1, traps: false, transcripts: conversations <= 200 }
    }

    /// The same with traps.
    pub fn with_traps(self) -> Self {
        Self { traps: true, ..self }
    }

    /// The same from another seed.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

/// Where a world's time ends: 2026-11-30 in the morning, UTC.
pub const WORLD_END: At = At::unix(1_796_032_000);

const DAY_S: i64 = 86_400;
const MODELS: &[u32] = &[1016, 1298, 1298, 1318, 1318, 1132, 1026, 1035, 342];

/// Writes the world and says what is right about it.
pub fn build(home: &Home, spec: &WorldSpec) -> Result<Truth> {
    let mut rng = Rng::new(spec.seed);
    let shares = shares(&mut rng, spec.conversations, spec.calls);
    let mut accounts: Vec<Account> = Vec::with_capacity(spec.conversations);
    let mut newest = std::collections::BTreeMap::new();
    for (i, calls) in shares.into_iter().enumerate() {
        let back = 60 * DAY_S * (spec.conversations - i) as i64 / spec.conversations.max(1) as i64;
        let at = At::micros(WORLD_END.as_micros() - back * 1_000_000).plus_ms(-3_600_000);
        let recording = ordinary(&mut rng, at, calls, spec.transcripts).write(home)?;
        if let Some(folder) = recording.blob.workspaces.first() {
            newest.insert(folder.clone(), recording.id.clone());
        }
        if i % 25 == 0 {
            write_traces(home, &recording)?;
        }
        accounts.push(recording.account());
    }
    sidecars::write_last_conversations(home, newest.iter().map(|(k, v)| (k.as_str(), v.as_str())))?;
    let mut problems = Vec::new();
    if spec.traps {
        let planted = traps::plant(home, &mut rng)?;
        accounts.extend(planted.accounts);
        problems = planted.problems;
    }
    Ok(Truth::of(accounts, problems))
}

fn write_traces(home: &Home, recording: &Recording) -> Result<()> {
    let folder = recording.blob.workspaces.first().map(String::as_str);
    let created = recording.blob.created;
    sidecars::append_history(home, created, recording.first_prompt().unwrap_or_default(), folder, None)?;
    let version = if recording.layout == Layout::V1_0 { "1.0.10" } else { "1.2.13" };
    sidecars::write_log(home, created, version, &recording.id)
}

/// Calls per conversation: most are short, a few are very long, as with real people.
fn shares(rng: &mut Rng, conversations: usize, calls: usize) -> Vec<usize> {
    let weights: Vec<u64> = (0..conversations)
        .map(|_| {
            let short = rng.range(1..40);
            if rng.chance(6) { short * 12 } else { short }
        })
        .collect();
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    let spare = calls.saturating_sub(conversations) as u64;
    let mut out: Vec<usize> = weights.iter().map(|w| 1 + (spare * w / sum) as usize).collect();
    // What rounding took is less than one call per conversation.
    let missing = calls.max(conversations).saturating_sub(out.iter().sum());
    for share in out.iter_mut().take(missing) {
        *share += 1;
    }
    out
}

/// One plausible conversation with exactly `calls` calls, the title call included.
fn ordinary(rng: &mut Rng, at: At, calls: usize, transcripts: bool) -> Conversation {
    let id = rng.uuid();
    let layout = if rng.chance(40) { Layout::V1_0 } else { Layout::V1_2 };
    let model = *rng.pick(MODELS);
    let folder = (!rng.chance(6)).then(|| *rng.pick(pools::FOLDERS));
    let mut out = Conversation::new(&id).layout(layout).at(at).model(model);
    if let Some(folder) = folder {
        out = out.cwd(folder);
    }
    // A mixture, so that a world's size per row is that of a real home.
    if rng.chance(78) {
        out = out.light_prompt();
    }
    let mut left = calls;
    if layout == Layout::V1_0 && calls > 1 {
        let tokens = Tokens { input: rng.range(40..90), output: rng.range(4..9), ..Tokens::default() };
        out = out.title(rng.pick::<&str>(pools::TITLES)).title_tokens(Some(tokens));
        left -= 1;
    } else if rng.chance(60) {
        out = out.title(rng.pick::<&str>(pools::TITLES)).title_tokens(None);
    }
    if !transcripts {
        out = out.no_transcript();
    }
    let mut prompt = rng.range(9_000..14_000);
    while left > 0 {
        let length = (rng.range(1..11) as usize).min(left);
        left -= length;
        let mut turn = Turn::prompt(rng.pick::<&str>(pools::PROMPTS)).after_ms(rng.range(4_000..900_000));
        for i in 0..length {
            let sentences = rng.range(1..3);
            let mut call = Call::model(model)
                .with(Tokens::random(rng, prompt))
                .text(&pools::prose(rng, sentences))
                .thinking(&pools::prose(rng, 2))
                .ms(rng.range(900..14_000));
            prompt = if prompt > 180_000 { 20_000 } else { prompt + rng.range(200..2_400) };
            // Some calls go on without a tool: a hook or a queued reminder made the model continue.
            if i + 1 < length && !rng.chance(24) {
                for _ in 0..if rng.chance(4) { 2 } else { 1 } {
                    call = call.tool_use(pools::tool(rng, folder));
                }
            }
            turn = turn.call(call);
        }
        out = out.turn(turn);
    }
    out
}
