//! What an update added, changed and removed.

use std::cell::Cell;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    items::{Index, ListOf},
    model::{Object, Rows},
    path::{PathElement, equal_values},
    set::{FieldSet, Node},
    shape::{Relation, Root, Shape},
    walk::{filled_map, items, zip_map, zip_struct},
};
use crate::{
    schema::Schema,
    value::{Map, Value},
};

/// How two objects differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison<'v> {
    /// Fields that only the second one has.
    pub added: FieldSet<'v>,
    /// Fields that both have with different values.
    pub modified: FieldSet<'v>,
    /// Fields that only the first one has.
    pub removed: FieldSet<'v>,
}

impl<'v> Comparison<'v> {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// The comparison of what `keep` keeps of each set.
    pub(crate) fn filter(self, keep: impl Fn(FieldSet<'v>) -> FieldSet<'v>) -> Self {
        Comparison { added: keep(self.added), modified: keep(self.modified), removed: keep(self.removed) }
    }
}

/// Compares two objects of a type. `kind`, `apiVersion` and `metadata.managedFields` are never looked at: nobody owns
/// them. `None` where a list has an item that cannot be told from others, for want of any key field.
pub fn compare<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    old: &'v Value<'v>,
    new: &'v Value<'v>,
) -> Option<Comparison<'v>> {
    let walker = Walker { arena, schema, failed: Cell::new(false) };
    let mut level = Level::new(arena);
    let (old, new) = (filled_map(Some(old)), filled_map(Some(new)));
    match root.into() {
        Root::BuiltIn(ty) => zip_struct(schema.get(ty), old, new, &mut |field, old, new| {
            if !matches!(field.name, "kind" | "apiVersion") {
                let diff = walker.value(Shape::of_field(schema, field), old, new);
                level.push(PathElement::FieldName(field.name), diff);
            }
        }),
        Root::Structural(structural) => zip_map(old, new, &mut |key, old, new| {
            if !matches!(key, "kind" | "apiVersion") {
                let shape = Object::root(structural).member(schema, key).unwrap_or(Shape::Deduced);
                level.push(PathElement::FieldName(key), walker.value(shape, old, new));
            }
        }),
        Root::Deduced => zip_map(old, new, &mut |key, old, new| match key {
            "kind" | "apiVersion" => {}
            "metadata" => level.push(PathElement::FieldName(key), walker.deduced_metadata(old, new)),
            _ => level.push(PathElement::FieldName(key), walker.value(Shape::Deduced, old, new)),
        }),
    }
    let diff = level.finish();
    (!walker.failed.get()).then_some(Comparison {
        added: diff.added.below,
        modified: diff.modified.below,
        removed: diff.removed.below,
    })
}

/// One set of a comparison, from one value down.
#[derive(Clone, Copy, Default)]
struct Part<'v> {
    itself: bool,
    below: FieldSet<'v>,
}

#[derive(Clone, Copy, Default)]
struct Diff<'v> {
    added: Part<'v>,
    modified: Part<'v>,
    removed: Part<'v>,
}

/// The members of one value, while they are compared.
struct Level<'v> {
    added: ArenaVec<'v, Node<'v>>,
    modified: ArenaVec<'v, Node<'v>>,
    removed: ArenaVec<'v, Node<'v>>,
}

impl<'v> Level<'v> {
    fn new(arena: &'v Bump) -> Self {
        Level {
            added: ArenaVec::new_in(arena),
            modified: ArenaVec::new_in(arena),
            removed: ArenaVec::new_in(arena),
        }
    }

    /// Makes room for all members of a value that only one side has: there each is a node.
    fn expect(&mut self, old: usize, new: usize) {
        match (old, new) {
            (0, new) => self.added.reserve_exact(new),
            (old, 0) => self.removed.reserve_exact(old),
            _ => {}
        }
    }

    fn push(&mut self, element: PathElement<'v>, diff: Diff<'v>) {
        fn add<'v>(nodes: &mut ArenaVec<'v, Node<'v>>, element: PathElement<'v>, part: Part<'v>) {
            if part.itself || !part.below.is_empty() {
                nodes.push(Node { element, member: part.itself, children: part.below });
            }
        }
        add(&mut self.added, element, diff.added);
        add(&mut self.modified, element, diff.modified);
        add(&mut self.removed, element, diff.removed);
    }

    fn finish(self) -> Diff<'v> {
        let below = |nodes| Part { itself: false, below: FieldSet::from_nodes(nodes) };
        Diff { added: below(self.added), modified: below(self.modified), removed: below(self.removed) }
    }
}

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
    /// An item without a path element was met.
    failed: Cell<bool>,
}

impl<'v> Walker<'v> {
    /// Compares two values of which at least one is there.
    fn value(&self, shape: Shape<'v>, old: Option<&'v Value<'v>>, new: Option<&'v Value<'v>>) -> Diff<'v> {
        let mut level = Level::new(self.arena);
        match shape {
            Shape::Struct { id, atomic: false } => {
                let (a, b) = (filled_map(old), filled_map(new));
                if a.is_none() && b.is_none() {
                    return self.leaf(old, new);
                }
                level.expect(a.map_or(0, Map::len), b.map_or(0, Map::len));
                zip_struct(self.schema.get(id), a, b, &mut |field, old, new| {
                    // Only object metadata has a field of this name.
                    if field.name != "managedFields" {
                        let diff = self.value(Shape::of_field(self.schema, field), old, new);
                        level.push(PathElement::FieldName(field.name), diff);
                    }
                });
            }
            Shape::Map { element, atomic: false } => {
                let shape = Shape::of_element(self.schema, element);
                if !self.entries(shape, old, new, &mut level) {
                    return self.leaf(old, new);
                }
            }
            Shape::List { element, relation: relation @ (Relation::Set | Relation::Keys(_)) } => {
                let (a, b) = (items(old), items(new));
                if a.is_empty() && b.is_empty() {
                    return self.leaf(old, new);
                }
                self.list(ListOf::Elements(element, relation), a, b, &mut level);
            }
            Shape::Leaf
            | Shape::Scalar(_)
            | Shape::Struct { .. }
            | Shape::Map { .. }
            | Shape::List { .. } => return self.leaf(old, new),
            Shape::Object(_) | Shape::Rows(_) | Shape::Deduced | Shape::Union(_) => {
                return self.of_model(shape, old, new);
            }
        }
        let mut diff = level.finish();
        diff.added.itself = old.is_none();
        diff.removed.itself = new.is_none();
        diff
    }

    /// Compares values of a model. Where a value may be of several kinds, and the two are not of the same one, each
    /// counts as what it is; nothing, and null, as an object.
    fn of_model(&self, shape: Shape<'v>, old: Option<&'v Value<'v>>, new: Option<&'v Value<'v>>) -> Diff<'v> {
        let (a, b) = (old.map_or(Kind::Any, Kind::of), new.map_or(Kind::Any, Kind::of));
        let mut level = Level::new(self.arena);
        let is_leaf = match shape {
            Shape::Object(_) => self.kind(shape, Kind::Any, old, new, &mut level),
            Shape::Rows(_) => self.kind(shape, Kind::List, old, new, &mut level),
            _ if old.is_none() || a == b => self.kind(shape, b, old, new, &mut level),
            _ if new.is_none() => self.kind(shape, a, old, new, &mut level),
            _ => {
                let is_leaf = self.kind(shape, a, old, new, &mut level);
                // Null beside an object has said all that there is to say.
                let rest = match (a, b) {
                    (Kind::Any | Kind::Map, Kind::Any | Kind::Map) => false,
                    _ => self.kind(shape, b, old, new, &mut level),
                };
                is_leaf || rest
            }
        };
        let mut diff = level.finish();
        if is_leaf {
            let leaf = self.leaf(old, new);
            diff.added.itself = leaf.added.itself;
            diff.modified.itself = leaf.modified.itself;
            diff.removed.itself = leaf.removed.itself;
        } else {
            diff.added.itself = old.is_none();
            diff.removed.itself = new.is_none();
        }
        diff
    }

    /// Compares what lies below two values that are taken for values of one kind; true where they are to be compared as
    /// a whole.
    fn kind(
        &self,
        shape: Shape<'v>,
        kind: Kind,
        old: Option<&'v Value<'v>>,
        new: Option<&'v Value<'v>>,
        level: &mut Level<'v>,
    ) -> bool {
        let object = match (kind, shape) {
            (Kind::Any | Kind::Map, Shape::Deduced) => return !self.entries(Shape::Deduced, old, new, level),
            (Kind::Any | Kind::Map, Shape::Object(object)) => object,
            (Kind::Any | Kind::Map, Shape::Union(union)) => union.object(),
            (Kind::List, Shape::Rows(rows)) => return !self.rows(rows, old, new, level),
            (Kind::List, Shape::Union(union)) => return !self.rows(union.rows(), old, new, level),
            _ => return true,
        };
        let (a, b) = (filled_map(old), filled_map(new));
        if object.is_atomic() || a.is_none() && b.is_none() {
            return true;
        }
        level.expect(a.map_or(0, Map::len), b.map_or(0, Map::len));
        zip_map(a, b, &mut |key, old, new| {
            let shape = object.member(self.schema, key).unwrap_or(Shape::Deduced);
            level.push(PathElement::FieldName(key), self.value(shape, old, new));
        });
        false
    }

    /// Compares the items of lists; answers whether there are any to be told apart.
    fn rows(
        &self,
        rows: Rows<'v>,
        old: Option<&'v Value<'v>>,
        new: Option<&'v Value<'v>>,
        level: &mut Level<'v>,
    ) -> bool {
        let (of, a, b) = (ListOf::Rows(rows), items(old), items(new));
        if of.is_atomic() || a.is_empty() && b.is_empty() {
            return false;
        }
        self.list(of, a, b, level);
        true
    }

    /// Compares metadata of which no type is known.
    fn deduced_metadata(&self, old: Option<&'v Value<'v>>, new: Option<&'v Value<'v>>) -> Diff<'v> {
        let (a, b) = (filled_map(old), filled_map(new));
        if a.is_none() && b.is_none() {
            return self.leaf(old, new);
        }
        let mut level = Level::new(self.arena);
        zip_map(a, b, &mut |key, old, new| {
            if key != "managedFields" {
                level.push(PathElement::FieldName(key), self.value(Shape::Deduced, old, new));
            }
        });
        let mut diff = level.finish();
        diff.added.itself = old.is_none();
        diff.removed.itself = new.is_none();
        diff
    }

    fn leaf(&self, old: Option<&'v Value<'v>>, new: Option<&'v Value<'v>>) -> Diff<'v> {
        let itself = Part { itself: true, below: FieldSet::EMPTY };
        match (old, new) {
            (None, _) => Diff { added: itself, ..Diff::default() },
            (_, None) => Diff { removed: itself, ..Diff::default() },
            (Some(old), Some(new)) if equal_values(self.arena, old, new) => Diff::default(),
            _ => Diff { modified: itself, ..Diff::default() },
        }
    }

    /// Compares the entries of maps; answers whether there are any.
    fn entries(
        &self,
        shape: Shape<'v>,
        old: Option<&'v Value<'v>>,
        new: Option<&'v Value<'v>>,
        level: &mut Level<'v>,
    ) -> bool {
        let (a, b) = (filled_map(old), filled_map(new));
        level.expect(a.map_or(0, Map::len), b.map_or(0, Map::len));
        zip_map(a, b, &mut |key, old, new| {
            level.push(PathElement::FieldName(key), self.value(shape, old, new));
        });
        a.is_some() || b.is_some()
    }

    /// Compares items by their path elements. Items that have the same one are taken together as one value.
    fn list(&self, of: ListOf<'v>, old: &'v [Value<'v>], new: &'v [Value<'v>], level: &mut Level<'v>) {
        if old == new {
            let no_step = |item| of.lacks_keys(item) && of.step(self.arena, self.schema, item).is_err();
            self.failed.set(self.failed.get() || old.iter().any(no_step));
            return;
        }
        let shape = of.item_shape(self.schema);
        let mut both = Vec::with_capacity(old.len() + new.len());
        for item in old.iter().chain(new) {
            match of.step(self.arena, self.schema, item) {
                Ok(element) => both.push((element, item)),
                Err(_) => return self.failed.set(true),
            }
        }
        // Positions below this one are of the old list.
        let old_len = old.len();
        level.expect(old_len, new.len());
        let index = Index::new(self.arena, both.iter().map(|(element, _)| *element));
        for group in index.groups() {
            let at = group[0].0;
            let items = |old: bool| {
                let of = group.iter().filter(move |(_, at)| (*at < old_len) == old);
                of.map(|(_, at)| both[*at].1).collect::<Vec<_>>()
            };
            let (a, b) = (items(true), items(false));
            let itself = Part { itself: true, below: FieldSet::EMPTY };
            let diff = match (a.as_slice(), b.as_slice()) {
                ([], [one]) => self.value(shape, None, Some(one)),
                ([one], []) => self.value(shape, Some(one), None),
                ([a], [b]) => self.value(shape, Some(a), Some(b)),
                ([_, _, ..], [_, _, ..]) => {
                    let equal =
                        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| equal_values(self.arena, a, b));
                    if equal { Diff::default() } else { Diff { modified: itself, ..Diff::default() } }
                }
                ([_, _, ..], rest) => {
                    let one = rest.first().map(|one| self.value(shape, None, Some(one)));
                    Diff { removed: itself, ..one.unwrap_or_default() }
                }
                (rest, _) => {
                    let one = rest.first().map(|one| self.value(shape, Some(one), None));
                    Diff { added: itself, ..one.unwrap_or_default() }
                }
            };
            level.push(at, diff);
        }
    }
}

/// The kinds of values that are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Null.
    Any,
    Scalar,
    List,
    Map,
}

impl Kind {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Kind::Any,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) => Kind::Scalar,
            Value::List(_) => Kind::List,
            Value::Map(_) | Value::Raw(_) => Kind::Map,
        }
    }
}
