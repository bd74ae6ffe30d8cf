//! Switching it on and off, and what the commands say (R1, R4, R11).

use otlp_receiver::Reply;
use serde_json::Value;

use super::*;

pub(super) fn config_file(rig: &Rig, name: &str) -> std::path::PathBuf {
    rig.config().config_dir.join(name)
}

pub(super) fn hooks_json(rig: &Rig) -> std::path::PathBuf {
    rig.home.root().join("config/hooks.json")
}

pub(super) fn settings(rig: &Rig) -> Value {
    serde_json::from_slice(&std::fs::read(config_file(rig, "settings.json")).unwrap()).unwrap()
}

pub(super) fn ok(rig: &Rig, args: &[&str]) -> String {
    let out = rig.agenthub(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn r1_installing_writes_settings_secrets_and_one_named_hook_and_uninstalling_takes_them_away() {
    let rig = Rig::new();
    assert_eq!(rig.json(&["trace", "status", "--json"])["enabled"], false);
    let theirs = "{\n  \"mine\": {\"Stop\": [{\"type\": \"command\", \"command\": \"beep\"}]}\n}\n";
    std::fs::create_dir_all(hooks_json(&rig).parent().unwrap()).unwrap();
    std::fs::write(hooks_json(&rig), theirs).unwrap();
    let before = std::fs::read_to_string(hooks_json(&rig)).unwrap();
    let args = [
        "trace",
        "install",
        "--preset",
        "langfuse",
        "--endpoint",
        "https://langfuse.example/api/public/otel",
    ];
    let args =
        [&args[..], &["--header", "authorization: Basic c2VjcmV0LXZhbHVl", "--user", "hashed"]].concat();

    // A dry run writes nothing.
    let text = ok(&rig, &[&args[..], &["--dry-run"]].concat());
    assert!(text.contains("agenthub-tracing") && text.contains("Nothing was written"), "{text}");
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), before);
    assert!(!config_file(&rig, "settings.json").exists() && !config_file(&rig, "secrets.json").exists());

    let text = ok(&rig, &args);
    assert!(!text.contains("c2VjcmV0"), "a secret is never shown: {text}");
    let file: Value = serde_json::from_slice(&std::fs::read(hooks_json(&rig)).unwrap()).unwrap();
    let ours = file["agenthub-tracing"].as_object().unwrap();
    assert_eq!(ours.keys().collect::<Vec<_>>(), ["PreInvocation", "Stop"]);
    for (event, handlers) in ours {
        assert_eq!(handlers[0]["timeout"], 30);
        let command = handlers[0]["command"].as_str().unwrap();
        assert!(command.contains("agenthub-tracing.sh") && command.ends_with(event.as_str()), "{command}");
    }
    assert_eq!(file["mine"]["Stop"][0]["command"], "beep");
    let tracing = settings(&rig)["tracing"].clone();
    assert_eq!((tracing["enabled"].clone(), tracing["user"].clone()), (json!(true), json!("hashed")));
    assert!(!settings(&rig).to_string().contains("c2VjcmV0"), "secrets live apart");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(config_file(&rig, "secrets.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let status = rig.json(&["trace", "status", "--json"]);
    assert_eq!(status["hook"]["state"], "installed");
    assert_eq!(status["destinations"][0]["headers"], json!(["authorization"]));
    assert!(!status.to_string().contains("c2VjcmV0"));
    let text = ok(&rig, &["trace", "status"]);
    assert!(text.contains("langfuse") && !text.contains("c2VjcmV0"), "{text}");

    // Without --purge only the hook goes.
    ok(&rig, &["trace", "uninstall"]);
    assert_eq!(std::fs::read_to_string(hooks_json(&rig)).unwrap(), before, "to the byte");
    assert!(!rig.home.root().join("config/agenthub-tracing.sh").exists());
    assert_eq!(settings(&rig)["tracing"]["enabled"], false);
    assert!(config_file(&rig, "secrets.json").exists());
    ok(&rig, &["trace", "uninstall", "--purge"]);
    assert!(settings(&rig).get("tracing").is_none());
    assert!(!config_file(&rig, "secrets.json").exists() && !rig.data_dir().join("tracing").exists());
}

#[test]
fn r1_both_hooks_live_side_by_side_and_each_goes_alone() {
    let rig = Rig::new();
    let file = || serde_json::from_slice::<Value>(&std::fs::read(hooks_json(&rig)).unwrap()).unwrap();
    // `hooks install` needs the hook program; its place among the hooks is all that matters here.
    let watch = rig.home.root().join("config/agenthub-hook.sh");
    std::fs::create_dir_all(watch.parent().unwrap()).unwrap();
    let command = format!("'{}' Stop", watch.display());
    let entry = json!({"agenthub": {"Stop": [{"type": "command", "command": command, "timeout": 5}]}});
    std::fs::write(hooks_json(&rig), entry.to_string()).unwrap();
    ok(&rig, &["trace", "install", "--endpoint", "http://localhost:4318"]);
    assert_eq!(file().as_object().unwrap().len(), 2);
    ok(&rig, &["hooks", "remove"]);
    assert_eq!(file().as_object().unwrap().keys().collect::<Vec<_>>(), ["agenthub-tracing"]);
    ok(&rig, &["trace", "uninstall"]);
    assert_eq!(file(), json!({}));
}

#[test]
fn r1_h4_a_forwarder_that_is_somebody_elses_is_left_alone() {
    let rig = Rig::new();
    let script = rig.home.root().join("config/agenthub-tracing.sh");
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, "#!/bin/sh\necho mine\n").unwrap();
    let out = rig.agenthub(&["trace", "install", "--endpoint", "http://localhost:4318", "--json"]);
    let error: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((out.status.code(), error["error"]["code"].clone()), (Some(1), json!("EFOREIGN")));
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "#!/bin/sh\necho mine\n");
    assert!(!hooks_json(&rig).exists());
}

#[test]
fn r4_what_can_not_work_is_refused_by_name_and_nothing_is_written() {
    let rig = Rig::new();
    for (args, code) in [
        (vec![], "bad_request"),
        (vec!["--preset", "atatus"], "bad_request"),
        (vec!["--preset", "nobody"], "bad_request"),
        (vec!["--endpoint", "localhost"], "endpoint_refused"),
        (vec!["--endpoint", "ftp://x"], "endpoint_refused"),
        (vec!["--endpoint", "http://localhost:4318", "--header", "a: b\nc: d"], "header_refused"),
        (vec!["--endpoint", "http://localhost:4318", "--header", "nothing"], "header_refused"),
    ] {
        let out = rig.agenthub(&[&["trace", "install", "--json"], &args[..]].concat());
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(told["error"]["code"], code, "{args:?}: {told}");
        assert_eq!(out.status.code(), Some(2), "wrong use: {args:?}");
        assert!(!hooks_json(&rig).exists(), "{args:?}");
        assert!(!config_file(&rig, "settings.json").exists(), "{args:?}");
    }
}

#[test]
fn r11_a_test_sends_one_span_and_says_what_the_backend_said() {
    let t = Traced::with(&["--header", "x-key: planted-secret-value"]);
    let told = t.rig.json(&["trace", "test", "--json"]);
    assert_eq!(
        (told["ok"].clone(), told["tests"][0]["attempt"]["http_status"].clone()),
        (json!(true), json!(200))
    );
    let spans = t.until("the span", |s| s.len() == 1);
    assert_eq!(told["tests"][0]["trace_id"], spans[0].trace());
    t.backend.always(Reply::status(401, "who are you, planted-secret-value?"));
    let out = t.rig.agenthub(&["trace", "test"]);
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(1));
    assert!(text.contains("401") && !text.contains("planted-secret"), "{text}");
    let status = t.rig.json(&["trace", "status", "--json"]);
    assert_eq!(status["destinations"][0]["last"]["http_status"], 401);
    let rig = Rig::new();
    assert_eq!(rig.agenthub(&["trace", "test"]).status.code(), Some(2), "there is nothing to test");
}

#[test]
fn r11_a_session_is_sent_once_more_under_the_same_ids_and_a_dry_run_prints_it() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Send me", 2);
    let first = t.until("the turn", |s| distinct(s).len() == 4);
    agy.close().unwrap();
    let text = ok(&t.rig, &["trace", "export", "--session", &id, "--dry-run"]);
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len(), 4);
    assert_eq!(t.backend.spans().len(), 4, "nothing was sent");
    let told = t.rig.json(&["trace", "export", "--session", &id, "--json"]);
    assert_eq!((told["turns"].clone(), told["spans"].clone()), (json!(1), json!(4)));
    let again = t.until("once more", |s| s.len() == 8);
    assert_eq!(distinct(&again).keys().collect::<Vec<_>>(), distinct(&first).keys().collect::<Vec<_>>());
    // A file that can't be read is there, and is not "no session".
    let damaged = "ffffffff-0000-4000-8000-000000000000";
    for (content, code) in [("no database at all", "not_a_database"), ("", "empty")] {
        let file = t.rig.home.root().join(format!("antigravity-cli/conversations/{damaged}.db"));
        std::fs::write(file, content).unwrap();
        let out = t.rig.agenthub(&["trace", "export", "--session", damaged, "--json"]);
        let error = serde_json::from_slice::<Value>(&out.stdout).unwrap()["error"].clone();
        assert_eq!((error["code"].as_str(), out.status.code()), (Some("unreadable"), Some(1)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(code), "{error}");
    }
    let short = t.rig.json(&["trace", "export", "--session", &id[..8], "--dry-run", "--json"]);
    assert_eq!(short["session"], id.as_str());
    let twin = format!("{}{}", &id[..35], if id.ends_with('0') { '1' } else { '0' });
    std::fs::create_dir_all(t.rig.home.root().join("antigravity-cli/brain").join(&twin)).unwrap();
    for (said, code) in [(&id[..8], "bad_request"), (&id[..3], "bad_request"), ("Send me", "not_found")] {
        let out = t.rig.agenthub(&["trace", "export", "--session", said, "--dry-run", "--json"]);
        let told = serde_json::from_slice::<Value>(&out.stdout).unwrap();
        assert_eq!(told["error"]["code"], code, "{said}: {told}");
        let names = told["error"]["message"].as_str().unwrap().contains(&twin);
        assert_eq!(names, said.len() == 8 && code == "bad_request", "{told}");
    }
    let out = t.rig.agenthub(&["trace", "export", "--session", &uuid(), "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&out.stdout).unwrap()["error"]["code"], "not_found");
}

#[test]
fn p4_while_tracing_is_off_nothing_is_sent_on_anybodys_word() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Send me", 1);
    let before = t.until("the turn", |s| distinct(s).len() == 2).len();
    agy.close().unwrap();
    t.work();
    ok(&t.rig, &["trace", "uninstall"]);
    for args in [&["trace", "test"][..], &["trace", "export", "--session", &id]] {
        let out = t.rig.agenthub(&[args, &["--json"]].concat());
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(
            (out.status.code(), told["error"]["code"].clone()),
            (Some(1), json!("tracing_off")),
            "{args:?}"
        );
        assert!(told["error"]["message"].as_str().unwrap().contains("`agenthub trace install`"), "{told}");
    }
    let shown = ok(&t.rig, &["trace", "export", "--session", &id, "--dry-run"]);
    assert!(shown.contains("resourceSpans"), "{shown}");
    assert_eq!(t.backend.spans().len(), before, "nothing was sent");
    // The destination that was kept is there again.
    ok(&t.rig, &["trace", "install"]);
    assert_eq!(t.rig.json(&["trace", "test", "--json"])["ok"], true);
}

#[test]
fn r1_a_removal_names_only_what_went() {
    let rig = Rig::new();
    for purge in [&["--purge", "--dry-run"][..], &["--purge"], &[]] {
        let told = ok(&rig, &[&["trace", "uninstall"], purge].concat());
        assert!(!told.contains("settings.json") && !told.contains("are kept"), "{purge:?}: {told}");
        assert!(!told.contains("Gone:") && !told.contains("Would go:"), "{purge:?}: {told}");
    }
}

#[test]
fn r1_turns_from_before_it_was_switched_on_are_not_sent_by_themselves() {
    let rig = Rig::new();
    let id = uuid();
    let mut agy = Live::start(&rig.home, LiveSpec::new(&id)).unwrap();
    turn(&mut agy, "Before", 1);
    let rows = agy.close().unwrap();
    let backend = Receiver::start();
    ok(&rig, &["trace", "install", "--endpoint", &backend.url()]);
    let t = Traced { rig, backend };
    let hooks = HookOptions { environment: HookEnvironment::Empty, ..HookOptions::default() };
    let mut agy = Live::resume(&t.rig.home, rows, LiveSpec::new(&id).hooks(hooks)).unwrap();
    turn(&mut agy, "After", 1);
    let spans = t.until("the new turn", |s| distinct(s).len() == 2);
    agy.close().unwrap();
    t.work();
    assert_eq!(t.backend.spans().len(), spans.len());
    assert_eq!(of_kind(&spans, "AGENT").len(), 1);
}

#[test]
fn r11_a_file_takes_otlp_json_lines() {
    let rig = Rig::new();
    let path = rig.data_dir().join("traces.jsonl");
    std::fs::create_dir_all(rig.data_dir()).unwrap();
    std::fs::create_dir_all(&rig.config().config_dir).unwrap();
    let tracing = json!({"tracing": {"file": path}});
    std::fs::write(config_file(&rig, "settings.json"), tracing.to_string()).unwrap();
    ok(&rig, &["trace", "install"]);
    let backend = Receiver::start();
    let t = Traced { rig, backend };
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "To a file", 1);
    let line = until("a line", || std::fs::read_to_string(&path).ok().filter(|s| s.ends_with('\n')));
    agy.close().unwrap();
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len(), 2);
}
