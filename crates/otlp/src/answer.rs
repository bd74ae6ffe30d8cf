//! What a backend said to one request, and what follows from it.
//!
//! OTLP has a short list of answers after which a client may send again. A person's spans are worth more than that: what a
//! backend did not take is kept as long as the cause may lie outside of what was sent.

use std::time::Duration;

use agenthub_core::words::counted;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;

/// More of a backend's words is of no use to anyone, and may be a whole page.
const LONGEST_WORDS: usize = 300;
/// A backend that says "tomorrow" is asked sooner.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(6 * 60 * 60);

/// What becomes of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// All spans are there.
    Taken,
    /// Some spans are there; the backend does not want the others, now or later.
    Partly,
    /// The backend is away, busy or slow: the same again, later.
    Later,
    /// The backend failed at it. It may be the backend, or something in these spans.
    Failed,
    /// The destination, as it is set up, takes nothing: a wrong key, address or certificate. Kept until that is mended.
    Misdirected,
    /// These spans are too many for one request.
    TooLarge,
    /// The backend does not want these spans, and would not want them later.
    Refused,
}

impl Fate {
    /// The backend has what it wants of it.
    pub const fn is_taken(self) -> bool {
        matches!(self, Fate::Taken | Fate::Partly)
    }

    /// For programs.
    pub const fn code(self) -> &'static str {
        match self {
            Fate::Taken => "taken",
            Fate::Partly => "partly_taken",
            Fate::Later => "unavailable",
            Fate::Failed => "failed",
            Fate::Misdirected => "misdirected",
            Fate::TooLarge => "too_large",
            Fate::Refused => "refused",
        }
    }
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub fate: Fate,
    /// `None` when no answer came.
    pub http_status: Option<u16>,
    /// For people: what happened and, where they can do something, what. Bounded, and without secrets.
    pub message: String,
    /// Spans that the backend says it dropped.
    pub rejected_spans: u64,
    /// When the backend asked to be left alone until.
    pub retry_after: Option<Duration>,
}

/// An answer's parts, as they came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) location: Option<&'a str>,
    pub(crate) retry_after: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// Unix seconds, for a `Retry-After` that names a date.
    pub(crate) now_s: i64,
}

impl Answer {
    pub(crate) fn none(fate: Fate, message: impl Into<String>) -> Answer {
        Answer { fate, http_status: None, message: message.into(), rejected_spans: 0, retry_after: None }
    }

    pub(crate) fn of(reply: Reply<'_>, sent_spans: u64) -> Answer {
        let status = reply.status;
        let mut answer = match status {
            200..=299 => success(reply, sent_spans),
            300..=399 => Answer::none(Fate::Misdirected, redirect(reply.location)),
            _ => {
                let (fate, meaning) = failure(status);
                Answer::none(fate, sentence(meaning, &words(reply)))
            }
        };
        answer.http_status = Some(status);
        answer.retry_after = reply.retry_after.and_then(|text| delay(text, reply.now_s));
        answer
    }
}

fn success(reply: Reply<'_>, sent_spans: u64) -> Answer {
    if is_page(reply) {
        // An app's page for every unknown path: the spans went nowhere.
        let message = sentence(
            "The address answered with a web page instead of OTLP; check the endpoint's path.",
            &words(reply),
        );
        return Answer::none(Fate::Misdirected, message);
    }
    let (rejected, said) = partial_success(reply);
    let rejected_spans = u64::try_from(rejected).unwrap_or(0).min(sent_spans);
    let said = bounded(&said);
    let all = counted(sent_spans, "span", "spans");
    let (fate, message) = match (rejected_spans, said.is_empty()) {
        (0, true) => (Fate::Taken, String::new()),
        (0, false) => (Fate::Taken, format!("The backend took all spans and says: {said}")),
        (n, true) => (Fate::Partly, format!("The backend dropped {n} of {all} and does not say why.")),
        (n, false) => (Fate::Partly, format!("The backend dropped {n} of {all}: {said}")),
    };
    Answer { rejected_spans, ..Answer::none(fate, message) }
}

fn failure(status: u16) -> (Fate, &'static str) {
    match status {
        // Those that OTLP names, and the two that HTTP itself means for "the same again".
        429 => (Fate::Later, "The backend asks for fewer requests."),
        502..=504 => (Fate::Later, "The backend is not available at the moment."),
        408 | 425 => (Fate::Later, "The backend did not wait for the request."),
        401 | 403 => (Fate::Misdirected, "The backend does not accept the key; check the headers."),
        402 => (Fate::Misdirected, "The backend wants the account to be paid for, or its quota is used up."),
        404 | 405 | 410 | 421 => {
            (Fate::Misdirected, "There is nothing at this address that takes traces; check the endpoint.")
        }
        406 | 415 | 426 => (
            Fate::Misdirected,
            "The address does not take OTLP as gzipped protobuf; check the endpoint, or switch gzip off.",
        ),
        407 => (Fate::Misdirected, "A proxy on the way wants a password."),
        511 => (Fate::Misdirected, "The network wants a sign-in first."),
        413 => (Fate::TooLarge, "The request is too large for the backend."),
        400..=499 => (Fate::Refused, "The backend refused the spans."),
        _ => (Fate::Failed, "The backend failed at the request."),
    }
}

fn redirect(location: Option<&str>) -> String {
    // Without its query, which may hold a key, and what stands before an `@`.
    let place = location.and_then(|location| location.parse::<http::Uri>().ok()).map(|uri| {
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let host = host.rsplit('@').next().unwrap_or_default();
        let scheme = uri.scheme_str().map_or(String::new(), |scheme| format!("{scheme}://"));
        bounded(&format!("{scheme}{host}{}", uri.path()))
    });
    match place {
        Some(place) => format!(
            "The address sends on to {place}. That is not followed, for the headers are secret: if you trust it, make it \
             the endpoint."
        ),
        None => "The address sends on to another one, which is not followed.".to_owned(),
    }
}

/// `Status: {meaning} ({words})`, as one sentence after the other.
fn sentence(meaning: &str, words: &str) -> String {
    if words.is_empty() { meaning.to_owned() } else { format!("{meaning} It says: {words}") }
}

fn is_page(reply: Reply<'_>) -> bool {
    let begins = reply.body.trim_ascii_start();
    reply.content_type.to_ascii_lowercase().starts_with("text/html")
        || begins.get(..9).is_some_and(|text| text.eq_ignore_ascii_case(b"<!doctype"))
        || begins.get(..5).is_some_and(|text| text.eq_ignore_ascii_case(b"<html"))
}

fn is_protobuf(reply: Reply<'_>) -> bool {
    let kind = reply.content_type.to_ascii_lowercase();
    kind.starts_with("application/x-protobuf") || kind.starts_with("application/protobuf")
}

/// How many spans were dropped, and why. A body that says nothing of the kind says "all taken".
fn partial_success(reply: Reply<'_>) -> (i64, String) {
    if let Ok(json) = serde_json::from_slice::<serde_json::Value>(reply.body) {
        let partial = json.get("partialSuccess").or_else(|| json.get("partial_success"));
        let field = |camel: &str, snake: &str| partial.and_then(|p| p.get(camel).or_else(|| p.get(snake)));
        // 64-bit numbers are strings in protobuf's JSON.
        let rejected = field("rejectedSpans", "rejected_spans")
            .and_then(|n| n.as_i64().or_else(|| n.as_str().and_then(|n| n.parse().ok())))
            .unwrap_or(0);
        let said = field("errorMessage", "error_message").and_then(|m| m.as_str()).unwrap_or_default();
        return (rejected, said.to_owned());
    }
    if !is_protobuf(reply) {
        return (0, String::new());
    }
    match ExportTraceServiceResponse::decode(reply.body) {
        Ok(ExportTraceServiceResponse { partial_success: Some(partial) }) => {
            (partial.rejected_spans, partial.error_message)
        }
        _ => (0, String::new()),
    }
}

/// `google.rpc.Status`, which OTLP has for errors.
#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The backend's own words, from whatever form they have.
fn words(reply: Reply<'_>) -> String {
    if is_protobuf(reply)
        && let Ok(status) = Status::decode(reply.body)
        && !status.message.is_empty()
    {
        return bounded(&status.message);
    }
    if let Ok(json) = serde_json::from_slice::<serde_json::Value>(reply.body) {
        return bounded(&json_words(&json).unwrap_or_default());
    }
    let text = String::from_utf8_lossy(reply.body);
    if is_page(reply) {
        return bounded(title(&text).unwrap_or_default());
    }
    // Protobuf that is no status, or an image: nothing that can be read.
    if text.contains('\u{fffd}') || text.contains('\0') { String::new() } else { bounded(&text) }
}

fn json_words(json: &serde_json::Value) -> Option<String> {
    match json {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Array(all) => all.iter().find_map(json_words),
        serde_json::Value::Object(fields) => {
            ["message", "error", "detail", "details", "errors", "msg", "title"]
                .iter()
                .find_map(|name| fields.get(*name).and_then(json_words))
        }
        _ => None,
    }
}

fn title(page: &str) -> Option<&str> {
    // Lower case of ASCII keeps every place in the text.
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower.get(from..)?.find('>')? + 1;
    let to = from + lower.get(from..)?.find("</title")?;
    page.get(from..to)
}

/// One line, without what a terminal would act upon, and short.
fn bounded(text: &str) -> String {
    let mut out = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > LONGEST_WORDS {
            let cut = out.floor_char_boundary(LONGEST_WORDS);
            out.truncate(cut);
            out.push('…');
            break;
        }
    }
    out
}

/// `Retry-After`: seconds, or a date.
fn delay(text: &str, now_s: i64) -> Option<Duration> {
    let text = text.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => u64::try_from(http_date(text)? - now_s).unwrap_or(0),
    };
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, in Unix seconds. The two obsolete forms are not read: then back-off decides.
fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = text.split_once(", ")?.1.split(' ');
    let day: i64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = i64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()? + 1;
    let year: i64 = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.split(':').map(|n| n.parse::<i64>().ok());
    let (h, m, s) = (clock.next()??, clock.next()??, clock.next()??);
    if parts.next() != Some("GMT")
        || !(1970..=9999).contains(&year)
        || !(1..=31).contains(&day)
        || !(0..24).contains(&h)
        || !(0..60).contains(&m)
        || !(0..=60).contains(&s)
    {
        return None;
    }
    // Days since 1970 in the civil calendar, counted in years that begin in March.
    let (y, m0) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m0 * 153 + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + h * 3_600 + m * 60 + s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;
    use proptest::prelude::*;

    fn reply(status: u16, content_type: &'static str, body: &[u8]) -> Answer {
        Answer::of(Reply { status, content_type, location: None, retry_after: None, body, now_s: 0 }, 10)
    }

    #[test]
    fn r8_the_fate_of_every_status() {
        let fates =
            |fate: Fate| (100..=599).filter(|s| reply(*s, "", b"").fate == fate).collect::<Vec<u16>>();
        assert_eq!(fates(Fate::Taken), (200..300).collect::<Vec<_>>());
        assert_eq!(fates(Fate::Later), [408, 425, 429, 502, 503, 504]);
        assert_eq!(fates(Fate::TooLarge), [413]);
        let misdirected: Vec<u16> =
            (300..400).chain([401, 402, 403, 404, 405, 406, 407, 410, 415, 421, 426, 511]).collect();
        assert_eq!(fates(Fate::Misdirected), misdirected);
        assert!(fates(Fate::Refused).contains(&400) && fates(Fate::Refused).contains(&422));
        assert!(fates(Fate::Failed).contains(&500));
        for status in [400, 401, 404, 413, 429, 500, 503] {
            assert!(!reply(status, "", b"").message.is_empty());
        }
    }

    #[test]
    fn r8_partial_success_is_read_in_protobuf_and_json() {
        let said = |rejected_spans, error_message: &str| {
            let partial =
                ExportTracePartialSuccess { rejected_spans, error_message: error_message.to_owned() };
            ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
        };
        let answer = reply(200, "application/x-protobuf", &said(3, "too old"));
        assert_eq!((answer.fate, answer.rejected_spans), (Fate::Partly, 3));
        assert!(
            answer.message.contains("3 of 10") && answer.message.contains("too old"),
            "{}",
            answer.message
        );

        for body in [
            r#"{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}"#,
            r#"{"partial_success": {"rejected_spans": 3, "error_message": "too old"}}"#,
        ] {
            let answer = reply(200, "application/json", body.as_bytes());
            assert_eq!((answer.fate, answer.rejected_spans), (Fate::Partly, 3), "{body}");
        }
        // A warning is no loss; absurd counts are bounded.
        let warned = reply(200, "application/x-protobuf", &said(0, "soon obsolete"));
        assert_eq!(warned.fate, Fate::Taken);
        assert!(warned.message.contains("soon obsolete"));
        assert_eq!(reply(200, "application/x-protobuf", &said(-4, "")).fate, Fate::Taken);
        assert_eq!(reply(200, "application/x-protobuf", &said(99, "")).rejected_spans, 10);
        for empty in [&b""[..], b"{}", b"OK", b"\xff\xfe"] {
            assert_eq!(reply(200, "application/x-protobuf", empty).fate, Fate::Taken, "{empty:?}");
        }
    }

    #[test]
    fn r8_a_web_page_is_no_success() {
        let page = b"  <!DOCTYPE html><html><head><title>My\n app</title></head></html>";
        for kind in ["text/html; charset=utf-8", ""] {
            let answer = reply(200, kind, page);
            assert_eq!(answer.fate, Fate::Misdirected);
            assert!(answer.message.contains("My app"), "{}", answer.message);
        }
    }

    #[test]
    fn r8_the_backends_words_are_shown_in_whatever_form_and_bounded() {
        let status = Status { code: 3, message: "bad span".to_owned() }.encode_to_vec();
        assert!(reply(400, "application/x-protobuf", &status).message.ends_with("It says: bad span"));
        for body in [
            r#"{"error": {"message": "bad span"}}"#,
            r#"{"message": "bad span"}"#,
            r#"{"detail": [{"msg": "bad span"}]}"#,
            r#""bad span""#,
            "bad \u{1b}\u{7}span\r\n",
        ] {
            let message = reply(400, "", body.as_bytes()).message;
            assert!(message.ends_with("It says: bad span"), "{body}: {message}");
        }
        let long = reply(400, "text/plain", "ä".repeat(100_000).as_bytes()).message;
        assert!(long.chars().count() < 400 && long.ends_with('…'));
        assert!(!reply(400, "", b"\x00\x01\xff").message.contains("It says"));
    }

    #[test]
    fn r4_a_redirect_names_the_place_without_its_secrets() {
        let to = |location| {
            Answer::of(
                Reply { status: 307, content_type: "", location, retry_after: None, body: b"", now_s: 0 },
                1,
            )
        };
        let answer = to(Some("https://u:hunter2@evil.example/v1/traces?key=hunter2"));
        assert!(answer.message.contains("https://evil.example/v1/traces"), "{}", answer.message);
        assert!(!answer.message.contains("hunter2"), "{}", answer.message);
        assert!(to(Some("/elsewhere")).message.contains("/elsewhere"));
        assert!(to(None).message.contains("not followed"));
    }

    #[test]
    fn r8_retry_after_is_seconds_or_a_date_and_bounded() {
        let day = Duration::from_secs(6 * 3600);
        assert_eq!(delay("7", 0), Some(Duration::from_secs(7)));
        assert_eq!(delay(" 7 ", 0), Some(Duration::from_secs(7)));
        assert_eq!(delay("99999999999", 0), Some(day));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(delay("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_770), Some(Duration::from_secs(7)));
        assert_eq!(delay("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_999), Some(Duration::ZERO));
        for bad in ["", "soon", "-1", "1.5", "Sun, 06 Nov 1994", "Sun, 06 Nox 1994 08:49:37 GMT"] {
            assert_eq!(delay(bad, 0), None, "{bad}");
        }
    }

    proptest! {
        /// Q1: whatever a backend answers.
        #[test]
        fn q1_no_answer_is_too_strange(
            status in any::<u16>(), kind in "[a-z/-]{0,24}", body in proptest::collection::vec(any::<u8>(), 0..400),
            location in proptest::option::of(".{0,40}"), retry in proptest::option::of(".{0,40}"),
        ) {
            for content_type in [kind.as_str(), "application/x-protobuf", "application/json", "text/html"] {
                let answer = Answer::of(Reply {
                    status, content_type, location: location.as_deref(), retry_after: retry.as_deref(), body: &body,
                    now_s: 1_800_000_000,
                }, 10);
                prop_assert!(answer.rejected_spans <= 10);
                prop_assert!(answer.message.len() < 1_000);
                prop_assert!(!answer.message.contains(char::is_control));
            }
        }
    }
}
