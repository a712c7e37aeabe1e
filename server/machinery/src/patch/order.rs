//! The text of a patched object. The API server's library takes apart only what a patch goes through and leaves the rest
//! as it came; what it took apart it puts together with sorted members. Errors show that text, and what is opaque in an
//! object is made of it.

use bumpalo::Bump;

use super::{PatchError, json_patch, merge};
use crate::{
    json,
    value::{Map, Value},
};

/// What happens to the members of an object that a patch goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// They stay as they are: who does not read the text pays nothing.
    Kept,
    /// They are sorted.
    Sorted,
}

impl Order {
    pub(super) fn of(self, map: &mut Map<'_>) {
        if self == Order::Sorted {
            map.sort_keys();
        }
    }

    /// Of everything within, which is taken apart for it.
    pub(super) fn within<'a>(self, arena: &'a Bump, value: &mut Value<'a>) {
        if self == Order::Kept {
            return;
        }
        open(arena, value);
        match value {
            Value::Map(map) => {
                map.sort_keys();
                map.iter_mut().for_each(|(_, value)| self.within(arena, value));
            }
            Value::List(list) => list.iter_mut().for_each(|value| self.within(arena, value)),
            _ => {}
        }
    }
}

/// Takes an object or a list apart that is still a text. In a tree there are none but what is opaque, and that is no
/// member of untyped trees.
pub(super) fn open<'a>(arena: &'a Bump, value: &mut Value<'a>) {
    if let Value::Raw(text) = value
        && text.starts_with(['{', '['])
        && let Ok(level) = json::decode_level(arena, text.as_bytes())
    {
        *value = level;
    }
}

/// The same, taken apart beside it.
pub(super) fn opened<'v, 'a>(arena: &'a Bump, value: &'v Value<'a>) -> &'v Value<'a> {
    match value {
        Value::Raw(text) => {
            let mut level = Value::Raw(text);
            open(arena, &mut level);
            arena.alloc(level)
        }
        _ => value,
    }
}

/// The text of an object with a merge patch applied, both as they were written.
pub fn merged_text(object: &[u8], patch: &[u8]) -> Result<String, PatchError> {
    let arena = Bump::new();
    let (mut object, patch) = (written(&arena, object)?, written(&arena, patch)?);
    merge::apply(&arena, &mut object, &patch, Order::Sorted)?;
    Ok(text(&object))
}

/// The text of an object with the operations of a JSON Patch applied, both as they were written.
pub fn json_patched_text(object: &[u8], operations: &[u8]) -> Result<String, PatchError> {
    let arena = Bump::new();
    let (mut object, operations) = (written(&arena, object)?, json_patch::written(&arena, operations)?);
    json_patch::apply(&arena, &mut object, &operations, Order::Sorted)?;
    if let Value::Map(map) = &mut object {
        map.sort_keys();
    }
    Ok(text(&object))
}

fn written<'a>(arena: &'a Bump, text: &'a [u8]) -> Result<Value<'a>, PatchError> {
    json::decode_level(arena, text).map_err(|e| PatchError::Malformed(e.to_string()))
}

fn text(value: &Value<'_>) -> String {
    let mut text = Vec::new();
    json::encode_in_order(value, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
