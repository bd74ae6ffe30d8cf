//! A home that is good to look at: two weeks of sessions, lanes that were at work all day, and that go on for ever.

mod lane;
mod past;
mod today;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::home::Home;
use crate::recording::Recording;
use crate::rng::Rng;
use lane::Lane;

pub use past::fill as fill_past;
pub use today::fill as fill_today;

/// Folders of the lanes; `None` is a session without a workspace.
const LANES: &[Option<&str>] = &[
    Some("/home/user/src/payments-gateway"),
    Some("/home/user/src/api-server"),
    Some("/home/user/src/atlas-web"),
    Some("/home/user/src/dotfiles"),
    Some("/home/user/src/ספריית-תשלומים"),
    None,
];

/// What the lanes' sessions are played with.
const MODELS: &[u32] = &[1318, 1318, 1016, 1026, 1411];

/// Keeps the lanes lively until `end` says so (or its sender is gone), then closes every conversation cleanly. `alive` is
/// asked at least once a second; false ends the demo as well. `newest`: the sessions that [`fill_today`] gave back, in which
/// the lanes go on; without any each begins a new one.
pub fn run(
    home: &Home,
    seed: u64,
    newest: Vec<Recording>,
    end: &Receiver<()>,
    alive: impl Fn() -> bool,
) -> Result<()> {
    let mut rng = Rng::new(seed);
    let mut newest = newest.into_iter();
    let mut lanes = LANES
        .iter()
        .enumerate()
        .map(|(i, folder)| Lane::open(home, Rng::new(rng.u64()), *folder, i, newest.next()))
        .collect::<Result<Vec<_>>>()?;
    loop {
        let now = Instant::now();
        for lane in &mut lanes {
            lane.play(now)?;
        }
        let next = lanes.iter().map(Lane::next).min().unwrap_or(now);
        let wait = next.saturating_duration_since(Instant::now()).min(Duration::from_secs(1));
        match end.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) if alive() => {}
            _ => break,
        }
    }
    lanes.into_iter().try_for_each(Lane::close)
}
