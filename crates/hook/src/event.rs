//! One event on its way into the journal.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{args::Args, body::Missing, journal};

/// Why an event was not written down, as the byte that counts it; `agenthub_agy::hook_payload::Dropped` knows the same
/// letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Lost {
    UnknownEvent = b'u',
    Empty = b'e',
    TooLong = b'l',
    Late = b't',
    Full = b'f',
    Unwritable = b'w',
}

#[derive(Debug)]
pub(crate) struct Event {
    args: Args,
    /// When agy called, not when the event was read or written.
    ns: u128,
}

impl Event {
    pub(crate) fn now(args: Args) -> Event {
        let ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        Event { args, ns }
    }

    /// Writes it down and rings, or counts it as dropped.
    pub(crate) fn deliver(&self, body: Result<&[u8], Missing>) {
        match self.written(body) {
            Ok(()) => {
                if let Some(bell) = &self.args.doorbell {
                    journal::ring(bell);
                }
            }
            Err(why) => {
                if let Some(path) = &self.args.dropped {
                    journal::count_one(path, why);
                }
            }
        }
    }

    fn written(&self, body: Result<&[u8], Missing>) -> Result<(), Lost> {
        let event = self.args.event.ok_or(Lost::UnknownEvent)?;
        let path = self.args.journal.as_deref().ok_or(Lost::Unwritable)?;
        let record = match (body, conversation()) {
            (Ok(body), _) => record(self.ns, event, body),
            (Err(_), Some(conversation)) => record(self.ns, event, &body_of(&conversation)),
            (Err(Missing::Empty), None) => return Err(Lost::Empty),
            (Err(Missing::TooLong), None) => return Err(Lost::TooLong),
            (Err(Missing::Late), None) => return Err(Lost::Late),
        };
        journal::append(path, &record)
    }
}

/// `AH1 <length of the body> <ns> <pid> <event>\n<body>\n`.
fn record(ns: u128, event: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("AH1 {} {ns} {} {event}\n", body.len(), std::process::id());
    [head.as_bytes(), body, b"\n"].concat()
}

/// What stands in for a body that is missing or too long: the conversation, and no more.
fn body_of(conversation: &str) -> Vec<u8> {
    format!(r#"{{"conversationId":"{conversation}"}}"#).into_bytes()
}

/// Which conversation this is, by the one variable that agy sets. Without it the event says nothing.
fn conversation() -> Option<String> {
    std::env::var("ANTIGRAVITY_CONVERSATION_ID").ok().filter(|id| is_uuid(id))
}

fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if dashes.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_how_long_its_body_is() {
        let pid = std::process::id();
        let expected = format!("AH1 3 17 {pid} Stop\na\nb\n");
        assert_eq!(record(17, "Stop", b"a\nb"), expected.into_bytes());
    }

    #[test]
    fn h8_only_a_uuid_stands_in_for_a_body() {
        assert!(is_uuid("5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f1"));
        for no in [
            "",
            "5f0b41de93a24f18b5d620e0c5a3b7f1",
            "5f0b41de-93a2-4f18-b5d6-20e0c5a3b7f\"",
            "../../../../../../../../../etc/passwd",
        ] {
            assert!(!is_uuid(no), "{no}");
        }
    }
}
