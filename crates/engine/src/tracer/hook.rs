//! What agy waits for: the event is read, put on disk, and that is all (spec R4). No settings are read here, and no database.

use std::{
    io::{ErrorKind, Read},
    path::Path,
    sync::mpsc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::job;

/// How long agy may take to hand over the event.
const READING: Duration = Duration::from_millis(1_500);

/// Takes an event over from standard input into the data folder. `true`: somebody should work on it now.
pub fn receive(data_dir: &Path, event: &str) -> bool {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    if !matches!(event, "PreInvocation" | "Stop") {
        return false;
    }
    let (done, read) = mpsc::channel();
    let reading = std::thread::Builder::new().spawn(move || {
        // Nobody listens once the time is up.
        let _ = done.send(body(&mut std::io::stdin().lock()));
    });
    let body = match reading {
        Ok(_) => read.recv_timeout(READING).unwrap_or_default(),
        // Without a thread nothing would end a reading that hangs.
        Err(_) => None,
    };
    let body = body.or_else(bare).unwrap_or_default();
    if !job::matters(event, &body) {
        return false;
    }
    let folder = data_dir.join("tracing").join("jobs");
    // What can't be written is found by the conversation itself, when something happens in it again.
    let _ = job::put(&folder, event, at, &body);
    true
}

/// `None` for an input that is empty, broken or too long. It is read to its end in each case: agy would get an error from
/// writing otherwise.
fn body(input: &mut dyn Read) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let mut whole = true;
    let mut part = [0u8; 16 << 10];
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(n) if kept.len() + n <= job::MOST_BODY && whole => {
                kept.extend_from_slice(part.get(..n).unwrap_or_default());
            }
            Ok(_) => whole = false,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                whole = false;
                break;
            }
        }
    }
    (whole && !kept.iter().all(u8::is_ascii_whitespace)).then_some(kept)
}

/// agy names the conversation in its environment, too.
fn bare() -> Option<Vec<u8>> {
    let id = std::env::var("ANTIGRAVITY_CONVERSATION_ID").ok()?;
    let id = agenthub_core::SessionId::parse(id.trim())?;
    Some(format!("{{\"conversationId\":\"{id}\"}}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_an_input_that_is_too_long_is_read_to_its_end_and_left_out() {
        let long = vec![b'x'; job::MOST_BODY + 1];
        let mut input = long.as_slice();
        assert_eq!(body(&mut input), None);
        assert!(input.is_empty());
        assert_eq!(body(&mut &b"{}"[..]), Some(b"{}".to_vec()));
        assert_eq!(body(&mut &b" \n"[..]), None);
    }
}
