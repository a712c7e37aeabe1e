//! Names with the time they are due at, each once; failures back off.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

/// The names are those of objects that there are, so the queue is no longer than their list.
pub(crate) struct DueQueue {
    due: BTreeSet<(Instant, String)>,
    at: HashMap<String, Instant>,
    failures: HashMap<String, u32>,
    backoff: (Duration, Duration),
}

impl DueQueue {
    /// With a first and a longest pause after failures.
    pub(crate) fn new(backoff: (Duration, Duration)) -> Self {
        DueQueue { due: BTreeSet::new(), at: HashMap::new(), failures: HashMap::new(), backoff }
    }

    /// Makes a name due at a time, unless it is due before.
    pub(crate) fn add(&mut self, name: &str, at: Instant) {
        if let Some(before) = self.at.get(name) {
            if *before <= at {
                return;
            }
            self.due.remove(&(*before, name.to_owned()));
        }
        self.at.insert(name.to_owned(), at);
        self.due.insert((at, name.to_owned()));
    }

    /// Takes the name that has been due the longest.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<String> {
        if self.due.first()?.0 > now {
            return None;
        }
        let (_, name) = self.due.pop_first()?;
        self.at.remove(&name);
        Some(name)
    }

    /// A name failed: it is due after a pause.
    pub(crate) fn retry(&mut self, name: &str, now: Instant) {
        let failures = self.failures.entry(name.to_owned()).or_default();
        let (first, longest) = self.backoff;
        let pause = first.saturating_mul(1_u32.checked_shl(*failures).unwrap_or(u32::MAX)).min(longest);
        *failures = (*failures + 1).min(31);
        self.add(name, now + pause);
    }

    /// It went well.
    pub(crate) fn settle(&mut self, name: &str) {
        self.failures.remove(name);
    }

    /// Nothing is to be done about a name any more.
    pub(crate) fn forget(&mut self, name: &str) {
        self.failures.remove(name);
        if let Some(at) = self.at.remove(name) {
            self.due.remove(&(at, name.to_owned()));
        }
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_once() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut queue = DueQueue::new((second, 4 * second));
        queue.add("a", start + 2 * second);
        queue.add("b", start + second);
        queue.add("a", start);
        queue.add("a", start + 9 * second);
        assert_eq!(queue.next(), Some(start));
        assert_eq!(queue.pop(start).as_deref(), Some("a"));
        assert_eq!(queue.pop(start), None);
        assert_eq!(queue.pop(start + second).as_deref(), Some("b"));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn failures_back_off_until_it_goes_well() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut queue = DueQueue::new((second, 4 * second));
        for expect in [1, 2, 4, 4] {
            queue.retry("a", start);
            assert_eq!(queue.next(), Some(start + expect * second));
            queue.pop(start + 9 * second);
        }
        queue.settle("a");
        queue.retry("a", start);
        assert_eq!(queue.next(), Some(start + second));
        queue.forget("a");
        assert_eq!(queue.next(), None);
    }
}
