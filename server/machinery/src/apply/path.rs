//! Steps of a field path, and the order of the values in them.

use std::{cmp::Ordering, fmt};

use bumpalo::Bump;

use crate::{
    json::{expand_raw, quote},
    value::{Map, Value},
};

/// One step from an object to one of its fields or items.
#[derive(Clone, Copy, Debug)]
pub enum PathElement<'v> {
    /// A field of a struct or an entry of a map.
    FieldName(&'v str),
    /// The item of a list whose key fields have these values, sorted by name.
    Key(&'v [(&'v str, &'v Value<'v>)]),
    /// The item of a set that is this value.
    Value(&'v Value<'v>),
    /// The item at a position.
    Index(i64),
}

impl PathElement<'_> {
    fn rank(&self) -> u8 {
        match self {
            PathElement::FieldName(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::FieldName(a), PathElement::FieldName(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => compare_keys(a, b),
            (PathElement::Value(a), PathElement::Value(b)) => compare_values(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement<'_> {}

impl fmt::Display for PathElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::FieldName(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", Shown(value))?;
                }
                f.write_str("]")
            }
            PathElement::Value(value) => write!(f, "[={}]", Shown(value)),
            PathElement::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A value as paths in messages show it.
struct Shown<'s, 'v>(&'s Value<'v>);

impl fmt::Display for Shown<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(n) => {
                let mut text = Vec::new();
                quote::write_float(&mut text, *n);
                f.write_str(&String::from_utf8_lossy(&text))
            }
            Value::String(s) => f.write_str(&quote::go_quote(s)),
            Value::Raw(text) => f.write_str(text),
            Value::List(list) => {
                f.write_str("[")?;
                for (i, item) in list.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}", Shown(item))?;
                }
                f.write_str("]")
            }
            Value::Map(map) => map.iter().try_for_each(|(key, value)| write!(f, "{key}={}", Shown(value))),
        }
    }
}

fn compare_keys(a: &[(&str, &Value<'_>)], b: &[(&str, &Value<'_>)]) -> Ordering {
    for ((a_name, a_value), (b_name, b_value)) in a.iter().zip(b) {
        let order = a_name.cmp(b_name).then_with(|| compare_values(a_value, b_value));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order of values: numbers by what they are worth, then texts, booleans, lists, maps, null.
pub fn compare_values(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    fn rank(value: &Value<'_>) -> u8 {
        match value {
            Value::Int(_) | Value::Float(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::List(_) => 3,
            Value::Map(_) => 4,
            Value::Null => 5,
            Value::Raw(_) => 6,
        }
    }
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b),
        (Value::Int(a), Value::Float(b)) => compare_floats(*a as f64, *b),
        (Value::Float(a), Value::Int(b)) => compare_floats(*a, *b as f64),
        (Value::String(a), Value::String(b)) | (Value::Raw(a), Value::Raw(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let order = a.iter().zip(b.iter()).map(|(a, b)| compare_values(a, b));
            order.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Map(a), Value::Map(b)) => {
            let (a, b) = (sorted(a), sorted(b));
            let pairs = a.iter().zip(&b);
            let order = pairs.map(|(a, b)| a.0.cmp(b.0).then_with(|| compare_values(a.1, b.1)));
            order.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// JSON has no NaN, so floats are ordered; equal for anything else.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn sorted<'m, 'v>(map: &'m Map<'v>) -> Vec<(&'v str, &'m Value<'v>)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// Whether two values are the same to a reader: maps in any order, numbers by what they are worth, opaque texts by
/// what they say.
pub fn equal_values(arena: &Bump, a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal_values(arena, a, b))
        }
        (Value::Map(a), Value::Map(b)) => equal_maps(arena, a, b),
        (Value::Raw(a), Value::Raw(b)) if a == b => true,
        (Value::Raw(_), _) | (_, Value::Raw(_)) => {
            let (a, b) = (a.copy_into(arena), b.copy_into(arena));
            match (expand_raw(arena, &a), expand_raw(arena, &b)) {
                (Ok(a), Ok(b)) => equal_values(arena, &a, &b),
                _ => false,
            }
        }
        _ => compare_values(a, b) == Ordering::Equal,
    }
}

fn equal_maps(arena: &Bump, a: &Map<'_>, b: &Map<'_>) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // Mostly both have their entries in the same order.
    let same_order = a.iter().zip(b.iter()).all(|(a, b)| a.0 == b.0);
    if same_order {
        return a.iter().zip(b.iter()).all(|(a, b)| equal_values(arena, a.1, b.1));
    }
    sorted(a).iter().zip(&sorted(b)).all(|(a, b)| a.0 == b.0 && equal_values(arena, a.1, b.1))
}
