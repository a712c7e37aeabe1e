//! Fields of messages that are written piece by piece.

use super::wire::{BYTES, put_int, put_tag, put_varint, varint_len};

/// Bytes that a field of `len` bytes takes, for numbers below 16.
pub fn field_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Appends what stands before the `len` bytes of a string or message.
pub fn field_head(number: u32, len: usize, out: &mut Vec<u8>) {
    put_tag(out, number, BYTES);
    put_varint(out, len as u64);
}

/// Appends a bool.
pub fn bool_field(number: u32, is_set: bool, out: &mut Vec<u8>) {
    put_int(out, number, i64::from(is_set));
}
