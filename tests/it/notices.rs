//! Notifications, from agy's files to the history: each end of a turn and each wait once, in every host and over restarts.

use agenthub_engine::{
    Host, Options,
    view::{NoticeFate, NoticeKind, Notification, State},
};
use agy_sim::{Live, LiveSpec, SimProcess};
use serde_json::json;

use crate::rig::{Rig, Watched, lane, uuid};

const CWD: &str = "/home/user/src/api-server";

fn play(rig: &Rig) -> Live {
    Live::start(&rig.home, LiveSpec::new(&uuid()).cwd(CWD)).expect("a live conversation")
}

fn history(host: &Host) -> Vec<Notification> {
    host.notifications().expect("a history").rows
}

fn kinds(host: &Host) -> Vec<NoticeKind> {
    history(host).iter().map(|n| n.kind).collect()
}

/// Short turns are told, too.
fn no_least_turn(w: &Watched) {
    w.host.set_settings(&json!({"notifications": {"min_turn_s": 0}})).expect("settings");
    w.until("the settings", |s| s.settings.values.notifications.min_turn_s == 0);
}

#[track_caller]
fn told(w: &Watched, n: usize) -> Vec<Notification> {
    let (s, _) = w.until("its notifications", |s| s.notices.len() >= n);
    assert_eq!(s.notices.len(), n, "{:#?}", s.notices);
    let ids = |rows: &[Notification]| rows.iter().map(|n| (n.id, n.round)).collect::<Vec<_>>();
    assert_eq!(ids(&s.notices), ids(&history(&w.host)));
    s.notices.to_vec()
}

#[test]
fn t3_a_turn_and_a_wait_are_told_once_here_in_the_client_and_after_a_restart() {
    let rig = Rig::new();
    let engine = rig.start();
    let client = rig.start();
    no_least_turn(&engine);
    let mut agy = play(&rig);
    agy.prompt("Migrate the database").unwrap();
    agy.call().unwrap();
    agy.tool_waits("run_command", json!({ "CommandLine": "cargo sqlx migrate run" })).unwrap();
    let waits = &told(&engine, 1)[0];
    assert_eq!((waits.kind, waits.urgent, waits.fate), (NoticeKind::Waiting, true, NoticeFate::Pending));
    assert_eq!(waits.title, "api-server waits for you: run_command");
    assert!(waits.body.contains("cargo sqlx migrate run"), "{waits:?}");
    assert_eq!(waits.lane_id, engine.host.watch().borrow().board.lanes.first().map(|l| l.lane.id.clone()));
    assert_eq!(told(&client, 1)[0], *waits, "the client can show it");
    // One of the two shows it, once.
    assert!(client.host.take_notification(waits).unwrap());
    assert!(!engine.host.take_notification(waits).unwrap());
    client.until("it is shown", |s| s.notices[0].fate == NoticeFate::Shown);
    agy.allow().unwrap();
    agy.tool_ends(agy_sim::ToolEnd::ok()).unwrap();
    agy.call().unwrap();
    agy.end_turn().unwrap();
    let (s, _) = engine
        .until("ready", |s| s.notices.iter().any(|n| n.parts.iter().any(|p| p.kind == NoticeKind::Ready)));
    let ready = s.notices[0].parts.iter().find(|p| p.kind == NoticeKind::Ready).unwrap().clone();
    let detail = engine.host.session(agy.id()).unwrap();
    assert_eq!(
        ready.tokens,
        detail.turn_sums.last().unwrap().tokens.map(|t| t.total),
        "as the Session screen says"
    );
    assert_eq!(ready.cost_usd, detail.turn_sums.last().unwrap().cost_usd);
    assert!(ready.cost_usd.is_some(), "the model has a price");
    assert!(ready.tokens.is_some_and(|t| t > 0) && ready.duration_ms.is_some(), "{ready:?}");
    let before = history(&engine.host);

    // The engine ends and the client takes over; then a new one begins.
    drop(engine);
    agy.call().unwrap();
    client.until("the client's own board", |s| s.board.revision > 0 && lane(s, CWD).is_some());
    let ids = |rows: &[Notification]| rows.iter().map(|n| (n.id, n.round)).collect::<Vec<_>>();
    assert_eq!(ids(&history(&client.host)), ids(&before));
    drop(client);
    let again = rig.start();
    assert_eq!(ids(&history(&again.host)), ids(&before));
}

#[test]
fn l10_what_was_before_the_start_is_not_told_and_what_is_under_way_is() {
    let rig = Rig::new();
    let mut over = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd("/src/over")).unwrap();
    over.prompt("Go").unwrap();
    over.call().unwrap();
    over.end_turn().unwrap();
    let mut waits = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd("/src/waits")).unwrap();
    waits.prompt("Go").unwrap();
    waits.tool_waits("run_command", json!({})).unwrap();
    let mut open = play(&rig);
    open.prompt("Go").unwrap();
    let engine = rig.start();
    no_least_turn(&engine);
    engine.until("three lanes", |s| s.board.lanes.len() == 3);
    open.call().unwrap();
    open.end_turn().unwrap();
    let told = told(&engine, 1);
    assert_eq!(told[0].title, "api-server is ready");
}

#[test]
fn t4_what_is_held_back_says_why() {
    let rig = Rig::new();
    let engine = rig.start();
    let mut agy = play(&rig);
    let turn = |agy: &mut Live| {
        agy.prompt("Go").unwrap();
        agy.call().unwrap();
        agy.end_turn().unwrap();
    };
    turn(&mut agy);
    let short = &told(&engine, 1)[0];
    assert_eq!((short.fate, short.why.as_deref()), (NoticeFate::Held, Some("Turn shorter than 10 s")));
    no_least_turn(&engine);
    let id = short.lane_id.clone().unwrap();
    engine.host.mute_lane(&id, true).unwrap();
    engine.until("muted", |s| !s.settings.values.notifications.muted_lanes.is_empty());
    turn(&mut agy);
    assert_eq!(told(&engine, 2)[0].why.as_deref(), Some("Lane is muted"));
    let document = engine.host.notifications().unwrap();
    assert_eq!(document.muted_lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["api-server"]);
    engine.host.mute_lane(&id, false).unwrap();
    engine.host.mute(true).unwrap();
    engine.until("do not disturb", |s| {
        s.settings.values.notifications.do_not_disturb
            && s.settings.values.notifications.muted_lanes.is_empty()
    });
    turn(&mut agy);
    assert_eq!(told(&engine, 3)[0].why.as_deref(), Some("Do not disturb"));
    assert!(engine.host.notifications().unwrap().do_not_disturb);
}

#[test]
fn t3_an_agy_killed_in_the_middle_is_told_and_one_that_finished_and_went_is_ready() {
    let rig = Rig::new();
    let engine = rig.start();
    no_least_turn(&engine);
    let program = agy_sim::program().expect("agy-sim is built");
    let mut agy = SimProcess::spawn(&program, &rig.home, &["--cwd", CWD]).expect("agy-sim plays");
    agy.send("prompt Rename the crate").unwrap();
    agy.send("call").unwrap();
    engine.until("running, lock seen", |s| {
        lane(s, CWD).is_some_and(|l| {
            l.lane.state == State::Running && l.lane.why.beat.iter().any(|e| e.fact.contains("holds"))
        })
    });
    agy.kill().unwrap();
    let n = &told(&engine, 1)[0];
    assert_eq!(n.title, "api-server ended without finishing");

    // Rows, then the end of the process, as `agy -p` does it.
    let mut live = Live::start(&rig.home, LiveSpec::new(&uuid()).cwd("/src/headless")).unwrap();
    live.prompt("Go").unwrap();
    live.call().unwrap();
    live.end_turn().unwrap();
    live.close().unwrap();
    let (s, _) =
        engine.until("told", |s| s.notices.iter().any(|n| n.parts.iter().any(|p| p.lane_name == "headless")));
    let part = s.notices[0].parts.iter().find(|p| p.lane_name == "headless").unwrap();
    assert_eq!(part.kind, NoticeKind::Ready);
}

#[test]
fn t5_the_history_holds_the_last_two_hundred() {
    let rig = Rig::new();
    let watched = rig.start_with(rig.config(), Options::default());
    for _ in 0..205 {
        watched.host.test_notification().unwrap();
    }
    watched.host.notification_refused(205, "nobody there").unwrap();
    let rows = history(&watched.host);
    assert_eq!((rows.len(), rows[0].id, rows[199].id), (200, 205, 6));
    assert_eq!(
        (rows[0].fate, rows[0].why.as_deref()),
        (NoticeFate::Refused, Some("The system refused: nobody there"))
    );
    assert_eq!(kinds(&watched.host)[1], NoticeKind::Test);
}
