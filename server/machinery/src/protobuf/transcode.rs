//! The stored form of an object to protobuf without a tree in between: one pass over the text, each field encoded where
//! it is read, each message put in order when it ends.

use bumpalo::Bump;

use super::{
    encode::{Encoder, varint},
    field::{field_head, field_len},
    wire::{BYTES, put_bytes, put_message, put_tag},
};
use crate::{
    int_or_string,
    json::reader::Reader,
    limits::TREE_DEPTH_MAX,
    schema::{Composite, Element, Schema, Struct, StructId, Type},
    value::Value,
};

/// Appends the message of a stored object (see `json::encode_stored`) of type `ty`: the bytes that decoding it and
/// encoding the tree gives. Answers whether it could: what is rare is left to the tree, and `out` then as it was.
pub fn encode_stored(arena: &Bump, schema: &Schema, ty: StructId, stored: &[u8], out: &mut Vec<u8>) -> bool {
    encode_stored_knowing(arena, schema, ty, stored, None, out)
}

/// A member of an object that is written by somebody who knows what that is, or wants to.
#[derive(Debug)]
pub struct KnownField<'k> {
    /// Where its text begins in the stored form.
    pub at: usize,
    /// Length of the text.
    pub len: usize,
    /// The field as it is written, with its number and length, where that is known.
    pub known: Option<&'k [u8]>,
    /// What was written of it where it was not known.
    pub written: Vec<u8>,
}

/// [`encode_stored`] of an object whose member may be known.
pub fn encode_stored_knowing(
    arena: &Bump,
    schema: &Schema,
    ty: StructId,
    stored: &[u8],
    mut known: Option<&mut KnownField<'_>>,
    out: &mut Vec<u8>,
) -> bool {
    let Ok(text) = std::str::from_utf8(stored) else { return false };
    let mut transcoder = Transcoder {
        arena,
        encoder: Encoder { schema },
        reader: Reader::inside_object(text),
        values: Vec::with_capacity(stored.len()),
        places: Vec::with_capacity(64),
        body: Vec::with_capacity(stored.len()),
    };
    if transcoder.members(ty, &mut known).is_err() {
        return false;
    }
    out.extend_from_slice(&transcoder.body);
    true
}

/// The text is not what is read here.
struct Unusual;

impl From<crate::json::reader::Malformed> for Unusual {
    fn from(_: crate::json::reader::Malformed) -> Self {
        Unusual
    }
}

type Step = Result<(), Unusual>;

struct Transcoder<'a, 's> {
    arena: &'a Bump,
    encoder: Encoder<'s>,
    reader: Reader<'a>,
    /// Encoded fields of the messages that are open, with their numbers, in the order of the text.
    values: Vec<u8>,
    /// Where in `values` the fields of the messages that are open stand, of each message in the order of its fields.
    places: Vec<(u32, u32)>,
    /// The message that ended last.
    body: Vec<u8>,
}

impl Transcoder<'_, '_> {
    /// The members of a struct after its opening brace; its message is then in `body`.
    fn members(&mut self, id: StructId, known: &mut Option<&mut KnownField<'_>>) -> Step {
        if self.reader.depth() > TREE_DEPTH_MAX {
            return Err(Unusual);
        }
        let schema = self.encoder.schema;
        let of = schema.get(id);
        let (start, base) = (self.values.len(), self.places.len());
        // A bit for each field that was given.
        let (mut given, mut first) = (0u64, true);
        while let Some((name, head)) = self.reader.name(self.arena, first)? {
            first = false;
            // Stored in the order of the fields: it is one of those ahead.
            let index = of.index_of_head(name, head).filter(|index| given >> index == 0).ok_or(Unusual)?;
            let field = &of.fields[index];
            if field.proto == 0 {
                return Err(Unusual);
            }
            if self.reader.peek()? == b'n' {
                // As if it was not given.
                self.reader.word("null")?;
                continue;
            }
            let from = self.values.len();
            match known {
                Some(known) if known.at == self.reader.at() => match known.known {
                    Some(bytes) => {
                        self.values.extend_from_slice(bytes);
                        self.reader.pass(known.len);
                    }
                    None => {
                        self.value(field.proto, field.ty)?;
                        known.written = self.values[from..].to_vec();
                    }
                },
                _ => self.value(field.proto, field.ty)?,
            }
            given |= 1 << index;
            let place = |at: usize| u32::try_from(at).map_err(|_| Unusual);
            self.places.push((place(from)?, place(self.values.len())?));
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        if of.proto_in_order && of.proto_always & !given == 0 {
            body.extend_from_slice(&self.values[start..]);
        } else {
            self.level(of, &of.by_proto, 0, (base, given), &mut body);
        }
        self.body = body;
        self.values.truncate(start);
        self.places.truncate(base);
        Ok(())
    }

    /// As [`Encoder`] orders fields: those of one level of embedding.
    fn level(&self, of: &Struct, fields: &[u16], depth: usize, place: (usize, u64), body: &mut Vec<u8>) {
        let (base, given) = place;
        let mut rest = fields;
        while let Some(&index) = rest.first() {
            let bit = 1u64 << index;
            let field = &of.fields[index as usize];
            let Some(&message) = field.proto_path.get(depth) else {
                if given & bit != 0 {
                    let number = (given & (bit - 1)).count_ones() as usize;
                    let (from, to) = self.places[base + number];
                    body.extend_from_slice(&self.values[from as usize..to as usize]);
                } else if of.proto_always & bit != 0 {
                    self.encoder.field(field, None, body);
                }
                rest = &rest[1..];
                continue;
            };
            let inside = |i: &&u16| of.fields[**i as usize].proto_path.get(depth) == Some(&message);
            let count = rest.iter().take_while(inside).count();
            put_message(body, message, |body| self.level(of, &rest[..count], depth + 1, place, body));
            rest = &rest[count..];
        }
    }

    /// A value that is not null, as field `number`.
    fn value(&mut self, number: u32, ty: Type) -> Step {
        let byte = self.reader.peek()?;
        let value = match (ty, byte) {
            (Type::Struct(id), b'{') => {
                self.reader.open_object()?;
                self.members(id, &mut None)?;
                put_tag(&mut self.values, number, BYTES);
                varint(&mut self.values, self.body.len());
                self.values.extend_from_slice(&self.body);
                return Ok(());
            }
            (Type::Composite(id), _) => {
                return match (self.encoder.schema.composite(id), byte) {
                    (Composite::List(element), b'[') if !element.wrapped => self.list(number, element),
                    (Composite::Map(element), b'{') if !element.wrapped => self.map(number, element),
                    _ => Err(Unusual),
                };
            }
            (Type::String, b'"') => {
                let text = self.reader.string(self.arena)?;
                put_bytes(&mut self.values, number, text.as_bytes());
                return Ok(());
            }
            (
                Type::Bytes
                | Type::Quantity
                | Type::Time
                | Type::MicroTime
                | Type::Duration
                | Type::IntOrString,
                b'"',
            ) => Value::String(self.reader.string(self.arena)?),
            (Type::Bool, b't') => {
                self.reader.word("true")?;
                Value::Bool(true)
            }
            (Type::Bool, b'f') => {
                self.reader.word("false")?;
                Value::Bool(false)
            }
            (Type::Int32, b'-' | b'0'..=b'9') => {
                Value::Int(self.reader.number()?.parse::<i32>().map_err(|_| Unusual)?.into())
            }
            (Type::Int64, b'-' | b'0'..=b'9') => {
                Value::Int(self.reader.number()?.parse::<i64>().map_err(|_| Unusual)?)
            }
            (Type::Float64, b'-' | b'0'..=b'9') => {
                let float = self.reader.number()?.parse::<f64>().map_err(|_| Unusual)?;
                Value::Float(Some(float).filter(|f| f.is_finite()).ok_or(Unusual)?)
            }
            (Type::IntOrString, b'-' | b'0'..=b'9') => {
                Value::Int(int_or_string::parse_int(self.reader.number()?).ok_or(Unusual)?.into())
            }
            (Type::RawExtension | Type::FieldsV1, _) => {
                let text = self.reader.skip_trusted()?;
                field_head(number, field_len(text.len()), &mut self.values);
                put_bytes(&mut self.values, 1, text.as_bytes());
                return Ok(());
            }
            _ => return Err(Unusual),
        };
        self.encoder.value(number, ty, &value, &mut self.values);
        Ok(())
    }

    /// What lists and maps hold: no lists and maps, and no null.
    fn element(&mut self, number: u32, element: Element) -> Step {
        match (element.ty, self.reader.peek()?) {
            (Type::Composite(_), _) | (_, b'n') => Err(Unusual),
            (ty, _) => self.value(number, ty),
        }
    }

    fn list(&mut self, number: u32, element: Element) -> Step {
        self.reader.open_list()?;
        let mut first = true;
        while self.reader.item(first)? {
            first = false;
            self.element(number, element)?;
        }
        Ok(())
    }

    /// Entries in the order of their keys, as they are stored.
    fn map(&mut self, number: u32, element: Element) -> Step {
        self.reader.open_object()?;
        let mut before = None;
        while let Some(key) = self.reader.key(self.arena, before.is_none())? {
            if before.is_some_and(|before| before >= key) {
                return Err(Unusual);
            }
            before = Some(key);
            let from = self.values.len();
            put_bytes(&mut self.values, 1, key.as_bytes());
            self.element(2, element)?;
            // What stands before it is known now.
            let (end, length) = (self.values.len(), self.values.len() - from);
            put_tag(&mut self.values, number, BYTES);
            varint(&mut self.values, length);
            let head = self.values.len() - end;
            self.values[from..].rotate_right(head);
        }
        Ok(())
    }
}
