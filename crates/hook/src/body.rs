//! The event's JSON as agy hands it over on standard input.

use std::io::{ErrorKind, Read};

/// An event beyond this goes on without its body (spec H7).
pub(crate) const MOST: usize = 1 << 20;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Empty,
    TooLong,
    /// It broke off, or did not come in time.
    Late,
}

/// Standard input, read to its end.
pub(crate) fn read() -> Result<Vec<u8>, Missing> {
    read_from(&mut std::io::stdin().lock())
}

/// An input that is empty, broken or too long is none. It is read to its end in each case: agy would get an error from
/// writing otherwise.
fn read_from(input: &mut dyn Read) -> Result<Vec<u8>, Missing> {
    let mut kept = Vec::new();
    let mut hindered = None;
    let mut part = [0u8; 16 << 10];
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(n) => {
                let part = part.get(..n).unwrap_or_default();
                if kept.len() + part.len() <= MOST && hindered.is_none() {
                    kept.extend_from_slice(part);
                } else {
                    hindered = Some(Missing::TooLong);
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                hindered = hindered.or(Some(Missing::Late));
                break;
            }
        }
    }
    match hindered {
        Some(why) => Err(why),
        None if kept.iter().all(u8::is_ascii_whitespace) => Err(Missing::Empty),
        None => Ok(kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_at_most_a_mebibyte_is_kept_and_the_rest_is_read() {
        let all = vec![b'x'; MOST + 1];
        assert_eq!(read_from(&mut all.get(..MOST).unwrap()).map(|b| b.len()), Ok(MOST));
        let mut input = all.as_slice();
        assert_eq!(read_from(&mut input), Err(Missing::TooLong));
        assert!(input.is_empty());
        assert_eq!(read_from(&mut &b" \r\n"[..]), Err(Missing::Empty));
        assert_eq!(read_from(&mut &b"{}\n"[..]), Ok(b"{}\n".to_vec()));
    }
}
