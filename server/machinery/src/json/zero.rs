//! What a Go struct holds where JSON gave nothing, and what `omitempty` and `omitzero` leave out.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{
    schema::{Field, Schema, StructId, Type},
    value::{Map, Value},
};

/// The value of a field that is not a pointer and was never set.
pub(crate) fn zero<'a>(arena: &'a Bump, schema: &Schema, ty: Type) -> Value<'a> {
    match ty {
        Type::String => Value::String(""),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::IntOrString => Value::Int(0),
        Type::Float64 => Value::Float(0.0),
        Type::Quantity => Value::String("0"),
        Type::Duration => Value::String("0s"),
        Type::Bytes
        | Type::Time
        | Type::MicroTime
        | Type::RawExtension
        | Type::FieldsV1
        | Type::Json
        | Type::Alternative(_)
        | Type::Composite(_) => Value::Null,
        Type::Struct(id) => Value::Map(zero_struct(arena, schema, id)),
    }
}

fn zero_struct<'a>(arena: &'a Bump, schema: &Schema, id: StructId) -> Map<'a> {
    let mut entries = ArenaVec::new_in(arena);
    for field in &schema.get(id).fields {
        if let Some(value) = unset(arena, schema, field) {
            entries.push((field.name, value));
        }
    }
    Map::from_entries(entries)
}

/// What is encoded for a field that was not set; `None` where it is left out.
pub(crate) fn unset<'a>(arena: &'a Bump, schema: &Schema, field: &Field) -> Option<Value<'a>> {
    if left_out_unset(field) {
        None
    } else if field.pointer {
        Some(Value::Null)
    } else {
        Some(zero(arena, schema, field.ty))
    }
}

/// Whether a field that was not set is left out.
#[inline]
pub(crate) fn left_out_unset(field: &Field) -> bool {
    field.omit_zero || field.omit_empty && (field.pointer || can_be_empty(field.ty))
}

/// Types that have an empty value for `omitempty`; structs (also `Time`, `Quantity`, …) have none.
#[inline]
fn can_be_empty(ty: Type) -> bool {
    match ty {
        Type::String
        | Type::Bool
        | Type::Int32
        | Type::Int64
        | Type::Float64
        | Type::Bytes
        | Type::Composite(_) => true,
        Type::Quantity
        | Type::Time
        | Type::MicroTime
        | Type::Duration
        | Type::IntOrString
        | Type::RawExtension
        | Type::FieldsV1
        | Type::Json
        | Type::Alternative(_)
        | Type::Struct(_) => false,
    }
}

/// Whether a field that was set to `value` is left out all the same.
#[inline]
pub(crate) fn left_out(schema: &Schema, field: &Field, value: &Value<'_>) -> bool {
    if field.pointer {
        return value.is_null() && left_out_unset(field);
    }
    field.omit_empty && can_be_empty(field.ty) && is_empty(value)
        || field.omit_zero && is_zero(schema, field.ty, value)
}

/// False, 0, "", no items.
#[inline]
pub(crate) fn is_empty(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Int(n) => *n == 0,
        Value::Float(f) => *f == 0.0,
        Value::String(s) => s.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Raw(_) => false,
    }
}

/// Whether a value is the zero value of its type.
pub(crate) fn is_zero(schema: &Schema, ty: Type, value: &Value<'_>) -> bool {
    match (ty, value) {
        (_, Value::Null) => true,
        (Type::Quantity, Value::String(s)) => *s == "0",
        (Type::Duration, Value::String(s)) => *s == "0s",
        (Type::IntOrString, Value::Int(n)) => *n == 0,
        (Type::Struct(id), Value::Map(map)) => {
            let fields = schema.get(id);
            map.iter().all(|(key, value)| match fields.field(key) {
                Some((_, field)) if field.pointer => value.is_null(),
                Some((_, field)) => is_zero(schema, field.ty, value),
                None => true,
            })
        }
        // A slice or map that is there, even without items, is not nil.
        (Type::Composite(_) | Type::Bytes, _) => false,
        (Type::String | Type::Bool | Type::Int32 | Type::Int64 | Type::Float64, value) => is_empty(value),
        _ => false,
    }
}
