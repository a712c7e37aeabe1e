//! The tree an object is decoded into: lives in one arena, borrows strings from the request body.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::{limits::MANY_ENTRIES, schema::same_text};

/// One JSON value. Numbers keep what Go would keep: `int64` where it fits, else `float64`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer literal that fits `i64`.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string, unescaped.
    String(&'a str),
    /// An array.
    List(ArenaVec<'a, Value<'a>>),
    /// An object.
    Map(Map<'a>),
    /// JSON text kept as it came (`RawExtension`, `FieldsV1`); compacted when it is encoded.
    Raw(&'a str),
}

/// An object's entries in insertion order, keys unique.
#[derive(Clone, Debug)]
pub struct Map<'a> {
    entries: ArenaVec<'a, (&'a str, Value<'a>)>,
    origin: Origin,
}

/// Where a map comes from, as long as nothing in it can have been changed since: whoever gets hold of something to change
/// below a map asks the map for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From anywhere, or it may have been changed.
    Any,
    /// From the struct at this place of a frozen tree.
    Struct(u16),
    /// From the map at this place.
    Map(u16),
}

impl PartialEq for Map<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<'a> Map<'a> {
    /// An empty map in `arena`.
    #[inline]
    pub fn new_in(arena: &'a Bump) -> Self {
        Map { entries: ArenaVec::new_in(arena), origin: Origin::Any }
    }
    /// A map of entries whose keys are known to be unique.
    pub fn from_entries(entries: ArenaVec<'a, (&'a str, Value<'a>)>) -> Self {
        Map { entries, origin: Origin::Any }
    }
    /// The same of what was taken from a frozen tree.
    pub(crate) fn thawed(entries: ArenaVec<'a, (&'a str, Value<'a>)>, origin: Origin) -> Self {
        Map { entries, origin }
    }
    /// Where it comes from.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
    /// Whether keys are in byte order.
    pub fn is_sorted(&self) -> bool {
        self.entries.is_sorted_by(|a, b| a.0 <= b.0)
    }
    /// The entry at a position.
    pub fn entry_at(&self, at: usize) -> Option<(&'a str, &Value<'a>)> {
        self.entries.get(at).map(|(k, v)| (*k, v))
    }
    /// The entries, to take apart.
    pub fn into_entries(self) -> ArenaVec<'a, (&'a str, Value<'a>)> {
        self.entries
    }
    /// The arena the map lives in.
    #[inline]
    pub fn arena(&self) -> &'a Bump {
        self.entries.bump()
    }
    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// The value at `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        if self.entries.len() >= MANY_ENTRIES {
            return self.position(key).map(|at| &self.entries[at].1);
        }
        self.entries.iter().find(|(k, _)| same_text(k, key)).map(|(_, v)| v)
    }
    /// The value at `key`, where the key is likely to be at a position: what two maps of the same order are compared by.
    #[inline]
    pub fn get_near(&self, at: usize, key: &str) -> Option<&Value<'a>> {
        match self.entries.get(at) {
            Some((k, value)) if same_text(k, key) => Some(value),
            _ => self.get(key),
        }
    }
    /// Where a key is. Large maps come sorted most of the time, as they are stored: a key that is found so is the one,
    /// whatever the order.
    fn position(&self, key: &str) -> Option<usize> {
        if self.entries.len() >= MANY_ENTRIES
            && let Ok(at) = self.entries.binary_search_by(|(k, _)| (*k).cmp(key))
        {
            return Some(at);
        }
        self.entries.iter().position(|(k, _)| same_text(k, key))
    }
    /// The value at `key`, to change.
    #[inline]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value<'a>> {
        self.origin = Origin::Any;
        let at = self.position(key)?;
        Some(&mut self.entries[at].1)
    }
    /// Sets `key`, in place where it is there already; answers the old value.
    pub fn insert(&mut self, key: &'a str, value: Value<'a>) -> Option<Value<'a>> {
        self.origin = Origin::Any;
        if let Some(slot) = self.get_mut(key) {
            return Some(std::mem::replace(slot, value));
        }
        self.entries.push((key, value));
        None
    }
    /// Appends an entry whose key is known not to be there.
    #[inline]
    pub fn push_unique(&mut self, key: &'a str, value: Value<'a>) {
        self.origin = Origin::Any;
        debug_assert!(self.get(key).is_none());
        self.entries.push((key, value));
    }
    /// Removes `key`, keeping the order of the rest.
    pub fn remove(&mut self, key: &str) -> Option<Value<'a>> {
        self.origin = Origin::Any;
        let at = self.position(key)?;
        Some(self.entries.remove(at).1)
    }
    /// Where `key` is, or would be, in a map whose keys are sorted.
    pub fn search(&self, key: &str) -> Result<usize, usize> {
        debug_assert!(self.is_sorted());
        self.entries.binary_search_by(|(k, _)| (*k).cmp(key))
    }
    /// The value at a position that [`Map::search`] found, to change.
    pub fn value_at_mut(&mut self, at: usize) -> &mut Value<'a> {
        self.origin = Origin::Any;
        &mut self.entries[at].1
    }
    /// Removes the entry at a position that [`Map::search`] found.
    pub fn remove_at(&mut self, at: usize) -> Value<'a> {
        self.origin = Origin::Any;
        self.entries.remove(at).1
    }
    /// Sets `key` in a map whose keys are sorted, and stay so.
    pub fn insert_sorted(&mut self, key: &'a str, value: Value<'a>) {
        self.origin = Origin::Any;
        match self.search(key) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }
    /// Sets several entries in a map whose keys are sorted, and stay so: `change` gets each key's old value and says what
    /// becomes of it. Keys are sorted and unique as well. One walk over both.
    pub fn merge_sorted<'k, T: 'k>(
        &mut self,
        keys: impl Iterator<Item = (&'a str, T)>,
        mut change: impl FnMut(Option<Value<'a>>, T) -> Option<Value<'a>>,
    ) {
        self.origin = Origin::Any;
        let arena = self.arena();
        let old = std::mem::replace(&mut self.entries, ArenaVec::new_in(arena));
        self.entries.reserve(old.len());
        let mut old = old.into_iter().peekable();
        for (key, with) in keys {
            while let Some(before) = old.next_if(|(k, _)| *k < key) {
                self.entries.push(before);
            }
            let was = old.next_if(|(k, _)| *k == key).map(|(_, value)| value);
            if let Some(value) = change(was, with) {
                self.entries.push((key, value));
            }
        }
        self.entries.extend(old);
    }
    /// Entries in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &Value<'a>)> {
        self.entries.iter().map(|(k, v)| (*k, v))
    }
    /// Entries in order, values to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&'a str, &mut Value<'a>)> {
        self.origin = Origin::Any;
        self.entries.iter_mut().map(|(k, v)| (*k, v))
    }
    /// Entries in order, keys to put the same text in place of.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut (&'a str, Value<'a>)> {
        self.origin = Origin::Any;
        self.entries.iter_mut()
    }
    /// Takes the value at a position out; `null` stays in its place.
    pub(crate) fn take_at(&mut self, at: usize) -> Option<Value<'a>> {
        self.origin = Origin::Any;
        self.entries.get_mut(at).map(|(_, value)| std::mem::replace(value, Value::Null))
    }
    /// Keeps the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&'a str, &mut Value<'a>) -> bool) {
        self.origin = Origin::Any;
        self.entries.retain_mut(|(k, v)| keep(k, v));
    }
    /// The map at `key`, made (in place of anything that is not a map) where it is missing.
    pub fn map_mut(&mut self, key: &'a str) -> &mut Map<'a> {
        self.origin = Origin::Any;
        let arena = self.arena();
        let at = match self.entries.iter().position(|(k, _)| same_text(k, key)) {
            Some(at) => at,
            None => {
                self.entries.push((key, Value::Null));
                self.entries.len() - 1
            }
        };
        let slot = &mut self.entries[at].1;
        if !matches!(slot, Value::Map(_)) {
            *slot = Value::Map(Map::new_in(arena));
        }
        match slot {
            Value::Map(map) => map,
            _ => unreachable!("just set"),
        }
    }
    /// Sorts entries by key bytes, as Go encodes maps.
    pub fn sort_keys(&mut self) {
        self.origin = Origin::Any;
        self.entries.sort_by(|a, b| a.0.cmp(b.0));
    }
}

impl<'a> Value<'a> {
    /// What Go's errors call a value of this kind.
    pub fn json_kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) | Value::Raw(_) => "object",
        }
    }
    /// How Go prints the type of a value that was read from JSON; opaque text is a string there.
    pub fn go_type(&self) -> &'static str {
        match self {
            Value::Null => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int64",
            Value::Float(_) => "float64",
            Value::String(_) | Value::Raw(_) => "string",
            Value::List(_) => "[]interface {}",
            Value::Map(_) => "map[string]interface {}",
        }
    }
    /// The string, where it is one.
    #[inline]
    pub fn as_str(&self) -> Option<&'a str> {
        if let Value::String(s) = self { Some(s) } else { None }
    }
    /// The integer, where it is one.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Int(n) = self { Some(*n) } else { None }
    }
    /// The boolean, where it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(*b) } else { None }
    }
    /// The map, where it is one.
    #[inline]
    pub fn as_map(&self) -> Option<&Map<'a>> {
        if let Value::Map(m) = self { Some(m) } else { None }
    }
    /// The map, where it is one, to change.
    #[inline]
    pub fn as_map_mut(&mut self) -> Option<&mut Map<'a>> {
        if let Value::Map(m) = self { Some(m) } else { None }
    }
    /// The list, where it is one.
    #[inline]
    pub fn as_list(&self) -> Option<&ArenaVec<'a, Value<'a>>> {
        if let Value::List(l) = self { Some(l) } else { None }
    }
    /// The list, where it is one, to change.
    #[inline]
    pub fn as_list_mut(&mut self) -> Option<&mut ArenaVec<'a, Value<'a>>> {
        if let Value::List(l) = self { Some(l) } else { None }
    }
    /// Whether it is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// Follows map keys; `None` where the path breaks off.
    #[inline]
    pub fn path(&self, keys: &[&str]) -> Option<&Value<'a>> {
        keys.iter().try_fold(self, |v, k| v.as_map()?.get(k))
    }
    /// Follows map keys, to change what is there.
    pub fn path_mut(&mut self, keys: &[&str]) -> Option<&mut Value<'a>> {
        keys.iter().try_fold(self, |v, k| v.as_map_mut()?.get_mut(k))
    }
    /// The string at a path of map keys.
    #[inline]
    pub fn str_at(&self, keys: &[&str]) -> Option<&'a str> {
        self.path(keys)?.as_str()
    }
    /// A deep copy into another arena.
    pub fn copy_into<'b>(&self, arena: &'b Bump) -> Value<'b> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(b) => Value::Bool(*b),
            Value::Int(n) => Value::Int(*n),
            Value::Float(f) => Value::Float(*f),
            Value::String(s) => Value::String(arena.alloc_str(s)),
            Value::Raw(text) => Value::Raw(arena.alloc_str(text)),
            Value::List(list) => {
                let mut out = ArenaVec::with_capacity_in(list.len(), arena);
                out.extend(list.iter().map(|v| v.copy_into(arena)));
                Value::List(out)
            }
            Value::Map(map) => {
                let mut entries = ArenaVec::with_capacity_in(map.len(), arena);
                entries.extend(map.iter().map(|(k, v)| (&*arena.alloc_str(k), v.copy_into(arena))));
                Value::Map(Map::from_entries(entries))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_map_comes_from_takes_no_room() {
        assert_eq!(size_of::<Value<'_>>(), 40);
    }

    #[test]
    fn who_may_change_a_map_ends_its_origin() {
        let arena = Bump::new();
        type Change = for<'v, 'a> fn(&'v mut Map<'a>);
        let changes: [Change; 13] = [
            |map| {
                map.get_mut("a");
            },
            |map| drop(map.insert("a", Value::Null)),
            |map| map.push_unique("z", Value::Null),
            |map| drop(map.remove("a")),
            |map| *map.value_at_mut(0) = Value::Null,
            |map| drop(map.remove_at(0)),
            |map| map.insert_sorted("a", Value::Null),
            |map| map.merge_sorted([("a", ())].into_iter(), |old, ()| old),
            |map| drop(map.iter_mut()),
            |map| drop(map.entries_mut()),
            |map| drop(map.take_at(0)),
            |map| map.retain(|_, _| true),
            |map| {
                map.map_mut("b");
            },
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut entries = ArenaVec::new_in(&arena);
            entries.extend([("a", Value::Int(1)), ("b", Value::Map(Map::new_in(&arena)))]);
            let mut map = Map::thawed(entries, Origin::Struct(7));
            assert_eq!(map.clone().origin(), Origin::Struct(7));
            assert_eq!((map.get("a"), map.len()), (Some(&Value::Int(1)), 2));
            assert_eq!(map.origin(), Origin::Struct(7));
            change(&mut map);
            assert_eq!(map.origin(), Origin::Any, "{at}");
        }
        let mut map = Map::thawed(ArenaVec::new_in(&arena), Origin::Map(0));
        map.sort_keys();
        assert_eq!(map.origin(), Origin::Any);
    }
}
