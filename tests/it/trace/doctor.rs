//! What doctor finds of tracing, each with what to do.

use otlp_receiver::Reply;

use super::{
    setup::{config_file, hooks_json, ok},
    *,
};
use crate::doctor::{finds, lacks};

fn edit(rig: &Rig, change: impl FnOnce(&mut serde_json::Value)) {
    let path = config_file(rig, "settings.json");
    let mut all: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut all["tracing"]);
    std::fs::write(&path, all.to_string()).unwrap();
}

fn silent(rig: &Rig) -> bool {
    let doc = rig.json(&["doctor", "--json"]);
    !doc["findings"].as_array().unwrap().iter().any(|f| f["code"].as_str().unwrap().starts_with("tracing"))
}

#[test]
fn r1_each_state_of_the_tracing_hook_is_a_finding() {
    let rig = Rig::new();
    assert!(silent(&rig), "who does not trace hears nothing of it");
    let install = || ok(&rig, &["trace", "install", "--endpoint", "http://localhost:4318"]);
    install();
    finds(&rig, "note", "tracing_hook_silent");
    finds(&rig, "ok", "tracing_on");
    let change = |from: &str, to: &str| {
        let text = std::fs::read_to_string(hooks_json(&rig)).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(hooks_json(&rig), text.replacen(from, to, 1)).unwrap();
    };
    change("\"PreInvocation\"", "\"enabled\": false, \"PreInvocation\"");
    finds(&rig, "warning", "tracing_hook_off");
    assert!(lacks(&rig, "tracing_on"));
    install();
    change("\"timeout\": 30", "\"timeout\": 31");
    finds(&rig, "warning", "tracing_hook_stale");
    install();
    std::fs::remove_dir_all(rig.data_dir().join("bin")).unwrap();
    finds(&rig, "warning", "tracing_hook_target");
    install();
    let whole = std::fs::read_to_string(hooks_json(&rig)).unwrap();
    std::fs::write(hooks_json(&rig), "{ // mine\n}").unwrap();
    finds(&rig, "warning", "tracing_hook_unreadable");
    std::fs::write(hooks_json(&rig), "{}").unwrap();
    finds(&rig, "warning", "tracing_hook_missing");
    let script = rig.home.root().join("config/agenthub-tracing.sh");
    let ours = std::fs::read(&script).unwrap();
    std::fs::write(&script, "#!/bin/sh\necho mine\n").unwrap();
    std::fs::write(hooks_json(&rig), &whole).unwrap();
    finds(&rig, "warning", "tracing_hook_foreign");
    std::fs::write(&script, ours).unwrap();
    // Switched off, its hook does nothing; taken out, there is nothing to say.
    edit(&rig, |t| t["enabled"] = json!(false));
    finds(&rig, "note", "tracing_off_hook");
    ok(&rig, &["trace", "uninstall"]);
    assert!(silent(&rig));
}

#[test]
fn r8_each_destination_is_told_by_its_last_answer() {
    let t = Traced::with(&["--header", "x-key: planted-secret-value"]);
    let mut agy = t.agy(&uuid());
    t.backend.always(Reply::status(401, "who is planted-secret-value?"));
    turn(&mut agy, "Into trouble", 1);
    until("it failed", || {
        let status = t.rig.json(&["trace", "status", "--json"]);
        (status["destinations"][0]["failures"].as_u64() > Some(0)).then_some(())
    });
    agy.close().unwrap();
    let told = finds(&t.rig, "warning", "tracing_misdirected");
    assert!(
        told.contains("HTTP 401") && told.contains("2 spans wait") && !told.contains("planted"),
        "{told}"
    );
    t.backend.always(Reply::status(503, "not now"));
    ok(&t.rig, &["trace", "install", "--endpoint", &t.backend.url()]);
    t.work();
    let told = finds(&t.rig, "warning", "tracing_unreachable");
    assert!(told.contains("HTTP 503") && told.contains("not now"), "{told}");
    t.backend.always(Reply::TakePartly { rejected: 1, message: "too old".to_owned() });
    ok(&t.rig, &["trace", "install", "--endpoint", &t.backend.url()]);
    t.work();
    let told = finds(&t.rig, "note", "tracing_rejected");
    assert!(told.contains("1 span"), "{told}");
    assert!(lacks(&t.rig, "tracing_unreachable"));

    // A test that was refused is an answer, too.
    t.backend.always(Reply::status(403, "no"));
    assert!(!t.rig.agenthub(&["trace", "test"]).status.success());
    let told = finds(&t.rig, "warning", "tracing_misdirected");
    assert!(told.contains("HTTP 403") && !told.contains("wait"), "{told}");

    // Without the network: an address that can't be, keys without encryption, none switched on.
    edit(&t.rig, |s| s["destinations"][0]["endpoint"] = json!("localhost:4318"));
    let told = finds(&t.rig, "warning", "tracing_endpoint");
    assert!(told.contains("no scheme"), "{told}");
    edit(&t.rig, |s| s["destinations"][0]["endpoint"] = json!("http://backend.example"));
    finds(&t.rig, "warning", "tracing_doubt");
    edit(&t.rig, |s| s["destinations"][0]["enabled"] = json!(false));
    finds(&t.rig, "warning", "tracing_no_destination");
}

#[cfg(target_os = "linux")]
#[test]
fn r8_what_was_given_up_and_a_queue_that_is_nearly_full_are_findings() {
    let t = Traced::new();
    let mut agy = t.agy(&uuid());
    t.backend.always(Reply::status(503, "not now"));
    turn(&mut agy, "It waits", 1);
    agy.close().unwrap();
    // The child may be killed at any moment: what it has half written is no file of the queue, and counts for nothing.
    let entry = until("its entry", || t.files("queue", ".pb.gz").first().cloned());
    let state = until("its state", || t.files("queue", "state.json").first().cloned());
    let change = |key: &str, value: serde_json::Value| {
        let mut now: serde_json::Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
        now[key] = value;
        std::fs::write(&state, now.to_string()).unwrap();
    };
    // No child that writes it, too.
    super::faults::kill_all(&t.rig.data_dir().display().to_string());
    change("dropped_spans", json!(12));
    change("damaged", json!(1));
    let told = finds(&t.rig, "warning", "tracing_dropped");
    assert!(told.contains("12 spans"), "{told}");
    finds(&t.rig, "note", "tracing_damaged");
    assert!(lacks(&t.rig, "tracing_queue_full"));
    // As much as the disk need not hold: nobody reads it here.
    let file = std::fs::File::options().write(true).open(entry).unwrap();
    file.set_len(220 << 20).unwrap();
    let told = finds(&t.rig, "warning", "tracing_queue_full");
    assert!(told.contains("220 of 256 MiB"), "{told}");
}

#[test]
fn r9_p3_settings_that_can_not_be_so_are_findings() {
    let rig = Rig::new();
    let header = ["--header", "x-key: planted-secret-value"];
    let install = ["trace", "install", "--endpoint", "http://localhost:4318", "--user", "email"];
    ok(&rig, &[&install[..], &header].concat());
    let told = finds(&rig, "warning", "tracing_no_address");
    assert!(told.contains("`email`"), "{told}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let secrets = config_file(&rig, "secrets.json");
        std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o644)).unwrap();
        let told = finds(&rig, "warning", "tracing_secrets");
        assert!(told.contains("644") && !told.contains("planted"), "{told}");
        // Setting the headers again mends it, as is said.
        ok(
            &rig,
            &["trace", "install", "--endpoint", "http://localhost:4318", "--header", "x-key: another-value"],
        );
        assert!(lacks(&rig, "tracing_secrets"));
    }
    edit(&rig, |t| t["contents"] = json!({"prompts": true}));
    let told = finds(&rig, "warning", "tracing_settings");
    assert!(told.contains("`content`"), "{told}");
    edit(&rig, |t| {
        t.as_object_mut().unwrap().remove("contents");
        t["file"] = json!("/nowhere/at/all/traces.jsonl");
        t["user"] = json!("none");
    });
    let told = finds(&rig, "warning", "tracing_settings");
    assert!(told.contains("tracing.file"), "{told}");
    assert!(lacks(&rig, "tracing_no_address"));
}
