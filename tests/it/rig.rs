//! A throw-away agy home with an engine on it, and ways to wait for what the engine tells.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
    time::{Duration, Instant},
};

use agenthub_engine::{Config, Host, Options, Snapshot, view::BoardLane};
use agy_sim::{Home, TempHome};

/// How long a test waits for what must come: long, since machines that run tests are often busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home that agy-sim writes and AgentHub reads.
pub(crate) struct Rig {
    pub(crate) home: TempHome,
    ours: tempfile::TempDir,
}

/// Tests may be started by what ignores signals, as `nohup` and a script's `&` do, and programs inherit that. Those that we
/// start here shall find the world as a terminal's shell leaves it.
#[cfg(unix)]
fn mind_signals() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2]
        {
            #[expect(unsafe_code, reason = "std has no way to say it")]
            // SAFETY: one system call, and this process has no handlers of its own.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    });
}

impl Rig {
    pub(crate) fn new() -> Rig {
        #[cfg(unix)]
        mind_signals();
        Rig {
            home: Home::temp().expect("a temporary home"),
            ours: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn config(&self) -> Config {
        Config {
            gemini_dir: self.home.root().to_owned(),
            data_dir: self.data_dir(),
            config_dir: self.ours.path().join("config"),
            poll_ms: 15_000,
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.ours.path().join("data")
    }

    /// An engine that has looked once at everything.
    pub(crate) fn start(&self) -> Watched {
        self.start_with(self.config(), Options::default())
    }

    /// The same for a test of something that the next poll brings, and no event: it comes soon.
    pub(crate) fn start_polling(&self) -> Watched {
        self.start_with(Config { poll_ms: 1_000, ..self.config() }, Options::default())
    }

    pub(crate) fn start_with(&self, config: Config, options: Options) -> Watched {
        let (tell, told) = std::sync::mpsc::channel();
        let options = Options { told: Some(tell), ..options };
        let host = Host::start_with(config, options).expect("the engine starts");
        let watched = Watched { host, told };
        watched.until("the first scan", |s| s.board.revision > 0 && s.board.scan.is_none());
        watched
    }

    /// Runs `agenthub` on this home.
    pub(crate) fn agenthub(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("agenthub runs")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_agenthub"));
        c.args(args)
            .env("AGENTHUB_GEMINI_DIR", self.home.root())
            .env("AGENTHUB_DATA_DIR", self.data_dir())
            .env("AGENTHUB_CONFIG_DIR", self.ours.path().join("config"))
            .env_remove("DASHBOARD_ANTIGRAVITY_POLL_MS");
        c
    }

    /// The document that a command prints; it must exit with 0.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let out = self.agenthub(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).expect("one JSON document")
    }
}

/// A running engine.
pub(crate) struct Watched {
    pub(crate) host: Host,
    told: std::sync::mpsc::Receiver<Arc<Snapshot>>,
}

impl Watched {
    /// Waits until a snapshot satisfies `is`; says how long that took.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is: impl Fn(&Snapshot) -> bool) -> (Arc<Snapshot>, Duration) {
        self.within(PATIENCE, what, is)
    }

    #[track_caller]
    pub(crate) fn within(
        &self,
        at_most: Duration,
        what: &str,
        is: impl Fn(&Snapshot) -> bool,
    ) -> (Arc<Snapshot>, Duration) {
        let started = Instant::now();
        let mut rx = self.host.watch();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let found = runtime.block_on(async {
            tokio::time::timeout(at_most, async {
                loop {
                    // Its own copy: `is` may ask the host, which looks at the board itself. An engine that comes to tell
                    // news between the two would wait for the first look, and the second one for the engine.
                    let now = rx.borrow_and_update().clone();
                    if is(&now) {
                        return Ok(now);
                    }
                    rx.changed().await?;
                }
            })
            .await
        });
        match found {
            Ok(Ok(snapshot)) => (snapshot, started.elapsed()),
            Ok(Err::<_, tokio::sync::watch::error::RecvError>(_)) => {
                panic!("the engine ended while waiting for {what}")
            }
            Err(_) => panic!(
                "not within {at_most:?}: {what}. The board is {:#?}",
                self.host.watch().borrow().board.lanes
            ),
        }
    }

    /// Everything told from now on, in order and whole, while `f` runs and until `last` holds.
    #[track_caller]
    pub(crate) fn record(&self, f: impl FnOnce(), last: impl Fn(&Snapshot) -> bool) -> Vec<Arc<Snapshot>> {
        let _before: Vec<_> = self.told.try_iter().collect();
        f();
        let mut all: Vec<Arc<Snapshot>> = Vec::new();
        let end = Instant::now() + PATIENCE;
        while !all.last().is_some_and(|s| last(s)) {
            match self.told.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(s) => all.push(s),
                Err(e) => panic!("the last state never came ({e}): {all:#?}"),
            }
        }
        all
    }
}

/// The lane of a session that is not settled, or of a folder.
pub(crate) fn lane<'a>(s: &'a Snapshot, cwd: &str) -> Option<&'a BoardLane> {
    s.board.lanes.iter().find(|l| l.lane.cwd.as_deref() == Some(cwd))
}

/// The sum of exact decimals, in 10⁻¹⁵ USD; what is null adds nothing.
pub(crate) fn usd<'a>(all: impl IntoIterator<Item = &'a serde_json::Value>) -> i128 {
    all.into_iter()
        .filter(|v| !v.is_null())
        .map(|v| {
            let text = v.as_str().expect("a cost is decimal text");
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            format!("{whole}{fraction:0<15}").parse::<i128>().expect("an exact decimal")
        })
        .sum()
}

/// A sub-agent has no lane of its own.
#[track_caller]
pub(crate) fn no_lane_of_a_sub_agent(told: &[Arc<Snapshot>]) {
    let several = told.iter().find(|s| s.board.lanes.len() > 1);
    assert!(several.is_none(), "{:#?}", several.map(|s| &s.board.lanes));
}

/// Every file below `root` with what may not change: kind, bytes, mode, and times.
pub(crate) fn tree(root: &Path) -> std::collections::BTreeMap<PathBuf, String> {
    let mut out = std::collections::BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry")) {
            let path = entry.path();
            let m = std::fs::symlink_metadata(&path).expect("metadata");
            let bytes = if m.is_file() { std::fs::read(&path).expect("bytes") } else { Vec::new() };
            let mut text = format!("{:?} {} {:?}", m.file_type(), m.len(), m.modified().expect("a time"));
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                text.push_str(&format!(" {:o} {} {}.{}", m.mode(), m.ino(), m.ctime(), m.ctime_nsec()));
            }
            text.push_str(&format!(" {:016x}", hash(&bytes)));
            if m.is_dir() {
                folders.push(path.clone());
            }
            out.insert(path, text);
        }
    }
    out
}

fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    bytes.hash(&mut h);
    h.finish()
}

/// A UUID that no other test of this run has.
pub(crate) fn uuid() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static N: AtomicU64 = AtomicU64::new(1);
    format!("{:08x}-0000-4000-8000-{:012x}", std::process::id(), N.fetch_add(1, Ordering::Relaxed))
}
