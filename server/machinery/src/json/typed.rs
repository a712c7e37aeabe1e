//! JSON to a tree by the Schema: one pass that behaves as decoding into Kubernetes' Go structs does, and yields
//! what encoding those structs again would give.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    DecodeError, Decoded, base64, encode_untyped,
    path::{Path, Step},
    reader::{Malformed, Reader, to_text},
    slots::{Open, Slots},
    syntax,
    untyped::{Entries, Untyped},
    zero,
};
use crate::{
    int_or_string,
    limits::TREE_DEPTH_MAX,
    quantity,
    schema::{Alternative, Composite, Element, Schema, Struct, StructId, Type},
    strict::{Collector, Mode, StrictKind},
    time,
    value::Value,
};

/// Decodes an object of type `ty`. Wrong syntax anywhere comes before all else, then texts that have no meaning
/// for their type (`Quantity`, `Time`, …), then the first value of a wrong type; strict errors are for the caller
/// to judge.
pub fn decode_typed<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &'a [u8],
    mode: Mode,
) -> Result<Decoded<'a>, DecodeError> {
    let mut decoder = Typed::new(arena, schema, Reader::new(to_text(arena, bytes)), mode, false);
    let result = decoder.root(ty).and_then(|value| {
        decoder.base.reader.end()?;
        Ok(value)
    });
    finish(bytes, decoder, result)
}

/// Reads back the stored form (no opening brace, no TypeMeta; see `encode_stored`), which is trusted to be
/// canonical.
pub fn decode_stored<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &'a [u8],
) -> Result<Value<'a>, DecodeError> {
    let reader = Reader::inside_object(to_text(arena, bytes));
    let mut decoder = Typed::new(arena, schema, reader, Mode::Lenient, true);
    match decoder.members(ty, None, &Path::ROOT) {
        Ok(value) if decoder.base.saved.is_none() => Ok(value),
        Ok(_) => Err(DecodeError::Type(decoder.base.saved.unwrap_or_default())),
        Err(Stop::Malformed) => Err(DecodeError::Syntax("stored object is malformed".into())),
        Err(Stop::Fatal(message)) => Err(DecodeError::Type(message)),
    }
}

/// Gives a tree (patched, or made by hand) the form that decoding its JSON would have given it.
pub fn retype<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    value: &Value<'_>,
    mode: Mode,
) -> Result<Decoded<'a>, DecodeError> {
    let mut json = Vec::with_capacity(1024);
    encode_untyped(value, &mut json);
    decode_typed(arena, schema, ty, arena.alloc_slice_copy(&json), mode)
}

fn finish<'a>(
    bytes: &[u8],
    decoder: Typed<'a, '_>,
    result: Result<Value<'a>, Stop>,
) -> Result<Decoded<'a>, DecodeError> {
    let failure = match result {
        Err(Stop::Malformed) => return Err(super::malformed(bytes)),
        Err(Stop::Fatal(message)) => Some(message),
        Ok(value) => match decoder.base.saved {
            Some(message) => Some(message),
            None => {
                let strict_errors = decoder.base.strict.map(|c| c.errors).unwrap_or_default();
                return Ok(Decoded { value, strict_errors });
            }
        },
    };
    if let Err(error) = syntax::check(bytes) {
        return Err(DecodeError::Syntax(error.message));
    }
    Err(DecodeError::Type(failure.unwrap_or_default()))
}

/// Why decoding stops at once.
pub(super) enum Stop {
    Malformed,
    /// A type with a decoder of its own refused its text.
    Fatal(String),
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Self {
        Stop::Malformed
    }
}

pub(super) struct Typed<'a, 's> {
    pub(super) base: Untyped<'a>,
    pub(super) schema: &'s Schema,
    pub(super) slots: Slots<'a>,
    /// Texts are canonical already.
    trusted: bool,
}

/// Items that a list has room for from the start: most have no more, and what has to grow is copied.
const ITEMS_FIRST: usize = 4;

impl<'a, 's> Typed<'a, 's> {
    pub(super) fn new(
        arena: &'a Bump,
        schema: &'s Schema,
        reader: Reader<'a>,
        mode: Mode,
        trusted: bool,
    ) -> Self {
        let strict = (mode == Mode::Strict).then(Collector::default);
        Typed {
            base: Untyped { arena, reader, strict, saved: None, as_written: false },
            schema,
            slots: Slots::default(),
            trusted,
        }
    }

    fn root(&mut self, ty: StructId) -> Result<Value<'a>, Stop> {
        let value = self.value(Type::Struct(ty), false, None, &Path::ROOT)?;
        Ok(value.unwrap_or_else(|| zero::zero(self.base.arena, self.schema, Type::Struct(ty))))
    }

    /// One value. `None` is a Go nil, or a zero value that JSON's null did not touch. `previous` is what an
    /// earlier member of the same name left, which Go decodes into.
    pub(super) fn value(
        &mut self,
        ty: Type,
        pointer: bool,
        previous: Option<Value<'a>>,
        path: &Path<'_>,
    ) -> Result<Option<Value<'a>>, Stop> {
        let byte = self.base.reader.peek()?;
        if byte == b'n' {
            self.base.reader.word("null")?;
            return match ty {
                _ if pointer => Ok(None),
                Type::Duration if !self.trusted => Err(Stop::Fatal("time: invalid duration \"\"".into())),
                Type::Struct(_) | Type::String | Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 => {
                    Ok(previous)
                }
                Type::RawExtension | Type::FieldsV1 | Type::Json => Ok(previous),
                _ => Ok(None),
            };
        }
        match ty {
            Type::Struct(id) => {
                if byte != b'{' {
                    return self.mismatch(byte, ty, path);
                }
                self.base.reader.open_object()?;
                if self.base.reader.depth() > TREE_DEPTH_MAX {
                    return Err(Stop::Malformed);
                }
                self.members(id, previous, path).map(Some)
            }
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(element) if byte == b'[' => self.list(element, previous, path).map(Some),
                Composite::Map(element) if byte == b'{' => self.map(element, previous, path).map(Some),
                _ => self.mismatch(byte, ty, path),
            },
            Type::String if byte == b'"' => {
                Ok(Some(Value::String(self.base.reader.string(self.base.arena)?)))
            }
            Type::Bool if byte == b't' => {
                self.base.reader.word("true")?;
                Ok(Some(Value::Bool(true)))
            }
            Type::Bool if byte == b'f' => {
                self.base.reader.word("false")?;
                Ok(Some(Value::Bool(false)))
            }
            Type::Int32 | Type::Int64 | Type::Float64 if is_number(byte) => {
                let text = self.base.reader.number()?;
                let value = match ty {
                    Type::Int32 => text.parse::<i32>().ok().map(|n| Value::Int(n.into())),
                    Type::Int64 => text.parse::<i64>().ok().map(Value::Int),
                    _ => text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Value::Float),
                };
                if value.is_none() {
                    self.save(path.mismatch(&format!("number {text}"), &path.go_type(self.schema, ty)));
                }
                Ok(value)
            }
            Type::String | Type::Bool | Type::Int32 | Type::Int64 | Type::Float64 => {
                self.mismatch(byte, ty, path)
            }
            Type::Bytes => self.bytes(byte, path),
            Type::Quantity => self.quantity(byte).map(Some),
            Type::Time | Type::MicroTime | Type::Duration => self.timed(ty, byte, path).map(Some),
            Type::IntOrString => self.int_or_string(byte, path).map(Some),
            Type::RawExtension | Type::FieldsV1 if self.trusted => {
                Ok(Some(Value::Raw(self.base.reader.skip_trusted()?)))
            }
            Type::RawExtension | Type::FieldsV1 => Ok(Some(Value::Raw(self.base.reader.skip()?))),
            Type::Json | Type::Alternative(_) => self.of_definitions(ty, byte, path),
        }
    }

    /// What only definitions of custom resources have. Kept out of the way of all other types.
    #[cold]
    #[inline(never)]
    fn of_definitions(&mut self, ty: Type, byte: u8, path: &Path<'_>) -> Result<Option<Value<'a>>, Stop> {
        match ty {
            Type::Alternative(id) => self.alternative(self.schema.alternative(id), byte, path),
            _ => self.alone(|typed| Ok(typed.base.value(path)?)).map(Some),
        }
    }

    /// What decodes itself in Go is not looked at for strict errors.
    fn alone<T>(&mut self, decode: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        let strict = self.base.strict.take();
        let decoded = decode(self)?;
        self.base.strict = strict;
        Ok(decoded)
    }

    /// An object, or the other thing. What is neither is an error where that may be a bool, and where it may be a list
    /// something without content, which is null in JSON and yet no nil pointer. What is wrong inside ends the decoding
    /// of the whole.
    fn alternative(
        &mut self,
        of: &Alternative,
        byte: u8,
        path: &Path<'_>,
    ) -> Result<Option<Value<'a>>, Stop> {
        let ty = match (byte, of.other) {
            (b'{', _) => Type::Struct(of.object),
            (b't' | b'f', Type::Bool) | (b'[', Type::Composite(_)) => of.other,
            (_, other) => {
                self.base.reader.skip()?;
                return match other {
                    Type::Bool => Err(Stop::Fatal("boolean or JSON schema expected".into())),
                    _ => Ok(Some(Value::Null)),
                };
            }
        };
        let before = self.base.saved.take();
        let here = path.then(Step::Itself);
        let value = self.alone(|typed| typed.value(ty, false, None, &here))?;
        if let Some(message) = std::mem::replace(&mut self.base.saved, before) {
            return Err(Stop::Fatal(message));
        }
        let has_nothing = matches!(&value, Some(Value::List(list)) if list.is_empty());
        Ok(if has_nothing { Some(Value::Null) } else { value })
    }

    /// Go goes on after a value of the wrong type, and reports the first at the end.
    fn mismatch(&mut self, byte: u8, ty: Type, path: &Path<'_>) -> Result<Option<Value<'a>>, Stop> {
        self.base.reader.skip()?;
        self.save(path.mismatch(kind_of(byte), &path.go_type(self.schema, ty)));
        Ok(None)
    }

    fn save(&mut self, message: String) {
        self.base.saved.get_or_insert(message);
    }

    /// The members of a struct, after its opening brace.
    fn members(
        &mut self,
        id: StructId,
        previous: Option<Value<'a>>,
        path: &Path<'_>,
    ) -> Result<Value<'a>, Stop> {
        let schema = self.schema;
        let of = schema.get(id);
        let mut open = self.slots.open(of, previous);
        let mut first = true;
        while let Some((name, head)) = self.base.reader.name(self.base.arena, first)? {
            first = false;
            let Some(index) = of.index_of_head(name, head) else {
                if let Some(strict) = &mut self.base.strict {
                    strict.add(StrictKind::Unknown, path.field(name));
                }
                self.base.reader.skip()?;
                continue;
            };
            let field = &of.fields[index];
            if open.has(index) {
                self.member_again(of, &mut open, index, name, path)?;
                continue;
            }
            let value = if field.ty == Type::String && self.base.reader.peek()? == b'"' {
                // The most by far.
                Some(Value::String(self.base.reader.string(self.base.arena)?))
            } else {
                let here = path.then(Step::Field(field, of.name));
                self.value(field.ty, field.pointer, None, &here)?
            };
            self.slots.add(&mut open, index, value);
        }
        Ok(Value::Map(self.slots.close(self.base.arena, schema, of, open)))
    }

    /// A member whose field has a value, of one before it or of an earlier value of the struct.
    #[cold]
    fn member_again(
        &mut self,
        of: &Struct,
        open: &mut Open,
        index: usize,
        name: &str,
        path: &Path<'_>,
    ) -> Result<(), Stop> {
        let field = &of.fields[index];
        let (is_duplicate, previous) = self.slots.see(open, index);
        if is_duplicate && let Some(strict) = &mut self.base.strict {
            strict.add(StrictKind::Duplicate, path.field(name));
        }
        let here = path.then(Step::Field(field, of.name));
        let value = self.value(field.ty, field.pointer, previous, &here)?;
        self.slots.set(open, index, value);
        Ok(())
    }

    fn element(
        &mut self,
        element: Element,
        previous: Option<Value<'a>>,
        path: &Path<'_>,
    ) -> Result<Value<'a>, Stop> {
        let value = self.value(element.ty, element.pointer, previous, path)?;
        Ok(match value {
            Some(value) => value,
            None if element.pointer => Value::Null,
            None => zero::zero(self.base.arena, self.schema, element.ty),
        })
    }

    fn list(
        &mut self,
        element: Element,
        previous: Option<Value<'a>>,
        path: &Path<'_>,
    ) -> Result<Value<'a>, Stop> {
        self.base.reader.open_list()?;
        let mut previous = match previous {
            Some(Value::List(list)) => Some(list.into_iter()),
            _ => None,
        };
        let mut items = ArenaVec::new_in(self.base.arena);
        while self.base.reader.item(items.is_empty())? {
            if items.is_empty() {
                items.reserve(ITEMS_FIRST);
            }
            let before = previous.as_mut().and_then(Iterator::next);
            let item = self.element(element, before, &path.then(Step::Index(items.len())))?;
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn map(
        &mut self,
        element: Element,
        previous: Option<Value<'a>>,
        path: &Path<'_>,
    ) -> Result<Value<'a>, Stop> {
        self.base.reader.open_object()?;
        let mut entries = Entries::new(self.base.arena);
        let mut seen = Entries::new(self.base.arena);
        let mut merging = false;
        if let Some(Value::Map(map)) = previous {
            merging = true;
            for (key, value) in map.into_entries() {
                entries.set(None, key, value);
            }
        }
        let mut first = true;
        while let Some(key) = self.base.reader.key(self.base.arena, first)? {
            first = false;
            let known = entries.find(key);
            // Keys of an earlier map of the same name are no duplicates of this one's.
            let duplicate = if merging {
                let before = seen.find(key);
                seen.set(before, key, Value::Null);
                before.is_some()
            } else {
                known.is_some()
            };
            if duplicate && let Some(strict) = &mut self.base.strict {
                strict.add(StrictKind::Duplicate, path.field(key));
            }
            let value = self.element(element, None, &path.then(Step::Key(key)))?;
            // A nil `[]byte` in a map stays one.
            entries.set(known, key, value);
        }
        Ok(Value::Map(entries.finish()))
    }

    /// `[]byte`: base64 text, or a list of numbers.
    fn bytes(&mut self, byte: u8, path: &Path<'_>) -> Result<Option<Value<'a>>, Stop> {
        match byte {
            b'"' => {
                let text = self.base.reader.string(self.base.arena)?;
                if self.trusted {
                    return Ok(Some(Value::String(text)));
                }
                match base64::canonical(self.base.arena, text) {
                    Ok(text) => Ok(Some(Value::String(text))),
                    Err(at) => {
                        self.save(format!("illegal base64 data at input byte {at}"));
                        Ok(None)
                    }
                }
            }
            b'[' => {
                self.base.reader.open_list()?;
                let mut bytes = Vec::new();
                let mut first = true;
                while self.base.reader.item(first)? {
                    first = false;
                    let byte = self.base.reader.peek()?;
                    let text = self.base.reader.skip()?;
                    match text.parse::<u8>() {
                        Ok(n) => bytes.push(n),
                        Err(_) if text == "null" => bytes.push(0),
                        Err(_) if is_number(byte) => {
                            self.save(path.mismatch(&format!("number {text}"), "uint8"))
                        }
                        Err(_) => self.save(path.mismatch(kind_of(byte), "uint8")),
                    }
                }
                Ok(Some(Value::String(base64::encode(self.base.arena, &bytes))))
            }
            _ => self.mismatch(byte, Type::Bytes, path),
        }
    }

    fn quantity(&mut self, byte: u8) -> Result<Value<'a>, Stop> {
        if self.trusted && byte == b'"' {
            return Ok(Value::String(self.base.reader.string(self.base.arena)?));
        }
        let text = self.base.reader.skip()?;
        // Go takes the quotes off and does not unescape.
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        match quantity::canonical(self.base.arena, go_trim(text)) {
            Ok(text) => Ok(Value::String(text)),
            Err(error) => Err(Stop::Fatal(error.to_string())),
        }
    }

    fn timed(&mut self, ty: Type, byte: u8, path: &Path<'_>) -> Result<Value<'a>, Stop> {
        if byte != b'"' {
            self.base.reader.skip()?;
            return Err(Stop::Fatal(path.mismatch(kind_of(byte), "string")));
        }
        let arena = self.base.arena;
        let text = self.base.reader.string(arena)?;
        if self.trusted {
            return Ok(Value::String(text));
        }
        let canonical = match ty {
            Type::Time => time::canonical_time(arena, text),
            Type::MicroTime => time::canonical_micro_time(arena, text),
            _ => time::canonical_duration(arena, text).map(Some),
        };
        match canonical {
            Ok(Some(text)) => Ok(Value::String(text)),
            // The zero time is null in JSON.
            Ok(None) => Ok(Value::Null),
            Err(message) => Err(Stop::Fatal(message)),
        }
    }

    fn int_or_string(&mut self, byte: u8, path: &Path<'_>) -> Result<Value<'a>, Stop> {
        match byte {
            b'"' => Ok(Value::String(self.base.reader.string(self.base.arena)?)),
            _ if is_number(byte) => {
                let text = self.base.reader.number()?;
                match int_or_string::parse_int(text) {
                    Some(n) => Ok(Value::Int(n.into())),
                    None => Err(Stop::Fatal(path.mismatch(&format!("number {text}"), "int32"))),
                }
            }
            _ => {
                self.base.reader.skip()?;
                Err(Stop::Fatal(path.mismatch(kind_of(byte), "int32")))
            }
        }
    }
}

fn is_number(byte: u8) -> bool {
    byte == b'-' || byte.is_ascii_digit()
}

/// The kind of value that begins with a byte, as Go's errors name it.
fn kind_of(byte: u8) -> &'static str {
    match byte {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    }
}

/// `strings.TrimSpace`.
fn go_trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{85}')
}
