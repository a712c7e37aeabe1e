//! Values of an update beside those that were there before: what was wrong and is the same still is tolerated.

use std::collections::HashMap;

use crate::{
    structural::{ListType, Node},
    value::Value,
};

/// A value and the one whose place it takes.
#[derive(Clone, Copy)]
pub(super) struct Correlated<'n, 'o, 'v> {
    pub(super) node: Node<'n>,
    pub(super) old: &'o Value<'o>,
    pub(super) new: &'v Value<'v>,
}

/// The old items of a list.
pub(super) struct Items<'n, 'o> {
    node: Option<Node<'n>>,
    keys: Vec<&'n str>,
    old: HashMap<Vec<u8>, &'o Value<'o>>,
    /// Whether items are told by their keys at all.
    keyed: bool,
}

/// The key of an item: its kind and text for each key field, all of which must be scalars.
fn key_of(keys: &[&str], item: &Value<'_>) -> Option<Vec<u8>> {
    let map = item.as_map()?;
    let mut out = Vec::new();
    for key in keys {
        let value = map.get(key)?;
        out.push(match value {
            Value::Bool(_) => b'b',
            Value::Int(_) => b'i',
            Value::Float(_) => b'f',
            Value::String(_) => b's',
            _ => return None,
        });
        crate::json::encode_untyped(value, &mut out);
    }
    Some(out)
}

impl<'n, 'o> Items<'n, 'o> {
    /// The old item in whose place an item stands.
    pub(super) fn get<'v>(&self, item: &'v Value<'v>) -> Option<Correlated<'n, 'o, 'v>> {
        let node = self.node?;
        let old = *self.old.get(&key_of(&self.keys, item)?)?;
        Some(Correlated { node, old, new: item })
    }
}

impl<'n, 'o, 'v> Correlated<'n, 'o, 'v> {
    /// A member that both have, and the schema as well.
    pub(super) fn member(self, key: &str) -> Option<Correlated<'n, 'o, 'v>> {
        let (old, new) = (self.old.as_map()?.get(key)?, self.new.as_map()?.get(key)?);
        Some(Correlated { node: self.node.member(key)?, old, new })
    }

    /// The items by their keys.
    pub(super) fn items(self) -> Items<'n, 'o> {
        let mut items = Items { node: None, keys: Vec::new(), old: HashMap::new(), keyed: false };
        let (Some(old), true) = (self.old.as_list(), self.node.list_type() == Some(ListType::Map)) else {
            return items;
        };
        items.keyed = true;
        items.keys = self.node.list_map_keys().collect();
        items.node = self.node.items();
        if !items.keys.is_empty() {
            for item in old.iter() {
                if let Some(key) = key_of(&items.keys, item) {
                    items.old.entry(key).or_insert(item);
                }
            }
        }
        items
    }

    /// Whether the value is the old one. Members that no schema knows cannot be told to be.
    pub(super) fn unchanged(self) -> bool {
        match (self.old, self.new) {
            (Value::Null, Value::Null) => true,
            (Value::Null, _) | (_, Value::Null) => false,
            (Value::List(old), Value::List(new)) => {
                if old.len() != new.len() {
                    return false;
                }
                let items = self.items();
                if !items.keyed {
                    return same_values(self.old, self.new);
                }
                new.iter().all(|item| items.get(item).is_some_and(Correlated::unchanged))
            }
            (Value::Map(old), Value::Map(new)) => {
                old.len() == new.len()
                    && new.iter().all(|(key, _)| self.member(key).is_some_and(Correlated::unchanged))
            }
            (old, new) => same_values(old, new),
        }
    }
}

/// `reflect.DeepEqual`: the order of members counts for nothing, and an integer is no float.
pub fn same_values(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .enumerate()
                    .all(|(at, (key, a))| b.get_near(at, key).is_some_and(|b| same_values(a, b)))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_values(a, b))
        }
        (a, b) => a == b,
    }
}
