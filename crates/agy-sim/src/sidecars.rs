//! The files beside the databases: titles, the index of conversations, history, cache, logs, sub-agent links.

use std::fs::{self, OpenOptions};
use std::io::Write;

use anyhow::Result;
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

use crate::clock::At;
use crate::home::Home;
use crate::recording::Recording;
use crate::step::Content;
use crate::trajectory::file_uri;

/// `annotations/<uuid>.pbtxt`.
pub fn write_annotation(home: &Home, id: &str, title: &str) -> Result<()> {
    let escaped = title.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    fs::write(home.annotation(id), format!("title:\"{escaped}\"\n"))?;
    Ok(())
}

/// `subagents/<child>.json` in the parent's brain.
pub fn write_subagent_link(home: &Home, child: &Recording, spawn_step: u32) -> Result<()> {
    let (Some(parent), Some(spec)) = (&child.blob.parent, &child.blob.subagent) else { return Ok(()) };
    let folder = home.generated(parent).join("subagents");
    fs::create_dir_all(&folder)?;
    let link = json!({
        "conversationId": child.id,
        "subagentDescriptor": {"typeName": spec.type_name, "role": spec.role},
        "state": "SUBAGENT_STATE_ALIVE",
        "spawnStepIndex": spawn_step,
    });
    fs::write(folder.join(format!("{}.json", child.id)), link.to_string())?;
    Ok(())
}

/// `messages/<id>.json` of a sub-agent's report, in the parent's brain.
pub(crate) fn write_message(
    home: &Home,
    message: &str,
    parent: &str,
    child: &str,
    at: At,
    text: &str,
) -> Result<()> {
    let folder = home.generated(parent).join("messages");
    fs::create_dir_all(&folder)?;
    let body = json!({
        "id": message, "recipient": parent, "sender": child, "priority": "MESSAGE_PRIORITY_HIGH",
        "timestamp": at.rfc3339(), "renderDetails": {"messageTitle": "Message from a sub-agent"}, "content": text,
        "sourceMetadata": {"tool": {"conversationId": child, "stepIndex": 4, "toolCall": {"name": "send_message"}}},
    });
    fs::write(folder.join(format!("{message}.json")), body.to_string())?;
    Ok(())
}

/// A line of `history.jsonl`; the first prompt of a conversation has no conversation id.
pub fn append_history(
    home: &Home,
    at: At,
    text: &str,
    workspace: Option<&str>,
    id: Option<&str>,
) -> Result<()> {
    let mut entry = Map::new();
    entry.insert("display".into(), json!(text));
    entry.insert("timestamp".into(), json!(at.as_micros() / 1000));
    entry.insert("workspace".into(), json!(workspace.unwrap_or_default()));
    if let Some(id) = id {
        entry.insert("conversationId".into(), json!(id));
    }
    if text.starts_with('/') {
        entry.insert("type".into(), json!("slash_command"));
    }
    let mut file = OpenOptions::new().create(true).append(true).open(home.history())?;
    writeln!(file, "{}", Value::Object(entry))?;
    Ok(())
}

/// `log/cli-<stamp>.log` of one start, with agy's version and the conversation that it made, and `cli.log` beside it.
pub fn write_log(home: &Home, at: At, version: &str, id: &str) -> Result<()> {
    let none = "hooks_manager.go:53] loaded 0 named hooks from 0 hooks.json file(s)";
    write_start(home, at, version, id, LONG_GONE, &[('I', none.to_owned())])
}

/// The process of a past start.
const LONG_GONE: u32 = 4711;

/// The same, with what it says about hooks, by a process of this number.
pub(crate) fn write_start(
    home: &Home,
    at: At,
    version: &str,
    id: &str,
    pid: u32,
    hooks: &[(char, String)],
) -> Result<()> {
    let log_line = |level, at, line: &str| log_line(level, at, pid, line);
    let mut text = log_line('I', at, &format!("main.go:88] Starting Antigravity CLI version {version}"));
    text.extend(hooks.iter().map(|(level, line)| log_line(*level, at.plus_ms(40), line)));
    text += &log_line('I', at.plus_ms(300), "auth.go:140] applyAuthResult: email=sim@example.com");
    let created = format!("conversation_manager.go:211] Created conversation {id}");
    text += &log_line('I', at.plus_ms(1020), &created);
    // Two that start in one second share a log.
    let log = home.log().join(format!("cli-{}.log", at.file_stamp()));
    OpenOptions::new().create(true).append(true).open(log)?.write_all(text.as_bytes())?;
    fs::write(home.cli().join("cli.log"), text)?;
    Ok(())
}

/// More lines for `cli.log`.
pub(crate) fn append_log(home: &Home, at: At, lines: &[(char, String)]) -> Result<()> {
    let text: String =
        lines.iter().map(|(level, line)| log_line(*level, at, std::process::id(), line)).collect();
    let mut file = OpenOptions::new().create(true).append(true).open(home.cli().join("cli.log"))?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

fn log_line(level: char, at: At, pid: u32, text: &str) -> String {
    format!("{level}{}  {pid} {}\n", at.glog(), text.replace('\n', " "))
}

/// `cache/last_conversations.json`: the newest conversation of each folder.
pub fn write_last_conversations<'a>(
    home: &Home,
    newest: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<()> {
    let map: Map<String, Value> = newest.map(|(folder, id)| (folder.to_owned(), json!(id))).collect();
    fs::write(home.cache().join("last_conversations.json"), Value::Object(map).to_string())?;
    Ok(())
}

/// Puts conversations into `conversation_summaries.db`. agy's own list is never complete, so leave some out.
pub fn write_summaries<'a>(home: &Home, recordings: impl Iterator<Item = &'a Recording>) -> Result<()> {
    let conn = open_summaries(home)?;
    conn.execute_batch("BEGIN")?;
    for recording in recordings {
        summarise(&conn, recording, false)?;
    }
    conn.execute_batch("COMMIT")?;
    crate::schema::close(conn)
}

/// `conversation_summaries.db`, made when it is not there.
pub(crate) fn open_summaries(home: &Home) -> Result<Connection> {
    let fresh = !home.summaries().exists();
    let conn = Connection::open(home.summaries())?;
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL;")?;
    if fresh {
        conn.execute_batch("PRAGMA user_version = 3")?;
        conn.execute_batch(crate::schema::SUMMARIES)?;
    }
    Ok(conn)
}

/// The row of a conversation in the index.
pub(crate) fn summarise(conn: &Connection, recording: &Recording, running: bool) -> Result<()> {
    let uris: Vec<String> = recording.blob.workspaces.iter().map(|path| file_uri(path)).collect();
    let last = recording.steps.iter().filter_map(|step| step.completed).max();
    let input = recording
        .steps
        .iter()
        .enumerate()
        .rev()
        .find(|(_, step)| matches!(step.content, Content::User { .. }));
    let preview = recording.first_prompt().unwrap_or_default();
    conn.execute(
        "INSERT OR REPLACE INTO conversation_summaries (conversation_id, title, preview, step_count, last_modified_time, workspace_uris, status, source, project_id, parent_conversation_id, nesting_depth, not_fully_idle, killed, last_user_input_time, last_user_input_step_index, app_data_dir) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'CORTEX_TRAJECTORY_SOURCE_CLI', 'default-cli-project', ?8, ?9, 0, 0, ?10, ?11, 'antigravity-cli')",
        params![
            recording.id,
            recording.title.clone().unwrap_or_default(),
            preview,
            recording.steps.len() as i64,
            last.unwrap_or(recording.blob.created).datetime(),
            serde_json::to_string(&uris)?,
            if running { "CASCADE_RUN_STATUS_RUNNING" } else { "CASCADE_RUN_STATUS_IDLE" },
            recording.blob.parent.clone().unwrap_or_default(),
            recording.blob.depth,
            input.map(|(_, step)| step.created.datetime()),
            input.map_or(-1, |(idx, _)| idx as i64),
        ],
    )?;
    Ok(())
}
