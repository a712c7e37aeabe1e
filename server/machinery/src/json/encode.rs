//! A tree to JSON by the Schema: the bytes that encoding the Go struct would give.

use super::{
    quote,
    untyped::{encode_untyped, write_map},
    zero,
};
use crate::{
    quantity,
    schema::{Composite, Element, Field, Positions, Schema, Struct, StructId, Type},
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
    let mut out = Vec::with_capacity(1024);
    let encoder = Encoder { schema, stored: true };
    let mut splice = 0;
    let mut first = true;
    for_each_field(schema, schema.get(ty), value.as_map(), &mut |field, value| {
        if matches!(field.name, "kind" | "apiVersion") {
            return;
        }
        write_name(&mut out, field, &mut first);
        match field.ty {
            Type::Struct(id) if field.name == "metadata" && !field.pointer => {
                splice = encoder.metadata(schema.get(id), value.and_then(Value::as_map), &mut out);
            }
            _ => encoder.field(field, value, &mut out),
        }
    });
    out.push(b'}');
    (out, splice)
}

fn write_name(out: &mut Vec<u8>, field: &Field, first: &mut bool) {
    out.extend_from_slice(&field.member.as_bytes()[usize::from(std::mem::take(first))..]);
}

/// Calls `emit` for each field that is encoded, in order, with its value where one is set.
pub(crate) fn for_each_field<'v, 'a>(
    schema: &Schema,
    of: &Struct,
    map: Option<&'v Map<'a>>,
    emit: &mut dyn FnMut(&Field, Option<&'v Value<'a>>),
) {
    let Some((map, positions)) = map.and_then(|map| Some((map, Positions::of(of, map)?))) else {
        return for_each_value(of, map, &mut |field, value| match value {
            Some(value) if zero::left_out(schema, field, value) => {}
            None if zero::left_out_unset(field) => {}
            value => emit(field, value),
        });
    };
    // Only what is there and what is always encoded: most structs have many fields, and most objects few of them.
    let mut always = of.always.iter().map(|index| usize::from(*index)).peekable();
    for ((_, value), index) in map.iter().zip(positions.iter()) {
        while let Some(before) = always.next_if(|always| *always < index) {
            emit(&of.fields[before], None);
        }
        always.next_if_eq(&index);
        let field = &of.fields[index];
        if !zero::left_out(schema, field, value) {
            emit(field, Some(value));
        }
    }
    always.for_each(|index| emit(&of.fields[index], None));
}

/// Calls `emit` for every field in order, with its value where the map has one.
pub(crate) fn for_each_value<'v, 'a>(
    of: &Struct,
    map: Option<&'v Map<'a>>,
    emit: &mut dyn FnMut(&Field, Option<&'v Value<'a>>),
) {
    let Some(map) = map else {
        return of.fields.iter().for_each(|field| emit(field, None));
    };
    // A map as decoded has its entries in field order: one walk over both.
    let mut next = 0;
    for field in &of.fields {
        if map.entry_at(next).is_some_and(|(key, _)| field.is_named(key)) {
            next += 1;
        }
    }
    if next == map.len() {
        next = 0;
        for field in &of.fields {
            match map.entry_at(next) {
                Some((key, value)) if field.is_named(key) => {
                    next += 1;
                    emit(field, Some(value));
                }
                _ => emit(field, None),
            }
        }
    } else {
        for field in &of.fields {
            emit(field, map.get(field.name));
        }
    }
}

struct Encoder<'s> {
    schema: &'s Schema,
    stored: bool,
}

impl Encoder<'_> {
    /// The metadata without its version; answers the offset where that belongs.
    fn metadata(&self, of: &Struct, map: Option<&Map<'_>>, out: &mut Vec<u8>) -> u32 {
        out.push(b'{');
        let mut first = true;
        // Offset of the first member after the version's place, and of the last member before it.
        let (mut after, mut last, mut passed) = (None, None, false);
        for_each_value(of, map, &mut |field, value| {
            if field.name == "resourceVersion" {
                passed = true;
                return;
            }
            let left_out = match value {
                Some(value) => zero::left_out(self.schema, field, value),
                None => zero::left_out_unset(field),
            };
            if left_out {
                return;
            }
            let start = out.len() + usize::from(!first);
            if passed {
                after.get_or_insert(start);
            } else {
                last = Some(start);
            }
            write_name(out, field, &mut first);
            self.field(field, value, out);
        });
        let splice = match after.or(last) {
            Some(at) => at,
            None => {
                // Something must follow the version.
                let at = out.len();
                out.extend_from_slice(b"\"creationTimestamp\":null");
                at
            }
        };
        out.push(b'}');
        u32::try_from(splice).unwrap_or(u32::MAX)
    }

    /// The value of a field.
    fn field(&self, field: &Field, value: Option<&Value<'_>>, out: &mut Vec<u8>) {
        match value {
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
        match (ty, value) {
            (Type::Struct(id), Value::Map(map)) => self.members(self.schema.get(id), Some(map), out),
            (Type::Struct(id), Value::Null) => self.members(self.schema.get(id), None, out),
            (Type::Composite(id), value) => self.composite(self.schema.composite(id), value, out),
            (Type::String, Value::Null) => out.extend_from_slice(b"\"\""),
            (Type::Bool, Value::Null) => out.extend_from_slice(b"false"),
            (Type::Int32 | Type::Int64 | Type::Float64 | Type::IntOrString, Value::Null) => out.push(b'0'),
            (Type::Quantity, Value::String(text)) => quote::write_string(out, &quantity::written(text)),
            (Type::Quantity, Value::Null) => out.extend_from_slice(b"\"0\""),
            (Type::Duration, Value::Null) => out.extend_from_slice(b"\"0s\""),
            (Type::Float64, Value::Int(n)) => quote::write_float(out, *n as f64),
            // As it came: what is opaque is the same only if its text is.
            (Type::RawExtension, Value::Raw(text)) if self.stored => out.extend_from_slice(text.as_bytes()),
            (_, value) => encode_untyped(value, out),
        }
    }

    fn members(&self, of: &Struct, map: Option<&Map<'_>>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        for_each_field(self.schema, of, map, &mut |field, value| {
            write_name(out, field, &mut first);
            self.field(field, value, out);
        });
        out.push(b'}');
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
                write_map(map, out, &mut |value, out| self.element(element, value, out));
            }
            (_, value) => encode_untyped(value, out),
        }
    }
}
