//! Protobuf to a tree by the Schema; the tree is what decoding the same object's JSON gives, without `kind` and
//! `apiVersion`, which stand in the envelope.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    ProtobufError,
    wire::{BYTES, FIXED64, VARINT, Wire},
};
use crate::{
    json::{
        base64, decode_untyped, is_json,
        reader::replace_invalid,
        slots::{Open, Slots},
        untyped::Entries,
        zero,
    },
    limits::TREE_DEPTH_MAX,
    quantity,
    schema::{Alternative, Composite, Element, Field, Schema, Struct, StructId, Type},
    time::{self, Moment},
    value::Value,
};

type Decode<T> = Result<T, ProtobufError>;

/// Decodes the message of an object of type `ty`, without an envelope. Unknown fields are skipped.
pub fn decode<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &'a [u8],
) -> Result<Value<'a>, ProtobufError> {
    Decoder::new(arena, schema).message(ty, bytes, None)
}

pub(super) struct Decoder<'a, 's> {
    pub(super) arena: &'a Bump,
    pub(super) schema: &'s Schema,
    pub(super) slots: Slots<'a>,
    pub(super) depth: usize,
}

fn error<T>(text: impl Into<String>) -> Decode<T> {
    Err(ProtobufError(text.into()))
}

/// The Go field of a JSON name, as errors give it.
fn go_name(field: &Field, schema: &Schema) -> String {
    if let (Type::Struct(id), "metadata") = (field.ty, field.name) {
        return schema.get(id).name.to_owned();
    }
    for (lower, upper) in
        [("api", "API"), ("uid", "UID"), ("ip", "IP"), ("url", "URL"), ("tls", "TLS"), ("ttl", "TTL")]
    {
        match field.name.strip_prefix(lower) {
            Some(rest) if !rest.starts_with(|c: char| c.is_ascii_lowercase()) => {
                return format!("{upper}{rest}");
            }
            _ => {}
        }
    }
    let mut chars = field.name.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

impl<'a, 's> Decoder<'a, 's> {
    pub(super) fn new(arena: &'a Bump, schema: &'s Schema) -> Self {
        Decoder { arena, schema, slots: Slots::default(), depth: 0 }
    }

    fn text(&self, bytes: &'a [u8]) -> &'a str {
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => self.arena.alloc_str(&replace_invalid(bytes)),
        }
    }

    fn message(&mut self, id: StructId, bytes: &'a [u8], previous: Option<Value<'a>>) -> Decode<Value<'a>> {
        self.depth += 1;
        if self.depth > TREE_DEPTH_MAX {
            return error("proto: message nested too deep");
        }
        let schema = self.schema;
        let of = schema.get(id);
        let mut open = self.slots.open(of, previous);
        self.level(of, &mut open, &[], bytes)?;
        self.depth -= 1;
        Ok(Value::Map(self.slots.close(self.arena, schema, of, open)))
    }

    /// The fields of one message; `path` are the embedded messages it stands in.
    fn level(&mut self, of: &Struct, open: &mut Open, path: &[u32], bytes: &'a [u8]) -> Decode<()> {
        let mut wire = Wire::new(bytes);
        while !wire.is_empty() {
            let (number, ty) = wire.tag(of.name)?;
            if let Some((index, field)) = of.field_by_proto(path, number) {
                self.field(field, open, index, ty, &mut wire)?;
                continue;
            }
            let mut inner = path.to_vec();
            inner.push(number);
            if ty == BYTES && of.fields.iter().any(|field| field.proto_path.starts_with(&inner)) {
                let bytes = wire.bytes()?;
                self.level(of, open, &inner, bytes)?;
            } else {
                wire.skip(ty)?;
            }
        }
        Ok(())
    }

    pub(super) fn field(
        &mut self,
        field: &Field,
        open: &mut Open,
        index: usize,
        ty: u32,
        wire: &mut Wire<'a>,
    ) -> Decode<()> {
        let schema = self.schema;
        let wrong =
            || ProtobufError(format!("proto: wrong wireType = {ty} for field {}", go_name(field, schema)));
        let Type::Composite(id) = field.ty else {
            if ty != expected(field.ty) {
                return Err(wrong());
            }
            let previous = self.slots.take(open, index);
            let value = self.value(field.ty, wire, previous)?;
            self.slots.set(open, index, value);
            return Ok(());
        };
        match schema.composite(id) {
            Composite::List(element) if element.wrapped => {
                if ty != BYTES {
                    return Err(wrong());
                }
                let previous = self.slots.take(open, index);
                let list = self.wrapped(element, wire.bytes()?, previous)?;
                self.slots.set(open, index, Some(list));
            }
            Composite::List(element) => {
                let scalar = expected(element.ty) != BYTES;
                if ty == BYTES && scalar {
                    // Packed, which Kubernetes reads and does not write.
                    let mut packed = Wire::new(wire.bytes()?);
                    while !packed.is_empty() {
                        let item = self.element(element, &mut packed)?;
                        self.push(open, index, item);
                    }
                } else if ty == expected(element.ty) {
                    let item = self.element(element, wire)?;
                    self.push(open, index, item);
                } else {
                    return Err(wrong());
                }
            }
            Composite::Map(element) => {
                if ty != BYTES {
                    return Err(wrong());
                }
                let (key, value) = self.entry(element, wire.bytes()?)?;
                self.insert(open, index, key, value);
            }
        }
        Ok(())
    }

    fn push(&mut self, open: &mut Open, index: usize, item: Value<'a>) {
        match self.slots.get_mut(open, index) {
            Some(Value::List(list)) => list.push(item),
            other => {
                let mut list = ArenaVec::new_in(self.arena);
                list.push(item);
                *other = Some(Value::List(list));
            }
        }
    }

    fn insert(&mut self, open: &mut Open, index: usize, key: &'a str, value: Value<'a>) {
        let arena = self.arena;
        let place = self.slots.get_mut(open, index);
        let mut entries = match place.take() {
            Some(Value::Map(map)) => Entries::of(map),
            _ => Entries::new(arena),
        };
        let known = entries.find(key);
        entries.set(known, key, value);
        *place = Some(Value::Map(entries.finish()));
    }

    fn entry(&mut self, element: Element, bytes: &'a [u8]) -> Decode<(&'a str, Value<'a>)> {
        let mut wire = Wire::new(bytes);
        let (mut key, mut value) = ("", None);
        while !wire.is_empty() {
            let mut after = wire;
            let tag = after.varint()?;
            match tag >> 3 {
                1 => {
                    wire = after;
                    key = self.text(wire.bytes()?);
                }
                2 => {
                    wire = after;
                    value = Some(self.element(element, &mut wire)?);
                }
                _ => {
                    wire = after;
                    wire.skip((tag & 7) as u32)?;
                }
            }
        }
        let value = match value {
            Some(value) => value,
            None if element.ty == Type::Bytes => Value::String(""),
            None => zero::zero(self.arena, self.schema, element.ty),
        };
        Ok((key, value))
    }

    fn wrapped(
        &mut self,
        element: Element,
        bytes: &'a [u8],
        previous: Option<Value<'a>>,
    ) -> Decode<Value<'a>> {
        let mut items = match previous {
            Some(Value::List(list)) => list,
            _ => ArenaVec::new_in(self.arena),
        };
        let mut wire = Wire::new(bytes);
        while !wire.is_empty() {
            let (number, ty) = wire.tag("Items")?;
            if number == 1 && ty == expected(element.ty) {
                items.push(self.element(Element { wrapped: false, ..element }, &mut wire)?);
            } else {
                wire.skip(ty)?;
            }
        }
        Ok(Value::List(items))
    }

    fn element(&mut self, element: Element, wire: &mut Wire<'a>) -> Decode<Value<'a>> {
        if let Type::Composite(id) = element.ty {
            let bytes = wire.bytes()?;
            return match self.schema.composite(id) {
                Composite::List(inner) => self.wrapped(inner, bytes, None),
                Composite::Map(_) => error("proto: map of maps"),
            };
        }
        let value = self.value(element.ty, wire, None)?;
        Ok(value.unwrap_or_else(|| zero::zero(self.arena, self.schema, element.ty)))
    }

    fn value(
        &mut self,
        ty: Type,
        wire: &mut Wire<'a>,
        previous: Option<Value<'a>>,
    ) -> Decode<Option<Value<'a>>> {
        Ok(Some(match ty {
            Type::Bool => Value::Bool(wire.varint()? != 0),
            // Kubernetes keeps the low 32 bits.
            Type::Int32 => Value::Int((wire.varint()? as i32).into()),
            Type::Int64 => Value::Int(wire.varint()? as i64),
            Type::Float64 => Value::Float(f64::from_bits(wire.fixed64()?)),
            Type::String => Value::String(self.text(wire.bytes()?)),
            Type::Bytes => Value::String(base64::encode(self.arena, wire.bytes()?)),
            Type::Struct(id) => return self.message(id, wire.bytes()?, previous).map(Some),
            Type::Quantity => return self.quantity(wire.bytes()?),
            Type::Time | Type::MicroTime => return self.time(ty, wire.bytes()?).map(Some),
            Type::Duration => {
                let (nanoseconds, ..) = numbers(wire.bytes()?, "Duration", ["Duration", "", ""])?;
                Value::String(self.arena.alloc_str(&time::format_duration(nanoseconds as i64)))
            }
            Type::IntOrString => {
                let (kind, number, text) =
                    numbers(wire.bytes()?, "IntOrString", ["Type", "IntVal", "StrVal"])?;
                match kind {
                    0 => Value::Int((number as i32).into()),
                    1 => Value::String(self.text(text)),
                    _ => return error("impossible IntOrString.Type"),
                }
            }
            Type::RawExtension | Type::FieldsV1 => return self.raw(ty, wire.bytes()?, previous),
            Type::Json => return self.json(wire.bytes()?),
            Type::Alternative(id) => {
                return self.alternative(self.schema.alternative(id), wire.bytes()?);
            }
            Type::Composite(_) => return error("proto: list where a value belongs"),
        }))
    }

    /// Any value, as its text.
    fn json(&self, bytes: &'a [u8]) -> Decode<Option<Value<'a>>> {
        match single(bytes, "JSON", "Raw")? {
            None | Some([]) => Ok(None),
            Some(raw) => match decode_untyped(self.arena, raw) {
                Ok(value) => Ok(Some(value)),
                Err(why) => error(why.to_string()),
            },
        }
    }

    /// The message of a value that is an object or something else: items count before an object, that before a bool.
    fn alternative(&mut self, of: &Alternative, bytes: &'a [u8]) -> Decode<Option<Value<'a>>> {
        let (mut object, mut allows) = (None, false);
        let mut items = ArenaVec::new_in(self.arena);
        let element = match of.other {
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(element) => Some(element),
                Composite::Map(_) => None,
            },
            _ => None,
        };
        let mut wire = Wire::new(bytes);
        while !wire.is_empty() {
            let (number, ty) = wire.tag(of.name)?;
            if number == of.object_number && ty == BYTES {
                object = Some(self.message(of.object, wire.bytes()?, object)?);
                continue;
            }
            match element {
                Some(element) if number == of.other_number && ty == expected(element.ty) => {
                    items.push(self.element(element, &mut wire)?);
                }
                None if number == of.other_number && ty == VARINT => allows = wire.varint()? != 0,
                _ => wire.skip(ty)?,
            }
        }
        Ok(match object {
            _ if !items.is_empty() => Some(Value::List(items)),
            Some(object) => Some(object),
            None => (of.other == Type::Bool).then_some(Value::Bool(allows)),
        })
    }

    fn quantity(&self, bytes: &'a [u8]) -> Decode<Option<Value<'a>>> {
        match single(bytes, "Quantity", "String_")? {
            None => Ok(None),
            Some(text) => match quantity::canonical(self.arena, self.text(text)) {
                Ok(text) => Ok(Some(Value::String(text))),
                Err(text) => error(text.to_string()),
            },
        }
    }

    fn time(&self, ty: Type, bytes: &'a [u8]) -> Decode<Value<'a>> {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        let (seconds, nanos, _) = numbers(bytes, "Timestamp", ["Seconds", "Nanos", ""])?;
        let nanos = if ty == Type::Time { 0 } else { i64::from(nanos as i32) / 1000 * 1000 };
        let seconds = (seconds as i64).saturating_add(nanos.div_euclid(1_000_000_000));
        let moment = Moment { seconds, nanos: nanos.rem_euclid(1_000_000_000) as u32 };
        if moment.is_zero() {
            return Ok(Value::Null);
        }
        let text = if ty == Type::Time { moment.to_time() } else { moment.to_micro_time() };
        Ok(Value::String(self.arena.alloc_str(&text)))
    }

    fn raw(&self, ty: Type, bytes: &'a [u8], previous: Option<Value<'a>>) -> Decode<Option<Value<'a>>> {
        let (name, field) = if ty == Type::FieldsV1 { ("FieldsV1", "Raw") } else { ("RawExtension", "Raw") };
        let Some(raw) = single(bytes, name, field)? else { return Ok(previous) };
        if raw.is_empty() && ty == Type::FieldsV1 {
            return Ok(None);
        }
        let text = self.text(raw);
        if !is_json(text) {
            // Kubernetes finds out when it encodes the object as JSON.
            return error(format!("{name} holds no JSON"));
        }
        Ok(Some(Value::Raw(text)))
    }
}

/// The wire type of a value.
fn expected(ty: Type) -> u32 {
    match ty {
        Type::Bool | Type::Int32 | Type::Int64 => VARINT,
        Type::Float64 => FIXED64,
        _ => BYTES,
    }
}

/// The last value of field 1, a text or bytes.
fn single<'b>(bytes: &'b [u8], name: &str, field: &str) -> Decode<Option<&'b [u8]>> {
    let mut wire = Wire::new(bytes);
    let mut found = None;
    while !wire.is_empty() {
        match wire.tag(name)? {
            (1, BYTES) => found = Some(wire.bytes()?),
            (1, ty) => return error(format!("proto: wrong wireType = {ty} for field {field}")),
            (_, ty) => wire.skip(ty)?,
        }
    }
    Ok(found)
}

/// The integers of fields 1 and 2, and the bytes of field 3; `fields` are their names, empty where there is none.
fn numbers<'b>(bytes: &'b [u8], name: &str, fields: [&str; 3]) -> Decode<(u64, u64, &'b [u8])> {
    let mut wire = Wire::new(bytes);
    let (mut first, mut second, mut third) = (0, 0, &b""[..]);
    while !wire.is_empty() {
        match wire.tag(name)? {
            (1, VARINT) => first = wire.varint()?,
            (2, VARINT) if !fields[1].is_empty() => second = wire.varint()?,
            (3, BYTES) if !fields[2].is_empty() => third = wire.bytes()?,
            (number @ 1..=3, ty) if !fields[number as usize - 1].is_empty() => {
                return error(format!(
                    "proto: wrong wireType = {ty} for field {}",
                    fields[number as usize - 1]
                ));
            }
            (_, ty) => wire.skip(ty)?,
        }
    }
    Ok((first, second, third))
}
