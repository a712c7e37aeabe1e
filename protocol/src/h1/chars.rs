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
}

/// `tchar`: methods and field names.
pub(crate) static TOKEN: Class = Class::alphanumeric_and(b"!#$%&'*+-.^_`|~");
/// Field names in HTTP/2.
pub(crate) static LOWER_TOKEN: Class = Class::alphanumeric_and(b"!#$%&'*+-.^_`|~").without_upper_case();
/// What Go lets stand in a Host field: the union of all that may appear in some form of host.
pub(crate) static HOST: Class = Class::alphanumeric_and(b"!$%&'()*+,-.:;=[]_~");

/// Whether a field value has no control characters; a tab is fine.
pub(crate) fn is_field_value(value: &[u8]) -> bool {
    // Blocks without a branch inside become vector instructions. The last one overlaps the one before.
    fn block<const N: usize>(bytes: &[u8; N]) -> bool {
        bytes.iter().fold(true, |fine, byte| fine & ((*byte >= b' ') & (*byte != 0x7f) | (*byte == b'\t')))
    }
    match (value.last_chunk::<16>(), value.first_chunk::<8>(), value.last_chunk::<8>()) {
        (Some(last), ..) => value.as_chunks::<16>().0.iter().all(block) && block(last),
        (None, Some(first), Some(last)) => block(first) && block(last),
        _ => value.iter().all(|byte| block(&[*byte])),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_values_of_every_length_with_every_byte_in_every_place() {
        for length in 0..40 {
            for place in 0..length {
                for byte in 0..=255 {
                    let mut value = vec![b'v'; length];
                    value[place] = byte;
                    let expect = byte == b'\t' || byte >= b' ' && byte != 0x7f;
                    assert_eq!(is_field_value(&value), expect, "{length} {place} {byte}");
                }
            }
            assert!(is_field_value(&vec![b'v'; length]));
        }
    }
}
