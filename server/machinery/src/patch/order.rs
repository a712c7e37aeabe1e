//! The order of members in the text of a patched object. The API server's library takes apart only what a patch goes
//! through and leaves the rest as it came; what it took apart it puts together with sorted members. Errors show that text.

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

    /// Of everything within.
    pub(super) fn within(self, value: &mut Value<'_>) {
        if self == Order::Kept {
            return;
        }
        match value {
            Value::Map(map) => {
                map.sort_keys();
                map.iter_mut().for_each(|(_, value)| self.within(value));
            }
            Value::List(list) => list.iter_mut().for_each(|value| self.within(value)),
            _ => {}
        }
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
    let (mut object, operations) = (written(&arena, object)?, written(&arena, operations)?);
    json_patch::apply(&arena, &mut object, &operations, Order::Sorted)?;
    if let Value::Map(map) = &mut object {
        map.sort_keys();
    }
    Ok(text(&object))
}

fn written<'a>(arena: &'a Bump, text: &'a [u8]) -> Result<Value<'a>, PatchError> {
    json::decode_in_order(arena, text).map_err(|e| PatchError::Malformed(e.to_string()))
}

fn text(value: &Value<'_>) -> String {
    let mut text = Vec::new();
    json::encode_in_order(value, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
