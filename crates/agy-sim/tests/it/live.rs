//! Live play leaves what agy leaves: locks while it is open, rows in the `-wal` when it dies, nothing when it closes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agy_sim::{
    At, Call, Clock, Conversation, Esc, Home, Live, LiveSpec, SimProcess, ToolEnd, Turn, kind, status,
};
use rusqlite::Connection;
use serde_json::json;

use crate::support::*;

const ID: &str = "0b2f4a1e-8f0e-4a55-9a77-6d1f0c2b3a49";

fn statuses(conn: &Connection) -> Vec<(u32, u32)> {
    let mut statement = conn.prepare("SELECT step_type, status FROM steps ORDER BY idx").unwrap();
    statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn reader(home: &Home) -> Connection {
    Connection::open(home.db(ID)).unwrap()
}

fn rows_in_main_file(home: &Home, table: &str) -> i64 {
    // `immutable=1` ignores the `-wal`: what is left is the main file.
    let sql = format!("SELECT count(*) FROM {table}");
    open(&home.db(ID)).query_row(&sql, [], |r| r.get(0)).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn is_locked(path: &Path, pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = fs::metadata(path).unwrap().ino();
    fs::read_to_string("/proc/locks").unwrap().lines().any(|line| {
        line.contains("FLOCK") && line.contains(&format!(" {pid} ")) && line.contains(&format!(":{inode} "))
    })
}

/// The kernel hands out `/proc/locks` in pieces of 4 KiB and finds its place again by counting, so a lock that is held
/// throughout can be missing from one reading while others come and go.
#[cfg(target_os = "linux")]
fn await_locked(path: &Path, pid: u32) {
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !is_locked(path, pid) {
        assert!(std::time::Instant::now() < deadline, "{} is not locked by {pid}", path.display());
    }
}

#[test]
fn a_turn_goes_through_the_statuses_of_agy() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID).cwd("/home/user/src/x")).unwrap();
    let conn = reader(&home);
    let last = |conn: &Connection| statuses(conn).last().copied().unwrap();

    live.prompt("list it").unwrap();
    live.call_begins().unwrap();
    assert_eq!(last(&conn), (kind::PLANNER, status::GENERATING));
    let size = |conn: &Connection| {
        conn.query_row("SELECT max(length(step_payload)) FROM steps WHERE step_type = 15", [], |r| {
            r.get::<_, i64>(0)
        })
        .unwrap()
    };
    let before = size(&conn);
    live.call_streams("I will list the folder. ").unwrap();
    assert!(size(&conn) > before, "the payload grows");

    let args = json!({"CommandLine": "ls"});
    live.call_ends(&Call::model(1016).tool("run_command", args.clone()).tool("list_dir", json!({}))).unwrap();
    let waiting = live.tool_waits("run_command", args).unwrap();
    let parallel = live.tool_begins("list_dir", json!({})).unwrap();
    assert_eq!(statuses(&conn)[waiting as usize], (kind::GENERIC, status::WAITING));
    let metadata = blobs(&conn, "SELECT metadata FROM steps ORDER BY idx");
    assert_eq!(text_at(&metadata[waiting as usize], &[4, 2]).unwrap(), "run_command");
    let planner = blobs(&conn, "SELECT step_payload FROM steps WHERE step_type = 15");
    let asked = bytes_at(&planner[0], &[20]).unwrap();
    let ids: Vec<_> = decode(&asked).unwrap().into_iter().filter(|f| f.number == 7).collect();
    assert_eq!(text_at(&ids[0].bytes, &[1]), text_at(&metadata[waiting as usize], &[4, 1]), "same call id");

    live.tool_step_ends(parallel, ToolEnd::ok()).unwrap();
    live.allow().unwrap();
    assert_eq!(statuses(&conn)[waiting as usize].1, status::RUNNING);
    live.tool_ends(ToolEnd::fails()).unwrap();
    assert_eq!(statuses(&conn)[waiting as usize].1, status::ERROR);
    live.call().unwrap();
    let executions = |conn: &Connection| blobs(conn, "SELECT data FROM executor_metadata ORDER BY idx").len();
    live.end_turn_late().unwrap();
    assert_eq!(executions(&conn), 0);
    live.flush().unwrap();
    assert_eq!(executions(&conn), 1);

    let heavy = |conn: &Connection| {
        blobs(conn, "SELECT data FROM gen_metadata ORDER BY idx").iter().map(Vec::len).collect::<Vec<_>>()
    };
    let sizes = heavy(&conn);
    assert!(sizes[0] < 2_000 && sizes[1] > 100_000, "{sizes:?}");

    let transcript = fs::read_to_string(home.transcript(ID)).unwrap();
    let lines: Vec<serde_json::Value> =
        transcript.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let order: Vec<u64> = lines.iter().map(|l| l["step_index"].as_u64().unwrap()).collect();
    assert_eq!(order, [0, 1, 2, 4, 3, 5], "in the order of their ends");
    assert_eq!(lines[2]["tool_calls"][0]["args"]["CommandLine"], "\"ls\"", "encoded twice");
    let full = fs::read_to_string(home.transcript_full(ID)).unwrap();
    let line: serde_json::Value = serde_json::from_str(full.lines().nth(2).unwrap()).unwrap();
    assert_eq!(line["tool_calls"][0]["args"]["CommandLine"], "ls");
}

#[test]
fn turns_that_fail_have_no_executor_row_and_a_refusal_has_one_without_error() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID)).unwrap();
    let conn = reader(&home);
    live.prompt("one").unwrap();
    live.call_begins().unwrap();
    live.api_error(429, "RESOURCE_EXHAUSTED").unwrap();
    assert_eq!(statuses(&conn)[2..], [(kind::PLANNER, status::ERROR), (kind::ERROR_MESSAGE, status::DONE)]);
    for (how, expected) in [
        (Esc::Canceled, status::CANCELED),
        (Esc::Interrupted, status::INTERRUPTED),
        (Esc::StopReason, status::DONE),
    ] {
        live.prompt("again").unwrap();
        live.call_begins().unwrap();
        live.esc(how).unwrap();
        assert_eq!(statuses(&conn).last().unwrap().1, expected);
    }
    let payload = blobs(&conn, "SELECT step_payload FROM steps ORDER BY idx").pop().unwrap();
    assert_eq!(number_at(&payload, &[20, 12]), 16);
    assert_eq!(blobs(&conn, "SELECT data FROM executor_metadata").len(), 0);

    live.prompt("headless").unwrap();
    live.call().unwrap();
    live.headless_refusal("run_command", json!({"CommandLine": "rm x"})).unwrap();
    assert_eq!(statuses(&conn).last().unwrap().1, status::ERROR);
    let rows = blobs(&conn, "SELECT data FROM executor_metadata");
    assert_eq!(number_at(&rows[0], &[1]), 8);
}

#[test]
fn a_queued_prompt_is_no_turn_until_it_is_taken_up() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID)).unwrap();
    live.prompt("first").unwrap();
    let step = live.queue_prompt("second").unwrap();
    assert_eq!(live.session().turns, 1);
    assert_eq!(statuses(&reader(&home))[step as usize].1, status::QUEUED);
    live.take_up_queued().unwrap();
    assert_eq!(live.session().turns, 2);
}

#[test]
fn a_clean_close_leaves_neither_wal_nor_lock() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID)).unwrap();
    live.prompt("hello").unwrap();
    live.call().unwrap();
    assert!(home.wal(ID).exists() && home.shm(ID).exists());
    #[cfg(target_os = "linux")]
    await_locked(&home.presence(ID), std::process::id());
    live.close().unwrap();
    assert!(!home.wal(ID).exists() && !home.shm(ID).exists());
    assert!(home.presence(ID).exists(), "the lock file survives");
    #[cfg(target_os = "linux")]
    assert!(!is_locked(&home.presence(ID), std::process::id()));
    assert_eq!(rows_in_main_file(&home, "gen_metadata"), 1);
}

#[test]
fn a_killed_process_leaves_its_rows_in_the_wal_only() {
    let home = Home::temp().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_agy-sim"));
    let mut process = SimProcess::spawn(program, &home, &["--id", ID, "--cwd", "/home/user/src/x"]).unwrap();
    assert_eq!(process.id(), ID);
    process.send("prompt hello").unwrap();
    process.send("begin").unwrap();
    assert!(process.send("nonsense").is_err());
    #[cfg(target_os = "linux")]
    await_locked(&home.presence(ID), process.pid());
    process.kill().unwrap();
    assert!(fs::metadata(home.wal(ID)).unwrap().len() > 0);
    assert_eq!(rows_in_main_file(&home, "steps"), 0);
    assert_eq!(statuses(&reader(&home)).last().copied().unwrap(), (kind::PLANNER, status::GENERATING));
}

#[test]
fn a_process_that_quits_leaves_nothing_open() {
    let home = Home::temp().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_agy-sim"));
    let mut process = SimProcess::spawn(program, &home, &["--id", ID, "--past-calls", "50"]).unwrap();
    process.send("prompt more").unwrap();
    process.send("begin").unwrap();
    process
        .send("end 100 50 2000 30 + tool run_command {\"CommandLine\":\"ls\"} + retry 90 40 1500 20")
        .unwrap();
    let session: serde_json::Value = serde_json::from_str(&process.send("session").unwrap()).unwrap();
    assert_eq!(session["models"]["1016"]["calls"], 52);
    process.quit().unwrap();
    assert!(!home.wal(ID).exists());
    assert_eq!(rows_in_main_file(&home, "gen_metadata"), 51);
}

#[test]
fn a_kill_in_the_process_and_a_resume() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID)).unwrap();
    live.prompt("hello").unwrap();
    live.call().unwrap();
    let tool = live.tool_begins("run_command", json!({"CommandLine": "sleep 1"})).unwrap();
    let recording = live.kill().unwrap();
    assert!(fs::metadata(home.wal(ID)).unwrap().len() > 0);
    assert_eq!(rows_in_main_file(&home, "steps"), 0);

    let mut live = Live::resume(&home, recording, LiveSpec::new(ID)).unwrap();
    assert_eq!(statuses(&reader(&home))[tool as usize].1, status::CANCELED, "in place");
    live.prompt("and on").unwrap();
    live.call().unwrap();
    let recording = live.close().unwrap();
    assert_eq!(recording.session().models[&1016].calls, 2);
}

#[test]
fn rewind_fork_and_subagent_leave_their_marks() {
    let home = Home::temp().unwrap();
    let mut live = Live::start(&home, LiveSpec::new(ID).cwd("/home/user/src/x")).unwrap();
    let conn = reader(&home);
    let trajectory = |conn: &Connection| {
        conn.query_row("SELECT trajectory_id FROM trajectory_meta", [], |r| r.get::<_, String>(0)).unwrap()
    };
    live.prompt("one").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    let two = live.prompt("two").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    let before = trajectory(&conn);
    live.rewind(two).unwrap();
    assert_ne!(trajectory(&conn), before);
    assert_eq!(statuses(&conn).len(), two as usize);
    assert_eq!(blobs(&conn, "SELECT data FROM gen_metadata").len(), 1);
    let references = blobs(&conn, "SELECT data FROM parent_references");
    assert_eq!(text_at(&references[0], &[6]).unwrap(), ID);
    assert_eq!(live.prompt("two, differently").unwrap(), two, "the index is used again");
    live.call().unwrap();
    let transcript = fs::read_to_string(home.transcript(ID)).unwrap();
    assert!(transcript.contains("differently") && !transcript.contains("<USER_REQUEST>\\ntwo\\n"));

    let fork = live.fork().unwrap();
    assert!(home.pb(fork.id()).exists());
    let theirs = Connection::open(fork.db()).unwrap();
    let sql = "SELECT metadata FROM steps ORDER BY idx";
    assert_eq!(blobs(&theirs, sql), blobs(&conn, sql), "copied as they are, old ids included");
    let reference = blobs(&theirs, "SELECT data FROM parent_references").pop().unwrap();
    assert_eq!((number_at(&reference, &[5]), text_at(&reference, &[6]).unwrap()), (2, ID.to_owned()));

    let mut child = live.subagent("Reader", "Look at the readme").unwrap();
    child.call().unwrap();
    child.end_turn().unwrap();
    live.subagent_reports(child.id(), "Looked.").unwrap();
    let theirs = Connection::open(child.db()).unwrap();
    let blob = blobs(&theirs, "SELECT data FROM trajectory_metadata_blob").pop().unwrap();
    assert_eq!((text_at(&blob, &[5]).unwrap(), number_at(&blob, &[17])), (ID.to_owned(), 1));
    assert!(home.generated(ID).join("subagents").join(format!("{}.json", child.id())).exists());
    assert_eq!(live.session().tool_calls, 1);
}

#[test]
fn a_manual_clock_rules_rows_and_files() {
    let home = Home::temp().unwrap();
    let clock = Clock::manual(At::unix(1_790_000_000));
    let mut live = Live::start(&home, LiveSpec::new(ID).clock(&clock)).unwrap();
    live.prompt("hello").unwrap();
    clock.advance(Duration::from_secs(600));
    live.call().unwrap();
    let modified = |path: &Path| At::from(fs::metadata(path).unwrap().modified().unwrap());
    assert!(modified(&home.wal(ID)).since(At::unix(1_790_000_600)) < Duration::from_secs(1));
    let metadata = blobs(&reader(&home), "SELECT metadata FROM steps ORDER BY idx").pop().unwrap();
    assert_eq!(number_at(&metadata, &[1, 1]), 1_790_000_600);
    live.close().unwrap();
    assert!(modified(&home.db(ID)) < At::unix(1_790_000_601));
}

#[test]
fn a_long_conversation_goes_on_from_the_builder() {
    let home = Home::temp().unwrap();
    let turn = (0..200).fold(Turn::prompt("long"), |turn, _| turn.call(Call::model(1298)));
    let past = Conversation::new(ID).turn(turn).write(&home).unwrap();
    let mut live = Live::resume(&home, past, LiveSpec::new(ID).model(1298)).unwrap();
    live.prompt("one more").unwrap();
    live.call().unwrap();
    let sizes: Vec<usize> =
        blobs(&reader(&home), "SELECT data FROM gen_metadata ORDER BY idx").iter().map(Vec::len).collect();
    assert_eq!(sizes.len(), 201);
    assert!(sizes[199] < 2_000, "the row before was slimmed");
    assert_eq!(live.session().models[&1298].calls, 201);
}
