//! Whether a tree fits its type, as a configuration to apply must.

use bumpalo::Bump;

use super::{
    items::{Index, ListOf},
    model::{Object, Scalar},
    path::PathElement,
    shape::{Root, Shape},
};
use crate::{
    json::quote::go_quote,
    limits::APPLY_ERROR_TEXT,
    schema::{Schema, StructId, Type},
    value::{Map, Value},
};

/// Whether items of a list may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// They may: an object that is stored has what it has.
    Allowed,
    /// They may not.
    Refused,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where (`.spec.ports[0]`), empty for the object itself.
    pub path: String,
    /// What.
    pub message: String,
}

/// The text of all problems.
pub fn problems_text(problems: &[Problem]) -> String {
    let one = |p: &Problem| match p.path.as_str() {
        "" => p.message.clone(),
        path => format!("{path}: {}", p.message),
    };
    match problems {
        [only] => one(only),
        _ => {
            let lines = problems.iter().map(|p| format!("  {}", one(p)));
            std::iter::once("errors:".to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
        }
    }
}

/// What is wrong with a tree of a type; empty when nothing is. No more than
/// [`APPLY_ERROR_TEXT`] has room for is told.
pub fn validate<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    object: &'v Value<'v>,
    duplicates: Duplicates,
) -> Vec<Problem> {
    Walker::new(arena, schema, duplicates).problems_of(root.into(), object)
}

/// As [`validate`], of a configuration that an expression made: items may not be the same, and opaque text stands for a
/// value that no JSON text could say. Nowhere else is it that: metadata has such text of who owns which fields.
pub fn validate_made<'v>(
    arena: &'v Bump,
    schema: &'v Schema,
    root: impl Into<Root<'v>>,
    config: &'v Value<'v>,
) -> Vec<Problem> {
    let walker = Walker { is_made: true, ..Walker::new(arena, schema, Duplicates::Refused) };
    walker.problems_of(root.into(), config)
}

/// Beside the shapes of a model, which know their scalars.
const MODEL: Type = Type::RawExtension;

struct Walker<'v> {
    arena: &'v Bump,
    schema: &'v Schema,
    duplicates: Duplicates,
    is_made: bool,
    path: String,
    problems: Vec<Problem>,
    room: usize,
}

impl<'v> Walker<'v> {
    fn new(arena: &'v Bump, schema: &'v Schema, duplicates: Duplicates) -> Self {
        let (path, problems) = (String::new(), Vec::new());
        Walker { arena, schema, duplicates, is_made: false, path, problems, room: APPLY_ERROR_TEXT }
    }

    fn problems_of(mut self, root: Root<'v>, object: &'v Value<'v>) -> Vec<Problem> {
        self.value(Shape::of_root(self.schema, root), MODEL, object);
        self.problems
    }

    fn problem(&mut self, message: String) {
        if self.room > 0 {
            self.room = self.room.saturating_sub(self.path.len() + message.len());
            self.problems.push(Problem { path: self.path.clone(), message });
        }
    }

    fn below(&mut self, element: &PathElement<'_>, see: impl FnOnce(&mut Self)) {
        let len = self.path.len();
        self.path.push_str(&element.to_string());
        see(self);
        self.path.truncate(len);
    }

    fn value(&mut self, shape: Shape<'v>, ty: Type, value: &'v Value<'v>) {
        match (shape, value) {
            (Shape::Deduced, Value::Raw(_)) if self.is_made => {
                self.problem(format!("expected map, got {}", shown(value)));
            }
            (_, Value::Null) | (Shape::Deduced, _) => {}
            (Shape::Struct { id, .. }, Value::Map(map)) => self.members(id, map),
            (Shape::Map { element, .. }, Value::Map(map)) => {
                let shape = Shape::of_element(self.schema, element);
                for (key, value) in map.iter() {
                    self.below(&PathElement::FieldName(key), |w| w.value(shape, element.ty, value));
                }
            }
            (Shape::List { element, relation }, Value::List(list)) => {
                self.list(ListOf::Elements(element, relation), element.ty, list);
            }
            (Shape::Object(object), Value::Map(map)) => self.object(object, map),
            (Shape::Union(union), Value::Map(map)) => self.object(union.object(), map),
            (Shape::Rows(rows), Value::List(list)) => self.list(ListOf::Rows(rows), MODEL, list),
            (Shape::Union(union), Value::List(list)) => self.list(ListOf::Rows(union.rows()), MODEL, list),
            (Shape::Union(_), _) => {}
            (Shape::Struct { .. } | Shape::Map { .. } | Shape::Object(_), value) => {
                self.problem(format!("expected map, got {}", shown(value)));
            }
            (Shape::List { .. } | Shape::Rows(_), value) => {
                self.problem(format!("expected list, got {}", shown(value)));
            }
            (Shape::Leaf, value) => self.scalar(ty, value),
            (Shape::Scalar(scalar), value) => self.model_scalar(scalar, value),
        }
    }

    fn members(&mut self, id: StructId, map: &'v Map<'v>) {
        let of = self.schema.get(id);
        for (key, value) in map.iter() {
            match of.field(key) {
                Some((_, field)) => {
                    let shape = Shape::of_field(self.schema, field);
                    self.below(&PathElement::FieldName(key), |w| w.value(shape, field.ty, value));
                }
                // A type that declares no fields takes any.
                None if of.fields.is_empty() => {}
                None => {
                    self.below(&PathElement::FieldName(key), |w| {
                        w.problem("field not declared in schema".into());
                    });
                    return;
                }
            }
        }
    }

    fn object(&mut self, object: Object<'v>, map: &'v Map<'v>) {
        for (key, value) in map.iter() {
            let element = PathElement::FieldName(key);
            match object.member(self.schema, key) {
                Some(shape) => self.below(&element, |w| w.value(shape, MODEL, value)),
                None => return self.below(&element, |w| w.problem("field not declared in schema".into())),
            }
        }
    }

    /// Looks at items up to the first one that has no path element.
    fn list(&mut self, of: ListOf<'v>, ty: Type, list: &'v [Value<'v>]) {
        let shape = of.item_shape(self.schema);
        let (arena, schema) = (self.arena, self.schema);
        let mut failed = None;
        let mut step = |(at, item)| {
            if of.is_atomic() {
                return Some(PathElement::Index(at as i64));
            }
            match of.step(arena, schema, item) {
                Ok(step) => Some(step),
                Err(why) => {
                    failed = Some(format!("element {at}: {why}"));
                    None
                }
            }
        };
        let steps: Vec<_> = list.iter().enumerate().map_while(&mut step).collect();
        let index = Index::new(arena, steps.iter().copied());
        for (at, (step, item)) in steps.iter().zip(list).enumerate() {
            let again = index.positions(step).first().is_some_and(|(_, first)| *first < at);
            if again && self.duplicates == Duplicates::Refused {
                self.problem(format!("duplicate entries for key {step}"));
            }
            self.below(step, |w| w.value(shape, ty, item));
        }
        if let Some(why) = failed {
            self.problem(why);
        }
    }

    fn model_scalar(&mut self, scalar: Scalar, value: &Value<'_>) {
        match scalar {
            Scalar::Numeric => self.scalar(Type::Float64, value),
            Scalar::String => self.scalar(Type::String, value),
            Scalar::Boolean => self.scalar(Type::Bool, value),
            Scalar::Untyped => self.scalar(Type::Quantity, value),
        }
    }

    fn scalar(&mut self, ty: Type, value: &Value<'_>) {
        let message = match (ty, value) {
            // Its OpenAPI type is none, so anything goes.
            (Type::RawExtension | Type::FieldsV1 | Type::IntOrString, _) => return,
            (Type::String | Type::Bytes | Type::Duration, Value::String(_))
            | (Type::Bool, Value::Bool(_))
            | (Type::Int32 | Type::Int64 | Type::Float64, Value::Int(_) | Value::Float(_)) => return,
            (Type::String | Type::Bytes | Type::Duration, value) => {
                format!("expected string, got {}", go_syntax(value))
            }
            (Type::Bool, value) => format!("expected boolean, got {}", shown(value)),
            (Type::Int32 | Type::Int64 | Type::Float64, value) => {
                format!("expected numeric (int or float), got {}", value.go_type())
            }
            (_, Value::List(_) | Value::Map(_)) => format!("expected any scalar, got {}", shown(value)),
            _ => return,
        };
        self.problem(message);
    }
}

/// A value as Go's `%v` prints the library's wrapper of it.
fn shown(value: &Value<'_>) -> String {
    format!("&{{{}}}", inner(value))
}

/// A value as Go's `%#v` prints the library's wrapper of it.
fn go_syntax(value: &Value<'_>) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go_literal(value))
}

/// A value as Go's `%#v` prints it.
fn go_literal(value: &Value<'_>) -> String {
    match value {
        Value::String(s) | Value::Raw(s) => go_quote(s),
        Value::Null => "interface {}(nil)".into(),
        Value::List(list) => {
            format!("{}{{{}}}", value.go_type(), list.iter().map(go_literal).collect::<Vec<_>>().join(", "))
        }
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries =
                entries.iter().map(|(key, value)| format!("{}:{}", go_quote(key), go_literal(value)));
            format!("{}{{{}}}", value.go_type(), entries.collect::<Vec<_>>().join(", "))
        }
        value => inner(value),
    }
}

fn inner(value: &Value<'_>) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(f) => f.to_string(),
        Value::String(s) | Value::Raw(s) => (*s).to_owned(),
        Value::List(list) => format!("[{}]", list.iter().map(inner).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries = entries.iter().map(|(key, value)| format!("{key}:{}", inner(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}
