//! JSON of objects that have one member in common, text for text: who knows what that text means says so, and it is not
//! decoded again.

use std::ops::Range;

use bumpalo::Bump;

use super::{
    path::{Path, Step},
    reader::{Reader, to_text},
    typed::{Stop, Typed},
};
use crate::{
    schema::{Schema, StructId},
    strict::Mode,
    value::Value,
};

/// Knows the values of a member that many objects have with the same text.
pub trait Repeated<'a> {
    /// The value of the member whose text the rest of the body begins with, and the length of that text.
    fn find(&mut self, arena: &'a Bump, rest: &'a str) -> Option<(usize, Value<'a>)>;
}

/// [`decode_typed`] of an object whose member of a name may be known. Answers where the text of the member is, too.
/// Strictly, and `None` for anything wrong, or given twice: who asks then decodes anew to hear of it.
pub fn decode_repeated<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &'a [u8],
    member: &str,
    repeated: &mut dyn Repeated<'a>,
) -> Option<(Value<'a>, &'a str)> {
    let text = to_text(arena, bytes);
    let (known, _) = schema.get(ty).field(member)?;
    let mut decoder = Typed::new(arena, schema, Reader::new(text), Mode::Strict, false);
    let (value, place) = decoder.object_with(ty, known, repeated).ok()?;
    decoder.base.reader.end().ok()?;
    let is_good = decoder.base.saved.is_none()
        && decoder.base.strict.is_none_or(|collector| collector.errors.is_empty());
    is_good.then_some((value, text.get(place)?))
}

impl<'a> Typed<'a, '_> {
    /// An object whose member at an index may be known, and the place of that member's text, empty where it has none.
    fn object_with(
        &mut self,
        id: StructId,
        known: usize,
        repeated: &mut dyn Repeated<'a>,
    ) -> Result<(Value<'a>, Range<usize>), Stop> {
        let (schema, arena) = (self.schema, self.base.arena);
        let of = schema.get(id);
        if self.base.reader.peek()? != b'{' {
            return Err(Stop::Malformed);
        }
        self.base.reader.open_object()?;
        let (mut open, mut first, mut place) = (self.slots.open(of, None), true, 0..0);
        while let Some((name, head)) = self.base.reader.name(arena, first)? {
            first = false;
            // What is wrong is told by the one who asks again.
            let Some(index) = of.index_of_head(name, head).filter(|index| !open.has(*index)) else {
                return Err(Stop::Malformed);
            };
            let field = &of.fields[index];
            self.base.reader.peek()?;
            let start = self.base.reader.at();
            let found = if index == known { repeated.find(arena, self.base.reader.rest()) } else { None };
            let value = match found {
                Some((len, value)) => {
                    self.base.reader.pass(len);
                    Some(value)
                }
                None => {
                    self.value(field.ty, field.pointer, None, &Path::ROOT.then(Step::Field(field, of.name)))?
                }
            };
            if index == known {
                place = start..self.base.reader.at();
            }
            self.slots.add(&mut open, index, value);
        }
        Ok((Value::Map(self.slots.close(arena, schema, of, open)), place))
    }
}
