//! Titles and advice, by code. A code without its own has its words for a title.

use agenthub_core::words::{counted, plural};

use crate::{
    settings::{CORRECT_IT, NAME_IT_BACK},
    way_out::SEE_TO_ROOM,
};

pub(super) fn title(code: &str) -> String {
    let known = match code {
        "no_home" => "agy's folder",
        "unreadable_folder" => "Conversations folder",
        "poll_only" => "File events",
        "schema_drift" => "agy's format",
        "store_rebuilt" => "Store rebuilt",
        "person_rebuilt" => "Your file rebuilt",
        "source_failed" | "store_unusable" => "Data folder",
        "settings_reset" | "settings_unreadable" | "settings_bad" => "Settings",
        "time_zone" => "Time zone",
        "other_engine" => "Another AgentHub",
        "no_notifications" => "Notifications",
        "unreadable_files" => "Unreadable files",
        "undecodable_row" => "Skipped rows",
        "usage_mismatch" => "Odd token numbers",
        "calls_without_usage" => "Unknown usage",
        "agy_version" => "agy's version",
        "reading" => "Conversations",
        "hooks_not_installed" | "hooks_installed" | "hooks_silent" => "Hooks",
        "hooks_file_dropped" => "Hooks dropped",
        "hooks_switched_off" => "Hooks switched off",
        "hooks_incomplete" => "Hooks incomplete",
        "hooks_stale" => "Hooks out of date",
        "hooks_target_missing" => "Hooks without target",
        "hooks_foreign" => "Foreign hook",
        "hooks_unreadable" | "hooks_unknown" => "hooks.json",
        "other_pre_tool_use" | "other_post_tool_use" => "Other hooks",
        "flat_tool_entry" => "Hook that never runs",
        "hook_events" => "Hook events",
        "tracing_no_address" => "Traces' user",
        "tracing_dropped" | "tracing_queue_full" | "tracing_off_waiting" | "tracing_damaged" => {
            "Traces' queue"
        }
        "tracing_settings" | "tracing_secrets" => "Tracing settings",
        c if c.starts_with("tracing_hook") || c == "tracing_off_hook" => "Tracing hook",
        c if c.starts_with("tracing_") => "Tracing",
        c if c.starts_with("hook_dropped_") => "Dropped events",
        c if c.starts_with("journal_") => "Hook journal",
        c if c.starts_with("doorbell_") => "Doorbell",
        other => {
            let mut words = other.replace('_', " ");
            if let Some(first) = words.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            return words;
        }
    };
    known.to_owned()
}

/// What to do about a finding; `None` for what is as it should be.
pub(super) fn advice(code: &str) -> Option<&'static str> {
    Some(match code {
        "reading" | "hook_events" | "hooks_installed" => return None,
        "no_home" => {
            "Start `agy` in a project folder; its lane appears within a second. If agy's home is elsewhere, set AGENTHUB_GEMINI_DIR."
        }
        "unreadable_folder" => {
            "Make it a folder that you may read; what was known of it is kept, and it is looked at again at each poll."
        }
        "poll_only" => {
            "On Linux, raise fs.inotify.max_user_watches or max_user_instances; until then changes show at each poll."
        }
        "schema_drift" => "Update AgentHub. If it is the newest, tell us agy's version.",
        "person_rebuilt" => {
            "See whether a session that you deleted is listed again, and delete it once more; and whether `agenthub pricing list` \
             lacks a price or an alias of yours, and set it again."
        }
        "store_rebuilt" => "Nothing to do: the numbers come from agy's own files.",
        "settings_bad" => "Correct them in settings.json, or set them in the window.",
        "settings_unreadable" => CORRECT_IT,
        "settings_reset" => NAME_IT_BACK,
        "time_zone" => {
            "Set the time zone in settings.json or in the window, by its IANA name such as `Europe/Berlin`."
        }
        "no_tray" => {
            "Add a tray to the desktop, or leave the window open: everything that the tray tells stands here, too."
        }
        "no_notifications" => {
            "Start a notification service, then send a test under Settings → Notifications."
        }
        "source_failed" => SEE_TO_ROOM,
        "store_unusable" => "Do as it says. Until then no list of AgentHub's can be shown.",
        "unreadable_files" => "Every other session is complete. They are tried again when they change.",
        "undecodable_row" => {
            "The rest of those sessions counts. If there are many and they are new, update AgentHub."
        }
        "usage_mismatch" => "Nothing to do: the numbers are shown as agy wrote them.",
        "calls_without_usage" => {
            "Nothing to do: they are counted as calls and shown as unknown, never as zero."
        }
        "agy_version" => "Start agy once: it names its version in its log.",
        "hooks_silent" => {
            "Start agy anew: open sessions keep the hooks that they started with. With an API key agy runs none."
        }
        "hooks_file_dropped" | "hooks_unreadable" => "Correct hooks.json as it says, then start agy anew.",
        "hooks_unknown" => "Correct what it says, then run `agenthub hooks status`.",
        "other_pre_tool_use" => "Nothing to do, unless agy refuses its tools: then look there first.",
        "other_post_tool_use" => {
            "Nothing to do: agy may run only one of two, so tools show from agy's database."
        }
        "flat_tool_entry" => {
            "Put it into a group, `{\"matcher\": \"*\", \"hooks\": [...]}`, or tell its owner: as it is agy never runs it."
        }
        "hook_dropped_unknown_event" => {
            "Run `agenthub hooks install`: an older forwarder may ask for other events."
        }
        "hook_dropped_not_the_cli" | "hook_dropped_no_tool" => {
            "Nothing to do: these are no events of a session in the terminal."
        }
        "hook_dropped_unreadable" | "hook_dropped_unwritable" => {
            "See that the disk has room and the data folder can be written. States are right all the same: agy's database tells the rest."
        }
        "hook_dropped_full" => {
            "Start AgentHub now and then: it empties the journal. States are right all the same: agy's database tells the rest."
        }
        "hook_dropped_empty" | "hook_dropped_bad_body" | "hook_dropped_bad_id" => {
            "Nothing to do if somebody started the hook by hand: agy hands over a message each time. If there are many, update AgentHub."
        }
        c if c.starts_with("hook_dropped_") => {
            "Nothing to do: agy's database tells the rest. If there are many, update AgentHub."
        }
        c if c.starts_with("hooks_") => "Run `agenthub hooks status`; it says what to do.",
        _ => "The message says what happened; `AGENTHUB_LOG=debug` in the environment says more.",
    })
}

/// What a warning on sessions says, for people.
pub fn warning(code: &str, count: u32) -> String {
    match code {
        "undecodable_row" => format!(
            "{} of agy's could not be decoded and {} skipped.",
            counted(count, "row", "rows"),
            plural(count, "was", "were")
        ),
        "usage_mismatch" => format!(
            "{} more or fewer output tokens than thinking and answer together.",
            counted(count, "call has", "calls have")
        ),
        "schema_drift" => "agy's format moved. Tokens may be too low.".to_owned(),
        _ => format!("{} `{code}`.", counted(count, "warning", "warnings")),
    }
}

/// What is so of `n` files with this problem, behind their number, and what to do.
pub(super) fn about_files(code: &str, n: usize) -> (&'static str, &'static str) {
    let (one, many, advice) = match code {
        "not_a_database" => (
            "file is no SQLite database",
            "files are no SQLite databases",
            plural(
                n,
                "If agy can't open it either, restore it from a backup or delete it.",
                "If agy can't open them either, restore them from a backup or delete them.",
            ),
        ),
        "corrupt" => (
            "file is damaged",
            "files are damaged",
            plural(
                n,
                "Restore it from a backup, or open it in agy; what was counted before is kept.",
                "Restore them from a backup, or open them in agy; what was counted before is kept.",
            ),
        ),
        "no_such_table" => (
            "file is a database, but not agy's",
            "files are databases, but not agy's",
            plural(
                n,
                "Move it out of agy's folder, or update AgentHub if agy made it.",
                "Move them out of agy's folder, or update AgentHub if agy made them.",
            ),
        ),
        "empty" => (
            "file is empty",
            "files are empty",
            "Nothing to do: agy makes a file before it writes its first line.",
        ),
        "legacy_pb" => (
            "conversation is in agy's old form",
            "conversations are in agy's old form",
            plural(
                n,
                "Open it in agy, which turns it into a file that can be read.",
                "Open them in agy; it turns them into files that can be read.",
            ),
        ),
        "not_a_uuid" => (
            "file has a name that is no conversation's",
            "files have names that are no conversation's",
            plural(
                n,
                "Move it out of agy's folder if it is yours.",
                "Move them out of agy's folder if they are yours.",
            ),
        ),
        "not_a_file" => (
            "entry is no plain file",
            "entries are no plain files",
            plural(
                n,
                "Move it out of agy's folder if it is yours.",
                "Move them out of agy's folder if they are yours.",
            ),
        ),
        "symlink_loop" => (
            "link leads to itself",
            "links lead to themselves",
            plural(n, "Correct or remove it.", "Correct or remove them."),
        ),
        "permission" => (
            "file may not be read by you",
            "files may not be read by you",
            plural(n, "Give yourself the right to read it.", "Give yourself the right to read them."),
        ),
        "busy" => (
            "file could not be read at that moment",
            "files could not be read at that moment",
            plural(
                n,
                "Nothing to do: it is read again at the next poll.",
                "Nothing to do: they are read again at the next poll.",
            ),
        ),
        _ => (
            "file could not be read",
            "files could not be read",
            plural(n, "`agenthub doctor --json` says why.", "`agenthub doctor --json` says of each why."),
        ),
    };
    (plural(n, one, many), advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_without_a_title_has_its_own_words() {
        assert_eq!(title("no_tray"), "No tray");
        assert_eq!(title(""), "");
        assert_eq!(title("hook_dropped_full"), "Dropped events");
    }
}
