//! The set of the fields that an object has.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::{Index, ListOf},
    model::Object,
    path::PathElement,
    set::{FieldSet, Node},
    shape::{Relation, Root, Shape},
    walk::{zip_map, zip_struct},
};
use crate::{
    schema::{Schema, StructId},
    value::{Map, Value},
};

/// The fields of an object of a type, each leaf with the items and entries above it.
pub fn field_set<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    object: &'v Value<'v>,
) -> FieldSet<'v> {
    Walker { arena, schema }.value(Shape::of_root(schema, root.into()), object).1
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
}

impl<'v> Walker<'v> {
    /// Whether the value itself is a member, and the members below it.
    fn value(&self, shape: Shape<'v>, value: &'v Value<'v>) -> (bool, FieldSet<'v>) {
        match (shape, value) {
            (Shape::Struct { id, atomic: false }, Value::Map(map)) if !map.is_empty() => {
                (false, self.members(id, map))
            }
            (Shape::Map { element, atomic: false }, Value::Map(map)) if !map.is_empty() => {
                (false, self.entries(Shape::of_element(self.schema, element), map))
            }
            (Shape::Deduced, Value::Map(map)) if !map.is_empty() => {
                (false, self.entries(Shape::Deduced, map))
            }
            (Shape::List { relation: Relation::Atomic, .. }, _) => (true, FieldSet::EMPTY),
            (Shape::List { element, relation }, Value::List(list)) => {
                (false, self.items(ListOf::Elements(element, relation), list))
            }
            (Shape::Object(object), Value::Map(map)) => self.object(object, map),
            (Shape::Rows(rows), Value::List(list)) => self.rows(ListOf::Rows(rows), list),
            (Shape::Union(union), Value::Map(map)) => self.object(union.object(), map),
            (Shape::Union(union), Value::List(list)) => self.rows(ListOf::Rows(union.rows()), list),
            _ => (true, FieldSet::EMPTY),
        }
    }

    fn members(&self, id: StructId, map: &'v Map<'v>) -> FieldSet<'v> {
        let mut nodes = ArenaVec::with_capacity_in(map.len(), self.arena);
        zip_struct(self.schema.get(id), None, Some(map), &mut |field, _, value| {
            if let Some(value) = value {
                let (member, children) = self.value(Shape::of_field(self.schema, field), value);
                nodes.push(Node { element: PathElement::FieldName(field.name), member, children });
            }
        });
        FieldSet::from_nodes(nodes)
    }

    /// The members of an object of a model: an entry is one itself, a field only where nothing is below it.
    fn object(&self, object: Object<'v>, map: &'v Map<'v>) -> (bool, FieldSet<'v>) {
        if object.is_atomic() || map.is_empty() {
            return (true, FieldSet::EMPTY);
        }
        let mut nodes = ArenaVec::with_capacity_in(map.len(), self.arena);
        zip_map(None, Some(map), &mut |key, _, value| {
            if let Some(value) = value {
                let shape = object.member(self.schema, key).unwrap_or(Shape::Deduced);
                let (member, children) = self.value(shape, value);
                let member = member || !object.has_field(key);
                nodes.push(Node { element: PathElement::FieldName(key), member, children });
            }
        });
        (false, FieldSet::from_nodes(nodes))
    }

    fn rows(&self, of: ListOf<'v>, list: &'v [Value<'v>]) -> (bool, FieldSet<'v>) {
        if of.is_atomic() { (true, FieldSet::EMPTY) } else { (false, self.items(of, list)) }
    }

    fn entries(&self, shape: Shape<'v>, map: &'v Map<'v>) -> FieldSet<'v> {
        let mut nodes = ArenaVec::with_capacity_in(map.len(), self.arena);
        zip_map(None, Some(map), &mut |key, _, value| {
            if let Some(value) = value {
                let (_, children) = self.value(shape, value);
                nodes.push(Node { element: PathElement::FieldName(key), member: true, children });
            }
        });
        FieldSet::from_nodes(nodes)
    }

    fn items(&self, of: ListOf<'v>, list: &'v [Value<'v>]) -> FieldSet<'v> {
        let shape = of.item_shape(self.schema);
        // What an apply takes fields out of may be left with items that have no path element: they count as one.
        let step = |item| of.step(self.arena, self.schema, item).unwrap_or(PathElement::Index(-1));
        let elements: Vec<_> = list.iter().map(|item| (step(item), item)).collect();
        let index = Index::new(self.arena, elements.iter().map(|(element, _)| *element));
        let mut nodes = ArenaVec::with_capacity_in(elements.len(), self.arena);
        for group in index.groups() {
            // Items that cannot be told apart are owned together, as one value.
            let children = match group {
                [(_, at)] => self.value(shape, elements[*at].1).1,
                _ => FieldSet::EMPTY,
            };
            nodes.push(Node { element: group[0].0, member: true, children });
        }
        FieldSet::from_nodes(nodes)
    }
}
