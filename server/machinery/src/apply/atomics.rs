//! What a configuration would put in the place of a whole: lists, maps and structs that are owned as one value.

use super::shape::{Relation, Root, Shape};
use crate::{
    schema::{Schema, StructId},
    value::{Map, Value},
};

/// Paths of all such parts of a configuration that fits its type.
pub fn atomics<'s>(schema: &'s Schema, root: impl Into<Root<'s>>, config: &Value<'_>) -> Vec<String> {
    let mut walker = Walker { schema, path: String::new(), found: Vec::new() };
    walker.value(Shape::of_root(schema, root.into()), config);
    walker.found
}

struct Walker<'s> {
    schema: &'s Schema,
    path: String,
    found: Vec<String>,
}

impl<'s> Walker<'s> {
    fn value(&mut self, shape: Shape<'s>, value: &Value<'_>) {
        match (shape, value) {
            (Shape::Struct { id, atomic }, Value::Map(map)) => {
                self.note(atomic);
                self.members(id, map);
            }
            (Shape::Map { atomic, .. }, Value::Map(_)) => self.note(atomic),
            (Shape::Object(object), Value::Map(map)) => {
                self.note(object.is_atomic());
                for (name, value) in map.iter() {
                    // Entries of maps are looked at no further.
                    if let Some(shape) = object.field(self.schema, name) {
                        self.below(&format!(".{name}"), shape, value);
                    }
                }
            }
            (Shape::List { element, relation }, Value::List(list)) => {
                self.note(matches!(relation, Relation::Atomic));
                let shape = Shape::of_element(self.schema, element);
                self.items(shape, list);
            }
            (Shape::Rows(rows), Value::List(list)) => {
                self.note(rows.list_type().is_none());
                self.items(rows.item(), list);
            }
            _ => {}
        }
    }

    fn members(&mut self, id: StructId, map: &Map<'_>) {
        for field in self.schema.get(id).fields.iter() {
            if let Some(value) = map.get(field.name) {
                let shape = Shape::of_field(self.schema, field);
                self.below(&format!(".{}", field.name), shape, value);
            }
        }
    }

    fn items(&mut self, shape: Shape<'s>, list: &[Value<'_>]) {
        for (at, item) in list.iter().enumerate() {
            self.below(&format!("[{at}]"), shape, item);
        }
    }

    fn below(&mut self, step: &str, shape: Shape<'s>, value: &Value<'_>) {
        let length = self.path.len();
        self.path.push_str(step);
        self.value(shape, value);
        self.path.truncate(length);
    }

    fn note(&mut self, atomic: bool) {
        if atomic {
            self.found.push(self.path.clone());
        }
    }
}
