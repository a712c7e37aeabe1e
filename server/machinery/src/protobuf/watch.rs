//! Watch events as protobuf frames: a length of four bytes, big endian, and a `metav1.WatchEvent`, whose object is in
//! its own envelope.

use super::{
    encode::varint,
    wire::{BYTES, put_bytes, put_tag, varint_len},
};

/// Appends what stands before an enveloped object of `object_len` bytes in its frame; nothing follows the object.
pub fn watch_event_head(event: &str, object_len: usize, out: &mut Vec<u8>) {
    let raw = 1 + varint_len(object_len as u64) + object_len;
    let length = 1 + varint_len(event.len() as u64) + event.len() + 1 + varint_len(raw as u64) + raw;
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    put_bytes(out, 1, event.as_bytes());
    put_tag(out, 2, BYTES);
    varint(out, raw);
    put_tag(out, 1, BYTES);
    varint(out, object_len);
}

/// Appends the frame of an event (`ADDED`, …) with an enveloped object.
pub fn watch_event(event: &str, object: &[u8], out: &mut Vec<u8>) {
    watch_event_head(event, object.len(), out);
    out.extend_from_slice(object);
}
