//! The event's JSON as agy hands it over on standard input.

use std::io::{ErrorKind, Read};

/// An event beyond this goes on without its body (spec H7).
pub(crate) const MOST: usize = 1 << 20;

/// Standard input, read to its end.
pub(crate) fn read() -> Option<Vec<u8>> {
    read_from(&mut std::io::stdin().lock())
}

/// `None` for an input that is empty, broken or too long. It is read to its end in each case: agy would get an error from
/// writing otherwise.
fn read_from(input: &mut dyn Read) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let mut whole = true;
    let mut part = [0u8; 16 << 10];
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(n) => {
                let part = part.get(..n).unwrap_or_default();
                if kept.len() + part.len() <= MOST && whole {
                    kept.extend_from_slice(part);
                } else {
                    whole = false;
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                whole = false;
                break;
            }
        }
    }
    (whole && !kept.iter().all(u8::is_ascii_whitespace)).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h7_at_most_a_mebibyte_is_kept_and_the_rest_is_read() {
        let all = vec![b'x'; MOST + 1];
        assert_eq!(read_from(&mut all.get(..MOST).unwrap()).map(|b| b.len()), Some(MOST));
        let mut input = all.as_slice();
        assert_eq!(read_from(&mut input), None);
        assert!(input.is_empty());
        assert_eq!(read_from(&mut &b" \r\n"[..]), None);
        assert_eq!(read_from(&mut &b"{}\n"[..]), Some(b"{}\n".to_vec()));
    }
}
