//! A tree to protobuf by the Schema: scalars that are no pointers are always written, pointers and lists where they
//! are set, map entries in key order, fields by number.

use super::{
    envelope::{unknown_head, unknown_tail},
    wire::{FIXED64, VARINT, put_bytes, put_int, put_message, put_tag, put_varint, varint_len},
};
use crate::{
    json::base64,
    quantity,
    schema::{Alternative, Composite, Element, Field, Schema, Struct, StructId, Type},
    time,
    value::{Map, Value},
};

/// Appends the message of an object of type `ty`, without an envelope.
pub fn encode(schema: &Schema, ty: StructId, value: &Value<'_>, out: &mut Vec<u8>) {
    Encoder { schema }.members(schema.get(ty), value.as_map(), out);
}

/// Appends the message of an object in its envelope, `k8s\0` and `runtime.Unknown`.
pub fn encode_object(
    schema: &Schema,
    ty: StructId,
    value: &Value<'_>,
    api_version: &str,
    kind: &str,
    out: &mut Vec<u8>,
) {
    let mut raw = Vec::with_capacity(1024);
    encode(schema, ty, value, &mut raw);
    out.reserve(raw.len() + varint_len(raw.len() as u64) + api_version.len() + kind.len() + 24);
    unknown_head(api_version, kind, raw.len(), out);
    out.extend_from_slice(&raw);
    unknown_tail(out);
}

pub(super) struct Encoder<'s> {
    pub(super) schema: &'s Schema,
}

impl Encoder<'_> {
    fn members(&self, of: &Struct, map: Option<&Map<'_>>, out: &mut Vec<u8>) {
        self.level(of, &of.by_proto, 0, map, out);
    }

    /// Fields at one level of embedding; `fields` are those whose first `depth` enclosing messages are written.
    fn level(&self, of: &Struct, fields: &[u16], depth: usize, map: Option<&Map<'_>>, out: &mut Vec<u8>) {
        let mut rest = fields;
        while let Some(&index) = rest.first() {
            let field = &of.fields[index as usize];
            let Some(&message) = field.proto_path.get(depth) else {
                self.field(field, map.and_then(|map| map.get(field.name)), out);
                rest = &rest[1..];
                continue;
            };
            let inside = |i: &&u16| of.fields[**i as usize].proto_path.get(depth) == Some(&message);
            let count = rest.iter().take_while(inside).count();
            put_message(out, message, |out| self.level(of, &rest[..count], depth + 1, map, out));
            rest = &rest[count..];
        }
    }

    pub(super) fn field(&self, field: &Field, value: Option<&Value<'_>>, out: &mut Vec<u8>) {
        let value = value.unwrap_or(&Value::Null);
        if field.pointer && value.is_null() {
            // The pointer to a zero time is null in a tree as well, and is taken for none.
            return;
        }
        let number = field.proto;
        if let Type::Composite(id) = field.ty {
            return self.composite(number, self.schema.composite(id), value, out);
        }
        if field.ty == Type::Bytes && value.is_null() {
            return;
        }
        self.value(number, field.ty, value, out);
    }

    fn composite(&self, number: u32, composite: Composite, value: &Value<'_>, out: &mut Vec<u8>) {
        match (composite, value) {
            (Composite::List(element), Value::List(_)) if element.wrapped => {
                self.wrapped(number, element, value, out)
            }
            (Composite::List(element), Value::List(list)) => {
                for item in list {
                    self.element(number, element, item, out);
                }
            }
            (Composite::Map(element), Value::Map(map)) => {
                if map.is_sorted() {
                    for (key, value) in map.iter() {
                        self.entry(number, key, element, value, out);
                    }
                    return;
                }
                let mut sorted: Vec<_> = map.iter().collect();
                sorted.sort_unstable_by(|a, b| a.0.cmp(b.0));
                for (key, value) in sorted {
                    self.entry(number, key, element, value, out);
                }
            }
            _ => {}
        }
    }

    /// A list that is a message of its own.
    fn wrapped(&self, number: u32, element: Element, value: &Value<'_>, out: &mut Vec<u8>) {
        put_message(out, number, |out| {
            for item in value.as_list().into_iter().flatten() {
                self.element(1, Element { wrapped: false, ..element }, item, out);
            }
        });
    }

    fn entry(&self, number: u32, key: &str, element: Element, value: &Value<'_>, out: &mut Vec<u8>) {
        put_message(out, number, |out| {
            put_bytes(out, 1, key.as_bytes());
            if !(element.ty == Type::Bytes && value.is_null()) {
                self.element(2, element, value, out);
            }
        });
    }

    fn element(&self, number: u32, element: Element, value: &Value<'_>, out: &mut Vec<u8>) {
        let Type::Composite(id) = element.ty else {
            return self.value(number, element.ty, value, out);
        };
        // A list or map inside another one can only be a message.
        let (Composite::List(inner) | Composite::Map(inner)) = self.schema.composite(id);
        if inner.wrapped {
            self.wrapped(number, inner, value, out);
        } else {
            put_message(out, number, |out| self.composite(1, self.schema.composite(id), value, out));
        }
    }

    pub(super) fn value(&self, number: u32, ty: Type, value: &Value<'_>, out: &mut Vec<u8>) {
        let text = || value.as_str().unwrap_or_default();
        let int = || match value {
            Value::Int(n) => *n,
            Value::Float(f) => *f as i64,
            _ => 0,
        };
        match ty {
            Type::String => put_bytes(out, number, text().as_bytes()),
            Type::Bool => {
                put_tag(out, number, VARINT);
                out.push(u8::from(value.as_bool().unwrap_or_default()));
            }
            Type::Int32 | Type::Int64 => put_int(out, number, int()),
            Type::Float64 => {
                let f = match value {
                    Value::Float(f) => *f,
                    _ => int() as f64,
                };
                put_tag(out, number, FIXED64);
                out.extend_from_slice(&f.to_bits().to_le_bytes());
            }
            Type::Bytes => put_bytes(out, number, &base64::decode(text()).unwrap_or_default()),
            Type::Quantity => put_message(out, number, |out| {
                let text = if value.is_null() { "0".into() } else { quantity::written(text()) };
                put_bytes(out, 1, text.as_bytes());
            }),
            Type::Time | Type::MicroTime => put_message(out, number, |out| {
                let moment =
                    if ty == Type::Time { time::parse_time(text()) } else { time::parse_micro_time(text()) };
                // Null is the zero time, an empty message.
                if let Ok(moment) = moment {
                    put_int(out, 1, moment.seconds);
                    let nanos = if ty == Type::Time { 0 } else { moment.nanos / 1000 * 1000 };
                    put_int(out, 2, nanos.into());
                }
            }),
            Type::Duration => put_message(out, number, |out| {
                put_int(out, 1, time::parse_duration(text()).unwrap_or_default());
            }),
            Type::IntOrString => put_message(out, number, |out| {
                let string = value.as_str();
                put_int(out, 1, i64::from(string.is_some()));
                put_int(out, 2, if string.is_some() { 0 } else { int() });
                put_bytes(out, 3, string.unwrap_or_default().as_bytes());
            }),
            Type::RawExtension | Type::FieldsV1 | Type::Json => put_message(out, number, |out| match value {
                Value::Null => {}
                Value::Raw(text) => put_bytes(out, 1, text.as_bytes()),
                value => {
                    let mut json = Vec::new();
                    crate::json::encode_untyped(value, &mut json);
                    put_bytes(out, 1, &json);
                }
            }),
            Type::Struct(id) => put_message(out, number, |out| {
                self.members(self.schema.get(id), value.as_map(), out);
            }),
            Type::Composite(id) => self.composite(number, self.schema.composite(id), value, out),
            Type::Alternative(id) => put_message(out, number, |out| {
                self.alternative(self.schema.alternative(id), value, out);
            }),
        }
    }

    /// The message of a value that is an object or something else. A bool is always written; an object says true.
    fn alternative(&self, of: &Alternative, value: &Value<'_>, out: &mut Vec<u8>) {
        let other = |out: &mut Vec<u8>| match of.other {
            Type::Bool => {
                let allows = Value::Bool(value.as_bool().unwrap_or(value.as_map().is_some()));
                self.value(of.other_number, Type::Bool, &allows, out);
            }
            ty if value.as_list().is_some() => self.value(of.other_number, ty, value, out),
            _ => {}
        };
        let object = |out: &mut Vec<u8>| {
            if value.as_map().is_some() {
                self.value(of.object_number, Type::Struct(of.object), value, out);
            }
        };
        if of.other_number < of.object_number {
            other(out);
            object(out);
        } else {
            object(out);
            other(out);
        }
    }
}

/// Appends a varint; for the envelopes.
pub(super) fn varint(out: &mut Vec<u8>, n: usize) {
    put_varint(out, n as u64);
}
