//! The trait that every backend implements.

use std::sync::Arc;

use crate::{
    api::{CommitListener, RevisionError, Write},
    event_log::Cursor,
    future::WriteFuture,
    names::ResourceError,
    object::{Object, ResourceId},
    snapshot::Snapshot,
};

/// A store of objects with revisions. Reads neither lock nor wait; see `published.rs` for what they may rely on.
pub trait Storage: Send + Sync {
    /// The number of a resource by its name, for as long as the store is open: resources come while a server runs. What
    /// was stored under the name before is there. Takes a lock; ask once and keep the number.
    fn resource(&self, name: &str) -> Result<ResourceId, ResourceError>;
    /// Newest published revision of the whole store, 0 when nothing was ever written.
    fn revision(&self) -> u64;
    /// The newest state of one object. Does not allocate.
    fn get(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>>;
    /// The newest state of a resource.
    fn snapshot(&self, resource: ResourceId) -> Snapshot;
    /// The state of a resource right after `revision`: exact lists and continue tokens. `Future` where the
    /// revision is not published yet (wait for [`Storage::revision`] to reach it), `Compacted` where the history
    /// does not reach back so far.
    fn snapshot_at(&self, resource: ResourceId, revision: u64) -> Result<Snapshot, RevisionError>;
    /// Says that [`Storage::snapshot_at`] will be asked for this state again (a continue token was handed out),
    /// so that it costs nothing then. It is answered without, too.
    fn pin(&self, snapshot: &Snapshot);
    /// Hands a write to the sequencer. The future resolves on any thread.
    fn submit(&self, write: Write) -> WriteFuture;
    /// Adds someone to tell of commits; it stays for as long as the store.
    fn add_listener(&self, listener: Arc<dyn CommitListener>);
    /// A cursor over the events of all resources newer than `after`.
    fn events_after(&self, after: u64) -> Result<Cursor, RevisionError>;
    /// Oldest revision that `snapshot_at` and `events_after` still answer.
    fn oldest_revision(&self) -> u64;
    /// Number of objects of a resource.
    fn count(&self, resource: ResourceId) -> usize;
    /// Bytes of all live objects.
    fn size_bytes(&self) -> u64;
    /// Bytes that only the history holds.
    fn history_bytes(&self) -> usize;
    /// Whether writes can still be acknowledged; if not, why.
    fn health(&self) -> Result<(), String>;
}
