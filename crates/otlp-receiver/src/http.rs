//! As much of HTTP/1.1 as an exporter uses, by hand: a server that can be told to misbehave in the middle of it.

use std::io::{Read, Write};

const LARGEST_HEAD: usize = 64 * 1024;
const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// A request, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Waits for the first bytes of a request. False when the other side is done.
pub(crate) fn has_begun(stream: &mut impl Read, buffer: &mut Vec<u8>) -> bool {
    !buffer.is_empty() || more(stream, buffer).is_ok()
}

fn more(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Result<(), String> {
    let mut chunk = [0; 16 * 1024];
    match stream.read(&mut chunk) {
        Ok(0) => Err("the connection ended within a request".to_owned()),
        Ok(n) => {
            buffer.extend_from_slice(&chunk[..n]);
            Ok(())
        }
        Err(e) => Err(format!("the connection broke within a request: {e}")),
    }
}

pub(crate) fn read(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Result<Request, String> {
    let (head_length, mut request) = loop {
        if let Some(found) = head(buffer)? {
            break found;
        }
        if buffer.len() > LARGEST_HEAD {
            return Err("the head of a request does not end".to_owned());
        }
        more(stream, buffer)?;
    };
    buffer.drain(..head_length);
    if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        request.body = chunks(stream, buffer)?;
    } else {
        let length = request.header("content-length").unwrap_or("0");
        let length: usize = length.parse().map_err(|_| format!("content-length: {length}"))?;
        request.body = exactly(stream, buffer, length)?;
    }
    Ok(request)
}

fn head(buffer: &[u8]) -> Result<Option<(usize, Request)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(e) => return Err(format!("no HTTP: {e}")),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed.headers.iter().map(|h| (h.name.to_ascii_lowercase(), text(h.value))).collect(),
        body: Vec::new(),
    };
    Ok(Some((length, request)))
}

fn exactly(stream: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> Result<Vec<u8>, String> {
    if length > LARGEST_BODY {
        return Err(format!("a body of {length} bytes"));
    }
    while buffer.len() < length {
        more(stream, buffer)?;
    }
    Ok(buffer.drain(..length).collect())
}

fn chunks(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        let (line, length) = loop {
            match httparse::parse_chunk_size(buffer) {
                Ok(httparse::Status::Complete((line, length))) => break (line, length as usize),
                Ok(httparse::Status::Partial) => more(stream, buffer)?,
                Err(_) => return Err("a chunk without a length".to_owned()),
            }
        };
        buffer.drain(..line);
        // With the line end after it; the last one is empty.
        let chunk = exactly(stream, buffer, length + 2)?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// False when it could not be written.
pub(crate) fn answer(
    stream: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> bool {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        text.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    stream.write_all(&text).and_then(|()| stream.flush()).is_ok()
}
