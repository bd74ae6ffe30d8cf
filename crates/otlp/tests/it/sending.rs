//! R4, R8: one request, to backends as they are.

use std::time::{Duration, Instant};

use agenthub_otlp::{Answer, Destination, Fate, Header, Preset, Profiles, Secrets, Target, Transport as _};
use otlp_receiver::conformance::{self, Names};
use otlp_receiver::{Absent, Certificate, Receiver, Reply};

use crate::tree::{destination, encoding, trace};

const LIMIT: Duration = Duration::from_secs(60);

fn send_as(destination: &Destination, secrets: &Secrets) -> Answer {
    let batch = encoding(Profiles::Both).batches(&trace(1, &[1])).remove(0);
    Target::new(destination, secrets).expect("good settings").send(&batch, LIMIT)
}

fn send_to(url: &str) -> Answer {
    send_as(&destination(url), &Secrets::default())
}

#[test]
fn r4_spans_arrive_as_gzipped_protobuf_with_the_headers() {
    let backend = Receiver::start();
    let to = destination(&backend.url());
    let mut secrets = Secrets::default();
    secrets.set(&to.id, Header::parse("authorization: Bearer k3y").unwrap());
    secrets.set(&to.id, Header::parse("space_id: 7").unwrap());
    let answer = send_as(&to, &secrets);
    assert_eq!((answer.fate, answer.http_status), (Fate::Taken, Some(200)), "{answer:?}");

    let [request] = &backend.requests()[..] else { panic!("one request") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
    for (name, value) in [
        ("content-type", "application/x-protobuf"),
        ("content-encoding", "gzip"),
        ("authorization", "Bearer k3y"),
        ("space_id", "7"),
        ("user-agent", concat!("AgentHub/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(backend.spans().len(), 3);
    assert_eq!(conformance::findings(&backend.spans(), Names::Both), [""; 0]);
    assert_eq!(backend.complaints(), [""; 0]);
}

#[test]
fn r4_gzip_can_be_switched_off() {
    let backend = Receiver::start();
    let to = Destination { gzip: false, ..destination(&backend.url()) };
    assert_eq!(send_as(&to, &Secrets::default()).fate, Fate::Taken);
    assert_eq!(backend.requests()[0].header("content-encoding"), None);
    assert_eq!(backend.spans().len(), 3);
}

#[test]
fn r4_presets_paths_are_what_backends_listen_at() {
    for preset in Preset::ALL {
        let Some(endpoint) = preset.endpoint() else { continue };
        let backend = Receiver::start();
        // The same path, here.
        let path = endpoint.splitn(4, '/').nth(3).unwrap();
        let to = destination(&format!("{}/{path}", backend.url()));
        assert_eq!(send_as(&to, &Secrets::default()).fate, Fate::Taken);
        assert_eq!(backend.requests()[0].path, format!("/{path}"));
    }
}

#[test]
fn r8_every_answer_has_its_fate_and_shows_the_backends_words() {
    let backend = Receiver::start();
    for (reply, fate, says) in [
        (Reply::status(400, "bad span"), Fate::Refused, "bad span"),
        (Reply::status(401, "who are you"), Fate::Misdirected, "who are you"),
        (Reply::status(403, "not you"), Fate::Misdirected, "headers"),
        (Reply::status(404, ""), Fate::Misdirected, "endpoint"),
        (Reply::status(413, ""), Fate::TooLarge, "too large"),
        (Reply::status(500, "oh no"), Fate::Failed, "oh no"),
        (Reply::status(503, "later"), Fate::Later, "later"),
        (Reply::busy("7"), Fate::Later, "slow down"),
        (Reply::TakePartly { rejected: 2, message: "too old".to_owned() }, Fate::Partly, "too old"),
    ] {
        backend.next([reply.clone()]);
        let answer = send_to(&backend.url());
        assert_eq!(answer.fate, fate, "{reply:?}: {answer:?}");
        assert!(answer.message.contains(says), "{reply:?}: {answer:?}");
        assert_eq!(answer.retry_after, (reply == Reply::busy("7")).then_some(Duration::from_secs(7)));
    }
    assert_eq!(backend.spans().len(), 1, "of the one that was taken in part");
}

#[test]
fn r4_a_redirect_is_not_followed_and_the_headers_go_nowhere_else() {
    let (asked, elsewhere) = (Receiver::start(), Receiver::start());
    let to = destination(&asked.url());
    let mut secrets = Secrets::default();
    secrets.set(&to.id, Header::parse("authorization: Bearer k3y").unwrap());
    for status in [301, 302, 303, 307, 308] {
        asked.next([Reply::Answer { status, headers: Vec::new(), body: Vec::new() }
            .with_header("location", &format!("{}/v1/traces", elsewhere.url()))]);
        let answer = send_as(&to, &secrets);
        assert_eq!((answer.fate, answer.http_status), (Fate::Misdirected, Some(status)));
        assert!(answer.message.contains(&elsewhere.url()), "{}", answer.message);
    }
    assert_eq!(asked.requests().len(), 5);
    assert_eq!(elsewhere.requests(), []);
}

#[test]
fn r4_a_backend_that_repeats_the_key_does_not_bring_it_into_our_words() {
    let backend = Receiver::start();
    let to = destination(&backend.url());
    let mut secrets = Secrets::default();
    secrets.set(&to.id, Header::parse("authorization: Bearer sk-hunter2").unwrap());
    backend.next([Reply::status(401, "no such key: sk-hunter2 (Bearer sk-hunter2)")]);
    let answer = send_as(&to, &secrets);
    assert!(
        answer.message.contains("no such key") && !answer.message.contains("hunter2"),
        "{}",
        answer.message
    );
    let target = Target::new(&to, &secrets).unwrap();
    assert!(!format!("{target:?}").contains("hunter2"));
}

#[test]
fn r8_no_answer_means_later() {
    let backend = Receiver::start();
    for reply in [Reply::Cut, Reply::TakeAndCut] {
        backend.next([reply.clone()]);
        let answer = send_to(&backend.url());
        assert_eq!((answer.fate, answer.http_status), (Fate::Later, None), "{reply:?}: {answer:?}");
    }
    let absent = Absent::nowhere();
    let answer = send_to(&absent.url());
    assert_eq!(answer.fate, Fate::Later);
    assert!(answer.message.contains("Nothing listens"), "{}", answer.message);
    let answer = send_to("http://no-such-host.invalid");
    assert_eq!(answer.fate, Fate::Later, "{answer:?}");
}

#[test]
fn r4_a_backend_that_hangs_is_left_after_the_timeout() {
    let backend = Receiver::start();
    backend.always(Reply::Hang);
    let to = Destination { timeout_s: 1, ..destination(&backend.url()) };
    let began = Instant::now();
    let answer = send_as(&to, &Secrets::default());
    assert_eq!(answer.fate, Fate::Later);
    assert!(answer.message.contains("in time"), "{}", answer.message);
    assert!(began.elapsed() >= Duration::from_millis(900), "not before");
    // The caller's own limit is kept too, and none is no attempt.
    let batch = encoding(Profiles::Both).batches(&trace(1, &[0])).remove(0);
    let target = Target::new(&Destination { timeout_s: 60, ..to }, &Secrets::default()).unwrap();
    let before = backend.requests().len();
    assert_eq!(target.send(&batch, Duration::from_millis(300)).fate, Fate::Later);
    assert_eq!(target.send(&batch, Duration::ZERO).fate, Fate::Later);
    assert!(backend.requests().len() <= before + 1);
}

#[test]
fn r4_tls_is_checked_against_the_roots_that_were_given() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, other) = (Certificate::good(), Certificate::good());
    let backend = Receiver::start_with_tls(&certificate);
    let trusting = |certificate: &Certificate| {
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, certificate.authority_pem()).unwrap();
        Destination { ca_file: Some(file), ..destination(&backend.url()) }
    };
    let answer = send_as(&trusting(&certificate), &Secrets::default());
    assert_eq!(answer.fate, Fate::Taken, "{answer:?}");
    assert_eq!(backend.spans().len(), 3);

    // The system's roots know none of them, nor does another authority.
    for untrusting in [destination(&backend.url()), trusting(&other)] {
        let answer = send_as(&untrusting, &Secrets::default());
        assert_eq!(answer.fate, Fate::Misdirected, "{answer:?}");
        assert!(answer.message.contains("not trusted"), "{}", answer.message);
    }
    for bad in [Certificate::expired(), Certificate::for_another_host()] {
        let backend = Receiver::start_with_tls(&bad);
        let file = folder.path().join("bad.pem");
        std::fs::write(&file, bad.authority_pem()).unwrap();
        let to = Destination { ca_file: Some(file), ..destination(&backend.url()) };
        let answer = send_as(&to, &Secrets::default());
        assert_eq!(answer.fate, Fate::Misdirected, "{answer:?}");
        assert_eq!(backend.spans(), []);
    }
}

/// Not a test: what the next one starts, for roots are read once in a process.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "started by another test"]
fn worker() {
    if let Ok(url) = std::env::var("OTLP_TEST_URL") {
        println!("\n{:?}", send_to(&url).fate);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn r4_the_systems_roots_are_trusted_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::good();
    let backend = Receiver::start_with_tls(&certificate);
    let file = folder.path().join("system.pem");
    for (roots, fate) in [(&certificate, Fate::Taken), (&Certificate::good(), Fate::Misdirected)] {
        std::fs::write(&file, roots.authority_pem()).unwrap();
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sending::worker", "--ignored", "--nocapture"])
            .env("OTLP_TEST_URL", backend.url())
            // Where OpenSSL and its like, and so we, look first.
            .env("SSL_CERT_FILE", &file)
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(said.contains(&format!("\n{fate:?}\n")), "{said}");
    }
    assert_eq!(backend.spans().len(), 3);
}

#[test]
fn r4_https_at_a_port_for_http_says_so() {
    let backend = Receiver::start();
    let answer = send_to(&backend.url().replace("http:", "https:"));
    assert_eq!(answer.fate, Fate::Misdirected, "{answer:?}");
    assert!(answer.message.contains("TLS"), "{}", answer.message);
}

#[test]
fn r4_a_certificates_file_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |content: Option<&str>| {
        let file = folder.path().join("ca.pem");
        match content {
            Some(content) => std::fs::write(&file, content).unwrap(),
            None => drop(std::fs::remove_file(&file)),
        }
        let to = Destination { ca_file: Some(file), ..destination("https://localhost:1") };
        Target::new(&to, &Secrets::default()).unwrap_err()
    };
    for (content, says) in [
        (None, "cannot be read"),
        (Some(""), "no certificate"),
        (Some("hello"), "no certificate"),
        (Some("-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----\n"), "damaged"),
    ] {
        let refusal = refused(content);
        assert_eq!(refusal.code, "ca_file_refused");
        assert!(refusal.message.contains(says), "{content:?}: {refusal}");
    }
}
