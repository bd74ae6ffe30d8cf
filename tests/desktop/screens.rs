//! Pictures of every screen in the demo's world, light and dark, for the documents: `cargo xtask screenshots` runs this. It
//! promises nothing, so no test run does.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::{
    harness::{APP, desk::Desk, notifications::Notifications, page::Page, until, within},
    looks::artifact,
};

/// The lanes have done so much then that there is something to see.
const NOTIFICATIONS: usize = 6;

/// Each with its address, and words by which it is known to be there.
const SCREENS: &[(&str, &str, &str)] = &[
    ("lanes", "#/lanes", "api-server"),
    ("sessions", "#/sessions", "sessions"),
    ("usage", "#/usage", "Tokens"),
    ("notifications", "#/notifications", "Notifications"),
    ("settings-general", "#/settings/general", "General"),
    ("settings-notifications", "#/settings/notifications", "Notifications"),
    ("settings-antigravity", "#/settings/antigravity", "Model Pricing"),
    ("settings-tracing", "#/settings/tracing", "Tracing"),
    ("doctor", "#/doctor", "What AgentHub cannot know"),
];

#[test]
#[ignore = "it draws pictures: `cargo xtask screenshots`"]
fn every_screen_of_the_demo() {
    let folder =
        std::env::var_os("AGENTHUB_SCREENS").map(PathBuf::from).expect("AGENTHUB_SCREENS names a folder");
    std::fs::create_dir_all(&folder).unwrap();
    let mut desk = Desk::start();
    desk.window_manager();
    // No picture of a row on its way to another place.
    desk.write_config("gtk-3.0/settings.ini", "[Settings]\ngtk-enable-animations=false\n");
    let told = Notifications::serve(desk.connect());
    // The demo's turns are short.
    desk.write_config("agenthub/settings.json", r#"{ "notifications": { "min_turn_s": 0 } }"#);
    let sim = Path::new(APP).with_file_name("agy-sim");
    let gemini = desk.gemini_dir();
    let playing = desk.spawn(&sim.to_string_lossy(), &["demo", "--home", &gemini.to_string_lossy()]);
    until("the demo's home", || desk.log(playing).contains("ready").then_some(()));
    let page = Page::open(&mut desk);
    for lane in ["payments-gateway", "api-server", "atlas-web"] {
        page.see(lane);
    }
    let minutes = Duration::from_secs(300);
    within(minutes, "lanes that have done something", || (told.calls().len() >= NOTIFICATIONS).then_some(()));
    for (name, address, words) in SCREENS {
        page.run(&format!("location.hash = {address:?}"));
        page.see(words);
        if *name == "lanes" {
            // Somebody is needed, and not just this moment: that is what the board is for.
            let waits = "return [...document.querySelectorAll('.lane.waiting')].some((l) => /\\b0:(0[5-9]|1[0-2])\\b/.test(l.innerText))";
            within(minutes, "a lane that waits", || (page.run(waits) == true).then_some(()));
        }
        picture(&page, &folder, name);
    }
    // The session with the most to show.
    let asked = json!({ "query": { "sort": "cost", "limit": 1 } });
    let listed = page.ask("sessions", asked);
    let id = listed["rows"][0]["id"].as_str().unwrap_or_else(|| panic!("no session: {listed}")).to_owned();
    page.run(&format!("location.hash = '#/session/{id}'"));
    page.see("Context");
    // The newest turn takes the keyboard when it is there; until then a picture may have its ring or not.
    let taken = "return document.activeElement !== null && document.activeElement !== document.body";
    until("the keyboard on a turn", || (page.run(taken) == true).then_some(()));
    picture(&page, &folder, "session");
    // The documents show an hour; these are for whoever looks.
    page.run("location.hash = '#/lanes'");
    for (span, name) in [("15 min", "lanes-15-min"), ("8 h", "lanes-8-h")] {
        page.click(&format!("//button[normalize-space()='{span}']"));
        page.settle();
        page.screenshot(&artifact(&format!("{name}.png")));
    }
    page.close();
}

fn picture(page: &Page, folder: &Path, name: &str) {
    for theme in ["light", "dark"] {
        page.theme(theme);
        // No ring around what a key would act upon: nobody pressed one.
        page.run("document.activeElement?.blur()");
        page.settle();
        page.screenshot(&folder.join(format!("{name}-{theme}.png")));
    }
}
