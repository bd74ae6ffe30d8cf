//! The page: its packages when the lock changed, its build when a source changed, its checks and tests.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::UNIX_EPOCH;

use crate::program::{Failure, Program, Ran, on_path, say};
use crate::toolchain::Version;
use crate::{packages, tree::Tree};

/// What jsdom 31 asks for; Vite 8 is content with 20.19. Debian 12's and Ubuntu 24.04's own Node is 18.
const NODE: Version = Version(22, 22, 2);

/// In the page's folder, but no source of it.
const NO_SOURCES: &[&str] = &["node_modules", "dist", "coverage", ".svelte-kit"];

pub(crate) fn ensure_npm() -> Result<(), Failure> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if on_path("npm").is_some() || (cfg!(windows) && in_path_as_is(npm)) {
        Ok(())
    } else {
        packages::ensure_npm()
    }
}

fn in_path_as_is(file: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(file).is_file()))
}

/// `npm ci` when `package-lock.json` is another one than at the last time.
pub(crate) fn ensure_packages(tree: &Tree) -> Result<(), Failure> {
    let page = tree.page();
    let lock = page.join("package-lock.json");
    let text = fs::read(&lock).map_err(|error| unreadable(&lock, &error))?;
    let wanted = hash(&(page.as_os_str(), text));
    let stamp = tree.stamps().join("npm.stamp");
    if page.join("node_modules/.package-lock.json").is_file() && remembers(&stamp, wanted) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    tree.npm().args(["ci", "--no-audit", "--no-fund"]).run()?;
    check_node(&page)?;
    remember(&stamp, wanted);
    Ok(())
}

/// npm's scripts take the Node of `node_modules/.bin` before the system's.
fn check_node(page: &Path) -> Result<(), Failure> {
    let own = page.join("node_modules/.bin/node");
    let program = if own.exists() && !cfg!(windows) { Program::new(own) } else { Program::new("node") };
    let printed = program.args(["--version"]).quiet()?.stdout;
    match Version::find(&printed) {
        Some(version) if version >= NODE => Ok(()),
        _ => Err(Failure::new(
            format!(
                "the page's tools need Node {}.{}.{} or newer, and this is `{}`",
                NODE.0,
                NODE.1,
                NODE.2,
                printed.trim()
            ),
            "let npm run the install script of `node`, the page's own Node (`npm config get ignore-scripts` must say \
             `false`), or install a newer Node",
        )),
    }
}

/// `npm run build` when a source changed, came or went since the last one.
pub(crate) fn build(tree: &Tree) -> Result<(), Failure> {
    let page = tree.page();
    let sources = sources(&page)?;
    let wanted = hash(&(page.as_os_str(), sources));
    let stamp = tree.stamps().join("page.stamp");
    let built = page.join("dist/index.html");
    if built.is_file() && remembers(&stamp, wanted) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    tree.npm().args(["run", "build"]).run()?;
    if !built.is_file() {
        return Err(Failure::new(
            format!("`npm run build` left no {}", built.display()),
            "see `build.outDir` in ui/vite.config.ts: the app embeds ui/dist",
        ));
    }
    remember(&stamp, wanted);
    Ok(())
}

/// Says how big the page is that was built.
pub(crate) fn size(tree: &Tree) -> Result<(), Failure> {
    tree.npm().args(["run", "--silent", "size"]).run()
}

/// Types and warnings, when a source, the packages or their lock changed since it last had nothing to say.
pub(crate) fn check(tree: &Tree) -> Result<(), Failure> {
    let page = tree.page();
    let wanted = hash(&(page.as_os_str(), sources(&page)?));
    let stamp = tree.stamps().join("page-check.stamp");
    if remembers(&stamp, wanted) {
        say("nothing of the page changed since the last check, which found nothing");
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    tree.npm().args(["run", "check"]).run()?;
    remember(&stamp, wanted);
    Ok(())
}

/// The page's tests while they run beside other stages: they want a processor for a minute, and the tests of the rest mostly
/// wait for time to pass.
#[derive(Debug)]
pub(crate) struct Tests {
    running: Child,
    log: PathBuf,
}

impl Tests {
    /// Starts them, behind everything else that wants to run.
    pub(crate) fn start(tree: &Tree) -> Result<Tests, Failure> {
        let log = tree.stamps().join("page-tests.log");
        let file = fs::File::create(&log).map_err(|error| unwritable(&log, &error))?;
        let npm = tree.npm().args(["test"]);
        let npm = if on_path("nice").is_some() { npm.behind("nice", &["-n", "5"]) } else { npm };
        Ok(Tests { running: npm.spawn_into(&file)?, log })
    }

    /// Waits for their end, and prints what they printed.
    pub(crate) fn end(mut self) -> Result<Ran, Failure> {
        let status =
            self.running.wait().map_err(|error| Failure::new(error.to_string(), "run the tests again"))?;
        let stdout = fs::read_to_string(&self.log).map_err(|error| unreadable(&self.log, &error))?;
        say(&stdout);
        Ok(Ran { success: status.success(), stdout, stderr: String::new() })
    }
}

/// Every source with its size and time.
fn sources(page: &Path) -> Result<BTreeMap<String, (u64, u128)>, Failure> {
    let mut found = BTreeMap::new();
    let mut folders = vec![page.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?.flatten() {
            let path = entry.path();
            let Ok(meta) = entry.metadata() else { continue };
            if !meta.is_dir() {
                let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let changed_ns = changed.map_or(0, |time| time.as_nanos());
                found.insert(path.to_string_lossy().into_owned(), (meta.len(), changed_ns));
            } else if !NO_SOURCES.iter().any(|name| entry.file_name() == *name) {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn remembers(stamp: &Path, wanted: u64) -> bool {
    fs::read_to_string(stamp).is_ok_and(|kept| kept == wanted.to_string())
}

fn remember(stamp: &Path, value: u64) {
    // Not remembered means done again next time.
    let _ = fs::write(stamp, value.to_string());
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{} cannot be written: {error}", path.display()),
        "see whose the folder is, and that the disk has room",
    )
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{} cannot be read: {error}", path.display()),
        "see that this is a whole clone of the repository",
    )
}

#[cfg(test)]
mod test {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src")).unwrap();
        folder
    }

    #[test]
    fn a_changed_a_new_and_a_lost_source_are_seen_and_the_rest_is_not() {
        let page = folder("sources");
        fs::write(page.join("src/a.ts"), "1").unwrap();
        fs::create_dir_all(page.join("node_modules/x")).unwrap();
        fs::create_dir_all(page.join("dist")).unwrap();
        let before = sources(&page).unwrap();
        assert_eq!(before.len(), 1);

        fs::write(page.join("node_modules/x/y.js"), "").unwrap();
        fs::write(page.join("dist/index.html"), "").unwrap();
        assert_eq!(sources(&page).unwrap(), before);

        fs::write(page.join("src/a.ts"), "12").unwrap();
        let changed = sources(&page).unwrap();
        assert_ne!(changed, before);
        fs::write(page.join("src/b.ts"), "").unwrap();
        assert_ne!(sources(&page).unwrap(), changed);
        fs::remove_file(page.join("src/b.ts")).unwrap();
        assert_eq!(sources(&page).unwrap(), changed);
        fs::remove_dir_all(page).unwrap();
    }

    #[test]
    fn a_stamp_holds_for_one_value_only() {
        let folder = folder("stamp");
        let stamp = folder.join("x.stamp");
        assert!(!remembers(&stamp, 7));
        remember(&stamp, 7);
        assert!(remembers(&stamp, 7) && !remembers(&stamp, 8));
        fs::remove_dir_all(folder).unwrap();
    }
}
