//! Varints, tags and lengths.

use super::ProtobufError;

/// Wire types.
pub(super) const VARINT: u32 = 0;
pub(super) const FIXED64: u32 = 1;
pub(super) const BYTES: u32 = 2;
const GROUP_START: u32 = 3;
pub(super) const GROUP_END: u32 = 4;
const FIXED32: u32 = 5;

fn error<T>(text: impl Into<String>) -> Result<T, ProtobufError> {
    Err(ProtobufError(text.into()))
}

pub(super) fn unexpected_end<T>() -> Result<T, ProtobufError> {
    error("unexpected EOF")
}

/// Why there are not so many bytes.
#[cold]
fn no_bytes<T>(length: u64) -> Result<T, ProtobufError> {
    match i64::try_from(length) {
        Ok(_) => unexpected_end(),
        Err(_) => error("proto: negative length found during unmarshaling"),
    }
}

/// A position in a message.
#[derive(Clone, Copy)]
pub(super) struct Wire<'b> {
    bytes: &'b [u8],
}

impl<'b> Wire<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Wire { bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        match self.bytes.split_first() {
            // The most by far.
            Some((&byte, rest)) if byte < 0x80 => {
                self.bytes = rest;
                Ok(byte.into())
            }
            _ => self.longer_varint(),
        }
    }

    fn longer_varint(&mut self) -> Result<u64, ProtobufError> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.bytes.split_first() else { return unexpected_end() };
            self.bytes = rest;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        error("proto: integer overflow")
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let Some((head, rest)) = self.bytes.split_first_chunk() else { return unexpected_end() };
        self.bytes = rest;
        Ok(u64::from_le_bytes(*head))
    }

    /// Bytes with their length in front.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'b [u8], ProtobufError> {
        let length = self.varint()?;
        match usize::try_from(length).ok().and_then(|n| self.bytes.split_at_checked(n)) {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(head)
            }
            None => no_bytes(length),
        }
    }

    /// The next field's number and wire type, of a message of type `name`.
    #[inline]
    pub(super) fn tag(&mut self, name: &str) -> Result<(u32, u32), ProtobufError> {
        match self.bytes.split_first() {
            Some((&byte, rest)) if (8..0x80).contains(&byte) && u32::from(byte & 7) != GROUP_END => {
                self.bytes = rest;
                Ok((u32::from(byte >> 3), u32::from(byte & 7)))
            }
            _ => self.longer_tag(name),
        }
    }

    fn longer_tag(&mut self, name: &str) -> Result<(u32, u32), ProtobufError> {
        let wire = self.varint()?;
        let number = (wire >> 3) as i32;
        let ty = (wire & 7) as u32;
        if ty == GROUP_END {
            return error(format!("proto: {name}: wiretype end group for non-group"));
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok((number, ty)),
            _ => error(format!("proto: {name}: illegal tag {number} (wire type {wire})")),
        }
    }

    /// Skips the value of a field whose tag was read.
    pub(super) fn skip(&mut self, ty: u32) -> Result<(), ProtobufError> {
        let mut depth = 0usize;
        let mut ty = ty;
        loop {
            match ty {
                VARINT => {
                    self.varint()?;
                }
                FIXED64 => self.advance(8)?,
                BYTES => {
                    self.bytes()?;
                }
                GROUP_START => depth += 1,
                GROUP_END if depth == 0 => return error("proto: unexpected end of group"),
                GROUP_END => depth -= 1,
                FIXED32 => self.advance(4)?,
                _ => return error(format!("proto: illegal wireType {ty}")),
            }
            if depth == 0 {
                return Ok(());
            }
            ty = (self.varint()? & 7) as u32;
        }
    }

    fn advance(&mut self, by: usize) -> Result<(), ProtobufError> {
        match self.bytes.get(by..) {
            Some(rest) => {
                self.bytes = rest;
                Ok(())
            }
            None => unexpected_end(),
        }
    }
}

#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, n: u64) {
    if n < 0x80 {
        out.push(n as u8);
    } else {
        put_longer_varint(out, n);
    }
}

fn put_longer_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Bytes that a varint takes.
pub(super) fn varint_len(n: u64) -> usize {
    (64 - (n | 1).leading_zeros() as usize).div_ceil(7)
}

#[inline]
pub(super) fn put_tag(out: &mut Vec<u8>, number: u32, ty: u32) {
    put_varint(out, u64::from(number << 3 | ty));
}

pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    if number < 16 && bytes.len() < 0x80 {
        out.extend_from_slice(&[(number << 3 | BYTES) as u8, bytes.len() as u8]);
    } else {
        put_tag(out, number, BYTES);
        put_varint(out, bytes.len() as u64);
    }
    out.extend_from_slice(bytes);
}

pub(super) fn put_int(out: &mut Vec<u8>, number: u32, n: i64) {
    put_tag(out, number, VARINT);
    put_varint(out, n as u64);
}

/// A field that is a message: its tag, its length and what `body` writes.
pub(super) fn put_message(out: &mut Vec<u8>, number: u32, body: impl FnOnce(&mut Vec<u8>)) {
    put_tag(out, number, BYTES);
    // The length is known afterwards; most fit the one byte left for it.
    let at = out.len();
    out.push(0);
    body(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
        return;
    }
    let width = varint_len(length as u64);
    let end = out.len();
    out.resize(end + width - 1, 0);
    out.copy_within(at + 1..end, at + width);
    let mut n = length;
    for slot in &mut out[at..at + width - 1] {
        *slot = n as u8 | 0x80;
        n >>= 7;
    }
    out[at + width - 1] = n as u8;
}
