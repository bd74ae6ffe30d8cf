//! The window: opened from the tray, closed to nothing, and what its page may and may not do.

use std::time::Duration;

use agy_sim::{Home, Live, LiveSpec};
use serde_json::json;

use crate::harness::{
    desk::{Desk, descendants, family_cpu_time, pss_mib},
    page::Page,
    until, within,
};

#[test]
fn t2_a_left_click_and_the_menu_open_the_window_and_closing_it_frees_the_web_process() {
    let mut desk = Desk::start();
    desk.window_manager();
    let app = desk.app(&[]);
    let pid = desk.pid(app);
    let tray = desk.tray();
    for by_click in [true, false] {
        if by_click {
            tray.activate();
        } else {
            tray.choose("Open AgentHub");
        }
        until("the window", || desk.window("AgentHub"));
        until("a web process", || (descendants(pid, "WebKitWebProcess") == 1).then_some(()));
        desk.close("AgentHub");
        until("the web process to end", || (descendants(pid, "WebKitWebProcess") == 0).then_some(()));
        assert_eq!(desk.exited(app), None, "the tray stays");
    }
    eprintln!("window closed: {:.0} MiB PSS", pss_mib(pid));
    assert!(tray.line("Quit").is_some());
}

#[test]
fn t6_the_page_says_why_the_window_opened_until_there_is_a_tray() {
    let mut desk = Desk::bare();
    let page = Page::open(&mut desk);
    page.see("No tray was found");
    desk.add_tray_host();
    desk.tray();
    until("the note to go", || (!page.text().contains("No tray was found")).then_some(()));
    page.close();
}

#[test]
fn the_page_opens_a_folder_in_the_file_manager_and_nothing_else() {
    let mut desk = Desk::start();
    let opened = desk.home().join("opened");
    desk.install("xdg-open", &format!("#!/bin/sh\necho \"$1\" >> '{}'\n", opened.display()));
    let page = Page::open(&mut desk);
    let folder = desk.home().join("a folder");
    std::fs::create_dir(&folder).unwrap();
    let open = |path: &std::path::Path| page.ask("open_folder", json!({ "path": path }));
    assert_eq!(open(&desk.home().join(".config"))["code"], "not_found");
    assert_eq!(open(&opened)["code"], "not_found");
    assert!(open(&folder).is_null());
    let said =
        until("the file manager", || std::fs::read_to_string(&opened).ok().filter(|said| !said.is_empty()));
    assert_eq!(said.trim(), folder.to_str().unwrap());
    page.close();
}

#[test]
fn w5_the_page_cannot_leave_and_no_foreign_page_can_ask() {
    let mut desk = Desk::start();
    let page = Page::open(&mut desk);
    let home = page.address();
    assert!(home.starts_with("tauri://localhost/index.html#/lanes"), "{home}");

    let board = page.ask("board", json!({}));
    assert!(board["lanes"].is_array(), "{board}");

    // A web page of somebody else: going there, opening a window on it, fetching it, framing it.
    let foreign = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    foreign.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", foreign.local_addr().unwrap());
    page.run(&format!("location.href = '{url}'"));
    page.run(&format!("window.open('{url}')"));
    page.run(&format!(
        "const f = document.createElement('iframe'); f.src = '{url}'; document.body.append(f);\
         const i = new Image(); i.src = '{url}x.png'; document.body.append(i)"
    ));
    let fetched = page.run_async(&format!(
        "const done = arguments[0]; fetch('{url}').then(() => done('reached'), () => done('refused'))"
    ));
    assert_eq!(fetched, "refused");
    assert_eq!(page.address(), home);
    assert!(foreign.accept().is_err(), "nothing went out");

    // Code from outside does not run, and what no capability names is refused.
    page.run("const s = document.createElement('script'); s.textContent = 'window.inline = 1'; document.body.append(s)");
    assert!(page.run("return window.inline ?? null").is_null());
    let refused = page.run_async(
        "const done = arguments[0];\
         window.__TAURI_INTERNALS__.invoke('plugin:window|close').then(() => done('done'), (e) => done(String(e)))",
    );
    assert!(refused.as_str().unwrap().contains("not allowed"), "{refused}");
    assert!(page.run("return window.__TAURI__ ?? null").is_null(), "no global API");
    page.close();
}

/// Without a graphics card every frame is painted by the processor: a bead that breathed for ever took a whole core.
#[test]
fn a_window_with_a_lane_at_work_comes_to_rest() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    let mut agy =
        Live::start(&home, LiveSpec::new("5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab").cwd("/work/api-server"))
            .unwrap();
    let page = Page::open(&mut desk);
    agy.prompt("Go").unwrap();
    agy.call_begins().unwrap();
    page.see("api-server");
    page.see("1 running");
    let moving = "return document.getAnimations().filter((a) => a.playState === 'running').length";
    within(Duration::from_secs(60), "the bead to have breathed", || (page.run(moving) == 0).then_some(()));

    // What is left is a clock that ticks once a second.
    let app = desk.single_instance_pid();
    let before = family_cpu_time(app);
    std::thread::sleep(Duration::from_secs(5));
    let spent = family_cpu_time(app) - before;
    eprintln!("a window with a lane at work: {} ms of CPU in 5 s", spent.as_millis());
    assert!(spent < Duration::from_millis(2500), "{spent:?} of CPU in 5 s in a window at rest");
    assert_eq!(page.run(moving), 0);
    page.close();
}
