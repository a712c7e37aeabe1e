//! Defaults: what the schema says of fields that are not there, or null where they may not be.

use bumpalo::Bump;

use super::{Node, Structural};
use crate::value::{Map, Value};

impl Structural {
    /// Applies defaults to an object. Maps keep their order; what is put in comes last.
    pub fn apply_defaults<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        apply(arena, self.root(), object);
    }
}

/// Applies the defaults below a node.
pub(super) fn apply<'a>(arena: &'a Bump, node: Node<'_>, value: &mut Value<'a>) {
    match value {
        Value::Map(map) => {
            missing(arena, node, map);
            for (key, value) in map.iter_mut() {
                if let Some(property) = node.property(key) {
                    apply(arena, property, value);
                } else if let Some(schema) = node.additional_schema() {
                    replace_null(arena, schema, value);
                    apply(arena, schema, value);
                }
            }
        }
        Value::List(list) => {
            let Some(items) = node.items() else { return };
            for item in list.iter_mut() {
                replace_null(arena, items, item);
                apply(arena, items, item);
            }
        }
        _ => {}
    }
}

fn missing<'a>(arena: &'a Bump, node: Node<'_>, map: &mut Map<'a>) {
    for (name, property) in node.properties() {
        let Some(default) = property.default() else { continue };
        match map.get_mut(name) {
            Some(value) if value.is_null() && !property.nullable() => *value = default.copy_into(arena),
            Some(_) => {}
            None => map.push_unique(arena.alloc_str(name), default.copy_into(arena)),
        }
    }
}

fn replace_null<'a>(arena: &'a Bump, node: Node<'_>, value: &mut Value<'a>) {
    if value.is_null()
        && !node.nullable()
        && let Some(default) = node.default()
    {
        *value = default.copy_into(arena);
    }
}
