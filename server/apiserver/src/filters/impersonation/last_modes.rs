//! By which mode a user last became another: that one is tried first, so that it seldom takes more than one.
//!
//! It is more than a matter of time. A node that is impersonated is in `system:nodes` by the modes for nodes, and in no
//! group by the older one, which allows it as well to whom it allows everything.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    mem,
    sync::{Mutex, PoisonError},
};

use crate::limits::IMPERSONATION_MODES;

/// The places of modes by the names of users; of at most [`IMPERSONATION_MODES`], those used lately. Names are known by
/// a hash: two that have the same only try modes in another order.
#[derive(Debug, Default)]
pub struct LastModes {
    hasher: RandomState,
    kept: Mutex<Generations>,
}

/// What was used lately, and what was used before that. When the first is full, it becomes the second.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<u64, usize>,
    old: HashMap<u64, usize>,
}

impl LastModes {
    /// The mode of a user, where one is known.
    pub(super) fn get(&self, user: &str) -> Option<usize> {
        let name = self.hasher.hash_one(user);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mode) = kept.young.get(&name) {
            return Some(*mode);
        }
        let mode = kept.old.remove(&name)?;
        kept.put(name, mode);
        Some(mode)
    }

    /// Remembers the mode of a user.
    pub(super) fn set(&self, user: &str, mode: usize) {
        let name = self.hasher.hash_one(user);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(name, mode);
    }
}

impl Generations {
    fn put(&mut self, name: u64, mode: usize) {
        if self.young.len() >= IMPERSONATION_MODES / 2 && !self.young.contains_key(&name) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(name, mode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_go_first() {
        let modes = LastModes::default();
        assert_eq!(modes.get("0"), None);
        modes.set("0", 4);
        modes.set("0", 3);
        for user in 1..4 * IMPERSONATION_MODES {
            modes.set(&user.to_string(), 1);
            assert_eq!(modes.get("0"), Some(3), "it is used all the time");
        }
        let kept = modes.kept.lock().unwrap();
        assert!(kept.young.len() + kept.old.len() <= IMPERSONATION_MODES);
        drop(kept);
        assert_eq!(modes.get("1"), None);
    }
}
