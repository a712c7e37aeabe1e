//! What the server and a backend say to each other: writes, preconditions, errors.

use std::{sync::Arc, time::Duration};

use crate::object::{Attributes, EncodedObject, Object, ResourceId};

/// What must hold of the stored object for a write to happen. Checked by the sequencer, atomically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing is stored under the key.
    Absent,
    /// The object is there and its revision is this.
    Revision(u64),
}

impl Precondition {
    /// Whether it holds of what is stored.
    pub fn holds(self, current: Option<&Arc<Object>>) -> bool {
        match (self, current) {
            (Precondition::Absent, None) => true,
            (Precondition::Revision(revision), Some(object)) => object.revision == revision,
            _ => false,
        }
    }
}

/// What a write does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Stores an object.
    Put {
        /// The encoded object.
        object: EncodedObject,
        /// What the store needs to know of it.
        attributes: Attributes,
        /// Time to live from now.
        ttl: Option<Duration>,
    },
    /// Removes the object. `last` is the final state that watchers see (the revision of the deletion is spliced
    /// in); without it they see the stored state.
    Delete {
        /// Final state.
        last: Option<EncodedObject>,
    },
    /// All of these happen, one after the other, or none does; see [`Write::with`].
    Group(Box<[Write]>),
}

/// One write.
#[derive(Clone, Debug)]
pub struct Write {
    /// Resource.
    pub resource: ResourceId,
    /// `namespace/name` or `name`.
    pub key: Arc<str>,
    /// Length of the namespace in `key`.
    pub namespace_len: u16,
    /// Precondition.
    pub precondition: Precondition,
    /// The namespace must exist and not be terminating (creates in a namespace).
    pub needs_namespace: bool,
    /// Action.
    pub action: Action,
}

impl Write {
    /// This write and `others`, which come before it, as one: all are made, in one batch, or none. They are of different
    /// objects, but that one may make anew what one before it deletes. The answer is that of this write; where one of the others does not hold, it is
    /// [`WriteError::Overtaken`].
    pub fn with(self, mut others: Vec<Write>) -> Write {
        if others.is_empty() {
            return self;
        }
        let (resource, key, namespace_len) = (self.resource, self.key.clone(), self.namespace_len);
        let (precondition, needs_namespace) = (self.precondition, self.needs_namespace);
        others.push(self);
        let action = Action::Group(others.into_boxed_slice());
        Write { resource, key, namespace_len, precondition, needs_namespace, action }
    }
}

/// Why a write did not happen. Nothing of it is stored, except after `Failed`, where it may be.
#[derive(Clone, Debug)]
pub enum WriteError {
    /// The precondition does not hold; what is stored instead.
    Precondition(Option<Arc<Object>>),
    /// The precondition of a write that was to be made with it does not hold.
    Overtaken,
    /// The namespace does not exist.
    NamespaceNotFound,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// The queue to the sequencer is full: answer 429.
    Busy,
    /// The object is larger than the store takes.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The disk or the quota is full; what to tell.
    NoSpace(String),
    /// A flush failed: no write is acknowledged any more; what to tell.
    Failed(String),
}

/// A revision that is no longer, or not yet, known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionError {
    /// Older than the history kept.
    Compacted {
        /// Oldest revision that can still be read.
        oldest: u64,
    },
    /// Newer than anything committed.
    Future {
        /// Newest revision.
        current: u64,
    },
}

/// Told, from the sequencer's thread, that events were committed. Must not block.
pub trait CommitListener: Send + Sync {
    /// Everything up to `revision` can be read.
    fn committed(&self, revision: u64);
}
