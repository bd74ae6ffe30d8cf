//! A new person's first minutes: a machine without agy, agy's first conversation, hooks on the way, and the next start.

use std::time::Duration;

use agy_sim::{Home, Live, LiveSpec};
use serde_json::{Value, json};

use crate::{
    harness::{desk::Desk, hook_program, page::Page, until, within},
    looks::judged,
};

const CARD: &str = "Your agents, one lane each";
/// Folders that come one after the other may be met by the poll alone, every 15 s.
const POLLS: Duration = Duration::from_secs(60);

#[test]
fn w1_w3_a_new_person_is_led_to_hooks_and_a_lane_and_finds_the_window_as_they_left_it() {
    hook_program();
    let size = |page: &Page| page.run("return [innerWidth, innerHeight]");
    let mut desk = Desk::start();
    desk.window_manager();
    let page = Page::open(&mut desk);
    assert_eq!(size(&page), json!([1120, 720]));
    page.see(CARD);
    page.see("agy’s folder is not there yet");
    page.see("set AGENTHUB_GEMINI_DIR");
    page.see("Start agy in a project folder");
    assert!(!page.text().contains("Add hooks"), "there is nothing to put hooks into: {}", page.text());
    judged(&page, "first-start-no-agy");

    // agy is installed, and was not asked anything yet.
    let home = Home::create(desk.gemini_dir()).unwrap();
    within(POLLS, "the folder to be found", || page.text().contains("agy’s folder found").then_some(()));
    page.see("No conversation yet");
    page.see("Add hooks, to know at once");
    judged(&page, "first-start");

    // The card leads to the exact difference, and nothing is written before it was chosen.
    let hooks = home.hooks_file();
    page.click("//button[normalize-space()='Preview change…']");
    page.see("Install will change two files.");
    page.see("\"agenthub\": {");
    assert!(page.address().ends_with("#/settings/antigravity"), "{}", page.address());
    assert!(!hooks.exists());
    page.click("//button[normalize-space()='Write hooks.json']");
    page.see("Hooks installed");
    page.see("no event seen yet");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&hooks).unwrap()).unwrap();
    assert!(written["agenthub"]["PreInvocation"].is_array(), "{written}");
    page.run("location.hash = '#/lanes'");
    page.see("Hooks are installed");
    assert!(!page.text().contains("Preview change…"), "{}", page.text());

    // The first conversation: its lane takes the card's place, and its hooks are heard.
    let id = "5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab";
    let mut agy = Live::start(&home, LiveSpec::new(id).cwd("/work/api-server")).unwrap();
    agy.prompt("Migrate the database").unwrap();
    agy.call_begins().unwrap();
    page.see("1 running");
    page.see("api-server");
    assert!(!page.text().contains(CARD), "{}", page.text());
    let call = agy.plausible_call();
    agy.call_ends(&call).unwrap();
    agy.end_turn().unwrap();
    agy.close().unwrap();
    page.run("location.hash = '#/settings/antigravity'");
    page.see("last event");

    let window = until("the window", || desk.window("AgentHub"));
    desk.run("xdotool", &["windowsize", &window, "900", "600"]);
    until("the new size", || (size(&page) == json!([900, 600])).then_some(()));
    desk.close("AgentHub");
    let kept = desk.home().join(".local/share/agenthub/window.json");
    until("the size to be kept", || std::fs::read_to_string(&kept).ok().filter(|kept| kept.contains("900")));
    desk.tray().choose("Quit");
    until("the app to quit", || desk.single_instance().is_none().then_some(()));

    let page = Page::open(&mut desk);
    page.see("api-server");
    assert_eq!(size(&page), json!([900, 600]));
    assert!(!page.text().contains(CARD), "{}", page.text());
    page.run("location.hash = '#/settings/antigravity'");
    page.see("last event");
    page.close();
    // All that it keeps is in our own folders, so that one with other folders leaves nothing beside them.
    for folder in [".config", ".local/share", ".cache"] {
        let left = desk.home().join(folder).join("dev.agenthub.desktop");
        until(&format!("no {}", left.display()), || (!left.exists()).then_some(()));
    }
    assert!(desk.home().join(".local/share/agenthub/webview").is_dir());
}
