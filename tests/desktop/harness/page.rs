//! The real page in the real web view, through WebKitWebDriver.

use std::{net::TcpStream, path::Path};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::{APP, PATIENCE, desk::Desk, need, until, within_or_not};

#[derive(Debug)]
pub(crate) struct Page {
    runtime: Runtime,
    client: Client,
}

impl Page {
    /// Starts the app with its window, under the driver's hand.
    pub(crate) fn open(desk: &mut Desk) -> Page {
        need("WebKitWebDriver", "webkit2gtk-driver");
        let port = {
            let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
            free.local_addr().unwrap().port()
        };
        desk.spawn_with(
            "WebKitWebDriver",
            &[&format!("--port={port}")],
            &[("TAURI_WEBVIEW_AUTOMATION", "true")],
        );
        until("the driver to listen", || TcpStream::connect(("127.0.0.1", port)).ok());

        let capabilities: Map<String, Value> = serde_json::from_value(json!({
            "timeouts": { "script": PATIENCE.as_secs() * 1_000 },
            "webkitgtk:browserOptions": { "binary": APP, "args": ["--window"] }
        }))
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime
            .block_on(
                ClientBuilder::new(HttpConnector::new())
                    .capabilities(capabilities)
                    .connect(&format!("http://127.0.0.1:{port}")),
            )
            .expect("the app opens its window under WebKitWebDriver");
        Page { runtime, client }
    }

    /// Waits for a visible text anywhere in the page.
    pub(crate) fn see(&self, text: &str) {
        let mut seen = String::new();
        let found = within_or_not(PATIENCE, || {
            seen = self.text();
            seen.contains(text)
        });
        assert!(found.is_some(), "`{text}` is not in the page, which says:\n{seen}");
    }

    /// Everything that a person can read.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn run(&self, script: &str) -> Value {
        self.runtime.block_on(self.client.execute(script, vec![])).unwrap()
    }

    /// Runs a script that calls its last argument when it is done.
    pub(crate) fn run_async(&self, script: &str) -> Value {
        let answer = self.runtime.block_on(self.client.execute_async(script, vec![]));
        answer.unwrap_or_else(|e| panic!("{e}\nin {script:.500}"))
    }

    /// Clicks with the pointer, as a person does, on what an XPath finds as soon as it is there.
    pub(crate) fn click(&self, xpath: &str) {
        let clicked = within_or_not(PATIENCE, || {
            self.runtime.block_on(async {
                match self.client.find(Locator::XPath(xpath)).await {
                    Ok(element) => element.click().await.is_ok(),
                    Err(_) => false,
                }
            })
        });
        assert!(clicked.is_some(), "nothing to click at {xpath}; the page says:\n{}", self.text());
    }

    /// Types into what an XPath finds, in the place of what stood there. A single control key is pressed and replaces nothing.
    pub(crate) fn keys(&self, xpath: &str, text: &str) {
        let typed = within_or_not(PATIENCE, || {
            self.runtime.block_on(async {
                let Ok(field) = self.client.find(Locator::XPath(xpath)).await else { return false };
                let is_key = text.chars().all(|c| ('\u{e000}'..='\u{e05d}').contains(&c));
                (is_key || field.clear().await.is_ok()) && field.send_keys(text).await.is_ok()
            })
        });
        assert!(typed.is_some(), "nothing to type into at {xpath}; the page says:\n{}", self.text());
    }

    /// Presses a key where the keyboard stands.
    pub(crate) fn press(&self, key: &str) {
        self.runtime.block_on(async {
            self.client.active_element().await.unwrap().send_keys(key).await.unwrap();
        });
    }

    /// What a command of the app answers to the page.
    pub(crate) fn ask(&self, command: &str, arguments: Value) -> Value {
        self.run_async(&format!(
            "const done = arguments[0];\
             window.__TAURI_INTERNALS__.invoke({command:?}, {arguments}).then(done, done)"
        ))
    }

    pub(crate) fn address(&self) -> String {
        self.runtime.block_on(self.client.current_url()).unwrap().to_string()
    }

    pub(crate) fn theme(&self, theme: &str) {
        self.run(&format!("document.documentElement.dataset.theme = '{theme}'"));
    }

    /// Waits until the page is painted as it is now, with every transition at its end.
    pub(crate) fn settle(&self) {
        self.run_async(
            "const done = arguments[0];\
             requestAnimationFrame(() => requestAnimationFrame(() => {\
               document.getAnimations().forEach((a) => a.finish());\
               requestAnimationFrame(() => requestAnimationFrame(() => done())) }))",
        );
    }

    /// Has axe-core judge the page as it is drawn, contrast included. `what` names it in the failure.
    pub(crate) fn accessible(&self, what: &str) {
        self.settle();
        if self.run("return !window.axe") == json!(true) {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/node_modules/axe-core/axe.min.js");
            let axe = std::fs::read_to_string(file)
                .unwrap_or_else(|e| panic!("{file}: {e} (`cargo xtask setup` installs the page's packages)"));
            self.run(&axe);
        }
        let found = self.run_async(
            "const done = arguments[0];\
             window.axe.run(document, { resultTypes: ['violations'] }).then(\
               ({ violations }) => done(violations.map((v) => v.id + ': ' + v.help + '\\n' +\
                 v.nodes.slice(0, 5).map((n) => '  ' + n.html.slice(0, 160) + '\\n    ' + n.failureSummary.replaceAll('\\n', ' ')).join('\\n'))),\
               (e) => done(['axe: ' + e]))",
        );
        let found: Vec<&str> = found.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
    }

    /// Drawn without a graphics card the web view has a picture only once something has changed: a dot in a corner, which
    /// nobody can see, goes on and off meanwhile. Else the driver would wait for ever.
    pub(crate) fn screenshot(&self, to: &Path) {
        self.run(
            "const dot = document.createElement('i'); let on = false;\
             dot.style.cssText = 'position: fixed; left: 0; top: 0; width: 1px; height: 1px; z-index: 99; pointer-events: none';\
             document.documentElement.append(dot);\
             const beat = setInterval(() => { on = !on; dot.style.background = on ? 'rgb(0 0 0 / .004)' : 'none' }, 30);\
             window.still = () => { clearInterval(beat); dot.remove() }",
        );
        let taken =
            self.runtime.block_on(async { tokio::time::timeout(PATIENCE, self.client.screenshot()).await });
        let png = taken.expect("a picture of the page").unwrap();
        self.run("window.still()");
        std::fs::write(to, png).unwrap();
    }

    /// Ends the driver's session, and the app with it.
    pub(crate) fn close(self) {
        self.runtime.block_on(self.client.close()).unwrap();
    }
}
