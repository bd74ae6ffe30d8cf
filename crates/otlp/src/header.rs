//! Headers of a destination, whose values are secrets: they are sent, and shown or printed nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::{DestinationId, Refusal};

/// What HTTP and OTLP need for themselves.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What stays as it is within an address.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Shorter ones stand in any text.
const SHORTEST_PIECE: usize = 4;

/// More is damage, or meant to do harm.
const LONGEST_VALUE: usize = 16 * 1024;
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The name of a header, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeaderName(String);

impl HeaderName {
    pub fn new(name: &str) -> Result<HeaderName, Refusal> {
        let name = name.trim().to_ascii_lowercase();
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(refused(
                "A header's name has only letters, digits and `-`, such as `authorization` or `x-honeycomb-team`.",
            ));
        }
        if OURS.contains(&name.as_str()) {
            return Err(refused(format!("The header `{name}` is set by AgentHub itself; leave it out.")));
        }
        Ok(HeaderName(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HeaderName {
    type Error = Refusal;

    fn try_from(name: String) -> Result<HeaderName, Refusal> {
        HeaderName::new(&name)
    }
}

impl From<HeaderName> for String {
    fn from(name: HeaderName) -> String {
        name.0
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value that may be sent and never shown: `Debug` and `Display` have its last characters at most. Only
/// [`Secret::reveal`] gives it, for the request and for `secrets.json`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(String);

impl Secret {
    pub fn new(value: &str) -> Result<Secret, Refusal> {
        if value.contains(['\r', '\n']) {
            return Err(refused(
                "A header's value holds a line break, which would begin another header. Paste it again as one line.",
            ));
        }
        let value = value.trim_matches([' ', '\t']);
        if value.is_empty() {
            return Err(refused("A header's value is empty."));
        }
        if value.len() > LONGEST_VALUE {
            return Err(refused(format!("A header's value is longer than {LONGEST_VALUE} characters.")));
        }
        if !value.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b)) {
            return Err(refused(
                "A header's value holds a character that headers cannot have (only plain ASCII is sent). Copy it again \
                 from the backend's page.",
            ));
        }
        Ok(Secret(value.to_owned()))
    }

    /// The value itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What a backend may say back to us: the value; the key in it without `Bearer` before; of `Basic`, the name and the
    /// password that it stands for; and each of them as base64 and as in an address.
    fn pieces(&self) -> Vec<String> {
        let mut pieces = vec![self.0.clone()];
        pieces.extend(self.0.split_once(' ').map(|(_, key)| key.trim().to_owned()));
        let decoded: Vec<String> = pieces.iter().filter_map(|piece| from_base64(piece)).collect();
        for pair in &decoded {
            pieces.extend(
                pair.split_once(':').into_iter().flat_map(|(name, key)| [name, key]).map(str::to_owned),
            );
        }
        pieces.extend(decoded);
        let encoded = |piece: &String| {
            let address = utf8_percent_encode(piece, COMPONENT).to_string();
            let form = address.replace("%20", "+");
            let base64 = [STANDARD_NO_PAD.encode(piece), URL_SAFE_NO_PAD.encode(piece)];
            [lower_hex(&address), lower_hex(&form), address, form].into_iter().chain(base64)
        };
        let all: Vec<String> = pieces.iter().flat_map(encoded).collect();
        pieces.extend(all);
        pieces.retain(|piece| piece.len() >= SHORTEST_PIECE);
        pieces
    }
}

impl TryFrom<String> for Secret {
    type Error = Refusal;

    fn try_from(value: String) -> Result<Secret, Refusal> {
        Secret::new(&value)
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> String {
        secret.0
    }
}

/// `••••3f9a`: enough to tell two keys apart, of a long one only.
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("••••")?;
        match self.0.len() {
            ..16 => Ok(()),
            length => f.write_str(self.0.get(length - 4..).unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({self})")
    }
}

/// A header as a person writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub name: HeaderName,
    pub value: Secret,
}

impl Header {
    /// `name: value`, or `name=value` as in `OTEL_EXPORTER_OTLP_HEADERS`, whichever sign comes first.
    pub fn parse(text: &str) -> Result<Header, Refusal> {
        let Some((name, value)) = text.split_once([':', '=']) else {
            // Not quoted: it may be a key that somebody gave without its name.
            return Err(refused(
                "A header is written as `name: value`, such as `authorization: Bearer KEY`.",
            ));
        };
        Ok(Header { name: HeaderName::new(name)?, value: Secret::new(value)? })
    }
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new("header_refused", message)
}

/// The headers of all destinations: what `secrets.json` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(BTreeMap<DestinationId, BTreeMap<HeaderName, Secret>>);

impl Secrets {
    pub fn of(&self, destination: &DestinationId) -> impl Iterator<Item = (&HeaderName, &Secret)> {
        self.0.get(destination).into_iter().flatten()
    }

    /// Replaces the header of that name.
    pub fn set(&mut self, destination: &DestinationId, header: Header) {
        self.0.entry(destination.clone()).or_default().insert(header.name, header.value);
    }

    pub fn remove(&mut self, destination: &DestinationId, name: &HeaderName) {
        if let Some(headers) = self.0.get_mut(destination) {
            headers.remove(name);
        }
        self.0.retain(|_, headers| !headers.is_empty());
    }

    pub fn forget(&mut self, destination: &DestinationId) {
        self.0.remove(destination);
    }

    pub fn destinations(&self) -> BTreeSet<&DestinationId> {
        self.0.keys().collect()
    }

    /// Reads `secrets.json`; one that is not there holds nothing. The error says where it is damaged and quotes nothing.
    pub fn read(path: &Path) -> io::Result<Secrets> {
        let length = match std::fs::metadata(path) {
            Ok(found) => found.len(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Secrets::default()),
            Err(e) => return Err(e),
        };
        if length > LARGEST_FILE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has {length} bytes")));
        }
        let text = std::fs::read(path)?;
        serde_json::from_slice(&text).map_err(|e| {
            // serde_json's own words can repeat a value.
            let place = format!("not as AgentHub writes it, at line {}, column {}", e.line(), e.column());
            io::Error::new(io::ErrorKind::InvalidData, place)
        })
    }

    /// Writes `secrets.json` whole, for its owner alone.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        // Files of `tempfile` are made with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".secrets-").tempfile_in(folder)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// Takes a destination's secrets out of words that came from elsewhere.
pub(crate) fn without_secrets(words: &str, secrets: &[Secret]) -> String {
    let mut pieces: Vec<String> = secrets.iter().flat_map(Secret::pieces).collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    pieces.iter().fold(words.to_owned(), |words, piece| words.replace(piece, "••••"))
}

/// `%2F` as `%2f`.
fn lower_hex(address: &str) -> String {
    let mut left = 0;
    let lower = |c: char| {
        if c == '%' {
            left = 2;
            return c;
        }
        let is_hex = left > 0;
        left = u32::saturating_sub(left, 1);
        if is_hex { c.to_ascii_lowercase() } else { c }
    };
    address.chars().map(lower).collect()
}

fn from_base64(text: &str) -> Option<String> {
    let text = text.trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text).unwrap()
    }

    #[test]
    fn r4_headers_are_read_as_people_write_them() {
        for (text, name, value) in [
            ("authorization: Bearer a=b:c", "authorization", "Bearer a=b:c"),
            ("Authorization=Basic cHVibGlj==", "authorization", "Basic cHVibGlj=="),
            ("X-Honeycomb-Team:k3y", "x-honeycomb-team", "k3y"),
            ("space_id: 7", "space_id", "7"),
        ] {
            assert_eq!((header(text).name.as_str(), header(text).value.reveal()), (name, value), "{text}");
        }
    }

    #[test]
    fn r4_a_header_that_cannot_be_sent_is_refused_without_its_value() {
        for (text, says) in [
            ("authorization: hunter2\nx-evil: 1", "line break"),
            ("authorization: hunter2\r\n", "line break"),
            ("hunter2", "name: value"),
            ("bad name: hunter2", "letters"),
            (": hunter2", "letters"),
            ("x:   ", "empty"),
            ("x: hunter2\u{0}", "ASCII"),
            ("x: hunter2é", "ASCII"),
            ("Content-Type: hunter2", "itself"),
            ("host: hunter2", "itself"),
        ] {
            let refusal = Header::parse(text).expect_err(text);
            assert!(refusal.message.contains(says), "{text:?}: {refusal}");
            assert!(!refusal.message.contains("hunter2"), "{refusal}");
        }
        assert!(Header::parse(&format!("x: {}", "a".repeat(LONGEST_VALUE + 1))).is_err());
    }

    #[test]
    fn r4_a_secret_is_never_printed_in_full() {
        let mut secrets = Secrets::default();
        let id = DestinationId::new("a").unwrap();
        secrets.set(&id, header("authorization: Bearer sk-0123456789abcdef"));
        secrets.set(&id, header("x-short: hunter2"));
        let printed = format!("{secrets:?} {:#?}", header("x: hunter2"));
        assert!(!printed.contains("0123456789") && !printed.contains("hunter2"), "{printed}");
        assert!(printed.contains("••••cdef"), "{printed}");
    }

    #[test]
    fn r4_a_backend_that_repeats_a_key_is_not_repeated() {
        let secrets = [header("authorization: Bearer sk-0123").value, header("x: abc").value];
        let words = without_secrets("no such key sk-0123, given as Bearer sk-0123; abc", &secrets);
        assert_eq!(words, "no such key ••••, given as ••••; abc");
    }

    /// `Basic` is nothing but a name and a password in other letters; and an error page holds addresses.
    #[test]
    fn r4_a_key_is_not_repeated_in_other_letters_either() {
        // "pk-user:SEKRET pass/99"
        let basic = "Basic cGstdXNlcjpTRUtSRVQgcGFzcy85OQ==";
        let secrets = [header(&format!("authorization: {basic}")).value, header("x: a+key/of=its~own").value];
        for said in [
            "pk-user:SEKRET pass/99",
            "user pk-user",
            "given: SEKRET pass/99",
            "?p=SEKRET%20pass%2F99",
            "?p=SEKRET%20pass%2f99",
            "?p=SEKRET+pass%2F99",
            "Basic%20cGstdXNlcjpTRUtSRVQgcGFzcy85OQ%3D%3D",
            "cGstdXNlcjpTRUtSRVQgcGFzcy85OQ",
            "a%2Bkey%2Fof%3Dits~own",
            "a%2bkey%2fof%3dits~own",
            "YStrZXkvb2Y9aXRzfm93bg==",
        ] {
            let words = without_secrets(said, &secrets);
            let left =
                ["SEKRET", "pass", "pk-user", "cGst", "key", "YStr"].into_iter().find(|s| words.contains(s));
            assert_eq!(left, None, "{said}: {words}");
            assert!(words.contains("••••"), "{said}: {words}");
        }
    }

    #[test]
    fn p3_secrets_stand_in_a_file_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/secrets.json");
        assert_eq!(Secrets::read(&path).unwrap(), Secrets::default());
        let (a, b) = (DestinationId::new("a").unwrap(), DestinationId::new("b").unwrap());
        let mut secrets = Secrets::default();
        secrets.set(&a, header("x: 1"));
        secrets.set(&a, header("X: 2"));
        secrets.set(&b, header("y: 3"));
        secrets.write(&path).unwrap();
        assert_eq!(Secrets::read(&path).unwrap(), secrets);
        assert_eq!(secrets.of(&a).map(|(n, v)| (n.as_str(), v.reveal())).collect::<Vec<_>>(), [("x", "2")]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            // Also when somebody had loosened it.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            secrets.write(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        secrets.remove(&b, &HeaderName::new("y").unwrap());
        assert_eq!(secrets.destinations().into_iter().collect::<Vec<_>>(), [&a]);

        for damaged in
            ["", "[]", "{\"a\": {\"x\": \"hunter2\\n\"}}", "{\"a\": \"hunter2\"}", "{\"A/..\": {}}"]
        {
            std::fs::write(&path, damaged).unwrap();
            let error = Secrets::read(&path).expect_err(damaged).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
