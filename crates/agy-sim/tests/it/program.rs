//! The program: `world` prints the right answers, `demo` gets ready and ends with its stdin.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use agy_sim::{Home, WorldSpec, build};

#[test]
fn world_prints_what_build_says() {
    let (home, other) = (Home::temp().unwrap(), Home::temp().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_agy-sim"))
        .args(["world", "--conversations", "3", "--calls", "20", "--seed", "5", "--home"])
        .arg(home.root())
        .output()
        .unwrap();
    assert!(output.status.success());
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let truth = build(&other, &WorldSpec::new(3, 20).seed(5)).unwrap();
    assert_eq!(printed, serde_json::to_value(truth).unwrap());
}

#[test]
fn demo_fills_a_home_and_ends_with_its_stdin() {
    let home = Home::temp().unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_agy-sim"))
        .args(["demo", "--home"])
        .arg(home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let names = || {
        std::fs::read_dir(home.conversations())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
    };
    assert!(names().filter(|name| name.ends_with(".db")).count() >= 60);
    drop(demo.stdin.take());
    assert!(demo.wait().unwrap().success());
    assert_eq!(names().filter(|name| name.ends_with("-wal")).count(), 0, "lanes are closed cleanly");
}

#[test]
#[cfg(unix)]
fn demo_runs_the_hooks_of_its_home_and_lives_with_their_answers() {
    let home = Home::temp().unwrap();
    // The worst of answers: each run is aborted.
    let command = r#"cat >> fired; echo >> fired; printf '{"decision":""}'"#;
    let hooks = serde_json::json!({"bad": {"PreInvocation": [{"type": "command", "command": command}]}});
    std::fs::write(home.hooks_file(), hooks.to_string()).unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_agy-sim"))
        .args(["demo", "--home"])
        .arg(home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let fired = || std::fs::read_to_string(home.root().join("config/fired")).unwrap_or_default();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // Lanes begin one after the other.
    while fired().lines().count() < 2 {
        assert!(std::time::Instant::now() < end && demo.try_wait().unwrap().is_none(), "{}", fired());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(demo.stdin.take());
    assert!(demo.wait().unwrap().success());
    let first: serde_json::Value = serde_json::from_str(fired().lines().next().unwrap()).unwrap();
    assert_eq!(first["invocationNum"], 0);
}
