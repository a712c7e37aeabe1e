//! Stored objects as trees.

use bumpalo::Bump;
use ringbolt_machinery::{json, value::Value};
use ringbolt_storage::object::Object;

/// A stored object as a tree.
pub(crate) fn tree<'a>(arena: &'a Bump, object: &Object) -> Option<Value<'a>> {
    let mut text = bumpalo::collections::Vec::with_capacity_in(object.json.len() + 1, arena);
    text.push(b'{');
    text.extend_from_slice(&object.json);
    json::decode_untyped(arena, text.into_bump_slice()).ok()
}
