//! The stored form of an object, and what is published of it.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;

use crate::{
    encoding::Encoding,
    fields::{self, Fields},
};

/// A resource's number within a store: the index in the list of names given at open, or what
/// [`crate::storage::Storage::resource`] gave to a name later. The journal keeps names, not numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u16);

/// An encoded object on its way to the sequencer: JSON without the leading `{`, without TypeMeta and without
/// `resourceVersion`, which is spliced in at `splice` as `"resourceVersion":"N",` once the revision is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedObject {
    /// `"metadata":{…},…}`. With [`VERSION_BYTES_MAX`] of room behind it, and nobody else to hold it, it becomes the
    /// stored form in the memory it has.
    pub json: Bytes,
    /// Offset in `json` where `"resourceVersion":"N",` belongs; what follows it is another member.
    pub splice: u32,
}

/// What the version adds to an encoded object at most.
pub const VERSION_BYTES_MAX: usize = crate::splice::SPLICE_BYTES_MAX;

/// What the store reads from an object it does not understand itself. Filled by the server when it writes, and
/// by its [`Inspect`] when the journal is read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Labels as `key NUL value NUL …`, keys sorted.
    pub labels: Box<str>,
    /// Values of the selectable fields.
    pub fields: Fields,
    /// The first of these values is indexed: [`crate::snapshot::Snapshot::with_value`] finds the object by it.
    pub indexed: bool,
    /// `metadata.deletionTimestamp` is set (for a namespace: nothing may be created in it).
    pub terminating: bool,
    /// By which the server knows, while it runs, in which form the object is written.
    pub stamp: Stamp,
}

/// A number that means something to the server: the form an object is written in. 0 where that is not known, as of what
/// was read back; who finds it out puts it down for all others.
#[derive(Debug, Default)]
pub struct Stamp(AtomicU32);

impl Stamp {
    /// A number.
    pub fn new(number: u32) -> Stamp {
        Stamp(AtomicU32::new(number))
    }
    /// The number.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
    /// Puts down another one. It says nothing about other memory: the object itself never changes.
    pub fn set(&self, number: u32) {
        self.0.store(number, Ordering::Relaxed);
    }
}

impl Clone for Stamp {
    fn clone(&self) -> Stamp {
        Stamp::new(self.get())
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Stamp) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Stamp {}

impl Attributes {
    /// Where the object stands in the index, if it is in it.
    pub(crate) fn place(&self) -> Option<u64> {
        self.indexed.then(|| fields::place(self.fields.get(0)))
    }
}

/// Reads [`Attributes`] from stored JSON; used when the journal is read back.
pub trait Inspect: Send + Sync {
    /// `json` is in the stored form, with the version spliced in. The resource may be one that was not listed at open:
    /// it may be asked for later, so what holds of all objects (labels, whether they go) must be right of it as well.
    fn inspect(&self, resource: ResourceId, json: &[u8]) -> Attributes;
}

/// One committed state of one object. Never changes.
#[derive(Debug)]
pub struct Object {
    /// Which resource.
    pub resource: ResourceId,
    /// `namespace/name`, or `name` for cluster-scoped resources; lists are in the byte order of this key.
    pub key: Arc<str>,
    /// Length of the namespace in `key`, 0 for cluster-scoped resources.
    pub namespace_len: u16,
    /// Revision of the write that made this state: `metadata.resourceVersion`.
    pub revision: u64,
    /// Stored form with the version spliced in: JSON without the leading `{` and without TypeMeta.
    pub json: Bytes,
    /// Where the spliced text lies in `json`.
    pub splice: std::ops::Range<u32>,
    /// Attributes.
    pub attributes: Attributes,
    /// Seconds since the epoch after which the object is deleted, 0 for never (`--event-ttl`).
    pub expires: u64,
    /// Protobuf of the object in its storage version, made on demand by the server and kept while there is room.
    pub protobuf: Encoding,
}

impl Object {
    /// The namespace, empty for cluster-scoped resources.
    pub fn namespace(&self) -> &str {
        &self.key[..self.namespace_len as usize]
    }
    /// The name.
    pub fn name(&self) -> &str {
        if self.namespace_len == 0 { &self.key } else { &self.key[self.namespace_len as usize + 1..] }
    }
    /// The labels as pairs, in key order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.attributes.labels.split('\0');
        std::iter::from_fn(move || {
            let key = parts.next().filter(|k| !k.is_empty())?;
            Some((key, parts.next().unwrap_or("")))
        })
    }
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was deleted; [`Event::object`] is the last state with the revision of the deletion spliced in.
    Deleted,
}

/// One committed change, in revision order within the store.
#[derive(Debug)]
pub struct Event {
    /// Revision of the change.
    pub revision: u64,
    /// Kind.
    pub kind: EventKind,
    /// State after the change (see [`EventKind::Deleted`]).
    pub object: Arc<Object>,
    /// State before the change, none for `Added`.
    pub previous: Option<Arc<Object>>,
}
