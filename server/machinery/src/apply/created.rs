//! The fields of a new object, straight from the object to the text of its first entry.
//!
//! What the writer of a new object owns is what differs from the object with nothing set. That is known from the
//! Schema field by field, so neither that object nor a set of paths is made: the text is what [`compare`] and
//! [`print_fields`] would come to.
//!
//! [`compare`]: super::compare
//! [`print_fields`]: super::print_fields

use std::ops::Range;

use bumpalo::Bump;

use super::{
    fields_v1::write_element,
    items::{Index, ListOf},
    path::{PathElement, equal_values},
    shape::{Relation, Shape},
    updater,
    walk::{filled_map, items, sorted},
};
use crate::{
    json::zero,
    schema::{Element, Field, Placed, Schema, Struct, StructId, Type, bits},
    value::{Map, Value},
};

/// What stands in the object with nothing set.
#[derive(Clone, Copy)]
enum Unset {
    /// Nothing.
    Absent,
    /// `null`, or the zero value of a type that is no struct.
    Scalar(Option<Type>),
    /// A struct with nothing set.
    Struct(StructId),
}

impl Unset {
    fn of(field: &Field) -> Unset {
        if zero::left_out_unset(field) {
            Unset::Absent
        } else if field.pointer {
            Unset::Scalar(None)
        } else {
            match field.ty {
                Type::Struct(id) => Unset::Struct(id),
                ty => Unset::Scalar(Some(ty)),
            }
        }
    }
}

/// What is below a member of a new object in the `FieldsV1` of its writer.
#[derive(Clone, Copy, Debug)]
pub struct KnownFields<'k> {
    /// Name of the member.
    pub member: &'k str,
    /// The text, where it is known: what the walk over its value would write.
    pub text: Option<&'k str>,
}

/// `FieldsV1` of what a new object sets, without `unowned` members of the object itself and without what nobody owns; and
/// where in it the text below a member stands, or belongs where that is known: it is left out then. `None` where it takes
/// more than one walk to know: the sets have to be made then.
pub(super) fn fields_of_new<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    ty: StructId,
    unowned: &[&'static [&'static str]],
    new: &'v Value<'v>,
    known: KnownFields<'_>,
) -> Option<(Vec<u8>, Range<usize>)> {
    if unowned.iter().any(|path| path.len() != 1) {
        return None;
    }
    let mut printer = Printer {
        arena,
        schema,
        out: Vec::with_capacity(TEXT_FIRST),
        scratch: Vec::new(),
        failed: false,
        known,
        place: 0..0,
    };
    printer.out.push(b'{');
    printer.members(schema.get(ty), true, filled_map(Some(new))?, Level::Object(unowned));
    printer.out.push(b'}');
    if printer.failed || printer.out.len() <= 2 {
        return None;
    }
    Some((printer.out, printer.place))
}

/// Bytes that a text has room for from the start: those of a pod as a controller makes it.
const TEXT_FIRST: usize = 4096;

/// What a struct is to the object.
#[derive(Clone, Copy)]
enum Level<'u> {
    /// The object itself; of its members, nobody owns these.
    Object(&'u [&'static [&'static str]]),
    /// Its metadata.
    Metadata,
    /// Anything else.
    Below,
}

impl Level<'_> {
    /// Whether nobody owns a member.
    fn leaves_out(self, name: &str) -> bool {
        match self {
            Level::Object(unowned) => {
                matches!(name, "kind" | "apiVersion") || unowned.iter().any(|path| path[0] == name)
            }
            Level::Metadata => updater::is_unowned_metadata(name),
            Level::Below => false,
        }
    }
}

struct Printer<'v, 'k> {
    /// What is written below a member of the object.
    known: KnownFields<'k>,
    /// Where that stands.
    place: Range<usize>,
    arena: &'v Bump,
    schema: &'v Schema,
    out: Vec<u8>,
    scratch: Vec<u8>,
    failed: bool,
}

impl<'v> Printer<'v, '_> {
    /// Writes the fields of a struct in the order of their names. `zero` tells whether the unset object has the struct
    /// here, with nothing set.
    fn members(&mut self, of: &'v Struct, zero: bool, map: &'v Map<'v>, level: Level<'_>) {
        let Some(placed) = Placed::by_name(of, map).filter(|placed| !placed.has_strangers()) else {
            self.failed = true;
            return;
        };
        // No comma behind the brace that opened the struct.
        let mut first = self.out.last() == Some(&b'{');
        for place in bits(placed.given()) {
            let Some(value) = placed.value(map, place) else { continue };
            let field = &of.fields[usize::from(of.by_name[place])];
            // Only object metadata has a field of this name.
            if level.leaves_out(field.name) || field.name == "managedFields" {
                continue;
            }
            let start = self.out.len();
            if first {
                field.step.write_first(&mut self.out)
            } else {
                field.step.write(&mut self.out)
            }
            let unset = if zero { Unset::of(field) } else { Unset::Absent };
            let is_known = matches!(level, Level::Object(_)) && field.name == self.known.member;
            if is_known && self.known.text.is_some() {
                self.place = self.out.len()..self.out.len();
                self.end_step(start, true);
                first = false;
                continue;
            }
            let inside = self.out.len();
            let counts = match (unset, field.ty) {
                (
                    _,
                    Type::Struct(_) | Type::Composite(_) | Type::FieldsV1 | Type::Json | Type::Alternative(_),
                ) => {
                    let below = match level {
                        Level::Object(_) if field.name == "metadata" => Level::Metadata,
                        _ => Level::Below,
                    };
                    self.value(Shape::of_field(self.schema, field), unset, value, below)
                }
                // The most by far.
                (Unset::Absent, _) => true,
                (unset, _) => self.leaf(unset, value),
            };
            if is_known && counts {
                self.place = inside..self.out.len();
            }
            self.end_step(start, counts);
            first &= !counts;
        }
    }

    /// Writes a step of a list or map and what is below it; nothing where neither counts.
    fn node(&mut self, element: &PathElement<'v>, shape: Shape<'v>, value: &'v Value<'v>) {
        let start = self.out.len();
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        write_element(element, &mut self.scratch, &mut self.out);
        self.out.extend_from_slice(b":{");
        let counts = self.value(shape, Unset::Absent, value, Level::Below);
        self.end_step(start, counts);
    }

    /// Ends the step that was begun at `start`, or takes it back.
    fn end_step(&mut self, start: usize, counts: bool) {
        if counts {
            self.out.push(b'}');
        } else {
            self.out.truncate(start);
        }
    }

    /// Writes what is below a value. Answers whether anything counts, be it the value alone.
    fn value(&mut self, shape: Shape<'v>, unset: Unset, value: &'v Value<'v>, level: Level<'_>) -> bool {
        match shape {
            Shape::Struct { id, atomic: false } => match filled_map(Some(value)) {
                // What the unset object has in it was taken away, which is no field.
                None if matches!(unset, Unset::Struct(id) if self.schema.get(id).always != 0) => false,
                None => self.leaf(unset, value),
                Some(map) => {
                    let of = self.schema.get(id);
                    let zero = matches!(unset, Unset::Struct(_));
                    self.below(unset, |this| this.members(of, zero, map, level))
                }
            },
            Shape::Map { element, atomic: false } => {
                self.entries(Shape::of_element(self.schema, element), unset, value)
            }
            Shape::Deduced => self.entries(Shape::Deduced, unset, value),
            Shape::List { element, relation: relation @ (Relation::Set | Relation::Keys(_)) } => {
                let list = items(Some(value));
                if list.is_empty() {
                    return self.leaf(unset, value);
                }
                self.below(unset, |this| this.list(element, relation, list))
            }
            Shape::Leaf | Shape::Struct { .. } | Shape::Map { .. } | Shape::List { .. } => {
                self.leaf(unset, value)
            }
            // No struct holds one.
            Shape::Scalar(_) | Shape::Object(_) | Shape::Rows(_) | Shape::Union(_) => {
                self.failed = true;
                false
            }
        }
    }

    /// Writes a value's inside. The value itself counts where the unset object has nothing in its place.
    fn below(&mut self, unset: Unset, write: impl FnOnce(&mut Self)) -> bool {
        let inside = self.out.len();
        let itself = matches!(unset, Unset::Absent);
        if itself {
            self.out.extend_from_slice(b"\".\":{}");
        }
        let filled = self.out.len();
        write(self);
        if self.out.len() > filled {
            return true;
        }
        self.out.truncate(inside);
        itself
    }

    fn entries(&mut self, shape: Shape<'v>, unset: Unset, value: &'v Value<'v>) -> bool {
        let Some(map) = filled_map(Some(value)) else { return self.leaf(unset, value) };
        self.below(unset, |this| {
            let mut entry = |(key, value): (&'v str, &'v Value<'v>)| {
                this.node(&PathElement::FieldName(key), shape, value);
            };
            if map.is_sorted() {
                map.iter().for_each(&mut entry);
            } else {
                sorted(Some(map)).into_iter().for_each(&mut entry);
            }
        })
    }

    /// Items that have the same path element are one value.
    fn list(&mut self, element: Element, relation: Relation, list: &'v [Value<'v>]) {
        let shape = Shape::of_element(self.schema, element);
        let of = ListOf::Elements(element, relation);
        let elements = list.iter().map(|item| of.step(self.arena, self.schema, item));
        let Ok(index) = Index::try_new(self.arena, elements) else {
            self.failed = true;
            return;
        };
        for group in index.groups() {
            match group {
                [(element, at)] => self.node(element, shape, &list[*at]),
                [(element, _), ..] => self.node(element, Shape::Leaf, &Value::Null),
                [] => {}
            }
        }
    }

    fn leaf(&self, unset: Unset, value: &Value<'_>) -> bool {
        match unset {
            Unset::Absent => true,
            Unset::Scalar(None) => !value.is_null(),
            Unset::Scalar(Some(ty)) => {
                let zero = zero::zero(self.arena, self.schema, ty);
                !equal_values(self.arena, &zero, value)
            }
            // A struct with nothing set is compared as a whole only where it is owned as a whole, or has nothing in it.
            Unset::Struct(id) => {
                let zero = zero::zero(self.arena, self.schema, Type::Struct(id));
                !equal_values(self.arena, &zero, value)
            }
        }
    }
}
