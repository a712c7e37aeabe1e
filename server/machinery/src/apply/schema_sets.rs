//! Field sets brought in line with the Schema.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    path::PathElement,
    set::{FieldSet, Node},
    shape::{Relation, Shape},
};
use crate::schema::Schema;

/// The shape below a step of a value of `shape`; `None` where the Schema has no such step.
fn step<'s>(schema: &Schema, shape: Option<Shape<'s>>, element: &PathElement<'_>) -> Option<Shape<'s>> {
    match (shape?, element) {
        (Shape::Struct { id, .. }, PathElement::FieldName(name)) => {
            schema.get(id).field(name).map(|(_, field)| Shape::of_field(schema, field))
        }
        (Shape::Map { element, .. }, PathElement::FieldName(_)) => Some(Shape::of_element(schema, element)),
        (Shape::List { element, .. }, PathElement::Key(_)) => Some(Shape::of_element(schema, element)),
        (Shape::Deduced, PathElement::FieldName(_)) => Some(Shape::Deduced),
        (Shape::Object(object), PathElement::FieldName(name)) => object.member(schema, name),
        (Shape::Rows(rows), PathElement::Key(_)) => Some(rows.item()),
        (Shape::Union(union), PathElement::FieldName(name)) => union.object().member(schema, name),
        (Shape::Union(union), PathElement::Key(_)) => Some(union.rows().item()),
        _ => None,
    }
}

/// Whether a step that the shape has is one to a declared field.
fn is_field(shape: Option<Shape<'_>>, element: &PathElement<'_>) -> bool {
    let object = match shape {
        Some(Shape::Struct { .. }) => return true,
        Some(Shape::Object(object)) => object,
        Some(Shape::Union(union)) => union.object(),
        _ => return false,
    };
    matches!(element, PathElement::FieldName(name) if object.has_field(name))
}

/// The set with every declared field a member that has members below it.
pub(crate) fn with_named_fields<'v>(
    arena: &'v Bump,
    schema: &Schema,
    shape: Option<Shape<'_>>,
    set: FieldSet<'v>,
) -> FieldSet<'v> {
    set.map(arena, &mut |node| {
        let below = step(schema, shape, &node.element);
        let named = below.is_some() && is_field(shape, &node.element);
        Node {
            member: node.member || named,
            children: with_named_fields(arena, schema, below, node.children),
            ..*node
        }
    })
}

/// The set as it is owned today, where it was written when a value that is now owned as a whole was not: the owner of
/// a part becomes an owner of the whole.
pub(crate) fn reconcile<'v>(
    arena: &'v Bump,
    schema: &Schema,
    shape: Option<Shape<'_>>,
    set: FieldSet<'v>,
) -> FieldSet<'v> {
    if set.nodes().iter().all(|node| node.children.is_empty()) {
        return set;
    }
    let mut changed = false;
    let mut nodes = ArenaVec::with_capacity_in(set.nodes().len(), arena);
    for node in set.nodes() {
        let below = step(schema, shape, &node.element);
        let children = match below {
            Some(
                Shape::Struct { atomic: true, .. }
                | Shape::Map { atomic: true, .. }
                | Shape::List { relation: Relation::Atomic, .. },
            ) => FieldSet::EMPTY,
            Some(Shape::Object(object)) if object.is_open() => node.children,
            Some(Shape::Union(union)) if union.object().is_open() => node.children,
            Some(Shape::Object(object)) if object.is_atomic() => FieldSet::EMPTY,
            Some(Shape::Rows(rows)) if rows.list_type().is_none() => FieldSet::EMPTY,
            _ => reconcile(arena, schema, below, node.children),
        };
        let member = node.member || children.is_empty() && !node.children.is_empty();
        // What nothing is changed in comes back as the memory it was: no need to compare all of it at each step.
        let is_same = children.is_empty() && node.children.is_empty()
            || std::ptr::eq(children.nodes(), node.children.nodes());
        changed |= !is_same;
        nodes.push(Node { member, children, ..*node });
    }
    if changed { FieldSet::from_nodes(nodes) } else { set }
}
