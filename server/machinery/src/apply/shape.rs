//! How a value of a type is owned: as a whole, by its fields, or by its items.

use super::model::{Object, Rows, Scalar, Union};
use crate::{
    schema::{Composite, Element, Field, ListType, Schema, StructId, Type},
    structural::Structural,
};

/// What an object's fields are told by.
#[derive(Clone, Copy, Debug)]
pub enum Root<'s> {
    /// A struct of the Schema.
    BuiltIn(StructId),
    /// The schema of a custom resource's version.
    Structural(&'s Structural),
    /// Nothing: maps are owned by their entries, anything else as a whole.
    Deduced,
}

impl From<StructId> for Root<'_> {
    fn from(ty: StructId) -> Self {
        Root::BuiltIn(ty)
    }
}

impl<'s> From<&'s Structural> for Root<'s> {
    fn from(structural: &'s Structural) -> Self {
        Root::Structural(structural)
    }
}

/// What server-side apply makes of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'s> {
    /// One value: scalars, and opaque objects.
    Leaf,
    /// A struct.
    Struct {
        /// Its type.
        id: StructId,
        /// Owned as a whole.
        atomic: bool,
    },
    /// A map of text keys.
    Map {
        /// What it holds.
        element: Element,
        /// Owned as a whole.
        atomic: bool,
    },
    /// A list.
    List {
        /// What it holds.
        element: Element,
        /// How its items are told apart.
        relation: Relation,
    },
    /// No type is known: maps are owned by their entries, anything else as a whole.
    Deduced,
    /// A scalar of a structural schema.
    Scalar(Scalar),
    /// An object of a structural schema: a struct, a map, or both.
    Object(Object<'s>),
    /// A list of a structural schema.
    Rows(Rows<'s>),
    /// A value of a structural schema that may be of any kind.
    Union(Union<'s>),
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Relation {
    /// Not at all: the list is one value.
    Atomic,
    /// By what they are.
    Set,
    /// By these fields of theirs.
    Keys(&'static [&'static str]),
}

impl<'s> Shape<'s> {
    /// The shape of a whole object.
    pub(crate) fn of_root(schema: &Schema, root: Root<'s>) -> Self {
        match root {
            Root::BuiltIn(id) => Shape::of_struct(schema, id),
            Root::Structural(structural) => Shape::Object(Object::root(structural)),
            Root::Deduced => Shape::Deduced,
        }
    }

    /// The shape of an object of type `id`.
    pub(crate) fn of_struct(schema: &Schema, id: StructId) -> Self {
        Shape::Struct { id, atomic: schema.get(id).atomic }
    }

    /// The shape of a struct's field.
    pub(crate) fn of_field(schema: &Schema, field: &Field) -> Self {
        match field.ty {
            Type::Struct(id) => {
                Shape::Struct { id, atomic: field.atomic || schema.get(id).atomic && !field.granular }
            }
            Type::Composite(id) => match schema.composite(id) {
                Composite::Map(element) => Shape::Map { element, atomic: field.atomic },
                Composite::List(element) => Shape::List { element, relation: relation(field) },
            },
            ty => Shape::of_type(schema, ty),
        }
    }

    /// The shape of an item or an entry.
    pub(crate) fn of_element(schema: &Schema, element: Element) -> Self {
        Shape::of_type(schema, element.ty)
    }

    fn of_type(schema: &Schema, ty: Type) -> Self {
        match ty {
            Type::Struct(id) => Shape::of_struct(schema, id),
            Type::Composite(id) => match schema.composite(id) {
                Composite::Map(element) => Shape::Map { element, atomic: false },
                Composite::List(element) => Shape::List { element, relation: Relation::Atomic },
            },
            Type::FieldsV1 | Type::Json | Type::Alternative(_) => Shape::Deduced,
            Type::String
            | Type::Bool
            | Type::Int32
            | Type::Int64
            | Type::Float64
            | Type::Bytes
            | Type::Quantity
            | Type::Time
            | Type::MicroTime
            | Type::Duration
            | Type::IntOrString
            | Type::RawExtension => Shape::Leaf,
        }
    }
}

/// The list type, atomic where none is given. (A patch strategy alone would say how items are told apart, too; a test
/// sees to it that no list of the built-in kinds has one without a list type.)
fn relation(field: &Field) -> Relation {
    match field.list_type {
        ListType::Set => Relation::Set,
        ListType::Map => Relation::Keys(field.list_map_keys),
        ListType::Atomic => Relation::Atomic,
    }
}
