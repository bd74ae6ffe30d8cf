//! Which crate may use which (ARCHITECTURE.md, "Rules"): a new edge fails here until it is meant.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::{assert_none, read, root};

/// Each crate of ours, with those that its own code may use. Direction: `core ← {agy, store, otlp} ← engine ← hosts`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("agenthub-core", &[]),
    ("agenthub-agy", &["agenthub-core"]),
    ("agenthub-store", &["agenthub-core"]),
    ("agenthub-otlp", &["agenthub-core"]),
    ("agenthub-engine", &["agenthub-core", "agenthub-agy", "agenthub-store", "agenthub-otlp"]),
    ("agenthub-cli", &["agenthub-core", "agenthub-engine"]),
    ("agenthub-desktop", &["agenthub-core", "agenthub-engine"]),
    // What agy starts: the standard library only.
    ("agenthub-hook", &[]),
    // Never shipped: tests, benches and the demo use it.
    ("agy-sim", &[]),
    // A backend for tests. Never shipped either.
    ("otlp-receiver", &[]),
    ("xtask", &[]),
];

/// Tests and benches of a crate may use what lies anywhere below it, and what stands in for the world outside.
const FOR_TESTS: &[&str] = &["agy-sim", "otlp-receiver"];

/// Crates of a desktop: only `agenthub-desktop` may reach them.
const DESKTOP_ONLY: &[&str] = &["tauri", "wry", "tao", "webkit2gtk", "gtk", "gdk", "tray-icon"];

/// What the pure domain does without, even by way of others: I/O, wire formats, a runtime, a database.
const NOT_IN_CORE: &[&str] = &["tokio", "rusqlite", "prost", "notify", "serde_json", "dirs"];

struct Crate {
    name: String,
    /// `normal`, `build` or `dev`, and the name.
    uses: Vec<(String, String)>,
}

fn crates() -> Vec<Crate> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| Crate {
            name: text(&package["name"]),
            uses: package["dependencies"]
                .as_array()
                .expect("dependencies")
                .iter()
                .map(|edge| (edge["kind"].as_str().unwrap_or("normal").to_owned(), text(&edge["name"])))
                .collect(),
        })
        .collect()
}

fn may_use(name: &str) -> Option<&'static [&'static str]> {
    MAY_USE.iter().find(|(known, _)| *known == name).map(|(_, uses)| *uses)
}

/// Everything that lies below a crate of ours.
fn below(name: &str) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let mut left: Vec<&str> = may_use(name).unwrap_or_default().to_vec();
    while let Some(next) = left.pop() {
        if let Some((known, _)) = MAY_USE.iter().find(|(known, _)| *known == next)
            && all.insert(*known)
        {
            left.extend(may_use(next).unwrap_or_default());
        }
    }
    all
}

/// Cargo.lock: each package with what it uses. Of registry packages it lists what is built, for all platforms.
fn lock() -> BTreeMap<String, BTreeSet<String>> {
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for block in read("Cargo.lock").split("[[package]]").skip(1) {
        let name = block.lines().find_map(|line| line.strip_prefix("name = ")).expect("a package has a name");
        let uses = packages.entry(name.trim_matches('"').to_owned()).or_default();
        for line in block.lines().filter_map(|line| line.strip_prefix(" \"")) {
            // `"serde"`, or `"zbus 5.19.0"` when there are two.
            uses.extend(line.split(['"', ' ']).next().map(str::to_owned));
        }
    }
    packages
}

/// What a crate's program is made of: its own normal and build dependencies, and all of theirs.
fn reaches(start: &Crate, crates: &[Crate], lock: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut left = vec![start.name.clone()];
    while let Some(name) = left.pop() {
        let uses: Vec<String> = match crates.iter().find(|ours| ours.name == name) {
            Some(ours) => {
                ours.uses.iter().filter(|(kind, _)| kind != "dev").map(|(_, name)| name.clone()).collect()
            }
            None => lock.get(&name).into_iter().flatten().cloned().collect(),
        };
        left.extend(uses.into_iter().filter(|name| all.insert(name.clone())));
    }
    all
}

#[test]
fn our_crates_use_only_what_lies_below_them() {
    let crates = crates();
    let mut findings = Vec::new();
    for user in &crates {
        let Some(allowed) = may_use(&user.name) else {
            findings.push(format!(
                "`{}` is new: say in MAY_USE of tests/it/architecture.rs where it stands",
                user.name
            ));
            continue;
        };
        for (kind, used) in user.uses.iter().filter(|(_, used)| may_use(used).is_some()) {
            let fine = match kind.as_str() {
                "dev" => FOR_TESTS.contains(&used.as_str()) || below(&user.name).contains(used.as_str()),
                _ => allowed.contains(&used.as_str()),
            };
            if !fine {
                findings.push(format!("`{}` uses `{used}` ({kind})", user.name));
            }
        }
    }
    assert_none(findings, "These edges are not in ARCHITECTURE.md's rules:");
}

#[test]
fn only_the_desktop_app_reaches_a_web_view() {
    let (crates, lock) = (crates(), lock());
    let mut findings = Vec::new();
    for user in crates.iter().filter(|user| user.name != "agenthub-desktop") {
        let reached = reaches(user, &crates, &lock);
        let desktop = |name: &&String| DESKTOP_ONLY.contains(&name.as_str()) || name.starts_with("tauri-");
        findings
            .extend(reached.iter().filter(desktop).map(|name| format!("`{}` reaches `{name}`", user.name)));
    }
    assert_none(findings, "These crates must be built and tested on a machine without GTK and WebKit:");

    // The walk itself must be able to find one, or the check above says nothing.
    let desktop = crates.iter().find(|user| user.name == "agenthub-desktop").expect("the desktop app");
    assert!(
        reaches(desktop, &crates, &lock).contains("webkit2gtk"),
        "the walk through Cargo.lock finds nothing"
    );
}

#[test]
fn the_domain_is_pure() {
    // Cargo.lock would tell of features of rust_decimal that nobody switched on.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "-p", "agenthub-core", "-e", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout).into_owned();
    let reached: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(reached.contains("jiff"), "the tree of agenthub-core says nothing: {tree}");
    let findings =
        NOT_IN_CORE.iter().filter(|name| reached.contains(**name)).map(|name| format!("it reaches `{name}`"));
    assert_none(findings.collect(), "agenthub-core does no I/O and knows no wire format:");
}

#[test]
fn xtask_has_no_dependencies_at_all() {
    let crates = crates();
    let xtask = crates.iter().find(|user| user.name == "xtask").expect("xtask");
    let findings = xtask.uses.iter().map(|(kind, name)| format!("`{name}` ({kind})"));
    assert_none(findings.collect(), "xtask is built before anything is installed:");
}
