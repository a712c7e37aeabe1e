//! Short ways through object trees, for code that treats a missing member, `null` and a zero value alike.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::value::{Map, Value};

/// Whether a value is what Go would leave out under `omitempty`.
#[inline]
pub fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Int(n) => *n == 0,
        Value::Float(f) => *f == 0.0,
        Value::String(s) => s.is_empty(),
        Value::List(l) => l.is_empty(),
        Value::Map(m) => m.is_empty(),
        Value::Raw(r) => r.is_empty() || *r == "null",
    }
}

/// Reading and defaulting members of a map.
pub trait Members<'a> {
    /// Whether the member is there and not `null`: Go's pointer is set.
    fn has(&self, key: &str) -> bool;
    /// Whether the member is missing, `null` or zero.
    fn lacks(&self, key: &str) -> bool;
    /// A string, empty where there is none.
    fn text(&self, key: &str) -> &'a str;
    /// An integer.
    fn int(&self, key: &str) -> Option<i64>;
    /// Whether the member is `true`.
    fn flag(&self, key: &str) -> bool;
    /// A map below.
    fn child(&self, key: &str) -> Option<&Map<'a>>;
    /// A map below, to change; `None` where there is none.
    fn child_mut(&mut self, key: &str) -> Option<&mut Map<'a>>;
    /// Items of a list below; none where there is no list.
    fn items(&self, key: &str) -> &[Value<'a>];
    /// Calls `f` on every map in a list below.
    fn each_mut(&mut self, key: &str, f: impl FnMut(&mut Map<'a>));
    /// Sets a member that is missing, `null` or zero.
    fn default_zero(&mut self, key: &'a str, value: Value<'a>);
    /// Sets a string that is missing or empty.
    fn default_text(&mut self, key: &'a str, value: &'a str);
    /// Sets a member that is missing or `null`, for Go's pointers.
    fn default_nil(&mut self, key: &'a str, value: Value<'a>);
    /// Sets a member, or takes it away where there is no value.
    fn put(&mut self, key: &'a str, value: Option<Value<'a>>);
}

impl<'a> Members<'a> for Map<'a> {
    #[inline]
    fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| !v.is_null())
    }
    #[inline]
    fn lacks(&self, key: &str) -> bool {
        self.get(key).is_none_or(is_zero)
    }
    #[inline]
    fn text(&self, key: &str) -> &'a str {
        self.get(key).and_then(Value::as_str).unwrap_or("")
    }
    #[inline]
    fn int(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Value::as_i64)
    }
    #[inline]
    fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(true)
    }
    #[inline]
    fn child(&self, key: &str) -> Option<&Map<'a>> {
        self.get(key).and_then(Value::as_map)
    }
    #[inline]
    fn child_mut(&mut self, key: &str) -> Option<&mut Map<'a>> {
        self.get_mut(key).and_then(Value::as_map_mut)
    }
    #[inline]
    fn items(&self, key: &str) -> &[Value<'a>] {
        self.get(key).and_then(Value::as_list).map_or(&[], |l| l.as_slice())
    }
    fn each_mut(&mut self, key: &str, mut f: impl FnMut(&mut Map<'a>)) {
        for item in self.get_mut(key).and_then(Value::as_list_mut).into_iter().flatten() {
            if let Value::Map(map) = item {
                f(map);
            }
        }
    }
    fn default_zero(&mut self, key: &'a str, value: Value<'a>) {
        match self.get_mut(key) {
            None => self.push_unique(key, value),
            Some(slot) if is_zero(slot) => *slot = value,
            Some(_) => {}
        }
    }
    fn default_text(&mut self, key: &'a str, value: &'a str) {
        self.default_zero(key, Value::String(value));
    }
    fn default_nil(&mut self, key: &'a str, value: Value<'a>) {
        match self.get_mut(key) {
            None => self.push_unique(key, value),
            Some(slot) if slot.is_null() => *slot = value,
            Some(_) => {}
        }
    }
    fn put(&mut self, key: &'a str, value: Option<Value<'a>>) {
        match value {
            Some(value) => {
                self.insert(key, value);
            }
            None => {
                self.remove(key);
            }
        }
    }
}

/// The root of an object as a map, made one where it is not.
pub fn root<'v, 'a>(arena: &'a Bump, object: &'v mut Value<'a>) -> &'v mut Map<'a> {
    if object.as_map().is_none() {
        *object = Value::Map(Map::new_in(arena));
    }
    match object {
        Value::Map(map) => map,
        _ => unreachable!("just made a map"),
    }
}

/// A list of values.
#[inline]
pub fn list<'a>(arena: &'a Bump, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
    let items = items.into_iter();
    let mut out = ArenaVec::with_capacity_in(items.size_hint().0, arena);
    out.extend(items);
    Value::List(out)
}

/// A map of entries with distinct keys.
#[inline]
pub fn map<'a>(arena: &'a Bump, entries: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Value<'a> {
    let entries = entries.into_iter();
    let mut out = ArenaVec::with_capacity_in(entries.size_hint().0, arena);
    out.extend(entries);
    Value::Map(Map::from_entries(out))
}

/// The list at a key, made where there is none.
pub fn list_mut<'v, 'a>(map: &'v mut Map<'a>, key: &'a str) -> &'v mut ArenaVec<'a, Value<'a>> {
    let arena = map.arena();
    if map.get(key).is_none_or(|v| v.as_list().is_none()) {
        map.insert(key, list(arena, []));
    }
    match map.get_mut(key) {
        Some(Value::List(items)) => items,
        _ => unreachable!("just made a list"),
    }
}

/// Whether two trees that were both decoded by the Schema say the same: the order of members does not matter, and
/// neither does whether something empty is written.
pub fn same(a: Option<&Value<'_>>, b: Option<&Value<'_>>) -> bool {
    let empty = |v: &Value<'_>| match v {
        Value::Null => true,
        Value::List(l) => l.is_empty(),
        Value::Map(m) => m.is_empty(),
        _ => false,
    };
    match (a.filter(|v| !empty(v)), b.filter(|v| !empty(v))) {
        (None, None) => true,
        (Some(Value::List(a)), Some(Value::List(b))) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(Some(a), Some(b)))
        }
        (Some(Value::Map(a)), Some(Value::Map(b))) => {
            a.iter().enumerate().all(|(at, (k, v))| same(Some(v), b.get_near(at, k)))
                && b.iter().enumerate().all(|(at, (k, v))| a.get_near(at, k).is_some() || same(None, Some(v)))
        }
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_text_is_the_same_only_as_a_text() {
        let raw = |text| Some(Value::Raw(text));
        let check = |a, b, expect| assert_eq!(same(raw(a).as_ref(), raw(b).as_ref()), expect, "{a} {b}");
        check(r#"{"a": 1}"#, r#"{"a": 1}"#, true);
        check(r#"{"a": 1}"#, r#"{"a":1}"#, false);
        check(r#"{"a":1}"#, r#"{"a":1.0}"#, false);
    }
}
