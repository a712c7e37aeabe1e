//! The read side of a store, shared by the backends: what the cores see.
//!
//! Publishing a batch has a fixed order: (1) append its events to the log, (2) swap the roots of the resources it
//! touched, (3) store the revision, (4) tell the listeners. From that order follows what readers rely on:
//!
//! * **A snapshot is exact.** The reader loads the revision `g` first and the root after it, and the snapshot's
//!   revision is `max(g, root.revision)`. Every change of the resource up to `g` was swapped in before `g` was
//!   stored, so the root has it. A root holds a prefix of the resource's changes that ends at `root.revision`. If
//!   `root.revision <= g`, the root is the state at `g`; else it is the state at `root.revision`, which is what the
//!   snapshot then says.
//! * **A snapshot is never stale.** An acknowledgement comes after (3), so a read that starts after it loads a `g`
//!   that covers the write.
//! * **A watch from a snapshot misses nothing and doubles nothing.** Its revision is at most the log's end, since
//!   (1) comes before (2) and (3): it is never "too new". Events are handed out by revision, those up to the
//!   start are stepped over, and the log is in revision order.
//! * **A watch is never ahead of reads.** Hubs hand out events only up to the stored revision, by when the roots
//!   are swapped.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwap;

use crate::{
    api::{CommitListener, RevisionError},
    event_log::{Cursor, EventLog},
    limits,
    names::{Names, ResourceError},
    object::{EventKind, Object, ResourceId},
    roots::Roots,
    snapshot::{Root, Snapshot},
};

/// A root that is kept because someone will come back for it: the state of its resource at every revision of
/// `from..=to`.
struct Pin {
    resource: ResourceId,
    to: u64,
    root: Arc<Root>,
}

/// What is published.
pub(crate) struct Published {
    revision: AtomicU64,
    bytes: AtomicU64,
    names: Names,
    roots: Roots,
    pub(crate) log: Arc<EventLog>,
    /// Only exact lists look here.
    pins: Mutex<Vec<Pin>>,
    listeners: ArcSwap<Vec<Arc<dyn CommitListener>>>,
}

impl Published {
    /// Publishes the first state.
    pub(crate) fn new(
        names: Vec<Arc<str>>,
        roots: Vec<Root>,
        revision: u64,
        bytes: u64,
        log: Arc<EventLog>,
    ) -> Published {
        Published {
            revision: AtomicU64::new(revision),
            bytes: AtomicU64::new(bytes),
            names: Names::new(names),
            roots: Roots::new(roots),
            log,
            pins: Mutex::default(),
            listeners: ArcSwap::from_pointee(Vec::new()),
        }
    }
    /// Names of all resources, by number: those listed at open, those that only the journal knew, and those that were
    /// asked for since.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
    /// The number of a resource by its name, given to it now where it has none.
    pub(crate) fn resource(&self, name: &str) -> Result<ResourceId, ResourceError> {
        self.names.number(name, |number| self.roots.make_room(number))
    }
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
    pub(crate) fn get(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>> {
        self.roots.get(resource)?.load().objects.get(key).cloned()
    }
    pub(crate) fn count(&self, resource: ResourceId) -> usize {
        self.roots.get(resource).map_or(0, |root| root.load().objects.len())
    }
    pub(crate) fn root(&self, resource: ResourceId) -> Arc<Root> {
        self.roots.get(resource).map(ArcSwap::load_full).unwrap_or_default()
    }
    pub(crate) fn snapshot(&self, resource: ResourceId) -> Snapshot {
        // The order of these two lines is what the first two claims of the module rest on.
        let published = self.revision();
        let root = self.root(resource);
        Snapshot { revision: published.max(root.revision), root }
    }

    /// The state of `resource` right after `revision`, pinned: whoever asked for one page asks for the next.
    pub(crate) fn snapshot_at(&self, resource: ResourceId, revision: u64) -> Result<Snapshot, RevisionError> {
        let snapshot = self.state_at(resource, revision)?;
        self.pin(&snapshot);
        Ok(snapshot)
    }
    /// The state of `resource` right after `revision`.
    pub(crate) fn state_at(&self, resource: ResourceId, revision: u64) -> Result<Snapshot, RevisionError> {
        let current = self.revision();
        if revision > current {
            return Err(RevisionError::Future { current });
        }
        let oldest = self.log.oldest();
        if revision < oldest {
            return Err(RevisionError::Compacted { oldest });
        }
        let mut root = self.root(resource);
        if root.revision > revision {
            let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
            pins.retain(|pin| pin.to >= oldest);
            // Among the kept states that are not older, the one with the least to undo.
            for pin in pins.iter().filter(|pin| pin.resource == resource && pin.to >= revision) {
                if pin.root.revision < root.revision {
                    root = pin.root.clone();
                }
            }
        }
        if root.revision > revision {
            root = Arc::new(self.undo(resource, &root, revision)?);
        }
        Ok(Snapshot { revision, root })
    }

    /// `root` without the changes after `revision`.
    fn undo(&self, resource: ResourceId, root: &Root, revision: u64) -> Result<Root, RevisionError> {
        let mut cursor = self.log.after(revision)?;
        let mut changes = Vec::new();
        while let Some(event) = cursor.next(root.revision) {
            if event.object.resource == resource {
                changes.push(event);
            }
        }
        let mut objects = root.objects.clone();
        for event in changes.iter().rev() {
            match &event.previous {
                None => {
                    objects.remove(&event.object.key);
                }
                Some(previous) => {
                    objects.put(previous.clone());
                }
            }
            debug_assert_eq!(event.previous.is_none(), event.kind == EventKind::Added);
        }
        // The last change before is not known by number; that there is none after is what counts.
        Ok(Root { revision, objects })
    }

    /// Keeps a state for those who will ask for its revision again.
    pub(crate) fn pin(&self, snapshot: &Snapshot) {
        let Some(first) = snapshot.root.objects.values().next() else { return };
        let resource = first.resource;
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            pins.iter().position(|pin| pin.resource == resource && Arc::ptr_eq(&pin.root, &snapshot.root));
        let to = match same {
            Some(at) => pins.remove(at).to.max(snapshot.revision),
            None => snapshot.revision,
        };
        // The least recently used one is in front.
        if pins.len() >= limits::PINNED_SNAPSHOTS_MAX {
            pins.remove(0);
        }
        pins.push(Pin { resource, to, root: snapshot.root.clone() });
    }
    pub(crate) fn unpin_compacted(&self) {
        let oldest = self.log.oldest();
        self.pins.lock().unwrap_or_else(PoisonError::into_inner).retain(|pin| pin.to >= oldest);
    }

    pub(crate) fn events_after(&self, revision: u64) -> Result<Cursor, RevisionError> {
        self.log.after(revision)
    }
    pub(crate) fn add_listener(&self, listener: Arc<dyn CommitListener>) {
        self.listeners.rcu(|all| {
            let mut all = Vec::clone(all);
            all.push(listener.clone());
            all
        });
    }

    /// Step 2 of publishing.
    pub(crate) fn swap_root(&self, resource: ResourceId, root: Root) {
        if let Some(slot) = self.roots.get(resource) {
            slot.store(Arc::new(root));
        }
    }
    /// Steps 3 and 4 of publishing.
    pub(crate) fn finish(&self, revision: u64, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.revision.store(revision, Ordering::Release);
    }
    pub(crate) fn notify(&self) {
        let revision = self.revision();
        for listener in self.listeners.load().iter() {
            listener.committed(revision);
        }
    }
}
