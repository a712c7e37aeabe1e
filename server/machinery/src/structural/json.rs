//! JSON that a schema owns: defaults and the values of enumerations.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::value::{Map, Value};

/// A float with the equality of its bits: schemas are compared and hashed, and hold no NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Float(u64);

impl Float {
    /// Of a number.
    pub fn new(f: f64) -> Self {
        Float(f.to_bits())
    }
    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// One value. Objects have sorted, unique keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits `i64`.
    Int(i64),
    /// Any other number.
    Float(Float),
    /// A string.
    String(Box<str>),
    /// An array.
    List(Box<[Json]>),
    /// An object.
    Map(Box<[(Box<str>, Json)]>),
}

impl Json {
    /// A copy of a tree. Opaque text must be expanded before; it is taken for a string here.
    pub fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Json::Null,
            Value::Bool(b) => Json::Bool(*b),
            Value::Int(n) => Json::Int(*n),
            Value::Float(f) => Json::Float(Float::new(*f)),
            Value::String(s) | Value::Raw(s) => Json::String((*s).into()),
            Value::List(list) => Json::List(list.iter().map(Json::of).collect()),
            Value::Map(map) => {
                let mut entries: Vec<_> =
                    map.iter().map(|(key, value)| (key.into(), Json::of(value))).collect();
                entries.sort_unstable_by(|a: &(Box<str>, Json), b| a.0.cmp(&b.0));
                Json::Map(entries.into_boxed_slice())
            }
        }
    }

    /// A copy in an arena.
    pub fn copy_into<'a>(&self, arena: &'a Bump) -> Value<'a> {
        match self {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(*b),
            Json::Int(n) => Value::Int(*n),
            Json::Float(f) => Value::Float(f.get()),
            Json::String(s) => Value::String(arena.alloc_str(s)),
            Json::List(list) => {
                let mut out = ArenaVec::with_capacity_in(list.len(), arena);
                out.extend(list.iter().map(|item| item.copy_into(arena)));
                Value::List(out)
            }
            Json::Map(entries) => {
                let mut out = ArenaVec::with_capacity_in(entries.len(), arena);
                out.extend(
                    entries.iter().map(|(key, value)| (&*arena.alloc_str(key), value.copy_into(arena))),
                );
                Value::Map(Map::from_entries(out))
            }
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The string, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(s) = self { Some(s) } else { None }
    }

    /// Whether it is the same as a tree, as Go's `reflect.DeepEqual` has it: an integer is no float.
    pub fn equals(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Json::Null, Value::Null) => true,
            (Json::Bool(a), Value::Bool(b)) => a == b,
            (Json::Int(a), Value::Int(b)) => a == b,
            (Json::Float(a), Value::Float(b)) => a.get() == *b,
            (Json::String(a), Value::String(b)) => **a == **b,
            (Json::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            (Json::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| a.equals(b)))
            }
            _ => false,
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        match self {
            Json::String(s) => s.len(),
            Json::List(list) => list.iter().map(|item| size_of::<Json>() + item.heap()).sum(),
            Json::Map(entries) => {
                entries.iter().map(|(key, v)| size_of::<(Box<str>, Json)>() + key.len() + v.heap()).sum()
            }
            _ => 0,
        }
    }
}
