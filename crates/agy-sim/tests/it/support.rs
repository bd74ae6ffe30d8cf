//! What the tests share: a protobuf decoder that knows nothing of agy, and readers of single rows.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// A decoded field: number, wire type, varint or fixed value, bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) wire: u8,
    pub(crate) value: u64,
    pub(crate) bytes: Vec<u8>,
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// All fields of a message, or `None` when it is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Field>> {
    let mut at = 0;
    let mut out = Vec::new();
    while at < bytes.len() {
        let key = varint(bytes, &mut at)?;
        let (number, wire) = (u32::try_from(key >> 3).ok()?, (key & 7) as u8);
        if number == 0 || number > 4000 {
            return None;
        }
        let (mut value, mut inner) = (0, Vec::new());
        match wire {
            0 => value = varint(bytes, &mut at)?,
            1 | 2 | 5 => {
                let len = match wire {
                    1 => 8,
                    5 => 4,
                    _ => usize::try_from(varint(bytes, &mut at)?).ok()?,
                };
                inner = bytes.get(at..at.checked_add(len)?)?.to_vec();
                at += len;
            }
            _ => return None,
        }
        out.push(Field { number, wire, value, bytes: inner });
    }
    Some(out)
}

/// The last field at this path, as bytes.
pub(crate) fn bytes_at(message: &[u8], path: &[u32]) -> Option<Vec<u8>> {
    let (first, rest) = path.split_first()?;
    let field = decode(message)?.into_iter().rev().find(|f| f.number == *first)?;
    if rest.is_empty() { Some(field.bytes) } else { bytes_at(&field.bytes, rest) }
}

/// The same as text.
pub(crate) fn text_at(message: &[u8], path: &[u32]) -> Option<String> {
    String::from_utf8(bytes_at(message, path)?).ok()
}

/// The last varint at this path; 0 when it is absent, as in proto3.
pub(crate) fn number_at(message: &[u8], path: &[u32]) -> u64 {
    let (last, parents) = path.split_last().unwrap();
    let message = if parents.is_empty() { Some(message.to_vec()) } else { bytes_at(message, parents) };
    let fields = message.and_then(|m| decode(&m)).unwrap_or_default();
    fields.iter().rev().find(|f| f.number == *last).map_or(0, |f| f.value)
}

/// Every path of a message with its wire type, following only the messages that `inside` names.
pub(crate) fn paths(message: &[u8], prefix: &str, inside: &[&str], out: &mut BTreeSet<String>) {
    for field in decode(message).unwrap_or_default() {
        let path = format!("{prefix}{}", field.number);
        out.insert(format!("{path}:{}", field.wire));
        if inside.contains(&path.as_str()) {
            paths(&field.bytes, &format!("{path}."), inside, out);
        }
    }
}

/// Opens a closed file without leaving anything beside it.
pub(crate) fn open(path: &Path) -> Connection {
    let uri = format!("file:{}?immutable=1", path.display());
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI).unwrap()
}

/// A column of blobs (or their absence) in the order of `idx`.
pub(crate) fn blobs(conn: &Connection, sql: &str) -> Vec<Vec<u8>> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Option<Vec<u8>>>(0)).unwrap();
    rows.map(|row| row.unwrap().unwrap_or_default()).collect()
}
