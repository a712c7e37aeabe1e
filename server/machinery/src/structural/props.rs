//! `JSONSchemaProps` as they stand in a CRD: a tree, read by the names of its fields.

use bumpalo::collections::Vec as ArenaVec;

use crate::value::Value;

/// One `JSONSchemaProps`; opaque text in it is expanded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Props<'v, 'a> {
    value: &'v Value<'a>,
}

impl<'v, 'a> Props<'v, 'a> {
    pub(crate) fn of(value: &'v Value<'a>) -> Self {
        Props { value }
    }

    pub(crate) fn value(self) -> &'v Value<'a> {
        self.value
    }

    /// A field that is set; null is the same as missing.
    pub(crate) fn get(self, name: &str) -> Option<&'v Value<'a>> {
        self.value.as_map()?.get(name).filter(|value| !value.is_null())
    }

    /// A text; empty where there is none.
    pub(crate) fn text(self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn flag(self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    pub(crate) fn int(self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    pub(crate) fn number(self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Int(n) => Some(*n as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        }
    }

    pub(crate) fn list(self, name: &str) -> Option<&'v ArenaVec<'a, Value<'a>>> {
        self.get(name)?.as_list()
    }

    pub(crate) fn strings(self, name: &str) -> impl Iterator<Item = &'a str> + use<'v, 'a> {
        self.list(name).into_iter().flatten().filter_map(Value::as_str)
    }

    /// `items`: a schema, or a list of them.
    pub(crate) fn items(self) -> Option<&'v Value<'a>> {
        self.get("items")
    }

    /// A field that is one schema.
    pub(crate) fn schema(self, name: &str) -> Option<Props<'v, 'a>> {
        self.get(name).filter(|value| value.as_map().is_some()).map(Props::of)
    }

    /// A field that is a list of schemas.
    pub(crate) fn schemas(self, name: &str) -> impl Iterator<Item = Props<'v, 'a>> + use<'v, 'a> {
        self.list(name).into_iter().flatten().map(Props::of)
    }

    /// A field that holds schemas by name.
    pub(crate) fn named(self, name: &str) -> impl Iterator<Item = (&'a str, Props<'v, 'a>)> + use<'v, 'a> {
        let map = self.get(name).and_then(Value::as_map);
        map.into_iter().flat_map(|map| map.iter()).map(|(key, value)| (key, Props::of(value)))
    }

    pub(crate) fn properties(self) -> impl Iterator<Item = (&'a str, Props<'v, 'a>)> + use<'v, 'a> {
        self.named("properties")
    }

    pub(crate) fn property(self, name: &str) -> Option<Props<'v, 'a>> {
        self.get("properties")?.as_map()?.get(name).map(Props::of)
    }

    /// The first field that no structural schema has, of those that are set.
    pub(crate) fn unsupported(self) -> Option<&'static str> {
        let text = |name| !self.text(name).is_empty();
        let some = |name: &str| self.get(name).and_then(Value::as_map).is_some_and(|map| !map.is_empty());
        [
            ("id", text("id")),
            ("schema", text("$schema")),
            ("$ref", text("$ref")),
            ("patternProperties", some("patternProperties")),
            ("dependencies", some("dependencies")),
            ("additionalItems", self.get("additionalItems").is_some()),
            ("definitions", some("definitions")),
        ]
        .into_iter()
        .find_map(|(name, set)| set.then_some(name))
    }
}
