//! A private desktop for one test, and hands and eyes on it.
//!
//! Nothing here knows what the app should show; that is the tests' part.

pub(crate) mod desk;
pub(crate) mod notifications;
pub(crate) mod page;
pub(crate) mod tray;
pub(crate) mod tray_host;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// How long a test waits for what must come. The desktops share their processors, and what else runs there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The app under test, with the page inside.
pub(crate) const APP: &str = env!("CARGO_BIN_EXE_agenthub-desktop");

/// `agenthub-hook`, beside the app, where the installer looks for it. It is no part of the app's package.
pub(crate) fn hook_program() -> PathBuf {
    agy_sim::built("agenthub-hook", "agenthub-hook").unwrap()
}

/// Asks every 10 ms until there is an answer. The bound is generous: a busy machine is no failure.
pub(crate) fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, ask)
}

/// The same with a bound of its own.
pub(crate) fn within<T>(bound: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let mut answer = None;
    let answered = within_or_not(bound, || {
        answer = ask();
        answer.is_some()
    });
    match (answered, answer) {
        (Some(()), Some(answer)) => answer,
        _ => panic!("waited {bound:?} in vain for {what}"),
    }
}

/// Asks every 10 ms until it is so; `None` when it is not in time.
pub(crate) fn within_or_not(bound: Duration, mut so: impl FnMut() -> bool) -> Option<()> {
    let start = Instant::now();
    while !so() {
        if start.elapsed() > bound {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(())
}

/// Fails with the package's name when a program that these tests need is not installed.
pub(crate) fn need(program: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    assert!(
        std::env::split_paths(&path).any(|dir| dir.join(program).is_file()),
        "the desktop tests need `{program}` (Debian and Ubuntu: apt-get install {package}); \
         `cargo xtask setup` installs all that is needed"
    );
}
