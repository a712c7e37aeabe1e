//! Putting an object's revision into its stored form.

use std::ops::Range;

use bytes::Bytes;

use crate::object::{EncodedObject, Object};

/// Bytes that the version adds to an encoded object at most.
pub(crate) const SPLICE_BYTES_MAX: usize = BEFORE.len() + 20 + AFTER.len();
const BEFORE: &[u8] = b"\"resourceVersion\":\"";
const AFTER: &[u8] = b"\",";

/// The stored form with the version in it, and where it lies. It stays in its memory where there is room for it and
/// nobody else has it.
pub(crate) fn splice(object: EncodedObject, revision: u64) -> (Bytes, Range<u32>) {
    let at = (object.splice as usize).min(object.json.len());
    let mut json = match object.json.try_into_mut() {
        Ok(json) if json.capacity() - json.len() >= SPLICE_BYTES_MAX => json,
        Ok(json) => return join(&json[..at], revision, &json[at..]),
        Err(json) => return join(&json[..at], revision, &json[at..]),
    };
    let before = json.len();
    let mut digits = itoa::Buffer::new();
    for part in [BEFORE, digits.format(revision).as_bytes(), AFTER] {
        json.extend_from_slice(part);
    }
    let len = json.len() - before;
    json[at..].rotate_right(len);
    (counted(json.freeze()), at as u32..(at + len) as u32)
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
    counted(Bytes::from(bytes))
}

fn counted(bytes: Bytes) -> Bytes {
    drop(bytes.clone());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_goes_into_its_place_with_room_and_without() {
        let text = br#""metadata":{"name":"a","uid":"b"},"data":{}}"#;
        let at = 12;
        for revision in [1, 4711, u64::MAX] {
            let expect = format!(
                r#""metadata":{{"resourceVersion":"{revision}","name":"a","uid":"b"}},"data":{{}}}}"#
            );
            for (room, is_shared) in
                [(0, false), (SPLICE_BYTES_MAX, false), (SPLICE_BYTES_MAX, true), (1, false)]
            {
                let mut json = Vec::with_capacity(text.len() + room);
                json.extend_from_slice(text);
                let memory = json.as_ptr();
                let object = EncodedObject { json: Bytes::from(json), splice: at };
                let other = is_shared.then(|| object.clone());
                let (json, range) = splice(object, revision);
                assert_eq!(json, expect, "{room} {is_shared}");
                let version = &json[range.start as usize..range.end as usize];
                assert_eq!(version, format!(r#""resourceVersion":"{revision}","#).as_bytes());
                assert_eq!(
                    json.as_ptr() == memory,
                    room >= SPLICE_BYTES_MAX && !is_shared,
                    "{room} {is_shared}"
                );
                assert!(other.is_none_or(|other| other.json == text.as_slice()));
            }
        }
    }
}
