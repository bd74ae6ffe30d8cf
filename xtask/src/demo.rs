//! `cargo xtask run --demo`: the app on a made-up home that a simulated agy keeps lively. Nothing of the person's is
//! read or written, and nothing stays.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::program::{Failure, Program, say};
use crate::run::{self, APP};
use crate::tree::Tree;

const PREFIX: &str = "agenthub-demo-";
const READY: &str = "ready";
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Waits on its standard input, which only we hold open: it ends when we do, however that comes (Ctrl-C goes to all of
/// us at once). Then it ends the processes that it was told of and deletes the folder.
const AFTER_US: &str = r#"
trap '' INT TERM HUP
pids=
while read -r pid; do pids="$pids $pid"; done
[ -n "$pids" ] && kill $pids 2>/dev/null
tries=0
while [ -n "$pids" ] && kill -0 $pids 2>/dev/null && [ "$tries" -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
rm -rf -- "$1"
"#;

pub(crate) fn app(tree: &Tree, args: &[String]) -> Result<ExitCode, Failure> {
    run::needs_screen(args)?;
    run::build(tree, &["agy-sim"])?;
    let parent = std::env::temp_dir();
    clear_left_over(&parent);
    let mut demo = Demo::make(&parent)?;
    demo.fill(tree)?;
    demo.show(tree, args)
}

/// The throw-away folder and whoever uses it. Dropped, both are gone.
#[derive(Debug)]
struct Demo {
    folder: PathBuf,
    after_us: Option<Child>,
    sim: Option<Child>,
    app: Option<Child>,
}

impl Demo {
    fn make(parent: &Path) -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let folder = parent.join(format!("{PREFIX}{}-{now:x}", std::process::id()));
        make_private(&folder).map_err(|error| {
            Failure::new(
                format!("the folder {} could not be made: {error}", folder.display()),
                "free some space there, or set TMPDIR to another folder",
            )
        })?;
        let mut demo = Self { folder, after_us: None, sim: None, app: None };
        if cfg!(unix) {
            let program = Program::new("sh").args(["-c", AFTER_US, "after-demo"]).args([&demo.folder]);
            demo.after_us = Some(program.hidden().spawn(Stdio::piped(), Stdio::null())?);
        }
        Ok(demo)
    }

    fn gemini(&self) -> PathBuf {
        self.folder.join(".gemini")
    }

    /// Starts the simulated agy and waits until the home is filled. It ends by itself when its standard input, a pipe
    /// that we hold, does.
    fn fill(&mut self, tree: &Tree) -> Result<(), Failure> {
        let mut sim = Program::new(tree.binary("agy-sim"))
            .args(["demo", "--home"])
            .args([self.gemini()])
            .spawn(Stdio::piped(), Stdio::piped())?;
        self.tell_after_us(&sim);
        let stdout = sim.stdout.take();
        self.sim = Some(sim);
        let what = match stdout.map(wait_for_ready) {
            Some(Ok(())) => return Ok(()),
            Some(Err(mpsc::RecvTimeoutError::Timeout)) => {
                format!("the simulated agy did not say `{READY}` within {} s", READY_WITHIN.as_secs())
            }
            _ => format!("the simulated agy ended before it said `{READY}`"),
        };
        Err(Failure::new(what, "read its messages above; `agy-sim demo --home DIR` runs it alone"))
    }

    /// Runs the app on the home until the person quits it.
    fn show(&mut self, tree: &Tree, args: &[String]) -> Result<ExitCode, Failure> {
        let app = Program::new(tree.binary(APP))
            .args(["--window"])
            .args(args)
            .env("AGENTHUB_GEMINI_DIR", self.gemini())
            .env("AGENTHUB_DATA_DIR", self.folder.join("data"))
            .env("AGENTHUB_CONFIG_DIR", self.folder.join("config"))
            .spawn(Stdio::inherit(), Stdio::inherit())?;
        self.tell_after_us(&app);
        let app = self.app.insert(app);
        let mut lively = true;
        loop {
            match app.try_wait() {
                Ok(Some(status)) => return Ok(run::ended_with(status.code())),
                Ok(None) => std::thread::sleep(Duration::from_millis(100)),
                Err(error) => {
                    return Err(Failure::new(format!("the app got lost: {error}"), "start the demo again"));
                }
            }
            if lively && self.sim.as_mut().is_some_and(|sim| matches!(sim.try_wait(), Ok(Some(_)))) {
                lively = false;
                say("The simulated agy has ended; the app shows its home as it left it.");
            }
        }
    }

    fn tell_after_us(&mut self, child: &Child) {
        if let Some(stdin) = self.after_us.as_mut().and_then(|after_us| after_us.stdin.as_mut()) {
            // If it is gone, all that is lost is the cleaning after a Ctrl-C: the next demo does it.
            let _ = writeln!(stdin, "{}", child.id()).and_then(|()| stdin.flush());
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        for child in [self.app.as_mut(), self.sim.as_mut(), self.after_us.as_mut()].into_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The rest of what it prints is read and dropped, so that it never waits for us.
fn wait_for_ready(stdout: ChildStdout) -> Result<(), mpsc::RecvTimeoutError> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if line.trim() == READY {
                let _ = tell.send(());
            }
        }
    });
    told.recv_timeout(READY_WITHIN)
}

/// Folders of demos that ended without cleaning: their process is no more.
fn clear_left_over(parent: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(owner_of);
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn owner_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod test {
    use super::*;

    fn parent(name: &str) -> PathBuf {
        let parent = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&parent);
        fs::create_dir_all(&parent).unwrap();
        parent
    }

    fn gone(folder: &Path) -> bool {
        (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            !folder.exists()
        })
    }

    #[test]
    fn only_folders_of_demos_that_ended_are_cleared() {
        assert_eq!(owner_of("agenthub-demo-4711-18f"), Some(4711));
        assert_eq!(owner_of("agenthub-4711"), None);
        let parent = parent("left-over");
        let ours = parent.join(format!("{PREFIX}{}-1", std::process::id()));
        let dead = parent.join(format!("{PREFIX}4294967295-1"));
        let other = parent.join("agenthub-data");
        for folder in [&ours, &dead, &other] {
            fs::create_dir_all(folder.join("inside")).unwrap();
        }
        clear_left_over(&parent);
        assert!(ours.exists() && other.exists());
        assert_eq!(dead.exists(), !Path::new("/proc/self").exists());
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn a_demo_that_ends_leaves_nothing() {
        let parent = parent("ends");
        let demo = Demo::make(&parent).unwrap();
        fs::create_dir_all(demo.gemini()).unwrap();
        let folder = demo.folder.clone();
        drop(demo);
        assert!(!folder.exists());
        fs::remove_dir_all(parent).unwrap();
    }

    /// As when Ctrl-C ends us before we clean: the pipe closes, and nobody else does the work.
    #[cfg(unix)]
    #[test]
    fn what_comes_after_us_ends_the_others_and_deletes_the_folder() {
        let parent = parent("after-us");
        let mut demo = Demo::make(&parent).unwrap();
        fs::create_dir_all(demo.gemini()).unwrap();
        let mut other = Program::new("sleep").args(["600"]).spawn(Stdio::null(), Stdio::null()).unwrap();
        demo.tell_after_us(&other);
        drop(demo.after_us.as_mut().unwrap().stdin.take());
        assert!(!other.wait().unwrap().success());
        assert!(gone(&demo.folder));
        drop(demo);
        fs::remove_dir_all(parent).unwrap();
    }
}
