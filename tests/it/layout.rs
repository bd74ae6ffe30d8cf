//! How the tree looks: the files that must be there, how sources open and how long they get, and that the documents
//! name what is really there. It looks at the files that git tracks.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{assert_none, read, root, tracked_files};

/// At the top: nothing is missing, and a new entry is meant (add it here and to ARCHITECTURE.md).
const TOP_FOLDERS: &[&str] =
    &[".cargo", ".ci", ".github", "benches", "crates", "docs", "icons", "src-tauri", "tests", "ui", "xtask"];
const TOP_FILES: &[&str] = &[
    ".editorconfig",
    ".env.example",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "deny.toml",
    "rustfmt.toml",
    "tauri.conf.json",
];
const FILES_BELOW: &[&str] = &[
    ".cargo/config.toml",
    ".ci/run",
    ".github/workflows/ci.yml",
    "crates/agy/README.md",
    "crates/core/clippy.toml",
    "docs/tracing.md",
    "ui/package-lock.json",
    "ui/package.json",
];

/// Made by builds and tests: documents may name them, a fresh clone has none of them.
const MADE: &[&str] = &["target", "gen", "ui/dist", "ui/node_modules", "tests/artifacts"];

const SOURCES: &[&str] = &["rs", "ts", "js", "svelte", "css", "html", "proto", "toml", "yml", "sh"];
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "crates/agy/README.md",
    "docs/tracing.md",
    "docs/screens.md",
];

/// Read by tests only, so no business of a person who runs the app.
const TEST_VARIABLES: &[&str] = &["AGENTHUB_SAMPLES", "AGENTHUB_TESTS_BUILT", "AGENTHUB_WRITE_BINDINGS"];

const MOST_LINES: usize = 700;
const MOST_LINES_OF_A_HOSTS_MAIN: usize = 15;

fn extension(file: &str) -> &str {
    Path::new(file).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn rust_files() -> Vec<String> {
    tracked_files().into_iter().filter(|file| extension(file) == "rs").collect()
}

#[test]
fn the_top_level_is_as_listed() {
    let tracked = tracked_files();
    let mut findings = Vec::new();
    for file in TOP_FILES.iter().chain(FILES_BELOW) {
        if !tracked.iter().any(|tracked| tracked == file) {
            findings.push(format!("{file} is missing"));
        }
    }
    for folder in TOP_FOLDERS {
        if !tracked.iter().any(|file| file.starts_with(&format!("{folder}/"))) {
            findings.push(format!("{folder}/ is missing or empty"));
        }
    }
    let found: BTreeSet<(&str, bool)> = tracked
        .iter()
        .map(|file| file.split_once('/').map_or((file.as_str(), false), |(folder, _)| (folder, true)))
        .collect();
    for (name, is_folder) in found {
        let listed = if is_folder { TOP_FOLDERS } else { TOP_FILES };
        if !listed.contains(&name) {
            findings.push(format!("{name} is new: is it meant? Then list it in tests/it/layout.rs"));
        }
    }
    assert_none(findings, "The top level of the tree:");
}

#[test]
fn every_crate_keeps_the_workspaces_rules() {
    let mut findings = Vec::new();
    for file in tracked_files().iter().filter(|file| file.ends_with("Cargo.toml")) {
        let manifest = read(file);
        for line in ["rust-version.workspace = true", "edition.workspace = true", "[lints]\nworkspace = true"]
        {
            if !manifest.contains(line) {
                findings.push(format!("{file} lacks `{}`", line.replace('\n', " ")));
            }
        }
    }
    assert_none(findings, "Each crate takes edition, Rust version and lints from the workspace:");
}

#[test]
fn rust_files_say_what_they_are_and_stay_short() {
    let mut findings = Vec::new();
    for file in rust_files() {
        let text = read(&file);
        let lines = text.lines().count();
        if !text.starts_with("//!") {
            findings.push(format!("{file} does not open with `//!`: what it is, what it must not know"));
        }
        if lines > MOST_LINES {
            findings
                .push(format!("{file} has {lines} lines, and {MOST_LINES} is the most: split it by concept"));
        }
    }
    assert_none(findings, "Rust files:");
}

#[test]
fn the_hosts_mains_only_start_them() {
    let mut findings = Vec::new();
    for file in ["src-tauri/src/main.rs", "crates/cli/src/main.rs"] {
        let lines = read(file).lines().count();
        if lines > MOST_LINES_OF_A_HOSTS_MAIN {
            findings.push(format!("{file} has {lines} lines"));
        }
    }
    assert_none(
        findings,
        &format!("At most {MOST_LINES_OF_A_HOSTS_MAIN} lines, the rest belongs into lib.rs and beside it:"),
    );
}

/// Words that mean that something is not done. Taken apart here, for this file is a source too.
#[test]
fn nothing_in_the_sources_waits_to_be_done() {
    let calls = [concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")];
    let words = [concat!("FIX", "ME"), concat!("XX", "X")];
    let mut findings = Vec::new();
    for file in tracked_files().iter().filter(|file| SOURCES.contains(&extension(file))) {
        for (number, line) in (1..).zip(read(file).lines()) {
            let call = calls.iter().find(|call| line.contains(**call));
            let word = words.iter().find(|word| has_word(line, word));
            findings.extend(call.or(word).map(|found| format!("{file}:{number}: {found}")));
        }
    }
    assert_none(findings, "These words must not be committed:");
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[test]
fn no_file_names_a_folder_of_the_machine_that_built_it() {
    // Written apart, for this file is looked at too. `/work/api-server` may well be a person's folder in a test.
    let known =
        ["main", "shared", "target", ".library"].map(|name| format!("{}{name}", concat!("/wo", "rk/")));
    let mut folders: Vec<String> = known.into_iter().chain([concat!("/ro", "ot/").to_owned()]).collect();
    // A clone in `/src` would find itself in many a harmless file.
    let here = root().canonicalize().unwrap_or_else(|_| root());
    if here.components().count() > 3 {
        folders.push(here.to_string_lossy().into_owned());
    }
    let mut findings = Vec::new();
    for file in tracked_files() {
        let bytes = std::fs::read(root().join(&file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        findings.extend(
            folders
                .iter()
                .filter(|folder| begins_a_path(&text, folder))
                .map(|folder| format!("{file}: {folder}")),
        );
    }
    assert_none(findings, "These files hold a path that is on one machine only:");
}

/// True for `x=/top/…` and `file:///top/…`, false for `/home/ada/top/…`.
fn begins_a_path(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}*>$".contains(c))
    })
}

#[test]
fn the_readme_has_the_two_commands() {
    let readme = read("README.md");
    let commands = ["cargo xtask run", "cargo xtask test"];
    let missing =
        commands.iter().filter(|command| !readme.contains(**command)).map(|command| format!("`{command}`"));
    assert_none(missing.collect(), "README.md does not have:");
}

/// A hook can be installed from what the README builds, on a server as well.
#[test]
fn the_readme_never_builds_the_command_line_without_the_hook() {
    let builds: Vec<String> = read("README.md")
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("cargo build"))
        .map(str::to_owned)
        .collect();
    assert!(!builds.is_empty(), "README.md builds the command line");
    let lacking =
        builds.into_iter().filter(|l| !l.contains("-p agenthub-cli") || !l.contains("-p agenthub-hook"));
    assert_none(lacking.collect(), "README.md builds one without the other:");
}

/// `[text](path)` of our documents, and the folders that ARCHITECTURE.md writes as `folder/` or draws as a tree.
#[test]
fn the_documents_name_what_is_there() {
    let mut findings = Vec::new();
    for document in DOCUMENTS.iter().filter(|document| root().join(document).is_file()) {
        let base = root().join(document).parent().map(Path::to_owned).unwrap_or_default();
        for link in links(&read(document)) {
            if !base.join(&link).exists() {
                findings.push(format!("{document} links to {link}"));
            }
        }
    }
    let architecture = read("ARCHITECTURE.md");
    for folder in folders_in_words(&architecture).into_iter().chain(folders_in_trees(&architecture)) {
        let made = MADE.iter().any(|made| folder == *made || folder.starts_with(&format!("{made}/")));
        if !made && !root().join(&folder).is_dir() {
            findings
                .push(format!("ARCHITECTURE.md names {folder}/ (write a folder of somebody else as `~/…/`)"));
        }
    }
    for folder in folders_of_ours() {
        if !architecture.contains(&folder) && !architecture.contains(folder.trim_start_matches("crates/")) {
            findings.push(format!("ARCHITECTURE.md does not name {folder}"));
        }
    }
    assert_none(findings, "Documents and tree differ:");
}

/// The top-level folders that are not hidden, and each crate.
fn folders_of_ours() -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for file in tracked_files() {
        match file.split('/').collect::<Vec<_>>().as_slice() {
            ["crates", name, _, ..] => drop(folders.insert(format!("crates/{name}/"))),
            [top, _, ..] if !top.starts_with('.') => drop(folders.insert(format!("{top}/"))),
            _ => {}
        }
    }
    folders
}

fn links(document: &str) -> Vec<String> {
    document
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|link| !link.is_empty() && !link.contains("://") && !link.starts_with("mailto:"))
        .map(str::to_owned)
        .collect()
}

/// Outside code blocks: `` `crates/core/` ``, from the root. Patterns and folders of others are left alone.
fn folders_in_words(document: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut in_code = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let quoted = line.split('`').skip(1).step_by(2);
            folders.extend(quoted.filter_map(folder_name).map(str::to_owned));
        }
    }
    folders
}

/// In code blocks: lines that begin with `name/`, each below the line before it that is indented less.
fn folders_in_trees(document: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut in_code = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            above.clear();
        } else if in_code && !line.trim().is_empty() {
            let indent = line.len() - line.trim_start().len();
            above.retain(|(of, _)| *of < indent);
            let Some(name) = line.split_whitespace().next().and_then(folder_name) else { continue };
            let path = above.last().map_or_else(|| name.to_owned(), |(_, folder)| format!("{folder}/{name}"));
            folders.push(path.clone());
            above.push((indent, path));
        }
    }
    folders
}

fn folder_name(text: &str) -> Option<&str> {
    let name = text.strip_suffix('/')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!name.is_empty() && !name.starts_with('/') && name.chars().all(plain)).then_some(name)
}

#[test]
fn env_example_lists_what_the_sources_read() {
    let example = read(".env.example");
    let listed: BTreeSet<String> = example
        .lines()
        .filter_map(|line| line.trim_start_matches(['#', ' ']).split_once('='))
        .map(|(name, _)| name.to_owned())
        .filter(|name| is_variable(name))
        .collect();
    let mut read_by_sources = BTreeSet::new();
    // xtask and the tests only set them.
    let is_source = |file: &&String| {
        ["crates/", "src-tauri/", "ui/src/"].iter().any(|folder| file.starts_with(folder))
            && SOURCES.contains(&extension(file))
    };
    for file in tracked_files().iter().filter(is_source) {
        let text = read(file);
        read_by_sources
            .extend(text.split(['"', '\'', '`']).filter(|part| is_variable(part)).map(str::to_owned));
    }
    read_by_sources.retain(|name| !TEST_VARIABLES.contains(&name.as_str()));
    let mut findings: Vec<String> =
        read_by_sources.difference(&listed).map(|name| format!("{name} is read but not listed")).collect();
    findings.extend(listed.difference(&read_by_sources).map(|name| format!("{name} is listed but not read")));
    assert_none(findings, ".env.example and the sources differ:");
}

fn is_variable(name: &str) -> bool {
    ["AGENTHUB_", "DASHBOARD_"].iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The readers above are only worth something if they find what they look for.
#[test]
fn the_readers_of_documents_find_what_is_written() {
    let document = "See `crates/core/` and `~/.gemini/`, `a.rs`, `<id>/`, [x](docs/y.md#z), [w](https://e.org).\n\
                    ```\nCargo.toml\ncrates/\n  core/    pure\n      fact · lane\n  agy/     reader\nui/        page\n```\n";
    assert_eq!(folders_in_words(document), ["crates/core"]);
    assert_eq!(folders_in_trees(document), ["crates", "crates/core", "crates/agy", "ui"]);
    assert_eq!(links(document), ["docs/y.md"]);
    assert!(begins_a_path("x=/top/a", "/top/") && begins_a_path("file:///top/a", "/top/"));
    assert!(!begins_a_path("/home/ada/top/a", "/top/"));
    assert!(has_word("// NOPE: x", "NOPE") && !has_word("/tmp/a.NOPENOPE", "NOPE"));
    assert!(is_variable("AGENTHUB_DATA_DIR") && !is_variable("AGENTHUB_") && !is_variable("AGENTHUB_x"));
}
