//! The outcome of a strategic merge patch to a typed tree. The API server does not go through JSON here but converts
//! values in place, with rules and error texts of its own.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::go_text;
use crate::{
    json::{self, DecodeError, Decoded, base64},
    schema::{Composite, Element, Schema, StructId, Type},
    strict::Mode,
    value::{Map, Value},
};

/// Types a patched tree, as Kubernetes' unstructured converter does: whole floats go for integers, strict errors come
/// sorted by their texts.
pub fn decode_strategic<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    value: &Value<'a>,
    mode: Mode,
) -> Result<Decoded<'a>, DecodeError> {
    let converter = Converter { arena, schema };
    let fitted = converter.value(Type::Struct(ty), "", value).map_err(DecodeError::Type)?;
    let mut decoded = json::retype(arena, schema, ty, &fitted, mode)?;
    decoded.strict_errors.sort_by_cached_key(ToString::to_string);
    Ok(decoded)
}

/// A patch as the API server shows it in errors about its outcome (`map[spec:map[replicas:x]]`).
pub fn show(patch: &Value<'_>) -> String {
    go_text::plain(patch)
}

struct Converter<'a, 's> {
    arena: &'a Bump,
    schema: &'s Schema,
}

/// The Go kind of an untyped value.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Map(_) | Value::Raw(_) => "map",
        Value::List(_) => "slice",
        other => go_text::type_of(other),
    }
}

impl<'a> Converter<'a, '_> {
    /// `go_type` is empty where the type's own name is to be used.
    fn value(&self, ty: Type, go_type: &str, value: &Value<'a>) -> Result<Value<'a>, String> {
        let named =
            || if go_type.is_empty() { self.schema.go_type_of(ty).into_owned() } else { go_type.to_owned() };
        let convert = |from: &str| Err(format!("cannot convert {from} to {}", named()));
        let unrecognized = |kind: &str| Err(format!("unrecognized type: {kind}"));
        let unmarshal = |value: &Value<'_>, into: &str| {
            let what = match value {
                Value::Map(_) | Value::Raw(_) => "object",
                Value::List(_) => "array",
                Value::Bool(_) => "bool",
                Value::String(_) => "string",
                _ => "number",
            };
            Err(format!("json: cannot unmarshal {what} into Go value of type {into}"))
        };
        match (ty, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Type::String, Value::String(_))
            | (Type::Bool, Value::Bool(_))
            | (Type::Int64, Value::Int(_)) => Ok(value.clone()),
            // Go's conversion wraps around.
            (Type::Int32, Value::Int(n)) => Ok(Value::Int((*n as i32).into())),
            (Type::Int32 | Type::Int64, Value::Float(f)) if *f == f.trunc() => {
                // What does not fit comes out as the smallest of 64 bits.
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(f);
                let n = if fits { *f as i64 } else { i64::MIN };
                Ok(Value::Int(if ty == Type::Int32 { (n as i32).into() } else { n }))
            }
            (Type::Float64, Value::Int(_) | Value::Float(_)) => Ok(value.clone()),
            (Type::String, Value::Int(_)) => convert("int64"),
            (Type::Int32 | Type::Int64, Value::Float(_)) => convert("float64"),
            (Type::String, _) => unrecognized("string"),
            (Type::Bool, _) => unrecognized("bool"),
            (Type::Int32, _) => unrecognized("int32"),
            (Type::Int64, _) => unrecognized("int64"),
            (Type::Float64, _) => unrecognized("float64"),
            (Type::Time | Type::MicroTime | Type::Duration, Value::String(_)) => Ok(value.clone()),
            (Type::Time | Type::MicroTime | Type::Duration, other) => unmarshal(other, "string"),
            (Type::IntOrString, Value::String(_)) => Ok(value.clone()),
            (Type::IntOrString, Value::Int(n)) if i32::try_from(*n).is_ok() => Ok(value.clone()),
            (Type::IntOrString, other) => match other {
                Value::Int(n) => {
                    Err(format!("json: cannot unmarshal number {n} into Go value of type int32"))
                }
                Value::Float(f) => {
                    let mut number = Vec::new();
                    json::quote::write_float(&mut number, *f);
                    let number = String::from_utf8_lossy(&number);
                    Err(format!("json: cannot unmarshal number {number} into Go value of type int32"))
                }
                other => unmarshal(other, "int32"),
            },
            (Type::Quantity | Type::RawExtension | Type::FieldsV1 | Type::Json | Type::Alternative(_), _) => {
                Ok(value.clone())
            }
            (Type::Bytes, Value::String(text)) => match base64::decode(text) {
                Ok(_) => Ok(value.clone()),
                Err(at) => Err(format!("error decoding from json: illegal base64 data at input byte {at}")),
            },
            (Type::Bytes, Value::List(items)) => {
                let wrong = items.iter().find_map(|item| match item {
                    Value::Int(_) => None,
                    Value::Float(f) if *f == f.trunc() => None,
                    Value::Float(_) => Some("cannot convert float64 to uint8"),
                    _ => Some("unrecognized type: uint8"),
                });
                wrong.map_or_else(|| Ok(value.clone()), |why| Err(why.to_owned()))
            }
            (Type::Bytes, other) => Err(format!("cannot restore slice from {}", kind(other))),
            (Type::Struct(id), Value::Map(map)) => self.members(id, map),
            (Type::Struct(_), other) => Err(format!("cannot restore struct from: {}", kind(other))),
            (Type::Composite(id), value) => match (self.schema.composite(id), value) {
                (Composite::List(element), Value::List(items)) => {
                    let mut list = ArenaVec::with_capacity_in(items.len(), self.arena);
                    for item in items {
                        list.push(self.element(element, &named(), item)?);
                    }
                    Ok(Value::List(list))
                }
                (Composite::Map(element), Value::Map(map)) => {
                    let mut entries = ArenaVec::with_capacity_in(map.len(), self.arena);
                    for (key, value) in map.iter() {
                        entries.push((key, self.element(element, &named(), value)?));
                    }
                    Ok(Value::Map(Map::from_entries(entries)))
                }
                (Composite::List(_), other) => Err(format!("cannot restore slice from {}", kind(other))),
                (Composite::Map(_), other) => Err(format!("cannot restore map from {}", kind(other))),
            },
        }
    }

    fn element(&self, element: Element, whole: &str, value: &Value<'a>) -> Result<Value<'a>, String> {
        let go_type = self.schema.go_element_type(whole, element);
        self.value(element.ty, &go_type, value)
    }

    /// Fields in Go's order, so that the first error is Go's; entries that the type does not have stay, to be told.
    fn members(&self, id: StructId, map: &Map<'a>) -> Result<Value<'a>, String> {
        let of = self.schema.get(id);
        let mut out = map.clone();
        for field in &of.fields {
            let Some(slot) = out.get_mut(field.name) else { continue };
            *slot = self.value(field.ty, &self.schema.go_type(field), slot)?;
        }
        // A null sets nothing; what has a decoder of its own need not see it.
        out.retain(|name, value| !value.is_null() || of.field(name).is_none());
        Ok(Value::Map(out))
    }
}
