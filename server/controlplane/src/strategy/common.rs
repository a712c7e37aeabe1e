//! What several strategies do.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{FieldError, index},
    value::{Map, Value},
};

use crate::tree::{Members, root};

/// Finalizers without a domain that Kubernetes itself uses.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Metadata that a status write leaves alone where its kind is strict about it.
const RESET_FOR_STATUS: [&str; 7] =
    ["deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"];

/// Names of kinds whose declarations alone speak of them, in their turn (`validation::declared_name`). What a prefix may be
/// shows in the name that is made of it.
pub(super) fn name_alone(_: &str, _: bool) -> Vec<String> {
    Vec::new()
}

/// Finalizers must have a domain or be standard ones.
pub(super) fn standard_finalizers(object: &Value<'_>, errors: &mut Vec<FieldError>) {
    let finalizers = object.path(&["metadata", "finalizers"]).and_then(Value::as_list);
    for (at, name) in finalizers.into_iter().flatten().enumerate() {
        let name = name.as_str().unwrap_or("");
        if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
            let message = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(index("metadata.finalizers", at), name, message));
        }
    }
}

/// Puts back every member of `old` but those named, and takes away what `old` had not.
pub(super) fn keep_all_but<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>, free: &[&str]) {
    let map = root(arena, object);
    map.retain(|key, _| free.contains(&key));
    for (key, value) in old.as_map().into_iter().flat_map(Map::iter) {
        if !free.contains(&key) {
            map.push_unique(arena.alloc_str(key), value.copy_into(arena));
        }
    }
}

/// Puts a member of the object back to what it was.
pub(super) fn keep<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>, member: &'static str) {
    let value = old.path(&[member]).map(|v| v.copy_into(arena));
    root(arena, object).put(member, value);
}

/// Puts a member of the metadata back to what it was.
pub(super) fn keep_metadata_member<'a>(
    arena: &'a Bump,
    object: &mut Value<'a>,
    old: &Value<'_>,
    member: &'static str,
) {
    let value = old.path(&["metadata", member]).map(|v| v.copy_into(arena));
    root(arena, object).map_mut("metadata").put(member, value);
}

/// `ResetObjectMetaForStatus`.
pub(super) fn reset_metadata_for_status<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>) {
    for member in RESET_FOR_STATUS {
        keep_metadata_member(arena, object, old, member);
    }
}

/// Keeps all metadata but the managed fields.
pub(super) fn keep_metadata<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>) {
    let managed = object.path(&["metadata", "managedFields"]).cloned();
    keep(arena, object, old, "metadata");
    root(arena, object).map_mut("metadata").put("managedFields", managed);
}
