//! Settings that change while the engine runs: by the person in this host, in another one, and with an editor.

use agenthub_engine::{Config, Options};
use agy_sim::{Call, Conversation, Turn};
use serde_json::json;

use crate::rig::{Rig, Watched, lane, uuid};

const CWD: &str = "/home/user/src/atlas";

fn minutes(watched: &Watched, n: u32) {
    watched.until("the other quiet window", |s| s.settings.values.quiet_minutes_without_hooks == n);
}

#[test]
fn p3_a_change_is_taken_up_at_once_here_and_in_the_other_host() {
    let rig = Rig::new();
    let engine = rig.start();
    let client = rig.start();
    engine.host.set_settings(&json!({"quiet_minutes_without_hooks": 3})).unwrap();
    minutes(&engine, 3);
    minutes(&client, 3);
    client.host.set_settings(&json!({"quiet_minutes_without_hooks": 4})).unwrap();
    minutes(&engine, 4);
    minutes(&client, 4);
    let refused = client.host.set_settings(&json!({"quiet_minutes_without_hooks": 0})).unwrap_err();
    assert_eq!(refused.code, "bad_settings");
    assert_eq!(client.host.settings(), engine.host.settings());
}

#[test]
fn p3_an_edit_by_hand_is_noticed_at_the_poll_and_what_is_wrong_in_it_is_said() {
    let rig = Rig::new();
    let watched = rig.start_with(Config { poll_ms: 250, ..rig.config() }, Options::default());
    let path = rig.config().config_dir.join("settings.json");
    std::fs::create_dir_all(rig.config().config_dir).unwrap();
    std::fs::write(&path, "{\"quiet_minutes_without_hooks\": 7, \"board_hours\": \"long\"}").unwrap();
    minutes(&watched, 7);
    let noted = |code: &str| {
        watched.until(code, |s| s.board.notes.iter().any(|n| n.code == code));
        let doctor = watched.host.doctor().unwrap();
        doctor.findings.into_iter().find(|f| f.code == code).expect("a finding").message
    };
    assert!(noted("settings_bad").contains("board_hours"));
    std::fs::write(&path, "{\"quiet_minutes_without_hooks\": 7").unwrap();
    minutes(&watched, 2);
    let said = watched.until("it is kept aside", |s| {
        s.board.notes.iter().any(|n| n.code == "settings_reset" && n.message.contains("settings.broken-"))
    });
    assert!(!path.exists(), "{:?}", said.0.board.notes);
    assert!(noted("settings_reset").contains("settings.broken-"));
    std::fs::write(&path, "{\"quiet_minutes_without_hooks\": 9}").unwrap();
    minutes(&watched, 9);
    watched.until("nothing to say", |s| !s.board.notes.iter().any(|n| n.code.starts_with("settings")));
}

#[test]
fn p3_a_command_that_puts_a_settings_file_aside_says_so_once_and_at_its_end() {
    crate::hooks_install::hook_program();
    let rig = Rig::new();
    let id = uuid();
    Conversation::new(&id)
        .cwd(CWD)
        .turn(Turn::prompt("Hello").call(Call::model(1016).tokens(10, 2, 0, 1)))
        .write(&rig.home)
        .unwrap();
    let folder = rig.config().config_dir;
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.json");
    for (args, works) in [
        (&["lanes"][..], true),
        (&["lanes", "--json"], true),
        (&["lanes", "--dismiss", "nobody"], false),
        (&["sessions"], true),
        (&["session", &id], true),
        (&["session", "nobody", "--json"], false),
        (&["usage", "--csv"], true),
        (&["pricing", "list"], true),
        (&["pricing", "set", "m", "--alias", "nobody"], false),
        (&["doctor", "--json"], true),
        (&["trace", "install", "--endpoint", "http://localhost:4318"], true),
    ] {
        std::fs::write(&file, "{ \"board_hours\": 4, }").unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        let out = rig.agenthub(args);
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.success(), works, "{args:?}: {said}");
        let lines: Vec<&str> = said.lines().collect();
        let at =
            lines.len().checked_sub(if works { 1 } else { 2 }).unwrap_or_else(|| panic!("{args:?}: {said}"));
        let told = lines[at];
        assert!(told.contains("settings.broken-") && told.ends_with("(settings_reset)"), "{args:?}: {said}");
        assert!(told.contains("a comma after the last entry"), "{args:?}: {said}");
        assert_eq!(said.matches("settings.broken-").count(), 1, "{args:?}: {said}");
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(args[0] != "lanes" || !text.contains("settings.broken-"), "twice: {text}");
    }
    // Later commands did not do it: a list says it as long as defaults are in force.
    std::fs::remove_file(&file).unwrap();
    let text = String::from_utf8(rig.agenthub(&["lanes"]).stdout).unwrap();
    assert!(text.contains("settings.broken-"), "{text}");
}

#[test]
fn l4_a_longer_board_window_brings_older_lanes_back_and_a_shorter_one_lets_them_go() {
    let rig = Rig::new();
    let twenty_hours_ago = agy_sim::At::now().plus_ms(-20 * 3_600_000);
    let turn = Turn::prompt("Go").call(Call::model(1016).tokens(10, 2, 0, 1));
    Conversation::new(&uuid()).cwd(CWD).at(twenty_hours_ago).turn(turn).write(&rig.home).unwrap();
    let watched = rig.start();
    let hours = |n: serde_json::Value| watched.host.set_settings(&json!({ "board_hours": n })).unwrap();
    assert!(lane(&watched.until("a board", |_| true).0, CWD).is_none());
    hours(json!(48));
    watched.until("the older lane", |s| lane(s, CWD).is_some());
    hours(json!(null));
    watched.until("no older lane", |s| lane(s, CWD).is_none());
}

#[test]
fn s8_days_are_cut_in_the_zone_that_was_set() {
    let rig = Rig::new();
    let usage = |env: Option<&str>| -> serde_json::Value {
        let mut c = rig.command(&["usage", "--json"]);
        match env {
            Some(tz) => c.env("TZ", tz),
            None => c.env_remove("TZ"),
        };
        serde_json::from_slice(&c.output().unwrap().stdout).unwrap()
    };
    assert_eq!(usage(Some("Asia/Kathmandu"))["time_zone"], "Asia/Kathmandu");
    assert_eq!(usage(Some("Mars/Olympus"))["time_zone"], "Etc/Unknown");
    let doctor = rig.command(&["doctor"]).env("TZ", "Mars/Olympus").output().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("Mars/Olympus"));

    rig.start().host.set_settings(&json!({"time_zone": "America/New_York"})).unwrap();
    assert_eq!(usage(Some("Mars/Olympus"))["time_zone"], "America/New_York");
    assert_eq!(rig.json(&["usage", "--tz", "UTC", "--json"])["time_zone"], "UTC");
}
