//! One request: OTLP over HTTP, protobuf, gzipped. What the answer means is [`answer`](crate::answer)'s matter, and
//! sending again is the queue's.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use ureq::tls::{PemItem, RootCerts, TlsConfig};

use crate::answer::{Answer, Fate, Reply};
use crate::header::without_secrets;
use crate::{Destination, Endpoint, Refusal, Secret, Secrets};

/// What is read of an answer: all of any real one.
const LONGEST_ANSWER: u64 = 64 * 1024;
const LARGEST_CA_FILE: u64 = 4 * 1024 * 1024;
/// Servers close quiet connections (Phoenix's after 5 s), and a request on a closed one is lost.
const QUIET_CONNECTION: Duration = Duration::from_secs(2);
const USER_AGENT: &str = concat!("AgentHub/", env!("CARGO_PKG_VERSION"));

/// One request's body: an `ExportTraceServiceRequest`, gzipped.
#[derive(Clone, PartialEq, Eq)]
pub struct Batch {
    pub gzipped: Vec<u8>,
    pub spans: u64,
}

/// Spans hold what a person wrote: their bytes are not printed.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} spans, {} bytes)", self.spans, self.gzipped.len())
    }
}

/// Something that batches can be sent through.
pub trait Transport {
    /// Blocks for `limit` at most.
    fn send(&self, batch: &Batch, limit: Duration) -> Answer;

    /// A number that is another one when the settings are others: what was refused is then worth another try.
    fn setup(&self) -> u64;
}

/// A destination that is ready to be sent to.
#[derive(Clone)]
pub struct Target {
    endpoint: Endpoint,
    headers: Vec<(http::HeaderName, HeaderValue)>,
    secrets: Vec<Secret>,
    timeout: Duration,
    gzip: bool,
    setup: u64,
    agent: ureq::Agent,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("endpoint", &self.endpoint).field("secrets", &self.secrets).finish()
    }
}

impl Target {
    /// Makes no connection. A certificates' file is read here.
    pub fn new(destination: &Destination, secrets: &Secrets) -> Result<Target, Refusal> {
        let endpoint = destination.check()?;
        let mut headers = Vec::new();
        let mut values = Vec::new();
        for (name, secret) in secrets.of(&destination.id) {
            let refused = |_| Refusal::new("header_refused", format!("The header `{name}` cannot be sent."));
            let mut value = HeaderValue::from_str(secret.reveal()).map_err(|e| refused(e.to_string()))?;
            value.set_sensitive(true);
            let name =
                http::HeaderName::from_bytes(name.as_str().as_bytes()).map_err(|e| refused(e.to_string()))?;
            headers.push((name, value));
            values.push(secret.clone());
        }
        let roots = match &destination.ca_file {
            Some(file) => certificates(file)?,
            None => RootCerts::PlatformVerifier,
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(roots)
            .build();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_age(QUIET_CONNECTION)
            .user_agent(USER_AGENT)
            .tls_config(tls);
        // A proxy cannot reach what listens on this machine alone.
        let config = if endpoint.is_loopback() { config.proxy(None) } else { config };
        let agent = config.build().new_agent();
        // Of this version of Rust: with the next, what was refused is tried once more.
        let mut setup = DefaultHasher::new();
        (endpoint.uri(), destination.gzip, &destination.ca_file).hash(&mut setup);
        for (name, secret) in secrets.of(&destination.id) {
            (name, secret.reveal()).hash(&mut setup);
        }
        Ok(Target {
            endpoint,
            headers,
            secrets: values,
            timeout: destination.timeout(),
            gzip: destination.gzip,
            setup: setup.finish(),
            agent,
        })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn post(&self, batch: &Batch, limit: Duration) -> Result<Answer, Answer> {
        let plain;
        let body = if self.gzip {
            &batch.gzipped
        } else {
            plain = unzipped(&batch.gzipped).map_err(|e| Answer::none(Fate::Refused, e.to_string()))?;
            &plain
        };
        let mut request = self
            .agent
            .post(self.endpoint.uri())
            .config()
            .timeout_global(Some(limit.min(self.timeout)))
            .build()
            .header("content-type", "application/x-protobuf")
            .header("accept", "application/x-protobuf, application/json;q=0.5");
        if self.gzip {
            request = request.header("content-encoding", "gzip");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request.send(&body[..]).map_err(|e| self.failed(&e))?;
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let (content_type, location, retry_after) =
            (header("content-type"), header("location"), header("retry-after"));
        let status = response.status().as_u16();
        let mut said = Vec::new();
        // A body that breaks off does not undo the status; a success must be whole, for it may hold a refusal.
        let read = response.body_mut().as_reader().take(LONGEST_ANSWER).read_to_end(&mut said);
        if let Err(e) = read
            && (200..300).contains(&status)
        {
            return Err(Answer { http_status: Some(status), ..broke_off(&e) });
        }
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Answer::of(
            Reply {
                status,
                content_type: content_type.as_deref().unwrap_or_default(),
                location: location.as_deref(),
                retry_after: retry_after.as_deref(),
                body: &said,
                now_s: i64::try_from(now_s).unwrap_or(i64::MAX),
            },
            batch.spans,
        ))
    }

    /// No answer came. All of it may be mended by waiting, but for certificates and names that do not exist.
    fn failed(&self, error: &ureq::Error) -> Answer {
        let host = self.endpoint.host();
        match error {
            ureq::Error::Rustls(e) => self.untrusted(e),
            ureq::Error::Tls(e) => {
                Answer::none(Fate::Misdirected, format!("{host} cannot be spoken to by TLS: {e}."))
            }
            ureq::Error::Io(e) => match e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(e) => self.untrusted(e),
                None => self.unreachable(e),
            },
            ureq::Error::HostNotFound => Answer::none(
                Fate::Later,
                format!("No host named {host} was found; check the endpoint, or the network is away."),
            ),
            ureq::Error::Timeout(_) => Answer::none(
                Fate::Later,
                format!("{host} did not answer in time ({} s at most).", self.timeout.as_secs()),
            ),
            ureq::Error::ConnectionFailed => {
                Answer::none(Fate::Later, format!("No connection to {}.", self.endpoint))
            }
            ureq::Error::Protocol(e) => Answer::none(
                Fate::Misdirected,
                format!("{host} does not speak HTTP/1.1: {e}. Is it a port for gRPC, or for https?"),
            ),
            ureq::Error::ConnectProxyFailed(e) => {
                Answer::none(Fate::Later, format!("The proxy on the way to {host} refused: {e}"))
            }
            other => Answer::none(Fate::Later, format!("The request to {host} failed: {other}.")),
        }
    }

    fn untrusted(&self, error: &rustls::Error) -> Answer {
        let host = self.endpoint.host();
        let message = match error {
            rustls::Error::InvalidCertificate(why) => format!(
                "The certificate of {host} is not trusted: {why}. If it is your own, name its authority's PEM file in the \
                 settings of the destination."
            ),
            rustls::Error::InvalidMessage(_) => {
                format!("{host} does not speak TLS at this port. Is the endpoint meant to be http?")
            }
            other => format!("{host} cannot be spoken to by TLS: {other}."),
        };
        Answer::none(Fate::Misdirected, message)
    }

    fn unreachable(&self, error: &std::io::Error) -> Answer {
        use std::io::ErrorKind as Kind;
        let place = &self.endpoint;
        let message = match error.kind() {
            Kind::ConnectionRefused => format!("Nothing listens at {place}."),
            Kind::TimedOut | Kind::WouldBlock => {
                format!("{place} did not answer in time ({} s at most).", self.timeout.as_secs())
            }
            Kind::UnexpectedEof | Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => {
                format!("{place} closed the connection before it answered.")
            }
            _ => format!("{place} could not be reached: {error}."),
        };
        Answer::none(Fate::Later, message)
    }
}

impl Transport for Target {
    fn send(&self, batch: &Batch, limit: Duration) -> Answer {
        if limit.is_zero() {
            return Answer::none(Fate::Later, "There was no time left to send.");
        }
        let mut answer = self.post(batch, limit).unwrap_or_else(|failed| failed);
        answer.message = without_secrets(&answer.message, &self.secrets);
        answer
    }

    fn setup(&self) -> u64 {
        self.setup
    }
}

fn broke_off(error: &std::io::Error) -> Answer {
    Answer::none(Fate::Later, format!("The backend's answer broke off: {error}."))
}

fn certificates(file: &Path) -> Result<RootCerts, Refusal> {
    let refused = |why: String| {
        Refusal::new("ca_file_refused", format!("The certificates' file {} {why}.", file.display()))
    };
    let mut pem = Vec::new();
    let opened = std::fs::File::open(file).map_err(|e| refused(format!("cannot be read: {e}")))?;
    opened
        .take(LARGEST_CA_FILE)
        .read_to_end(&mut pem)
        .map_err(|e| refused(format!("cannot be read: {e}")))?;
    let mut found = Vec::new();
    for item in ureq::tls::parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(e) => return Err(refused(format!("is damaged: {e}"))),
        }
    }
    if found.is_empty() {
        return Err(refused("holds no certificate in PEM form (BEGIN CERTIFICATE)".to_owned()));
    }
    Ok(RootCerts::new_with_certs(&found))
}

pub(crate) fn zipped(plain: &[u8]) -> Vec<u8> {
    // The names repeat so much that the fastest level takes nine tenths.
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory cannot fail.
    drop(zip.write_all(plain));
    zip.finish().unwrap_or_default()
}

/// More than any batch of ours: what claims to be larger was not written by us.
const LARGEST_PLAIN: u64 = 64 * 1024 * 1024;

pub(crate) fn unzipped(gzipped: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(gzipped).take(LARGEST_PLAIN + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > LARGEST_PLAIN {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            "it unpacks to more than any batch has",
        ));
    }
    Ok(plain)
}
