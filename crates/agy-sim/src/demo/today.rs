//! The demo's lanes before it began: what their people had agy do in the last eight hours, played by a clock that is set
//! by hand. All of it has ended by the time that it is written.

use std::time::Duration;

use anyhow::{Context, Result};

use super::LANES;
use crate::clock::{At, Clock};
use crate::home::Home;
use crate::hooks::HookOptions;
use crate::live::{Live, LiveSpec, ToolEnd};
use crate::pools;
use crate::recording::Recording;
use crate::rng::Rng;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
/// How far back it goes: the widest of the spans that lanes are shown over.
const SPAN: u64 = 8 * 60 * MINUTE;
/// How long ago the newest turn ended at least: whatever was not written to for two minutes has settled.
const REST: u64 = 130 * SECOND;

/// One turn: when it began, and how many milliseconds it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Past {
    at: At,
    ms: u64,
}

/// Writes what each lane did before `now`. Gives back each lane's newest session, in the order of [`LANES`], for the demo
/// to go on in.
pub fn fill(home: &Home, seed: u64, now: At) -> Result<Vec<Recording>> {
    let mut rng = Rng::new(seed ^ 0x70da_7000);
    LANES.iter().enumerate().map(|(i, folder)| lane(home, Rng::new(rng.u64()), *folder, i, now)).collect()
}

fn lane(home: &Home, mut rng: Rng, folder: Option<&str>, number: usize, now: At) -> Result<Recording> {
    let mut newest = None;
    // Lanes differ in what they do more often, as in the demo itself.
    let mut turn = number;
    // A session without a folder is a lane of its own: one is enough.
    let most = if folder.is_some() { usize::MAX } else { 1 };
    for turns in sittings(&mut rng, now, most) {
        newest = Some(session(home, &mut rng, folder, &turns, &mut turn)?);
    }
    newest.context("a lane without a past")
}

/// When a person sat there and had agy do something: the turns of each session, oldest first. Made from now backwards, so
/// that every lane did something lately.
fn sittings(rng: &mut Rng, now: At, most: usize) -> Vec<Vec<Past>> {
    let back = |from: At, ms: u64| from.plus_ms(-(ms as i64));
    let begin = back(now, SPAN);
    let mut until = back(now, REST + rng.range(0..3 * MINUTE));
    let mut out = Vec::new();
    while out.len() < most {
        let mut turns = Vec::new();
        // The newest one has gone on for about an hour.
        let turns_of_it = if out.is_empty() { rng.range(6..9) } else { rng.range(2..5) };
        for _ in 0..turns_of_it {
            let long = rng.chance(30);
            let ms =
                if long { rng.range(5 * MINUTE..14 * MINUTE) } else { rng.range(50 * SECOND..5 * MINUTE) };
            let at = back(until, ms);
            if at < begin {
                break;
            }
            turns.push(Past { at, ms });
            until = back(at, rng.range(25 * SECOND..7 * MINUTE));
        }
        if turns.is_empty() {
            break;
        }
        turns.reverse();
        out.push(turns);
        until = back(until, rng.range(45 * MINUTE..160 * MINUTE));
    }
    out.reverse();
    out
}

fn session(
    home: &Home,
    rng: &mut Rng,
    folder: Option<&str>,
    turns: &[Past],
    number: &mut usize,
) -> Result<Recording> {
    let began = turns.first().context("a session without a turn")?.at;
    let mut spec = LiveSpec::new(&rng.uuid()).model(*rng.pick(super::MODELS)).clock(&Clock::manual(began));
    if let Some(folder) = folder {
        spec = spec.cwd(folder);
    }
    // What hooks would note of it now would be as of now.
    spec = spec.hooks(HookOptions { api_key: true, ..HookOptions::default() });
    let mut live = Live::start(home, spec)?;
    // One transaction a session is enough: nobody looks on.
    live.hold_writes();
    let topic = rng.range(0..pools::TITLES.len() as u64) as usize;
    for (i, past) in turns.iter().enumerate() {
        let prompt = if i == 0 { pools::PROMPTS.get(topic).copied() } else { None };
        // The error of a newest turn would stand on its lane until the next one.
        let may_fail = i + 1 < turns.len();
        let title = pools::TITLES.get(topic).copied().filter(|_| i == 0);
        let does =
            Does { waits: *number % 3 == 1, fails: may_fail && *number % 7 == 4, spawns: *number % 7 == 2 };
        let prompt = prompt.unwrap_or_else(|| rng.pick::<&str>(pools::PROMPTS));
        play(&mut live, rng, folder, *past, (prompt, title), does)?;
        *number += 1;
    }
    live.close()
}

#[derive(Debug, Clone, Copy)]
struct Does {
    waits: bool,
    fails: bool,
    spawns: bool,
}

/// What is left of a turn's time, and for how many things.
struct Left {
    clock: Clock,
    ms: u64,
    things: u64,
}

impl Left {
    /// One thing takes its share, more or less; the last one takes all that is left.
    fn pass(&mut self, rng: &mut Rng) {
        let ms = if self.things > 1 { self.ms / self.things * rng.range(40..160) / 100 } else { self.ms };
        self.ms -= ms.min(self.ms);
        self.things = self.things.saturating_sub(1);
        self.clock.advance(Duration::from_millis(ms));
    }
}

fn play(
    live: &mut Live,
    rng: &mut Rng,
    folder: Option<&str>,
    past: Past,
    (prompt, title): (&str, Option<&str>),
    does: Does,
) -> Result<()> {
    let calls = rng.range(2..5);
    let more = u64::from(does.waits) + 2 * u64::from(does.spawns);
    let mut left = Left { clock: live.clock().clone(), ms: past.ms, things: 2 * calls - 1 + more };
    left.clock.set(past.at);
    live.prompt(prompt)?;
    for i in 0..calls {
        live.call_begins()?;
        left.pass(rng);
        let mut call = live.plausible_call();
        if i + 1 == calls {
            if does.fails {
                live.api_error(429, "RESOURCE_EXHAUSTED: quota exceeded, try again in 40 s.")?;
                return Ok(());
            }
            live.call_ends(&call)?;
            break;
        }
        let tool = pools::tool(rng, folder);
        call.tools = vec![tool.clone()];
        live.call_ends(&call)?;
        if does.spawns && i == 0 {
            sub_agent(live, rng, &mut left)?;
        }
        if does.waits && i == 0 {
            live.tool_waits(&tool.name, tool.args)?;
            left.pass(rng);
            live.allow()?;
        } else {
            live.tool_begins(&tool.name, tool.args)?;
        }
        left.pass(rng);
        live.tool_ends(if rng.chance(6) { ToolEnd::fails() } else { ToolEnd::ok() })?;
    }
    if let Some(title) = title {
        live.title_call(title)?;
    }
    live.end_turn()
}

fn sub_agent(live: &mut Live, rng: &mut Rng, left: &mut Left) -> Result<()> {
    let mut child = live.subagent("Reader", "Look for callers and report")?;
    child.hold_writes();
    for _ in 0..2 {
        child.call_begins()?;
        left.pass(rng);
        let call = child.plausible_call();
        child.call_ends(&call)?;
    }
    child.end_turn()?;
    live.subagent_reports(child.id(), "Two callers, both in tests.")?;
    child.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_each_other_and_have_ended() {
        let now = At::unix(1_796_032_000);
        for seed in 0..200 {
            let sittings = sittings(&mut Rng::new(seed), now, usize::MAX);
            let turns: Vec<Past> = sittings.iter().flatten().copied().collect();
            assert!(turns.len() >= 2 && sittings.iter().all(|s| !s.is_empty()), "{seed}");
            let ends = turns.iter().map(|p| p.at.plus_ms(p.ms as i64));
            let begins = turns.iter().skip(1).map(|p| p.at).chain([now.plus_ms(-(REST as i64))]);
            assert!(ends.zip(begins).all(|(end, next)| end <= next), "{seed}: {turns:?}");
        }
    }
}
