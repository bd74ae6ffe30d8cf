//! One lane of the demo: a queue of things to do, each at its time. When it is empty the next turn is planned.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::call::ToolUse;
use crate::home::Home;
use crate::live::{Live, LiveSpec, ToolEnd};
use crate::pools;
use crate::recording::Recording;
use crate::rng::Rng;

/// Turns before a lane begins a new conversation.
const TURNS: u32 = 12;

#[derive(Debug)]
enum Act {
    Prompt,
    Begin,
    Stream,
    End(Vec<ToolUse>),
    Tool(ToolUse),
    Wait(ToolUse),
    Allow,
    Deny,
    ToolEnd(bool),
    Title,
    Error,
    EndTurn,
    Spawn,
    ChildCall,
    ChildEnd,
    Rest,
}

#[derive(Debug)]
pub(super) struct Lane {
    home: Home,
    rng: Rng,
    folder: Option<&'static str>,
    live: Option<Live>,
    child: Option<Live>,
    queue: VecDeque<(Instant, Act)>,
    turns: u32,
    /// agy has made a title for the conversation, or is about to.
    titled: bool,
    /// Lanes differ in what they do more often.
    number: usize,
}

impl Lane {
    /// `newest`: the conversation to go on in; otherwise a new one begins.
    pub(super) fn open(
        home: &Home,
        rng: Rng,
        folder: Option<&'static str>,
        number: usize,
        newest: Option<Recording>,
    ) -> Result<Self> {
        let mut lane = Self {
            home: home.clone(),
            rng,
            folder,
            live: None,
            child: None,
            queue: VecDeque::new(),
            turns: 0,
            titled: false,
            number,
        };
        match newest {
            Some(recording) => lane.go_on(recording)?,
            None => lane.renew()?,
        }
        // Not all at once; the first lanes are at work right away.
        lane.queue.push_back((Instant::now() + Duration::from_secs(3 * number as u64), Act::Rest));
        Ok(lane)
    }

    pub(super) fn close(self) -> Result<()> {
        for live in self.child.into_iter().chain(self.live) {
            live.close()?;
        }
        Ok(())
    }

    pub(super) fn next(&self) -> Instant {
        self.queue.front().map_or_else(Instant::now, |(at, _)| *at)
    }

    fn go_on(&mut self, recording: Recording) -> Result<()> {
        self.titled = recording.title.is_some();
        let spec = LiveSpec::new(&recording.id).model(recording.model);
        self.live = Some(Live::resume(&self.home, recording, spec)?);
        Ok(())
    }

    fn renew(&mut self) -> Result<()> {
        if let Some(live) = self.live.take() {
            live.close()?;
        }
        let mut spec = LiveSpec::new(&self.rng.uuid()).model(*self.rng.pick(super::MODELS));
        if let Some(folder) = self.folder {
            spec = spec.cwd(folder);
        }
        self.live = Some(Live::start(&self.home, spec)?);
        self.turns = 0;
        self.titled = false;
        Ok(())
    }

    /// Does what is due.
    pub(super) fn play(&mut self, now: Instant) -> Result<()> {
        while let Some((at, act)) = self.queue.pop_front() {
            if at > now {
                self.queue.push_front((at, act));
                return Ok(());
            }
            if let Err(error) = self.act(act) {
                // Hooks of the demo's home may abort a run; whatever else fails is ours.
                if !self.live.as_ref().is_some_and(Live::aborted) {
                    return Err(error);
                }
                while self.queue.front().is_some_and(|(_, act)| !matches!(act, Act::Rest)) {
                    self.queue.pop_front();
                }
            }
        }
        if self.turns >= TURNS {
            self.renew()?;
        }
        self.turns += 1;
        self.plan(now);
        Ok(())
    }

    fn act(&mut self, act: Act) -> Result<()> {
        let Some(live) = &mut self.live else { return Ok(()) };
        match act {
            Act::Prompt => drop(live.prompt(self.rng.pick::<&str>(pools::PROMPTS))?),
            Act::Begin => drop(live.call_begins()?),
            Act::Stream => live.call_streams(&format!("{} ", pools::prose(&mut self.rng, 1)))?,
            Act::End(tools) => {
                let mut call = live.plausible_call();
                call.tools = tools;
                live.call_ends(&call)?;
            }
            Act::Tool(tool) => drop(live.tool_begins(&tool.name, tool.args)?),
            Act::Wait(tool) => drop(live.tool_waits(&tool.name, tool.args)?),
            // A hook may have denied the tool, or asked for a permission that no plan has.
            Act::Allow | Act::Deny | Act::ToolEnd(_) if live.open_tools().is_empty() => {}
            Act::Allow => drop(live.allow()?),
            Act::Deny => drop(live.deny()?),
            Act::ToolEnd(ok) => drop(live.tool_ends(if ok { ToolEnd::ok() } else { ToolEnd::fails() })?),
            Act::Title => drop(live.title_call(self.rng.pick::<&str>(pools::TITLES))?),
            Act::Error => {
                live.api_error(429, "RESOURCE_EXHAUSTED: quota exceeded, try again in 40 s.")?;
            }
            Act::EndTurn => end_turn(live)?,
            // A hook may deny it.
            Act::Spawn => self.child = live.subagent("Reader", "Look for callers and report").ok(),
            Act::ChildCall => {
                if let Some(child) = &mut self.child
                    && !child.aborted()
                {
                    let called = child.call();
                    anyhow::ensure!(called.is_ok() || child.aborted(), "a sub-agent's call failed");
                }
            }
            Act::ChildEnd => {
                if let Some(mut child) = self.child.take() {
                    if !child.aborted() {
                        end_turn(&mut child)?;
                    }
                    live.subagent_reports(child.id(), "Two callers, both in tests.")?;
                    child.close()?;
                }
            }
            Act::Rest => {}
        }
        Ok(())
    }

    /// Plans one turn from `now` on.
    fn plan(&mut self, now: Instant) {
        let mut at = now;
        let mut queue = VecDeque::new();
        let mut then = |ms: u64, act: Act| {
            at += Duration::from_millis(ms);
            queue.push_back((at, act));
        };
        let rng = &mut self.rng;
        then(0, Act::Prompt);
        let calls = rng.range(3..9);
        // Each lane waits, fails and spawns at its own rhythm, so that a minute shows each of them.
        let turn = self.turns as usize + self.number;
        let (waits, fails, spawns) = (turn % 3 == 1, turn % 11 == 4, turn % 4 == 2);
        for i in 0..calls {
            then(80, Act::Begin);
            for _ in 0..rng.range(2..7) {
                then(rng.range(300..1200), Act::Stream);
            }
            if i + 1 == calls {
                break;
            }
            let tool = pools::tool(rng, self.folder);
            then(400, Act::End(vec![tool.clone()]));
            if waits && i == 1 {
                then(60, Act::Wait(tool));
                // About twenty seconds until the person comes.
                let allowed = rng.chance(80);
                then(rng.range(15_000..25_000), if allowed { Act::Allow } else { Act::Deny });
                if !allowed {
                    continue;
                }
            } else {
                then(60, Act::Tool(tool));
            }
            then(rng.range(400..6_000), Act::ToolEnd(!rng.chance(6)));
            if spawns && i == 0 {
                then(100, Act::Spawn);
                for _ in 0..3 {
                    then(rng.range(2_000..5_000), Act::ChildCall);
                }
                then(800, Act::ChildEnd);
            }
        }
        if fails {
            then(900, Act::Error);
        } else {
            then(500, Act::End(Vec::new()));
            if !self.titled {
                self.titled = true;
                then(700, Act::Title);
            }
            then(20, Act::EndTurn);
        }
        then(rng.range(6_000..45_000), Act::Rest);
        self.queue = queue;
    }
}

/// The end of a turn, with the turns that Stop hooks force.
fn end_turn(live: &mut Live) -> Result<()> {
    live.end_turn()?;
    while live.goes_on() {
        live.call()?;
        live.end_turn()?;
    }
    Ok(())
}
