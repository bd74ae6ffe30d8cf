//! R8: what could not be sent waits on disk, is sent later with the same ids, and is never too much.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use agenthub_core::Time;
use agenthub_core::trace::{SpanId, Trace};
use agenthub_otlp::queue::{Ended, Limits, When};
use agenthub_otlp::{
    Answer, Batch, DestinationId, Fate, Header, Profiles, Queue, Secrets, Target, Transport,
};
use otlp_receiver::conformance::{self, Names};
use otlp_receiver::{Absent, Receiver, Reply};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::tree::{destination, encoding, trace};

/// Seconds after the tests' epoch.
fn at(seconds: i64) -> Time {
    Time::from_millis((1_790_000_000 + seconds) * 1_000)
}

fn id() -> DestinationId {
    DestinationId::new("test").unwrap()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

struct Rig {
    folder: TempDir,
    queue: Queue,
}

fn rig_with(limits: Limits) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let queue = Queue::at(folder.path().join("queue"), limits);
    Rig { folder, queue }
}

fn rig() -> Rig {
    rig_with(Limits::default())
}

impl Rig {
    fn place(&self) -> std::path::PathBuf {
        self.folder.path().join("queue/to-test")
    }

    fn put(&self, trace: &Trace, seconds: i64) {
        let batches = encoding(Profiles::Both).with_largest_part(20_000).batches(trace);
        self.queue.put(&id(), trace.turn.id, &batches, at(seconds)).unwrap();
    }

    fn drain(&self, to: &impl Transport, when: When, seconds: i64) -> agenthub_otlp::queue::Drained {
        self.queue.drain(&id(), to, when, soon(), || at(seconds))
    }

    fn files(&self) -> Vec<String> {
        let mut all: Vec<String> = std::fs::read_dir(self.place())
            .unwrap()
            .map(|found| found.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".pb.gz"))
            .collect();
        all.sort();
        all
    }
}

fn target(url: &str) -> Target {
    Target::new(&destination(url), &Secrets::default()).unwrap()
}

/// A backend without a network, which answers as it is told and then takes everything.
#[derive(Default)]
struct Told {
    answers: RefCell<VecDeque<Fate>>,
    /// Batches with so many spans make it fail.
    chokes_on: Option<u64>,
    takes_at_most: Option<u64>,
    setup: u64,
    seen: RefCell<Vec<Batch>>,
}

impl Told {
    fn to(answers: impl IntoIterator<Item = Fate>) -> Told {
        Told { answers: RefCell::new(answers.into_iter().collect()), ..Told::default() }
    }

    fn span_ids(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        seen.iter().flat_map(|b| otlp_receiver::decoded(&b.gzipped).unwrap()).map(|s| s.id()).collect()
    }
}

impl Transport for Told {
    fn send(&self, batch: &Batch, _limit: Duration) -> Answer {
        let mut fate = self.answers.borrow_mut().pop_front().unwrap_or(Fate::Taken);
        if self.chokes_on == Some(batch.spans) {
            fate = Fate::Failed;
        }
        if self.takes_at_most.is_some_and(|most| batch.spans > most) {
            fate = Fate::TooLarge;
        }
        if fate.is_taken() {
            self.seen.borrow_mut().push(batch.clone());
        }
        let message = format!("{fate:?}");
        Answer { fate, http_status: None, message, rejected_spans: 0, retry_after: None }
    }

    fn setup(&self) -> u64 {
        self.setup
    }
}

#[test]
fn r8_five_turns_wait_for_a_backend_that_is_away_and_all_are_there_once() {
    let rig = rig();
    let absent = Absent::nowhere();
    let url = absent.url();
    for turn in 0..5 {
        rig.put(&trace(turn, &[2]), turn as i64);
        let drained = rig.drain(&target(&url), When::New, turn as i64);
        assert_eq!(drained.ended, Ended::HeldUp);
        assert!(drained.last.unwrap().message.contains("Nothing listens"));
    }
    let waiting = rig.queue.standing(&id());
    assert_eq!((waiting.waiting_spans, waiting.failures), (5 * 4, 5));
    assert_eq!(waiting.oldest, Some(at(0)));
    assert_eq!(waiting.last.as_ref().unwrap().fate, "unavailable");
    assert_eq!(waiting.last_taken, None);

    let backend = absent.start();
    // By the clock it is left alone until its pause is over; then, or when there is something new, all of it goes.
    let until = rig.queue.next_due(&[id()], at(5)).unwrap();
    assert!(until > at(5) && until <= at(5 + 16), "{until:?}");
    assert_eq!(rig.drain(&target(&url), When::Due, 5).ended, Ended::Paused);
    let drained = rig.drain(&target(&url), When::New, 5);
    assert_eq!((drained.ended, drained.sent_spans), (Ended::Empty, 20));
    let spans = backend.spans();
    assert_eq!(spans.len(), 20);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    let done = rig.queue.standing(&id());
    assert_eq!((done.waiting_batches, done.failures, done.sent_spans), (0, 0, 20));
    assert_eq!(done.last_taken.as_ref().unwrap().http_status, Some(200));
    assert_eq!(rig.queue.next_due(&[id()], at(6)), None);
}

#[test]
fn r8_with_the_app_running_it_is_sent_within_the_back_off() {
    let rig = rig();
    rig.put(&trace(1, &[1]), 0);
    let mut now = 0;
    for _ in 0..20 {
        assert_eq!(rig.drain(&Told::to([Fate::Later]), When::Due, now).ended, Ended::HeldUp);
        let due = rig.queue.next_due(&[id()], at(now)).unwrap();
        let pause = due.ms_since(at(now));
        assert!((500..=300_000).contains(&pause), "{pause}");
        now += pause / 1_000 + 1;
    }
    assert_eq!(rig.drain(&Told::default(), When::Due, now).ended, Ended::Empty);
}

#[test]
fn r8_a_retry_after_is_kept_to_unless_the_person_asks() {
    let rig = rig();
    let backend = Receiver::start();
    let to = target(&backend.url());
    backend.next([Reply::busy("600")]);
    rig.put(&trace(1, &[0]), 0);
    assert_eq!(rig.drain(&to, When::New, 0).ended, Ended::HeldUp);
    assert_eq!(rig.queue.next_due(&[id()], at(1)), Some(at(600)));
    assert_eq!(rig.drain(&to, When::New, 599).ended, Ended::Paused);
    assert_eq!(backend.requests().len(), 1);
    assert_eq!(rig.drain(&to, When::Asked, 599).ended, Ended::Empty);
    assert_eq!(backend.spans().len(), 2);
}

#[test]
fn r8_a_turn_that_is_exported_again_replaces_what_still_waits_of_it() {
    let rig = rig();
    rig.put(&trace(1, &[0; 60]), 0);
    rig.put(&trace(2, &[0]), 1);
    assert!(rig.files().len() > 3);
    let mut grown = trace(1, &[0; 60]);
    grown.turn.incomplete = true;
    rig.put(&grown, 2);
    rig.queue.put(&id(), grown.turn.id, &[], at(3)).unwrap();
    assert_eq!(rig.queue.standing(&id()).waiting_spans, 61 + 2);
    let told = Told::default();
    rig.drain(&told, When::New, 3);
    let ids = told.span_ids();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(ids.len(), 63);
}

#[test]
fn r8_what_is_refused_is_set_aside_and_tried_again_when_the_settings_change() {
    let rig = rig();
    rig.put(&trace(1, &[1]), 0);
    rig.put(&trace(2, &[1]), 1);
    let drained = rig.drain(&Told::to([Fate::Refused]), When::New, 2);
    assert_eq!((drained.ended, drained.sent_spans, drained.refused_spans), (Ended::Empty, 3, 3));
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.waiting_batches, standing.refused_spans), (0, 3));
    // It stands in nobody's way.
    assert_eq!(rig.drain(&Told::default(), When::New, 3).sent_spans, 0);

    let told = Told { setup: 7, ..Told::default() };
    assert_eq!(rig.drain(&told, When::New, 4).sent_spans, 3);
    assert_eq!(rig.queue.standing(&id()).refused_spans, 0);
    // Or when the person asks.
    rig.put(&trace(3, &[1]), 5);
    rig.drain(&Told { setup: 7, ..Told::to([Fate::Refused]) }, When::New, 6);
    rig.queue.retry(&id());
    assert_eq!(rig.drain(&told, When::Due, 7).sent_spans, 3);
}

#[test]
fn r8_a_wrong_key_loses_nothing_and_new_settings_go_at_once() {
    let rig = rig();
    let backend = Receiver::start();
    backend.always(Reply::status(401, "who are you"));
    for turn in 0..3 {
        rig.put(&trace(turn, &[0]), turn as i64);
        rig.drain(&target(&backend.url()), When::New, turn as i64);
    }
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.waiting_spans, standing.last.unwrap().fate.as_str()), (6, "misdirected"));
    assert_eq!(backend.requests().len(), 3, "one attempt for each occasion");

    backend.always(Reply::Take);
    let mut secrets = Secrets::default();
    secrets.set(&id(), Header::parse("authorization: Bearer k3y").unwrap());
    let mended = Target::new(&destination(&backend.url()), &secrets).unwrap();
    assert_eq!(rig.drain(&mended, When::Due, 3).sent_spans, 6, "no back-off of the old settings");
}

#[test]
fn r8_partial_success_is_counted_and_never_sent_again() {
    let rig = rig();
    let backend = Receiver::start();
    backend.next([Reply::TakePartly { rejected: 2, message: "too old".to_owned() }]);
    rig.put(&trace(1, &[1]), 0);
    let drained = rig.drain(&target(&backend.url()), When::New, 1);
    assert_eq!((drained.ended, drained.sent_spans, drained.rejected_spans), (Ended::Empty, 3, 2));
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.waiting_batches, standing.rejected_spans), (0, 2));
    assert!(standing.last.unwrap().message.contains("too old"));
    assert_eq!(backend.requests().len(), 1);
}

#[test]
fn r8_what_a_backend_fails_at_does_not_stand_before_the_others() {
    let rig = rig();
    // The oldest has four spans, and chokes it.
    rig.put(&trace(0, &[2]), 0);
    for turn in 1..=5 {
        rig.put(&trace(turn, &[0]), turn as i64);
        let told = Told { chokes_on: Some(4), ..Told::default() };
        let drained = rig.drain(&told, When::New, turn as i64);
        assert_eq!(drained.sent_spans, 2, "turn {turn}");
        assert_eq!(rig.queue.standing(&id()).waiting_spans, if turn < 5 { 4 } else { 0 });
    }
    assert_eq!(rig.queue.standing(&id()).refused_spans, 4, "at last it is set aside");

    // A backend that fails at everything is away: nothing is blamed, and it is not asked for each.
    for turn in 6..30 {
        rig.put(&trace(turn, &[0]), turn as i64);
    }
    for pass in 0..10 {
        let told = Told::to([Fate::Failed; 100]);
        assert_eq!(rig.drain(&told, When::New, 30 + pass).ended, Ended::HeldUp);
        assert_eq!(told.answers.borrow().len(), 97);
    }
    assert_eq!(rig.queue.standing(&id()).waiting_spans, 48);
    assert_eq!(rig.drain(&Told::default(), When::New, 50).sent_spans, 48);
}

#[test]
fn r8_a_batch_that_is_too_large_is_sent_in_halves() {
    let rig = rig();
    let whole = trace(1, &[1; 20]);
    rig.put(&whole, 0);
    let told = Told { takes_at_most: Some(3), ..Told::default() };
    assert_eq!(rig.drain(&told, When::New, 1).ended, Ended::Empty);
    let (ids, all) = (told.span_ids(), whole.visits().len());
    assert_eq!((ids.len(), ids.iter().collect::<BTreeSet<_>>().len()), (all, all));
    // One span alone cannot be halved.
    rig.put(&trace(2, &[0]), 2);
    let drained = rig.drain(&Told { takes_at_most: Some(0), ..Told::default() }, When::New, 3);
    assert_eq!((drained.sent_spans, drained.refused_spans), (0, 2));
}

#[test]
fn r8_the_oldest_is_dropped_beyond_seven_days_and_the_limit_and_counted() {
    let week = Limits::default().age.as_secs() as i64;
    let rig = rig();
    rig.put(&trace(1, &[0]), 0);
    rig.put(&trace(2, &[0]), 10);
    rig.queue.keep_within_limits(at(week));
    assert_eq!(rig.queue.standing(&id()).waiting_batches, 2);
    rig.queue.keep_within_limits(at(week + 5));
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.waiting_batches, standing.dropped_batches, standing.dropped_spans), (1, 1, 2));
    assert_eq!(standing.oldest, Some(at(10)));

    // Small files count as what they take up: 40 KiB are ten of them.
    let rig = rig_with(Limits { bytes: 40 * 1024, ..Limits::default() });
    for turn in 0..25 {
        rig.put(&trace(turn, &[0]), turn as i64);
        assert!(rig.queue.standing(&id()).waiting_bytes <= 40 * 1024);
    }
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.waiting_batches, standing.dropped_batches), (10, 15));
    assert_eq!(standing.oldest, Some(at(15)));
}

#[test]
fn r8_the_limit_is_for_all_destinations_and_for_what_was_refused() {
    let rig = rig_with(Limits { bytes: 12 * 1024, ..Limits::default() });
    let other = DestinationId::new("other").unwrap();
    rig.put(&trace(1, &[0]), 0);
    rig.drain(&Told::to([Fate::Refused]), When::New, 0);
    let batches = encoding(Profiles::Both).batches(&trace(2, &[0]));
    rig.queue.put(&other, trace(2, &[0]).turn.id, &batches, at(1)).unwrap();
    rig.put(&trace(3, &[0]), 2);
    assert_eq!(rig.queue.standing(&id()).refused_batches, 1);
    rig.put(&trace(4, &[0]), 3);
    assert_eq!(rig.queue.standing(&id()).refused_batches, 0, "the oldest of all");
    assert_eq!(rig.queue.standing(&id()).dropped_batches, 1);
    assert_eq!(rig.queue.standing(&other).waiting_batches, 1);
    assert_eq!(rig.queue.destinations(), [other, id()]);
}

#[test]
fn r8_one_destination_that_hangs_does_not_hold_up_another() {
    let rig = rig();
    let (slow, quick) = (Receiver::start(), Receiver::start());
    slow.always(Reply::Hang);
    let other = DestinationId::new("other").unwrap();
    rig.put(&trace(1, &[0]), 0);
    let batches = encoding(Profiles::Both).batches(&trace(1, &[0]));
    rig.queue.put(&other, trace(1, &[0]).turn.id, &batches, at(0)).unwrap();
    let targets = [(id(), target(&slow.url())), (other, target(&quick.url()))];
    let until = Instant::now() + Duration::from_secs(2);
    let drained = rig.queue.drain_all(&targets, When::New, until, || at(0));
    assert_eq!(quick.spans().len(), 2);
    let ended: Vec<_> = drained.iter().map(|(_, drained)| drained.ended).collect();
    assert_eq!(ended, [Ended::HeldUp, Ended::Empty]);
    assert_eq!(slow.requests().len(), 1);
}

/// `Ended::Busy` promises that whoever sends takes along what came meanwhile.
#[test]
fn r8_two_senders_never_send_at_the_same_moment_and_leave_nothing_behind() {
    let rig = rig();
    let backend = Receiver::start();
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let (rig, url) = (&rig, backend.url());
            scope.spawn(move || {
                for turn in 0..25 {
                    rig.put(&trace(sender * 100 + turn, &[0]), turn as i64);
                    let drained = rig.drain(&target(&url), When::New, turn as i64);
                    assert!(matches!(drained.ended, Ended::Empty | Ended::Busy), "{drained:?}");
                }
            });
        }
    });
    assert_eq!(rig.files(), [""; 0], "nothing waits for somebody who has gone");
    let spans = backend.spans();
    assert_eq!(spans.len(), 4 * 25 * 2);
    assert_eq!(conformance::findings(&spans, Names::Both), [""; 0]);
    assert_eq!(backend.most_at_once(), 1);
    let standing = rig.queue.standing(&id());
    assert_eq!((standing.sent_spans, standing.waiting_spans), (200, 0));
}

#[test]
fn r8_it_is_for_its_owner_alone() {
    let rig = rig();
    rig.put(&trace(1, &[0]), 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&rig.place()), 0o700);
        assert_eq!(mode(&rig.place().join(&rig.files()[0])), 0o600);
    }
    rig.queue.forget(&id()).unwrap();
    assert_eq!(rig.queue.standing(&id()), agenthub_otlp::queue::Standing::default());
    rig.queue.purge().unwrap();
    rig.queue.purge().unwrap();
    assert!(!rig.folder.path().join("queue").exists());
}

#[test]
fn q1_a_queue_of_garbage_harms_nothing_and_is_counted() {
    let rig = rig();
    let whole = trace(1, &[1]);
    rig.put(&whole, 0);
    let good = rig.files().remove(0);
    let place = rig.place();
    let bytes = std::fs::read(place.join(&good)).unwrap();
    let damaged = |n: usize, bytes: &[u8]| {
        let name = format!("{}-00000000000000{n:02x}-0-of-1-3-spans.pb.gz", at(n as i64).micros());
        std::fs::write(place.join(&name), bytes).unwrap();
    };
    damaged(1, b"");
    damaged(2, b"hello");
    damaged(3, &bytes[..bytes.len() / 2]);
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x40;
    damaged(4, &flipped);
    damaged(5, &zip(b"\xff\xff\xff\xff\xff"));
    damaged(6, &zip(b""));
    damaged(7, &zip(&vec![0; 70 << 20]));
    damaged(8, &vec![7; 2 << 20]);
    for name in ["x.pb.gz", "-1-0-0-of-1-1-spans.pb.gz", "é-of-.pb.gz"] {
        std::fs::write(place.join(name), &bytes).unwrap();
    }
    std::fs::write(place.join("state.json"), "{{{").unwrap();
    std::fs::write(place.join("note.txt"), "mine").unwrap();
    std::fs::create_dir(place.join("1790000000000009-0000000000000009-0-of-1-3-spans.pb.gz")).unwrap();
    std::fs::create_dir(rig.folder.path().join("queue/to-..")).unwrap_or(());
    std::fs::create_dir(rig.folder.path().join("queue/to-NOT ours")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        "/dev/zero",
        place.join("1790000000000008-0000000000000008-0-of-1-3-spans.pb.gz"),
    )
    .unwrap();

    let told = Told::default();
    let drained = rig.drain(&told, When::New, 1);
    assert_eq!((drained.ended, drained.sent_spans, drained.damaged), (Ended::Empty, 3, 11), "{drained:?}");
    assert_eq!(rig.queue.standing(&id()).damaged, 11);
    assert!(place.join("note.txt").is_file());
    // What is set aside is bounded, too.
    assert_eq!(std::fs::read_dir(place.join("damaged")).unwrap().count(), 10, "not the large one");
    for n in 0..60 {
        std::fs::write(place.join(format!("{n}.pb.gz")), "x").unwrap();
    }
    rig.drain(&told, When::New, 2);
    assert_eq!(std::fs::read_dir(place.join("damaged")).unwrap().count(), 20);
}

fn zip(plain: &[u8]) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zip, plain).unwrap();
    zip.finish().unwrap()
}

#[test]
fn r8_a_folder_that_cannot_be_written_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let queue = Queue::at(file.join("queue"), Limits::default());
    let batches = encoding(Profiles::Both).batches(&trace(1, &[0]));
    let error = queue.put(&id(), SpanId::from_random(b"x"), &batches, at(0)).unwrap_err().to_string();
    assert!(error.contains("file/queue/to-test"), "{error}");
    assert_eq!(queue.drain(&id(), &Told::default(), When::New, soon(), || at(0)).ended, Ended::Empty);
    assert_eq!(queue.standing(&id()), agenthub_otlp::queue::Standing::default());
}

/// What can happen to a queue, by itself and from outside.
#[derive(Clone, Debug)]
enum Event {
    Put { turn: u64, calls: usize },
    Drain { answers: Vec<u8> },
    Damage { file: usize, keep: usize },
    Remove { file: usize },
    Lose,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6_u64, 0..30_usize).prop_map(|(turn, calls)| Event::Put { turn, calls }),
        3 => proptest::collection::vec(0..7_u8, 0..8).prop_map(|answers| Event::Drain { answers }),
        1 => (any::<usize>(), 0..200_usize).prop_map(|(file, keep)| Event::Damage { file, keep }),
        1 => any::<usize>().prop_map(|file| Event::Remove { file }),
        1 => Just(Event::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a backend answers and whatever happens to the files: what was put and not harmed from outside is taken, or
    /// waits, or was refused; and the end of it all is an empty queue.
    #[test]
    fn r8_nothing_is_lost_but_what_somebody_destroyed(events in proptest::collection::vec(any_event(), 1..24)) {
        let rig = rig();
        let told = Told::default();
        let (mut put, mut harmed) = (BTreeSet::new(), false);
        // A turn only grows.
        let mut sizes = [0; 6];
        for (now, event) in (0..).zip(events) {
            match event {
                Event::Put { turn, calls } => {
                    let size = &mut sizes[turn as usize];
                    *size = calls.max(*size);
                    let trace = trace(turn, &vec![0; *size]);
                    rig.put(&trace, now);
                    put.extend(trace.visits().iter().map(|visit| visit.span.id().to_string()));
                }
                Event::Drain { answers } => {
                    let fates = [Fate::Taken, Fate::Partly, Fate::Later, Fate::Failed, Fate::Misdirected, Fate::TooLarge, Fate::Refused];
                    told.answers.borrow_mut().extend(answers.iter().map(|n| fates[usize::from(*n)]));
                    let drained = rig.drain(&told, When::New, now);
                    prop_assert!(matches!(drained.ended, Ended::Empty | Ended::HeldUp), "{:?}", drained);
                    told.answers.borrow_mut().clear();
                }
                Event::Damage { file, keep } if rig.place().is_dir() && !rig.files().is_empty() => {
                    let files = rig.files();
                    let path = rig.place().join(&files[file % files.len()]);
                    let bytes = std::fs::read(&path).unwrap();
                    std::fs::write(&path, &bytes[..keep.min(bytes.len().saturating_sub(1))]).unwrap();
                    harmed = true;
                }
                Event::Remove { file } if rig.place().is_dir() && !rig.files().is_empty() => {
                    let files = rig.files();
                    std::fs::remove_file(rig.place().join(&files[file % files.len()])).unwrap();
                    harmed = true;
                }
                Event::Lose if rig.place().is_dir() => {
                    std::fs::write(rig.place().join("state.json"), "{").unwrap();
                }
                _ => {}
            }
        }
        rig.queue.retry(&id());
        if rig.place().is_dir() {
            prop_assert_eq!(rig.drain(&told, When::Asked, 100).ended, Ended::Empty);
            prop_assert_eq!(rig.files(), Vec::<String>::new());
        }
        let there: BTreeSet<String> = told.span_ids().into_iter().collect();
        prop_assert!(there.is_subset(&put));
        if !harmed {
            prop_assert_eq!(there, put);
        }
    }
}
