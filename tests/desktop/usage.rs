//! Usage in the real window: the same sums as everywhere, and an export that a person finds.

use std::path::PathBuf;

use agy_sim::{Home, WorldSpec};
use serde_json::{Value, json};

use crate::{
    harness::{desk::Desk, page::Page, until},
    looks::judged,
};

#[test]
fn usage_is_drawn_and_exported() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    let page = Page::open(&mut desk);
    page.run("location.hash = '#/usage'");
    page.see("No call in this range");
    judged(&page, "usage-empty");

    agy_sim::build(&home, &WorldSpec::new(40, 600)).unwrap();
    let screen = until("all sessions in the sums", || {
        let sessions = page.ask("sessions", json!({ "query": {} }));
        let usage = page.ask("usage", json!({ "query": { "range": "all", "measure": "tokens" } }));
        let same =
            sessions["totals"]["total"] == usage["totals"]["total"] && usage["totals"]["sessions"] == 40;
        same.then_some(usage)
    });
    page.click("//button[normalize-space()='AllAll' or @title='All']");
    page.see("calls in 40 sessions");
    page.see("By project");
    judged(&page, "usage");
    page.click("//div[@aria-label='Measure']//button[normalize-space()='Tokens']");
    page.see("By project");
    judged(&page, "usage-tokens");

    // Through the menu, by hand; what is written is what the window shows.
    page.click("//button[@aria-label='Export…']");
    page.click("//*[@role='menuitem'][contains(., 'Save as JSON')]");
    page.see("Saved,");
    let folders = [desk.home(), desk.home().join("Downloads")];
    let written: Vec<PathBuf> = folders
        .iter()
        .filter_map(|f| std::fs::read_dir(f).ok())
        .flat_map(|d| d.flatten().map(|e| e.path()))
        .filter(|p| p.to_string_lossy().contains("agenthub-usage-model-"))
        .collect();
    let [file] = written.as_slice() else { panic!("one file, but {written:?}") };
    let doc: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(doc["totals"], screen["totals"]);
    assert_eq!(doc["rows"].as_array().unwrap().len(), screen["models"].as_array().unwrap().len());
    page.close();
}
