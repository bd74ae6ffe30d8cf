//! Decodes as Google's own libraries do: a field with another wire type than ours is one that we don't know.
//!
//! prost refuses the whole message instead. A real row (agy 1.0.10) has such a field, and a time was seen to become a
//! plain number from one version to the next (agy-format §3.4); neither may cost a row its tokens. Damage to the frame
//! itself is still an error.

use prost::{Message, bytes::Bytes};

/// What a declared field looks like on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    Varint,
    Bytes,
    /// Numbers, one by one or in one piece.
    Packed,
    Message(&'static Shape),
}

/// A message's declared fields by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(pub(crate) &'static [(u32, Wire)]);

/// A message of `proto/agy.proto`; implemented by `build.rs`.
pub(crate) trait Shaped: Message + Default {
    const SHAPE: Shape;
}

/// The bytes are no message of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// Decodes `bytes`, whatever they are.
///
/// # Errors
/// [`Undecodable`] when even a reader that knows no field could not tell where one ends.
pub(crate) fn decode<T: Shaped>(bytes: &[u8]) -> Result<T, Undecodable> {
    // The strict way is the quick one, and nearly always enough.
    strict(bytes).or_else(|_| {
        let mut known = Vec::with_capacity(bytes.len().min(4096));
        known_fields(bytes, &T::SHAPE, &mut known)?;
        strict(&known).map_err(|_| Undecodable)
    })
}

/// A row above this size is decoded from where it is: copying it whole costs more than its few declared fields.
const SMALL: usize = 8 * 1024;

fn strict<T: Message + Default>(bytes: &[u8]) -> Result<T, prost::DecodeError> {
    if bytes.len() > SMALL {
        return T::decode(bytes);
    }
    T::decode(Bytes::copy_from_slice(bytes))
}

/// Copies the fields that are what they should be. Recursion is bounded by the depth of our own messages.
fn known_fields(bytes: &[u8], shape: &Shape, out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let start = rest;
        let key = varint(&mut rest)?;
        let number = u32::try_from(key >> 3).ok().filter(|n| *n > 0 && *n < 1 << 29).ok_or(Undecodable)?;
        let body = match key & 7 {
            0 => {
                varint(&mut rest)?;
                &[][..]
            }
            1 => take(&mut rest, 8)?,
            2 => {
                let len = usize::try_from(varint(&mut rest)?).map_err(|_| Undecodable)?;
                take(&mut rest, len)?
            }
            5 => take(&mut rest, 4)?,
            _ => return Err(Undecodable),
        };
        let whole = start.get(..start.len() - rest.len()).unwrap_or_default();
        match (shape.0.iter().find(|(n, _)| *n == number).map(|(_, w)| *w), key & 7) {
            (Some(Wire::Varint | Wire::Packed), 0) | (Some(Wire::Bytes), 2) => out.extend_from_slice(whole),
            // A piece of numbers that is none is no reason to lose the rest.
            (Some(Wire::Packed), 2) if is_packed(body) => out.extend_from_slice(whole),
            (Some(Wire::Message(shape)), 2) => {
                let mut inner = Vec::new();
                known_fields(body, shape, &mut inner)?;
                prost::encoding::encode_varint(key, out);
                prost::encoding::encode_varint(u64::try_from(inner.len()).unwrap_or(u64::MAX), out);
                out.extend_from_slice(&inner);
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_packed(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        if varint(&mut bytes).is_err() {
            return false;
        }
    }
    true
}

fn varint(rest: &mut &[u8]) -> Result<u64, Undecodable> {
    prost::encoding::decode_varint(rest).map_err(|_| Undecodable)
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8], Undecodable> {
    let (taken, left) = rest.split_at_checked(n).ok_or(Undecodable)?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{Chat, Generation, Payload, Reference, StepDetail, StepMeta, Trajectory};

    #[test]
    fn s05_a_field_of_another_wire_type_is_an_unknown_one() {
        // chat { model (3) as text, usage (4) { input 7 } , start (9) { created_at (4) as a number } }
        let chat = [0x1a, 1, b'x', 0x22, 2, 0x10, 7, 0x4a, 2, 0x20, 9];
        let mut row = vec![0x0a, u8::try_from(chat.len()).unwrap()];
        row.extend_from_slice(&chat);
        assert!(Generation::decode(row.as_slice()).is_err(), "prost became lenient: this file can go");
        let g: Generation = decode(&row).unwrap();
        let chat = g.chat.unwrap();
        assert_eq!((chat.model, chat.usage.unwrap().input, chat.start.unwrap().created_at), (0, 7, None));
    }

    #[test]
    fn s05_a_broken_frame_is_undecodable() {
        for bad in [&b"\x0a\x05abc"[..], b"\xff\xff\xff", b"garbage text", b"\x0a\x02\x22\x09", b"\x00\x00"] {
            assert!(decode::<Generation>(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn q01_any_bytes_decode_or_not_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode::<Generation>(&bytes);
            let _ = decode::<StepMeta>(&bytes);
            let _ = decode::<StepDetail>(&bytes);
            let _ = decode::<Payload>(&bytes);
            let _ = decode::<Trajectory>(&bytes);
            let _ = decode::<Reference>(&bytes);
        }

        #[test]
        fn s05_both_ways_agree_where_prost_accepts(bytes in proptest::collection::vec(0u8..48, 0..60)) {
            if let Ok(strict) = Chat::decode(bytes.as_slice()) {
                let mut known = Vec::new();
                if known_fields(&bytes, &Chat::SHAPE, &mut known).is_ok() {
                    prop_assert_eq!(Chat::decode(known.as_slice()).unwrap(), strict);
                }
            }
        }
    }
}
