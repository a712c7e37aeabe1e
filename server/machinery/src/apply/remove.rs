//! An object without the fields of a set.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::item_element,
    path::PathElement,
    set::FieldSet,
    shape::{Relation, Shape},
};
use crate::{
    schema::{Element, Schema, StructId},
    value::{Map, Value},
};

/// Takes the members of `set` out of an object. What is left of a map or list that lost its last member is null.
pub fn remove_items<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    ty: StructId,
    object: &'v Value<'v>,
    set: FieldSet<'_>,
) -> Value<'v> {
    Walker { arena, schema }.value(Shape::of_struct(schema, ty), object, set)
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
}

impl<'v> Walker<'v> {
    fn value(&self, shape: Shape, value: &'v Value<'v>, set: FieldSet<'_>) -> Value<'v> {
        match (shape, value) {
            (Shape::Struct { id, atomic }, Value::Map(map)) => {
                let of = self.schema.get(id);
                self.map(atomic, map, set, |key| {
                    of.field(key).map_or(Shape::Deduced, |(_, field)| Shape::of_field(self.schema, field))
                })
            }
            (Shape::Map { element, atomic }, Value::Map(map)) => {
                let shape = Shape::of_element(self.schema, element);
                self.map(atomic, map, set, |_| shape)
            }
            (Shape::Deduced, Value::Map(map)) => self.map(false, map, set, |_| Shape::Deduced),
            (Shape::List { element, relation }, Value::List(list)) => self.list(element, relation, list, set),
            (Shape::Leaf | Shape::Deduced, value) => value.clone(),
            _ => Value::Null,
        }
    }

    /// Nothing below an atomic value can be taken out of it alone.
    fn map(
        &self,
        atomic: bool,
        map: &'v Map<'v>,
        set: FieldSet<'_>,
        shape: impl Fn(&str) -> Shape,
    ) -> Value<'v> {
        if atomic {
            return Value::Null;
        }
        let mut out = ArenaVec::with_capacity_in(map.len(), self.arena);
        for (key, value) in map.iter() {
            match set.node(&PathElement::FieldName(key)) {
                Some(node) if node.member => {}
                Some(node) => out.push((key, self.value(shape(key), value, node.children))),
                None => out.push((key, value.clone())),
            }
        }
        if out.is_empty() { Value::Null } else { Value::Map(Map::from_entries(out)) }
    }

    fn list(
        &self,
        element: Element,
        relation: Relation,
        list: &'v [Value<'v>],
        set: FieldSet<'_>,
    ) -> Value<'v> {
        if matches!(relation, Relation::Atomic) {
            return Value::Null;
        }
        let shape = Shape::of_element(self.schema, element);
        let mut out = ArenaVec::with_capacity_in(list.len(), self.arena);
        for item in list {
            let node = item_element(self.arena, self.schema, element, relation, item);
            match node.ok().and_then(|element| set.node(&element)) {
                Some(node) if node.member => {}
                Some(node) => out.push(self.value(shape, item, node.children)),
                None => out.push(item.clone()),
            }
        }
        if out.is_empty() { Value::Null } else { Value::List(out) }
    }
}
