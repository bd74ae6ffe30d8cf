//! The app's life: start, second start, no tray, no display, the end.

use std::{process::Command, time::Duration};

use agy_sim::{Home, Live, LiveSpec, WorldSpec};
use zbus::blocking::Connection;

use crate::harness::{
    APP,
    desk::{Desk, cpu_time, descendants, pss_mib},
    page::Page,
    until, within,
};

#[test]
fn t2_an_empty_home_has_a_tray_that_says_so() {
    let mut desk = Desk::start();
    let app = desk.app(&[]);
    let tray = desk.tray();
    until("the menu", || {
        (tray.labels() == ["No lanes yet", "---", "Open AgentHub", "Mute notifications", "Quit"])
            .then_some(())
    });
    assert!(!tray.items()[0].enabled, "the summary is no command");
    assert_eq!(tray.tooltip(), ("AgentHub".into(), "No lanes yet".into()));
    assert_eq!((tray.text("Id"), tray.text("Status")), ("agenthub".into(), "Active".into()));
    let icon = tray.icon();
    assert_eq!((icon.width, icon.height), (22, 22));
    assert!(icon.argb.chunks(4).any(|pixel| pixel[0] == 255), "something is drawn");
    assert_eq!(desk.window("AgentHub"), None, "the tray is enough");
    assert_eq!(descendants(desk.pid(app), "WebKitWebProcess"), 0);
    eprintln!("tray only: {:.0} MiB PSS", pss_mib(desk.pid(app)));

    tray.choose("Quit");
    let status = until("the app to quit", || desk.exited(app));
    assert!(status.success(), "{status}");
}

#[test]
fn at_rest_it_costs_nothing() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    agy_sim::build(&home, &WorldSpec::new(20, 200)).unwrap();
    let mut agy =
        Live::start(&home, LiveSpec::new("5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab").cwd("/work/x")).unwrap();
    agy.prompt("Go").unwrap();
    agy.call_begins().unwrap();
    let app = desk.app(&[]);
    let tray = desk.tray();
    until("the lane", || tray.line("●"));
    std::thread::sleep(Duration::from_secs(2));
    let (pid, before) = (desk.pid(app), cpu_time(desk.pid(app)));
    std::thread::sleep(Duration::from_secs(5));
    let spent = cpu_time(pid) - before;
    eprintln!("at rest with a lane: {} ms of CPU in 5 s, {:.0} MiB PSS", spent.as_millis(), pss_mib(pid));
    assert!(spent <= Duration::from_millis(50), "{spent:?} of CPU in 5 s at rest");
}

#[test]
fn t6_sigterm_and_sigint_end_it_cleanly() {
    for signal in ["TERM", "INT"] {
        let mut desk = Desk::start();
        let app = desk.app(&["--window"]);
        desk.tray();
        until("the window", || desk.window("AgentHub"));
        let pid = desk.pid(app);
        until("a web process", || (descendants(pid, "WebKitWebProcess") == 1).then_some(()));
        desk.signal(app, signal);
        let status = within(Duration::from_secs(5), "the app to end", || desk.exited(app));
        assert_eq!(status.code(), Some(0), "SIG{signal}");
        until("the item to leave the bus", || {
            desk.bus_names().iter().all(|name| !name.contains(&format!("-{pid}-"))).then_some(())
        });
        until("the web processes to end", || group_is_empty(pid).then_some(()));
        let left: Vec<_> =
            std::fs::read_dir(desk.runtime_dir()).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.iter().all(|p| !p.ends_with("tray-icon")), "SIG{signal} left {left:?}");
    }
}

#[test]
fn t6_a_second_start_opens_the_first_ones_window() {
    let mut desk = Desk::start();
    let first = desk.app(&[]);
    desk.tray();

    let quiet = desk.app(&["--background"]);
    assert!(until("the second to leave", || desk.exited(quiet)).success());
    assert_eq!(desk.window("AgentHub"), None, "a start at login opens nothing");

    let second = desk.app(&[]);
    assert!(until("the third to leave", || desk.exited(second)).success());
    until("the window", || desk.window("AgentHub"));
    assert_eq!(desk.exited(first), None);
    assert_eq!(desk.tray_items(), 1);
}

#[test]
fn w5_a_second_start_can_say_what_to_show() {
    let mut desk = Desk::start();
    let page = Page::open(&mut desk);
    // It listens by then.
    page.see("Lanes");
    for (option, id, address) in [
        (
            "--session",
            "18ee78b4-4643-45db-85df-8abd89b51b1b",
            "#/session/18ee78b4-4643-45db-85df-8abd89b51b1b",
        ),
        // The page points at the lane once, and keeps no address of it.
        ("--lane", "run:a b", "#/lanes"),
    ] {
        let second = desk.app(&[option, id]);
        assert!(until("the second to leave", || desk.exited(second)).success());
        until(option, || page.address().ends_with(address).then_some(()));
    }
    page.close();
}

#[test]
fn p7_another_data_folder_is_another_app() {
    let mut desk = Desk::start();
    desk.app(&[]);
    desk.tray();
    let other = desk.home().join("other");
    let second = desk.app(&["--data-dir", other.to_str().unwrap()]);
    until("its own tray item", || (desk.tray_items() == 2).then_some(()));
    assert_eq!(desk.exited(second), None);
}

#[test]
fn a_first_instance_that_dies_while_it_is_asked_does_not_stop_the_second() {
    let mut desk = Desk::start();
    let first = desk.app(&[]);
    desk.tray();
    let name = until("the instance's name", || desk.single_instance());
    desk.signal(first, "TERM");
    until("the first to end", || desk.exited(first));
    assert_eq!(desk.single_instance(), None);

    // Another one has the name, takes the call, and is gone before it answers.
    let dying = desk.connect();
    let gone = dying.clone();
    let path = format!("/{}", name.replace('.', "/"));
    dying.object_server().at(path, Dying(gone)).unwrap();
    dying.request_name(name).unwrap();
    let second = desk.app(&[]);
    until("a second tray item", || (desk.tray_items() == 2).then_some(()));
    assert_eq!(desk.exited(second), None);
}

struct Dying(Connection);

#[zbus::interface(name = "org.SingleInstance.DBus")]
impl Dying {
    async fn execute_callback(&self, _argv: Vec<String>, _cwd: String) {
        let _ = self.0.inner().clone().close().await;
        std::future::pending::<()>().await;
    }
}

#[test]
fn t6_without_a_tray_host_the_window_opens_until_there_is_one() {
    let mut desk = Desk::bare();
    desk.window_manager();
    let app = desk.app(&[]);
    until("the window", || desk.window("AgentHub"));
    assert_eq!(desk.exited(app), None);

    // A panel starts: the tray stands, and closing the window keeps the app.
    desk.add_tray_host();
    let tray = desk.tray();
    until("the menu", || tray.line("Open AgentHub"));
    desk.close("AgentHub");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(desk.exited(app), None);

    // The panel restarts: the item comes back by itself, and nothing pops up.
    desk.remove_tray_host();
    desk.add_tray_host();
    desk.tray();
    assert_eq!(desk.window("AgentHub"), None);
}

#[test]
fn t6_with_neither_tray_nor_window_it_ends() {
    let mut desk = Desk::bare();
    desk.window_manager();
    let app = desk.app(&[]);
    until("the window", || desk.window("AgentHub"));
    desk.close("AgentHub");
    assert!(until("the app to end", || desk.exited(app)).success());
}

#[test]
fn without_a_display_it_says_so() {
    for display in [None, Some(":4242")] {
        let mut command = Command::new(APP);
        command.env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY").env("HOME", "/nonexistent");
        command.envs(display.map(|display| ("DISPLAY", display)));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{display:?}: {said}");
        assert!(said.contains("no display was found") && !said.contains("panicked"), "{said}");
    }
}

/// No process of this group runs any more.
fn group_is_empty(group: u32) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    !processes.filter_map(|p| std::fs::read_to_string(p.path().join("stat")).ok()).any(|stat| {
        // pid (comm) state ppid pgrp …
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = rest.split(' ');
        fields.next() != Some("Z") && fields.nth(1) == Some(&group.to_string())
    })
}
