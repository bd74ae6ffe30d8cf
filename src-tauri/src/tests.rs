//! The app on Tauri's mock runtime (no display, no bus), and the files that must agree with each other.

use std::{collections::BTreeSet, path::Path};

use agenthub_engine::{Config, Host};
use serde_json::{Value, json};
use tauri::{
    App, Manager, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
    ipc::{CallbackFn, InvokeBody},
    test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder},
    webview::InvokeRequest,
};

use crate::{builder, context, shell::Shell, windows};

fn root(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What stands between `before` and `after`, at each place where `before` stands.
fn between<'a>(text: &'a str, before: &'a str, after: char) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split(after).next())
}

fn commands() -> BTreeSet<String> {
    let source = root("src-tauri/src/commands.rs");
    between(&source, "#[tauri::command]\n", '(')
        // Without what it is generic over.
        .filter_map(|head| head.split('<').next()?.split_whitespace().last())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_registered_permitted_and_wrapped() {
    let commands = commands();
    assert!(commands.contains("open_folder") && commands.len() >= 8, "{commands:?}");

    let source = root("src-tauri/src/commands.rs");
    let registered = between(&source, "generate_handler![", ']').next().unwrap();
    let registered: BTreeSet<_> =
        registered.split(',').map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect();
    assert_eq!(registered, commands, "generate_handler! in commands.rs");

    let permissions = root("src-tauri/permissions/commands.toml");
    let permitted: BTreeSet<_> =
        between(&permissions, "commands.allow = [\"", '"').map(str::to_owned).collect();
    assert_eq!(permitted, commands, "permissions/commands.toml");
    let named: BTreeSet<_> =
        between(&permissions, "identifier = \"allow-", '"').map(|p| p.replace('-', "_")).collect();
    assert_eq!(named, commands, "the permissions' names");
    // Without its head a permission would be read as the end of the one before, in place of that one's own lines.
    let heads = permissions.lines().filter(|line| *line == "[[permission]]").count();
    assert_eq!(heads, commands.len(), "a [[permission]] for each");

    let capability: Value = serde_json::from_str(&root("src-tauri/capabilities/main.json")).unwrap();
    let granted = capability["permissions"].as_array().unwrap().iter().map(|p| p.as_str().unwrap());
    let (core, ours): (BTreeSet<_>, BTreeSet<_>) = granted.partition(|p| p.starts_with("core:"));
    assert_eq!(core, BTreeSet::from(["core:event:allow-listen", "core:event:allow-unlisten"]));
    let ours: BTreeSet<_> = ours.iter().map(|p| p.trim_start_matches("allow-").replace('-', "_")).collect();
    assert_eq!(ours, commands, "capabilities/main.json");

    let door = root("ui/src/api.ts");
    let wrapped: BTreeSet<_> =
        between(&door, ">(\"", '"').filter(|name| !name.contains(':')).map(str::to_owned).collect();
    assert_eq!(wrapped, commands, "ui/src/api.ts");
}

#[test]
fn w5_only_our_page_in_our_window_may_ask() {
    let capability: Value = serde_json::from_str(&root("src-tauri/capabilities/main.json")).unwrap();
    assert_eq!(capability["windows"], json!([windows::MAIN]));
    assert_eq!(capability["local"], true);
    assert!(capability.get("remote").is_none() && capability.get("webviews").is_none());

    let config: Value = serde_json::from_str(&root("tauri.conf.json")).unwrap();
    assert_eq!(config["app"]["windows"], json!([]), "windows are made on demand");
    assert_eq!(config["app"]["withGlobalTauri"], false);
    assert_eq!(config["app"]["security"]["capabilities"], json!(["main"]));
    let csp = config["app"]["security"]["csp"].as_str().unwrap();
    assert!(
        csp.starts_with("default-src 'self';") && !csp.contains('*') && !csp.contains("unsafe-eval"),
        "{csp}"
    );
}

/// The app with an engine on an empty home, and what keeps its folders.
fn app() -> (App<MockRuntime>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        gemini_dir: dir.path().join("gemini"),
        data_dir: dir.path().join("data"),
        config_dir: dir.path().join("config"),
        poll_ms: 15_000,
    };
    let app = builder(mock_builder(), dir.path()).build(context()).unwrap();
    app.manage(Shell::new(Host::start(config).unwrap()));
    (app, dir)
}

fn window(app: &App<MockRuntime>, label: &str) -> WebviewWindow<MockRuntime> {
    WebviewWindowBuilder::new(app, label, WebviewUrl::default()).build().unwrap()
}

fn ask(window: &WebviewWindow<MockRuntime>, url: &str, command: &str, args: Value) -> Result<Value, Value> {
    let request = InvokeRequest {
        cmd: command.into(),
        callback: CallbackFn(0),
        error: CallbackFn(1),
        url: url.parse().unwrap(),
        body: InvokeBody::Json(args),
        headers: tauri::http::HeaderMap::default(),
        invoke_key: INVOKE_KEY.to_owned(),
    };
    get_ipc_response(window, request).map(|body| body.deserialize().unwrap())
}

const HERE: &str = "tauri://localhost";

#[test]
fn w5_each_command_is_for_our_page_alone() {
    let (app, _dir) = app();
    let (ours, other) = (window(&app, windows::MAIN), window(&app, "other"));
    for command in commands() {
        for (window, url) in
            [(&other, HERE), (&ours, "https://example.org"), (&ours, "http://localhost:8080")]
        {
            let refusal = ask(window, url, &command, json!({})).unwrap_err().to_string();
            assert!(refusal.contains("not allowed"), "{command} from {url} in {}: {refusal}", window.label());
        }
        // It would ask the network.
        if command == "pricing_sync" {
            continue;
        }
        // Without its arguments a command is reached and complains about them, or answers.
        if let Err(error) = ask(&ours, HERE, &command, json!({})) {
            assert!(!error.to_string().contains("not allowed"), "{command}: {error}");
        }
    }
}

#[test]
fn t6_the_board_says_that_there_is_no_tray() {
    let (app, _dir) = app();
    let page = window(&app, windows::MAIN);
    let codes = |page| {
        let board = ask(page, HERE, "board", json!({})).unwrap();
        let notes = board["notes"].as_array().unwrap().iter();
        notes.map(|note| note["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(!codes(&page).contains(&"no_tray".to_owned()));
    assert!(app.state::<Shell>().set_no_tray(true));
    assert!(codes(&page).contains(&"no_tray".to_owned()));
}

#[test]
fn what_the_board_notes_doctor_finds_with_what_to_do() {
    let (app, _dir) = app();
    let page = window(&app, windows::MAIN);
    let found = || {
        // The board first: what it notes while doctor is being asked may be news to doctor.
        let board = ask(&page, HERE, "board", json!({})).unwrap();
        let doctor = ask(&page, HERE, "doctor", json!({})).unwrap();
        for note in board["notes"].as_array().unwrap() {
            let same = |f: &&serde_json::Value| f["code"] == note["code"] && f["message"] == note["message"];
            let finding = doctor["findings"].as_array().unwrap().iter().find(same);
            let finding = finding.unwrap_or_else(|| panic!("{note} is in no finding"));
            assert!(finding["advice"].is_string() && finding["level"] != "ok", "{finding}");
        }
        board["notes"].to_string()
    };
    let ours = |notes: String| ["no_tray", "no_notifications"].map(|code| notes.contains(code));
    assert_eq!(ours(found()), [false, false]);
    app.state::<Shell>().set_no_tray(true);
    app.state::<Shell>().set_refused(Some("nobody is there".to_owned()));
    assert_eq!(ours(found()), [true, true]);
}

#[test]
fn p3_settings_are_seen_and_set_from_the_page() {
    let (app, _dir) = app();
    let page = window(&app, windows::MAIN);
    assert_eq!(ask(&page, HERE, "settings", json!({})).unwrap()["values"]["board_hours"], 8);
    let patch = json!({ "patch": { "notifications": { "min_turn_s": 30 } } });
    let set = ask(&page, HERE, "set_settings", patch).unwrap();
    assert_eq!(set["values"]["notifications"]["min_turn_s"], 30);
    let error = ask(&page, HERE, "set_settings", json!({ "patch": { "board_hours": -1 } })).unwrap_err();
    assert_eq!(error["code"], "bad_settings");
    assert_eq!(ask(&page, HERE, "settings", json!({})).unwrap(), set);
}

#[test]
fn u56_a_notification_that_the_system_does_not_take_is_said_where_a_person_looks() {
    let (app, _dir) = app();
    let page = window(&app, windows::MAIN);
    // Nothing shows notifications before the app runs.
    let refused = ask(&page, HERE, "test_notification", json!({})).unwrap();
    assert_eq!(refused["fate"], "refused");
    assert!(refused["why"].as_str().unwrap().starts_with("The system refused: "), "{refused}");
    let rows = ask(&page, HERE, "notifications", json!({})).unwrap()["rows"].clone();
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]), (1, &refused));
    assert!(ask(&page, HERE, "board", json!({})).unwrap()["notes"].to_string().contains("no_notifications"));
}

#[test]
fn only_a_folder_is_opened() {
    let (app, dir) = app();
    let page = window(&app, windows::MAIN);
    let file = dir.path().join("run-me.sh");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    for path in [file.to_str().unwrap(), "/nowhere/at/all", "src", "https://example.org", "file:///tmp"] {
        let error = ask(&page, HERE, "open_folder", json!({ "path": path })).unwrap_err();
        assert_eq!(error["code"], "not_found", "{path}");
    }
}

#[test]
fn a_command_after_the_end_is_an_error_and_no_panic() {
    let (app, _dir) = app();
    let page = window(&app, windows::MAIN);
    app.state::<Shell>().stop();
    let error = ask(&page, HERE, "doctor", json!({})).unwrap_err();
    assert_eq!(error["code"], "internal");
}

#[test]
fn the_page_gets_one_window_however_often_it_is_asked_for() {
    let (app, _dir) = app();
    windows::open(app.handle(), None);
    windows::open(app.handle(), Some(windows::Place::lane("x".into())));
    assert_eq!(app.webview_windows().keys().collect::<Vec<_>>(), [windows::MAIN]);
}
