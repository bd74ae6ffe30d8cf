//! The verbs of [`Live`] as lines of text, for the program `agy-sim play`: one command per line, one answer per line.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::call::Call;
use crate::live::{Esc, Live, LiveSpec, ToolEnd};
use crate::usage::Tokens;
use crate::{Conversation, Home, Turn};

/// Conversations that are played by commands. One of them is current: the one that commands are about.
#[derive(Debug)]
pub struct Player {
    lives: BTreeMap<String, Live>,
    current: String,
}

impl Player {
    /// Starts a conversation, or one that goes on after `past_calls` calls that were made and closed before.
    pub fn start(home: &Home, spec: LiveSpec, past_calls: usize) -> Result<Self> {
        let current = spec.id.clone();
        let live = if past_calls == 0 { Live::start(home, spec)? } else { resume(home, spec, past_calls)? };
        Ok(Self { lives: BTreeMap::from([(current.clone(), live)]), current })
    }

    /// The conversation that commands are about.
    pub fn current(&self) -> &str {
        &self.current
    }

    fn live(&mut self) -> Result<&mut Live> {
        self.lives.get_mut(&self.current).with_context(|| format!("{} is closed", self.current))
    }

    /// Runs one line; README.md lists them. Gives back what the answer says after `ok`: mostly a step's index.
    pub fn command(&mut self, line: &str) -> Result<String> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let step = match verb {
            "prompt" => self.live()?.prompt(rest)?,
            "queue" => self.live()?.queue_prompt(rest)?,
            "take-up" => self.live()?.take_up_queued()?,
            "begin" if rest.is_empty() => self.live()?.call_begins()?,
            "begin" => self.live()?.call_begins_with(rest.parse()?)?,
            "end" => self.end(rest)?,
            "call" => self.live()?.call()?,
            "tool" => {
                let (name, args) = tool(rest)?;
                self.live()?.tool_begins(&name, args)?
            }
            "wait" => {
                let (name, args) = tool(rest)?;
                self.live()?.tool_waits(&name, args)?
            }
            "allow" => self.live()?.allow()?,
            "deny" => self.live()?.deny()?,
            "tool-end" => self.tool_end(rest)?,
            "api-error" => {
                let (code, text) = rest.split_once(' ').context("api-error CODE TEXT")?;
                self.live()?.api_error(code.parse()?, text)?
            }
            "refuse" => {
                let (name, args) = tool(rest)?;
                self.live()?.headless_refusal(&name, args)?
            }
            "title" => self.live()?.title_call(rest)?,
            "wake" => self.live()?.wakes(rest)?,
            "compact" => self.live()?.checkpoint_compaction(rest)?,
            "report" => {
                let (child, text) = rest.split_once(' ').context("report CHILD TEXT")?;
                self.live()?.subagent_reports(child, text)?
            }
            _ => return self.other(verb, rest),
        };
        Ok(step.to_string())
    }

    /// The commands whose answer is no step.
    fn other(&mut self, verb: &str, rest: &str) -> Result<String> {
        match verb {
            "stream" => self.live()?.call_streams(rest)?,
            "hold" => self.live()?.hold_writes(),
            "flush" => self.live()?.flush()?,
            "end-turn" | "end-turn-late" => {
                let live = self.live()?;
                match (verb, rest) {
                    ("end-turn-late", _) => live.end_turn_late()?,
                    (_, "") => live.end_turn()?,
                    _ => live.end_turn_with(rest.parse()?)?,
                }
                return Ok(if live.goes_on() { "goes-on".to_owned() } else { String::new() });
            }
            "lose-stop" => self.live()?.lose_next_stop(),
            "hooks" => return Ok(serde_json::to_string(&self.live()?.hooks().runs())?),
            "hooks-file" => return Ok(serde_json::to_string(self.live()?.hooks().file())?),
            "esc" => {
                let how = match rest {
                    "" | "interrupted" => Esc::Interrupted,
                    "canceled" => Esc::Canceled,
                    "stop-reason" => Esc::StopReason,
                    _ => bail!("esc canceled|interrupted|stop-reason"),
                };
                self.live()?.esc(how)?;
            }
            "rewind" => self.live()?.rewind(rest.parse()?)?,
            "fork" => {
                let fork = self.live()?.fork()?;
                return Ok(self.add(fork));
            }
            "subagent" => {
                let (role, prompt) = rest.split_once('|').context("subagent ROLE|PROMPT")?;
                let child = self.live()?.subagent(role.trim(), prompt.trim())?;
                return Ok(self.add(child));
            }
            "use" => {
                anyhow::ensure!(self.lives.contains_key(rest), "no conversation {rest}");
                rest.clone_into(&mut self.current);
            }
            "release-lock" => self.live()?.release_lock(),
            "advance" => self.live()?.clock().advance(Duration::from_millis(rest.parse()?)),
            "session" => return Ok(serde_json::to_string(&self.live()?.session())?),
            "close" => {
                let id = if rest.is_empty() { self.current.as_str() } else { rest };
                self.lives.remove(id).with_context(|| format!("no conversation {id}"))?.close()?;
            }
            _ => bail!("unknown command `{verb}`"),
        }
        Ok(String::new())
    }

    fn add(&mut self, live: Live) -> String {
        let id = live.id().to_owned();
        self.lives.insert(id.clone(), live);
        id
    }

    /// `end [INPUT OUTPUT CACHE_READ THINKING] [tool NAME JSON]…`, the tools separated by ` + `.
    fn end(&mut self, rest: &str) -> Result<u32> {
        let mut call = self.live()?.plausible_call();
        for part in rest.split(" + ").map(str::trim).filter(|part| !part.is_empty()) {
            call = if let Some(asked) = part.strip_prefix("tool ") {
                let (name, args) = tool(asked)?;
                call.tool(&name, args)
            } else if let Some(failed) = part.strip_prefix("retry ") {
                call.failed_attempt(tokens(failed)?)
            } else {
                call.with(tokens(part)?)
            };
        }
        self.live()?.call_ends(&call)
    }

    fn tool_end(&mut self, rest: &str) -> Result<u32> {
        let (how, step) = rest.split_once(' ').unwrap_or((rest, ""));
        let end = match how {
            "" | "ok" => ToolEnd::ok(),
            "fails" => ToolEnd::fails(),
            _ => bail!("tool-end ok|fails [STEP]"),
        };
        if step.is_empty() {
            return self.live()?.tool_ends(end);
        }
        let step = step.parse()?;
        self.live()?.tool_step_ends(step, end)?;
        Ok(step)
    }

    /// Closes every conversation cleanly.
    pub fn close(self) -> Result<()> {
        for live in self.lives.into_values() {
            live.close()?;
        }
        Ok(())
    }
}

fn resume(home: &Home, spec: LiveSpec, past_calls: usize) -> Result<Live> {
    let now = spec.clock.now();
    // The past ends before now: five seconds a call, with room to spare.
    let mut past =
        Conversation::new(&spec.id).layout(spec.layout).at(now.plus_ms(-20_000 * past_calls as i64));
    if let Some(cwd) = &spec.cwd {
        past = past.cwd(cwd);
    }
    let mut left = past_calls;
    while left > 0 {
        let calls = left.min(20);
        left -= calls;
        let mut turn = Turn::prompt("An earlier turn").after_ms(1000);
        for i in 0..calls as u64 {
            turn = turn.call(Call::model(spec.model).tokens(900 + i, 400 + i, 20_000 + i, 150 + i));
        }
        past = past.turn(turn);
    }
    Live::resume(home, past.write(home)?, spec)
}

fn tool(text: &str) -> Result<(String, Value)> {
    let (name, args) = text.split_once(' ').unwrap_or((text, ""));
    anyhow::ensure!(!name.is_empty(), "a tool needs a name");
    let args = if args.is_empty() { serde_json::json!({}) } else { serde_json::from_str(args)? };
    Ok((name.to_owned(), args))
}

fn tokens(text: &str) -> Result<Tokens> {
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    match numbers.as_slice() {
        [input, output, cache_read, thinking] => Ok(Tokens {
            input: *input,
            output: *output,
            cache_read: *cache_read,
            cache_write: 0,
            thinking: *thinking,
        }),
        _ => bail!("four numbers: INPUT OUTPUT CACHE_READ THINKING"),
    }
}
