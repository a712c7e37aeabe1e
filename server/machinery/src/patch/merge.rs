//! JSON merge patch (RFC 7396), with the one liberty of the API server's library: nulls are also taken out of what a
//! patch sets where there was no object before, lists included.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    PatchError,
    order::{Order, open, opened},
};
use crate::value::{Map, Value};

/// Merges `patch` into `target`. A patch that is no object is refused: it would replace the object as a whole.
pub fn apply_merge<'a>(arena: &'a Bump, target: &mut Value<'a>, patch: &Value<'a>) -> Result<(), PatchError> {
    apply(arena, target, patch, Order::Kept)
}

/// [`apply_merge`], the members of what it goes through in [`Order::Sorted`].
pub(super) fn apply<'a>(
    arena: &'a Bump,
    target: &mut Value<'a>,
    patch: &Value<'a>,
    order: Order,
) -> Result<(), PatchError> {
    let merge = Merge { arena, order };
    open(arena, target);
    match (target, opened(arena, patch)) {
        (Value::Map(target), Value::Map(patch)) => {
            merge.objects(target, patch);
            Ok(())
        }
        (target, list @ Value::List(_)) => {
            *target = merge.without_nulls(list);
            Ok(())
        }
        _ => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
    }
}

struct Merge<'a> {
    arena: &'a Bump,
    order: Order,
}

impl<'a> Merge<'a> {
    fn objects(&self, target: &mut Map<'a>, patch: &Map<'a>) {
        target.merge_sorted(patch.iter(), |old, new| {
            if new.is_null() {
                return None;
            }
            let new = opened(self.arena, new);
            let old = old.map(|mut old| {
                open(self.arena, &mut old);
                old
            });
            Some(match (old, new) {
                (Some(Value::Map(mut old)), Value::Map(new)) => {
                    self.objects(&mut old, new);
                    Value::Map(old)
                }
                (Some(Value::Map(_)), new) => new.clone(),
                (_, new) => self.without_nulls(new),
            })
        });
    }

    /// A copy whose objects have no null members; items of lists stay.
    fn without_nulls(&self, value: &Value<'a>) -> Value<'a> {
        match opened(self.arena, value) {
            Value::Map(map) => {
                let mut entries = ArenaVec::with_capacity_in(map.len(), self.arena);
                let members = map.iter().filter(|(_, v)| !v.is_null());
                entries.extend(members.map(|(k, v)| (k, self.without_nulls(v))));
                let mut map = Map::from_entries(entries);
                self.order.of(&mut map);
                Value::Map(map)
            }
            Value::List(list) => {
                let mut items = ArenaVec::with_capacity_in(list.len(), self.arena);
                items.extend(list.iter().map(|v| self.without_nulls(v)));
                Value::List(items)
            }
            other => other.clone(),
        }
    }
}
