//! Finding a session among many, as a person does: by words, by a filter, by key; opened, and back where one was.

use std::time::Duration;

use agy_sim::{Home, WorldSpec};
use serde_json::{Value, json};

use crate::{
    harness::{desk::Desk, page::Page, until, within},
    looks::judged,
};

const ESCAPE: &str = "\u{e00c}";
const ENTER: &str = "\u{e007}";
const RIGHT: &str = "\u{e014}";
const LEFT: &str = "\u{e012}";

const FIELD: &str = "//input[@aria-label='Search sessions']";

/// The row that the keyboard stands on.
fn row_in_hand(page: &Page) -> Option<Value> {
    let script = "const row = document.activeElement?.closest('[data-row]');\
        return row && { at: Number(row.dataset.row), level: Number(row.getAttribute('aria-level')),\
          open: row.getAttribute('aria-expanded'), name: row.querySelector('.nm bdi').textContent }";
    Some(page.run(script)).filter(|row| !row.is_null())
}

fn foot(page: &Page) -> String {
    page.run("return document.querySelector('.foot')?.innerText ?? ''")
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_session_is_found_opened_and_left_again() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    agy_sim::build(&home, &WorldSpec::new(60, 600).with_traps()).unwrap();
    let page = Page::open(&mut desk);
    within(Duration::from_secs(60), "the first scan", || {
        let board = page.ask("board", json!({}));
        (board["scan"].is_null() && board["sessions_total"].as_u64() > Some(0)).then_some(())
    });
    let all = page.ask("sessions", json!({ "query": { "limit": 500 } }));
    let total = all["totals"]["sessions"].as_u64().unwrap();
    let rows = all["rows"].as_array().unwrap();
    page.run("location.hash = '#/sessions'");
    until("the whole list", || foot(&page).contains(&format!("of {total} sessions")).then_some(()));
    until("rows", || {
        (page.run("return document.querySelectorAll('[data-row]').length").as_u64() > Some(5)).then_some(())
    });

    // By words: an id finds one, and Enter leads from the field into the list, and from there into the session.
    let wanted = &rows[rows.len() / 2];
    let (id, name) = (wanted["id"].as_str().unwrap(), wanted["name"].as_str().unwrap());
    page.keys(FIELD, id);
    until("the one session", || foot(&page).starts_with(&format!("1 of {total} sessions")).then_some(()));
    page.keys(FIELD, ENTER);
    let row = until("the keyboard in the list", || row_in_hand(&page));
    assert_eq!(row["at"], 0, "{row}");
    page.press(ENTER);
    until("the session", || page.address().ends_with(&format!("#/session/{id}")).then_some(()));
    until("its name", || {
        let shown = page.run("return document.querySelector('h1').innerText");
        // One line, as it is shown; a long name is cut by the window alone.
        (shown.as_str().map(str::trim) == Some(name.trim())).then_some(())
    });

    // Back: the words and the row are as they were.
    page.press(ESCAPE);
    until("the list again", || page.address().ends_with("#/sessions").then_some(()));
    let again = until("the keyboard on its row", || row_in_hand(&page));
    assert_eq!((again["at"].as_u64(), &again["name"]), (Some(0), &row["name"]));
    assert_eq!(page.run("return document.querySelector('.search input').value"), id);

    // Nothing found says what to do.
    page.keys(FIELD, "xyzzy");
    page.see("Nothing matches");
    judged(&page, "sessions-nothing");
    page.click("//button[normalize-space()='Clear search and filters']");
    until("the whole list", || foot(&page).contains(&format!("{total} of {total} sessions")).then_some(()));

    // By a filter, with the pointer: the click that chooses it opens nothing that lies beneath.
    page.click("//button[@aria-label='State']");
    page.click("//*[@role='option'][contains(., 'Completed')]");
    until("a narrower list", || {
        let page_of = page.ask("sessions", json!({ "query": { "state": "completed" } }));
        let n = page_of["totals"]["sessions"].as_u64()?;
        foot(&page).starts_with(&format!("{n} of {total} sessions")).then_some(())
    });
    assert!(page.address().ends_with("#/sessions"), "{}", page.address());
    page.click("//button[@aria-label='Clear filters']");
    until("the whole list", || foot(&page).contains(&format!("{total} of {total} sessions")).then_some(()));

    // A session with sub-agents, by its id: they stand inside it.
    let parent = rows.iter().find(|r| r["children"].as_u64() > Some(0)).expect("a world with sub-agents");
    page.keys(FIELD, parent["id"].as_str().unwrap());
    until("the one session", || foot(&page).starts_with(&format!("1 of {total} sessions")).then_some(()));
    page.keys(FIELD, ENTER);
    until("the keyboard on it", || row_in_hand(&page).filter(|r| r["open"] == "false"));
    page.press(RIGHT);
    until("its sub-agents", || row_in_hand(&page).filter(|r| r["open"] == "true"));
    until("their rows", || {
        (page.run("return document.querySelectorAll('[aria-level=\"2\"]').length").as_u64()
            == parent["children"].as_u64())
        .then_some(())
    });
    page.press(RIGHT);
    until("the first of them", || row_in_hand(&page).filter(|r| r["level"] == 2));
    judged(&page, "sessions-unfolded");
    page.press(LEFT);
    until("what started it", || row_in_hand(&page).filter(|r| r["level"] == 1));
    page.close();
}
