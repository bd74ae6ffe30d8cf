//! A protobuf encoder of about sixty lines: the simulator must not share the reader's generated types, so that a wrong
//! field number in the reader's `.proto` cannot cancel out.

/// A protobuf message under construction. Fields are written in the order of the calls.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Msg(Vec<u8>);

impl Msg {
    /// An empty message.
    pub fn new() -> Self {
        Self::default()
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.raw_varint(u64::from(field) << 3 | wire_type);
    }

    /// A varint that is written even when it is zero.
    pub fn varint(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        self.raw_varint(value);
        self
    }

    /// A varint as proto3 writes it: zero is left out.
    pub fn uint(self, field: u32, value: u64) -> Self {
        if value == 0 { self } else { self.varint(field, value) }
    }

    /// A length-delimited field, written even when it is empty.
    pub fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.key(field, 2);
        self.raw_varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A string as proto3 writes it: empty is left out.
    pub fn str(self, field: u32, value: &str) -> Self {
        if value.is_empty() { self } else { self.bytes(field, value.as_bytes()) }
    }

    /// A string that may be absent.
    pub fn opt_str(self, field: u32, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.str(field, value),
            None => self,
        }
    }

    /// A sub-message, written even when it is empty.
    pub fn msg(self, field: u32, value: &Msg) -> Self {
        self.bytes(field, &value.0)
    }

    /// A sub-message that may be absent.
    pub fn opt_msg(self, field: u32, value: Option<Msg>) -> Self {
        match value {
            Some(value) => self.msg(field, &value),
            None => self,
        }
    }

    /// A packed list of varints; an empty list is left out.
    pub fn packed(self, field: u32, values: &[u32]) -> Self {
        if values.is_empty() {
            return self;
        }
        let mut inner = Msg::new();
        for value in values {
            inner.raw_varint(u64::from(*value));
        }
        self.bytes(field, &inner.0)
    }

    /// A `double`.
    pub fn double(mut self, field: u32, value: f64) -> Self {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// One entry of a `map<string, string>`.
    pub fn entry(self, field: u32, key: &str, value: &str) -> Self {
        self.msg(field, &Msg::new().str(1, key).str(2, value))
    }

    /// Appends an already encoded run of fields.
    pub fn raw(mut self, encoded: &[u8]) -> Self {
        self.0.extend_from_slice(encoded);
        self
    }

    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The finished bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Msg;

    #[test]
    fn bytes_are_those_of_the_protobuf_documentation() {
        assert_eq!(Msg::new().uint(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Msg::new().str(2, "testing").into_bytes(), b"\x12\x07testing");
        assert_eq!(Msg::new().packed(4, &[3, 270, 86942]).into_bytes(), [0x22, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
        assert_eq!(Msg::new().varint(2, u64::MAX).as_bytes().len(), 11);
        assert!(Msg::new().uint(1, 0).str(2, "").into_bytes().is_empty());
    }
}
