//! What a schema says of values beyond their structure.

use super::{
    Structural,
    json::{Float, Json},
    node::{Node, NodeId, Text},
    pattern::Pattern,
};

/// `ValueValidation` as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ValidationData {
    pub(super) format: Text,
    pub(super) maximum: Option<Float>,
    pub(super) minimum: Option<Float>,
    pub(super) multiple_of: Option<Float>,
    pub(super) exclusive_maximum: bool,
    pub(super) exclusive_minimum: bool,
    pub(super) unique_items: bool,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    /// Index into the schema's patterns.
    pub(super) pattern: Option<u32>,
    pub(super) enumeration: Option<Box<[Json]>>,
    pub(super) required: Box<[Text]>,
    pub(super) all_of: Box<[NodeId]>,
    pub(super) any_of: Box<[NodeId]>,
    pub(super) one_of: Box<[NodeId]>,
    pub(super) not: Option<NodeId>,
}

/// `ValueValidation`: what values must be beyond the structure.
#[derive(Clone, Copy)]
pub struct ValueValidation<'s> {
    pub(super) of: &'s Structural,
    pub(super) data: &'s ValidationData,
}

impl<'s> ValueValidation<'s> {
    /// `format`; empty where not given.
    pub fn format(&self) -> &'s str {
        self.of.text(self.data.format)
    }
    /// `maximum`
    pub fn maximum(&self) -> Option<f64> {
        self.data.maximum.map(Float::get)
    }
    /// `minimum`
    pub fn minimum(&self) -> Option<f64> {
        self.data.minimum.map(Float::get)
    }
    /// `exclusiveMaximum`
    pub fn exclusive_maximum(&self) -> bool {
        self.data.exclusive_maximum
    }
    /// `exclusiveMinimum`
    pub fn exclusive_minimum(&self) -> bool {
        self.data.exclusive_minimum
    }
    /// `multipleOf`
    pub fn multiple_of(&self) -> Option<f64> {
        self.data.multiple_of.map(Float::get)
    }
    /// `uniqueItems`
    pub fn unique_items(&self) -> bool {
        self.data.unique_items
    }
    /// `maxLength`
    pub fn max_length(&self) -> Option<i64> {
        self.data.max_length
    }
    /// `minLength`
    pub fn min_length(&self) -> Option<i64> {
        self.data.min_length
    }
    /// `maxItems`
    pub fn max_items(&self) -> Option<i64> {
        self.data.max_items
    }
    /// `minItems`
    pub fn min_items(&self) -> Option<i64> {
        self.data.min_items
    }
    /// `maxProperties`
    pub fn max_properties(&self) -> Option<i64> {
        self.data.max_properties
    }
    /// `minProperties`
    pub fn min_properties(&self) -> Option<i64> {
        self.data.min_properties
    }
    /// `pattern`
    pub fn pattern(&self) -> Option<&'s str> {
        self.data.pattern.map(|at| &*self.of.patterns[at as usize].text)
    }
    pub(super) fn compiled_pattern(&self) -> Option<&'s Pattern> {
        self.data.pattern.map(|at| &self.of.patterns[at as usize])
    }
    /// `enum`; empty where not given.
    pub fn enumeration(&self) -> &'s [Json] {
        self.data.enumeration.as_deref().unwrap_or_default()
    }
    /// `required`
    pub fn required(&self) -> impl ExactSizeIterator<Item = &'s str> + Clone + use<'s> {
        let of = self.of;
        self.data.required.iter().map(move |name| of.text(*name))
    }
    /// Whether `name` is in `required`.
    pub fn requires(&self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }
    fn nodes(&self, ids: &'s [NodeId]) -> impl ExactSizeIterator<Item = Node<'s>> + Clone + use<'s> {
        let of = self.of;
        ids.iter().map(move |id| of.node(*id))
    }
    /// `allOf`
    pub fn all_of(&self) -> impl ExactSizeIterator<Item = Node<'s>> + Clone + use<'s> {
        self.nodes(&self.data.all_of)
    }
    /// `anyOf`
    pub fn any_of(&self) -> impl ExactSizeIterator<Item = Node<'s>> + Clone + use<'s> {
        self.nodes(&self.data.any_of)
    }
    /// `oneOf`
    pub fn one_of(&self) -> impl ExactSizeIterator<Item = Node<'s>> + Clone + use<'s> {
        self.nodes(&self.data.one_of)
    }
    /// `not`
    pub fn not(&self) -> Option<Node<'s>> {
        self.data.not.map(|id| self.of.node(id))
    }
}

impl std::fmt::Debug for ValueValidation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.data.fmt(f)
    }
}
