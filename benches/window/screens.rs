//! B6 in the real window: with 100,000 sessions, how long a screen takes from the moment it is asked for until it is painted,
//! and what a step of scrolling costs. A desktop of its own, the app, its page in its web view, times taken by the page.
//! `cargo xtask bench -- b6 --window`; another number of sessions may follow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a bench, and what a failure shows"
)]

use std::time::Duration;

use agy_sim::Home;
use serde_json::{Value, json};

#[path = "../large.rs"]
mod large;
#[allow(dead_code, reason = "the desktop tests use the rest")]
#[path = "../../tests/desktop"]
mod desktop {
    pub(crate) mod harness;
}

use desktop::harness::{desk::Desk, page::Page, within};
use large::{REAL, SESSIONS, fill, real_session};

const ROUNDS: usize = 9;
/// From the request to the picture.
const SCREEN_MS: f64 = 100.0;
/// Script and layout of one step.
const STEP_MS: f64 = 16.0;

/// Each with its address, and what the page holds when the screen is there with all that it asked for.
const SCREENS: &[(&str, &str, &str)] = &[
    ("Sessions", "#/sessions", "b6.filled()"),
    ("Session", "#/session/", "b6.has('.tl-h') && b6.has('aside.side')"),
    ("Usage", "#/usage", "b6.has('.figs') && b6.has('.charts svg')"),
    ("Notifications", "#/notifications", "b6.title('Notifications')"),
    ("Settings, General", "#/settings/general", "b6.title('Settings') && b6.has('.card')"),
    ("Settings, Notifications", "#/settings/notifications", "b6.title('Settings') && b6.has('.card')"),
    ("Settings, Antigravity", "#/settings/antigravity", "b6.title('Settings') && b6.has('.card')"),
    ("Settings, Tracing", "#/settings/tracing", "b6.title('Settings') && b6.has('.card')"),
    ("Doctor", "#/doctor", "b6.has('.dr .ck')"),
    ("Lanes", "#/lanes", "b6.title('Lanes')"),
];

/// What a person does on Sessions, and what the page holds when it is done.
const ACTS: &[(&str, &str, &str)] = &[
    ("ordered by tokens", "b6.order('Tokens')", "b6.filled()"),
    ("ordered by name", "b6.order('Session')", "b6.filled()"),
    ("ordered by last activity", "b6.order('Active')", "b6.filled()"),
    ("a word searched for", "b6.type('parser')", "b6.filled()"),
    ("a letter searched for", "b6.type('e')", "b6.filled()"),
    ("nothing found", "b6.type('qqqq')", "b6.has('.empty h2')"),
    ("all again", "b6.type('')", "b6.filled()"),
];

/// The page's stop watch. A screen is asked for when its link is clicked, which a person holds
/// down for a moment before (70 ms; short for a click), a list when its question leaves the page (a search
/// waits for the next letter first). It is painted when a frame begins in which the page holds what belongs there (the rows of a
/// question: when that is answered), and that frame is drawn: a message that was posted in it is heard then.
const WATCH: &str = r#"
  if (!window.b6) {
    let open = 0, asked = 0, first = null;
    const plain = window.fetch;
    window.fetch = (...args) => {
      open++; asked++; first ??= performance.now();
      return plain(...args).finally(() => setTimeout(() => open--));
    };
    const drawn = () => new Promise((heard) => {
      const line = new MessageChannel();
      line.port1.onmessage = () => heard(performance.now());
      line.port2.postMessage(0);
    });
    const frame = () => new Promise(requestAnimationFrame);
    const until = async (so) => {
      const began = performance.now();
      do {
        await frame();
        if (performance.now() - began > 20_000) throw new Error(`never so: ${so}; ${open} questions open; ${document.body.innerText.slice(0, 300)}`);
      } while (!so());
    };
    const list = () => document.querySelector('.vlist');
    const visible = (row) => getComputedStyle(row).visibility !== 'hidden';
    window.b6 = {
      press: async (address) => {
        const link = document.createElement('a');
        link.href = address;
        document.body.append(link);
        link.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, button: 0 }));
        await new Promise((held) => setTimeout(held, 70));
        return () => {
          link.click();
          link.remove();
        };
      },
      has: (what) => document.querySelector(what) !== null,
      title: (text) => document.querySelector('h1')?.textContent === text,
      filled: () => {
        const sight = list()?.getBoundingClientRect();
        const rows = [...document.querySelectorAll('[data-row]')].filter(visible).map((row) => row.getBoundingClientRect());
        return sight !== undefined && rows.length > 5
          && rows.some((row) => row.top <= sight.top + 60) && rows.some((row) => row.bottom >= sight.bottom - 30);
      },
      order: (name) => [...document.querySelectorAll('[role=columnheader] button')].find((b) => b.textContent.trim() === name).click(),
      type: (words) => {
        const field = document.querySelector('.search input');
        field.value = words;
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      },
      settled: async () => { await until(() => open === 0); await drawn(); },
      screen: async (address, there) => {
        await b6.settled();
        const release = await b6.press(address);
        const began = performance.now();
        release();
        await until(() => there());
        return await drawn() - began;
      },
      act: async (act, there) => {
        await b6.settled();
        const before = asked;
        first = null;
        act();
        await until(() => asked > before && open === 0 && there());
        return await drawn() - first;
      },
      wheel: async (steps, pixels) => {
        const costs = [];
        let began = null;
        const heard = () => began ??= performance.now();
        document.addEventListener('scroll', heard, true);
        for (let n = 0; n < steps; n++) {
          began = null;
          list().scrollTop += pixels;
          await until(() => began !== null);
          document.body.offsetHeight;
          costs.push(performance.now() - began);
        }
        document.removeEventListener('scroll', heard, true);
        return costs;
      },
      leap: async (to) => {
        await b6.settled();
        const began = performance.now();
        list().scrollTop = to * list().scrollHeight;
        await until(() => open === 0 && b6.filled());
        return await drawn() - began;
      },
    };
  }
"#;

pub(crate) fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let sessions = args.iter().find_map(|a| a.parse().ok()).unwrap_or(SESSIONS);
    let mut desk = Desk::start();
    desk.window_manager();
    real_session(&Home::create(desk.gemini_dir()).unwrap()).unwrap();
    let calls = fill(&desk.home().join(".local/share/agenthub/agenthub.db"), sessions).unwrap();
    let page = Page::open(&mut desk);
    within(Duration::from_secs(300), "the store to be read", || {
        let board = page.ask("board", json!({}));
        (board["scan"].is_null() && board["sessions_total"].as_u64() > Some(sessions / 2)).then_some(())
    });
    say(&format!("B6  {sessions} sessions, {calls} calls; {ROUNDS} rounds each, in the window"));
    let mut figures = Figures::default();
    for _ in 0..ROUNDS {
        page.run("window.before = true; location.hash = '#/lanes'; location.reload()");
        within(Duration::from_secs(60), "the page, loaded anew", || {
            (page.run("return !window.before && document.querySelector('h1')?.textContent === 'Lanes'")
                == true)
                .then_some(())
        });
        page.run(WATCH);
        timed(&page, "b6.settled()");
        for again in [false, true] {
            for (name, address, there) in SCREENS {
                let address =
                    if *name == "Session" { format!("{address}{REAL}") } else { (*address).to_owned() };
                let took = timed(&page, &format!("b6.screen('{address}', () => {there})"));
                figures.add(if again { Seen::Again } else { Seen::First }, name, took);
            }
        }
        page.run("location.hash = '#/sessions'");
        for (what, act, there) in ACTS {
            let took = timed(&page, &format!("b6.act(() => {act}, () => {there})"));
            figures.add(Seen::Done, what, took);
        }
        for cost in timed(&page, "b6.wheel(60, 120)").as_array().unwrap() {
            figures.add(Seen::Step, "wheel, four rows", cost.clone());
        }
        for cost in timed(&page, "b6.wheel(30, 700)").as_array().unwrap() {
            figures.add(Seen::Step, "a whole page", cost.clone());
        }
        for part in [0.9, 0.5, 0.1] {
            figures.add(Seen::Done, "a leap, rows fetched", timed(&page, &format!("b6.leap({part})")));
        }
        figures.add(Seen::Done, "back to the top", timed(&page, "b6.leap(0)"));
    }
    figures.tell();
    page.close();
}

fn timed(page: &Page, what: &str) -> Value {
    // Whatever goes wrong in it is told, and not waited for.
    let script =
        format!("const done = arguments[0]; (async () => {what})().then(done, (e) => done(String(e)))");
    let took = page.run_async(&script);
    assert!(!took.is_string(), "{what}: {took}");
    took
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A screen, for the first time since the window was opened.
    First,
    Again,
    /// On the list of sessions.
    Done,
    /// Script and layout alone.
    Step,
}

#[derive(Debug, Default)]
struct Figures(Vec<(Seen, String, Vec<f64>)>);

impl Figures {
    fn add(&mut self, seen: Seen, name: &str, took: Value) {
        let took = took.as_f64().expect("a number of milliseconds");
        match self.0.iter_mut().find(|(s, n, _)| (*s, n.as_str()) == (seen, name)) {
            Some((_, _, all)) => all.push(took),
            None => self.0.push((seen, name.to_owned(), vec![took])),
        }
    }

    fn tell(mut self) {
        let mut slow = Vec::new();
        for (seen, name, all) in &mut self.0 {
            all.sort_by(f64::total_cmp);
            let (half, most) = (all[all.len() / 2], all[(all.len() * 95 / 100).min(all.len() - 1)]);
            let (what, promised) = match seen {
                Seen::First => ("first", SCREEN_MS),
                Seen::Again => ("again", SCREEN_MS),
                Seen::Done => ("list", SCREEN_MS),
                Seen::Step => ("step", STEP_MS),
            };
            say(&format!("B6    {what:<6} {name:<28} p50 {half:>6.1} ms   p95 {most:>6.1} ms"));
            if half > promised {
                slow.push(format!("{name} ({what})"));
            }
        }
        say(&format!(
            "B6  promised: a screen in {SCREEN_MS} ms, a step in {STEP_MS} ms; {}",
            if slow.is_empty() {
                "all are (p50)".to_owned()
            } else {
                format!("above it (p50): {}", slow.join(", "))
            }
        ));
    }
}

#[expect(clippy::print_stdout, reason = "a bench is for reading")]
fn say(line: &str) {
    println!("{line}");
}
