//! The databases of agy: their schema, their pragmas, and how rows get into them.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

/// The statements in the order in which agy runs them; nine of them, hence schema cookie 9.
pub const SCHEMA: &[&str] = &[
    "CREATE TABLE `trajectory_meta` (`trajectory_id` text,`cascade_id` text,`trajectory_type` integer,`source` integer,PRIMARY KEY (`trajectory_id`))",
    "CREATE TABLE `steps` (`idx` integer,`step_type` integer NOT NULL DEFAULT 0,`status` integer NOT NULL DEFAULT 0,`has_subtrajectory` numeric NOT NULL DEFAULT false,`metadata` blob,`error_details` blob,`permissions` blob,`task_details` blob,`render_info` blob,`step_payload` blob,`step_format` integer NOT NULL DEFAULT 0,PRIMARY KEY (`idx`))",
    "CREATE INDEX `idx_steps_status` ON `steps`(`status`)",
    "CREATE INDEX `idx_steps_step_type` ON `steps`(`step_type`)",
    "CREATE TABLE `gen_metadata` (`idx` integer,`data` blob,`size` integer NOT NULL DEFAULT 0,PRIMARY KEY (`idx`))",
    "CREATE TABLE `executor_metadata` (`idx` integer,`data` blob,PRIMARY KEY (`idx`))",
    "CREATE TABLE `parent_references` (`idx` integer,`data` blob,PRIMARY KEY (`idx`))",
    "CREATE TABLE `trajectory_metadata_blob` (`id` text DEFAULT \"main\",`data` blob,PRIMARY KEY (`id`))",
    "CREATE TABLE `battle_mode_infos` (`idx` integer,`data` blob,PRIMARY KEY (`idx`))",
];

/// Makes a new conversation file without any journal: fast, and only for files that nobody reads yet.
pub(crate) fn create_closed(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path).with_context(|| format!("cannot make {}", path.display()))?;
    conn.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = 1; BEGIN;",
    )?;
    for statement in SCHEMA {
        conn.execute_batch(statement)?;
    }
    Ok(conn)
}

/// Ends what [`create_closed`] began: commits, marks the file as WAL (header bytes 18 and 19) and closes it, which leaves
/// no `-wal` behind.
pub(crate) fn finish_closed(conn: Connection) -> Result<()> {
    conn.execute_batch("COMMIT")?;
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    anyhow::ensure!(mode == "wal", "journal mode is {mode}");
    close(conn)
}

/// Opens or makes a conversation file as agy does: WAL, with SQLite's usual checkpoints.
pub(crate) fn open_live(path: &Path) -> Result<Connection> {
    let fresh = !path.exists();
    let conn = Connection::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    // A simulated agy need not survive a power cut; the bytes that other processes see are the same.
    conn.execute_batch("PRAGMA page_size = 4096; PRAGMA synchronous = OFF;")?;
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    anyhow::ensure!(mode == "wal", "journal mode is {mode}");
    if fresh {
        conn.execute_batch("BEGIN; PRAGMA user_version = 1;")?;
        for statement in SCHEMA {
            conn.execute_batch(statement)?;
        }
        conn.execute_batch("COMMIT")?;
    }
    Ok(conn)
}

pub(crate) fn close(conn: Connection) -> Result<()> {
    conn.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// The index of conversations, `user_version` 3, 21 columns.
pub(crate) const SUMMARIES: &str = "CREATE TABLE `conversation_summaries` (`conversation_id` text,`title` text,`preview` text,`step_count` integer,`last_modified_time` datetime NOT NULL,`workspace_uris` text,`status` text,`source` text,`project_id` text,`agent_name` text,`parent_conversation_id` text,`nesting_depth` integer,`battle_id` text,`winning_conversation_id` text,`not_fully_idle` numeric,`killed` numeric,`last_user_input_time` datetime,`last_user_input_step_index` integer DEFAULT -1,`app_data_dir` text,`raw_summary` blob,`group_id` text,PRIMARY KEY (`conversation_id`));
CREATE INDEX `idx_conversation_summaries_last_user_input_time` ON `conversation_summaries`(`last_user_input_time`);
CREATE INDEX `idx_conversation_summaries_last_modified_time` ON `conversation_summaries`(`last_modified_time`);";
