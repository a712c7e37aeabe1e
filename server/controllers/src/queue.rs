//! A work queue: keys with the time they are due at, each once; failures back off.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    time::Instant,
};

use crate::limits;

/// The keys are names of objects that there are, so the queue is as large as the store's objects at most.
pub(crate) struct WorkQueue<K> {
    due: BTreeSet<(Instant, K)>,
    at: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
}

impl<K> Default for WorkQueue<K> {
    fn default() -> Self {
        WorkQueue { due: BTreeSet::new(), at: HashMap::new(), failures: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord> WorkQueue<K> {
    /// Makes a key due at a time, unless it is due before.
    pub(crate) fn add(&mut self, key: K, at: Instant) {
        if let Some(before) = self.at.get(&key) {
            if *before <= at {
                return;
            }
            self.due.remove(&(*before, key.clone()));
        }
        self.at.insert(key.clone(), at);
        self.due.insert((at, key));
    }

    /// Whether a key waits.
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.at.contains_key(key)
    }

    /// Takes the key that has been due the longest.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<K> {
        if self.due.first()?.0 > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        self.at.remove(&key);
        Some(key)
    }

    /// Puts a key back that failed: it is due after a pause that doubles with each failure in a row.
    pub(crate) fn retry(&mut self, key: K, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        let pause = limits::RETRY_FIRST.saturating_mul(1 << (*failures).min(20)).min(limits::RETRY_MAX);
        *failures += 1;
        self.add(key, now + pause);
    }

    /// Forgets the failures of a key.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Takes a key out for good.
    pub(crate) fn remove(&mut self, key: &K) {
        self.failures.remove(key);
        if let Some(at) = self.at.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }

    /// When the next key is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Empties it.
    pub(crate) fn clear(&mut self) {
        *self = WorkQueue::default();
    }

    /// How long until the next key is due.
    #[cfg(test)]
    fn pause(&self, now: Instant) -> Option<std::time::Duration> {
        self.next().map(|at| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_is_there_once_and_at_its_earliest_time() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        queue.add("b", now + Duration::from_secs(5));
        queue.add("a", now);
        queue.add("b", now + Duration::from_secs(1));
        queue.add("b", now + Duration::from_secs(9));
        assert!(queue.contains(&"b"));
        assert_eq!(queue.pop(now), Some("a"));
        assert_eq!(queue.pop(now), None);
        assert_eq!(queue.pause(now), Some(Duration::from_secs(1)));
        assert_eq!(queue.pop(now + Duration::from_secs(1)), Some("b"));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn failures_back_off_until_they_are_forgotten() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..40 {
            queue.retry("a", now);
            pauses.push(queue.pause(now).unwrap());
            assert_eq!(queue.pop(now + limits::RETRY_MAX), Some("a"));
        }
        assert_eq!(pauses[..3], [1, 2, 4].map(|n| limits::RETRY_FIRST * n));
        assert_eq!(pauses[39], limits::RETRY_MAX);
        queue.forget(&"a");
        queue.retry("a", now);
        assert_eq!(queue.pause(now), Some(limits::RETRY_FIRST));
        queue.remove(&"a");
        assert!(!queue.contains(&"a") && queue.pop(now + limits::RETRY_MAX).is_none());
    }
}
