//! Putting an object's revision into its stored form.

use std::ops::Range;

use bytes::Bytes;

use crate::object::{EncodedObject, Object};

/// Bytes that the version adds to an encoded object at most.
pub(crate) const SPLICE_BYTES_MAX: usize = BEFORE.len() + 20 + AFTER.len();
const BEFORE: &[u8] = b"\"resourceVersion\":\"";
const AFTER: &[u8] = b"\",";

/// The stored form with the version in it, and where it lies.
pub(crate) fn splice(object: &EncodedObject, revision: u64) -> (Bytes, Range<u32>) {
    let at = (object.splice as usize).min(object.json.len());
    join(&object.json[..at], revision, &object.json[at..])
}

/// The stored form of an object with another version in it.
pub(crate) fn respliced(object: &Object, revision: u64) -> (Bytes, Range<u32>) {
    join(&object.json[..object.splice.start as usize], revision, &object.json[object.splice.end as usize..])
}

fn join(head: &[u8], revision: u64, tail: &[u8]) -> (Bytes, Range<u32>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(revision).as_bytes();
    let len = BEFORE.len() + digits.len() + AFTER.len();
    let mut json = Vec::with_capacity(head.len() + len + tail.len());
    for part in [head, BEFORE, digits, AFTER, tail] {
        json.extend_from_slice(part);
    }
    (shared(json), head.len() as u32..(head.len() + len) as u32)
}

/// Bytes whose clones never allocate: a fresh `Bytes` allocates its counter on the first clone, which would be in
/// the first GET.
pub(crate) fn shared(bytes: Vec<u8>) -> Bytes {
    let bytes = Bytes::from(bytes);
    drop(bytes.clone());
    bytes
}
