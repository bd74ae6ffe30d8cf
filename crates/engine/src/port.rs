//! The engine's question port: how a second host sees the board of the first (spec P7).
//!
//! A local socket in the data folder, which only its owner can enter. It can show, and have the engine look again; it
//! can never write (spec W5). One question a connection, one JSON line each way, except `watch`, which goes on.

use std::{collections::HashMap, io, path::Path, sync::Arc, time::Duration};

use interprocess::local_socket::{
    GenericFilePath, ListenerOptions, ToFsName as _,
    tokio::{Listener, Stream},
    traits::tokio::{Listener as _, Stream as _},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    sync::{Notify, watch},
    task::LocalSet,
};

use crate::{Snapshot, board_view::LiveState, view};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    /// One snapshot.
    Board,
    /// A snapshot now and at each change.
    Watch,
    /// Read what the person said anew; answered by `{}`.
    Look,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    board: view::BoardView,
    states: HashMap<String, LiveState>,
    problems: Vec<view::Problem>,
    settings: view::SettingsView,
    notices: Vec<view::Notification>,
}

/// A question is one short line; whoever sends more is not one of us.
const LONGEST_QUESTION: u64 = 256;
const MOST_CONNECTIONS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);

/// A port that answers until it is dropped.
pub(crate) struct Port {
    stop: Arc<Notify>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(t) = self.thread.take() {
            // A panic there was logged where it happened.
            let _ = t.join();
        }
    }
}

/// Answers at `path` from a thread of its own. The caller holds the engine's lock, so a socket that is there already is
/// one that a killed engine left.
pub(crate) fn serve(
    path: &Path,
    board: watch::Receiver<Arc<Snapshot>>,
    look: impl Fn() + Send + 'static,
) -> io::Result<Port> {
    let stop = Arc::new(Notify::new());
    let runtime = runtime()?;
    let listener = {
        let _inside = runtime.enter();
        listen(path)?
    };
    let thread = std::thread::Builder::new().name("agenthub-port".to_owned()).spawn({
        let stop = Arc::clone(&stop);
        move || {
            let tasks = LocalSet::new();
            let look: std::rc::Rc<dyn Fn()> = std::rc::Rc::new(look);
            let open = std::rc::Rc::new(());
            tasks.block_on(&runtime, async {
                loop {
                    let stream = tokio::select! {
                        () = stop.notified() => return,
                        accepted = listener.accept() => accepted,
                    };
                    match stream {
                        Ok(stream) if std::rc::Rc::strong_count(&open) <= MOST_CONNECTIONS => {
                            let (board, look, open) = (board.clone(), look.clone(), open.clone());
                            tokio::task::spawn_local(async move {
                                if let Err(e) = answer(stream, board, &*look).await {
                                    tracing::debug!("a question was not answered: {e}");
                                }
                                drop(open);
                            });
                        }
                        Ok(_) => tracing::warn!("too many questions at once; one was refused"),
                        Err(e) => {
                            tracing::warn!("the question port failed: {e}");
                            tokio::time::sleep(Duration::from_secs(1)).await;
                        }
                    }
                }
            });
        }
    })?;
    Ok(Port { stop, thread: Some(thread) })
}

fn listen(path: &Path) -> io::Result<Listener> {
    #[cfg(unix)]
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let options = ListenerOptions::new().name(path.to_fs_name::<GenericFilePath>()?);
    #[cfg(unix)]
    let options = interprocess::os::unix::local_socket::ListenerOptionsExt::mode(options, 0o600);
    options.create_tokio()
}

async fn answer(
    stream: Stream,
    mut board: watch::Receiver<Arc<Snapshot>>,
    look: &dyn Fn(),
) -> io::Result<()> {
    let mut write = &stream;
    let mut line = String::new();
    let mut read = BufReader::new((&stream).take(LONGEST_QUESTION));
    tokio::time::timeout(PATIENCE, read.read_line(&mut line))
        .await
        .map_err(|_| io::ErrorKind::TimedOut)??;
    let question: Question = serde_json::from_str(line.trim())?;
    match question {
        Question::Look => {
            look();
            write.write_all(b"{}\n").await
        }
        Question::Board => {
            let snapshot = board.borrow().clone();
            write.write_all(&to_line(&snapshot)?).await
        }
        Question::Watch => loop {
            let snapshot = board.borrow_and_update().clone();
            write.write_all(&to_line(&snapshot)?).await?;
            // Also ends when the other side hangs up: then reading gives its end.
            let mut rest = [0u8; 1];
            tokio::select! {
                changed = board.changed() => if changed.is_err() { return Ok(()) },
                _ = read.read(&mut rest) => return Ok(()),
            }
        },
    }
}

fn to_line(s: &Snapshot) -> io::Result<Vec<u8>> {
    let answer = Answer {
        board: (*s.board).clone(),
        states: s.states.clone(),
        problems: s.problems.clone(),
        settings: (*s.settings).clone(),
        notices: (*s.notices).clone(),
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    Ok(line)
}

fn from_line(line: &str) -> io::Result<Snapshot> {
    let a: Answer = serde_json::from_str(line)?;
    Ok(Snapshot {
        board: Arc::new(a.board),
        states: a.states,
        problems: a.problems,
        settings: Arc::new(a.settings),
        notices: Arc::new(a.notices),
    })
}

/// One snapshot from the engine behind `path`.
pub(crate) fn ask(path: &Path) -> io::Result<Snapshot> {
    from_line(&once(path, Question::Board)?)
}

/// Has the engine behind `path` read what the person said.
pub(crate) fn look(path: &Path) -> io::Result<()> {
    once(path, Question::Look).map(drop)
}

fn once(path: &Path, question: Question) -> io::Result<String> {
    runtime()?.block_on(async {
        let exchange = async {
            let mut lines = open(path, question).await?.lines();
            lines.next_line().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    })
}

/// Passes on what the engine behind `path` tells, until it ends or `hang_up` is notified.
pub(crate) fn follow(path: &Path, out: &watch::Sender<Arc<Snapshot>>, hang_up: &Notify) {
    let followed = runtime().and_then(|rt| {
        rt.block_on(async {
            let mut lines = open(path, Question::Watch).await?.lines();
            loop {
                let line = tokio::select! {
                    () = hang_up.notified() => return Ok(()),
                    line = lines.next_line() => line?,
                };
                match line {
                    Some(line) => {
                        out.send_replace(Arc::new(from_line(&line)?));
                    }
                    None => return Ok(()),
                }
            }
        })
    });
    if let Err(e) = followed {
        tracing::debug!("the other engine can't be followed: {e}");
    }
}

async fn open(path: &Path, question: Question) -> io::Result<BufReader<Stream>> {
    let mut stream = Stream::connect(path.to_fs_name::<GenericFilePath>()?).await?;
    let mut line = serde_json::to_vec(&question)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    Ok(BufReader::new(stream))
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
