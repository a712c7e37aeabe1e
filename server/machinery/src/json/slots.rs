//! Structs that are being decoded: their fields come in any order and leave in Go's.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::zero;
use crate::{
    schema::{FIELDS_MAX, Field, Schema, Struct, Type, bits},
    value::{Map, Value},
};

/// A field that was given.
struct Slot<'a> {
    /// Its index in the struct.
    index: usize,
    value: Option<Value<'a>>,
}

/// Fields of all structs that are being decoded, those of the innermost last. Only fields that were given take room: of a
/// pod's forty, few are.
pub(crate) struct Slots<'a> {
    slots: Vec<Slot<'a>>,
}

impl Default for Slots<'_> {
    fn default() -> Self {
        Slots { slots: Vec::with_capacity(SLOTS_FIRST) }
    }
}

/// Fields that there is room for from the start: open at a time in a pod are hardly more.
const SLOTS_FIRST: usize = 32;

/// A struct that is being decoded. Nothing may be asked of it while there is one within it.
pub(crate) struct Open {
    /// Where its fields begin among those that were given.
    start: usize,
    /// Its fields that have a slot, a bit each.
    given: u64,
    /// Those of them that an earlier value of the struct left, and no member of this very object.
    left: u64,
    /// Whether the slots are in the order of the fields.
    in_order: bool,
}

impl Open {
    /// Whether a field has a slot.
    #[inline(always)]
    pub(crate) fn has(&self, index: usize) -> bool {
        self.given >> index & 1 != 0
    }
}

impl<'a> Slots<'a> {
    /// Opens a struct, with what an earlier value of it left.
    #[inline]
    pub(crate) fn open(&mut self, of: &Struct, previous: Option<Value<'a>>) -> Open {
        let mut open = Open { start: self.slots.len(), given: 0, left: 0, in_order: true };
        if let Some(Value::Map(map)) = previous {
            for (name, value) in map.into_entries() {
                if let Some((index, _)) = of.field(name) {
                    self.set(&mut open, index, Some(value));
                }
            }
            open.left = open.given;
        }
        open
    }

    /// The value of a field, to change: none where it was not given.
    pub(crate) fn get_mut(&mut self, open: &mut Open, index: usize) -> &mut Option<Value<'a>> {
        if !open.has(index) {
            self.add(open, index, None);
        }
        // It is mostly the last one.
        let slots = &mut self.slots[open.start..];
        match slots.iter().rposition(|slot| slot.index == index) {
            Some(at) => &mut slots[at].value,
            None => unreachable!("its bit says that it has a slot"),
        }
    }

    /// Notes a member whose field has a slot. Answers whether there was a member of that name, and takes what that or an
    /// earlier value of the struct left.
    pub(crate) fn see(&mut self, open: &mut Open, index: usize) -> (bool, Option<Value<'a>>) {
        let is_left = open.left >> index & 1 != 0;
        open.left &= !(1 << index);
        (!is_left, self.take(open, index))
    }

    /// Takes a field's value.
    #[inline]
    pub(crate) fn take(&mut self, open: &mut Open, index: usize) -> Option<Value<'a>> {
        if open.has(index) { self.get_mut(open, index).take() } else { None }
    }

    /// Gives a field its value.
    pub(crate) fn set(&mut self, open: &mut Open, index: usize, value: Option<Value<'a>>) {
        if open.has(index) {
            *self.get_mut(open, index) = value;
        } else {
            self.add(open, index, value);
        }
    }

    /// Gives a field that has no slot its value.
    #[inline(always)]
    pub(crate) fn add(&mut self, open: &mut Open, index: usize, value: Option<Value<'a>>) {
        open.in_order &= open.given >> index == 0;
        open.given |= 1 << index;
        self.slots.push(Slot { index, value });
    }

    /// Closes the innermost struct into a map in field order, as encoding the Go struct would write it.
    pub(crate) fn close(&mut self, arena: &'a Bump, schema: &Schema, of: &Struct, open: Open) -> Map<'a> {
        let Open { start, given, in_order, .. } = open;
        let missing = of.always & !given;
        // With room for a few defaults.
        let room = self.slots.len() - start + missing.count_ones() as usize + 2;
        let mut entries = ArenaVec::with_capacity_in(room, arena);
        if in_order && missing == 0 {
            for Slot { index, value } in self.slots.drain(start..) {
                close(arena, schema, of, index, value, &mut entries);
            }
        } else {
            let slots = &mut self.slots[start..];
            let mut places = [0u8; FIELDS_MAX];
            for (slot, place) in slots.iter().zip(0..) {
                places[slot.index % FIELDS_MAX] = place;
            }
            for index in bits(given | missing) {
                let is_given = given >> index & 1 != 0;
                let slot = is_given.then(|| &mut slots[usize::from(places[index % FIELDS_MAX])]);
                let value = slot.and_then(|slot| slot.value.take());
                close(arena, schema, of, index, value, &mut entries);
            }
            self.slots.truncate(start);
        }
        Map::from_entries(entries)
    }
}

/// Closes a field.
#[inline(always)]
fn close<'a>(
    arena: &'a Bump,
    schema: &Schema,
    of: &Struct,
    index: usize,
    value: Option<Value<'a>>,
    entries: &mut ArenaVec<'a, (&'a str, Value<'a>)>,
) {
    let field = &of.fields[index];
    match value {
        Some(value) if is_left_out(schema, field, &value) => {}
        Some(value) => entries.push((field.name, value)),
        None => entries.extend(zero::unset(arena, schema, field).map(|value| (field.name, value))),
    }
}

/// Whether a value that was given is as if it were not. Lists and maps that were given without items stay: they are not
/// nil, and rules tell the two apart. What is written leaves them out like any other.
#[inline]
fn is_left_out(schema: &Schema, field: &Field, value: &Value<'_>) -> bool {
    match value {
        Value::List(_) | Value::Map(_) if matches!(field.ty, Type::Composite(_)) => false,
        Value::String(_) if field.ty == Type::Bytes => false,
        _ => zero::left_out(schema, field, value),
    }
}
