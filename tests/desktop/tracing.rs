//! A person's journey through Settings → Tracing: a backend is named, asked, refuses, and is left again.

use agy_sim::Home;
use otlp_receiver::{Receiver, Reply};
use serde_json::Value;

use crate::{
    harness::{desk::Desk, page::Page, until},
    looks::judged,
    settings::choose,
};

const SECRET: &str = "planted-secret-value";

/// Types into what a form's label, or its own name, says.
fn fill(page: &Page, name: &str, value: &str) {
    let script = format!(
        "const label = [...document.querySelectorAll('form label')].find((l) => l.textContent.trim().startsWith({name:?}));\
         const input = label?.querySelector('input') ?? document.querySelector('form [aria-label=\"{name}\"]');\
         if (!input) return false;\
         input.value = {value:?}; input.dispatchEvent(new InputEvent('input', {{ bubbles: true }})); return true"
    );
    until(&format!("`{name}` to fill in"), || (page.run(&script) == true).then_some(()));
}

#[test]
fn r1_r4_r11_a_destination_is_added_asked_and_its_hook_taken_away_as_it_was_shown() {
    let mut desk = Desk::start();
    Home::create(desk.gemini_dir()).unwrap();
    // Installing copies the command line; where none was built, this stands for it.
    desk.install("agenthub", "#!/bin/sh\nexit 0\n");
    let hooks = desk.gemini_dir().join("config/hooks.json");
    let theirs = "{\n  \"lint\": {\n    \"Stop\": [{\"type\": \"command\", \"command\": \"true\"}]\n  }\n}\n";
    std::fs::write(&hooks, theirs).unwrap();
    let now = || std::fs::read_to_string(&hooks).unwrap();
    let backend = Receiver::start();

    let page = Page::open(&mut desk);
    page.run("location.hash = '#/settings/tracing'");
    page.see("No destination yet");
    judged(&page, "tracing-empty");
    page.click("//button[normalize-space()='Add']");
    page.click("//*[@role='menuitem'][normalize-space()='OpenTelemetry Collector']");
    fill(&page, "Endpoint", &backend.url());
    fill(&page, "Name of header 1", "x-key");
    fill(&page, "Value of header 1", SECRET);
    judged(&page, "tracing-form");
    choose(&page, "Continue…");
    page.see("Install will change two files.");
    page.see("\"agenthub-tracing\": {");
    judged(&page, "tracing-preview");
    assert_eq!(now(), theirs, "shown, and not written");

    choose(&page, "Write hooks.json");
    page.see("Tracing is on");
    let written: Value = serde_json::from_str(&now()).unwrap();
    assert!(written["agenthub-tracing"]["Stop"].is_array() && written["lint"]["Stop"].is_array());
    page.see("Headers: x-key");

    // The backend's own answers, good and bad.
    choose(&page, "Send a test span");
    page.see("Took 1 span");
    page.see("200 in");
    backend.wait_for_spans(1);
    assert_eq!(backend.requests()[0].header("x-key"), Some(SECRET));
    backend.always(Reply::status(401, &format!("who is {SECRET}?")));
    choose(&page, "Send a test span");
    page.see("The backend does not accept the key");
    page.see("Edit key…");
    assert!(
        !page.text().contains(SECRET)
            && !page.run("return document.body.innerHTML").to_string().contains(SECRET)
    );
    judged(&page, "tracing");

    // A switch counts at once.
    page.click("//label[normalize-space()='Prompts']");
    until("the switch to stand in the file", || {
        let text = std::fs::read_to_string(desk.home().join(".config/agenthub/settings.json")).ok()?;
        let all: Value = serde_json::from_str(&text).ok()?;
        (all["tracing"]["content"]["prompts"] == true).then_some(())
    });

    // Somebody else writes between the look and the click: theirs stays, and the new difference is shown.
    choose(&page, "Remove hook…");
    page.see("Remove will change two files.");
    let changed = now().replace("\"true\"", "\"false\"");
    std::fs::write(&hooks, &changed).unwrap();
    choose(&page, "Write hooks.json");
    page.see("The file changed after its difference was shown.");
    assert_eq!(now(), changed);
    choose(&page, "Write hooks.json");
    page.see("Tracing is off, and its hook is gone");
    assert_eq!(now(), theirs.replace("\"true\"", "\"false\""));
    assert!(!desk.gemini_dir().join("config/agenthub-tracing.sh").exists());
    page.see("Undo last change…");
    page.close();
}
