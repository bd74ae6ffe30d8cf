//! What agy gets from the installed forwarder, whatever becomes of AgentHub (H6, H7).

use super::*;

#[test]
fn h6_without_its_program_the_forwarder_still_answers() {
    let home = Home::new();
    home.done(&["install"]);
    std::fs::remove_file(home.program()).unwrap();
    is_the_answer(&home.fires("PreInvocation"));
    assert_eq!(home.state(), "target_missing");
    // Half installed, and a folder in its place.
    std::fs::write(home.program(), "").unwrap();
    is_the_answer(&home.fires("PreInvocation"));
    std::fs::remove_file(home.program()).unwrap();
    std::fs::create_dir(home.program()).unwrap();
    is_the_answer(&home.fires("Stop"));
    std::fs::remove_dir_all(home.rig.data_dir()).unwrap();
    is_the_answer(&home.fires("Stop"));
}

#[test]
fn h6_whatever_comes_in_and_however_it_ends_the_answer_is_one_pair_of_braces() {
    use std::{io::Write, process::Stdio, time::Instant};
    let home = Home::new();
    home.done(&["install"]);
    let fires = |event: &str, input: &[u8]| {
        let mut c = Command::new(home.forwarder());
        c.arg(event).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = c.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that crashes reads nothing.
        let _ = stdin.write_all(input);
        drop(stdin);
        is_the_answer(&child.wait_with_output().unwrap());
    };
    for event in ["PreInvocation", "PostToolUse", "Stop", "PreToolUse", "", "-n", "$(echo x)", "a\nb"] {
        for input in [&b""[..], b"{}", b"not json", b"\xff\0", &[b'x'; 3 << 20]] {
            fires(event, input);
        }
    }
    // Never closed: the answer is there at once, the end within two seconds.
    let began = Instant::now();
    let mut c = Command::new(home.forwarder());
    let mut child = c.arg("Stop").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let mut answer = [0u8; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut answer).unwrap();
    assert!(&answer == b"{}\n" && began.elapsed().as_millis() < 1_000);
    assert!(child.wait().unwrap().success());
    assert!(began.elapsed().as_millis() < 2_000, "{:?}", began.elapsed());
    drop(open);
    // Programs that crash, talk, or fail, and a journal that can't be.
    for program in ["kill -9 $$", "kill -SEGV $$", "echo talk; echo talk >&2; exit 2"] {
        std::fs::remove_file(home.program()).unwrap();
        std::fs::write(home.program(), format!("#!/bin/sh\n{program}\n")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(home.program()).status().unwrap().success());
        let mut c = Command::new(home.forwarder());
        let out = c.arg("Stop").stdin(Stdio::null()).output().unwrap();
        assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(0), &b"{}\n"[..]), "{program}");
    }
    home.done(&["install"]);
    std::fs::remove_dir_all(home.rig.data_dir().join("hooks")).unwrap();
    std::fs::write(home.rig.data_dir().join("hooks"), "a file").unwrap();
    fires("Stop", b"{}");
}

#[test]
fn h7_paths_with_spaces_and_quotes_work() {
    let home = Home::new();
    let base = home.rig.data_dir().join("it's a \"home\" $HOME `x`");
    let gemini = base.join(".gemini");
    std::fs::create_dir_all(&gemini).unwrap();
    let data = base.join("data; exit 7");
    let mut c = home.rig.command(&["hooks", "install"]);
    c.arg("--gemini-dir").arg(&gemini).arg("--data-dir").arg(&data);
    assert!(c.output().unwrap().status.success());
    let doc: Value =
        serde_json::from_slice(&std::fs::read(gemini.join("config/hooks.json")).unwrap()).unwrap();
    let command = doc["agenthub"]["Stop"][0]["command"].as_str().unwrap();
    let mut sh = Command::new("sh");
    sh.args(["-c", command]).env_clear().env("ANTIGRAVITY_CONVERSATION_ID", crate::rig::uuid());
    is_the_answer(&sh.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(data.join("hooks/journal").exists());
}

#[test]
fn h1_the_event_reaches_the_journal() {
    let home = Home::new();
    home.done(&["install"]);
    assert_eq!(home.json(&["status"])["last_event_at"], Value::Null);
    let mut c = Command::new("sh");
    let id = crate::rig::uuid();
    c.args(["-c", &format!("'{}' Stop", home.forwarder().display())]).env("ANTIGRAVITY_CONVERSATION_ID", &id);
    is_the_answer(&c.stdin(std::process::Stdio::null()).output().unwrap());
    let journal = std::fs::read_to_string(home.rig.data_dir().join("hooks/journal")).unwrap();
    assert!(journal.starts_with("AH1 ") && journal.contains(&id), "{journal}");
    assert_ne!(home.json(&["status"])["last_event_at"], Value::Null);
}
