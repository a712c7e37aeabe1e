//! Read, change, write again until no other writer comes in between (`GuaranteedUpdate`): what subresources do to an
//! object past its strategy.

use bumpalo::Bump;
use ringbolt_machinery::{json, status::Status, value::Value};
use ringbolt_storage::{
    api::{Precondition, WriteError},
    object::Object,
};

use super::{
    metadata,
    resource::{Key, ResourceStore},
    write,
};
use crate::{core::CoreContext, limits::UPDATE_ATTEMPTS};

/// A change of a stored object in its storage version. Called again after a conflict.
pub(crate) trait Mutate {
    /// Changes `object`, which is what `stored` holds; an error leaves it as it is.
    fn mutate<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, stored: &Object) -> Result<(), Status>;
}

/// Changes one object; answers its revision. What does not change is not written, nor is anything in a dry run.
pub(crate) async fn guaranteed_update(
    store: &ResourceStore,
    core: &CoreContext,
    (namespace, name): (&str, &str),
    dry_run: bool,
    change: &impl Mutate,
) -> Result<u64, Status> {
    let mut stored = Key::new(namespace, name).and_then(|key| core.storage.get(store.stored(), key.as_str()));
    for _ in 0..UPDATE_ATTEMPTS {
        let Some(object) = &stored else { return Err(store.not_found(name)) };
        let write = core.with_arena(|arena| {
            let mut tree = json::decode_stored(arena, store.schema, store.served.stored_type, &object.json)
                .map_err(|e| Status::internal_error(e.to_string()))?;
            change.mutate(arena, &mut tree, object)?;
            let encoded = write::encode(store, &tree);
            if dry_run || metadata::is_unchanged(object, &encoded.json) {
                return Ok(None);
            }
            Ok(Some(write::put(store, &tree, encoded, Precondition::Revision(object.revision))))
        })?;
        let Some(write) = write else { return Ok(object.revision) };
        match core.submit(write).await {
            Ok(object) => return Ok(object.revision),
            Err(WriteError::Precondition(now)) => stored = now,
            Err(error) => return Err(write::status(store, namespace, name, error)),
        }
    }
    Err(Status::modified(store.group(), store.resource(), name))
}

/// 409 where an object is not the one that a precondition names (`storage.Preconditions`).
pub(crate) fn check_preconditions(
    store: &ResourceStore,
    tree: &Value<'_>,
    stored: &Object,
    uid: &str,
    version: &str,
    dry_run: bool,
) -> Result<(), Status> {
    let current = metadata::text(tree, "uid");
    let why = if !uid.is_empty() && uid != current {
        format!("UID in precondition: {uid}, UID in object meta: {current}")
    } else if !version.is_empty() && version != stored.revision.to_string() {
        format!(
            "ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
            stored.revision
        )
    } else {
        return Ok(());
    };
    Err(store.precondition_failed(&stored.key, stored.name(), &why, dry_run))
}
