//! `agenthub hooks` on files as people have them: what it writes, what it leaves, and what it refuses (H1 to H5, and
//! rows 77 to 100 of the reports about other tools).

#[cfg(unix)]
mod forwarder;
#[cfg(unix)]
mod unix;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use agenthub_engine::{
    Hooks,
    view::{DiffKind, FileChange, HooksAction, HooksPlan},
};
use serde_json::Value;

use crate::rig::{Rig, tree};

/// `agenthub-hook`, beside `agenthub`.
pub(crate) fn hook_program() -> PathBuf {
    agy_sim::built("agenthub-hook", "agenthub-hook").expect("agenthub-hook is built")
}

/// A home for one test, with the ways to look at it.
struct Home {
    rig: Rig,
}

impl Home {
    fn new() -> Home {
        hook_program();
        Home { rig: Rig::new() }
    }

    fn with(hooks_json: &str) -> Home {
        let home = Home::new();
        std::fs::write(home.hooks_json(), hooks_json).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.rig.home.root().join("config")
    }

    fn hooks_json(&self) -> PathBuf {
        self.config().join("hooks.json")
    }

    fn forwarder(&self) -> PathBuf {
        self.config().join("agenthub-hook.sh")
    }

    fn program(&self) -> PathBuf {
        self.rig.data_dir().join("bin/agenthub-hook")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.hooks_json()).unwrap()
    }

    fn hooks(&self, args: &[&str]) -> Output {
        self.rig.agenthub(&[&["hooks"], args].concat())
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let out = self.hooks(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        self.rig.json(&[&["hooks"], args, &["--json"]].concat())
    }

    fn state(&self) -> String {
        self.json(&["status"])["state"].as_str().unwrap().to_owned()
    }

    /// Fails with this code, and says what to do; nothing below agy's home has changed.
    #[track_caller]
    fn refuses(&self, args: &[&str], code: &str) -> String {
        let before = tree(self.rig.home.root());
        let out = self.hooks(&[args, &["--json"]].concat());
        assert_eq!(out.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&out.stdout));
        let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(doc["error"]["code"], code, "{doc}");
        assert_eq!(tree(self.rig.home.root()), before, "{code} changed something");
        let message = doc["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.len() > 40, "{message}");
        message
    }

    /// What agy gets from a hook's command.
    fn fires(&self, event: &str) -> Output {
        let doc: Value = serde_json::from_str(&self.text()).unwrap();
        let entry = &doc["agenthub"][event][0];
        let command = entry["hooks"][0]["command"].as_str().or(entry["command"].as_str()).unwrap();
        let sh = |c: &mut Command| c.output().unwrap();
        let mut c = Command::new("sh");
        // As a start from nowhere has it (H7), in agy's folder.
        sh(c.args(["-c", command]).env_clear().current_dir(self.config()))
    }
}

#[track_caller]
fn is_the_answer(out: &Output) {
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(out.stdout, b"{}\n");
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
}

const OTHERS: &str = "{\n    \"lint\" : {\"Stop\":[{\"command\": \"beep\", \"timeout\": 3}], \"n\": 1.50, \"e\": 1e2},\n    \"z\": {}\n}\n";

#[test]
fn h1_installed_it_has_three_events_and_fires() {
    let home = Home::new();
    let said = home.done(&["install"]);
    assert!(said.contains("+  \"agenthub\": {") && said.contains("Installed."), "{said}");
    let doc: Value = serde_json::from_str(&home.text()).unwrap();
    let ours = doc["agenthub"].as_object().unwrap();
    assert_eq!(ours.keys().collect::<Vec<_>>(), ["PostToolUse", "PreInvocation", "Stop"]);
    let path = home.forwarder();
    for event in ["PreInvocation", "Stop"] {
        let handler = &ours[event][0];
        assert_eq!(handler["command"], format!("'{}' {event}", path.display()));
        assert_eq!((&handler["type"], &handler["timeout"]), (&"command".into(), &5.into()));
    }
    assert_eq!(ours["PostToolUse"][0]["matcher"], "*");
    for event in ["PreInvocation", "PostToolUse", "Stop"] {
        is_the_answer(&home.fires(event));
    }
    assert_eq!(home.state(), "installed");
}

#[test]
fn h2_everything_else_keeps_its_bytes_and_removing_gives_the_original() {
    for before in [
        OTHERS,
        "{}",
        "{}\n",
        "{ }",
        "{\r\n\t\"a\": {}\r\n}\r\n",
        "{\"a\":{},\"a\":{}}",
        "{\"\\ud800\": {\"n\": \"\\udfff\"}}",
        "\n\n{\n}",
    ] {
        let home = Home::with(before);
        home.done(&["install"]);
        assert_ne!(home.text(), before);
        home.done(&["remove"]);
        assert_eq!(home.text(), before);
        assert!(!home.forwarder().exists() && !home.program().exists());
    }
}

#[test]
fn h2_a_file_that_was_not_there_goes_again() {
    let home = Home::new();
    std::fs::remove_dir_all(home.config()).unwrap();
    home.done(&["install"]);
    home.done(&["remove"]);
    assert!(!home.config().exists());
    // One to which somebody has added since stays.
    home.done(&["install"]);
    std::fs::write(home.hooks_json(), home.text().replacen('{', "{\"mine\": {},", 1)).unwrap();
    home.done(&["remove"]);
    assert_eq!(home.text(), "{\"mine\": {}\n}\n");
}

#[test]
fn h2_undo_restores_what_was_and_again_what_came() {
    let home = Home::with(OTHERS);
    home.refuses(&["undo"], "not_found");
    home.done(&["install"]);
    let installed = home.text();
    home.done(&["undo"]);
    assert_eq!(home.text(), OTHERS);
    assert!(!home.forwarder().exists());
    home.done(&["undo"]);
    assert_eq!(home.text(), installed);
    is_the_answer(&home.fires("Stop"));
    home.done(&["remove"]);
    home.done(&["undo"]);
    assert_eq!(home.text(), installed);
    assert_eq!(home.state(), "installed");
    // What was changed since would be lost.
    std::fs::write(home.hooks_json(), format!("{installed}\n")).unwrap();
    std::fs::write(home.hooks_json(), installed.replace("\"timeout\": 3", "\"timeout\": 4")).unwrap();
    let said = home.refuses(&["undo"], "ECHANGED");
    let lines: Vec<&str> = said.lines().filter(|l| l.starts_with(['+', '-'])).collect();
    assert!(
        lines.len() == 2 && lines[0].contains("\"timeout\": 3") && lines[1].contains("\"timeout\": 4"),
        "{said}"
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let home = Home::with(OTHERS);
    let before = tree(home.rig.home.root());
    let said = home.done(&["install", "--dry-run"]);
    assert!(said.contains("+    \"agenthub\": {") && said.contains("Nothing was written"), "{said}");
    let plan = home.json(&["install", "--dry-run"]);
    assert_eq!((&plan["changes"], &plan["applied"]), (&true.into(), &false.into()));
    home.done(&["remove", "--dry-run"]);
    assert_eq!(tree(home.rig.home.root()), before);
    assert_eq!(home.json(&["install"])["applied"], true);
    assert_eq!(home.json(&["install"])["changes"], false);
}

#[test]
fn h3_what_is_not_agys_json_is_refused_with_its_place() {
    for (text, place) in [
        ("[]", "line 1, column 1"),
        ("", "line 1, column 1"),
        ("{\n  // mine\n  \"a\": {}\n}", "line 2, column 3"),
        ("{\"a\": {},\r\n}", "line 2, column 1"),
        ("\u{feff}{}", "line 1, column 1"),
        ("{\"a\" {}}", "line 1, column 6"),
    ] {
        let home = Home::with(text);
        for action in ["install", "remove"] {
            let said = home.refuses(&[action], "EBADJSON");
            assert!(said.contains(place), "{text:?}: {said}");
        }
        assert_eq!(home.state(), "unreadable");
    }
}

#[test]
fn h3_a_file_that_agy_drops_is_not_added_to() {
    let home = Home::with(r#"{"bad": {"Stop": [{"matcher": "*", "hooks": []}]}}"#);
    assert!(home.refuses(&["install"], "EBADSHAPE").contains("`bad.Stop[0]`"));
    let flat = Home::with(r#"{"a": {"PostToolUse": [{"command": "x"}]}}"#);
    assert!(flat.done(&["install"]).contains("Warning: `a.PostToolUse[0]` never fires"));
}

#[test]
fn h5_another_pre_tool_use_works_and_is_told() {
    let home = Home::with(r#"{"guard": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": "x"}]}]}}"#);
    let said = home.done(&["install"]);
    assert!(said.contains("Warning: The hook `guard` has PreToolUse"), "{said}");
    assert_eq!(home.json(&["install"])["warnings"][0]["code"], "pre_tool_use");
    assert_eq!(home.json(&["status"])["pre_tool_use"], serde_json::json!(["guard"]));
    assert!(home.done(&["status"]).contains("guard"));
}

#[test]
fn h1_another_post_tool_use_keeps_ours_out() {
    let home = Home::with(r#"{"guard": {"PostToolUse": [{"matcher": "*", "hooks": [{"command": "x"}]}]}}"#);
    home.done(&["install"]);
    assert_eq!(home.text().matches("PostToolUse").count(), 1);
    let status = home.json(&["status"]);
    assert_eq!((&status["state"], &status["events"][1]["state"]), (&"installed".into(), &"left_out".into()));
}

#[test]
fn h4_somebody_elses_hook_and_script_are_never_touched() {
    let hook = Home::with(r#"{"agenthub": {"Stop": [{"command": "their-own"}]}}"#);
    for action in ["install", "remove"] {
        hook.refuses(&[action], "EFOREIGN");
    }
    let status = hook.json(&["status"]);
    assert_eq!((&status["state"], &status["error"]["code"]), (&"foreign".into(), &"EFOREIGN".into()));

    let script = Home::with(OTHERS);
    std::fs::write(script.forwarder(), "#!/bin/sh\necho mine\n").unwrap();
    script.refuses(&["install"], "EFOREIGN");
    let folder = Home::with(OTHERS);
    std::fs::create_dir(folder.forwarder()).unwrap();
    folder.refuses(&["install"], "EFOREIGN");

    // Put there after the installation: our entry goes, the script stays.
    let home = Home::with(OTHERS);
    home.done(&["install"]);
    std::fs::write(home.forwarder(), "#!/bin/sh\necho mine\n").unwrap();
    assert_eq!(home.state(), "foreign");
    home.refuses(&["install"], "EFOREIGN");
    assert_eq!(home.json(&["remove"])["warnings"][0]["code"], "foreign_forwarder");
    assert_eq!(home.text(), OTHERS);
    assert_eq!(std::fs::read_to_string(home.forwarder()).unwrap(), "#!/bin/sh\necho mine\n");
}

#[test]
fn h3_a_file_that_changed_since_it_was_shown_is_not_written() {
    let home = Home::with(OTHERS);
    let hooks = Hooks::new(&home.rig.config()).unwrap();
    let plan = hooks.plan(HooksAction::Install).unwrap();
    let mine = OTHERS.replace("beep", "boop");
    std::fs::write(home.hooks_json(), &mine).unwrap();
    assert_eq!(hooks.apply(&plan.token).unwrap_err().code, "ECHANGED");
    assert_eq!(home.text(), mine);
    assert!(!home.forwarder().exists());
    assert_eq!(hooks.apply("no token").unwrap_err().code, "bad_request");
    // Its difference is shown anew.
    assert_ne!(hooks.plan(HooksAction::Install).unwrap().token, plan.token);
}

#[test]
fn w3_what_becomes_of_the_script_is_shown_before_it_is_written() {
    let home = Home::with(OTHERS);
    let hooks = Hooks::new(&home.rig.config()).unwrap();
    let kinds = |plan: &HooksPlan| -> Vec<DiffKind> {
        plan.forwarder_difference.iter().map(|l| l.kind).filter(|k| *k != DiffKind::Place).collect()
    };
    let text = |plan: &HooksPlan, kind: DiffKind| -> String {
        let lines = plan.forwarder_difference.iter().filter(|l| l.kind == kind);
        lines.map(|l| format!("{}\n", l.text)).collect()
    };
    let plan = hooks.plan(HooksAction::Install).unwrap();
    assert_eq!(plan.forwarder_change, FileChange::Created);
    assert!(!home.forwarder().exists());
    home.done(&["install"]);
    let script = std::fs::read_to_string(home.forwarder()).unwrap();
    assert_eq!(text(&plan, DiffKind::Added), script, "every line of it");

    let again = hooks.plan(HooksAction::Install).unwrap();
    assert_eq!((again.forwarder_change, again.changes), (FileChange::None, false));
    assert!(again.forwarder_difference.is_empty());

    // One line of it differs: only that shows as changed.
    std::fs::write(home.forwarder(), script.replacen("exit 0", "exit  0", 1)).unwrap();
    let refresh = hooks.plan(HooksAction::Install).unwrap();
    assert_eq!(refresh.forwarder_change, FileChange::Changed);
    assert_eq!(kinds(&refresh).iter().filter(|k| **k == DiffKind::Removed).count(), 1);
    home.done(&["install"]);

    let remove = hooks.plan(HooksAction::Remove).unwrap();
    assert_eq!((remove.forwarder_change, text(&remove, DiffKind::Removed)), (FileChange::Removed, script));
}

#[test]
fn w3_our_part_of_a_file_in_one_long_line_is_shown() {
    let long = format!("{{\"lint\": {{\"note\": \"{}\", \"Stop\": []}}}}", "x".repeat(5_000));
    let home = Home::with(&long);
    let said = home.done(&["install", "--dry-run"]);
    for part in ["\"agenthub\":{\"PreInvocation\":", "agenthub-hook.sh' Stop", "\"timeout\":5"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.len() < 3_000, "what stays is cut: {said}");
    home.done(&["install"]);
    assert!(home.done(&["remove"]).contains("agenthub-hook.sh' Stop"));
    assert_eq!(home.text(), long);
}

#[test]
fn h2_folders_that_installing_made_go_with_the_hook() {
    let home = Home::new();
    std::fs::remove_dir_all(home.config()).unwrap();
    home.done(&["install"]);
    assert!(home.forwarder().exists());
    home.done(&["remove"]);
    assert!(!home.config().exists());
    // One in which something else stands by then stays, and so does one that was there before.
    home.done(&["install"]);
    std::fs::write(home.config().join("mine"), "").unwrap();
    home.done(&["remove"]);
    assert!(home.config().join("mine").exists());
    std::fs::remove_file(home.config().join("mine")).unwrap();
    let home = Home::new();
    home.done(&["install"]);
    home.done(&["remove"]);
    assert!(home.config().is_dir());
}

#[test]
fn h7_a_hook_program_that_is_nowhere_is_said_before_anything_is_written() {
    let home = Home::with(OTHERS);
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join(format!("agenthub{}", std::env::consts::EXE_SUFFIX));
    std::fs::copy(env!("CARGO_BIN_EXE_agenthub"), &alone).unwrap();
    let run = |args: &[&str]| {
        let mut c = Command::new(&alone);
        let known = home.rig.command(&[]);
        c.args(args).envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))));
        c.env_remove("AGENTHUB_HOOK_PROGRAM").env("PATH", folder.path());
        loop {
            match c.output() {
                // Another test started a program while the copy was written: until that one runs, it has the copy open too.
                Err(busy) if busy.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::yield_now();
                }
                ended => return ended.unwrap(),
            }
        }
    };
    let before = tree(home.rig.home.root());
    for args in [&["hooks", "install", "--dry-run"][..], &["hooks", "install"]] {
        let out = run(args);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("`agenthub-hook") && said.contains("AGENTHUB_HOOK_PROGRAM"), "{said}");
    }
    assert_eq!(tree(home.rig.home.root()), before);
    // A copy that went is brought again, though agy's files need no change.
    home.done(&["install"]);
    std::fs::remove_file(home.program()).unwrap();
    assert_eq!(home.state(), "target_missing");
    assert!(!run(&["hooks", "install"]).status.success());
    home.done(&["install"]);
    assert_eq!((home.state().as_str(), home.program().exists()), ("installed", true));
}

#[test]
fn h3_a_file_of_ten_megabytes_is_refused() {
    let home = Home::with(&format!("{{\"a\": {{\"note\": \"{}\"}}}}", "x".repeat(10 << 20)));
    home.refuses(&["install"], "ETOOBIG");
    assert_eq!(home.state(), "unreadable");
}

#[test]
fn h7_a_path_that_no_script_can_name_is_refused() {
    let home = Home::new();
    let odd = home.rig.data_dir().join("a\nb");
    let out = home.rig.command(&["hooks", "install", "--data-dir", odd.to_str().unwrap()]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!home.hooks_json().exists() && !home.forwarder().exists());
}

#[test]
fn p5_gemini_clis_own_files_stay_byte_for_byte() {
    let home = Home::with(OTHERS);
    let root = home.rig.home.root().to_owned();
    std::fs::write(root.join("settings.json"), "{ \"hooks\": {} }\r\n").unwrap();
    std::fs::write(root.join("GEMINI.md"), "# mine").unwrap();
    std::fs::create_dir_all(root.join("tmp/abc")).unwrap();
    std::fs::write(root.join("tmp/abc/logs.json"), "[]").unwrap();
    std::fs::write(root.join("config/other.json"), "{}").unwrap();
    let others = || {
        let mut all = tree(&root);
        // The folder's own times change with the files that are renamed in it.
        all.retain(|p, _| ![home.config(), home.hooks_json(), home.forwarder()].contains(p));
        all
    };
    let before = others();
    home.done(&["install"]);
    home.done(&["status"]);
    drop(home.rig.start());
    home.done(&["undo"]);
    home.done(&["undo"]);
    home.done(&["remove"]);
    assert_eq!(others(), before);
}

#[test]
fn h4_removed_stays_removed_over_restarts() {
    let home = Home::with(OTHERS);
    home.done(&["install"]);
    home.done(&["remove"]);
    let before = tree(home.rig.home.root());
    drop(home.rig.start());
    drop(home.rig.start());
    assert_eq!(tree(home.rig.home.root()), before);
    assert_eq!(home.state(), "not_installed");
}

#[test]
fn h4_a_start_refreshes_a_stale_forwarder_and_nothing_else() {
    let home = Home::with(OTHERS);
    home.done(&["install"]);
    let (right, json) = (std::fs::read_to_string(home.forwarder()).unwrap(), tree(&home.config()));
    // Current: not even renamed.
    drop(home.rig.start());
    assert_eq!(tree(&home.config()), json);

    std::fs::write(home.forwarder(), right.replace("exit 0", "exit 0 # old")).unwrap();
    assert_eq!(home.state(), "stale_command");
    drop(home.rig.start());
    assert_eq!(std::fs::read_to_string(home.forwarder()).unwrap(), right);
    std::fs::remove_file(home.forwarder()).unwrap();
    assert_eq!(home.state(), "target_missing");
    drop(home.rig.start());
    is_the_answer(&home.fires("Stop"));

    // Another build's is left alone while its program is there, and so is a newer one, and a stranger's.
    let others = right.replace(&home.rig.data_dir().display().to_string(), "/other");
    let alive = others.replace("program='/other/bin/agenthub-hook'", "program='/bin/sh'");
    let newer = right.replace("forwarder v1", "forwarder v9");
    for kept in [alive.as_str(), newer.as_str(), "#!/bin/sh\necho mine\n"] {
        std::fs::write(home.forwarder(), kept).unwrap();
        drop(home.rig.start());
        assert_eq!(std::fs::read_to_string(home.forwarder()).unwrap(), kept);
    }
    // One whose program is gone is not.
    std::fs::write(home.forwarder(), &others).unwrap();
    drop(home.rig.start());
    assert_eq!(std::fs::read_to_string(home.forwarder()).unwrap(), right);
    // The switch.
    std::fs::create_dir_all(home.rig.config().config_dir).unwrap();
    std::fs::write(home.rig.config().config_dir.join("settings.json"), "{\"refresh_hooks\": false}").unwrap();
    std::fs::write(home.forwarder(), &others).unwrap();
    drop(home.rig.start());
    assert_eq!(std::fs::read_to_string(home.forwarder()).unwrap(), others);
}

#[test]
fn h5_switched_off_and_stale_are_told_apart() {
    let home = Home::with("{}");
    home.done(&["install"]);
    let on = home.text();
    std::fs::write(home.hooks_json(), on.replace("\"Stop\"", "\"enabled\": false, \"Stop\"")).unwrap();
    assert_eq!(home.state(), "switched_off");
    assert!(home.done(&["install"]).contains("switches it on again"));
    std::fs::write(home.hooks_json(), on.replace("config/agenthub-hook.sh", "moved/agenthub-hook.sh"))
        .unwrap();
    assert_eq!(home.state(), "stale_command");
    home.done(&["install"]);
    assert_eq!(home.text(), on);
    // Nothing in it starts our forwarder: it is somebody's.
    for theirs in [r#"{"agenthub": {}}"#, r#"{"agenthub": {"Stop": []}}"#] {
        std::fs::write(home.hooks_json(), theirs).unwrap();
        assert_eq!(home.state(), "foreign");
        for action in ["install", "remove"] {
            home.refuses(&[action], "EFOREIGN");
        }
        assert_eq!(home.text(), theirs);
    }
}

#[test]
fn p5_another_home_does_not_share_this_ones_data_folder() {
    let home = Home::new();
    home.done(&["install"]);
    let other = Rig::new();
    let gemini = other.home.root().to_string_lossy().into_owned();
    for args in [&["install"][..], &["remove"], &["undo"], &["status"]] {
        let out = home.rig.agenthub(&[&["--gemini-dir", &gemini, "hooks"], args, &["--json"]].concat());
        let doc: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(
            (out.status.code(), &doc["error"]["code"]),
            (Some(1), &Value::from("other_home")),
            "{args:?}"
        );
    }
    assert!(!other.home.root().join("config/hooks.json").exists());
    assert!(home.program().exists());
    assert_eq!(home.state(), "installed");
}
