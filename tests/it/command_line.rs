//! What every command owes a person and a script: codes, exit statuses, order, and an end.

use std::{
    io::Read as _,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use agy_sim::{WorldSpec, build};
use serde_json::Value;

use crate::rig::Rig;

/// The error's code and message, which stand on both outputs.
fn error(out: &Output) -> (String, String) {
    let doc: Value = serde_json::from_slice(&out.stdout).expect("one JSON document");
    let text = |key: &str| doc["error"][key].as_str().expect("a text").to_owned();
    assert!(!out.stderr.is_empty());
    (text("code"), text("message"))
}

#[test]
fn errors_have_a_code_and_an_exit_status() {
    let rig = Rig::new();
    let out = rig.agenthub(&["session", "00000000-0000-4000-8000-000000000000", "--json"]);
    assert_eq!((out.status.code(), error(&out).0.as_str()), (Some(1), "not_found"));
    let out = rig.agenthub(&["usage", "--tz", "Mars/Olympus", "--json"]);
    assert_eq!((out.status.code(), error(&out).0.as_str()), (Some(2), "bad_request"));
    let out =
        rig.command(&["lanes", "--json"]).env("DASHBOARD_ANTIGRAVITY_POLL_MS", "fast").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(error(&out).1.contains("DASHBOARD_ANTIGRAVITY_POLL_MS"));
}

#[test]
fn wrong_use_is_json_where_json_was_asked_for() {
    let rig = Rig::new();
    for args in [
        &["usage", "--by", "colour", "--json"][..],
        &["--json", "lanes"],
        &["session", "--json"],
        &["hooks", "install", "--json", "--quickly"],
        &["nothing", "--json"],
        &["watch", "--colour"],
    ] {
        let out = rig.agenthub(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        let (code, message) = error(&out);
        assert_eq!(code, "bad_request", "{args:?}");
        assert!(!message.is_empty() && !message.starts_with("error"), "{message}");
    }
    let plain = rig.agenthub(&["usage", "--by", "colour"]);
    assert_eq!((plain.status.code(), plain.stdout.len()), (Some(2), 0));
    let help = rig.agenthub(&["usage", "--json", "--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--since"));
}

#[test]
fn u20_the_biggest_use_stands_first_and_days_ascend() {
    let rig = Rig::new();
    build(&rig.home, &WorldSpec::new(12, 240)).unwrap();
    for by in ["model", "session", "project"] {
        let doc = rig.json(&["usage", "--by", by, "--json"]);
        let totals: Vec<i64> = doc["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["tokens"]["total"].as_i64().unwrap_or(-1))
            .collect();
        assert!(totals.is_sorted_by(|a, b| a >= b), "{by}: {totals:?}");
    }
    let doc = rig.json(&["usage", "--json"]);
    let days: Vec<&str> = doc["rows"].as_array().unwrap().iter().filter_map(|r| r["key"].as_str()).collect();
    assert!(!days.is_empty() && days.is_sorted(), "{days:?}");
}

#[test]
fn a_range_that_ends_before_it_begins_is_wrong_use() {
    let rig = Rig::new();
    let until = ["usage", "--since", "2026-11-30", "--until"];
    let ask = |to: &str| rig.agenthub(&[&until[..], &[to, "--json"]].concat());
    let out = ask("2026-11-29");
    assert_eq!((out.status.code(), error(&out).0.as_str()), (Some(2), "bad_request"));
    assert!(error(&out).1.contains("2026-11-29"));
    assert!(ask("2026-11-30").status.success());
    assert!(ask("9999-12-31").status.success());
    // A moment is none of its day's calls after it.
    for wrong in ["2026-11-30T00:00:00", "2026-11-30 00:00", "2026-11-29T23:59"] {
        let out = ask(wrong);
        assert_eq!((out.status.code(), error(&out).0.as_str()), (Some(2), "bad_request"), "{wrong}");
    }
    assert!(ask("2026-11-30T12:00").status.success());
}

#[test]
fn the_time_zone_is_told_where_days_are_and_an_unknown_one_is_said() {
    let rig = Rig::new();
    let text = |args: &[&str], tz: &str| {
        String::from_utf8(rig.command(args).env("TZ", tz).output().unwrap().stdout).unwrap()
    };
    assert!(text(&["usage"], "Europe/Berlin").contains("Days are cut in Europe/Berlin."));
    assert!(!text(&["usage", "--by", "model"], "Europe/Berlin").contains("Days are cut"));
    let nameless = text(&["usage"], "CET-1CEST,M3.5.0,M10.5.0/3");
    assert!(nameless.contains("the system's time zone."), "{nameless}");
    let unknown = text(&["usage"], "bogus");
    assert!(unknown.contains("UTC") && unknown.contains("`bogus`"), "{unknown}");
}

#[cfg(unix)]
#[test]
fn watch_ends_when_its_reader_goes() {
    let rig = Rig::new();
    let mut child = rig.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    // One line is there; then nothing changes any more, and nobody reads.
    assert_eq!(out.read(&mut [0u8; 1]).unwrap(), 1);
    drop(out);
    let patience = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < patience, "watch goes on for nobody");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    assert!(!rig.data_dir().join("hooks/doorbell").exists(), "it ended without tidying up");
}

#[cfg(unix)]
#[test]
fn watch_can_be_ended_while_its_reader_rests() {
    let rig = Rig::new();
    // A pipe that is full already.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut full = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || {
        use std::io::Write as _;
        // Ends with the reader.
        while full.write_all(&[b' '; 4096]).is_ok() {}
    });
    let mut child = rig.command(&["watch"]).stdout(writer).spawn().unwrap();
    let bell = rig.data_dir().join("hooks/doorbell");
    let patience = Instant::now() + Duration::from_secs(60);
    while !bell.exists() {
        assert!(Instant::now() < patience, "watch does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < patience, "watch does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(reader);
    filled.join().unwrap();
}

#[test]
fn commands_at_once_wait_for_each_other() {
    let rig = Rig::new();
    build(&rig.home, &WorldSpec::new(30, 300)).unwrap();
    let start = |args: &[&str]| {
        let mut command = rig.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let all = |runs: Vec<std::process::Child>| -> Vec<Value> {
        let end = |run: std::process::Child| {
            let out = run.wait_with_output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            serde_json::from_slice(&out.stdout).unwrap()
        };
        runs.into_iter().map(end).collect()
    };
    // The first look at a home, by several.
    let told = all((0..5).map(|_| start(&["usage", "--by", "day", "--json"])).collect());
    assert!(!told[0]["rows"].as_array().unwrap().is_empty(), "{}", told[0]);
    assert!(told.iter().all(|t| *t == told[0]));
    // What each one says stays.
    let models = ["gemini-3.8-flash-high", "gemini-3.7-flash", "gemini-3-flash-agent", "gemini-pro-default"];
    all(models.map(|m| start(&["pricing", "set", m, "--input", "1", "--json"])).into());
    let kept = rig.json(&["pricing", "list", "--json"]);
    for m in models {
        let of = |l: &&Value| l["model"] == m;
        let listed = kept["models"].as_array().unwrap().iter().find(of).expect("it has calls");
        assert!(listed["own"].is_object(), "{m}: {}", listed["own"]);
    }
}

#[test]
fn what_was_asked_wrongly_says_what_to_do() {
    let rig = Rig::new();
    let refused = |args: &[&str]| {
        let out = rig.agenthub(args);
        assert!(!out.status.success(), "{args:?}");
        String::from_utf8(out.stderr).unwrap()
    };
    let between = |since, until| refused(&["usage", "--tz", "UTC", "--since", since, "--until", until]);
    for same in ["2026-11-01T10:00", "2026-11-01T12:00+02:00"] {
        let text = between("2026-11-01T10:00", same);
        assert!(
            text.contains("is empty") && text.contains("later end") && !text.contains("xchange"),
            "{text}"
        );
    }
    for earlier in ["2026-11-01T09:00", "2026-11-01T09:50", "2026-10-31"] {
        assert!(between("2026-11-01T10:00", earlier).contains("Exchange the two"), "{earlier}");
    }
    let file = rig.data_dir().join("file");
    std::fs::create_dir_all(rig.data_dir()).unwrap();
    std::fs::write(&file, b"").unwrap();
    let out = rig.command(&["lanes"]).env("AGENTHUB_DATA_DIR", file.join("inside")).output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(
        !out.status.success() && text.contains("can't be made") && text.contains("AGENTHUB_DATA_DIR"),
        "{text}"
    );
}

/// What was typed comes back in an error, and may drive the terminal as little as fill it.
#[test]
fn q01_an_error_repeats_nothing_that_drives_a_terminal() {
    let rig = Rig::new();
    let long = format!("\u{1b}[31m\u{202e}{}", "x".repeat(20_000));
    for args in [["session", &long], ["open", &long], ["usage", &format!("--since={long}")]] {
        let said = rig.command(&args).env("DISPLAY", ":none").output().unwrap().stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("agenthub: ") && said.len() < 10_000, "{}: {said}", said.len());
        assert!(!said.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{said:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_can_not_be_written_says_that_it_is_the_answer() {
    let rig = Rig::new();
    for args in [&["lanes"][..], &["lanes", "--json"], &["usage", "--csv"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let out = rig.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("standard output") && said.contains("(io)"), "{said}");
    }
}
