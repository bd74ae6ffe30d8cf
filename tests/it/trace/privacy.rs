//! What may leave (R9, R10, Q4): planted secrets must be found neither in what goes out nor in what is kept.

use super::*;

/// A prompt, an answer, arguments and a result, each with something that must not leave. Put together at run time, for
/// scanners of repositories would rightly complain of it.
fn planted() -> [String; 5] {
    let x = |n: usize| "aB3dE6gH9kL2mN5pQ8sT1vW4yZ7cF0".chars().cycle().take(n).collect::<String>();
    [
        format!("AIza{}", x(35)),
        format!("ghp_{}", x(36)),
        format!("hunter2-{}", x(10)),
        "planted.person@example.com".to_owned(),
        "/home/planted-person/src".to_owned(),
    ]
}

fn play(t: &Traced) -> [String; 5] {
    let secrets = planted();
    let [key, token, password, address, folder] = &secrets;
    let mut agy = t.agy(&uuid());
    agy.prompt(&format!("SAID use {key} and write to {address}")).unwrap();
    agy.call_begins().unwrap();
    let args = json!({"CommandLine": format!("TYPED curl -H 'Authorization: Bearer {token}' {folder}/x")});
    let call = plain_call()
        .text(&format!("ANSWERED I use {token} in {folder}"))
        .thinking(&format!("THOUGHT the password: {password}"))
        .tool("run_command", args.clone());
    agy.call_ends(&call).unwrap();
    agy.tool_begins("run_command", args).unwrap();
    agy.tool_ends(ToolEnd::Ok(format!("PRINTED password={password} {address} in {folder}"))).unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&plain_call().text("ANSWERED done")).unwrap();
    agy.end_turn().unwrap();
    t.until("the turn", |s| distinct(s).len() == 4);
    agy.close().unwrap();
    secrets
}

/// Everything that went out, and everything that the tracer keeps.
fn everywhere(t: &Traced) -> String {
    let mut text = format!("{:?}", t.backend.spans());
    for path in t.files("", "") {
        text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()));
    }
    text
}

const MARKS: [&str; 5] = ["SAID", "ANSWERED", "THOUGHT", "TYPED", "PRINTED"];

#[test]
fn r10_by_default_nothing_that_was_written_leaves() {
    let t = Traced::new();
    let secrets = play(&t);
    let text = everywhere(&t);
    for word in MARKS.iter().map(ToString::to_string).chain(secrets) {
        assert!(!text.contains(&word), "{word}");
    }
    assert!(!text.contains("sim@example.com"), "nor who is signed in");
}

#[test]
fn r10_q4_with_every_switch_on_the_secrets_still_do_not_leave_nor_reach_a_log() {
    let t = Traced::new();
    let path = t.rig.config().config_dir.join("settings.json");
    let mut settings: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings["tracing"]["content"] =
        json!({"prompts": true, "answers": true, "thinking": true, "arguments": true, "results": true});
    std::fs::write(&path, settings.to_string()).unwrap();
    let secrets = play(&t);
    let text = everywhere(&t);
    for secret in &secrets {
        assert!(!text.contains(secret), "{secret}");
    }
    for mark in MARKS {
        assert!(text.contains(mark), "{mark} is switched on");
    }
    // Everything that can be logged.
    let out =
        t.rig.command(&["trace", "work", "--limit-s", "5"]).env("AGENTHUB_LOG", "trace").output().unwrap();
    let log = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    for word in secrets.iter().map(String::as_str).chain(MARKS).chain(["sim@example.com"]) {
        assert!(!log.contains(word), "{word} in a log: {log}");
    }
}

#[test]
fn r9_a_user_is_named_only_as_the_person_chose() {
    for choice in ["none", "email", "hashed"] {
        let t = Traced::with(&["--user", choice]);
        let mut agy = t.agy(&uuid());
        turn(&mut agy, "Who am I", 1);
        let spans = t.until("the turn", |s| distinct(s).len() == 2);
        agy.close().unwrap();
        let user = of_kind(&spans, "AGENT")[0].text("user.id").map(str::to_owned);
        match choice {
            "hashed" => {
                let user = user.unwrap();
                assert!(user.len() == 64 && user.bytes().all(|b| b.is_ascii_hexdigit()), "{user}");
                assert!(!everywhere(&t).contains("sim@example.com"));
            }
            "email" => assert_eq!(user.as_deref(), Some("sim@example.com")),
            _ => assert_eq!(user, None),
        }
    }
}
