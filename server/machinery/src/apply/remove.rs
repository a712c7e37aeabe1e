//! An object without the fields of a set.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::ListOf,
    model::Object,
    path::PathElement,
    set::FieldSet,
    shape::{Root, Shape},
};
use crate::{
    schema::Schema,
    value::{Map, Value},
};

/// Takes the members of `set` out of an object. What is left of a map or list that lost its last member is null.
pub fn remove_items<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    object: &'v Value<'v>,
    set: FieldSet<'_>,
) -> Value<'v> {
    Walker { arena, schema }.value(Shape::of_root(schema, root.into()), object, set)
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
}

impl<'v> Walker<'v> {
    fn value(&self, shape: Shape<'v>, value: &'v Value<'v>, set: FieldSet<'_>) -> Value<'v> {
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
            (Shape::List { element, relation }, Value::List(list)) => {
                self.list(ListOf::Elements(element, relation), list, set)
            }
            (Shape::Object(object), Value::Map(map)) => self.object(object, map, set),
            (Shape::Union(union), Value::Map(map)) => self.object(union.object(), map, set),
            (Shape::Rows(rows), Value::List(list)) => self.list(ListOf::Rows(rows), list, set),
            (Shape::Union(union), Value::List(list)) => self.list(ListOf::Rows(union.rows()), list, set),
            (Shape::Deduced, Value::List(_)) => Value::Null,
            (Shape::Leaf | Shape::Scalar(_) | Shape::Deduced | Shape::Union(_), value) => value.clone(),
            _ => Value::Null,
        }
    }

    fn object(&self, object: Object<'v>, map: &'v Map<'v>, set: FieldSet<'_>) -> Value<'v> {
        self.map(object.is_atomic(), map, set, |key| {
            object.member(self.schema, key).unwrap_or(Shape::Deduced)
        })
    }

    /// Nothing below an atomic value can be taken out of it alone.
    fn map(
        &self,
        atomic: bool,
        map: &'v Map<'v>,
        set: FieldSet<'_>,
        shape: impl Fn(&str) -> Shape<'v>,
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

    fn list(&self, of: ListOf<'v>, list: &'v [Value<'v>], set: FieldSet<'_>) -> Value<'v> {
        if of.is_atomic() {
            return Value::Null;
        }
        let shape = of.item_shape(self.schema);
        let mut out = ArenaVec::with_capacity_in(list.len(), self.arena);
        for item in list {
            let node = of.step(self.arena, self.schema, item);
            match node.ok().and_then(|element| set.node(&element)) {
                Some(node) if node.member => {}
                Some(node) => out.push(self.value(shape, item, node.children)),
                None => out.push(item.clone()),
            }
        }
        if out.is_empty() { Value::Null } else { Value::List(out) }
    }
}
