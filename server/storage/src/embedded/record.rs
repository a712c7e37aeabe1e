//! Records: what a batch's payload is a sequence of.
//!
//! Resources go by name, since their numbers are those of one process. Little endian:
//! ```text
//! u8   kind: 1 put, 2 delete, 3 end of a snapshot
//! u8   length of the resource's name
//! u16  length of the key, u16 length of the namespace in it
//! u64  revision of the write
//! u64  expiry, seconds since the epoch, 0 for never
//! u32  where the spliced version starts, u32 where it ends
//! u32  length of the JSON (a delete without a final state of its own has none)
//! …    name, key, JSON
//! ```
//! The end of a snapshot has the number of its objects as revision.

use crate::object::Object;

const FIXED: usize = 34;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Put = 1,
    Delete = 2,
    End = 3,
}

/// One record, borrowed from a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'p> {
    pub(crate) kind: RecordKind,
    pub(crate) resource: &'p str,
    pub(crate) key: &'p str,
    pub(crate) namespace_len: u16,
    pub(crate) revision: u64,
    pub(crate) expires: u64,
    pub(crate) splice: (u32, u32),
    pub(crate) json: &'p [u8],
}

/// Bytes of a record.
pub(crate) fn size(resource: &str, key: &str, json: usize) -> usize {
    FIXED + resource.len() + key.len() + json
}

impl<'p> Record<'p> {
    /// The record that stores an object.
    pub(crate) fn put(resource: &'p str, object: &'p Object) -> Record<'p> {
        Record {
            kind: RecordKind::Put,
            resource,
            key: &object.key,
            namespace_len: object.namespace_len,
            revision: object.revision,
            expires: object.expires,
            splice: (object.splice.start, object.splice.end),
            json: &object.json,
        }
    }
    /// The record that deletes it, `object` being the last state; `own` if that is not just the stored one.
    pub(crate) fn delete(resource: &'p str, object: &'p Object, own: bool) -> Record<'p> {
        let json: &[u8] = if own { &object.json } else { &[] };
        Record { kind: RecordKind::Delete, json, expires: 0, ..Record::put(resource, object) }
    }
    /// The record that ends a snapshot.
    pub(crate) fn end(objects: u64) -> Record<'static> {
        Record {
            kind: RecordKind::End,
            resource: "",
            key: "",
            namespace_len: 0,
            revision: objects,
            expires: 0,
            splice: (0, 0),
            json: &[],
        }
    }
    /// Appends it to a payload.
    pub(crate) fn encode(&self, payload: &mut Vec<u8>) {
        payload.push(self.kind as u8);
        payload.push(self.resource.len() as u8);
        payload.extend_from_slice(&(self.key.len() as u16).to_le_bytes());
        payload.extend_from_slice(&self.namespace_len.to_le_bytes());
        payload.extend_from_slice(&self.revision.to_le_bytes());
        payload.extend_from_slice(&self.expires.to_le_bytes());
        payload.extend_from_slice(&self.splice.0.to_le_bytes());
        payload.extend_from_slice(&self.splice.1.to_le_bytes());
        payload.extend_from_slice(&(self.json.len() as u32).to_le_bytes());
        payload.extend_from_slice(self.resource.as_bytes());
        payload.extend_from_slice(self.key.as_bytes());
        payload.extend_from_slice(self.json);
    }
    /// Takes the first record off `payload`; `None` if that is none. Checks all that slicing rests on.
    pub(crate) fn decode(payload: &mut &'p [u8]) -> Option<Record<'p>> {
        let mut rest = *payload;
        let kind = match take(&mut rest, 1)?[0] {
            1 => RecordKind::Put,
            2 => RecordKind::Delete,
            3 => RecordKind::End,
            _ => return None,
        };
        let resource_len = take(&mut rest, 1)?[0] as usize;
        let key_len = u16::from_le_bytes(take_array(&mut rest)?) as usize;
        let namespace_len = u16::from_le_bytes(take_array(&mut rest)?);
        let revision = u64::from_le_bytes(take_array(&mut rest)?);
        let expires = u64::from_le_bytes(take_array(&mut rest)?);
        let splice = (u32::from_le_bytes(take_array(&mut rest)?), u32::from_le_bytes(take_array(&mut rest)?));
        let json_len = u32::from_le_bytes(take_array(&mut rest)?) as usize;
        let resource = std::str::from_utf8(take(&mut rest, resource_len)?).ok()?;
        let key = std::str::from_utf8(take(&mut rest, key_len)?).ok()?;
        let json = take(&mut rest, json_len)?;
        let namespace_fits =
            namespace_len == 0 || key.as_bytes().get(namespace_len as usize).is_some_and(|b| *b == b'/');
        let splice_fits = splice.0 <= splice.1 && (json.is_empty() || splice.1 as usize <= json.len());
        if !namespace_fits || !splice_fits {
            return None;
        }
        *payload = rest;
        Some(Record { kind, resource, key, namespace_len, revision, expires, splice, json })
    }
}

fn take<'p>(rest: &mut &'p [u8], len: usize) -> Option<&'p [u8]> {
    let (head, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(head)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}
