//! Q2, R8: processes that put and send are killed at any moment, and all of it arrives under the same ids.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agenthub_core::Time;
use agenthub_otlp::queue::{Ended, Limits, When};
use agenthub_otlp::{DestinationId, Profiles, Queue, Secrets, Target};
use otlp_receiver::Receiver;
use otlp_receiver::conformance::{self, Names};

use crate::tree::{destination, encoding, trace};

const QUEUE: &str = "OTLP_TEST_QUEUE";
const URL: &str = "OTLP_TEST_URL";
const FROM: &str = "OTLP_TEST_FROM";
const KILLS: u64 = 100;
/// Turns of one worker, of which none comes to the end.
const TURNS: u64 = 1_000;

fn now(turn: u64) -> Time {
    Time::from_millis(1_790_000_000_000 + turn as i64)
}

fn drained(queue: &Queue, url: &str, turn: u64) -> Ended {
    let id = DestinationId::new("test").unwrap();
    let to = Target::new(&destination(url), &Secrets::default()).unwrap();
    queue.drain(&id, &to, When::New, Instant::now() + Duration::from_secs(120), || now(turn)).ended
}

/// Not a test: what the test below starts, and kills.
#[test]
#[ignore = "started by another test"]
fn worker() {
    let Some(root) = std::env::var_os(QUEUE) else { return };
    let (url, from) = (std::env::var(URL).unwrap(), std::env::var(FROM).unwrap().parse::<u64>().unwrap());
    let queue = Queue::at(PathBuf::from(root), Limits::default());
    let encoding = encoding(Profiles::Both).with_largest_part(6_000);
    for turn in from..from + TURNS {
        let trace = trace(turn, &[1, 1]);
        queue
            .put(&DestinationId::new("test").unwrap(), trace.turn.id, &encoding.batches(&trace), now(turn))
            .unwrap();
        println!("\nput {turn}");
        std::io::stdout().flush().unwrap();
        drained(&queue, &url, turn);
    }
}

fn start(root: &Path, url: &str, from: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "queue_kill::worker", "--ignored", "--nocapture", "--test-threads=1"])
        .envs([(QUEUE, root.as_os_str()), (URL, url.as_ref()), (FROM, from.to_string().as_ref())])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills it at a moment after its first turn was put, and says which turns it had put.
fn kill(mut child: Child, after: Duration) -> BTreeSet<u64> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut put = BTreeSet::new();
    let mut note =
        |line: &str| put.extend(line.strip_prefix("put ").and_then(|n| n.trim().parse::<u64>().ok()));
    let mut line = String::new();
    while !line.starts_with("put ") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "the worker ended before it did anything");
    }
    note(&line);
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // The last line may be cut.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    whole.lines().for_each(note);
    put
}

#[test]
fn r8_killed_at_any_moment_every_turn_arrives_under_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("queue");
    let backend = Receiver::start();
    let mut put = BTreeSet::new();
    let mut kills = 0;
    while kills < KILLS {
        // Two at a time, on one queue.
        let [a, b] = [0, 1].map(|n| start(&root, &backend.url(), (kills + n + 1) * TURNS * 10));
        for (n, child) in [a, b].into_iter().enumerate() {
            // From within the first write to some turns later.
            let after = Duration::from_micros((kills * 7_919 + n as u64 * 1_031) % 40_000);
            put.extend(kill(child, after));
            kills += 1;
        }
    }
    let queue = Queue::at(root, Limits::default());
    assert_eq!(drained(&queue, &backend.url(), (KILLS + 2) * TURNS * 10), Ended::Empty);

    let mut spans = backend.spans();
    let sent = spans.len();
    spans.sort_by_key(|span| (span.trace(), span.id()));
    // A kill between the backend's answer and our removal sends again: the same span, to the byte.
    spans.dedup();
    let there: BTreeSet<_> = spans.iter().map(|span| (span.trace(), span.id())).collect();
    assert_eq!(there.len(), spans.len(), "two spans of one id differ");
    assert!(put.len() as u64 >= KILLS, "{} turns", put.len());
    for turn in &put {
        let trace = trace(*turn, &[1, 1]);
        for visit in trace.visits() {
            assert!(there.contains(&(trace.id.to_string(), visit.span.id().to_string())), "of turn {turn}");
        }
    }
    // A turn whose putting was cut short may be there in part; those that were put are whole.
    let whole: Vec<_> = {
        let traces: BTreeSet<String> = put.iter().map(|turn| trace(*turn, &[1, 1]).id.to_string()).collect();
        spans.into_iter().filter(|span| traces.contains(&span.trace())).collect()
    };
    assert_eq!(conformance::findings(&whole, Names::Both), [""; 0]);
    let standing = queue.standing(&DestinationId::new("test").unwrap());
    assert_eq!((standing.waiting_batches, standing.damaged, standing.dropped_batches), (0, 0, 0));
    eprintln!(
        "{} turns put by {KILLS} killed workers; {sent} spans sent, {} different",
        put.len(),
        there.len()
    );
}
