//! The set of the fields that an object has.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::{Index, item_element},
    path::PathElement,
    set::{FieldSet, Node},
    shape::{Relation, Shape},
    walk::{zip_map, zip_struct},
};
use crate::{
    schema::{Element, Schema, StructId},
    value::{Map, Value},
};

/// The fields of an object of a type, each leaf with the items and entries above it.
pub fn field_set<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    ty: StructId,
    object: &'v Value<'v>,
) -> FieldSet<'v> {
    Walker { arena, schema }.value(Shape::of_struct(schema, ty), object).1
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
}

impl<'v> Walker<'v> {
    /// Whether the value itself is a member, and the members below it.
    fn value(&self, shape: Shape, value: &'v Value<'v>) -> (bool, FieldSet<'v>) {
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
                (false, self.items(element, relation, list))
            }
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

    fn entries(&self, shape: Shape, map: &'v Map<'v>) -> FieldSet<'v> {
        let mut nodes = ArenaVec::with_capacity_in(map.len(), self.arena);
        zip_map(None, Some(map), &mut |key, _, value| {
            if let Some(value) = value {
                let (_, children) = self.value(shape, value);
                nodes.push(Node { element: PathElement::FieldName(key), member: true, children });
            }
        });
        FieldSet::from_nodes(nodes)
    }

    fn items(&self, element: Element, relation: Relation, list: &'v [Value<'v>]) -> FieldSet<'v> {
        let shape = Shape::of_element(self.schema, element);
        let elements: Vec<_> = list
            .iter()
            .filter_map(|item| {
                Some((item_element(self.arena, self.schema, element, relation, item).ok()?, item))
            })
            .collect();
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
