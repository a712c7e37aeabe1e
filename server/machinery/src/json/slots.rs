//! Structs that are being decoded: their fields come in any order and leave in Go's.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::zero;
use crate::{
    schema::{Field, Schema, Struct},
    value::{Map, Value},
};

#[derive(Default)]
struct Slot<'a> {
    value: Option<Value<'a>>,
    seen: bool,
}

/// Fields of all structs that are open, innermost last.
#[derive(Default)]
pub(crate) struct Slots<'a> {
    slots: Vec<Slot<'a>>,
}

impl<'a> Slots<'a> {
    /// Opens a struct, with what an earlier value of it left; answers its base.
    pub(crate) fn open(&mut self, of: &Struct, previous: Option<Value<'a>>) -> usize {
        let base = self.slots.len();
        self.slots.resize_with(base + of.fields.len(), Slot::default);
        if let Some(Value::Map(map)) = previous {
            for (name, value) in map.into_entries() {
                if let Some((index, _)) = of.field(name) {
                    self.slots[base + index].value = Some(value);
                }
            }
        }
        base
    }

    /// Notes that a field was given; answers whether it was before.
    pub(crate) fn see(&mut self, slot: usize) -> bool {
        std::mem::replace(&mut self.slots[slot].seen, true)
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<Value<'a>> {
        self.slots[slot].value.take()
    }

    pub(crate) fn set(&mut self, slot: usize, value: Option<Value<'a>>) {
        self.slots[slot].value = value;
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Option<Value<'a>> {
        &mut self.slots[slot].value
    }

    /// Closes the innermost struct into a map in field order, as encoding the Go struct would write it.
    pub(crate) fn close(&mut self, arena: &'a Bump, schema: &Schema, of: &Struct, base: usize) -> Map<'a> {
        let set = self.slots[base..].iter().filter(|slot| slot.value.is_some()).count();
        let mut entries = ArenaVec::with_capacity_in(set + 2, arena);
        for (field, slot) in of.fields.iter().zip(self.slots.drain(base..)) {
            match slot.value {
                Some(value) => {
                    if !zero::left_out(schema, field, &value) || means_something_empty(of, field, &value) {
                        entries.push((field.name, value));
                    }
                }
                None => {
                    if let Some(value) = zero::unset(arena, schema, field) {
                        entries.push((field.name, value));
                    }
                }
            }
        }
        Map::from_entries(entries)
    }
}

/// Lists that say something by being empty, so that who looks at an object must see them. What is written leaves them
/// out like any other.
fn means_something_empty(of: &Struct, field: &Field, value: &Value<'_>) -> bool {
    matches!(value, Value::List(list) if list.is_empty())
        && matches!(
            (of.name, field.name),
            // Managed fields are to be forgotten; policies are none, instead of the usual ones; a range was to be given.
            (_, "managedFields") | ("HPAScalingRules", "policies") | ("ServiceCIDRSpec", "cidrs")
        )
}
