//! What an update leaves as it was: errors about it are warnings.

use std::collections::HashMap;

use ringbolt_machinery::{
    json::encode_untyped,
    value::{Map, Value},
};

use crate::{
    data::same,
    schema::{ListType, Schema},
};

/// A value and the one whose place it takes.
#[derive(Clone, Copy)]
pub(super) struct Correlated<'a> {
    pub(super) schema: &'a Schema,
    pub(super) old: &'a Value<'a>,
    pub(super) new: &'a Value<'a>,
}

/// The nearest values that are known to have taken the place of others.
#[derive(Clone, Copy, Default)]
pub(super) struct Ratchet<'a> {
    /// This value's.
    pub(super) current: Option<Correlated<'a>>,
    /// What it is part of.
    pub(super) parent: Option<Correlated<'a>>,
}

/// Old items by their keys.
pub(super) struct Items<'a> {
    keys: &'a [Box<str>],
    old: HashMap<Vec<u8>, &'a Value<'a>>,
}

impl<'a> Items<'a> {
    /// The items of a list of type `map`; of any other list none is found again.
    pub(super) fn of(schema: &'a Schema, old: Option<&'a Value<'a>>) -> Items<'a> {
        let mut items = Items { keys: &schema.list_map_keys, old: HashMap::new() };
        if schema.list_type == ListType::Map
            && let Some(list) = old.and_then(Value::as_list)
        {
            for item in list.iter() {
                if let Some(key) = items.key(item) {
                    items.old.entry(key).or_insert(item);
                }
            }
        }
        items
    }

    fn key(&self, item: &Value<'_>) -> Option<Vec<u8>> {
        let map = item.as_map()?;
        if self.keys.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        for key in self.keys {
            let value = map.get(key)?;
            if matches!(value, Value::Null | Value::List(_) | Value::Map(_) | Value::Raw(_)) {
                return None;
            }
            encode_untyped(value, &mut out);
            out.push(0);
        }
        Some(out)
    }

    /// The old item of a new one.
    pub(super) fn get(&self, item: &Value<'_>) -> Option<&'a Value<'a>> {
        if self.old.is_empty() {
            return None;
        }
        self.old.get(&self.key(item)?).copied()
    }
}

fn member<'a>(map: Option<&'a Map<'a>>, key: &str) -> Option<&'a Value<'a>> {
    map?.get(key)
}

impl<'a> Correlated<'a> {
    fn member(self, key: &str) -> Option<Correlated<'a>> {
        let (old, new) = (member(self.old.as_map(), key)?, member(self.new.as_map(), key)?);
        let schema = self.schema.declared_property(key).or(self.schema.additional.as_ref())?;
        Some(Correlated { schema, old, new })
    }

    fn unchanged(self) -> bool {
        match (self.old, self.new) {
            (Value::List(old), Value::List(new)) => {
                if old.len() != new.len() {
                    return false;
                }
                let Some(schema) = self.schema.items.as_deref() else { return same(self.old, self.new) };
                if self.schema.list_type != ListType::Map {
                    return same(self.old, self.new);
                }
                let items = Items::of(self.schema, Some(self.old));
                new.iter()
                    .all(|new| items.get(new).is_some_and(|old| Correlated { schema, old, new }.unchanged()))
            }
            (Value::Map(old), Value::Map(new)) => {
                old.len() == new.len()
                    && new.iter().all(|(key, _)| self.member(key).is_some_and(Correlated::unchanged))
            }
            (old, new) => same(old, new),
        }
    }
}

impl<'a> Ratchet<'a> {
    /// Whether an error about this value is one that was there before.
    pub(super) fn tolerates(self) -> bool {
        self.current.or(self.parent).is_some_and(Correlated::unchanged)
    }

    pub(super) fn member(self, key: &str) -> Ratchet<'a> {
        let Some(current) = self.current else { return self };
        if self.parent.is_none() && matches!(key, "apiVersion" | "kind") {
            return Ratchet::default();
        }
        Ratchet { current: current.member(key), parent: Some(current) }
    }

    /// Of an item whose old one is known, or of none.
    pub(super) fn item(self, old: Option<&'a Value<'a>>, new: &'a Value<'a>) -> Ratchet<'a> {
        let Some(current) = self.current else { return self };
        let schema = current.schema.items.as_deref();
        let item = old.zip(schema).map(|(old, schema)| Correlated { schema, old, new });
        Ratchet { current: item, parent: Some(current) }
    }

    /// Of an alternative: only what it is part of counts.
    pub(super) fn alternative(self) -> Ratchet<'a> {
        Ratchet { current: None, parent: self.parent }
    }
}
