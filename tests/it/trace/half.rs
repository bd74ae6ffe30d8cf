//! That tracing is never on without its hook, whatever can't be written: what fails leaves all as it was (R1, H7).

use agenthub_engine::{Clock, tracer::Tracer};

use super::{
    setup::{config_file, hooks_json, ok, settings},
    *,
};
use crate::incomplete::without_room;

const HOME: [&str; 4] = ["trace", "install", "--endpoint", "http://localhost:4318"];

/// Hooks of somebody's that are longer than any file may be where there is no room.
fn theirs(rig: &Rig) -> String {
    let beeps = "x".repeat(40_000);
    let text = format!(
        "{{\n  \"mine\": {{\"Stop\": [{{\"type\": \"command\", \"command\": \"beep {beeps}\"}}]}}\n}}\n"
    );
    std::fs::create_dir_all(hooks_json(rig).parent().unwrap()).unwrap();
    std::fs::write(hooks_json(rig), &text).unwrap();
    text
}

/// What tracing's hook is made of: its script, and the program that this starts.
fn left(rig: &Rig) -> Vec<std::path::PathBuf> {
    let made = [hooks_json(rig).with_file_name("agenthub-tracing.sh"), rig.data_dir().join("bin/agenthub")];
    made.into_iter().filter(|path| path.exists()).collect()
}

/// Makes settings.json one that nobody can write, root included, for as long as `then` takes.
fn unwritable<T>(rig: &Rig, then: impl FnOnce() -> T) -> T {
    let lock = config_file(rig, ".settings.lock");
    let _ = std::fs::remove_file(&lock);
    std::fs::create_dir_all(&lock).unwrap();
    let done = then();
    std::fs::remove_dir(&lock).unwrap();
    done
}

#[track_caller]
fn refused(out: &std::process::Output) -> String {
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    said
}

#[test]
fn h7_where_the_hook_finds_no_room_tracing_stays_off() {
    let rig = Rig::new();
    let theirs = theirs(&rig);
    let said = refused(&without_room(&rig, 64, &HOME));
    assert!(said.contains("room"), "{said}");
    let status = rig.json(&["trace", "status", "--json"]);
    assert_eq!(
        (status["enabled"].clone(), status["hook"]["state"].clone()),
        (json!(false), json!("not_installed"))
    );
    assert_eq!(status["destinations"], json!([]), "nothing is half done");
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), theirs);
    assert_eq!(left(&rig), Vec::<std::path::PathBuf>::new());
    // With room the same command does all of it.
    ok(&rig, &HOME);
    assert_eq!(rig.json(&["trace", "status", "--json"])["enabled"], true);
    assert_eq!(left(&rig).len(), 2);
}

#[test]
fn h7_where_the_settings_can_not_be_written_the_hook_goes_again() {
    let rig = Rig::new();
    let theirs = theirs(&rig);
    let said = unwritable(&rig, || refused(&rig.agenthub(&HOME)));
    assert!(said.contains("settings.json"), "{said}");
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), theirs, "to the byte");
    assert_eq!(left(&rig), Vec::<std::path::PathBuf>::new());
    assert_eq!(rig.json(&["trace", "status", "--json"])["enabled"], false);
    // A hook that was there before stays, and so does what it sends.
    ok(&rig, &HOME);
    let there = std::fs::read_to_string(hooks_json(&rig)).unwrap();
    unwritable(&rig, || refused(&rig.agenthub(&["trace", "install", "--endpoint", "http://localhost:9999"])));
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), there);
    assert_eq!(rig.json(&["trace", "status", "--json"])["enabled"], true);
}

#[test]
fn h7_a_hook_goes_only_when_tracing_could_be_switched_off() {
    let rig = Rig::new();
    let theirs = theirs(&rig);
    ok(&rig, &HOME);
    let there = std::fs::read_to_string(hooks_json(&rig)).unwrap();
    let stands = || {
        assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), there);
        assert_eq!(left(&rig).len(), 2);
        let status = rig.json(&["trace", "status", "--json"]);
        assert_eq!(
            (status["enabled"].clone(), status["hook"]["state"].clone()),
            (json!(true), json!("installed"))
        );
    };
    unwritable(&rig, || refused(&rig.agenthub(&["trace", "uninstall"])));
    stands();
    unwritable(&rig, || refused(&rig.agenthub(&["trace", "uninstall", "--purge"])));
    stands();
    let tracer = Tracer::new(&rig.config(), Clock::System).unwrap();
    let shown = tracer.undo(None).unwrap();
    unwritable(&rig, || tracer.undo(Some(&shown.token)).unwrap_err());
    stands();
    // And the other way round: a hook that can't be taken away goes on sending.
    let said = refused(&without_room(&rig, 64, &["trace", "uninstall"]));
    assert!(said.contains("room"), "{said}");
    stands();
    ok(&rig, &["trace", "uninstall"]);
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), theirs);
    assert_eq!(settings(&rig)["tracing"]["enabled"], false);
}

#[test]
fn h7_where_a_header_finds_no_room_the_destination_stays_where_it_was_with_its_own() {
    let rig = Rig::new();
    ok(&rig, &[&HOME[..], &["--header", "x-key: planted-secret-value"]].concat());
    let (before, key) = (settings(&rig), std::fs::read_to_string(config_file(&rig, "secrets.json")).unwrap());
    let long = format!("x-other: {}", "y".repeat(3_000));
    let moved = ["trace", "install", "--endpoint", "http://localhost:9999", "--header", &long];
    let said = refused(&without_room(&rig, 4, &moved));
    assert!(said.contains("secrets.json") && said.contains("room"), "{said}");
    assert_eq!(settings(&rig), before);
    assert_eq!(std::fs::read_to_string(config_file(&rig, "secrets.json")).unwrap(), key);
    // Nor does a key get lost whose destination could not be moved.
    unwritable(&rig, || refused(&rig.agenthub(&moved)));
    assert_eq!(std::fs::read_to_string(config_file(&rig, "secrets.json")).unwrap(), key);
}
