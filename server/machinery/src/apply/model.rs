//! What server-side apply makes of the schema of a custom resource.
//!
//! The rules are those by which `kube-openapi`'s `schemaconv` reads the OpenAPI v3 form of a structural schema, with
//! what the extensions server adds to it: the kind, the version and the metadata of objects and of embedded resources.
//! Nothing is kept beside the [`Structural`]: these are views of its nodes that know what they inherit.

use bumpalo::Bump;

use super::shape::Shape;
use crate::{
    schema::Schema,
    structural::{AdditionalProperties, ListType, MapType, Node, NodeId, Structural, Type},
    value::Value,
};

/// Kinds of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// A number.
    Numeric,
    /// A text.
    String,
    /// A truth.
    Boolean,
    /// Any of these.
    Untyped,
}

/// A node, and what it inherits.
#[derive(Clone, Copy, Debug)]
struct View<'s> {
    of: &'s Structural,
    id: NodeId,
    /// It, or a node above it, preserves unknown fields.
    preserve: bool,
    /// It has the kind, the version and the metadata of an object without saying so.
    has_metadata: bool,
}

/// An object with named fields, unnamed entries, or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'s>(View<'s>);

/// A list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'s>(View<'s>);

/// A value that may be of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Union<'s>(View<'s>);

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl<'s> View<'s> {
    fn node(self) -> Node<'s> {
        self.of.node(self.id)
    }

    /// A node below this one.
    fn below(self, node: Node<'s>) -> View<'s> {
        View {
            of: self.of,
            id: node.id(),
            preserve: self.preserve || node.preserves_unknown_fields(),
            has_metadata: node.is_embedded_resource(),
        }
    }

    fn shape(self) -> Shape<'s> {
        let node = self.node();
        match node.ty() {
            Type::Object => Shape::Object(Object(self)),
            Type::Array => Shape::Rows(Rows(self)),
            Type::Integer | Type::Number => Shape::Scalar(Scalar::Numeric),
            Type::Boolean => Shape::Scalar(Scalar::Boolean),
            Type::String => {
                let format = node.validation().map_or("", |validation| validation.format());
                let is_text = matches!(format, "" | "byte");
                Shape::Scalar(if is_text { Scalar::String } else { Scalar::Untyped })
            }
            Type::Any | Type::Null | Type::Unknown => {
                let is_plain = node.property_count() == 0
                    && !self.has_metadata
                    && !node.has_additional_properties()
                    && node.list_type().is_none()
                    && node.map_type().is_none();
                if is_plain { Shape::Deduced } else { Shape::Union(Union(self)) }
            }
        }
    }
}

impl<'s> Object<'s> {
    /// The object itself.
    pub(crate) fn root(of: &'s Structural) -> Self {
        let root = of.root();
        Object(View { of, id: root.id(), preserve: root.preserves_unknown_fields(), has_metadata: true })
    }

    /// The shape of a declared field.
    pub(crate) fn field(self, schema: &Schema, name: &str) -> Option<Shape<'s>> {
        if self.0.has_metadata {
            match name {
                "apiVersion" | "kind" => return Some(Shape::Scalar(Scalar::String)),
                "metadata" => {
                    let metadata = schema.by_openapi_name(OBJECT_META);
                    return Some(metadata.map_or(Shape::Deduced, |(id, _)| Shape::of_struct(schema, id)));
                }
                _ => {}
            }
        }
        self.0.node().property(name).map(|node| self.0.below(node).shape())
    }

    /// Whether a field is declared.
    pub(crate) fn has_field(self, name: &str) -> bool {
        self.0.has_metadata && matches!(name, "apiVersion" | "kind" | "metadata")
            || self.0.node().property(name).is_some()
    }

    /// The shape of entries that are no fields; `None` where there may be none.
    pub(crate) fn entry(self) -> Option<Shape<'s>> {
        let node = self.0.node();
        match node.additional_properties() {
            AdditionalProperties::Schema(of) => Some(self.0.below(of).shape()),
            AdditionalProperties::Bool(true) => Some(Shape::Deduced),
            AdditionalProperties::Bool(false) => None,
            AdditionalProperties::None => {
                let is_open = self.0.preserve || !self.has_fields();
                is_open.then_some(Shape::Deduced)
            }
        }
    }

    /// The shape of a member, be it a field or an entry.
    pub(crate) fn member(self, schema: &Schema, name: &str) -> Option<Shape<'s>> {
        self.field(schema, name).or_else(|| self.entry())
    }

    fn has_fields(self) -> bool {
        self.0.has_metadata || self.0.node().property_count() > 0
    }

    /// Whether it is owned as a whole.
    pub(crate) fn is_atomic(self) -> bool {
        self.0.node().map_type() == Some(MapType::Atomic)
    }

    /// Whether nothing is known of its members: what is owned of such an object is not brought in line with a schema
    /// that changed.
    pub(crate) fn is_open(self) -> bool {
        !self.has_fields()
            && matches!(self.entry(), Some(Shape::Deduced | Shape::Union(_) | Shape::Scalar(Scalar::Untyped)))
    }
}

impl<'s> Rows<'s> {
    /// The shape of its items.
    pub(crate) fn item(self) -> Shape<'s> {
        self.0.node().items().map_or(Shape::Deduced, |items| self.0.below(items).shape())
    }

    /// How its items are told apart; `None` where not at all: the list is one value.
    pub(crate) fn list_type(self) -> Option<ListType> {
        self.0.node().list_type().filter(|list_type| *list_type != ListType::Atomic)
    }

    /// The names of the key fields of its items.
    pub(crate) fn keys(self) -> impl ExactSizeIterator<Item = &'s str> + Clone {
        self.0.node().list_map_keys()
    }

    /// The value of a key field that an item does not name.
    pub(crate) fn default_of<'v>(self, arena: &'v Bump, key: &str) -> Option<&'v Value<'v>> {
        let default = self.0.node().items()?.property(key)?.default()?;
        if default.is_null() {
            return None;
        }
        Some(arena.alloc(default.copy_into(arena)))
    }
}

impl<'s> Union<'s> {
    /// What it is where it is an object.
    pub(crate) fn object(self) -> Object<'s> {
        Object(self.0)
    }

    /// What it is where it is a list.
    pub(crate) fn rows(self) -> Rows<'s> {
        Rows(self.0)
    }
}
