//! What the product promises about its speed (B1, B2, B3), each as a ratio to its floor or its peer in the same run.
//!
//! `cargo xtask bench` prints all of it. `cargo xtask bench -- b2` runs one; `-- b1 --whole-peer` lets the peer read the
//! whole world, too: its time grows with the square of the calls.

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agenthub_core::{SessionId, Time};
use agenthub_engine::{Config, Host};
use agy_sim::{Call, Conversation, Home, Live, LiveSpec, Truth, Turn, WorldSpec, build};
use anyhow::{Context, Result, ensure};

const CONVERSATIONS: usize = 2_000;
const CALLS: usize = 55_000;
/// How many conversations the peer reads by default.
const PEER_CONVERSATIONS: usize = 300;
const ROUNDS: usize = 5;
/// The peer is stopped when it has taken so many times as long as ours: on the whole world it takes half an hour.
const ENOUGH: u32 = 400;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let wanted = |name: &str| !args.iter().any(|a| a.starts_with('b')) || args.iter().any(|a| a == name);
    if wanted("b1") || wanted("b2") {
        let dir = tempfile::tempdir()?;
        let home = Home::create(dir.path().join(".gemini"))?;
        let spec = WorldSpec { transcripts: false, ..WorldSpec::new(CONVERSATIONS, CALLS) };
        let truth = build(&home, &spec)?;
        let bytes: u64 = files(&home)?.iter().map(|f| std::fs::metadata(f).map_or(0, |m| m.len())).sum();
        say(&format!("world: {CONVERSATIONS} conversations, {CALLS} calls, {} MB", bytes / 1_000_000));
        if wanted("b1") {
            first_scan(&home, &truth)?;
            let whole = args.iter().any(|a| a == "--whole-peer");
            peer(if whole { CONVERSATIONS } else { PEER_CONVERSATIONS })?;
        }
        if wanted("b2") {
            unchanged_pass(&home)?;
        }
    }
    if wanted("b3") {
        one_more_call()?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a bench is for reading")]
fn say(line: &str) {
    println!("{line}");
}

fn files(home: &Home) -> Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(home.conversations())?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    all.retain(|p| p.extension().is_some_and(|e| e == "db"));
    all.sort();
    Ok(all)
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1_000.0
}

/// B1: the first scan, stored, beside SQLite's bare read of the same columns on one thread.
fn first_scan(home: &Home, truth: &Truth) -> Result<()> {
    let paths = files(home)?;
    // Once for the page cache: both sides are measured warm.
    bare_read(&paths)?;
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        bare_read(&paths)?;
        bare.push(started.elapsed());
        ours.push(scan(home, truth.totals.tokens.total())?);
    }
    let (bare, ours) = (median(bare), median(ours));
    say(&format!(
        "B1  first scan, stored {:.0} ms; bare read, one thread {:.0} ms; ratio {:.2} (at most 2)",
        ms(ours),
        ms(bare),
        ours.as_secs_f64() / bare.as_secs_f64()
    ));
    Ok(())
}

fn bare_read(paths: &[PathBuf]) -> Result<u64> {
    let mut bytes = 0;
    for path in paths {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY
            | rusqlite::OpenFlags::SQLITE_OPEN_URI
            | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn =
            rusqlite::Connection::open_with_flags(format!("file:{}?immutable=1", path.display()), flags)?;
        let mut steps = conn.prepare("SELECT idx, step_type, status, metadata FROM steps")?;
        let mut rows = steps.query([])?;
        while let Some(r) = rows.next()? {
            let (_, _, _): (i64, i64, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
            bytes += r.get_ref(3)?.as_blob_or_null()?.map_or(0, <[u8]>::len) as u64;
        }
        for table in ["gen_metadata", "executor_metadata", "trajectory_metadata_blob"] {
            let mut stmt = conn.prepare(&format!("SELECT data FROM {table}"))?;
            let mut rows = stmt.query([])?;
            while let Some(r) = rows.next()? {
                bytes += r.get_ref(0)?.as_blob_or_null()?.map_or(0, <[u8]>::len) as u64;
            }
        }
    }
    Ok(bytes)
}

/// A whole engine on an empty data folder, from its start to the published end of the first scan.
fn scan(home: &Home, right: u64) -> Result<Duration> {
    let ours = tempfile::tempdir()?;
    let config = Config {
        gemini_dir: home.root().to_owned(),
        data_dir: ours.path().join("data"),
        config_dir: ours.path().join("config"),
        poll_ms: 15_000,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let started = Instant::now();
    let host = Host::start(config).map_err(|e| anyhow::anyhow!(e.message))?;
    let mut told = host.watch();
    runtime.block_on(told.wait_for(|s| s.board.revision > 0 && s.board.scan.is_none()))?;
    let took = started.elapsed();
    let doc = host.all_sessions().map_err(|e| anyhow::anyhow!(e.message))?;
    ensure!(doc.totals.tokens.total == right, "counted {} tokens, right is {right}", doc.totals.tokens.total);
    Ok(took)
}

/// B1: the same numbers as ccusage on a world without traps, session by session, and how much sooner.
fn peer(conversations: usize) -> Result<()> {
    let Some(ccusage) = install_peer()? else { return Ok(()) };
    let dir = tempfile::tempdir()?;
    let home = Home::create(dir.path().join(".gemini"))?;
    let calls = CALLS * conversations / CONVERSATIONS;
    let truth = build(&home, &WorldSpec { transcripts: false, ..WorldSpec::new(conversations, calls) })?;
    scan(&home, truth.totals.tokens.total())?;
    let ours = median((0..ROUNDS).map(|_| scan(&home, truth.totals.tokens.total())).collect::<Result<_>>()?);
    let printed = dir.path().join("ccusage.json");
    let started = Instant::now();
    let mut running = Command::new(&ccusage)
        .args(["antigravity", "session", "--json", "--offline"])
        .env("HOME", dir.path())
        .stderr(Stdio::null())
        .stdout(std::fs::File::create(&printed)?)
        .process_group(0)
        .spawn()?;
    while running.try_wait()?.is_none() {
        if started.elapsed() > ours * ENOUGH {
            // It is a script that starts a program: both are one process group.
            let group = format!("-{}", running.id());
            ensure!(
                Command::new("kill").args(["-KILL", "--", &group]).status()?.success(),
                "ccusage is still there"
            );
            running.wait()?;
            say(&format!(
                "B1  {conversations} conversations, {calls} calls: ours {:.0} ms; ccusage was stopped after {ENOUGH} times \
                 as long (at least 100)",
                ms(ours)
            ));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let theirs = started.elapsed();
    let doc: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&printed)?).context("ccusage's JSON")?;
    let sessions = doc.get("sessions").and_then(|s| s.as_array()).context("ccusage lists sessions")?;
    let mut agree = 0;
    for s in sessions {
        let id = s.get("sessionId").and_then(|v| v.as_str()).context("a session has an id")?;
        let right = truth.sessions.get(id).with_context(|| format!("{id} is not in the world"))?;
        ensure!(
            s.get("totalTokens").and_then(|v| v.as_u64()) == Some(right.tokens.total()),
            "{id}: {s} against {right:?}"
        );
        agree += 1;
    }
    ensure!(agree == truth.sessions.len(), "ccusage lists {agree} of {} sessions", truth.sessions.len());
    say(&format!(
        "B1  {conversations} conversations, {calls} calls: ccusage {:.0} ms, ours {:.0} ms; {:.0} times faster \
         (at least 100 on 2,000); all {agree} sessions agree",
        ms(theirs),
        ms(ours),
        theirs.as_secs_f64() / ours.as_secs_f64()
    ));
    Ok(())
}

/// ccusage from npm, kept in the target folder.
fn install_peer() -> Result<Option<PathBuf>> {
    let target = std::env::current_exe()?;
    let target = target.ancestors().nth(3).context("a bench runs from target/release/deps")?;
    let prefix = target.join("ccusage");
    let program = prefix.join("node_modules/.bin/ccusage");
    if !program.exists() {
        let npm = Command::new("npm")
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
            .arg(&prefix)
            .args(["ccusage@20.0.24", "@ccusage/ccusage-linux-x64@20.0.24"])
            .stdout(Stdio::null())
            .status();
        if !npm.is_ok_and(|s| s.success()) {
            say("B1  skipped the peer: npm could not install ccusage@20.0.24");
            return Ok(None);
        }
    }
    Ok(Some(program))
}

/// B2: CPU time of passes over unchanged conversations, in the real engine, beside a bare `stat` of each file.
fn unchanged_pass(home: &Home) -> Result<()> {
    let ours = tempfile::tempdir()?;
    let watch = |poll_ms: u32| {
        Command::new(env!("CARGO_BIN_EXE_agenthub"))
            .args(["watch", "--gemini-dir"])
            .arg(home.root())
            .arg("--data-dir")
            .arg(ours.path().join("data"))
            .env("DASHBOARD_ANTIGRAVITY_POLL_MS", poll_ms.to_string())
            .stdout(Stdio::piped())
            .spawn()
    };
    let measured = |poll_ms: u32, window: Duration| -> Result<Duration> {
        let mut child = watch(poll_ms)?;
        let mut line = String::new();
        let out = child.stdout.take().context("its output")?;
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
        // The files were just written: what is looked at once more for that is looked at before the window begins.
        std::thread::sleep(Duration::from_secs(4));
        let before = cpu(child.id())?;
        std::thread::sleep(window);
        let used = cpu(child.id())?.saturating_sub(before);
        child.kill()?;
        child.wait()?;
        Ok(used)
    };
    let window = Duration::from_secs(10);
    let passes = 40;
    let each = measured(250, window)? / passes;
    let paths = files(home)?;
    let floor = {
        let before = cpu(std::process::id())?;
        for _ in 0..passes {
            for p in &paths {
                std::fs::metadata(p)?;
            }
        }
        cpu(std::process::id())?.saturating_sub(before) / passes
    };
    say(&format!(
        "B2  a pass over {CONVERSATIONS} unchanged conversations: {:.1} ms of CPU (at most 10); a stat of each {:.1} ms; \
         ratio {:.2}",
        ms(each),
        ms(floor),
        each.as_secs_f64() / floor.as_secs_f64()
    ));
    let minute = Duration::from_secs(60);
    let idle = measured(15_000, minute)?;
    say(&format!(
        "B2  idle for a minute: {:.1} ms of CPU, {:.3} % of a core (at most 0.1 %)",
        ms(idle),
        idle.as_secs_f64() / minute.as_secs_f64() * 100.0
    ));
    Ok(())
}

/// CPU time of all threads of a process, from the kernel's nanosecond counters.
fn cpu(pid: u32) -> Result<Duration> {
    let mut ns = 0;
    for task in std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        ns += text.split(' ').next().context("a counter")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(ns))
}

/// B3: one more call in a session of 100 and of 5,000 calls: read with its cursor, and stored with it.
fn one_more_call() -> Result<()> {
    let mut times = Vec::new();
    for calls in [100, 5_000] {
        let (took, rows) = one_more_call_after(calls)?;
        say(&format!(
            "B3  one more call after {calls}: read and stored in {:.2} ms, {rows} rows looked at",
            ms(took)
        ));
        times.push(took.as_secs_f64());
    }
    if let [few, many] = times.as_slice() {
        say(&format!("B3  ratio {:.2} (does not grow with the session)", many / few));
    }
    Ok(())
}

fn one_more_call_after(calls: usize) -> Result<(Duration, u64)> {
    const ID: &str = "5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f1";
    let dir = tempfile::tempdir()?;
    let home = Home::create(dir.path().join(".gemini"))?;
    let mut past = Conversation::new(ID);
    for n in 0..calls / 10 {
        let mut turn = Turn::prompt(&format!("Turn {n}"));
        for c in 0..10 {
            turn = turn.call(
                Call::model(1016).tokens(1_000 + c, 100, 2_000, 10).tool("view_file", serde_json::json!({})),
            );
        }
        past = past.turn(turn);
    }
    let recording = past.write(&home)?;
    let mut live = Live::resume(&home, recording, LiveSpec::new(ID))?;
    let id = SessionId::parse(ID).context("an id")?;
    let agy = agenthub_agy::Home::new(home.root().to_owned());
    let mut store = agenthub_store::Store::open(&dir.path().join("store.db"))?.store;
    let index = agenthub_agy::Index::default();
    let mut cursor = None;
    let mut all = Vec::new();
    let mut rows = 0;
    for round in 0..40 {
        live.prompt("One more")?;
        live.call()?;
        live.end_turn()?;
        let started = Instant::now();
        let path = agy.conversation(&id);
        let entry =
            agenthub_agy::Entry { id: id.clone(), fingerprint: agenthub_agy::fingerprint(&path)?, path };
        let now = Time::from_micros(i64::try_from(
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_micros(),
        )?);
        let read = agenthub_agy::read(&agy, &entry, cursor.as_ref(), now, &index)?;
        let change = change(&read, &id, now);
        store.apply(&[change])?;
        if round > 0 {
            all.push(started.elapsed());
            rows = read.rows;
        }
        cursor = Some(read.cursor);
    }
    Ok((median(all), rows))
}

fn change(read: &agenthub_agy::Read, id: &SessionId, now: Time) -> agenthub_store::Change {
    agenthub_store::Change {
        conversation: agenthub_store::Conversation {
            id: id.clone(),
            fingerprint: read.fingerprint.to_string(),
            cursor: read.cursor.to_json(),
            read_at: now,
            problem: None,
            ever_held: true,
        },
        session: Some(agenthub_store::SessionRecord {
            id: id.clone(),
            tool: agenthub_core::Tool::Antigravity,
            name: read.meta.name.clone(),
            cwd: None,
            lane: "lane".to_owned(),
            parent: None,
            fork: None,
            trajectory: read.meta.trajectory_id.clone(),
            model: None,
            started_at: read.meta.started_at,
            created_at: read.meta.created_at,
            birth_at: read.birth,
            last_activity: Some(read.fingerprint.wrote()),
            error_at: None,
            turns: 0,
            tool_calls: 0,
            details: String::new(),
        }),
        sightings: read.sightings.clone(),
    }
}
