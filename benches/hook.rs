//! What a hook costs agy (B4): `agenthub-hook` beside an empty Rust program, and the whole chain that agy waits for, with
//! the app running and without; and the tracing hook, whose backend is away (R4). Each as a ratio within this run; `cargo xtask bench -- b4` runs it alone.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

const ROUNDS: usize = 400;
const BODY: usize = 2_000;
/// Each leaves a child behind, which works on for a while.
const TRACED: usize = 100;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.iter().any(|a| a.starts_with('b')) && !args.iter().any(|a| a == "b4") {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let empty = empty_program(dir.path())?;
    // Beside `agenthub`, where its installer finds it.
    let hook = agy_sim::built("agenthub-hook", "agenthub-hook")?;
    let world = World { dir: dir.path().to_owned() };
    // Nothing is installed where agy has never been.
    std::fs::create_dir_all(dir.path().join(".gemini/antigravity-cli/conversations"))?;
    ensure!(world.agenthub(&["hooks", "install"]).output()?.status.success(), "the hooks are installed");
    world.measure("without the app", &empty, &hook)?;
    world.measure_tracing(&empty)?;
    let mut app = world.app()?;
    let measured = world.measure("with the app running", &empty, &hook);
    app.kill()?;
    app.wait()?;
    measured
}

#[expect(clippy::print_stdout, reason = "a bench is for reading")]
fn say(line: &str) {
    println!("{line}");
}

struct World {
    dir: PathBuf,
}

impl World {
    fn agenthub(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_agenthub"));
        c.args(args);
        for (flag, folder) in
            [("--gemini-dir", ".gemini"), ("--data-dir", "data"), ("--config-dir", "config")]
        {
            c.arg(flag).arg(self.dir.join(folder));
        }
        c
    }

    /// A whole engine, its receiver included, that has looked once.
    fn app(&self) -> Result<Child> {
        let mut app = self.agenthub(&["watch"]).stdout(Stdio::piped()).spawn()?;
        let out = app.stdout.take().context("its output")?;
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
        Ok(app)
    }

    fn measure(&self, when: &str, empty: &Path, hook: &Path) -> Result<()> {
        let at = |name: &str| self.dir.join("data/hooks").join(name);
        let forwarder = self.dir.join(".gemini/config/agenthub-hook.sh");
        let body = format!("{{\"conversationId\":\"x\",\"note\":\"{}\"}}", "x".repeat(BODY));
        let mut times = [const { Vec::new() }; 3];
        // One after the other, so that what else the machine does meets them all.
        for _ in 0..ROUNDS {
            let mut alone = Command::new(hook);
            alone.arg("--journal").arg(at("journal")).arg("--doorbell").arg(at("doorbell"));
            alone.arg("--dropped").arg(at("dropped")).arg("Stop");
            let mut chain = Command::new("sh");
            chain.arg("-c").arg(format!("'{}' Stop", forwarder.display()));
            for (command, times) in [Command::new(empty), alone, chain].iter_mut().zip(&mut times) {
                times.push(once(command, body.as_bytes())?);
            }
        }
        let journal = std::fs::read_dir(self.dir.join("data/hooks"))?.flatten();
        let written: u64 = journal.filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum();
        ensure!(written > 0, "the events are in the journal");
        let [mut empty, mut hook, mut chain] = times;
        let (floor, ours, whole) = (figures(&mut empty), figures(&mut hook), figures(&mut chain));
        say(&format!(
            "B4  {when}: agenthub-hook {} ms; empty Rust program {} ms; ratio {:.2} (at most 2); median / p95 of {ROUNDS}",
            shown(ours),
            shown(floor),
            ours.0.as_secs_f64() / floor.0.as_secs_f64()
        ));
        say(&format!("B4  {when}: what agy waits for, `sh -c` + forwarder + hook: {} ms", shown(whole)));
        Ok(())
    }
}

impl World {
    /// From the start to the exit with its pipes closed, as agy waits: `sh -c`, the forwarder, `agenthub trace hook`, which
    /// puts the event on disk and leaves a child behind.
    fn measure_tracing(&self, empty: &Path) -> Result<()> {
        let nowhere = ["trace", "install", "--endpoint", "http://127.0.0.1:9"];
        ensure!(self.agenthub(&nowhere).output()?.status.success(), "the tracing hook is installed");
        let transcript = self.dir.join(".gemini/antigravity-cli/brain/x/t.jsonl");
        let body = format!(
            "{{\"conversationId\":\"18ee78b4-4643-45db-85df-8abd89b51b1b\",\"transcriptPath\":{transcript:?},\"note\":\"{}\"}}",
            "x".repeat(BODY)
        );
        let forwarder = self.dir.join(".gemini/config/agenthub-tracing.sh");
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..TRACED {
            let mut chain = Command::new("sh");
            chain.arg("-c").arg(format!("'{}' Stop", forwarder.display())).env_clear();
            for (command, times) in [Command::new(empty), chain].iter_mut().zip(&mut times) {
                times.push(piped(command, body.as_bytes())?);
            }
        }
        let [mut empty, mut chain] = times;
        let (floor, whole) = (figures(&mut empty), figures(&mut chain));
        say(&format!(
            "B4  tracing, the backend away: what agy waits for, `sh -c` + forwarder + hook: {} ms (p95 at most 20); empty \
             Rust program {} ms; ratio {:.2} (at most 10); median / p95 of {TRACED}",
            shown(whole),
            shown(floor),
            whole.0.as_secs_f64() / floor.0.as_secs_f64()
        ));
        ensure!(
            self.agenthub(&["trace", "uninstall", "--purge"]).output()?.status.success(),
            "it goes again"
        );
        Ok(())
    }
}

/// As [`once`], to the end of its output: a child that held the pipe would hold up agy.
fn piped(command: &mut Command, body: &[u8]) -> Result<Duration> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn()?;
    let _ = child.stdin.take().context("its input")?.write_all(body);
    let out = child.wait_with_output()?;
    let took = started.elapsed();
    ensure!(out.status.success(), "{command:?} failed");
    Ok(took)
}

/// From the start to the exit, with the event handed over by a pipe, as agy does.
fn once(command: &mut Command, body: &[u8]) -> Result<Duration> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn()?;
    // The empty program may have ended before it is asked to read.
    let _ = child.stdin.take().context("its input")?.write_all(body);
    let status = child.wait()?;
    let took = started.elapsed();
    ensure!(status.success(), "{command:?} failed");
    Ok(took)
}

/// Median and 95th percentile.
fn figures(all: &mut [Duration]) -> (Duration, Duration) {
    all.sort_unstable();
    let at = |percent: usize| all.get(all.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(95))
}

fn shown((median, p95): (Duration, Duration)) -> String {
    let ms = |d: Duration| d.as_secs_f64() * 1_000.0;
    format!("{:.2} / {:.2}", ms(median), ms(p95))
}

/// A Rust program that does nothing, compiled as ours is.
fn empty_program(dir: &Path) -> Result<PathBuf> {
    let (source, program) = (dir.join("empty.rs"), dir.join("empty"));
    std::fs::write(&source, "fn main() {}\n")?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let flags = ["--edition", "2024", "-C", "opt-level=3", "-C", "strip=symbols", "-o"];
    let status = Command::new(rustc).args(flags).arg(&program).arg(&source).status()?;
    ensure!(status.success(), "rustc compiles an empty program");
    Ok(program)
}
