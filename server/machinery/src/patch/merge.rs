//! JSON merge patch (RFC 7396).

use bumpalo::Bump;

use super::PatchError;
use crate::value::{Map, Value};

/// Merges `patch` into `target`. A patch that is no object is 400: it would replace the object as a whole.
pub fn apply_merge<'a>(arena: &'a Bump, target: &mut Value<'a>, patch: &Value<'a>) -> Result<(), PatchError> {
    let Value::Map(patch) = patch else { return Err(PatchError::Malformed("Invalid JSON Patch".to_owned())) };
    merge(arena, target, patch);
    Ok(())
}

fn merge<'a>(arena: &'a Bump, target: &mut Value<'a>, patch: &Map<'a>) {
    if !matches!(target, Value::Map(_)) {
        *target = Value::Map(Map::new_in(arena));
    }
    let Value::Map(map) = target else { unreachable!("just set") };
    for (key, value) in patch.iter() {
        match value {
            Value::Null => {
                map.remove(key);
            }
            Value::Map(inner) => {
                let mut old = map.remove(key).unwrap_or(Value::Null);
                merge(arena, &mut old, inner);
                map.insert(key, old);
            }
            value => {
                map.insert(key, value.clone());
            }
        }
    }
}
