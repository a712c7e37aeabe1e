//! The objects of one resource: by key, and those of an indexed resource by a field's value as well.

use std::{ops::Bound, sync::Arc};

use imbl::{OrdMap, OrdSet};

use crate::{fields, object::Object};

/// By key.
pub(crate) type ByKey = OrdMap<Arc<str>, Arc<Object>>;

/// Objects in key order. Copies share structure, and the index is as old as the objects in every one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    by_key: ByKey,
    /// Place of the value and key of every indexed object. It shares the key's text, and an object that changes
    /// without its value changes nothing here.
    by_value: OrdSet<(u64, Arc<str>)>,
}

impl std::ops::Deref for Objects {
    type Target = ByKey;
    fn deref(&self) -> &ByKey {
        &self.by_key
    }
}

impl Objects {
    /// Stores an object; what was there before.
    pub(crate) fn put(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let is_there = self.by_key.contains_key(&*object.key);
        self.put_known(object, is_there)
    }
    /// As [`Objects::put`], by a caller who knows whether there is something under the key.
    pub(crate) fn put_known(&mut self, object: Arc<Object>, is_there: bool) -> Option<Arc<Object>> {
        let new = object.attributes.place();
        let stored = if is_there { self.by_key.get_mut(&*object.key) } else { None };
        let Some(stored) = stored else {
            let key = object.key.clone();
            if let Some(place) = new {
                self.by_value.insert((place, key.clone()));
            }
            return self.by_key.insert(key, object);
        };
        let previous = std::mem::replace(stored, object);
        let old = previous.attributes.place();
        if old != new
            && let Some((key, _)) = self.by_key.get_key_value(&*previous.key)
        {
            if let Some(place) = old {
                self.by_value.remove(&(place, key.clone()));
            }
            if let Some(place) = new {
                self.by_value.insert((place, key.clone()));
            }
        }
        Some(previous)
    }
    /// Removes an object.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<Object>> {
        let (key, previous) = self.by_key.remove_with_key(key)?;
        if let Some(place) = previous.attributes.place() {
            self.by_value.remove(&(place, key));
        }
        Some(previous)
    }
    /// Objects whose indexed value is `value`, in key order; see [`crate::snapshot::Snapshot::with_value`].
    pub(crate) fn with_value<'s>(
        &'s self,
        value: &[u8],
        prefix: &'s str,
        after: Option<&str>,
    ) -> impl Iterator<Item = &'s Arc<Object>> + use<'s> {
        let place = fields::place(value);
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded((place, Arc::from(after))),
            _ => Bound::Included((place, Arc::from(prefix))),
        };
        self.by_value
            .range((from, Bound::Unbounded))
            .take_while(move |(at, key)| *at == place && key.starts_with(prefix))
            .filter_map(|(_, key)| self.by_key.get(key))
    }
}
