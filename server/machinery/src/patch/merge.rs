//! JSON merge patch (RFC 7396), with the one liberty of the API server's library: nulls are also taken out of what a
//! patch sets where there was no object before, lists included.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::PatchError;
use crate::value::{Map, Value};

/// Merges `patch` into `target`. A patch that is no object is refused: it would replace the object as a whole.
pub fn apply_merge<'a>(arena: &'a Bump, target: &mut Value<'a>, patch: &Value<'a>) -> Result<(), PatchError> {
    match (target, patch) {
        (Value::Map(target), Value::Map(patch)) => {
            merge(arena, target, patch);
            Ok(())
        }
        (target, Value::List(_)) => {
            *target = without_nulls(arena, patch);
            Ok(())
        }
        _ => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
    }
}

fn merge<'a>(arena: &'a Bump, target: &mut Map<'a>, patch: &Map<'a>) {
    for (key, value) in patch.iter() {
        if value.is_null() {
            target.remove(key);
            continue;
        }
        match (target.get_mut(key), value) {
            (Some(Value::Map(old)), Value::Map(new)) => merge(arena, old, new),
            (Some(old @ Value::Map(_)), new) => *old = new.clone(),
            (_, new) => {
                target.insert(key, without_nulls(arena, new));
            }
        }
    }
}

/// A copy whose objects have no null members; items of lists stay.
fn without_nulls<'a>(arena: &'a Bump, value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Map(map) => {
            let mut entries = ArenaVec::with_capacity_in(map.len(), arena);
            let members = map.iter().filter(|(_, v)| !v.is_null());
            entries.extend(members.map(|(k, v)| (k, without_nulls(arena, v))));
            Value::Map(Map::from_entries(entries))
        }
        Value::List(list) => {
            let mut items = ArenaVec::with_capacity_in(list.len(), arena);
            items.extend(list.iter().map(|v| without_nulls(arena, v)));
            Value::List(items)
        }
        other => other.clone(),
    }
}
