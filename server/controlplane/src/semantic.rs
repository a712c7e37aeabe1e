//! Equality of objects as `apiequality.Semantic.DeepEqual` sees it: what is not a pointer in Go has a zero value
//! whether it is written or not, and an empty list or map is the same as none.

use ringbolt_machinery::{
    schema::{Composite, Schema, StructId, Type},
    value::{Map, Value},
};

use crate::tree::is_zero;

/// How the equal are told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equality {
    /// `apiequality.Semantic.DeepEqual`: an empty list or map is the same as none.
    Semantic,
    /// `reflect.DeepEqual`: it is not.
    Exact,
}

/// Whether two values of a type mean the same. `pointer` says whether absence differs from zero.
pub(crate) fn equal(
    schema: &Schema,
    ty: Type,
    pointer: bool,
    a: Option<&Value<'_>>,
    b: Option<&Value<'_>>,
) -> bool {
    Equality::Semantic.of(schema, ty, pointer, a, b)
}

/// Whether two values of a field of a built-in kind mean the same. The path leads from the object's root through
/// structs; lists and maps on the way are stepped over.
pub(crate) fn field_equal(
    (group, version, kind): (&str, &str, &str),
    path: &[&str],
    a: Option<&Value<'_>>,
    b: Option<&Value<'_>>,
) -> bool {
    let schema = Schema::builtin();
    let Some(kind) = schema.kind(group, version, kind) else { return a == b };
    let (mut ty, mut pointer) = (Type::Struct(kind.ty), false);
    for step in path {
        while let Type::Composite(id) = ty {
            let (Composite::List(element) | Composite::Map(element)) = schema.composite(id);
            ty = element.ty;
        }
        let Type::Struct(id) = ty else { return a == b };
        let Some((_, field)) = schema.get(id).field(step) else { return a == b };
        (ty, pointer) = (field.ty, field.pointer);
    }
    equal(schema, ty, pointer, a, b)
}

/// Whether two structs agree in every field but the ones left out.
pub(crate) fn structs_equal(
    schema: &Schema,
    id: StructId,
    a: &Map<'_>,
    b: &Map<'_>,
    skip: impl Fn(&str) -> bool,
) -> bool {
    Equality::Semantic.structs(schema, id, a, b, skip)
}

/// Whether two states of an object differ in nothing but what garbage collection writes (`IsOnlyMutatingGCFields`).
pub(crate) fn only_gc_fields_differ(ty: StructId, object: &Value<'_>, old: &Value<'_>) -> bool {
    // Who wrote a field is no part of what is written, and a version may be left out by who does not insist on it.
    const COLLECTED: [&str; 5] =
        ["ownerReferences", "finalizers", "selfLink", "managedFields", "resourceVersion"];
    let schema = Schema::builtin();
    let (Some(new), Some(old)) = (object.as_map(), old.as_map()) else { return false };
    let Some((_, metadata)) = schema.get(ty).field("metadata") else { return false };
    let (Type::Struct(metadata), Some(new_metadata), Some(old_metadata)) = (
        metadata.ty,
        new.get("metadata").and_then(Value::as_map),
        old.get("metadata").and_then(Value::as_map),
    ) else {
        return false;
    };
    // What is stored does not say its kind.
    structs_equal(schema, ty, new, old, |field| ["metadata", "kind", "apiVersion"].contains(&field))
        && structs_equal(schema, metadata, new_metadata, old_metadata, |field| COLLECTED.contains(&field))
}

impl Equality {
    fn of(
        self,
        schema: &Schema,
        ty: Type,
        pointer: bool,
        a: Option<&Value<'_>>,
        b: Option<&Value<'_>>,
    ) -> bool {
        let (a, b) = (a.filter(|v| !v.is_null()), b.filter(|v| !v.is_null()));
        match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => self.both(schema, ty, a, b),
            (Some(one), None) | (None, Some(one)) => {
                let can_be_nil = matches!(ty, Type::Composite(_) | Type::Bytes);
                let nil_is_empty = can_be_nil && self == Equality::Semantic;
                (nil_is_empty || !pointer && !can_be_nil) && self.zero(schema, ty, one)
            }
        }
    }

    /// Whether two structs agree in every field but the ones left out.
    pub(crate) fn structs(
        self,
        schema: &Schema,
        id: StructId,
        a: &Map<'_>,
        b: &Map<'_>,
        skip: impl Fn(&str) -> bool,
    ) -> bool {
        let fields = &schema.get(id).fields;
        fields
            .iter()
            .filter(|f| !skip(f.name))
            .all(|f| self.of(schema, f.ty, f.pointer, a.get(f.name), b.get(f.name)))
    }

    fn both(self, schema: &Schema, ty: Type, a: &Value<'_>, b: &Value<'_>) -> bool {
        match (ty, a, b) {
            (Type::Struct(id), Value::Map(a), Value::Map(b)) => self.structs(schema, id, a, b, |_| false),
            (Type::Composite(id), Value::List(a), Value::List(b)) => match schema.composite(id) {
                Composite::List(e) => {
                    let same = |(a, b)| self.of(schema, e.ty, e.pointer, Some(a), Some(b));
                    a.len() == b.len() && a.iter().zip(b.iter()).all(same)
                }
                Composite::Map(_) => a == b,
            },
            (Type::Composite(id), Value::Map(a), Value::Map(b)) => match schema.composite(id) {
                Composite::Map(e) => {
                    a.len() == b.len()
                        && a.iter().all(|(k, v)| {
                            b.get(k).is_some_and(|w| self.of(schema, e.ty, e.pointer, Some(v), Some(w)))
                        })
                }
                Composite::List(_) => a == b,
            },
            (_, a, b) => a == b,
        }
    }

    fn zero(self, schema: &Schema, ty: Type, value: &Value<'_>) -> bool {
        match (ty, value) {
            (Type::Struct(id), Value::Map(map)) => {
                schema.get(id).fields.iter().all(|f| self.of(schema, f.ty, f.pointer, map.get(f.name), None))
            }
            (Type::Quantity, Value::String(text)) => *text == "0",
            (_, value) => is_zero(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json::{Mode, decode_typed};

    use super::*;

    #[test]
    fn an_empty_map_is_none_but_for_who_looks_closely() {
        let arena = bumpalo::Bump::new();
        let schema = Schema::builtin();
        let ty = schema.kind("networking.k8s.io", "v1", "NetworkPolicy").unwrap().ty;
        let read = |spec: &str| {
            let text = format!(r#"{{"spec":{spec}}}"#);
            let text = arena.alloc_slice_copy(text.as_bytes());
            decode_typed(&arena, schema, ty, text, Mode::Lenient).unwrap().value
        };
        let (none, empty) = (read(r#"{"podSelector":{}}"#), read(r#"{"podSelector":{"matchLabels":{}}}"#));
        let same = |equality: Equality, a: &Value<'_>, b: &Value<'_>| {
            equality.structs(schema, ty, a.as_map().unwrap(), b.as_map().unwrap(), |_| false)
        };
        assert!(same(Equality::Semantic, &none, &empty));
        assert!(!same(Equality::Exact, &none, &empty));
        assert!(same(Equality::Exact, &none, &none));
        assert!(same(Equality::Exact, &empty, &empty));
    }
}
