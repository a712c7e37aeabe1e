//! Structs that are being decoded: their fields come in any order and leave in Go's.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::zero;
use crate::{
    schema::{Field, Schema, Struct},
    value::{Map, Value},
};

/// A field that was given.
struct Slot<'a> {
    slot: usize,
    value: Option<Value<'a>>,
    seen: bool,
}

/// A struct that is open.
struct Open {
    /// The number of its first field.
    base: usize,
    /// Where its fields begin among those that were given.
    start: usize,
    /// Whether they came in field order so far.
    in_order: bool,
}

/// Fields of all structs that are open, innermost last. Each struct has a number for each of its fields, but only those
/// that were given take room: of a pod's forty, few are.
#[derive(Default)]
pub(crate) struct Slots<'a> {
    slots: Vec<Slot<'a>>,
    open: Vec<Open>,
    /// The first number that no open struct has.
    free: usize,
}

impl<'a> Slots<'a> {
    /// Opens a struct, with what an earlier value of it left; answers its base.
    pub(crate) fn open(&mut self, of: &Struct, previous: Option<Value<'a>>) -> usize {
        let base = self.free;
        self.free += of.fields.len();
        self.open.push(Open { base, start: self.slots.len(), in_order: true });
        if let Some(Value::Map(map)) = previous {
            for (name, value) in map.into_entries() {
                if let Some((index, _)) = of.field(name) {
                    self.set(base + index, Some(value));
                }
            }
        }
        base
    }

    /// The place of a field of the innermost struct, which is the same for as long as the struct is open.
    pub(crate) fn place(&mut self, slot: usize) -> usize {
        let Some(open) = self.open.last_mut() else { unreachable!("fields are given to open structs") };
        // The one that was given last is mostly asked for, or one behind it.
        let last = self.slots[open.start..].last().map(|given| given.slot);
        let at = match last {
            Some(last) if last == slot => Some(self.slots.len() - 1),
            Some(last) if !(open.in_order && last < slot) => {
                let given = &self.slots[open.start..];
                given.iter().position(|given| given.slot == slot).map(|at| open.start + at)
            }
            _ => None,
        };
        at.unwrap_or_else(|| {
            open.in_order &= last.is_none_or(|last| last < slot);
            self.slots.push(Slot { slot, value: None, seen: false });
            self.slots.len() - 1
        })
    }

    fn slot(&mut self, slot: usize) -> &mut Slot<'a> {
        let place = self.place(slot);
        &mut self.slots[place]
    }

    /// Notes that the field at a place was given; answers whether it was before, and with what.
    pub(crate) fn see(&mut self, place: usize) -> (bool, Option<Value<'a>>) {
        let slot = &mut self.slots[place];
        (std::mem::replace(&mut slot.seen, true), slot.value.take())
    }

    /// Gives the field at a place its value.
    pub(crate) fn fill(&mut self, place: usize, value: Option<Value<'a>>) {
        self.slots[place].value = value;
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<Value<'a>> {
        self.slot(slot).value.take()
    }

    pub(crate) fn set(&mut self, slot: usize, value: Option<Value<'a>>) {
        self.slot(slot).value = value;
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Option<Value<'a>> {
        &mut self.slot(slot).value
    }

    /// Closes the innermost struct into a map in field order, as encoding the Go struct would write it.
    pub(crate) fn close(&mut self, arena: &'a Bump, schema: &Schema, of: &Struct, base: usize) -> Map<'a> {
        let Some(Open { base: opened, start, in_order }) = self.open.pop() else {
            unreachable!("a struct is closed that was opened")
        };
        debug_assert_eq!(opened, base, "the innermost struct is closed first");
        self.free = base;
        let given = &mut self.slots[start..];
        if !in_order {
            given.sort_unstable_by_key(|slot| slot.slot);
        }
        let mut entries = ArenaVec::with_capacity_in(given.len() + of.always.len().min(2) + 2, arena);
        let unset = |index: usize| {
            let field = &of.fields[index];
            zero::unset(arena, schema, field).map(|value| (field.name, value))
        };
        let mut always = of.always.iter().map(|index| usize::from(*index)).peekable();
        for slot in self.slots.drain(start..) {
            let index = slot.slot - base;
            while let Some(before) = always.next_if(|next| *next < index) {
                entries.extend(unset(before));
            }
            always.next_if_eq(&index);
            let field = &of.fields[index];
            match slot.value {
                Some(value) => {
                    if !zero::left_out(schema, field, &value) || means_something_empty(of, field, &value) {
                        entries.push((field.name, value));
                    }
                }
                None => entries.extend(unset(index)),
            }
        }
        entries.extend(always.filter_map(unset));
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
