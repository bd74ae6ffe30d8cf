//! What a person is told, on a desktop with a notification daemon, and on one without.

use std::time::Duration;

use agy_sim::{Home, Live, LiveSpec, ToolEnd};
use serde_json::{Value, json};

use crate::harness::{
    APP,
    desk::Desk,
    notifications::{Notifications, Shown},
    page::Page,
    until, within_or_not,
};

/// A machine that does much else at once tells late.
const PATIENCE: Duration = Duration::from_secs(60);
const ENTER: &str = "\u{e007}";
const ID: &str = "5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab";

/// Short turns are told, too; agy's home is there.
fn prepare(desk: &Desk, notifications: Value) -> Home {
    let mut all = json!({ "min_turn_s": 0 });
    all.as_object_mut().unwrap().extend(notifications.as_object().unwrap().clone());
    desk.write_config("agenthub/settings.json", &json!({ "notifications": all }).to_string());
    Home::create(desk.gemini_dir()).unwrap()
}

fn turn(agy: &mut Live) {
    agy.prompt("Migrate the database").unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
}

/// Waits for the so manieth call, and makes sure that it is the last one so far.
#[track_caller]
fn shown(daemon: &Notifications, n: usize) -> Shown {
    let told = within_or_not(PATIENCE, || daemon.calls().len() >= n);
    assert!(told.is_some(), "no {n}. notification: {:#?}", daemon.calls());
    let calls = daemon.calls();
    assert_eq!(calls.len(), n, "{calls:#?}");
    calls[n - 1].clone()
}

/// The history as the app wrote it: title and why, newest first.
fn history(page: &Page) -> Vec<(String, Option<String>)> {
    let rows = page.ask("notifications", json!({}))["rows"].clone();
    let text = |v: &Value| v.as_str().map(str::to_owned);
    rows.as_array().unwrap().iter().map(|r| (text(&r["title"]).unwrap(), text(&r["why"]))).collect()
}

#[test]
fn t3_a_wait_and_the_end_of_a_turn_are_one_notification_each_and_a_click_opens_the_lane() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({ "waiting": { "sound": true } }));
    let page = Page::open(&mut desk);
    page.run("location.hash = '#/doctor'");
    let mut agy = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    agy.prompt("Migrate the database").unwrap();
    agy.call().unwrap();
    let command = json!({ "CommandLine": "echo '<b>&\u{202e}\"' > x" });
    agy.tool_waits("run_command", command).unwrap();
    let waits = shown(&daemon, 1);
    assert_eq!((waits.title.as_str(), waits.urgency), ("api-server waits for you: run_command", 2));
    assert_eq!((waits.sound.is_some(), waits.silent), (true, false));
    assert!(
        waits.body.contains("&lt;b&gt;&amp;\"") && !waits.body.contains(['<', '\u{202e}']),
        "{:?}",
        waits.body
    );
    assert_eq!(waits.actions.first().map(String::as_str), Some("default"));
    // The app listens a moment after it was shown: before any person could click.
    until("the page to go to the lane", || {
        daemon.click(waits.id);
        page.address().contains("#/lanes").then_some(())
    });

    // Not together with the first one.
    std::thread::sleep(Duration::from_millis(2_100));
    agy.allow().unwrap();
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let ready = shown(&daemon, 2);
    assert_eq!((ready.title.as_str(), ready.urgency, ready.silent), ("api-server is ready", 1, true));
    assert!(ready.body.contains(" tokens"), "{:?}", ready.body);
    assert_ne!(ready.id, waits.id);
    // Nothing more comes of the same turn.
    agy.close().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(shown(&daemon, 2), ready);
    page.close();
}

#[test]
fn t4_several_within_two_seconds_are_one_in_the_place_of_the_first() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({}));
    let page = Page::open(&mut desk);
    let start = |id: &str, cwd| Live::start(&home, LiveSpec::new(id).cwd(cwd)).unwrap();
    let mut first = start(ID, "/work/api-server");
    let mut second = start(&ID.replace("5d0c", "6d0c"), "/work/web");
    // A machine that is held up may take longer than two seconds between the two; then they are two, and it is tried again.
    let joined = (0..20).find_map(|_| {
        let before = daemon.calls().len();
        turn(&mut first);
        until("the first", || (daemon.calls().len() > before).then_some(()));
        let standing = daemon.calls()[before].clone();
        assert_eq!((standing.title.as_str(), standing.replaces), ("api-server is ready", 0));
        turn(&mut second);
        until("the second", || (daemon.calls().len() > before + 1).then_some(()));
        let next = daemon.calls()[before + 1].clone();
        std::thread::sleep(Duration::from_millis(2_100));
        (next.replaces != 0).then_some((standing, next))
    });
    let (standing, next) = joined.expect("two within two seconds are told as one");
    assert_eq!((next.replaces, next.id, &next.sender), (standing.id, standing.id, &standing.sender));
    assert!(next.title.contains('2') && next.body.contains("web"), "{next:?}");
    let rows = page.ask("notifications", json!({}))["rows"].clone();
    assert_eq!((&rows[0]["fate"], rows[0]["parts"].as_array().unwrap().len()), (&json!("shown"), 2));
    // It is still one that a click opens.
    page.run("location.hash = '#/doctor'");
    until("the page to go to the lane", || {
        daemon.click(next.id);
        page.address().contains("#/lanes").then_some(())
    });
    page.close();
}

#[test]
fn t4_a_lane_that_is_muted_by_key_is_silent_until_that_is_undone_and_the_others_are_not() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({}));
    let page = Page::open(&mut desk);
    let mut muted = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    muted.prompt("Migrate the database").unwrap();
    page.see("api-server");
    page.run("document.querySelector('[data-lane]').focus()");
    page.press("m");
    // The way back goes by itself after a while, unless somebody is about to take it.
    let undo = "const undo = [...document.querySelectorAll('.toast button')].find((b) => b.textContent.trim() === 'Undo');\
        undo?.focus(); return document.activeElement === undo && Boolean(undo)";
    until("a way back", || (page.run(undo) == true).then_some(()));
    page.see("Lane muted");
    muted.call().unwrap();
    muted.end_turn().unwrap();
    let held = until("the history", || history(&page).first().cloned());
    assert_eq!(held, ("api-server is ready".to_owned(), Some("Lane is muted".to_owned())));
    let other = LiveSpec::new(&ID.replace("5d0c", "6d0c")).cwd("/work/web");
    let mut other = Live::start(&home, other).unwrap();
    turn(&mut other);
    assert_eq!(shown(&daemon, 1).title, "web is ready", "{:?}", history(&page));
    page.press(ENTER);
    page.see("Lane makes notifications again");
    // Not together with that one.
    std::thread::sleep(Duration::from_millis(2_100));
    turn(&mut muted);
    assert_eq!(shown(&daemon, 2).title, "api-server is ready", "{:?}", history(&page));
    page.close();
}

#[test]
fn t6_what_leads_nowhere_any_more_is_taken_off_the_desktop() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({}));
    let app = desk.app(&[]);
    desk.tray();
    let mut agy = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    agy.prompt("Migrate the database").unwrap();
    agy.call().unwrap();
    agy.tool_waits("run_command", json!({ "CommandLine": "make" })).unwrap();
    let waits = shown(&daemon, 1);
    // Answered in the terminal.
    agy.allow().unwrap();
    until("the question to go", || (daemon.closed() == [waits.id]).then_some(()));
    agy.tool_ends(ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let ready = shown(&daemon, 2);
    assert_eq!((ready.urgency, ready.replaces), (1, 0));
    desk.signal(app, "TERM");
    let status = until("the end of the app", || desk.exited(app));
    assert_eq!(status.code(), Some(0));
    until("the rest to go", || (daemon.closed() == [waits.id, ready.id]).then_some(()));
}

#[test]
fn t2_muted_from_the_menu_nothing_is_shown_and_the_history_says_why() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({}));
    let page = Page::open(&mut desk);
    let tray = desk.tray();
    let resting = until("an icon", || Some(tray.icon()));
    until("an item that is off", || (tray.checked("Mute notifications") == Some(false)).then_some(()));
    tray.choose("Mute notifications");
    until("an item that is on", || (tray.checked("Mute notifications") == Some(true)).then_some(()));
    until("the quiet picture", || (tray.icon() != resting).then_some(()));
    let mut agy = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    turn(&mut agy);
    let muted = until("the history", || history(&page).first().cloned());
    assert_eq!(muted, ("api-server is ready".to_owned(), Some("Do not disturb".to_owned())));
    tray.choose("Mute notifications");
    until("an item that is off again", || (tray.checked("Mute notifications") == Some(false)).then_some(()));
    until("the first picture", || (tray.icon() == resting).then_some(()));
    turn(&mut agy);
    assert_eq!(shown(&daemon, 1).title, "api-server is ready");
    page.close();
}

#[test]
fn u55_a_test_goes_the_same_way_and_says_when_nobody_shows_it() {
    let mut desk = Desk::start();
    prepare(&desk, json!({ "do_not_disturb": true }));
    let page = Page::open(&mut desk);
    let refused = page.ask("test_notification", json!({}));
    assert_eq!(refused["fate"], "refused");
    // Where a daemon is installed, the bus tries to start it; here it finds no display.
    let why = refused["why"].as_str().unwrap();
    let nobody = [
        "The system refused: no notification service",
        "The system refused: the notification service can't be started",
    ];
    assert!(nobody.contains(&why), "{why}");
    let codes = |page: &Page| page.ask("board", json!({}))["notes"].to_string();
    assert!(codes(&page).contains("no_notifications"));
    let daemon = Notifications::serve(desk.connect());
    assert_eq!(page.ask("test_notification", json!({}))["fate"], "shown");
    assert_eq!(shown(&daemon, 1).title, "Notifications work");
    assert!(!codes(&page).contains("no_notifications"));
    page.close();
}

#[test]
fn p7_the_app_shows_what_the_engine_of_a_command_line_found() {
    let mut desk = Desk::start();
    let daemon = Notifications::serve(desk.connect());
    let home = prepare(&desk, json!({}));
    let watch = desk.spawn(&command_line(), &["watch"]);
    until("its engine", || desk.log(watch).contains("\"schema\"").then_some(()));
    desk.app(&[]);
    let tray = desk.tray();
    let mut agy = Live::start(&home, LiveSpec::new(ID).cwd("/work/api-server")).unwrap();
    agy.prompt("Migrate the database").unwrap();
    agy.call_begins().unwrap();
    until("the lane", || tray.line("api-server"));
    let call = agy.plausible_call();
    agy.call_ends(&call).unwrap();
    agy.end_turn().unwrap();
    assert_eq!(shown(&daemon, 1).title, "api-server is ready");
    // The app takes over, and does not tell it again.
    desk.signal(watch, "TERM");
    until("the end of the first engine", || desk.exited(watch));
    turn(&mut agy);
    let second = shown(&daemon, 2);
    assert_eq!((second.title.as_str(), second.replaces), ("api-server is ready", 0));
}

#[test]
fn t6_start_at_login_follows_the_setting() {
    let mut desk = Desk::start();
    desk.write_config("agenthub/settings.json", "{\"start_at_login\": true}");
    let page = Page::open(&mut desk);
    let entry = || {
        let files = std::fs::read_dir(desk.home().join(".config/autostart")).ok()?;
        let file = files.filter_map(Result::ok).next()?.path();
        std::fs::read_to_string(file).ok()
    };
    let text = until("an entry", entry);
    assert!(text.contains(APP) && text.contains("--background"), "{text}");
    page.ask("set_settings", json!({ "patch": { "start_at_login": false } }));
    until("no entry", || entry().is_none().then_some(()));
    page.close();
}

/// `agenthub`, beside the app.
fn command_line() -> String {
    agy_sim::built("agenthub-cli", "agenthub").unwrap().display().to_string()
}
