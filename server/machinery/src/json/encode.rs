//! A tree to JSON by the Schema: the bytes that encoding the Go struct would give.

use std::ops::Range;

use super::{
    quote,
    untyped::{encode_untyped, write_map},
    zero,
};
use crate::{
    quantity,
    schema::{Composite, Element, Field, Placed, Schema, Struct, StructId, Type, bits},
    value::{Map, Value},
};

/// Appends the JSON of an object of type `ty`. Fields come in Go's order and are left out or filled in as Go
/// does, whatever was done to the tree since it was decoded; entries that the type does not have are dropped.
pub fn encode(schema: &Schema, ty: StructId, value: &Value<'_>, out: &mut Vec<u8>) {
    Encoder { schema, stored: false }.value(Type::Struct(ty), value, out);
}

/// The stored form of an object and its splice offset: no opening brace, no `kind`, `apiVersion` and
/// `metadata.resourceVersion`; `"resourceVersion":"N",` belongs at the offset, and another member of the metadata
/// follows it. Lists, maps and bytes without content are as a round trip through Kubernetes' protobuf storage
/// leaves them, and opaque text is as it came: who shows such an object compacts it ([`Schema::holds_opaque`]).
pub fn encode_stored(schema: &Schema, ty: StructId, value: &Value<'_>) -> (Vec<u8>, u32) {
    let mut out = Vec::with_capacity(STORED_FIRST);
    let splice = encode_stored_into(schema, ty, value, &mut out);
    (out, splice)
}

/// The text of an object's member that is known already, or comes to be known.
#[derive(Debug)]
pub struct KnownText<'k> {
    /// Name of the member.
    pub member: &'k str,
    /// Its text, where it is known: what the walk over its value would write.
    pub text: Option<&'k [u8]>,
    /// Where it stands in what was written; empty where it does not.
    pub place: Range<usize>,
}

/// The same into `out`, which must be empty.
pub fn encode_stored_into(schema: &Schema, ty: StructId, value: &Value<'_>, out: &mut Vec<u8>) -> u32 {
    encode_stored_knowing(schema, ty, value, &mut KnownText { member: "", text: None, place: 0..0 }, out)
}

/// The same with a member's text that may be known.
pub fn encode_stored_knowing(
    schema: &Schema,
    ty: StructId,
    value: &Value<'_>,
    known: &mut KnownText<'_>,
    out: &mut Vec<u8>,
) -> u32 {
    let encoder = Encoder { schema, stored: true };
    let mut splice = 0;
    for_each_field(schema, schema.get(ty), value.as_map(), |_, field, value| {
        if matches!(field.name, "kind" | "apiVersion") {
            return;
        }
        if out.is_empty() {
            field.member.write_first(out)
        } else {
            field.member.write(out)
        }
        match field.ty {
            Type::Struct(id) if field.name == "metadata" && !field.pointer => {
                splice = encoder.metadata(schema.get(id), value.and_then(Value::as_map), out);
            }
            _ if field.name == known.member => {
                let start = out.len();
                match known.text {
                    Some(text) => out.extend_from_slice(text),
                    None => encoder.field(field, value, out),
                }
                known.place = start..out.len();
            }
            _ => encoder.field(field, value, out),
        }
    });
    out.push(b'}');
    splice
}

/// Bytes that a stored form has room for from the start: most objects of a cluster have no more.
const STORED_FIRST: usize = 4096;

/// Calls `emit` for each field that is encoded, in order, with its index, and its value where one is set.
#[inline]
fn for_each_field<'v, 'a>(
    schema: &Schema,
    of: &Struct,
    map: Option<&'v Map<'a>>,
    mut emit: impl FnMut(usize, &Field, Option<&'v Value<'a>>),
) {
    let Some(map) = map else {
        return bits(of.always).for_each(|index| emit(index, &of.fields[index], None));
    };
    let Some(placed) = Placed::by_field(of, map) else {
        // More entries than fields.
        for (index, field) in of.fields.iter().enumerate() {
            match map.get(field.name) {
                Some(value) if zero::left_out(schema, field, value) => {}
                None if zero::left_out_unset(field) => {}
                value => emit(index, field, value),
            }
        }
        return;
    };
    for index in bits(placed.given() | of.always) {
        let field = &of.fields[index];
        match placed.value(map, index) {
            Some(value) if zero::left_out(schema, field, value) => {}
            value => emit(index, field, value),
        }
    }
}

/// Makes an object of the members from `start` on, each with a comma before it: one brace goes in place of the first
/// comma, and the other one behind the last.
#[inline]
fn end(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

struct Encoder<'s> {
    schema: &'s Schema,
    stored: bool,
}

impl Encoder<'_> {
    /// The metadata without its version; answers the offset where that belongs.
    fn metadata(&self, of: &Struct, map: Option<&Map<'_>>, out: &mut Vec<u8>) -> u32 {
        let start = out.len();
        let version = of.field("resourceVersion").map(|(index, _)| index);
        // Offset of the first member after the version's place, and of the last member before it.
        let (mut after, mut last) = (None, None);
        for_each_field(self.schema, of, map, |index, field, value| {
            if Some(index) == version {
                return;
            }
            // Behind the comma.
            let at = out.len() + 1;
            if version.is_some_and(|version| index > version) {
                after.get_or_insert(at);
            } else {
                last = Some(at);
            }
            field.member.write(out);
            self.field(field, value, out);
        });
        let splice = after.or(last).unwrap_or_else(|| {
            // Something must follow the version.
            out.extend_from_slice(b",\"creationTimestamp\":null");
            start + 1
        });
        end(out, start);
        u32::try_from(splice).unwrap_or(u32::MAX)
    }

    /// The value of a field.
    #[inline]
    fn field(&self, field: &Field, value: Option<&Value<'_>>, out: &mut Vec<u8>) {
        match value {
            // The most by far.
            Some(Value::String(text)) if field.ty == Type::String => quote::write_string(out, text),
            Some(Value::Null) | None if field.pointer => out.extend_from_slice(b"null"),
            Some(value) => self.value(field.ty, value, out),
            None => self.value(field.ty, &Value::Null, out),
        }
    }

    fn element(&self, element: Element, value: &Value<'_>, out: &mut Vec<u8>) {
        if element.pointer && value.is_null() {
            out.extend_from_slice(b"null");
        } else if self.stored && element.ty == Type::Bytes && value.is_null() {
            out.extend_from_slice(b"\"\"");
        } else {
            self.value(element.ty, value, out);
        }
    }

    /// A value that is not a nil pointer.
    fn value(&self, ty: Type, value: &Value<'_>, out: &mut Vec<u8>) {
        match (value, ty) {
            (Value::String(text), Type::Quantity) => quote::write_string(out, &quantity::written(text)),
            (Value::String(text), _) => quote::write_string(out, text),
            (Value::Map(map), Type::Struct(id)) => self.members(self.schema.get(id), Some(map), out),
            (Value::Null, Type::Struct(id)) => self.members(self.schema.get(id), None, out),
            (Value::List(_) | Value::Map(_), Type::Composite(id)) => {
                self.composite(self.schema.composite(id), value, out);
            }
            (Value::Map(map), Type::Alternative(id)) => {
                let object = self.schema.alternative(id).object;
                self.members(self.schema.get(object), Some(map), out);
            }
            (Value::List(_), Type::Alternative(id)) => {
                self.value(self.schema.alternative(id).other, value, out);
            }
            (Value::Null, Type::String) => out.extend_from_slice(b"\"\""),
            (Value::Null, Type::Bool) => out.extend_from_slice(b"false"),
            (Value::Null, Type::Int32 | Type::Int64 | Type::Float64 | Type::IntOrString) => out.push(b'0'),
            (Value::Null, Type::Quantity) => out.extend_from_slice(b"\"0\""),
            (Value::Null, Type::Duration) => out.extend_from_slice(b"\"0s\""),
            (Value::Int(n), Type::Float64) => quote::write_float(out, *n as f64),
            // As it came: what is opaque is the same only if its text is.
            (Value::Raw(text), Type::RawExtension) if self.stored => out.extend_from_slice(text.as_bytes()),
            (value, _) => encode_untyped(value, out),
        }
    }

    fn members(&self, of: &Struct, map: Option<&Map<'_>>, out: &mut Vec<u8>) {
        let start = out.len();
        for_each_field(self.schema, of, map, |_, field, value| {
            field.member.write(out);
            self.field(field, value, out);
        });
        end(out, start);
    }

    fn composite(&self, composite: Composite, value: &Value<'_>, out: &mut Vec<u8>) {
        match (composite, value) {
            (_, Value::List(list)) if self.stored && list.is_empty() => out.extend_from_slice(b"null"),
            (_, Value::Map(map)) if self.stored && map.is_empty() => out.extend_from_slice(b"null"),
            (Composite::List(element), Value::List(list)) => {
                out.push(b'[');
                for (i, item) in list.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    self.element(element, item, out);
                }
                out.push(b']');
            }
            (Composite::Map(element), Value::Map(map)) => {
                write_map(map, out, |value, out| self.element(element, value, out));
            }
            (_, value) => encode_untyped(value, out),
        }
    }
}
