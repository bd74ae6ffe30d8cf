//! `agenthub watch`: the whole engine, or a look over the shoulder of the one that runs.

use agenthub_engine::{Config, Host, take_put_aside, view::LanesDocument};

use crate::{out, run};

pub(crate) fn watch(config: Config) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = Host::start(config).map_err(crate::run::Failed)?;
    let told = runtime.block_on(tell(&host));
    // A line that nobody takes must not keep us.
    runtime.shutdown_background();
    host.stop();
    told
}

/// Prints the board when it is first known, and whenever it changed, until it is told to end.
async fn tell(host: &Host) -> anyhow::Result<()> {
    let mut boards = host.watch();
    let mut ended = std::pin::pin!(ended());
    let mut gone = std::pin::pin!(reader_gone());
    let mut last: Option<LanesDocument> = None;
    let mut said: Vec<String> = Vec::new();
    loop {
        let now = boards.borrow_and_update().clone();
        // Beside the lines, for a document has no place for it: once each time that it comes.
        let telling = run::telling(&now.board);
        if now.board.notes.iter().any(|n| n.code == "settings_reset") {
            // Said at once, and so not at the end.
            drop(take_put_aside());
        }
        telling.iter().filter(|text| !said.contains(text)).for_each(|text| run::complain(text));
        said = telling;
        // Before the first scan is over the board is not what it will be.
        if now.board.revision > 0 && now.board.scan.is_none() {
            let lanes = now.lanes();
            let seen = as_seen(&lanes);
            if last.as_ref() != Some(&seen) {
                let text = serde_json::to_string(&lanes)?;
                // A reader that rests holds the write up, and not the end.
                let written = tokio::task::spawn_blocking(move || out::raw_line(&text));
                tokio::select! {
                    written = written => match written? {
                        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                        written => written?,
                    },
                    signal = &mut ended => return Ok(signal?),
                    () = &mut gone => return Ok(()),
                }
                last = Some(seen);
            }
        }
        tokio::select! {
            changed = boards.changed() => if changed.is_err() { return Ok(()) },
            signal = &mut ended => return Ok(signal?),
            () = &mut gone => return Ok(()),
        }
    }
}

/// Without what moves although nothing happened: the times of facts that did not decide anything.
fn as_seen(lanes: &LanesDocument) -> LanesDocument {
    let mut seen = lanes.clone();
    for e in seen.lanes.iter_mut().flat_map(|l| &mut l.why.beat) {
        e.at = None;
    }
    seen
}

/// Until nobody can read our lines any more. Where that can't be known, the next line finds out.
async fn reader_gone() {
    let (tell, gone) = tokio::sync::oneshot::channel::<()>();
    #[cfg(unix)]
    {
        // It waits without an end, for there may be none; it goes with the process.
        let watching = std::thread::Builder::new().name("agenthub-reader".to_owned()).spawn(move || {
            if hung_up() {
                // Nobody listens any more: then we are ending anyway.
                let _ = tell.send(());
            }
        });
        drop(watching);
    }
    #[cfg(not(unix))]
    drop(tell);
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits until the other end of our standard output is closed; `false` where the system can't tell.
#[cfg(unix)]
fn hung_up() -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let out = std::io::stdout();
    loop {
        // Nothing is asked for but what is always told: errors and hang-ups.
        let mut fds = [PollFd::new(&out, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) => {
                let told = fds.first().map_or(PollFlags::empty(), PollFd::revents);
                return told.intersects(PollFlags::ERR | PollFlags::HUP);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Until somebody asks the program to end.
async fn ended() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            _ = term.recv() => Ok(()),
            ended = tokio::signal::ctrl_c() => ended,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

#[cfg(test)]
mod tests {
    use agenthub_engine::view::{Evidence, Lane, Outcome, State, Why};

    use super::*;

    fn lanes(decided: &str, beat: &str) -> LanesDocument {
        let evidence = |at: &str| Evidence {
            fact: "wrote".to_owned(),
            source: "database".to_owned(),
            at: Some(at.to_owned()),
        };
        let lane = Lane {
            id: "l".to_owned(),
            tool: "antigravity".to_owned(),
            name: "atlas".to_owned(),
            cwd: None,
            run_id: None,
            state: State::Running,
            outcome: Outcome::InProgress,
            since: None,
            waiting_for: None,
            why: Why { decided: evidence(decided), beat: vec![evidence(beat)] },
            sessions: Vec::new(),
            tokens_today: None,
            cost_usd_today: None,
            tokens_unpriced_today: 0,
        };
        LanesDocument { schema: 1, lanes: vec![lane] }
    }

    #[test]
    fn the_time_of_a_beaten_fact_is_no_change() {
        assert_eq!(as_seen(&lanes("a", "b")), as_seen(&lanes("a", "c")));
        assert_ne!(as_seen(&lanes("a", "b")), as_seen(&lanes("d", "b")));
    }
}
