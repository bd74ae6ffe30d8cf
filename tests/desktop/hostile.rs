//! Names and words that somebody chose badly, on every screen of the real window: nothing is executed and the layout holds.

use agy_sim::{Home, Live, LiveSpec, ToolEnd};
use serde_json::{Value, json};

use crate::{
    harness::{desk::Desk, page::Page, until},
    looks::both_themes,
};

/// HTML, a script, an override, control characters, combining marks, and 10,000 letters without a place to break.
fn hostile(letter: char) -> String {
    format!(
        "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script> \u{202e}gnp.exe \u{7}\u{1b}[31m \
         مرحبا שלום Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305} {}",
        letter.to_string().repeat(10_000)
    )
}

/// What is drawn beyond the window or its part without being cut there, and what can be scrolled sideways.
const OVERFLOW: &str = "
    const out = [];
    const cuts = (e) => { const s = getComputedStyle(e); return s.overflowX !== 'visible' || /paint|strict|content/.test(s.contain); };
    if (document.documentElement.scrollWidth > innerWidth) out.push('the page is ' + document.documentElement.scrollWidth + ' wide');
    for (const e of document.querySelectorAll('.app *, .palette *')) {
      const name = e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 40);
      const s = getComputedStyle(e);
      if ((s.overflowX === 'auto' || s.overflowX === 'scroll') && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) out.push('sideways: ' + name);
      const r = e.getBoundingClientRect();
      if (r.width === 0 || r.height === 0 || r.right <= innerWidth + 1) continue;
      let cut = false;
      for (let a = e.parentElement; a && a !== document.body && !cut; a = a.parentElement) cut = cuts(a) && a.getBoundingClientRect().right <= innerWidth + 1;
      if (!cut) out.push('outside: ' + name);
    }
    // A row has one height, whatever stands in it.
    for (const row of document.querySelectorAll('[data-row]')) if (Math.abs(row.getBoundingClientRect().height - 30) > 1) out.push('a row is ' + row.getBoundingClientRect().height + ' high');
    for (const row of document.querySelectorAll('.lane')) if (row.getBoundingClientRect().height > 70) out.push('a lane is ' + row.getBoundingClientRect().height + ' high');
    return out.slice(0, 8);";

fn holds(page: &Page, name: &str) {
    page.settle();
    let found = page.run(OVERFLOW);
    let found: Vec<&str> = found.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    assert!(page.run("return window.pwned ?? null").is_null(), "{name}: something was executed");
    assert_eq!(
        page.run("return document.querySelectorAll('img, script:not([src]), iframe').length"),
        0,
        "{name}"
    );
    both_themes(page, &format!("hostile-{name}"));
}

#[test]
fn w3_hostile_words_stay_words_and_every_layout_holds() {
    let mut desk = Desk::start();
    let home = Home::create(desk.gemini_dir()).unwrap();
    let cwd = format!("/work/{}", hostile('W'));
    let mut agy =
        Live::start(&home, LiveSpec::new("5d0c1f7e-6a4b-4c3d-9e2f-0123456789ab").cwd(&cwd)).unwrap();
    agy.prompt(&hostile('p')).unwrap();
    agy.call_begins().unwrap();
    let call = agy.plausible_call();
    agy.call_ends(&call).unwrap();
    agy.tool_begins("run_command", json!({ "CommandLine": hostile('c') })).unwrap();
    agy.tool_ends(ToolEnd::fails()).unwrap();
    let mut child = agy.subagent(&hostile('r'), &hostile('q')).unwrap();
    child.call().unwrap();
    agy.call_begins().unwrap();
    agy.call_ends(&call).unwrap();
    agy.tool_waits("run_command", json!({ "CommandLine": hostile('d') })).unwrap();

    let page = Page::open(&mut desk);
    page.see("Asks to use");
    holds(&page, "lanes");
    page.run("dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))");
    until("the palette", || {
        (page.run("return Boolean(document.querySelector('.palette'))") == true).then_some(())
    });
    holds(&page, "palette");
    page.press("\u{e00c}");

    page.run("location.hash = '#/sessions'");
    until("the row", || {
        (page.run("return document.querySelectorAll('[data-row]').length").as_u64() > Some(0)).then_some(())
    });
    if page.run("return Boolean(document.querySelector('[data-do=unfold]'))") == true {
        page.click("//button[@data-do='unfold']");
        until("the sub-agent", || {
            (page.run("return document.querySelectorAll('[aria-level=\"2\"]').length").as_u64() > Some(0))
                .then_some(())
        });
    }
    holds(&page, "sessions");

    page.run(&format!("location.hash = '#/session/{}'", agy.id()));
    page.see("run_command");
    until("the waterfall", || {
        (page.run("return document.querySelectorAll('.fall i').length").as_u64() > Some(2)).then_some(())
    });
    page.run("document.querySelectorAll('button.entry[aria-expanded=false]').forEach((b) => b.click())");
    holds(&page, "session");

    for (hash, sees) in [
        ("usage", "By project"),
        ("notifications", "Do not disturb"),
        ("settings/antigravity", "Model Pricing"),
        ("doctor", "What AgentHub cannot know"),
    ] {
        page.run(&format!("location.hash = '#/{hash}'"));
        page.see(sees);
        holds(&page, &hash.replace('/', "-"));
    }
    page.close();
}
