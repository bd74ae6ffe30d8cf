//! Changing what is set up: destinations that move, secrets that stay behind, switches, and what is said of it (R1, R4, H2).

use agenthub_engine::{
    Clock,
    tracer::Tracer,
    view::{TracingContentPatch, TracingDestinationPatch, TracingPatch},
};
use otlp_receiver::Reply;
use serde_json::Value;

use super::{
    setup::{config_file, hooks_json, ok, settings},
    *,
};

fn tracer(rig: &Rig) -> Tracer {
    Tracer::new(&rig.config(), Clock::System).unwrap()
}

fn secrets(rig: &Rig) -> String {
    std::fs::read_to_string(config_file(rig, "secrets.json")).unwrap_or_default()
}

#[test]
fn r4_a_second_installation_moves_the_destination_and_what_waits_and_leaves_the_secret_behind() {
    let (rig, backend) = (Rig::new(), Receiver::start());
    let gone = Receiver::start().stop();
    let url = gone.url();
    ok(&rig, &["trace", "install", "--endpoint", &url, "--header", "x-key: planted-secret-value"]);
    let t = Traced { rig, backend };
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "To a backend that is gone", 2);
    until("it waits", || {
        let status = t.rig.json(&["trace", "status", "--json"]);
        (status["destinations"][0]["waiting_spans"] == 4).then_some(())
    });
    agy.close().unwrap();

    let dry = ok(&t.rig, &["trace", "install", "--endpoint", &t.backend.url(), "--dry-run"]);
    assert!(dry.contains("moves from") && dry.contains("`x-key`") && !dry.contains("planted"), "{dry}");
    assert!(secrets(&t.rig).contains("planted-secret-value"), "a dry run changes nothing");
    let told = ok(&t.rig, &["trace", "install", "--endpoint", &t.backend.url()]);
    assert!(told.contains("moves from") && told.contains("dropped") && !told.contains("planted"), "{told}");
    assert_eq!(settings(&t.rig)["tracing"]["destinations"].as_array().unwrap().len(), 1);
    assert!(!secrets(&t.rig).contains("planted-secret-value"));

    // The hook's child, if it still tries, follows; else the next one who works.
    t.work();
    let spans = t.backend.wait_for_spans(4);
    assert_eq!((distinct(&spans).len(), doubled(&spans)), (4, BTreeSet::new()));
    for r in t.backend.requests() {
        assert!(r.header("x-key").is_none(), "the old server's key");
    }
    // With --add there are two.
    ok(&t.rig, &["trace", "install", "--endpoint", &url, "--add"]);
    assert_eq!(settings(&t.rig)["tracing"]["destinations"][1]["id"], "collector-2");
    let out = t.rig.agenthub(&["trace", "install", "--endpoint", "http://localhost:9", "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&out.stdout).unwrap()["error"]["code"], "bad_request");
}

#[test]
fn r4_a_child_that_waits_for_a_backend_follows_what_is_set_meanwhile() {
    let (rig, backend) = (Rig::new(), Receiver::start());
    let gone = Receiver::start().stop();
    ok(&rig, &["trace", "install", "--endpoint", &gone.url()]);
    let t = Traced { rig, backend };
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "While it moves", 1);
    agy.close().unwrap();
    until("it waits", || {
        let status = t.rig.json(&["trace", "status", "--json"]);
        (status["destinations"][0]["waiting_spans"] == 2).then_some(())
    });
    // Nothing else is left to send it than a child that began with the old settings.
    let mut child = t.rig.command(&["trace", "work", "--limit-s", "50"]).spawn().unwrap();
    until("a failed attempt of a child's", || {
        let status = t.rig.json(&["trace", "status", "--json"]);
        status["destinations"][0]["last"]["at"].as_str().map(str::to_owned)
    });
    ok(&t.rig, &["trace", "install", "--endpoint", &t.backend.url()]);
    let spans = t.backend.wait_for_spans(2);
    assert_eq!(doubled(&spans), BTreeSet::new());
    assert!(child.wait().unwrap().success(), "and it ends, for nothing waits");
}

#[test]
fn p3_a_settings_file_that_does_not_parse_is_put_aside_and_the_person_is_told() {
    let rig = Rig::new();
    let path = config_file(&rig, "settings.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "{ \"board_hours\": 5, ").unwrap();
    let install = ["trace", "install", "--endpoint", "http://localhost:4318"];
    let dry = ok(&rig, &[&install[..], &["--dry-run"]].concat());
    assert!(dry.contains("settings.json can't be read"), "{dry}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ \"board_hours\": 5, ");
    let told = ok(&rig, &install);
    assert!(told.contains("settings.json can't be read") && told.contains("is kept as"), "{told}");
    let aside: Vec<_> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|f| f.to_string_lossy().contains("settings.broken-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert!(told.contains(aside[0].file_name().unwrap().to_str().unwrap()), "{told}");
    assert_eq!(std::fs::read_to_string(&aside[0]).unwrap(), "{ \"board_hours\": 5, ");
    assert_eq!(settings(&rig)["tracing"]["enabled"], true);
    // It is whole again: nothing more to say.
    let told = ok(&rig, &install);
    assert!(!told.contains("is kept as"), "{told}");
}

#[test]
fn p3_what_is_not_understood_among_the_destinations_stays_in_the_file() {
    let rig = Rig::new();
    let path = config_file(&rig, "settings.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let stranger = json!({"id": "mine", "preset": "datadog", "endpoint": "https://e.org"});
    let written = json!({"tracing": {"user": "loud", "destinations": [stranger], "later": {"a": 1}}});
    std::fs::write(&path, written.to_string()).unwrap();
    ok(&rig, &["trace", "install", "--endpoint", "http://localhost:4318"]);
    let t = settings(&rig)["tracing"].clone();
    assert_eq!(t["destinations"][0]["id"], "collector");
    assert_eq!((t["destinations"][1].clone(), t["later"]["a"].clone()), (stranger, json!(1)));
    assert_eq!(t["user"], "loud", "nobody said anything of it");
    tracer(&rig).set(&TracingPatch { user: Some("none".to_owned()), ..TracingPatch::default() }).unwrap();
    assert_eq!(settings(&rig)["tracing"]["user"], "none");
}

#[test]
fn r11_a_test_prints_one_document_and_an_export_that_was_refused_fails() {
    let t = Traced::new();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "Send me", 1);
    t.until("the turn", |s| distinct(s).len() == 2);
    agy.close().unwrap();
    t.work();
    for (status, fate) in [(400, "refused"), (401, "misdirected")] {
        t.backend.always(Reply::status(status, "no"));
        let out = t.rig.agenthub(&["trace", "test", "--json"]);
        let document: Value = serde_json::from_slice(&out.stdout).expect("exactly one document");
        assert_eq!(
            (out.status.code(), document["tests"][0]["attempt"]["fate"].clone()),
            (Some(1), json!(fate))
        );
        let out = t.rig.agenthub(&["trace", "export", "--session", &id, "--json"]);
        let document: Value = serde_json::from_slice(&out.stdout).expect("exactly one document");
        assert_eq!((out.status.code(), document["ok"].clone()), (Some(1), json!(false)), "{document}");
        assert_eq!(document["destinations"][0]["last"]["http_status"], status);
        let out = t.rig.agenthub(&["trace", "export", "--session", &id]);
        let text =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.code() == Some(1) && text.contains("Not taken by: collector"), "{text}");
    }
    // Some of it, or all of it.
    t.backend.always(Reply::Take);
    let told = ok(&t.rig, &["trace", "export", "--session", &id]);
    assert!(told.contains(&format!("{id}: 1 turn, ")) && !told.contains(" 1 spans"), "{told}");
    t.backend.next([Reply::TakePartly { rejected: 1, message: "too old".to_owned() }]);
    assert_eq!(t.rig.agenthub(&["trace", "export", "--session", &id]).status.code(), Some(1));
    let told = t.rig.json(&["trace", "export", "--session", &id, "--json"]);
    assert_eq!(told["ok"], true);
    // Nowhere to go.
    let off =
        TracingDestinationPatch { id: "collector".to_owned(), enabled: Some(false), ..Default::default() };
    tracer(&t.rig).set(&TracingPatch { destination: Some(off), ..TracingPatch::default() }).unwrap();
    let out = t.rig.agenthub(&["trace", "export", "--session", &id, "--json"]);
    let error: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((out.status.code(), error["error"]["code"].clone()), (Some(2), json!("bad_request")));
}

#[test]
fn r11_a_file_that_can_not_be_written_holds_up_no_backend_and_an_export_says_so() {
    let t = Traced::new();
    let path = config_file(&t.rig, "settings.json");
    let mut all = settings(&t.rig);
    all["tracing"]["file"] = json!("/nowhere/at/all/traces.jsonl");
    std::fs::write(&path, all.to_string()).unwrap();
    let id = uuid();
    let mut agy = t.agy(&id);
    turn(&mut agy, "To the backend at least", 1);
    t.until("the turn", |s| distinct(s).len() == 2);
    agy.close().unwrap();
    let out = t.rig.agenthub(&["trace", "export", "--session", &id, "--json"]);
    let error: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((out.status.code(), error["error"]["code"].clone()), (Some(1), json!("io")), "{error}");
}

#[test]
fn r1_a_purge_names_what_would_go_and_takes_nothing_in_a_dry_run() {
    let (rig, backend) = (Rig::new(), Receiver::start());
    let gone = Receiver::start().stop();
    ok(&rig, &["trace", "install", "--endpoint", &gone.url(), "--header", "x-key: planted-secret-value"]);
    let t = Traced { rig, backend };
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "It waits", 1);
    agy.close().unwrap();
    until("it waits", || {
        let status = t.rig.json(&["trace", "status", "--json"]);
        (status["destinations"][0]["waiting_spans"] == 2).then_some(())
    });
    let told = ok(&t.rig, &["trace", "uninstall", "--purge", "--dry-run"]);
    for word in
        ["Would go: destination collector", "`x-key`", "2 spans", "secrets.json", "Nothing was written"]
    {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("planted"), "{told}");
    assert!(secrets(&t.rig).contains("planted") && hooks_json(&t.rig).exists());
    let told = ok(&t.rig, &["trace", "uninstall", "--purge"]);
    assert!(told.contains("Gone: destination collector"), "{told}");
    assert!(!config_file(&t.rig, "secrets.json").exists() && settings(&t.rig).get("tracing").is_none());
}

#[test]
fn h2_a_removal_or_an_undo_whose_difference_is_another_one_now_is_not_carried_out() {
    let rig = Rig::new();
    let theirs = "{\n  \"mine\": {\"Stop\": [{\"type\": \"command\", \"command\": \"beep\"}]}\n}\n";
    std::fs::create_dir_all(hooks_json(&rig).parent().unwrap()).unwrap();
    std::fs::write(hooks_json(&rig), theirs).unwrap();
    ok(&rig, &["trace", "install", "--endpoint", "http://localhost:4318"]);
    let now = || std::fs::read_to_string(hooks_json(&rig)).unwrap();
    let t = tracer(&rig);
    let shown = t.uninstall(false, true, None).unwrap();
    let changed = now().replace("beep", "boop");
    std::fs::write(hooks_json(&rig), &changed).unwrap();
    assert_eq!(t.uninstall(true, false, Some(&shown.plan.token)).unwrap_err().code, "ECHANGED");
    assert_eq!(now(), changed);
    assert_eq!(settings(&rig)["tracing"]["enabled"], true, "nothing else was taken away either");
    assert_eq!(t.undo(None).unwrap_err().code, "ECHANGED", "what is there now is not what we wrote");

    let shown = t.uninstall(false, true, None).unwrap();
    t.uninstall(false, false, Some(&shown.plan.token)).unwrap();
    assert_eq!(now(), theirs.replace("beep", "boop"));
    assert_eq!(settings(&rig)["tracing"]["enabled"], false);

    // The way back from an installation: only as it was shown, and tracing is off after it.
    ok(&rig, &["trace", "install"]);
    let shown = t.undo(None).unwrap();
    assert!(!shown.applied && shown.changes);
    assert_eq!(t.undo(Some("undo-0")).unwrap_err().code, "ECHANGED");
    assert!(now().contains("agenthub-tracing"));
    assert!(t.undo(Some(&shown.token)).unwrap().applied);
    assert_eq!(now(), theirs.replace("beep", "boop"));
    assert_eq!(settings(&rig)["tracing"]["enabled"], false);
}

#[test]
fn r9_r10_r12_switches_are_written_one_by_one_and_what_can_not_be_is_refused() {
    let t = Traced::new();
    let of = |patch: &TracingPatch| tracer(&t.rig).set(patch);
    let content = TracingContentPatch { prompts: Some(true), longest: Some(500), ..Default::default() };
    let surfaces = BTreeMap::from([("antigravity-ide".to_owned(), false)]);
    let user = Some("hashed".to_owned());
    of(&TracingPatch { content, surfaces, user, host_name: Some(true), ..TracingPatch::default() }).unwrap();
    let status = t.rig.json(&["trace", "status", "--json"]);
    assert_eq!(
        (status["content"]["prompts"].clone(), status["content"]["answers"].clone()),
        (json!(true), json!(false))
    );
    assert_eq!(
        (status["content"]["longest"].clone(), status["host_name"].clone()),
        (json!(500), json!(true))
    );
    assert_eq!(
        (status["user"].clone(), status["surfaces"]["antigravity-ide"].clone()),
        (json!("hashed"), json!(false))
    );
    assert_eq!(status["user_found"], false, "agy has not written a log yet");

    let destination = |d: TracingDestinationPatch| {
        let d = TracingDestinationPatch { id: "collector".to_owned(), ..d };
        of(&TracingPatch { destination: Some(d), ..TracingPatch::default() })
    };
    let profiles = Some("gen_ai".to_owned());
    let project = Some("mine".to_owned());
    destination(TracingDestinationPatch { profiles, project, ..Default::default() }).unwrap();
    let mut agy = t.agy(&uuid());
    turn(&mut agy, "By one set of names", 1);
    let spans = t.until("the turn", |s| distinct(s).len() == 2);
    agy.close().unwrap();
    assert!(spans.iter().all(|s| s.text("openinference.span.kind").is_none() && s.text("gen_ai.operation.name").is_some()));
    assert_eq!(spans[0].resource_text("openinference.project.name"), Some("mine"));

    // A product that nobody has heard of yet has a switch, too, once it keeps conversations.
    for folder in ["antigravity-next/conversations", "antigravity-backup/conversations", "config"] {
        std::fs::create_dir_all(t.rig.home.root().join(folder)).unwrap();
    }
    let screen = t.rig.start().host.tracing_status().unwrap();
    let products: Vec<(&str, bool)> = screen.products.iter().map(|p| (p.folder.as_str(), p.on)).collect();
    let known = [("antigravity-cli", true), ("antigravity-ide", false), ("antigravity", true)];
    assert_eq!(products, [&known[..], &[("antigravity-next", true)]].concat());
    assert_eq!(screen.presets.len(), 8);

    let before = settings(&t.rig);
    for (patch, code) in [
        (TracingPatch { user: Some("loud".to_owned()), ..Default::default() }, "bad_request"),
        (TracingPatch { file: Some("here.jsonl".to_owned()), ..Default::default() }, "bad_settings"),
        (
            TracingPatch { file: Some("/nowhere/at/all/x.jsonl".to_owned()), ..Default::default() },
            "bad_settings",
        ),
        (
            TracingPatch { surfaces: BTreeMap::from([("../x".to_owned(), true)]), ..Default::default() },
            "bad_settings",
        ),
        (
            TracingPatch {
                content: TracingContentPatch { longest: Some(0), ..Default::default() },
                ..Default::default()
            },
            "bad_settings",
        ),
    ] {
        assert_eq!(of(&patch).unwrap_err().code, code, "{patch:?}");
    }
    let bad = TracingDestinationPatch { profiles: Some("datadog".to_owned()), ..Default::default() };
    assert_eq!(destination(bad).unwrap_err().code, "bad_settings");
    let bad = TracingDestinationPatch { endpoint: Some("nonsense".to_owned()), ..Default::default() };
    assert_eq!(destination(bad).unwrap_err().code, "endpoint_refused");
    assert_eq!(settings(&t.rig), before);

    // Off, and gone.
    of(&TracingPatch { enabled: Some(false), ..Default::default() }).unwrap();
    assert_eq!(settings(&t.rig)["tracing"]["enabled"], false);
    destination(TracingDestinationPatch { remove: true, ..Default::default() }).unwrap();
    assert_eq!(settings(&t.rig)["tracing"]["destinations"], json!([]));
    assert_eq!(
        of(&TracingPatch { enabled: Some(true), ..Default::default() }).unwrap_err().code,
        "bad_request"
    );
}
