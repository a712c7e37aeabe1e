//! Objects as values: read by their schema, never copied.

use std::{borrow::Cow, collections::HashSet};

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    value::{Map, Value},
};

use crate::{
    encoding::decode_url_base64,
    escaping::{escape, may_be_escaped, unescape},
    eval::CANCELLED,
    limits,
    schema::{Format, Kind, ListType, Schema},
    time::{Timestamp, parse_duration_words},
    value::{List, MapVal, NO_SUCH_OVERLOAD, ObjectVal, Val},
};

/// What Go calls the type of a value.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) | Value::Raw(_) => "map[string]interface {}",
    }
}

/// A part of an object.
pub(crate) fn val<'a>(value: &'a Value<'a>, schema: &'a Schema, arena: &'a Bump) -> Val<'a> {
    if value.is_null() {
        return match schema.nullable {
            true => Val::Null,
            false => Val::Error("invalid data, got null for schema with nullable=false"),
        };
    }
    if schema.int_or_string {
        return match value {
            Value::String(text) => Val::String(text),
            Value::Int(n) => Val::Int(*n),
            _ => Val::Error("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    let unexpected =
        |wanted: &str| Val::error(arena, format!("invalid data, expected {wanted}, got {}", go_type(value)));
    match schema.kind {
        Kind::Object => match value {
            Value::Map(map) => Val::Map(MapVal::Data(map, schema)),
            _ => Val::Error("invalid data, expected a map for the provided schema with type=object"),
        },
        Kind::Array => match value {
            Value::List(list) if schema.items.is_some() => Val::List(List::Data(list, schema)),
            Value::List(_) => Val::Error("invalid array type, expected Items with a non-empty Schema"),
            _ => Val::Error("invalid data, expected an array for the provided schema with type=array"),
        },
        Kind::String => match value {
            Value::String(text) => formatted(text, schema.format, arena),
            _ => unexpected("string"),
        },
        Kind::Number => match value {
            Value::Int(n) => Val::Double(*n as f64),
            Value::Float(d) => Val::Double(*d),
            _ => unexpected("float"),
        },
        Kind::Integer => match value {
            Value::Int(n) => Val::Int(*n),
            _ => unexpected("int"),
        },
        Kind::Boolean => match value {
            Value::Bool(b) => Val::Bool(*b),
            _ => unexpected("bool"),
        },
        Kind::Any if schema.preserves_unknown => Val::Unknown(value),
        Kind::Any => Val::Error(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        ),
    }
}

/// A part of an object that nothing is known of but what JSON says, and whether its kind is built in.
pub(crate) fn plain<'a>(value: &'a Value<'a>, typed: bool, arena: &'a Bump) -> Val<'a> {
    match value {
        Value::Null => Val::Null,
        Value::Bool(b) => Val::Bool(*b),
        Value::Int(n) => Val::Int(*n),
        Value::Float(d) => Val::Double(*d),
        Value::String(text) => Val::String(text),
        Value::List(list) => Val::List(List::Plain(list, typed)),
        Value::Map(map) => Val::Map(MapVal::Plain(map, typed)),
        Value::Raw(text) => match json::decode_untyped(arena, text.as_bytes()) {
            Ok(value) => plain(arena.alloc(value), typed, arena),
            Err(_) => Val::Error("invalid data, opaque text is no JSON"),
        },
    }
}

/// Whether an expression made the same twice.
pub(crate) fn objects_equal<'a>(a: &ObjectVal<'a>, b: &ObjectVal<'a>, arena: &'a Bump) -> bool {
    let same = |(name, val): &(&str, Val<'a>)| b.get(name).is_some_and(|other| val.is(other, arena));
    a.name == b.name && a.fields.len() == b.fields.len() && a.fields.iter().all(same)
}

fn formatted<'a>(text: &'a str, format: Format, arena: &'a Bump) -> Val<'a> {
    match format {
        Format::Plain => Val::String(text),
        Format::Duration => match parse_duration_words(text) {
            Some(n) => Val::Duration(n),
            None => Val::error(arena, format!("Invalid duration {text}: unable to parse {text} as duration")),
        },
        Format::Date => match Timestamp::parse_date(text) {
            Some(t) => Val::Timestamp(t),
            None => Val::error(arena, format!("Invalid date formatted string {text}")),
        },
        Format::DateTime => match Timestamp::parse_date_time(text) {
            Some(t) => Val::Timestamp(t),
            None => Val::error(arena, format!("Invalid date-time formatted string {text}")),
        },
        Format::Byte => match decode_url_base64(text) {
            Ok(bytes) => Val::Bytes(arena.alloc_slice_copy(&bytes)),
            Err(at) => Val::error(
                arena,
                format!("Invalid byte formatted string {text}: illegal base64 data at input byte {at}"),
            ),
        },
    }
}

fn member<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    match &schema.properties {
        Some(_) => schema.property(name).map(|s| &**s),
        None if schema.embedded => None,
        None => schema.additional.as_deref(),
    }
}

/// A field of an object, or a value of a map.
pub(crate) fn find<'a>(map: &'a Map<'a>, schema: &'a Schema, name: &str, arena: &'a Bump) -> Option<Val<'a>> {
    let is_object = schema.properties.is_some();
    let name = match is_object && may_be_escaped(name) {
        true => Cow::Owned(unescape(name)?),
        false => Cow::Borrowed(name),
    };
    let value = map.get(&name)?;
    if is_object && value.is_null() {
        return None;
    }
    Some(val(value, member(schema, &name)?, arena))
}

/// All that the schema names.
pub(crate) fn entries<'a>(map: &'a Map<'a>, schema: &'a Schema, arena: &'a Bump) -> Vec<(Val<'a>, Val<'a>)> {
    let is_object = schema.properties.is_some();
    map.iter()
        .filter_map(|(name, value)| {
            let schema = member(schema, name)?;
            let key = match is_object.then(|| escape(name)).flatten() {
                Some(escaped) if escaped != name => Val::string(arena, escaped),
                _ => Val::String(name),
            };
            let value = if is_object && value.is_null() {
                Val::error(arena, format!("no such key: {key}"))
            } else {
                val(value, schema, arena)
            };
            Some((key, value))
        })
        .collect()
}

/// Whether two parts of objects are the same.
pub(crate) fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .enumerate()
                    .all(|(at, (k, v))| b.get_near(at, k).is_some_and(|other| same(v, other)))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}

pub(crate) fn lists_equal<'a>(a: List<'a>, b: List<'a>, arena: &'a Bump) -> Val<'a> {
    if a.len() != b.len() {
        return Val::Bool(false);
    }
    if let List::Data(items, schema) = a {
        match (schema.list_type, b) {
            (ListType::Set, _) => return sets_equal(a, b, arena),
            (ListType::Map, List::Data(others, _)) => {
                return map_lists_equal(items, others, schema, arena);
            }
            _ => {}
        }
    }
    for (x, y) in a.iter(arena).zip(b.iter(arena)) {
        match x.equals(y, arena) {
            Val::Bool(true) => {}
            Val::Bool(false) => return Val::Bool(false),
            // Lists that are no data take what cannot be compared for equal.
            error if matches!(a, List::Data(..)) => return error,
            _ => {}
        }
    }
    Val::Bool(true)
}

/// What a value is found again by, whatever it is.
fn key_text(val: Val<'_>, out: &mut String) {
    use std::fmt::Write;
    let _ = match val {
        Val::String(text) => write!(out, "s{}:{text}", text.len()),
        Val::Int(n) => write!(out, "n{n}"),
        Val::Uint(n) => write!(out, "n{n}"),
        Val::Double(d) => write!(out, "n{d}"),
        Val::Bytes(bytes) => write!(out, "b{bytes:?}"),
        Val::Map(MapVal::Data(map, _)) => {
            value_text(&Value::Null, out);
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, value) in entries {
                let _ = write!(out, "k{}:{key}", key.len());
                value_text(value, out);
            }
            Ok(())
        }
        Val::List(List::Data(list, _)) => {
            list.iter().for_each(|value| value_text(value, out));
            Ok(())
        }
        other => write!(out, "{other}"),
    };
}

fn value_text(value: &Value<'_>, out: &mut String) {
    use std::fmt::Write;
    let _ = write!(out, "{value:?};");
}

fn key_of(val: Val<'_>) -> String {
    let mut out = String::new();
    key_text(val, &mut out);
    out
}

fn sets_equal<'a>(a: List<'a>, b: List<'a>, arena: &'a Bump) -> Val<'a> {
    let own: HashSet<String> = a.iter(arena).map(key_of).collect();
    let other: HashSet<String> = b.iter(arena).map(key_of).collect();
    Val::Bool(own == other)
}

/// The keys of an element of a list of type `map`.
fn map_key(element: &Value<'_>, schema: &Schema) -> String {
    let mut out = String::new();
    for key in &schema.list_map_keys {
        value_text(element.path(&[key]).unwrap_or(&Value::Null), &mut out);
    }
    out
}

fn map_lists_equal<'a>(
    a: &'a [Value<'a>],
    b: &'a [Value<'a>],
    schema: &'a Schema,
    arena: &'a Bump,
) -> Val<'a> {
    let Some(items) = schema.items.as_deref() else { return Val::Bool(false) };
    let own: std::collections::HashMap<String, &Value<'a>> =
        a.iter().map(|element| (map_key(element, schema), element)).collect();
    let mut seen = HashSet::new();
    for element in b {
        let key = map_key(element, schema);
        let Some(mine) = own.get(&key) else { return Val::Bool(false) };
        match val(mine, items, arena).equals(val(element, items, arena), arena) {
            Val::Bool(true) => {}
            other => return other,
        }
        seen.insert(key);
    }
    Val::Bool(seen.len() == own.len())
}

pub(crate) fn maps_equal<'a>(a: MapVal<'a>, b: MapVal<'a>, arena: &'a Bump) -> Val<'a> {
    if a.len() != b.len() {
        return Val::Bool(false);
    }
    let MapVal::Data(map, schema) = a else {
        for (key, value) in a.entries(arena) {
            match b.find(key, arena) {
                None => return Val::Bool(false),
                Some(other) if matches!(value.equals(other, arena), Val::Bool(false)) => {
                    return Val::Bool(false);
                }
                Some(_) => {}
            }
        }
        return Val::Bool(true);
    };
    for (name, value) in map.iter() {
        if member(schema, name).is_some() {
            let (own, other) = (find(map, schema, name, arena), b.find(Val::String(name), arena));
            match (own, other) {
                (None, None) => {}
                (Some(own), Some(other)) => match own.equals(other, arena) {
                    Val::Bool(true) => {}
                    unequal => return unequal,
                },
                _ => return Val::Bool(false),
            }
        } else {
            let MapVal::Data(other, _) = b else { return Val::Error(NO_SUCH_OVERLOAD) };
            if other.get(name).is_some_and(|other| !same(value, other)) {
                return Val::Bool(false);
            }
        }
    }
    Val::Bool(true)
}

/// `a + b` of lists of objects: sets and maps keep one of each.
pub(crate) fn lists_added<'a>(a: List<'a>, b: List<'a>, arena: &'a Bump) -> Val<'a> {
    if let List::Growing(list) = a {
        let added: Vec<Val<'a>> = b.iter(arena).collect();
        list.borrow_mut().extend(added);
        return Val::List(a);
    }
    // The real server puts two lists together without a copy, so that a sum costs little however long it is.
    let bytes = (a.len() + b.len()).saturating_mul(2 * size_of::<Val<'a>>());
    if arena.allocated_bytes().saturating_add(bytes) > limits::SUMS_BYTES_MAX {
        return Val::Error(CANCELLED);
    }
    let mut out: Vec<Val<'a>> = Vec::with_capacity(a.len() + b.len());
    out.extend(a.iter(arena));
    match a {
        List::Data(_, schema) if schema.list_type == ListType::Set => {
            let mut seen: HashSet<String> = out.iter().map(|val| key_of(*val)).collect();
            out.extend(b.iter(arena).filter(|val| seen.insert(key_of(*val))));
        }
        List::Data(_, schema) if schema.list_type == ListType::Map => {
            let key = |val: &Val<'a>| map_val_key(*val, schema, arena);
            let mut at: std::collections::HashMap<String, usize> =
                out.iter().enumerate().map(|(at, val)| (key(val), at)).collect();
            for val in b.iter(arena) {
                match at.get(&key(&val)) {
                    Some(place) => out[*place] = val,
                    None => {
                        at.insert(key(&val), out.len());
                        out.push(val);
                    }
                }
            }
        }
        _ => out.extend(b.iter(arena)),
    }
    Val::list(arena, out)
}

fn map_val_key<'a>(val: Val<'a>, schema: &Schema, arena: &'a Bump) -> String {
    let Val::Map(map) = val else { return key_of(val) };
    let mut out = String::new();
    for key in &schema.list_map_keys {
        let name = escape(key).unwrap_or_else(|| key.to_string());
        let found = map.find(Val::string(arena, name), arena);
        key_text(found.unwrap_or(Val::Null), &mut out);
    }
    out
}
