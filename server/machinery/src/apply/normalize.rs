//! Objects in the form in which their fields are counted: with everything that the Go struct would show.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    json::zero,
    schema::{Composite, Field, Placed, Schema, Struct, StructId, Type, bits},
    value::{Map, Value},
};

/// Brings an object that was decoded, and changed since, into the form that decoding leaves: fields in order, those
/// that are always there filled in, empty ones that are left out taken away.
pub fn normalize<'a>(arena: &'a Bump, schema: &Schema, ty: StructId, object: &mut Value<'a>) -> SetAside<'a> {
    let mut walk = Walk { arena, schema, empties: Vec::new() };
    walk.value(Type::Struct(ty), object);
    SetAside(walk.empties)
}

/// Lists and maps without items that no field counts for, and that are not nil all the same: rules tell the two apart.
#[derive(Debug, Default)]
#[must_use = "who validates the object next must see them"]
pub struct SetAside<'a>(Vec<Empty<'a>>);

/// One of them, and the way to what held it, innermost first.
#[derive(Debug)]
struct Empty<'a> {
    way: Vec<Step<'a>>,
    field: &'static str,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Name(&'a str),
    Item(usize),
}

impl<'a> SetAside<'a> {
    /// Puts them where they were.
    pub fn put_back(self, object: &mut Value<'a>) {
        for Empty { way, field, value } in self.0 {
            let holder = way.iter().rev().try_fold(&mut *object, |at, step| match (step, at) {
                (Step::Name(name), Value::Map(map)) => map.get_mut(name),
                (Step::Item(at), Value::List(list)) => list.get_mut(*at),
                _ => None,
            });
            if let Some(map) = holder.and_then(Value::as_map_mut)
                && map.get(field).is_none()
            {
                map.push_unique(field, value);
            }
        }
    }

    /// Leaves them out for good.
    pub fn forget(self) {}
}

/// An empty list of managed fields stays: it says that they are to be forgotten.
fn left_out(schema: &Schema, field: &Field, value: &Value<'_>) -> bool {
    zero::left_out(schema, field, value) && (field.name != "managedFields" || value.is_null())
}

struct Walk<'a, 's> {
    arena: &'a Bump,
    schema: &'s Schema,
    empties: Vec<Empty<'a>>,
}

fn holds_structs(schema: &Schema, ty: Type) -> bool {
    match ty {
        Type::Struct(_) | Type::Alternative(_) => true,
        Type::Composite(id) => match schema.composite(id) {
            Composite::List(element) | Composite::Map(element) => holds_structs(schema, element.ty),
        },
        _ => false,
    }
}

impl<'a> Walk<'a, '_> {
    fn value(&mut self, ty: Type, slot: &mut Value<'a>) {
        let schema = self.schema;
        match (ty, slot) {
            (Type::Struct(id), Value::Map(map)) => self.members(id, map),
            (Type::Composite(id), slot) => match (schema.composite(id), slot) {
                (Composite::List(element), Value::List(list)) if holds_structs(schema, element.ty) => {
                    for (at, item) in list.iter_mut().enumerate() {
                        self.below(element.ty, item, Step::Item(at));
                    }
                }
                (Composite::Map(element), Value::Map(map)) if holds_structs(schema, element.ty) => {
                    for (key, item) in map.iter_mut() {
                        self.below(element.ty, item, Step::Name(key));
                    }
                }
                _ => {}
            },
            (Type::Alternative(id), Value::Map(map)) => {
                self.members(schema.alternative(id).object, map);
            }
            (Type::Alternative(id), slot @ Value::List(_)) => {
                self.value(schema.alternative(id).other, slot);
            }
            _ => {}
        }
    }

    /// A value that a step leads to.
    fn below(&mut self, ty: Type, slot: &mut Value<'a>, step: Step<'a>) {
        let before = self.empties.len();
        self.value(ty, slot);
        for empty in &mut self.empties[before..] {
            empty.way.push(step);
        }
    }

    fn members(&mut self, id: StructId, map: &mut Map<'a>) {
        let of = self.schema.get(id);
        // Fields that are as they have to be; those of the entries up to here, as long as these are in order.
        let mut good = 0u64;
        let mut all_good = true;
        for (key, slot) in map.entries_mut() {
            let field =
                of.index_of(key).filter(|index| good >> index == 0).map(|index| (index, &of.fields[index]));
            let Some((index, field)) = field.filter(|(_, field)| !left_out(self.schema, field, slot)) else {
                all_good = false;
                break;
            };
            good |= 1 << index;
            // Walks know this text at once.
            *key = field.name;
            if let Value::Map(_) | Value::List(_) = slot {
                self.below(field.ty, slot, Step::Name(field.name));
            }
        }
        if !all_good || of.always & !good != 0 {
            self.rebuild(of, map, good);
        }
    }

    /// Puts the entries in order, makes what is missing, and drops what is too much. Nothing is to be done to the values
    /// of the fields in `good`.
    #[cold]
    fn rebuild(&mut self, of: &Struct, map: &mut Map<'a>, good: u64) {
        let mut old = std::mem::replace(map, Map::new_in(self.arena));
        let mut entries = ArenaVec::with_capacity_in(old.len() + 2, self.arena);
        let placed = Placed::by_field(of, &old);
        // A map of more entries than there are fields is looked through by name.
        let candidates = placed.as_ref().map_or(u64::MAX, |placed| placed.given() | of.always);
        for index in bits(candidates).take_while(|index| *index < of.fields.len()) {
            let field = &of.fields[index];
            let given = match &placed {
                Some(placed) => placed.entry(index).and_then(|entry| old.take_at(entry)),
                None => old.get_mut(field.name).map(|slot| std::mem::replace(slot, Value::Null)),
            };
            let entry = match given {
                Some(given) if good >> index & 1 != 0 => Some(given),
                Some(given) if left_out(self.schema, field, &given) => {
                    if matches!(
                        (field.ty, &given),
                        (_, Value::List(_) | Value::Map(_)) | (Type::Bytes, Value::String(_))
                    ) {
                        self.empties.push(Empty { way: Vec::new(), field: field.name, value: given });
                    }
                    None
                }
                Some(mut given) => {
                    self.below(field.ty, &mut given, Step::Name(field.name));
                    Some(given)
                }
                None => zero::unset(self.arena, self.schema, field),
            };
            entries.extend(entry.map(|value| (field.name, value)));
        }
        *map = Map::from_entries(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, Mode};

    #[test]
    fn what_is_empty_comes_back() {
        let arena = Bump::new();
        let schema = Schema::builtin();
        let ty = schema.kind("apps", "v1", "Deployment").unwrap().ty;
        let text = r#"{"metadata":{"labels":{},"name":"a"},"spec":{"selector":{"matchLabels":{}},"template":{"spec":{
            "containers":[{"name":"a","ports":[]},{"name":"b","env":[{"name":"c"}],"command":[]}]}}}}"#;
        let body = arena.alloc_slice_copy(text.as_bytes());
        let mut object = json::decode_typed(&arena, schema, ty, body, Mode::Lenient).unwrap().value;
        let at = |object: &Value<'_>, path: &[&str]| object.path(path).map(Value::json_kind);
        let container = |object: &Value<'_>, at: usize, member: &str| {
            let list = object.path(&["spec", "template", "spec", "containers"]).unwrap().as_list().unwrap();
            list[at].path(&[member]).map(Value::json_kind)
        };
        let seen = |object: &Value<'_>| {
            [
                at(object, &["metadata", "labels"]),
                at(object, &["spec", "selector", "matchLabels"]),
                container(object, 0, "ports"),
                container(object, 1, "command"),
            ]
        };
        let all = [Some("object"), Some("object"), Some("array"), Some("array")];
        assert_eq!(seen(&object), all);
        let mut before = Vec::new();
        json::encode(schema, ty, &object, &mut before);
        assert!(!String::from_utf8_lossy(&before).contains("matchLabels"), "what is empty is not written");

        let empties = normalize(&arena, schema, ty, &mut object);
        assert_eq!(seen(&object), [None; 4]);
        empties.put_back(&mut object);
        assert_eq!(seen(&object), all);
        let mut after = Vec::new();
        json::encode(schema, ty, &object, &mut after);
        assert_eq!(before, after);
    }
}
