//! What is read anew while the server runs: authorities, tokens of a file.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

/// A value that may be replaced under those who read it. Each has a number, so that what was found out with one is not
/// believed after the next has come.
#[derive(Debug)]
pub struct Current<T> {
    value: ArcSwap<Numbered<T>>,
    /// The number of `value`, for who wants nothing else of it.
    generation: AtomicU64,
    /// Held by who replaces it.
    replacing: Mutex<()>,
}

/// A value and its number.
#[derive(Debug)]
struct Numbered<T> {
    value: T,
    generation: u64,
}

/// A value as it was when it was asked for.
pub struct Loaded<T>(Guard<Arc<Numbered<T>>>);

impl<T> Loaded<T> {
    /// The number of this value.
    pub fn generation(&self) -> u64 {
        self.0.generation
    }
}

impl<T> Deref for Loaded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Current<T> {
    /// The first value.
    pub fn new(value: T) -> Self {
        Current {
            value: ArcSwap::from_pointee(Numbered { value, generation: 0 }),
            generation: AtomicU64::new(0),
            replacing: Mutex::default(),
        }
    }

    /// The value as it is now. Without locks and allocation.
    pub fn load(&self) -> Loaded<T> {
        Loaded(self.value.load())
    }

    /// The number of the value as it is now.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Puts another in its place.
    pub fn replace(&self, value: T) {
        let replacing = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.generation.fetch_add(1, Ordering::AcqRel) + 1;
        // Until here readers take the old value for outdated and look at it again, which costs time only. What they find
        // of it is kept under the old number and so for no one.
        self.value.store(Arc::new(Numbered { value, generation }));
        drop(replacing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_number_of_its_own() {
        let current = Current::new("a");
        let before = current.load();
        assert_eq!((*before, before.generation(), current.generation()), ("a", 0, 0));
        current.replace("b");
        let after = current.load();
        assert_eq!((*before, before.generation()), ("a", 0), "who reads keeps what it has");
        assert_eq!((*after, after.generation(), current.generation()), ("b", 1, 1));
    }
}
