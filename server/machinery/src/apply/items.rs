//! The path elements of list items.

use std::convert::Infallible;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{path::PathElement, shape::Relation};
use crate::{
    json::{decode_untyped, quote},
    schema::{Element, Schema, Type},
    value::Value,
};

/// The path element of an item; the error says why it has none.
pub(crate) fn item_element<'v>(
    arena: &'v Bump,
    schema: &Schema,
    element: Element,
    relation: Relation,
    item: &'v Value<'v>,
) -> Result<PathElement<'v>, String> {
    match (relation, item) {
        (Relation::Atomic, _) => Err("invalid indexing of non-associative list".into()),
        (Relation::Set, Value::Map(_)) => {
            Err("associative list without keys has an element that's a map type".into())
        }
        (Relation::Set, Value::List(_)) => {
            Err("not supported: associative list with lists as elements".into())
        }
        (Relation::Set, Value::Null) => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        (Relation::Set, _) => Ok(PathElement::Value(item)),
        (Relation::Keys(_), Value::Null) => {
            Err("associative list with keys may not have a null element".into())
        }
        (Relation::Keys(keys), Value::Map(map)) => {
            let mut fields = ArenaVec::with_capacity_in(keys.len(), arena);
            for &key in keys {
                if let Some(value) = map.get(key).or_else(|| default_of(arena, schema, element, key)) {
                    fields.push((key, value));
                }
            }
            if fields.is_empty() {
                return Err(format!(
                    "associative list with keys has an element that omits all key fields {} (and doesn't have \
                     default values for any key fields)",
                    quoted(keys)
                ));
            }
            fields.sort_unstable_by_key(|(name, _)| *name);
            Ok(PathElement::Key(fields.into_bump_slice()))
        }
        (Relation::Keys(_), _) => Err("associative list with keys may not have non-map elements".into()),
    }
}

/// The default of a key field that an item leaves out.
fn default_of<'v>(arena: &'v Bump, schema: &Schema, element: Element, key: &str) -> Option<&'v Value<'v>> {
    let Type::Struct(id) = element.ty else { return None };
    let (_, field) = schema.get(id).field(key)?;
    if field.default.is_empty() {
        return None;
    }
    decode_untyped(arena, field.default.as_bytes()).ok().map(|value| &*arena.alloc(value))
}

/// `["a" "b"]`.
fn quoted(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote::go_quote(text)).collect();
    format!("[{}]", texts.join(" "))
}

/// Items of a list by path element.
pub(crate) struct Index<'v> {
    /// Sorted; equal ones in the order of the list.
    entries: ArenaVec<'v, (PathElement<'v>, usize)>,
}

impl<'v> Index<'v> {
    pub(crate) fn new(arena: &'v Bump, elements: impl Iterator<Item = PathElement<'v>>) -> Self {
        match Index::try_new(arena, elements.map(Ok::<_, Infallible>)) {
            Ok(index) => index,
        }
    }

    /// Of elements that may not be, or else why.
    pub(crate) fn try_new<E>(
        arena: &'v Bump,
        elements: impl Iterator<Item = Result<PathElement<'v>, E>>,
    ) -> Result<Self, E> {
        let (least, most) = elements.size_hint();
        let mut entries = ArenaVec::with_capacity_in(most.unwrap_or(least), arena);
        for (at, element) in elements.enumerate() {
            entries.push((element?, at));
        }
        if !entries.is_sorted() {
            entries.sort_unstable();
        }
        Ok(Index { entries })
    }

    /// The positions of the items of an element.
    pub(crate) fn positions(&self, element: &PathElement<'v>) -> &[(PathElement<'v>, usize)] {
        let start = self.entries.partition_point(|(e, _)| e < element);
        let len = self.entries[start..].partition_point(|(e, _)| e == element);
        &self.entries[start..start + len]
    }

    /// Groups of positions with the same element.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[(PathElement<'v>, usize)]> {
        self.entries.chunk_by(|a, b| a.0 == b.0)
    }
}
