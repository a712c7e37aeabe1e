//! A second encoding of an object, kept while there is room: made on demand, shared by all readers, given up when the
//! pool of all of them is full.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;

use crate::limits::KEPT_ENCODINGS_BYTES;

/// The place of an object's second encoding. The object never changes, so neither does what belongs here; it may be
/// gone and has to be made again then.
#[derive(Default)]
pub struct Encoding(OnceLock<Arc<Slot>>);

/// What a place holds once something was put there.
struct Slot {
    len: usize,
    kept: Mutex<Option<Bytes>>,
    pool: &'static Pool,
}

impl Encoding {
    /// An empty place.
    pub const fn new() -> Self {
        Encoding(OnceLock::new())
    }

    /// The encoding, where it is kept.
    pub fn get(&self) -> Option<Bytes> {
        self.0.get()?.lock().clone()
    }

    /// Length of the encoding, once it was made: that is known even after it was given up.
    pub fn known_len(&self) -> Option<usize> {
        Some(self.0.get()?.len)
    }

    /// Keeps an encoding that was made.
    pub fn keep(&self, encoding: &Bytes) {
        self.keep_in(&POOL, encoding);
    }

    fn keep_in(&self, pool: &'static Pool, encoding: &Bytes) {
        let slot =
            self.0.get_or_init(|| Arc::new(Slot { len: encoding.len(), kept: Mutex::default(), pool }));
        let mut kept = slot.lock();
        if kept.is_none() {
            *kept = Some(encoding.clone());
            drop(kept);
            pool.add(slot);
        }
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encoding").field(&self.known_len()).finish()
    }
}

impl Slot {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Bytes>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the pool counts for it.
    fn weight(&self) -> usize {
        self.len + size_of::<Slot>()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        if kept.is_some() {
            self.pool.bytes.fetch_sub(self.weight(), Ordering::Relaxed);
        }
    }
}

static POOL: Pool = Pool::new(KEPT_ENCODINGS_BYTES);

/// All places that hold something. What goes when it is full is drawn by lot: lists read all objects in order, again
/// and again, and whatever goes by age would be gone just before its turn.
struct Pool {
    limit: usize,
    bytes: AtomicUsize,
    filled: Mutex<Filled>,
}

struct Filled {
    slots: Vec<Weak<Slot>>,
    lots: u64,
}

impl Pool {
    const fn new(limit: usize) -> Self {
        let filled = Filled { slots: Vec::new(), lots: 0x9e37_79b9_7f4a_7c15 };
        Pool { limit, bytes: AtomicUsize::new(0), filled: Mutex::new(filled) }
    }

    fn add(&self, slot: &Arc<Slot>) {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        // Two for one, so that those of objects that are gone do not pile up.
        for _ in 0..2 {
            filled.forget_one_if_gone();
        }
        filled.slots.push(Arc::downgrade(slot));
        let mut bytes = self.bytes.fetch_add(slot.weight(), Ordering::Relaxed) + slot.weight();
        while bytes > self.limit {
            let Some(drawn) = filled.draw() else { return };
            bytes = match filled.slots.swap_remove(drawn).upgrade() {
                // Nobody who holds a slot's lock waits for the pool's.
                Some(slot) if slot.lock().take().is_some() => {
                    self.bytes.fetch_sub(slot.weight(), Ordering::Relaxed) - slot.weight()
                }
                _ => self.bytes.load(Ordering::Relaxed),
            };
        }
    }
}

impl Filled {
    fn draw(&mut self) -> Option<usize> {
        // Xorshift: any spread will do.
        self.lots ^= self.lots << 13;
        self.lots ^= self.lots >> 7;
        self.lots ^= self.lots << 17;
        (self.lots as usize).checked_rem(self.slots.len())
    }

    fn forget_one_if_gone(&mut self) {
        if let Some(drawn) = self.draw()
            && self.slots[drawn].strong_count() == 0
        {
            self.slots.swap_remove(drawn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(limit: usize) -> &'static Pool {
        Box::leak(Box::new(Pool::new(limit)))
    }

    fn used(pool: &Pool) -> usize {
        pool.bytes.load(Ordering::Relaxed)
    }

    #[test]
    fn a_full_pool_gives_up_some_and_knows_their_lengths() {
        let pool = pool(100_000);
        let places: Vec<Encoding> = (0..500).map(|_| Encoding::new()).collect();
        for (i, place) in places.iter().enumerate() {
            assert_eq!(place.known_len(), None);
            place.keep_in(pool, &Bytes::from(vec![i as u8; 1000 + i]));
            assert!(used(pool) <= 100_000, "{}", used(pool));
        }
        let held = places.iter().filter(|place| place.get().is_some()).count();
        assert!((50..100).contains(&held), "{held}");
        for (i, place) in places.iter().enumerate() {
            assert_eq!(place.known_len(), Some(1000 + i));
            if let Some(bytes) = place.get() {
                assert_eq!(bytes, vec![i as u8; 1000 + i]);
            }
        }
        // What was given up can be put there again.
        let again = places.iter().position(|place| place.get().is_none()).unwrap();
        while places[again].get().is_none() {
            places[again].keep_in(pool, &Bytes::from(vec![again as u8; 1000 + again]));
        }
        drop(places);
        assert_eq!(used(pool), 0);
    }

    #[test]
    fn objects_that_go_take_theirs_along() {
        let pool = pool(usize::MAX);
        for _ in 0..10_000 {
            let place = Encoding::new();
            place.keep_in(pool, &Bytes::from_static(b"some bytes"));
            place.keep_in(pool, &Bytes::from_static(b"some bytes"));
            assert_eq!(used(pool), 10 + size_of::<Slot>());
        }
        assert_eq!(used(pool), 0);
        assert!(pool.filled.lock().unwrap().slots.len() < 100);
    }

    #[test]
    fn many_at_once() {
        let pool = pool(50_000);
        let places: Vec<Encoding> = (0..200).map(|_| Encoding::new()).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        for (i, place) in places.iter().enumerate() {
                            match place.get() {
                                Some(bytes) => assert_eq!(bytes.len(), 500 + i),
                                None => place.keep_in(pool, &Bytes::from(vec![0; 500 + i])),
                            }
                        }
                    }
                });
            }
        });
        let held: usize =
            places.iter().filter_map(Encoding::get).map(|bytes| bytes.len() + size_of::<Slot>()).sum();
        assert_eq!(used(pool), held);
        assert!(held <= 50_000);
    }
}
