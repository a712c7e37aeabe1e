//! `guaranteed_update`: read, change, write, and again when someone else was faster.

use std::{sync::Arc, time::Duration};

use crate::{
    api::{Action, Precondition, Write, WriteError},
    limits,
    object::{Attributes, EncodedObject, Object, ResourceId},
    storage::Storage,
};

/// What to update.
#[derive(Clone, Copy, Debug)]
pub struct Target<'k> {
    /// Resource.
    pub resource: ResourceId,
    /// `namespace/name` or `name`.
    pub key: &'k str,
    /// Length of the namespace in `key`.
    pub namespace_len: u16,
}

/// What the closure makes of the current state.
#[derive(Clone, Debug)]
pub enum Update {
    /// Store this.
    Put {
        /// The encoded object.
        object: EncodedObject,
        /// Its attributes.
        attributes: Attributes,
        /// Time to live from now.
        ttl: Option<Duration>,
    },
    /// Delete it, with this final state.
    Delete {
        /// Final state; none for the stored one.
        last: Option<EncodedObject>,
    },
    /// Leave it as it is: nothing is written and the revision stays.
    Keep,
}

/// How an update ended.
#[derive(Clone, Debug)]
pub enum Updated {
    /// It was written: the new state, or the last one of a delete.
    Written(Arc<Object>),
    /// Nothing was written; the state as it is, none where there is none.
    Kept(Option<Arc<Object>>),
}

/// Why an update did not happen.
#[derive(Clone, Debug)]
pub enum UpdateError<E> {
    /// The closure refused: a precondition of the caller does not hold, the object is invalid, …
    Refused(E),
    /// The store refused.
    Write(WriteError),
    /// Others were faster every time.
    Contended {
        /// How often.
        attempts: usize,
    },
}

/// Calls `change` with the current state (`None` where nothing is stored) until what it answers could be written
/// over exactly that state. `start` is a state the caller has at hand: it may be old, then the first attempt is
/// lost and the next one sees the newest. Reads the state from the store without it.
///
/// `change` must look at its argument alone each time: an answer computed from an earlier state is lost.
pub async fn guaranteed_update<E>(
    storage: &dyn Storage,
    target: Target<'_>,
    start: Option<Arc<Object>>,
    mut change: impl AsyncFnMut(Option<&Arc<Object>>) -> Result<Update, E>,
) -> Result<Updated, UpdateError<E>> {
    let mut current = start.or_else(|| storage.get(target.resource, target.key));
    for _ in 0..limits::UPDATE_ATTEMPTS_MAX {
        let update = match change(current.as_ref()).await {
            Ok(update) => update,
            // A refusal that rests on an old state is no answer: only one of the newest state counts.
            Err(refusal) => {
                let newest = storage.get(target.resource, target.key);
                let revision = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.revision);
                if revision(&newest) == revision(&current) {
                    return Err(UpdateError::Refused(refusal));
                }
                current = newest;
                continue;
            }
        };
        let action = match update {
            Update::Keep => return Ok(Updated::Kept(current)),
            Update::Put { object, attributes, ttl } => Action::Put { object, attributes, ttl },
            Update::Delete { last } => Action::Delete { last },
        };
        let precondition = match &current {
            Some(object) => Precondition::Revision(object.revision),
            None => Precondition::Absent,
        };
        let needs_namespace =
            current.is_none() && target.namespace_len > 0 && matches!(action, Action::Put { .. });
        let write = Write {
            resource: target.resource,
            key: target.key.into(),
            namespace_len: target.namespace_len,
            precondition,
            needs_namespace,
            action,
        };
        match storage.submit(write).await {
            Ok(object) => return Ok(Updated::Written(object)),
            Err(WriteError::Precondition(newest)) => current = newest,
            Err(error) => return Err(UpdateError::Write(error)),
        }
    }
    Err(UpdateError::Contended { attempts: limits::UPDATE_ATTEMPTS_MAX })
}
