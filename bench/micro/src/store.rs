//! The store of the scenarios: the embedded one on a disk in memory.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use ringbolt_machinery::scan;
use ringbolt_storage::{
    api::{Action, CommitListener, Precondition, RevisionError, Write},
    disk::{Disk, FileId},
    embedded::{Embedded, EmbeddedOptions, OpenError},
    event_log::Cursor,
    future::WriteFuture,
    memory_disk::MemoryDisk,
    names::ResourceError,
    object::{Attributes, EncodedObject, Inspect, Object, ResourceId},
    snapshot::Snapshot,
    storage::Storage,
};

/// Segments that no measurement fills: preparing the next one would fall into one run of hundreds.
const SEGMENT_BYTES: u64 = 16 << 20;

/// Opens the store of `resources` on a disk.
pub(crate) fn open(
    resources: Vec<String>,
    namespaces: Option<ResourceId>,
    disk: Box<dyn Disk>,
) -> Result<Arc<Embedded>, OpenError> {
    let mut options = EmbeddedOptions::new(resources, namespaces, Arc::new(MetadataInspect));
    options.segment_bytes = (SEGMENT_BYTES, SEGMENT_BYTES);
    Embedded::open(options, disk)
}

/// Reads attributes as the program does.
struct MetadataInspect;

impl Inspect for MetadataInspect {
    fn inspect(&self, _: ResourceId, stored: &[u8]) -> Attributes {
        Attributes {
            labels: scan::labels(stored).into(),
            terminating: scan::is_terminating(stored),
            ..Attributes::default()
        }
    }
}

/// A store whose writes are answered when `submit` returns: the sequencer's thread works while the caller waits. So a
/// run is over when the connection has taken its bytes, and the work of both threads is the same in every run.
pub(crate) struct Prompt(pub(crate) Arc<Embedded>);

impl Storage for Prompt {
    fn resource(&self, name: &str) -> Result<ResourceId, ResourceError> {
        self.0.resource(name)
    }
    fn submit(&self, write: Write) -> WriteFuture {
        WriteFuture::ready(self.0.submit(write).wait())
    }
    fn revision(&self) -> u64 {
        self.0.revision()
    }
    fn get(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>> {
        self.0.get(resource, key)
    }
    fn snapshot(&self, resource: ResourceId) -> Snapshot {
        self.0.snapshot(resource)
    }
    fn snapshot_at(&self, resource: ResourceId, revision: u64) -> Result<Snapshot, RevisionError> {
        self.0.snapshot_at(resource, revision)
    }
    fn pin(&self, snapshot: &Snapshot) {
        self.0.pin(snapshot);
    }
    fn add_listener(&self, listener: Arc<dyn CommitListener>) {
        self.0.add_listener(listener);
    }
    fn events_after(&self, after: u64) -> Result<Cursor, RevisionError> {
        self.0.events_after(after)
    }
    fn oldest_revision(&self) -> u64 {
        self.0.oldest_revision()
    }
    fn count(&self, resource: ResourceId) -> usize {
        self.0.count(resource)
    }
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }
    fn history_bytes(&self) -> usize {
        self.0.history_bytes()
    }
    fn health(&self) -> Result<(), String> {
        self.0.health()
    }
}

/// A disk in memory that outlives the store on it.
#[derive(Clone, Default)]
pub(crate) struct SharedDisk(Arc<Mutex<MemoryDisk>>);

impl SharedDisk {
    fn with<T>(&self, work: impl FnOnce(&mut MemoryDisk) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Disk for SharedDisk {
    fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        self.with(|disk| disk.list())
    }
    fn open(&mut self, name: &str) -> io::Result<FileId> {
        self.with(|disk| disk.open(name))
    }
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId> {
        self.with(|disk| disk.create(name, size))
    }
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.with(|disk| disk.read_at(file, offset, into))
    }
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()> {
        self.with(|disk| disk.write_at(file, offset, blocks))
    }
    fn flush(&mut self, file: FileId) -> io::Result<()> {
        self.with(|disk| disk.flush(file))
    }
    fn size(&mut self, file: FileId) -> io::Result<u64> {
        self.with(|disk| disk.size(file))
    }
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.with(|disk| disk.rename(from, to))
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.with(|disk| disk.remove(name))
    }
    fn close(&mut self, file: FileId) {
        self.with(|disk| disk.close(file));
    }
    fn free(&mut self) -> Option<u64> {
        self.with(|disk| disk.free())
    }
}

/// The write that gives an object a new state, `like` it but for what stands in `json`.
pub(crate) fn put(like: &Object, key: &str, precondition: Precondition, json: String) -> Write {
    let splice = like.splice.start;
    Write {
        resource: like.resource,
        key: key.into(),
        namespace_len: like.namespace_len,
        precondition,
        needs_namespace: false,
        action: Action::Put {
            object: EncodedObject { json: json.into(), splice },
            attributes: like.attributes.clone(),
            ttl: None,
        },
    }
}

/// The stored text of an object without its version, as a write has it.
pub(crate) fn without_version(object: &Object) -> String {
    let (start, end) = (object.splice.start as usize, object.splice.end as usize);
    let text = [&object.json[..start], &object.json[end..]].concat();
    String::from_utf8(text).expect("stored objects are UTF-8")
}

/// Submits writes that nothing stands against, many at a time, and waits for them.
pub(crate) fn submit_all(store: &Embedded, mut writes: impl Iterator<Item = Write>) {
    loop {
        let waiting: Vec<_> = writes.by_ref().take(WRITES_AT_ONCE).map(|write| store.submit(write)).collect();
        if waiting.is_empty() {
            return;
        }
        for answer in waiting {
            answer.wait().expect("nothing stands against it");
        }
    }
}

/// Fewer than the sequencer's queue takes.
const WRITES_AT_ONCE: usize = 1000;
