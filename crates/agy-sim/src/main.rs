//! The program `agy-sim`: writes worlds, plays a conversation by commands, or keeps a demo home lively.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc;

use agy_sim::play::Player;
use agy_sim::{At, Clock, Home, HookEnvironment, HookOptions, Layout, LiveSpec, Rng, WorldSpec, demo};
use anyhow::Result;
use clap::{Parser, Subcommand};

/// A simulated Antigravity CLI.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Writes finished conversations and prints the right answers about them as JSON.
    World {
        /// The folder that stands for `~/.gemini`.
        #[arg(long)]
        home: PathBuf,
        #[arg(long, default_value_t = 30)]
        conversations: usize,
        #[arg(long, default_value_t = 300)]
        calls: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Adds every known difficulty.
        #[arg(long)]
        traps: bool,
        /// Transcripts: yes or no; by default for 200 conversations or fewer.
        #[arg(long)]
        transcripts: Option<bool>,
    },
    /// Plays one conversation: a command per line of stdin, an answer per line on stdout.
    Play {
        /// The folder that stands for `~/.gemini`.
        #[arg(long)]
        home: PathBuf,
        #[arg(long)]
        cwd: Option<String>,
        /// UUID; a random one otherwise.
        #[arg(long)]
        id: Option<String>,
        #[arg(long, default_value_t = 1016)]
        model: u32,
        /// `1.0` or `1.2`.
        #[arg(long, default_value = "1.2")]
        layout: String,
        /// No presence lock.
        #[arg(long)]
        no_presence: bool,
        /// A clock that stands at this many seconds since 1970; `advance MS` moves it.
        #[arg(long)]
        clock: Option<i64>,
        /// Goes on after a past of this many calls.
        #[arg(long, default_value_t = 0)]
        past_calls: usize,
        #[command(flatten)]
        hooks: HookArgs,
    },
    /// Fills a home with a past, prints `ready`, and keeps six lanes lively until stdin (a pipe) or the parent ends.
    Demo {
        /// The folder that stands for `~/.gemini`.
        #[arg(long)]
        home: PathBuf,
        #[arg(long, default_value_t = 7)]
        seed: u64,
    },
}

/// How hooks are run.
#[derive(Debug, clap::Args)]
struct HookArgs {
    /// Hooks get `HOME` and `ANTIGRAVITY_CONVERSATION_ID` only, as under `env -i`.
    #[arg(long)]
    empty_env: bool,
    /// Of several named hooks on `PostToolUse` only one fires.
    #[arg(long)]
    one_post_tool_use: bool,
    /// `Stop` never fires.
    #[arg(long)]
    lose_stops: bool,
    /// Signed in by API key: no hook runs.
    #[arg(long)]
    api_key: bool,
}

impl From<HookArgs> for HookOptions {
    fn from(args: HookArgs) -> Self {
        let HookArgs { empty_env, one_post_tool_use, lose_stops, api_key } = args;
        let environment = if empty_env { HookEnvironment::Empty } else { HookEnvironment::Inherited };
        Self { environment, env: Vec::new(), one_post_tool_use, lose_stops, api_key }
    }
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::World { home, conversations, calls, seed, traps, transcripts } => {
            let spec = WorldSpec::new(conversations, calls);
            let transcripts = transcripts.unwrap_or(spec.transcripts);
            let truth =
                agy_sim::build(&Home::create(home)?, &WorldSpec { seed, traps, transcripts, ..spec })?;
            let mut out = io::stdout().lock();
            serde_json::to_writer_pretty(&mut out, &truth)?;
            writeln!(out)?;
            Ok(())
        }
        Command::Play { home, cwd, id, model, layout, no_presence, clock, past_calls, hooks } => {
            let spec = LiveSpec {
                cwd,
                model,
                presence: !no_presence,
                hooks: hooks.into(),
                layout: match layout.as_str() {
                    "1.0" => Layout::V1_0,
                    "1.2" => Layout::V1_2,
                    other => anyhow::bail!("no layout {other}: 1.0 or 1.2"),
                },
                clock: clock.map_or_else(Clock::system, |seconds| Clock::manual(At::unix(seconds))),
                ..LiveSpec::new(&id.unwrap_or_else(random_id))
            };
            play(Player::start(&Home::create(home)?, spec, past_calls)?)
        }
        Command::Demo { home, seed } => {
            let home = Home::create(home)?;
            // A second start in the same home goes on with the past that is there.
            let mut newest = Vec::new();
            if std::fs::read_dir(home.conversations())?.next().is_none() {
                demo::fill_past(&home, seed, At::now())?;
                newest = demo::fill_today(&home, seed, At::now())?;
            }
            say("ready")?;
            let (sender, end) = mpsc::channel();
            watch_stdin(sender);
            let parent = parent_id();
            // Seeded by time, so that a second start does not find its ids taken.
            demo::run(&home, At::now().as_micros() as u64, newest, &end, || parent_id() == parent)
        }
    }
}

fn play(mut player: Player) -> Result<()> {
    say(&format!("ok {}", player.current()))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line == "quit" {
            player.close()?;
            return say("ok");
        }
        match player.command(&line) {
            Ok(value) => say(format!("ok {value}").trim_end())?,
            Err(error) => say(&format!("err {error:#}").replace('\n', " "))?,
        }
    }
    player.close()
}

fn say(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

fn random_id() -> String {
    Rng::new(At::now().as_micros() as u64 ^ u64::from(std::process::id()) << 40).uuid()
}

/// Sends when stdin ends. Only a pipe is watched: a stdin that is `/dev/null` has ended before it began.
fn watch_stdin(sender: mpsc::Sender<()>) {
    std::thread::spawn(move || {
        if !stdin_is_pipe() {
            // Keeps the sender, so that the receiver does not take its end for ours.
            loop {
                std::thread::park();
            }
        }
        for line in io::stdin().lock().lines() {
            if line.is_err() {
                break;
            }
        }
        // The receiver is gone only when the demo has ended.
        let _ = sender.send(());
    });
}

#[cfg(unix)]
fn stdin_is_pipe() -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata("/dev/stdin").is_ok_and(|m| m.file_type().is_fifo() || m.file_type().is_socket())
}

#[cfg(not(unix))]
fn stdin_is_pipe() -> bool {
    !io::IsTerminal::is_terminal(&io::stdin())
}

#[cfg(unix)]
fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent_id() -> u32 {
    0
}
