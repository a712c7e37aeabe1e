//! The path elements of list items.

use std::convert::Infallible;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    model::Rows,
    path::PathElement,
    shape::{Relation, Shape},
};
use crate::{
    json::{decode_untyped, quote},
    schema::{Element, Schema, Type},
    structural::ListType,
    value::{Map, Value},
};

/// A list's type: what it holds, and how its items are told apart.
#[derive(Clone, Copy)]
pub(crate) enum ListOf<'s> {
    /// Of the Schema.
    Elements(Element, Relation),
    /// Of a structural schema.
    Rows(Rows<'s>),
}

impl<'s> ListOf<'s> {
    /// The shape of its items.
    pub(crate) fn item_shape(self, schema: &Schema) -> Shape<'s> {
        match self {
            ListOf::Elements(element, _) => Shape::of_element(schema, element),
            ListOf::Rows(rows) => rows.item(),
        }
    }

    /// Whether the list is one value.
    pub(crate) fn is_atomic(self) -> bool {
        match self {
            ListOf::Elements(_, relation) => matches!(relation, Relation::Atomic),
            ListOf::Rows(rows) => rows.list_type().is_none(),
        }
    }

    /// Whether an item names none of its key fields: only such a one may have no path element.
    pub(crate) fn lacks_keys(self, item: &Value<'_>) -> bool {
        match (self, item) {
            (ListOf::Elements(_, Relation::Keys(keys)), Value::Map(map)) => {
                keys.iter().all(|key| map.get(key).is_none())
            }
            (
                ListOf::Elements(_, Relation::Set),
                Value::String(_) | Value::Int(_) | Value::Bool(_) | Value::Float(_),
            ) => false,
            _ => true,
        }
    }

    /// The path element of an item; the error says why it has none.
    pub(crate) fn step<'v>(
        self,
        arena: &'v Bump,
        schema: &Schema,
        item: &'v Value<'v>,
    ) -> Result<PathElement<'v>, String>
    where
        's: 'v,
    {
        match self {
            ListOf::Elements(_, Relation::Atomic) => Err("invalid indexing of non-associative list".into()),
            ListOf::Elements(_, Relation::Set) => set_step(item),
            ListOf::Elements(element, Relation::Keys(keys)) => {
                keyed_step(arena, item, keys.iter().copied(), |map, key| {
                    map.get(key).or_else(|| default_of(arena, schema, element, key))
                })
            }
            ListOf::Rows(rows) => match rows.list_type() {
                Some(ListType::Set) => set_step(item),
                Some(ListType::Map) => keyed_step(arena, item, rows.keys(), |map, key| {
                    map.get(key).or_else(|| rows.default_of(arena, key))
                }),
                Some(ListType::Atomic) | None => Err("invalid indexing of non-associative list".into()),
            },
        }
    }
}

fn set_step<'v>(item: &'v Value<'v>) -> Result<PathElement<'v>, String> {
    Err(match item {
        Value::Map(_) => "associative list without keys has an element that's a map type".into(),
        Value::List(_) => "not supported: associative list with lists as elements".into(),
        Value::Null => "associative list without keys has an element that's an explicit null".into(),
        _ => return Ok(PathElement::Value(item)),
    })
}

/// The path element of an item of these key fields; `value` answers what each is in it, if anything.
fn keyed_step<'v>(
    arena: &'v Bump,
    item: &'v Value<'v>,
    keys: impl ExactSizeIterator<Item = &'v str> + Clone,
    value: impl Fn(&'v Map<'v>, &str) -> Option<&'v Value<'v>>,
) -> Result<PathElement<'v>, String> {
    let map = match item {
        Value::Map(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut fields = ArenaVec::with_capacity_in(keys.len(), arena);
    for key in keys.clone() {
        if let Some(value) = value(map, key) {
            fields.push((key, value));
        }
    }
    if fields.is_empty() {
        return Err(format!(
            "associative list with keys has an element that omits all key fields {} (and doesn't have default values \
             for any key fields)",
            quoted(keys)
        ));
    }
    fields.sort_unstable_by_key(|(name, _)| *name);
    Ok(PathElement::Key(fields.into_bump_slice()))
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
fn quoted<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<String> = texts.map(quote::go_quote).collect();
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
