//! Messages of objects that have one field in common, byte for byte: who knows what those bytes mean says so, and they are
//! not decoded again.

use bumpalo::Bump;

use super::{
    decode::Decoder,
    wire::{BYTES, Wire},
};
use crate::{
    schema::{Schema, StructId, Type},
    value::Value,
};

/// [`super::decode`] of an object whose field of a name may be known: `find` is shown its message. Answers the bytes of that
/// message, too, empty where there is none. `None` for anything wrong, or where there are several, which are merged: who
/// asks then decodes anew.
pub fn decode_repeated<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &'a [u8],
    member: &str,
    mut find: impl FnMut(&'a [u8]) -> Option<Value<'a>>,
) -> Option<(Value<'a>, &'a [u8])> {
    let of = schema.get(ty);
    let (known, field) = of.field(member)?;
    // What is embedded is for the one who decodes all of it.
    let is_plain = of.fields.iter().all(|field| field.proto_path.is_empty());
    if !is_plain || field.proto == 0 || !matches!(field.ty, Type::Struct(_)) {
        return None;
    }
    let mut decoder = Decoder::new(arena, schema);
    decoder.depth = 1;
    let (mut open, mut wire) = (decoder.slots.open(of, None), Wire::new(bytes));
    let mut message: &'a [u8] = &[];
    while !wire.is_empty() {
        let (number, wire_type) = wire.tag(of.name).ok()?;
        let Some((index, field)) = of.field_by_proto(&[], number) else {
            wire.skip(wire_type).ok()?;
            continue;
        };
        if index == known {
            let mut ahead = wire;
            if wire_type != BYTES || open.has(index) {
                return None;
            }
            message = ahead.bytes().ok()?;
            if let Some(value) = find(message) {
                decoder.slots.add(&mut open, index, Some(value));
                wire = ahead;
                continue;
            }
        }
        decoder.field(field, &mut open, index, wire_type, &mut wire).ok()?;
    }
    Some((Value::Map(decoder.slots.close(arena, schema, of, open)), message))
}
