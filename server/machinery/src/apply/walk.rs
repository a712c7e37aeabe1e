//! Walks over the members of one or two objects by the Schema.

use std::cmp::Ordering;

use crate::{
    schema::{Field, Placed, Struct, bits},
    value::{Map, Value},
};

/// Calls `see` for every field that one of two structs has.
pub(crate) fn zip_struct<'v>(
    of: &'v Struct,
    a: Option<&'v Map<'v>>,
    b: Option<&'v Map<'v>>,
    see: &mut dyn FnMut(&'v Field, Option<&'v Value<'v>>, Option<&'v Value<'v>>),
) {
    let place = |map: Option<&'v Map<'v>>| match map {
        None => Some(None),
        Some(map) => Placed::by_field(of, map).map(|placed| Some((map, placed))),
    };
    let (Some(a_placed), Some(b_placed)) = (place(a), place(b)) else {
        // More entries than fields.
        for field in &of.fields {
            let of_map = |map: Option<&'v Map<'v>>| map.and_then(|map| map.get(field.name));
            let (a, b) = (of_map(a), of_map(b));
            if a.is_some() || b.is_some() {
                see(field, a, b);
            }
        }
        return;
    };
    let given = |placed: &Option<(_, Placed)>| placed.as_ref().map_or(0, |(_, placed)| placed.given());
    for index in bits(given(&a_placed) | given(&b_placed)) {
        let value = |placed: &Option<(&'v Map<'v>, Placed)>| {
            placed.as_ref().and_then(|(map, placed)| placed.value(map, index))
        };
        see(&of.fields[index], value(&a_placed), value(&b_placed));
    }
}

/// Calls `see` for every key that one of two maps has.
pub(crate) fn zip_map<'v>(
    a: Option<&'v Map<'v>>,
    b: Option<&'v Map<'v>>,
    see: &mut dyn FnMut(&'v str, Option<&'v Value<'v>>, Option<&'v Value<'v>>),
) {
    // Maps are decoded with their keys in order; one that was changed since may not be.
    if a.is_none_or(Map::is_sorted) && b.is_none_or(Map::is_sorted) {
        zip_sorted(a.into_iter().flat_map(Map::iter), b.into_iter().flat_map(Map::iter), see);
    } else {
        zip_sorted(sorted(a).into_iter(), sorted(b).into_iter(), see);
    }
}

type Entry<'v> = (&'v str, &'v Value<'v>);

fn zip_sorted<'v>(
    mut a: impl Iterator<Item = Entry<'v>>,
    mut b: impl Iterator<Item = Entry<'v>>,
    see: &mut dyn FnMut(&'v str, Option<&'v Value<'v>>, Option<&'v Value<'v>>),
) {
    let (mut x, mut y) = (a.next(), b.next());
    loop {
        let order = match (x, y) {
            (Some(x), Some(y)) => x.0.cmp(y.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let left = x.filter(|_| order.is_le());
        let right = y.filter(|_| order.is_ge());
        if let Some((key, _)) = left.or(right) {
            see(key, left.map(|(_, value)| value), right.map(|(_, value)| value));
        }
        if order.is_le() {
            x = a.next();
        }
        if order.is_ge() {
            y = b.next();
        }
    }
}

/// The entries of a map in the order of their keys.
pub(crate) fn sorted<'v>(map: Option<&'v Map<'v>>) -> Vec<Entry<'v>> {
    let mut entries: Vec<_> = map.into_iter().flat_map(Map::iter).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// A map, where it is one that has entries.
pub(crate) fn filled_map<'v>(value: Option<&'v Value<'v>>) -> Option<&'v Map<'v>> {
    value.and_then(Value::as_map).filter(|map| !map.is_empty())
}

/// The items of a list; none of anything else.
pub(crate) fn items<'v>(value: Option<&'v Value<'v>>) -> &'v [Value<'v>] {
    value.and_then(Value::as_list).map_or(&[], |list| list.as_slice())
}
