//! Objects in the form in which their fields are counted: with everything that the Go struct would show.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    json::zero,
    schema::{Composite, Field, Positions, Schema, Struct, StructId, Type},
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
        _ => {}
    }
}

/// An empty list of managed fields stays: it says that they are to be forgotten.
fn left_out(schema: &Schema, field: &Field, value: &Value<'_>) -> bool {
    zero::left_out(schema, field, value) && (field.name != "managedFields" || value.is_null())
}

fn holds_structs(schema: &Schema, ty: Type) -> bool {
    match ty {
        Type::Struct(_) => true,
        Type::Composite(id) => match schema.composite(id) {
            Composite::List(element) | Composite::Map(element) => holds_structs(schema, element.ty),
        },
        _ => false,
    }
}

fn members<'a>(arena: &'a Bump, schema: &Schema, id: StructId, map: &mut Map<'a>) {
    let of = schema.get(id);
    let positions = Positions::of(of, map);
    let fits = positions.as_ref().is_some_and(|positions| fits(schema, of, map, positions));
    let positions = if fits {
        positions
    } else {
        let mut old = std::mem::replace(map, Map::new_in(arena));
        let mut entries = ArenaVec::with_capacity_in(old.len() + 2, arena);
        for field in &of.fields {
            let value = match old.get_mut(field.name) {
                Some(slot) => {
                    let value = std::mem::replace(slot, Value::Null);
                    (!left_out(schema, field, &value)).then_some(value)
                }
                None => zero::unset(arena, schema, field),
            };
            entries.extend(value.map(|value| (field.name, value)));
        }
        *map = Map::from_entries(entries);
        Positions::of(of, map)
    };
    // Every entry is a field now, in order.
    match positions {
        Some(positions) => {
            for (index, (_, slot)) in positions.iter().zip(map.iter_mut()) {
                if let Value::Map(_) | Value::List(_) = slot {
                    value(arena, schema, of.fields[index].ty, slot);
                }
            }
        }
        // More of them than are looked at this way.
        None => {
            for (name, slot) in map.iter_mut() {
                if let Some((_, field)) = of.field(name) {
                    value(arena, schema, field.ty, slot);
                }
            }
        }
    }
}

/// Whether nothing is to be done to entries in order, as mostly: none is missing or too much.
fn fits(schema: &Schema, of: &Struct, map: &Map<'_>, positions: &Positions) -> bool {
    let mut always = of.always.iter().map(|index| usize::from(*index)).peekable();
    for (index, (_, value)) in positions.iter().zip(map.iter()) {
        if always.peek().is_some_and(|always| *always < index) || left_out(schema, &of.fields[index], value) {
            return false;
        }
        always.next_if_eq(&index);
    }
    always.next().is_none()
}
