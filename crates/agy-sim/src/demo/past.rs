//! The past of the demo: some sixty sessions over fourteen days.

use anyhow::Result;
use serde_json::json;

use crate::call::{Call, Quirk, ToolUse};
use crate::clock::At;
use crate::conversation::{Conversation, Turn};
use crate::home::{Home, Layout};
use crate::pools;
use crate::recording::Recording;
use crate::rng::Rng;
use crate::sidecars;
use crate::trajectory::SubagentSpec;
use crate::usage::Tokens;

const SESSIONS: i64 = 60;
/// 1411 stands for a model that no price list knows.
const MODELS: &[u32] = &[1318, 1318, 1298, 1016, 1026, 1035, 342, 1411];

/// Writes the past that ends at `now`. Gives back the sessions, oldest first.
pub fn fill(home: &Home, seed: u64, now: At) -> Result<Vec<Recording>> {
    let mut rng = Rng::new(seed);
    let mut out: Vec<Recording> = Vec::new();
    for i in 0..SESSIONS {
        // Working hours, roughly: the gaps between sessions are uneven.
        let back_s = (SESSIONS - i) * 14 * 86_400 / SESSIONS + rng.range(0..9_000) as i64;
        let at = now.plus_ms(-1000 * back_s - 3_600_000);
        let folder = (i % 11 != 7).then(|| *rng.pick(pools::FOLDERS));
        let recording = session(&mut rng, at, folder, i)?.write(home)?;
        if i % 9 == 4 {
            out.push(child(&mut rng, &recording)?.write(home)?);
        }
        if i % 17 == 12 {
            let id = rng.uuid();
            let fork = recording.fork(&id, at.plus_ms(5_400_000), None);
            let turn =
                Turn::prompt("Try the other way here").after_ms(4_000_000).call(call(&mut rng, 1318, 20_000));
            out.push(Conversation::go_on(fork).turn(turn).write(home)?);
        }
        let folder = recording.blob.workspaces.first().map(String::as_str);
        sidecars::append_history(home, at, recording.first_prompt().unwrap_or_default(), folder, None)?;
        if i % 6 == 0 {
            sidecars::write_log(home, at, "1.2.13", &recording.id)?;
        }
        out.push(recording);
    }
    sidecars::write_summaries(home, out.iter().step_by(3))?;
    Ok(out)
}

fn call(rng: &mut Rng, model: u32, prompt: u64) -> Call {
    Call::model(model)
        .with(Tokens::random(rng, prompt))
        .text(&pools::prose(rng, 2))
        .thinking(&pools::prose(rng, 2))
        .ms(rng.range(1_200..16_000))
}

fn session(rng: &mut Rng, at: At, folder: Option<&str>, i: i64) -> Result<Conversation> {
    let id = rng.uuid();
    let layout = if i < 12 { Layout::V1_0 } else { Layout::V1_2 };
    let model = *rng.pick(MODELS);
    let mut out = Conversation::new(&id).layout(layout).at(at).model(model);
    if let Some(folder) = folder {
        out = out.cwd(folder);
    }
    let topic = rng.range(0..pools::TITLES.len() as u64) as usize;
    let title = pools::TITLES.get(topic).copied().unwrap_or_default();
    let prompt = pools::PROMPTS.get(topic).copied().unwrap_or_default();
    out = out.title(title);
    let mut size = rng.range(9_000..16_000);
    for turn in 0..rng.range(1..6) {
        let text = if turn == 0 { prompt } else { *rng.pick(pools::PROMPTS) };
        let mut played = Turn::prompt(text).after_ms(rng.range(20_000..600_000));
        let calls = rng.range(2..9);
        for n in 0..calls {
            size = (size + rng.range(300..4_000)).min(190_000);
            let mut next = call(rng, model, size);
            if n + 1 < calls {
                next = next.tool_use(pools::tool(rng, folder));
            }
            if i == 25 && n == 1 {
                next = next.quirk(Quirk::GarbageGen);
            }
            if i == 44 && n == 0 {
                next = next.quirk(Quirk::Mismatch);
            }
            if i % 13 == 6 && n == 0 {
                next = next.failed_attempt(Tokens::random(rng, size));
            }
            played = played.call(next);
        }
        if i % 9 == 4 && turn == 0 {
            played = played.call(spawn(call(rng, model, size))).call(call(rng, model, size));
        }
        out = out.turn(played);
    }
    Ok(out)
}

fn spawn(call: Call) -> Call {
    let args =
        json!({"Subagents": [{"TypeName": "research", "Role": "Reader", "Prompt": "Look for callers"}]});
    call.tool_use(ToolUse::new("invoke_subagent", args).result("Created the following subagents:"))
}

fn child(rng: &mut Rng, parent: &Recording) -> Result<Conversation> {
    let spec = SubagentSpec {
        type_name: "research".to_owned(),
        role: "Reader".to_owned(),
        prompt: "Look for callers and report".to_owned(),
    };
    let id = rng.uuid();
    let is_spawn = |step: &crate::step::Step| step.tool().is_some_and(|tool| tool.name == "invoke_subagent");
    let spawn = parent.steps.iter().position(is_spawn).unwrap_or(0);
    let at = parent.steps.get(spawn).map_or(parent.blob.created, |step| step.created);
    let turn = Turn::prompt(&spec.prompt).call(call(rng, 1318, 12_000)).call(call(rng, 1318, 14_000));
    Ok(Conversation::subagent_of(parent, &id, at, spawn as u32, spec).turn(turn))
}
