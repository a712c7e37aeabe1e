//! Shadows that are kept, and those that are under way.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ringbolt_storage::object::Object;

use super::{Freshness, StoreNumber, slot::Slot};
use crate::limits::CONVERTED_BYTES;

/// What there is of an object in one version.
pub(super) enum Found {
    /// It was converted before.
    Kept(Arc<Object>),
    /// It is being converted.
    UnderWay(Arc<Slot>),
    /// Whoever asked has to see to it, and to fill the slot.
    Nothing(Arc<Slot>),
}

/// An object's state in one version. The name is part of it, as a hash: two objects may be of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    store: StoreNumber,
    revision: u64,
    name: u64,
}

/// Bounded by bytes. What goes when it is full is drawn by lot: lists read all objects in order, again and again, and
/// whatever goes by age would be gone just before its turn.
#[derive(Default)]
pub(super) struct Pool {
    kept: Mutex<Kept>,
    hasher: RandomState,
}

#[derive(Default)]
struct Kept {
    shadows: HashMap<Key, (usize, Arc<Object>)>,
    /// The keys of `shadows`, each at the place that is noted there.
    keys: Vec<Key>,
    under_way: HashMap<Key, Arc<Slot>>,
    bytes: usize,
    lots: u64,
}

/// What the pool counts for a shadow: its text, its labels, and about what stands around them.
fn weight(shadow: &Object) -> usize {
    const AROUND: usize = 384;
    shadow.json.len() + shadow.key.len() + shadow.attributes.labels.len() + AROUND
}

impl Pool {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, store: StoreNumber, object: &Object) -> Key {
        Key { store, revision: object.revision, name: self.hasher.hash_one(&*object.key) }
    }

    /// Looks for an object in a version.
    pub(super) fn ask(&self, store: StoreNumber, object: &Object, freshness: Freshness) -> Found {
        let key = self.key(store, object);
        let mut kept = self.kept();
        if freshness == Freshness::Kept
            && let Some((_, shadow)) = kept.shadows.get(&key)
            && shadow.key == object.key
        {
            return Found::Kept(shadow.clone());
        }
        if let Some(slot) = kept.under_way.get(&key) {
            return Found::UnderWay(slot.clone());
        }
        let slot: Arc<Slot> = Arc::default();
        kept.under_way.insert(key, slot.clone());
        Found::Nothing(slot)
    }

    /// Notes that an object is not under way any more, and keeps what came of it.
    pub(super) fn done(&self, store: StoreNumber, object: &Object, shadow: Option<&Arc<Object>>) {
        let key = self.key(store, object);
        let mut kept = self.kept();
        kept.under_way.remove(&key);
        if let Some(shadow) = shadow {
            kept.add(key, shadow.clone(), CONVERTED_BYTES);
        }
    }

    /// Drops all of a store.
    pub(super) fn forget(&self, store: StoreNumber) {
        let mut kept = self.kept();
        let keys: Vec<Key> = kept.keys.iter().filter(|key| key.store == store).copied().collect();
        keys.iter().for_each(|key| kept.remove(key));
    }
}

impl Kept {
    fn add(&mut self, key: Key, shadow: Arc<Object>, limit: usize) {
        self.remove(&key);
        let weight = weight(&shadow);
        if weight > limit / 4 {
            return;
        }
        while self.bytes + weight > limit && !self.keys.is_empty() {
            let drawn = self.draw();
            self.remove(&drawn);
        }
        self.bytes += weight;
        self.shadows.insert(key, (self.keys.len(), shadow));
        self.keys.push(key);
    }

    fn remove(&mut self, key: &Key) {
        let Some((place, shadow)) = self.shadows.remove(key) else { return };
        self.bytes -= weight(&shadow);
        self.keys.swap_remove(place);
        if let Some(moved) = self.keys.get(place)
            && let Some((known, _)) = self.shadows.get_mut(moved)
        {
            *known = place;
        }
    }

    /// One of the keys, of which there must be some (xorshift).
    fn draw(&mut self) -> Key {
        let lots = if self.lots == 0 { 0x9e37_79b9_7f4a_7c15 } else { self.lots };
        let lots = lots ^ (lots << 13);
        let lots = lots ^ (lots >> 7);
        self.lots = lots ^ (lots << 17);
        self.keys[(self.lots % self.keys.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ringbolt_storage::{
        encoding::Encoding,
        object::{Attributes, ResourceId},
    };

    use super::*;

    fn object(key: &str, revision: u64, len: usize) -> Arc<Object> {
        Arc::new(Object {
            resource: ResourceId(1),
            key: key.into(),
            namespace_len: 0,
            revision,
            json: Bytes::from(vec![b'x'; len]),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Encoding::new(),
        })
    }

    #[test]
    fn one_converts_for_all() {
        let (pool, store, stored) = (Pool::default(), StoreNumber::next(), object("a", 1, 1));
        let ask = |object: &Object, freshness| pool.ask(store, object, freshness);
        assert!(matches!(ask(&stored, Freshness::Kept), Found::Nothing(_)));
        assert!(matches!(ask(&stored, Freshness::Asked), Found::UnderWay(_)));
        assert!(matches!(ask(&object("a", 2, 1), Freshness::Kept), Found::Nothing(_)));
        assert!(matches!(ask(&object("b", 1, 1), Freshness::Kept), Found::Nothing(_)));
        let shadow = object("a", 1, 9);
        pool.done(store, &stored, Some(&shadow));
        assert!(matches!(ask(&stored, Freshness::Kept), Found::Kept(kept) if Arc::ptr_eq(&kept, &shadow)));
        assert!(matches!(ask(&stored, Freshness::Asked), Found::Nothing(_)));
        // A failure leaves what was there before.
        pool.done(store, &stored, None);
        assert!(matches!(ask(&stored, Freshness::Kept), Found::Kept(_)));
        pool.forget(store);
        assert!(matches!(ask(&stored, Freshness::Kept), Found::Nothing(_)));
        assert_eq!(pool.kept().bytes, 0);
    }

    #[test]
    fn full_ones_let_others_go() {
        let mut kept = Kept::default();
        let store = StoreNumber::next();
        const LIMIT: usize = 10_000;
        for revision in 0..100 {
            kept.add(Key { store, revision, name: 0 }, object("a", revision, 600), LIMIT);
            assert!(kept.bytes <= LIMIT && kept.keys.len() == kept.shadows.len());
        }
        assert!(kept.keys.len() >= 9, "{}", kept.keys.len());
        for (place, key) in kept.keys.iter().enumerate() {
            assert_eq!(kept.shadows[key].0, place);
        }
        let before = kept.keys.len();
        kept.add(Key { store, revision: 1_000, name: 0 }, object("a", 1_000, LIMIT), LIMIT);
        assert_eq!(kept.keys.len(), before, "what would take a large part is not kept");
    }
}
