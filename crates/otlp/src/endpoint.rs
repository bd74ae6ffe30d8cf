//! The address that spans are posted to, checked before anything is sent there.

use std::fmt;
use std::net::IpAddr;

use http::Uri;

use crate::Refusal;

/// What OTLP/HTTP has for traces, below a backend's base address.
const TRACES: &str = "/v1/traces";
/// The port of OTLP over gRPC, which does not answer to HTTP/1.1.
const GRPC_PORT: u16 = 4317;

/// A checked address, with the path for traces.
///
/// An endpoint that ends in `/v1/traces` is taken as it is, like `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; any other is a base,
/// like `OTEL_EXPORTER_OTLP_ENDPOINT`, and `/v1/traces` is appended to its path. `exact` leaves every path alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    uri: Uri,
    host: String,
}

impl Endpoint {
    pub fn parse(text: &str, exact: bool) -> Result<Endpoint, Refusal> {
        let text = text.trim();
        if text.is_empty() {
            return Err(refused(
                "No endpoint is given: write the backend's address, such as http://localhost:4318.",
            ));
        }
        if !text.is_ascii() || text.bytes().any(|b| b.is_ascii_control() || b == b' ') {
            return Err(refused(
                "The endpoint holds a space, a line break or a letter that addresses do not have. Write a host with such \
                 letters in its ASCII form (xn--…).",
            ));
        }
        // Before anything is quoted: what stands before an `@` is a password.
        let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(refused(
                "The endpoint holds a user name or password before `@`. Leave it out, and give it as a header: \
                 `authorization: Basic …`.",
            ));
        }
        let Some((scheme, _)) = text.split_once("://") else { return Err(without_scheme(text, authority)) };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => {}
            "grpc" | "grpcs" => {
                return Err(refused(
                    "The endpoint is one for gRPC; AgentHub sends OTLP over HTTP. Give the backend's HTTP address, mostly \
                     with the port 4318.",
                ));
            }
            other => {
                return Err(refused(format!(
                    "The endpoint's scheme is `{}`; it must be http or https.",
                    shown(other)
                )));
            }
        }
        if text.contains('#') {
            return Err(refused(
                "The endpoint holds a `#`, which is never sent to a server. Leave that part out.",
            ));
        }
        if !authority.starts_with('[') && authority.matches(':').count() > 1 {
            return Err(refused(
                "An IPv6 address in an endpoint stands in brackets, such as http://[::1]:4318.",
            ));
        }
        let port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map(|(_, port)| port);
        if let Some(port) = port
            && port.parse::<u16>().map_or(true, |port| port == 0)
        {
            return Err(refused(format!(
                "The endpoint's port `{}` is no port: it goes from 1 to 65535.",
                shown(port)
            )));
        }
        let with_path = if exact { text.to_owned() } else { appended(text) };
        let uri: Uri = with_path
            .parse()
            .map_err(|why| refused(format!("The endpoint `{}` is no address: {why}.", shown(text))))?;
        let host = bare_host(uri.host().unwrap_or_default()).to_ascii_lowercase();
        if host.is_empty() || (authority.starts_with('[') && host.parse::<IpAddr>().is_err()) {
            return Err(refused(format!("The endpoint `{}` names no host.", shown(text))));
        }
        Ok(Endpoint { uri, host })
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    pub fn is_tls(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// Whether both lead to the same server over the same protocol: what is secret to one may go to the other.
    pub fn is_same_server(&self, other: &Endpoint) -> bool {
        let origin = |e: &Endpoint| {
            let usual = if e.is_tls() { 443 } else { 80 };
            (e.is_tls(), e.host.trim_end_matches('.').to_owned(), e.uri.port_u16().unwrap_or(usual))
        };
        origin(self) == origin(other)
    }

    /// What works, but is likely not meant.
    pub fn doubt(&self, with_headers: bool) -> Option<String> {
        if self.uri.port_u16() == Some(GRPC_PORT) {
            return Some(format!(
                "Port {GRPC_PORT} is OTLP's port for gRPC; over HTTP backends mostly listen at 4318."
            ));
        }
        (with_headers && !self.is_tls() && !self.is_loopback())
            .then(|| format!("The headers go to {} without encryption; use https.", self.host))
    }
}

/// For people and logs. A query can hold a key, so it is not shown.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        write!(f, "{scheme}://{authority}{}", self.uri.path())?;
        if self.uri.query().is_some() { f.write_str("?…") } else { Ok(()) }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// What to say about a text without `://`. Something is suggested only where it would be taken.
fn without_scheme(text: &str, authority: &str) -> Refusal {
    let (meant, what) = match mistyped_scheme(text) {
        Some((scheme, rest)) => (format!("{scheme}://{rest}"), "has no `://` behind its scheme"),
        None => {
            let http = if is_loopback(bare_host(authority)) { "http" } else { "https" };
            (format!("{http}://{text}"), "has no scheme")
        }
    };
    match Endpoint::parse(&meant, false) {
        Ok(_) => refused(format!("The endpoint `{}` {what}. Is it {}?", shown(text), shown(&meant))),
        // It names the next fault, and repeats no password that stands behind the mistyped scheme.
        Err(next) => next,
    }
}

/// `http:/host`, `https//host`, `http:host`: the scheme and what was meant to stand behind `://`.
fn mistyped_scheme(text: &str) -> Option<(&'static str, &str)> {
    ["https", "http"].into_iter().find_map(|scheme| {
        let (head, rest) = text.split_at_checked(scheme.len())?;
        let host = rest.strip_prefix(':').unwrap_or(rest).trim_start_matches('/');
        // A host that is called `http` has a port behind its colon.
        let is_port = rest.starts_with(':') && host.split('/').next()?.bytes().all(|b| b.is_ascii_digit());
        (head.eq_ignore_ascii_case(scheme) && host.len() < rest.len() && !is_port).then_some((scheme, host))
    })
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new("endpoint_refused", message)
}

/// A piece of what was typed, short, and without a query.
fn shown(text: &str) -> String {
    let text = text.split('?').next().unwrap_or_default();
    let mut short: String = text.chars().take(120).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn appended(text: &str) -> String {
    let (address, query) = match text.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (text, None),
    };
    let base = address.trim_end_matches('/');
    let mut whole = if base.ends_with(TRACES) {
        address.to_owned()
    } else if base.ends_with("/v1") {
        // Arize gives its base address so.
        format!("{base}/traces")
    } else {
        format!("{base}{TRACES}")
    };
    if let Some(query) = query {
        whole.push('?');
        whole.push_str(query);
    }
    whole
}

fn bare_host(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as(text: &str) -> String {
        Endpoint::parse(text, false).unwrap().uri().to_string()
    }

    #[test]
    fn r4_a_base_gets_the_path_for_traces_and_a_whole_path_stays() {
        for (given, sent) in [
            ("http://localhost:6006", "http://localhost:6006/v1/traces"),
            ("http://localhost:6006/", "http://localhost:6006/v1/traces"),
            ("http://localhost:6006/v1/traces", "http://localhost:6006/v1/traces"),
            ("https://e.org/v1/traces/", "https://e.org/v1/traces/"),
            (
                "https://cloud.langfuse.com/api/public/otel",
                "https://cloud.langfuse.com/api/public/otel/v1/traces",
            ),
            ("https://otlp.arize.com/v1", "https://otlp.arize.com/v1/traces"),
            ("https://e.org/otlp/?tenant=a", "https://e.org/otlp/v1/traces?tenant=a"),
            ("  https://E.org  ", "https://e.org/v1/traces"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
            ("http://[2001:db8::7]/x", "http://[2001:db8::7]/x/v1/traces"),
            ("https://e.org?key=abc", "https://e.org/v1/traces?key=abc"),
        ] {
            assert_eq!(shown_as(given).to_lowercase(), sent, "{given}");
        }
        let exact = Endpoint::parse("https://e.org/ingest", true).unwrap();
        assert_eq!(exact.uri().to_string(), "https://e.org/ingest");
    }

    #[test]
    fn r4_what_is_no_endpoint_is_refused_with_a_way_out() {
        for (given, says) in [
            ("", "No endpoint"),
            ("localhost:4318", "Is it http://localhost:4318?"),
            ("otlp.example.org/v1/traces", "Is it https://otlp.example.org/v1/traces?"),
            ("[::1]:4318", "Is it http://[::1]:4318?"),
            ("http:/127.0.0.1:4318", "Is it http://127.0.0.1:4318?"),
            ("http:localhost:4318", "Is it http://localhost:4318?"),
            ("https//x.com", "Is it https://x.com?"),
            ("HTTPS:/x.com/v1", "Is it https://x.com/v1?"),
            ("http:4318", "Is it https://http:4318?"),
            ("https-proxy.example", "Is it https://https-proxy.example?"),
            ("http:/::1:4318", "brackets"),
            ("e.org:99999", "1 to 65535"),
            ("http:/", "no"),
            ("grpc://localhost:4317", "gRPC"),
            ("ftp://e.org", "`ftp`"),
            ("http://", "no"),
            ("http:///v1/traces", "no"),
            ("http://e.org:0", "1 to 65535"),
            ("http://e.org:", "1 to 65535"),
            ("http://e.org:70000/x", "1 to 65535"),
            ("http://::1:4318", "brackets"),
            ("http://[nonsense]:4318", "no"),
            ("http://e.org/#x", "`#`"),
            ("http://e.org/a b", "space"),
            ("http://e.org/a\nb", "line break"),
            ("http://bücher.example", "xn--"),
        ] {
            let refusal = Endpoint::parse(given, false).expect_err(given);
            assert!(refusal.message.contains(says), "{given}: {refusal}");
            assert_eq!(refusal.code, "endpoint_refused");
        }
    }

    #[test]
    fn r4_a_password_in_the_address_is_refused_and_not_repeated() {
        for given in [
            "https://ada:hunter2@e.org",
            "ada:hunter2@e.org",
            "http:/ada:hunter2@e.org",
            "https//hunter2@e.org",
            "grpc://hunter2@e.org/x",
        ] {
            let refusal = Endpoint::parse(given, false).expect_err(given);
            assert!(refusal.message.contains("header"), "{refusal}");
            assert!(!refusal.message.contains("hunter2"), "{refusal}");
        }
        let keyed = Endpoint::parse("https://e.org/x?api_key=hunter2", false).unwrap();
        assert_eq!(keyed.to_string(), "https://e.org/x/v1/traces?…");
        assert!(!format!("{keyed:?}").contains("hunter2"));
        let refusal = Endpoint::parse("e.org/x?api_key=hunter2", false).unwrap_err();
        assert!(!refusal.message.contains("hunter2"), "{refusal}");
    }

    #[test]
    fn r4_servers_are_told_apart_by_protocol_host_and_port() {
        let same = |a: &str, b: &str| {
            Endpoint::parse(a, false).unwrap().is_same_server(&Endpoint::parse(b, false).unwrap())
        };
        for (a, b) in [
            ("https://e.org", "https://E.org:443/other/v1/traces?x=1"),
            ("http://e.org.", "http://e.org:80"),
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ] {
            assert!(same(a, b) && same(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("https://e.org", "https://f.org"),
            ("https://e.org", "http://e.org:443"),
            ("http://localhost:4318", "http://localhost:6006"),
            ("https://e.org", "https://sub.e.org"),
        ] {
            assert!(!same(a, b) && !same(b, a), "{a} {b}");
        }
    }

    #[test]
    fn r4_what_is_likely_not_meant_is_said() {
        let doubt = |text: &str, headers| Endpoint::parse(text, false).unwrap().doubt(headers);
        assert!(doubt("http://localhost:4317", false).is_some_and(|d| d.contains("4318")));
        assert!(doubt("http://e.org", true).is_some_and(|d| d.contains("https")));
        assert_eq!(doubt("http://e.org", false), None);
        assert_eq!(doubt("https://e.org", true), None);
        for local in ["http://localhost:1", "http://127.8.9.1:1", "http://[::1]:1", "http://a.localhost:1"] {
            assert_eq!(doubt(local, true), None, "{local}");
        }
    }
}
