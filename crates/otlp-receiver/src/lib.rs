//! A backend for tests: an OTLP/HTTP server on loopback that takes spans, or answers as badly as backends do. Never shipped.
//!
//! It shares nothing with what sends, and [`conformance`] knows the names of attributes by itself, so that a mistake there
//! cannot cancel itself out in a test. As this is for tests, it panics where a test should fail.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod certificate;
pub mod conformance;
mod http;
mod received;
mod serve;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use certificate::Certificate;
pub use http::Request;
pub use received::{Received, of_gzip as decoded, unzipped};

/// What the receiver does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// 200; the spans are kept.
    Take,
    /// 200 with `partial_success`; all but the last `rejected` spans are kept.
    TakePartly { rejected: u64, message: String },
    /// The spans are kept, and the connection is cut before the answer, as when a server dies at the wrong moment.
    TakeAndCut,
    /// Any status, with headers and a body; nothing is kept, even for 200.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The connection is cut before the request is read.
    Cut,
    /// The request is read and never answered.
    Hang,
}

impl Reply {
    /// A status with a `google.rpc.Status` that says `message`.
    pub fn status(status: u16, message: &str) -> Reply {
        Reply::Answer {
            status,
            headers: vec![("content-type".to_owned(), "application/x-protobuf".to_owned())],
            body: received::status_message(message),
        }
    }

    /// 429 with `Retry-After`.
    pub fn busy(retry_after: &str) -> Reply {
        Reply::status(429, "slow down").with_header("retry-after", retry_after)
    }

    pub fn redirect(location: &str) -> Reply {
        Reply::Answer { status: 307, headers: Vec::new(), body: Vec::new() }.with_header("location", location)
    }

    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Reply {
        if let Reply::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

#[derive(Debug)]
struct State {
    /// Answered with one by one, before `always`.
    next: VecDeque<Reply>,
    always: Reply,
    requests: Vec<Request>,
    /// Every span that was kept, as often as it was sent.
    kept: Vec<Received>,
    /// What was wrong with requests that are no OTLP.
    complaints: Vec<String>,
    /// Requests that are being dealt with, and the most that ever were.
    now: usize,
    most_at_once: usize,
    open: bool,
    connections: Vec<TcpStream>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.notify_all();
        changed
    }
}

/// The server. It listens until it is dropped or [`Receiver::stop`]ped.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// A backend that is absent: nothing listens at `url`, until it is started there.
#[derive(Debug)]
pub struct Absent {
    address: SocketAddr,
    kept: Vec<Received>,
}

/// Waits end with a failed test after this.
const PATIENCE: Duration = Duration::from_secs(120);

impl Receiver {
    /// Over plain HTTP, taking everything.
    pub fn start() -> Receiver {
        Receiver::listen(None, None, Vec::new())
    }

    /// Over TLS, with a certificate made for the purpose.
    pub fn start_with_tls(certificate: &Certificate) -> Receiver {
        Receiver::listen(None, Some(certificate.server_config()), Vec::new())
    }

    fn listen(
        at: Option<SocketAddr>,
        tls: Option<Arc<rustls::ServerConfig>>,
        kept: Vec<Received>,
    ) -> Receiver {
        let listener = match at {
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"),
            Some(at) => listen_again(at),
        };
        let address = listener.local_addr().expect("a port");
        let state = State {
            next: VecDeque::new(),
            always: Reply::Take,
            requests: Vec::new(),
            kept,
            complaints: Vec::new(),
            now: 0,
            most_at_once: 0,
            open: true,
            connections: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), tls });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if !serving.state().open {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let Ok(other_end) = stream.try_clone() else { continue };
                serving.state().connections.push(other_end);
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || serve::connection(&shared, stream));
            }
        });
        Receiver { shared, address }
    }

    /// The base address; with `/v1/traces` below it.
    pub fn url(&self) -> String {
        // A certificate is for a name.
        match &self.shared.tls {
            Some(_) => format!("https://localhost:{}", self.address.port()),
            None => format!("http://{}", self.address),
        }
    }

    /// From now on every request is answered so.
    pub fn always(&self, reply: Reply) {
        self.shared.change(|state| state.always = reply);
    }

    /// The next requests are answered so, one by one, and the others as before.
    pub fn next(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.change(|state| state.next.extend(replies));
    }

    /// Every span that was kept, as often as it was sent.
    pub fn spans(&self) -> Vec<Received> {
        self.shared.state().kept.clone()
    }

    /// All requests to the end, with what was wrong in them left to [`Receiver::complaints`].
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// What came that is no OTLP.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.state().complaints.clone()
    }

    /// How many requests were ever dealt with at the same moment.
    pub fn most_at_once(&self) -> usize {
        self.shared.state().most_at_once
    }

    /// Waits until `n` spans with different ids are there, and gives all that came.
    pub fn wait_for_spans(&self, n: usize) -> Vec<Received> {
        self.wait(&format!("{n} spans"), |state| received::ids(&state.kept).len() >= n);
        self.spans()
    }

    pub fn wait_for_requests(&self, n: usize) -> Vec<Request> {
        self.wait(&format!("{n} requests"), |state| state.requests.len() >= n);
        self.requests()
    }

    fn wait(&self, what: &str, enough: impl Fn(&State) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.shared.state();
        while !enough(&state) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {what} after {PATIENCE:?}: {} requests, {} spans, complaints {:?}",
                state.requests.len(),
                state.kept.len(),
                state.complaints
            );
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nothing listens at its address any more.
    pub fn stop(self) -> Absent {
        let absent = Absent { address: self.address, kept: self.spans() };
        drop(self);
        absent
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let connections = self.shared.change(|state| {
            state.open = false;
            std::mem::take(&mut state.connections)
        });
        for connection in connections {
            drop(connection.shutdown(std::net::Shutdown::Both));
        }
        // Wakes the thread that listens, which then lets go of the port.
        drop(TcpStream::connect(self.address));
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(self.address).is_ok() && Instant::now() < until {
            std::thread::yield_now();
        }
    }
}

impl Absent {
    /// An address at which nothing ever listened.
    pub fn nowhere() -> Absent {
        Receiver::start().stop()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// It is back, at the same address, with the spans that it had.
    pub fn start(self) -> Receiver {
        Receiver::listen(Some(self.address), None, self.kept)
    }
}

fn listen_again(at: SocketAddr) -> TcpListener {
    let until = Instant::now() + PATIENCE;
    loop {
        match TcpListener::bind(at) {
            Ok(listener) => return listener,
            Err(e) => assert!(Instant::now() < until, "{at} is not free again: {e}"),
        }
        std::thread::yield_now();
    }
}
