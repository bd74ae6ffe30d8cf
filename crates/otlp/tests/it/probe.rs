//! R11: one span, and what the backend said.

use std::time::Duration;

use agenthub_core::Time;
use agenthub_otlp::probe::Probe;
use agenthub_otlp::queue::Limits;
use agenthub_otlp::{DestinationId, Encoding, Fate, Profiles, Queue, Secrets, Target};
use otlp_receiver::{Receiver, Reply};

use crate::tree::{destination, encoding, sender};

const NOW: Time = Time::from_millis(1_790_000_000_000);

fn probe(backend: &Receiver) -> Probe {
    let mut to = destination(&backend.url());
    to.project = Some("mine".to_owned());
    let target = Target::new(&to, &Secrets::default()).unwrap();
    Probe::send(&target, &Encoding::for_destination(&to, sender()), NOW, Duration::from_secs(60))
}

#[test]
fn r11_a_test_is_one_span_that_can_be_found() {
    let backend = Receiver::start();
    let (first, second) = (probe(&backend), probe(&backend));
    assert_eq!((first.answer.fate, first.answer.http_status), (Fate::Taken, Some(200)));
    assert_eq!(first.endpoint, format!("{}/v1/traces", backend.url()));
    let spans = backend.spans();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0].trace(), first.trace_id);
    assert_ne!(first.trace_id, second.trace_id, "or a backend would not show the second");
    assert_eq!(spans[0].name(), "AgentHub test");
    assert_eq!(spans[0].parent(), None);
    assert_eq!(spans[0].resource_text("service.name"), Some("antigravity"));
    assert_eq!(spans[0].resource_text("openinference.project.name"), Some("mine"));
    assert!(spans[0].attributes.keys().all(|key| !key.contains("usage") && !key.contains("token")));
    assert!(spans[0].duration_ns() > 0);
}

#[test]
fn r11_what_the_backend_said_is_reported_and_remembered() {
    let backend = Receiver::start();
    backend.next([Reply::status(401, "unknown key")]);
    let probe = probe(&backend);
    assert_eq!((probe.answer.fate, probe.answer.http_status), (Fate::Misdirected, Some(401)));
    assert!(probe.answer.message.contains("unknown key"));
    let folder = tempfile::tempdir().unwrap();
    let queue = Queue::at(folder.path().join("queue"), Limits::default());
    let id = DestinationId::new("test").unwrap();
    queue.note(&id, probe.attempt(NOW));
    let last = queue.standing(&id).last.unwrap();
    assert_eq!((last.at(), last.http_status, last.fate.as_str()), (NOW, Some(401), "misdirected"));
    assert!(last.message.contains("unknown key") && !last.is_taken());
    assert_eq!(queue.standing(&id).last_taken, None);
}

#[test]
fn r5_a_test_has_the_names_of_its_profile() {
    for (profiles, there, absent) in [
        (Profiles::GenAi, "agenthub.test", "openinference.span.kind"),
        (Profiles::OpenInference, "openinference.span.kind", "gen_ai.operation.name"),
    ] {
        let backend = Receiver::start();
        let to = destination(&backend.url());
        let target = Target::new(&to, &Secrets::default()).unwrap();
        Probe::send(&target, &encoding(profiles), NOW, Duration::from_secs(60));
        let span = &backend.spans()[0];
        assert!(span.has(there) && !span.has(absent), "{profiles:?}");
    }
}
