//! What doctor finds, and that it says what to do.

use agy_sim::{Call, Conversation, Turn};
use serde_json::{Value, json};

use crate::rig::{Rig, uuid};

/// Everything but what is well has advice, and everything has a title.
#[track_caller]
fn doctor(rig: &Rig) -> Vec<(String, String, String)> {
    let doc = rig.json(&["doctor", "--json"]);
    let text = |f: &Value, key: &str| f[key].as_str().unwrap_or_default().to_owned();
    doc["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            assert!(!text(f, "title").is_empty(), "{f}");
            assert!(f["level"] == "ok" || text(f, "advice").ends_with('.'), "{f}");
            (text(f, "level"), text(f, "code"), text(f, "message"))
        })
        .collect()
}

#[track_caller]
pub(crate) fn finds(rig: &Rig, level: &str, code: &str) -> String {
    let all = doctor(rig);
    let found: Vec<_> = all.iter().filter(|(l, c, _)| l == level && c == code).collect();
    assert_eq!(found.len(), 1, "{level} {code}: {all:#?}");
    found[0].2.clone()
}

pub(crate) fn lacks(rig: &Rig, code: &str) -> bool {
    doctor(rig).iter().all(|(_, c, _)| c != code)
}

fn hooks_json(rig: &Rig) -> std::path::PathBuf {
    rig.home.root().join("config/hooks.json")
}

fn change(rig: &Rig, from: &str, to: &str) {
    let text = std::fs::read_to_string(hooks_json(rig)).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(hooks_json(rig), text.replace(from, to)).unwrap();
}

#[test]
fn h5_each_state_of_the_hooks_is_a_finding() {
    crate::hooks_install::hook_program();
    let rig = Rig::new();
    finds(&rig, "note", "hooks_not_installed");
    let install = || assert!(rig.agenthub(&["hooks", "install"]).status.success());
    install();
    finds(&rig, "note", "hooks_silent");
    change(&rig, "\"PreInvocation\"", "\"enabled\": false, \"PreInvocation\"");
    finds(&rig, "warning", "hooks_switched_off");
    install();
    change(&rig, "\"timeout\": 5 }],", "\"timeout\": 9 }],");
    finds(&rig, "warning", "hooks_stale");
    install();
    let text = std::fs::read_to_string(hooks_json(&rig)).unwrap();
    let without: String =
        text.lines().filter(|l| !l.contains("\"PreInvocation\"")).map(|l| format!("{l}\n")).collect();
    std::fs::write(hooks_json(&rig), without).unwrap();
    finds(&rig, "warning", "hooks_incomplete");
    install();
    std::fs::remove_file(rig.data_dir().join("bin/agenthub-hook")).unwrap();
    finds(&rig, "warning", "hooks_target_missing");
    install();
    std::fs::write(rig.home.root().join("config/agenthub-hook.sh"), "#!/bin/sh\necho mine\n").unwrap();
    finds(&rig, "warning", "hooks_foreign");
    std::fs::write(hooks_json(&rig), "{ // mine\n}").unwrap();
    assert!(finds(&rig, "warning", "hooks_unreadable").contains("line 1"));
}

#[test]
fn h5_other_tools_hooks_and_a_file_that_agy_drops_are_findings() {
    crate::hooks_install::hook_program();
    let rig = Rig::new();
    let group = json!([{ "matcher": "*", "hooks": [{ "type": "command", "command": "guard" }] }]);
    let flat = json!([{ "type": "command", "command": "x" }]);
    let write = |v: &Value| std::fs::write(hooks_json(&rig), v.to_string()).unwrap();
    std::fs::create_dir_all(rig.home.root().join("config")).unwrap();
    write(&json!({ "guard": { "PreToolUse": group }, "lint": { "PostToolUse": group } }));
    assert!(finds(&rig, "note", "other_pre_tool_use").contains("`guard`"));
    assert!(finds(&rig, "note", "other_post_tool_use").contains("`lint`"));
    write(&json!({ "flat": { "PostToolUse": flat } }));
    finds(&rig, "warning", "flat_tool_entry");
    write(&json!({}));
    assert!(rig.agenthub(&["hooks", "install"]).status.success());
    change(&rig, "\n}", ",\n\"bad\": []\n}");
    assert!(finds(&rig, "warning", "hooks_file_dropped").contains("`bad`"));
}

#[test]
fn s10_a_folder_that_cannot_be_listed_is_said_and_nothing_is_gone() {
    let rig = Rig::new();
    let id = uuid();
    Conversation::new(&id)
        .turn(Turn::prompt("Hello").call(Call::model(1016).tokens(10, 2, 0, 1)))
        .write(&rig.home)
        .unwrap();
    finds(&rig, "ok", "reading");
    let folder = rig.home.root().join("antigravity-cli/conversations");
    let away = folder.with_extension("away");
    std::fs::rename(&folder, &away).unwrap();
    std::fs::write(&folder, "a plain file").unwrap();
    assert!(finds(&rig, "error", "unreadable_folder").contains("not a folder"));
    assert!(lacks(&rig, "reading") && lacks(&rig, "unreadable_files"));
    // What can't be looked at is not gone.
    let gone = |rig: &Rig| rig.start().host.session(&id).unwrap().row.file_gone;
    assert!(!gone(&rig));
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    finds(&rig, "ok", "reading");
    assert!(!gone(&rig));
}

#[test]
fn s10_a_missing_home_is_told_once() {
    let rig = Rig::new();
    std::fs::remove_dir_all(rig.home.root()).unwrap();
    finds(&rig, "note", "no_home");
    assert!(lacks(&rig, "reading") && lacks(&rig, "unreadable_files"));
    let text = String::from_utf8(rig.agenthub(&["doctor"]).stdout).unwrap();
    assert!(!text.contains("could not be read"), "{text}");
    let out = rig.agenthub(&["sessions"]);
    let (told, aside) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert!(!told.contains("no_home") && !told.contains("not been used"), "{told}");
    assert_eq!((aside.lines().count(), aside.matches("(no_home)").count()), (1, 1), "{aside}");
}

#[test]
fn s10_a_list_counts_the_files_that_doctor_counts_and_its_log_stays_out_of_the_way() {
    let rig = Rig::new();
    std::fs::write(rig.home.db(&uuid()), "").unwrap();
    let conversations = rig.home.db("x").parent().unwrap().to_owned();
    // What is unreadable for everybody: a file in the folder's place.
    std::fs::remove_dir_all(&conversations).unwrap();
    std::fs::write(&conversations, "").unwrap();
    std::fs::create_dir_all(rig.config().config_dir).unwrap();
    let settings = rig.config().config_dir.join("settings.json");
    let break_them = || {
        std::fs::write(&settings, "{").unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&settings).unwrap().set_modified(old).unwrap();
    };
    break_them();
    let out = rig.agenthub(&["sessions"]);
    let (told, aside) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert!(!told.contains("not_a_file") && lacks(&rig, "unreadable_files"), "{told}");
    assert!(aside.lines().all(|l| l.starts_with("agenthub: ")), "no line of a log: {aside}");
    assert!(aside.contains("(unreadable_folder)") && aside.contains("(settings_reset)"), "{aside}");
    let kept = std::fs::read_to_string(rig.data_dir().join("log")).unwrap();
    assert!(kept.contains("WARN") && kept.contains("settings.broken-"), "the log has it: {kept}");
    break_them();
    let asked = rig.command(&["sessions"]).env("AGENTHUB_LOG", "warn").output().unwrap();
    let asked = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(asked.contains("WARN") && asked.contains("settings.broken-"), "whoever asks gets it: {asked}");
}

#[test]
fn s10_many_bad_files_are_few_lines_and_whole_in_json() {
    let rig = Rig::new();
    for _ in 0..400 {
        std::fs::write(rig.home.db(&uuid()), "").unwrap();
    }
    for command in ["doctor", "sessions"] {
        let text = String::from_utf8(rig.agenthub(&[command]).stdout).unwrap();
        assert!(text.lines().count() < 60 && text.contains("400 files are empty"), "{command}: {text}");
        let doc = rig.json(&[command, "--json"]);
        assert_eq!(doc["problems"].as_array().unwrap().len(), 400);
    }
    assert_eq!(rig.json(&["doctor", "--json"])["problem_groups"][0]["count"], 400);
}

#[test]
fn h7_what_hinders_the_journal_is_a_finding_and_blocks_nothing() {
    let rig = Rig::new();
    doctor(&rig);
    let hooks = rig.data_dir().join("hooks");
    std::fs::create_dir_all(hooks.join("journal")).unwrap();
    std::fs::write(hooks.join("doorbell"), "mine").unwrap();
    finds(&rig, "warning", "journal_not_a_file");
    finds(&rig, "note", "doorbell_taken");
    std::fs::remove_dir_all(&hooks).unwrap();
    std::fs::write(&hooks, "a plain file").unwrap();
    finds(&rig, "warning", "journal_folder");
    let engine = rig.start();
    assert!(engine.host.watch().borrow().board.notes.iter().all(|n| n.code != "source_failed"));
    assert_eq!(std::fs::read_to_string(&hooks).unwrap(), "a plain file");
}

#[test]
fn p3_what_became_of_a_settings_file_that_does_not_parse_is_said_as_it_is_with_one_way_out() {
    let rig = Rig::new();
    let folder = rig.config().config_dir;
    let file = folder.join("settings.json");
    std::fs::create_dir_all(&folder).unwrap();
    let write = || std::fs::write(&file, r#"{"tracing":{"enabled":true},}"#).unwrap();
    let told = |code: &str| {
        let message = finds(&rig, "warning", code);
        let doc = rig.json(&["doctor", "--json"]);
        let found = doc["findings"].as_array().unwrap().iter().find(|f| f["code"] == code).unwrap().clone();
        let advice = found["advice"].as_str().unwrap().to_owned();
        assert!(!message.contains(&advice) && !message.contains("Correct it"), "twice: {found}");
        (message, advice)
    };
    // A folder in its place is never put aside, however slow this machine is.
    std::fs::create_dir(&file).unwrap();
    let (message, advice) = told("settings_unreadable");
    assert!(message.contains("settings.json is not a plain file"), "{message}");
    assert_eq!(advice, "Correct it, or move it away.");
    std::fs::remove_dir(&file).unwrap();
    write();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    let (message, advice) = told("settings_reset");
    assert!(
        !file.exists() && message.contains("It is kept as ") && message.contains("settings.broken-"),
        "{message}"
    );
    assert!(advice.contains("give it back its name"), "{advice}");
    assert!(lacks(&rig, "settings_unreadable"));
}

#[test]
fn h7_a_hook_that_was_not_written_down_is_told_by_its_reason() {
    crate::hooks_install::hook_program();
    let rig = Rig::new();
    assert!(rig.agenthub(&["hooks", "install"]).status.success());
    let program = rig.data_dir().join("bin/agenthub-hook");
    let hooks = rig.data_dir().join("hooks");
    let start = |event: &str, stdin: &str| {
        use std::io::Write as _;
        let mut c = std::process::Command::new(&program);
        c.arg("--journal").arg(hooks.join("journal")).arg("--dropped").arg(hooks.join("dropped")).arg(event);
        c.env_remove("ANTIGRAVITY_CONVERSATION_ID").stdin(std::process::Stdio::piped());
        let mut child = c.spawn().unwrap();
        // It may have ended without reading.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        assert!(child.wait().unwrap().success());
    };
    start("Stop", "");
    start("Stop", "not json");
    start("Nonsense", "{}");
    start("Stop", "{}");
    for (code, words) in [
        ("empty", "came without a message"),
        ("bad_body", "no JSON object"),
        ("bad_id", "no conversation id"),
        ("unknown_event", "not an event"),
    ] {
        let told = finds(&rig, "note", &format!("hook_dropped_{code}"));
        assert!(told.starts_with("1 hook event was dropped: ") && told.contains(words), "{told}");
    }
    assert!(lacks(&rig, "hook_dropped_full"));
}
