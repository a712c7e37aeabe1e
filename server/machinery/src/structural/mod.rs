//! Structural schemas: what a CustomResourceDefinition says of its objects, compiled, and everything that walks an
//! object by it. As built-in kinds have the [`Schema`](crate::schema::Schema), custom kinds have a [`Structural`].
//!
//! The order in which an object is taken in is [`Structural::coerce`] (metadata, unknown fields, nulls), then
//! [`Structural::apply_defaults`], then validation.

pub mod check;
mod columns;
mod compile;
mod defaulting;
mod embedded;
mod formats;
pub mod internal;
mod json;
mod list_type;
mod node;
mod object_meta;
mod path;
mod pattern;
mod props;
mod prune;
mod scale;
#[cfg(test)]
mod tests;
mod validate;
mod value_validation;

pub use columns::{Column, Columns, SelectableFields};
pub use compile::CompileError;
pub use formats::is_known_format;
pub use json::{Float, Json};
pub use node::{AdditionalProperties, ListType, MapType, Node, NodeId, Rule, Type};
pub use object_meta::{CoerceError, Metadata};
pub use scale::{Scale, nested};
pub use validate::same_values;
pub use value_validation::ValueValidation;

use node::{NodeData, Text};
use pattern::Pattern;

/// A compiled schema. It owns all it needs; parts that are the same are stored once.
#[derive(Debug)]
pub struct Structural {
    nodes: Box<[NodeData]>,
    root: NodeId,
    /// Names and formats, one behind the other.
    texts: Box<str>,
    patterns: Box<[Pattern]>,
}

impl Structural {
    /// The schema of the object itself.
    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    /// How many nodes there are; those of [`NodeId::index`] are below.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn node_at(&self, at: usize) -> Node<'_> {
        self.node(NodeId(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// The node at a position.
    ///
    /// # Panics
    ///
    /// Where the position is of another schema, beyond the end of this one.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node { of: self, id, data: &self.nodes[id.index()] }
    }

    /// Bytes that the schema takes.
    pub fn memory(&self) -> usize {
        size_of::<Structural>()
            + self.texts.len()
            + self.nodes.iter().map(|node| size_of::<NodeData>() + node.heap()).sum::<usize>()
            + self.patterns.iter().map(Pattern::memory).sum::<usize>()
    }

    fn text(&self, text: Text) -> &str {
        &self.texts[text.at as usize..][..text.len as usize]
    }
}
