//! JSON to a tree and back without a schema: what `sigs.k8s.io/json` makes of an `interface{}`.

use std::collections::HashSet;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    DecodeError,
    path::{Path, Step},
    quote,
    reader::{Malformed, Read, Reader, to_text},
    syntax,
};
use crate::{
    limits::TREE_DEPTH_MAX,
    strict::{Collector, Mode, StrictKind},
    value::{Map, Value},
};

/// Decodes any JSON value. Object keys come out sorted; of keys given twice the last counts.
pub fn decode_untyped<'a>(arena: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, DecodeError> {
    decode_untyped_strict(arena, bytes, Mode::Lenient).map(|d| d.value)
}

/// Decodes any JSON value, with its duplicate fields.
pub fn decode_untyped_strict<'a>(
    arena: &'a Bump,
    bytes: &'a [u8],
    mode: Mode,
) -> Result<super::Decoded<'a>, DecodeError> {
    let strict = (mode == Mode::Strict).then(Collector::default);
    decode(arena, bytes, strict, false)
}

/// Decodes any JSON value as it is written: object keys keep their order, numbers their text. For what is to be written
/// again, not for reading.
pub fn decode_in_order<'a>(arena: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, DecodeError> {
    decode(arena, bytes, None, true).map(|d| d.value)
}

/// Decodes an object or a list, and leaves what its members are as text: [`Value::Raw`], but for null. Object keys come
/// out sorted. Anything else is such a text itself.
pub fn decode_level<'a>(arena: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, DecodeError> {
    let mut reader = Reader::new(to_text(arena, bytes));
    let level = level(arena, &mut reader).and_then(|value| reader.end().map(|()| value));
    level.map_err(|Malformed| super::malformed(bytes))
}

fn level<'a>(arena: &'a Bump, reader: &mut Reader<'a>) -> Read<Value<'a>> {
    let member = |reader: &mut Reader<'a>| {
        let text = reader.skip()?;
        Ok(if text == "null" { Value::Null } else { Value::Raw(text) })
    };
    match reader.peek()? {
        b'{' => {
            reader.open_object()?;
            let mut entries = Entries::new(arena);
            let mut first = true;
            while let Some(key) = reader.key(arena, first)? {
                first = false;
                let known = entries.find(key);
                let value = member(reader)?;
                entries.set(known, key, value);
            }
            Ok(Value::Map(entries.finish()))
        }
        b'[' => {
            reader.open_list()?;
            let mut items = ArenaVec::new_in(arena);
            while reader.item(items.is_empty())? {
                items.push(member(reader)?);
            }
            Ok(Value::List(items))
        }
        _ => member(reader),
    }
}

fn decode<'a>(
    arena: &'a Bump,
    bytes: &'a [u8],
    strict: Option<Collector>,
    as_written: bool,
) -> Result<super::Decoded<'a>, DecodeError> {
    let reader = Reader::new(to_text(arena, bytes));
    let mut decoder = Untyped { arena, reader, strict, saved: None, as_written };
    let value = decoder.value(&Path::ROOT).and_then(|value| decoder.reader.end().map(|()| value));
    let value = value.map_err(|Malformed| super::malformed(bytes))?;
    if let Some(message) = decoder.saved {
        return Err(DecodeError::Type(message));
    }
    Ok(super::Decoded { value, strict_errors: decoder.strict.map(|c| c.errors).unwrap_or_default() })
}

/// State of a decode, also lent by the typed decoder for values without a type.
pub(crate) struct Untyped<'a> {
    pub(crate) arena: &'a Bump,
    pub(crate) reader: Reader<'a>,
    pub(crate) strict: Option<Collector>,
    pub(crate) saved: Option<String>,
    /// Whether keys keep their order and numbers their text.
    pub(crate) as_written: bool,
}

impl<'a> Untyped<'a> {
    pub(crate) fn value(&mut self, path: &Path<'_>) -> Read<Value<'a>> {
        Ok(match self.reader.peek()? {
            b'{' => self.object(path)?,
            b'[' => self.list(path)?,
            b'"' => Value::String(self.reader.string(self.arena)?),
            b't' => self.reader.word("true").map(|()| Value::Bool(true))?,
            b'f' => self.reader.word("false").map(|()| Value::Bool(false))?,
            b'n' => self.reader.word("null").map(|()| Value::Null)?,
            _ => {
                let text = self.reader.number()?;
                match number(text) {
                    Some(_) if self.as_written => Value::Raw(text),
                    Some(value) => value,
                    None => {
                        let message = path.mismatch(&format!("number {text}"), "float64");
                        self.saved.get_or_insert(message);
                        Value::Null
                    }
                }
            }
        })
    }

    fn object(&mut self, path: &Path<'_>) -> Read<Value<'a>> {
        self.reader.open_object()?;
        if self.reader.depth() > TREE_DEPTH_MAX {
            return Err(Malformed);
        }
        let mut entries = Entries::new(self.arena);
        let mut first = true;
        while let Some(key) = self.reader.key(self.arena, first)? {
            first = false;
            let known = entries.find(key);
            if known.is_some()
                && let Some(strict) = &mut self.strict
            {
                strict.add(StrictKind::Duplicate, path.field(key));
            }
            let value = self.value(&path.then(Step::Key(key)))?;
            entries.set(known, key, value);
        }
        Ok(Value::Map(if self.as_written { entries.in_order() } else { entries.finish() }))
    }

    fn list(&mut self, path: &Path<'_>) -> Read<Value<'a>> {
        self.reader.open_list()?;
        if self.reader.depth() > TREE_DEPTH_MAX {
            return Err(Malformed);
        }
        let mut items = ArenaVec::new_in(self.arena);
        while self.reader.item(items.is_empty())? {
            let value = self.value(&path.then(Step::Index(items.len())))?;
            items.push(value);
        }
        Ok(Value::List(items))
    }
}

/// A number as Go keeps it in an `interface{}` with `PreserveInts`; `None` where it overflows a float.
pub(crate) fn number<'a>(text: &str) -> Option<Value<'a>> {
    if !text.contains('.')
        && let Ok(n) = text.parse::<i64>()
    {
        return Some(Value::Int(n));
    }
    let f: f64 = text.parse().ok()?;
    f.is_finite().then_some(Value::Float(f))
}

/// Entries of a map that is being read: keeps them unique, and sorts them at the end.
pub(crate) struct Entries<'a> {
    entries: ArenaVec<'a, (&'a str, Value<'a>)>,
    sorted: bool,
    seen: Option<HashSet<&'a str>>,
}

/// Entries that a map has room for from the start: most have no more, and what has to grow is copied.
const ENTRIES_FIRST: usize = 4;

/// Up to here a key is looked for by walking the entries.
const SCAN_MAX: usize = 16;

impl<'a> Entries<'a> {
    pub(crate) fn new(arena: &'a Bump) -> Self {
        Entries { entries: ArenaVec::new_in(arena), sorted: true, seen: None }
    }

    /// The entries of a map, to go on with.
    pub(crate) fn of(map: Map<'a>) -> Self {
        Entries { sorted: map.is_sorted(), entries: map.into_entries(), seen: None }
    }

    /// Where `key` is already. Nothing is to be found while keys come in order.
    pub(crate) fn find(&mut self, key: &str) -> Option<usize> {
        let last = self.entries.last()?.0;
        if self.sorted {
            if last < key {
                return None;
            }
            return self.entries.binary_search_by(|(k, _)| (*k).cmp(key)).ok();
        }
        if self.entries.len() > SCAN_MAX {
            let entries = &self.entries;
            let seen = self.seen.get_or_insert_with(|| entries.iter().map(|(k, _)| *k).collect());
            if !seen.contains(key) {
                return None;
            }
        }
        self.entries.iter().position(|(k, _)| *k == key)
    }

    pub(crate) fn set(&mut self, known: Option<usize>, key: &'a str, value: Value<'a>) {
        if let Some(at) = known {
            self.entries[at].1 = value;
            return;
        }
        if self.sorted && self.entries.last().is_some_and(|(last, _)| *last > key) {
            self.sorted = false;
        }
        if let Some(seen) = &mut self.seen {
            seen.insert(key);
        }
        if self.entries.is_empty() {
            self.entries.reserve(ENTRIES_FIRST);
        }
        self.entries.push((key, value));
    }

    fn in_order(self) -> Map<'a> {
        Map::from_entries(self.entries)
    }

    pub(crate) fn finish(mut self) -> Map<'a> {
        if !self.sorted {
            self.entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        }
        Map::from_entries(self.entries)
    }
}

/// Encodes a tree: keys sorted, escaped as Go does.
pub fn encode_untyped(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(n) => quote::write_int(out, *n),
        Value::Float(f) => quote::write_float(out, *f),
        Value::String(s) => quote::write_string(out, s),
        Value::Raw(text) => quote::write_compact(out, text),
        Value::List(list) => {
            out.push(b'[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                encode_untyped(item, out);
            }
            out.push(b']');
        }
        Value::Map(map) => write_map(map, out, encode_untyped),
    }
}

/// Encodes a tree with the members of its objects in the order they have, where [`encode_untyped`] sorts them.
pub fn encode_in_order(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::List(list) => {
            out.push(b'[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                encode_in_order(item, out);
            }
            out.push(b']');
        }
        Value::Map(map) => {
            out.push(b'{');
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                quote::write_string(out, key);
                out.push(b':');
                encode_in_order(value, out);
            }
            out.push(b'}');
        }
        scalar => encode_untyped(scalar, out),
    }
}

/// Writes a map with sorted keys.
pub(crate) fn write_map<'v, 'a>(
    map: &'v Map<'a>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&'v Value<'a>, &mut Vec<u8>),
) {
    out.push(b'{');
    let mut first = true;
    let mut entry = |key: &str, value: &'v Value<'a>, out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        quote::write_string(out, key);
        out.push(b':');
        write(value, out);
    };
    if map.is_sorted() {
        for (key, value) in map.iter() {
            entry(key, value, out);
        }
    } else {
        let mut sorted: Vec<_> = map.iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(b.0));
        for (key, value) in sorted {
            entry(key, value, out);
        }
    }
    out.push(b'}');
}

/// Parses the opaque text of a [`Value::Raw`]; anything else is answered as it is. The text of a `Raw` was
/// checked when it was decoded, so an error means that the caller made it.
pub fn expand_raw<'a>(arena: &'a Bump, value: &Value<'a>) -> Result<Value<'a>, DecodeError> {
    match value {
        Value::Raw(text) => decode_untyped(arena, text.as_bytes()),
        Value::List(list) => {
            let mut out = ArenaVec::with_capacity_in(list.len(), arena);
            for item in list {
                out.push(expand_raw(arena, item)?);
            }
            Ok(Value::List(out))
        }
        Value::Map(map) => {
            let mut out = ArenaVec::with_capacity_in(map.len(), arena);
            for (key, item) in map.iter() {
                out.push((key, expand_raw(arena, item)?));
            }
            Ok(Value::Map(Map::from_entries(out)))
        }
        other => Ok(other.clone()),
    }
}

/// Whether a text is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().is_ok() && reader.end().is_ok()
}

/// The syntax error of a text known to have one.
pub(crate) fn syntax_error(bytes: &[u8]) -> String {
    match syntax::check(bytes) {
        Err(error) => error.message,
        // Valid JSON, but deeper than a tree may be.
        Ok(()) => "exceeded max depth".into(),
    }
}
