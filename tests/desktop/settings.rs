//! Journeys of a person through Settings: what is chosen in the window stands in the files, and nothing before it was shown.

use std::time::Duration;

use agy_sim::{Home, Live, LiveSpec};
use serde_json::{Value, json};

use crate::{
    harness::{desk::Desk, hook_program, page::Page, until, within_or_not},
    looks::judged,
};

/// Chooses what a person reads on it, as soon as it is there.
pub(crate) fn choose(page: &Page, label: &str) {
    let script = format!(
        "const it = [...document.querySelectorAll('button, a, summary, [role=tab], [role=switch], [role=radio]')]\
           .find((e) => !e.disabled && (e.textContent.trim() === {label:?} || e.getAttribute('aria-label') === {label:?}));\
         it?.click(); return Boolean(it)"
    );
    until(&format!("`{label}` to choose"), || (page.run(&script) == true).then_some(()));
}

#[test]
fn w3_hooks_are_installed_by_hand_with_their_difference_shown_first() {
    hook_program();
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    let file = desk.gemini_dir().join("config/hooks.json");
    let theirs = "{\n  \"lint\": {\n    \"Stop\": [{\"type\": \"command\", \"command\": \"true\"}]\n  },\n  \"gate\": {\n    \"PreToolUse\": [{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]\n  }\n}\n";
    std::fs::write(&file, theirs).unwrap();
    let now = || std::fs::read_to_string(&file).unwrap();

    let page = Page::open(&mut desk);
    page.run("location.hash = '#/settings/antigravity'");
    page.see("Not installed");
    page.see("“gate” runs before every tool and can block agy.");
    judged(&page, "hooks-not-installed");

    // Shown, and not written.
    choose(&page, "Install…");
    page.see("Install will change two files.");
    page.see("\"agenthub\": {");
    judged(&page, "hooks-preview");
    assert_eq!(now(), theirs);

    // Somebody else writes between the look and the click: theirs stays, and the new difference is shown.
    let changed = theirs.replace("\"true\"}]\n  },\n", "\"true\", \"timeout\": 9}]\n  },\n");
    assert_ne!(changed, theirs);
    std::fs::write(&file, &changed).unwrap();
    choose(&page, "Write hooks.json");
    page.see("The file changed after its difference was shown.");
    assert_eq!(now(), changed);

    choose(&page, "Write hooks.json");
    page.see("Hooks installed");
    page.see("no event seen yet");
    let written: Value = serde_json::from_str(&now()).unwrap();
    assert!(written["agenthub"]["PreInvocation"].is_array() && written["agenthub"]["PreToolUse"].is_null());
    assert_eq!(written["lint"]["Stop"][0]["timeout"], 9);

    // agy runs them: the card knows of it without being asked.
    let mut agy =
        Live::start(&home, LiveSpec::new("5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab").cwd("/work/x")).unwrap();
    agy.prompt("Go").unwrap();
    agy.call_begins().unwrap();
    page.see("last event");
    judged(&page, "hooks-installed");

    // Switched off by hand, and seen without being asked.
    let off = now().replace("\"agenthub\": {", "\"agenthub\": {\n    \"enabled\": false,");
    std::fs::write(&file, &off).unwrap();
    page.see("Switched off");
    page.see("agy does not run them");
    std::fs::write(&file, "{\n  // mine\n}\n").unwrap();
    page.see("hooks.json cannot be used");
    page.see("line 2, column 3");
    judged(&page, "hooks-unreadable");
    std::fs::write(&file, off.replace("\n    \"enabled\": false,", "")).unwrap();

    choose(&page, "Remove…");
    page.see("Remove will change two files.");
    choose(&page, "Write hooks.json");
    page.see("Hooks removed");
    page.see("Not installed");
    assert_eq!(now(), changed);
    assert!(!desk.gemini_dir().join("config/agenthub-hook.sh").exists());

    // The way back is shown first, too.
    choose(&page, "Undo last change…");
    page.see("Undo will change two files.");
    assert_eq!(now(), changed);
    choose(&page, "Write hooks.json");
    page.see("The last change was taken back");
    assert!(now().contains("\"agenthub\""));
    page.close();
}

#[test]
fn p3_a_setting_that_is_changed_in_the_window_stands_in_the_file_and_the_other_way_round() {
    let mut desk = Desk::start();
    Home::create(desk.gemini_dir()).unwrap();
    let file = desk.home().join(".config/agenthub/settings.json");
    let stands = |pointer: &str| -> Option<Value> {
        let doc: Value = serde_json::from_str(&std::fs::read_to_string(&file).ok()?).ok()?;
        doc.pointer(pointer).cloned()
    };
    let page = Page::open(&mut desk);
    page.run("location.hash = '#/settings/notifications'");
    page.see("agy waits for you");
    judged(&page, "settings-notifications");
    page.click("//input[@aria-label='Show: A turn is over']");
    until("the switch to stand in the file", || {
        (stands("/notifications/ready/on") == Some(false.into())).then_some(())
    });

    // What somebody adds by hand stays, and is taken up while the window is open.
    let mut doc: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    doc["mine"] = "kept".into();
    doc["notifications"]["min_turn_s"] = 45.into();
    std::fs::write(&file, doc.to_string()).unwrap();
    until("the new number in the window", || {
        let shown = "return document.querySelector('#set-min_turn_s')?.value";
        (page.run(shown) == "45").then_some(())
    });
    page.click("//input[@id='set-do_not_disturb']");
    until("the second switch", || {
        (stands("/notifications/do_not_disturb") == Some(true.into())).then_some(())
    });
    assert_eq!(
        (stands("/mine"), stands("/notifications/min_turn_s")),
        (Some("kept".into()), Some(45.into()))
    );

    // Nonsense is explained, and what was in the file is not lost.
    page.run("location.hash = '#/settings/general'");
    page.see("Lanes stay on the board");
    judged(&page, "settings-general");
    std::fs::write(&file, "{\"board_hours\": \"soon\", \"mine\": \"kept\"}").unwrap();
    page.see("1 value in settings.json cannot be");
    page.see("board_hours");
    judged(&page, "settings-nonsense");
    std::fs::write(&file, "{ board_hours: ").unwrap();
    page.see("all settings are at their defaults");
    page.close();
}

#[test]
fn m4_a_price_that_is_set_in_the_window_prices_every_call_at_once() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    agy_sim::build(&home, &agy_sim::WorldSpec::new(40, 600)).unwrap();
    let page = Page::open(&mut desk);
    let unpriced = || {
        let all = page.ask("usage", json!({ "query": { "range": "all", "measure": "cost" } }));
        all["totals"]["tokens_unpriced"].as_u64().unwrap()
    };
    until("the first scan", || {
        let board = page.ask("board", json!({}));
        (board["scan"].is_null() && board["sessions_total"].as_u64() > Some(0)).then_some(())
    });
    // A model of this world that no row prices, with usage.
    let model = until("a model without a price", || {
        let pricing = page.ask("pricing", json!({}));
        let all = pricing["models"].as_array()?.clone();
        let found = all.into_iter().find(|m| m["price"].is_null() && m["tokens"]["total"].as_u64() > Some(0));
        found.map(|m| m["model"].as_str().unwrap().to_owned())
    });
    page.run("location.hash = '#/settings/antigravity'");
    page.see("Model Pricing");
    page.see("no price");
    judged(&page, "pricing");
    let before = unpriced();

    let row = format!("//div[@role='row'][.//bdi[normalize-space()='{model}']]");
    page.click(&format!("{row}//button[contains(., 'Set a price or an alias')]"));
    page.click("//form//button[normalize-space()='A price']");
    for (label, rate) in [("Input", "0.15"), ("Cache read", "0.015"), ("Output", "0.60")] {
        page.run(&format!(
            "const label = [...document.querySelectorAll('form label')].find((l) => l.textContent.trim().startsWith({label:?}));\
             const input = label.querySelector('input'); input.value = {rate:?};\
             input.dispatchEvent(new InputEvent('input', {{ bubbles: true }}))"
        ));
    }
    judged(&page, "pricing-set");
    page.click("//form//button[normalize-space()='Save']");
    page.see(&format!("{model} has a price"));
    until("its calls to have a cost", || (unpriced() < before).then_some(()));
    page.click("//button[normalize-space()='Undo']");
    let mut now = 0;
    let gone = within_or_not(Duration::from_secs(60), || {
        now = unpriced();
        now == before
    });
    assert!(gone.is_some(), "the price is gone again: {now} tokens without a price, {before} before");
    page.close();
}
