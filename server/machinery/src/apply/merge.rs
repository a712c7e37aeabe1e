//! An applied configuration merged into a live object.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::{Index, ListOf},
    model::{Object, Rows},
    path::PathElement,
    shape::{Relation, Root, Shape},
    walk::{filled_map, items, zip_map, zip_struct},
};
use crate::{
    schema::{Schema, StructId},
    value::{Map, Value},
};

/// Merges `config` into `live`: what it says counts, what it does not say stays. Where a list's items can be told
/// apart, those of both keep the order they have in `config`, and the others stand where they stood around them. The
/// error is a list item in `config` or `live` that has no path element.
pub fn merge<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    live: &'v Value<'v>,
    config: &'v Value<'v>,
) -> Result<Value<'v>, String> {
    let merged = Walker { arena, schema }.value(Shape::of_root(schema, root.into()), live, config)?;
    Ok(merged.unwrap_or(Value::Null))
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
}

impl<'v> Walker<'v> {
    /// Both values are there; a value that is in one object only is taken as it is.
    fn value(
        &self,
        shape: Shape<'v>,
        a: &'v Value<'v>,
        b: &'v Value<'v>,
    ) -> Result<Option<Value<'v>>, String> {
        match shape {
            Shape::Struct { id, atomic: false } => match (filled_map(Some(a)), filled_map(Some(b))) {
                (Some(x), Some(y)) => self.members(id, x, y),
                (Some(_), None) => Ok(Some(a.clone())),
                _ => Ok(Some(b.clone())),
            },
            Shape::Map { element, atomic: false } => self.maps(Shape::of_element(self.schema, element), a, b),
            Shape::Deduced => match (a, b) {
                (Value::Map(_), Value::Map(_) | Value::Null) => self.maps(Shape::Deduced, a, b),
                _ => Ok(Some(b.clone())),
            },
            Shape::List { element, relation: relation @ (Relation::Set | Relation::Keys(_)) } => {
                self.lists(ListOf::Elements(element, relation), a, b)
            }
            Shape::Object(object) => self.objects(object, a, b),
            Shape::Rows(rows) => self.rows(rows, a, b),
            // Of two kinds, the second counts; null leaves an object as it is.
            Shape::Union(union) => match (a, b) {
                (Value::List(_), Value::List(_)) => self.rows(union.rows(), a, b),
                (Value::Map(_), Value::Map(_) | Value::Null) => self.objects(union.object(), a, b),
                _ => Ok(Some(b.clone())),
            },
            Shape::Leaf
            | Shape::Scalar(_)
            | Shape::Struct { .. }
            | Shape::Map { .. }
            | Shape::List { .. } => Ok(Some(b.clone())),
        }
    }

    fn either(
        &self,
        shape: Shape<'v>,
        a: Option<&'v Value<'v>>,
        b: Option<&'v Value<'v>>,
    ) -> Result<Option<Value<'v>>, String> {
        match (a, b) {
            (Some(a), Some(b)) => self.value(shape, a, b),
            (Some(one), None) | (None, Some(one)) => Ok(Some(one.clone())),
            (None, None) => Ok(None),
        }
    }

    fn members(&self, id: StructId, a: &'v Map<'v>, b: &'v Map<'v>) -> Result<Option<Value<'v>>, String> {
        let mut out = ArenaVec::with_capacity_in(a.len() + 4, self.arena);
        let mut failed = Ok(());
        zip_struct(self.schema.get(id), Some(a), Some(b), &mut |field, a, b| match self.either(
            Shape::of_field(self.schema, field),
            a,
            b,
        ) {
            Ok(Some(value)) => out.push((field.name, value)),
            Ok(None) => {}
            Err(why) => failed = Err(format!(".{}{why}", field.name)),
        });
        failed.map(|()| Some(Value::Map(Map::from_entries(out))))
    }

    fn maps(
        &self,
        shape: Shape<'v>,
        a: &'v Value<'v>,
        b: &'v Value<'v>,
    ) -> Result<Option<Value<'v>>, String> {
        self.maps_of(a, b, |_| shape)
    }

    fn maps_of(
        &self,
        a: &'v Value<'v>,
        b: &'v Value<'v>,
        shape: impl Fn(&str) -> Shape<'v>,
    ) -> Result<Option<Value<'v>>, String> {
        let (x, y) = match (filled_map(Some(a)), filled_map(Some(b))) {
            (Some(x), Some(y)) => (x, y),
            (Some(_), None) => return Ok(Some(a.clone())),
            _ => return Ok(Some(b.clone())),
        };
        let mut out = ArenaVec::with_capacity_in(x.len() + 4, self.arena);
        let mut failed = Ok(());
        zip_map(Some(x), Some(y), &mut |key, a, b| match self.either(shape(key), a, b) {
            Ok(Some(value)) => out.push((key, value)),
            Ok(None) => {}
            Err(why) => failed = Err(format!(".{key}{why}")),
        });
        failed.map(|()| Some(Value::Map(Map::from_entries(out))))
    }

    /// Merges objects of a model.
    fn objects(
        &self,
        object: Object<'v>,
        a: &'v Value<'v>,
        b: &'v Value<'v>,
    ) -> Result<Option<Value<'v>>, String> {
        if object.is_atomic() {
            return Ok(Some(b.clone()));
        }
        self.maps_of(a, b, |key| object.member(self.schema, key).unwrap_or(Shape::Deduced))
    }

    /// Merges lists of a model.
    fn rows(&self, rows: Rows<'v>, a: &'v Value<'v>, b: &'v Value<'v>) -> Result<Option<Value<'v>>, String> {
        let of = ListOf::Rows(rows);
        if of.is_atomic() { Ok(Some(b.clone())) } else { self.lists(of, a, b) }
    }

    fn lists(&self, of: ListOf<'v>, a: &'v Value<'v>, b: &'v Value<'v>) -> Result<Option<Value<'v>>, String> {
        let (x, y) = (items(Some(a)), items(Some(b)));
        match (x.is_empty(), y.is_empty()) {
            (false, false) => self.list(of, x, y).map(Some),
            (false, true) => Ok(Some(a.clone())),
            _ => Ok(Some(b.clone())),
        }
    }

    fn elements(&self, of: ListOf<'v>, list: &'v [Value<'v>]) -> Result<Vec<PathElement<'v>>, String> {
        let step = |(at, item)| {
            of.step(self.arena, self.schema, item).map_err(|why| format!(": element {at}: {why}"))
        };
        list.iter().enumerate().map(step).collect()
    }

    /// Merges lists item by item. Walks both at once: items of both go where `b` has them, items of `a` alone before
    /// the next shared one.
    fn list(&self, of: ListOf<'v>, a: &'v [Value<'v>], b: &'v [Value<'v>]) -> Result<Value<'v>, String> {
        let shape = of.item_shape(self.schema);
        let (a_elements, b_elements) = (self.elements(of, a)?, self.elements(of, b)?);
        let (a_index, b_index) = (
            Index::new(self.arena, a_elements.iter().copied()),
            Index::new(self.arena, b_elements.iter().copied()),
        );
        let in_b: Vec<bool> = a_elements.iter().map(|e| !b_index.positions(e).is_empty()).collect();
        let mut shared = b_elements.iter().filter(|e| !a_index.positions(e).is_empty());
        let mut next_shared = shared.next();
        // How many items of `b` are merged: an element at a position below is.
        let (mut i, mut j) = (0, 0);
        let mut out = ArenaVec::with_capacity_in(a.len().max(b.len()), self.arena);
        let null: &'v Value<'v> = self.arena.alloc(Value::Null);
        while i < a.len() || j < b.len() {
            if let (Some(x), Some(y)) = (a_elements.get(i), b_elements.get(j)) {
                if x == y {
                    out.extend(self.shared(shape, &a_index, *y, a, &b[j], null)?);
                    (i, j) = (i + 1, j + 1);
                    next_shared = shared.next();
                    continue;
                }
                if in_b[i] && next_shared.is_some_and(|next| next != x) {
                    i += 1;
                    continue;
                }
            }
            if let Some(x) = a_elements.get(i) {
                if !in_b[i] {
                    out.push(a[i].clone());
                    i += 1;
                    continue;
                }
                if b_index.positions(x).iter().any(|(_, at)| *at < j) {
                    i += 1;
                }
            }
            if let Some(y) = b_elements.get(j) {
                out.extend(self.shared(shape, &a_index, *y, a, &b[j], null)?);
                j += 1;
                if next_shared == Some(y) {
                    next_shared = shared.next();
                }
            }
        }
        Ok(Value::List(out))
    }

    /// An item of `b` merged with the one of `a`, if any. Several of `a` that cannot be told apart are replaced.
    fn shared(
        &self,
        shape: Shape<'v>,
        a_index: &Index<'v>,
        element: PathElement<'v>,
        a: &'v [Value<'v>],
        item: &'v Value<'v>,
        null: &'v Value<'v>,
    ) -> Result<Option<Value<'v>>, String> {
        match a_index.positions(&element) {
            [] => Ok(Some(item.clone())),
            [(_, at)] => self.value(shape, &a[*at], item).map_err(|why| format!("{element}{why}")),
            _ => self.value(shape, null, item),
        }
    }
}
