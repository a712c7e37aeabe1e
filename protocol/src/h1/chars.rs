//! Byte classes of RFC 9110 that both protocols check, as tables.

/// A set of bytes.
pub(crate) struct Class([bool; 256]);

impl Class {
    /// All bytes of `bytes` are in the set.
    pub(crate) fn all(&self, bytes: &[u8]) -> bool {
        bytes.iter().all(|b| self.0[*b as usize])
    }

    /// The byte is in the set.
    pub(crate) fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }

    const fn alphanumeric_and(others: &[u8]) -> Self {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128u8 {
            table[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        let mut i = 0;
        while i < others.len() {
            table[others[i] as usize] = true;
            i += 1;
        }
        Class(table)
    }

    const fn without_upper_case(mut self) -> Self {
        let mut byte = b'A';
        while byte <= b'Z' {
            self.0[byte as usize] = false;
            byte += 1;
        }
        self
    }

    const fn field_value() -> Self {
        let mut table = [true; 256];
        let mut byte = 0;
        while byte < 0x20 {
            table[byte] = byte == b'\t' as usize;
            byte += 1;
        }
        table[0x7f] = false;
        Class(table)
    }
}

/// `tchar`: methods and field names.
pub(crate) static TOKEN: Class = Class::alphanumeric_and(b"!#$%&'*+-.^_`|~");
/// Field names in HTTP/2.
pub(crate) static LOWER_TOKEN: Class = Class::alphanumeric_and(b"!#$%&'*+-.^_`|~").without_upper_case();
/// Field values: everything but control characters; a tab is fine.
pub(crate) static FIELD_VALUE: Class = Class::field_value();
/// What Go lets stand in a Host field: the union of all that may appear in some form of host.
pub(crate) static HOST: Class = Class::alphanumeric_and(b"!$%&'()*+,-.:;=[]_~");

/// Without leading and trailing spaces and tabs.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Whether a comma-separated list has `token`, without regard to case.
pub(crate) fn list_has(value: &[u8], token: &[u8]) -> bool {
    value.split(|b| *b == b',').any(|part| trim(part).eq_ignore_ascii_case(token))
}
