//! Objects in the form in which their fields are counted: with everything that the Go struct would show.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    json::zero,
    schema::{Composite, Field, Placed, Schema, Struct, StructId, Type, bits},
    value::{Map, Value},
};

/// Brings an object that was decoded, and changed since, into the form that decoding leaves: fields in order, those
/// that are always there filled in, empty ones that are left out taken away.
pub fn normalize<'a>(arena: &'a Bump, schema: &Schema, ty: StructId, object: &mut Value<'a>) {
    value(arena, schema, Type::Struct(ty), object);
}

fn value<'a>(arena: &'a Bump, schema: &Schema, ty: Type, slot: &mut Value<'a>) {
    match (ty, slot) {
        (Type::Struct(id), Value::Map(map)) => members(arena, schema, id, map),
        (Type::Composite(id), slot) => match (schema.composite(id), slot) {
            (Composite::List(element), Value::List(list)) if holds_structs(schema, element.ty) => {
                list.iter_mut().for_each(|item| value(arena, schema, element.ty, item));
            }
            (Composite::Map(element), Value::Map(map)) if holds_structs(schema, element.ty) => {
                map.iter_mut().for_each(|(_, item)| value(arena, schema, element.ty, item));
            }
            _ => {}
        },
        (Type::Alternative(id), Value::Map(map)) => {
            members(arena, schema, schema.alternative(id).object, map);
        }
        (Type::Alternative(id), slot @ Value::List(_)) => {
            value(arena, schema, schema.alternative(id).other, slot);
        }
        _ => {}
    }
}

/// An empty list of managed fields stays: it says that they are to be forgotten.
fn left_out(schema: &Schema, field: &Field, value: &Value<'_>) -> bool {
    zero::left_out(schema, field, value) && (field.name != "managedFields" || value.is_null())
}

fn holds_structs(schema: &Schema, ty: Type) -> bool {
    match ty {
        Type::Struct(_) | Type::Alternative(_) => true,
        Type::Composite(id) => match schema.composite(id) {
            Composite::List(element) | Composite::Map(element) => holds_structs(schema, element.ty),
        },
        _ => false,
    }
}

fn members<'a>(arena: &'a Bump, schema: &Schema, id: StructId, map: &mut Map<'a>) {
    let of = schema.get(id);
    // Fields that are as they have to be; those of the entries up to here, as long as these are in order.
    let mut good = 0u64;
    let mut all_good = true;
    for (key, slot) in map.entries_mut() {
        let field =
            of.index_of(key).filter(|index| good >> index == 0).map(|index| (index, &of.fields[index]));
        let Some((index, field)) = field.filter(|(_, field)| !left_out(schema, field, slot)) else {
            all_good = false;
            break;
        };
        good |= 1 << index;
        // Walks know this text at once.
        *key = field.name;
        if let Value::Map(_) | Value::List(_) = slot {
            value(arena, schema, field.ty, slot);
        }
    }
    if !all_good || of.always & !good != 0 {
        rebuild(arena, schema, of, map, good);
    }
}

/// Puts the entries in order, makes what is missing, and drops what is too much. Nothing is to be done to the values of
/// the fields in `good`.
#[cold]
fn rebuild<'a>(arena: &'a Bump, schema: &Schema, of: &Struct, map: &mut Map<'a>, good: u64) {
    let mut old = std::mem::replace(map, Map::new_in(arena));
    let mut entries = ArenaVec::with_capacity_in(old.len() + 2, arena);
    let placed = Placed::by_field(of, &old);
    // A map of more entries than there are fields is looked through by name.
    let candidates = placed.as_ref().map_or(u64::MAX, |placed| placed.given() | of.always);
    for index in bits(candidates).take_while(|index| *index < of.fields.len()) {
        let field = &of.fields[index];
        let given = match &placed {
            Some(placed) => placed.entry(index).and_then(|entry| old.take_at(entry)),
            None => old.get_mut(field.name).map(|slot| std::mem::replace(slot, Value::Null)),
        };
        let entry = match given {
            Some(given) if good >> index & 1 != 0 => Some(given),
            Some(given) if left_out(schema, field, &given) => None,
            Some(mut given) => {
                value(arena, schema, field.ty, &mut given);
                Some(given)
            }
            None => zero::unset(arena, schema, field),
        };
        entries.extend(entry.map(|value| (field.name, value)));
    }
    *map = Map::from_entries(entries);
}
