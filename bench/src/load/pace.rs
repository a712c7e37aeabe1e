//! A pace: when the next of a row of operations is due.

use std::time::{Duration, Instant};

/// A schedule that what is late does not shift: the n-th operation is due at n ÷ rate after the start, however long
/// the earlier ones took. Latencies from the due time are free of coordinated omission.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    start: Instant,
    per_second: f64,
    taken: u64,
    end: Option<u64>,
}

impl Pace {
    /// `per_second` operations a second from `start` on, for `length` if that is given.
    pub(crate) fn new(start: Instant, per_second: f64, length: Option<Duration>) -> Self {
        let end = length.map(|length| (length.as_secs_f64() * per_second).round() as u64);
        Pace { start, per_second, taken: 0, end }
    }

    /// When the next operation is due; `None` after the last.
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.end.is_none_or(|end| self.taken < end))
            .then(|| self.start + Duration::from_secs_f64(self.taken as f64 / self.per_second))
    }

    /// Takes the next operation if it is due, and tells when it was.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next().filter(|due| *due <= now)?;
        self.taken += 1;
        Some(due)
    }

    /// Takes the next operation if it is due, and tells from when on it waits: from when it was due where the one who
    /// sends had no room then, which it has since `room`; else from now, since a client that wakes up late is no fault of
    /// the server.
    pub(crate) fn take_with_room(&mut self, now: Instant, room: Instant) -> Option<Instant> {
        let due = self.take(now)?;
        Some(if due < room { due } else { now })
    }

    /// Operations taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn operations_are_due_by_the_schedule() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 200.0, Some(Duration::from_secs(1)));
        assert_eq!(pace.take(start), Some(start));
        assert_eq!(pace.take(start), None);
        assert_eq!(pace.next(), Some(at(start, 5)));
        assert_eq!(pace.take(at(start, 4)), None);
        assert_eq!(pace.take(at(start, 5)), Some(at(start, 5)));
    }

    #[test]
    fn what_is_late_is_caught_up_and_keeps_its_due_time() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 100.0, Some(Duration::from_secs(1)));
        let late = at(start, 500);
        let due: Vec<_> = std::iter::from_fn(|| pace.take(late)).collect();
        assert_eq!(due.len(), 51);
        assert!(due.iter().enumerate().all(|(n, due)| *due == at(start, n as u64 * 10)));
    }

    #[test]
    fn who_had_no_room_waits_since_it_was_due_and_who_woke_late_does_not() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 1000.0, None);
        assert_eq!(pace.take_with_room(at(start, 1), start), Some(at(start, 1)));
        assert_eq!(pace.take_with_room(at(start, 4), at(start, 3)), Some(at(start, 1)));
        assert_eq!(pace.take_with_room(at(start, 4), at(start, 3)), Some(at(start, 2)));
        assert_eq!(pace.take_with_room(at(start, 4), at(start, 3)), Some(at(start, 4)));
    }

    #[test]
    fn a_pace_with_a_length_ends() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 50.0, Some(Duration::from_secs(2)));
        let late = at(start, 60_000);
        assert_eq!(std::iter::from_fn(|| pace.take(late)).count(), 100);
        assert_eq!((pace.taken(), pace.next()), (100, None));
    }

    #[test]
    fn a_pace_without_a_length_does_not() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 1_000.0, None);
        let late = at(start, 10_000);
        assert_eq!(std::iter::from_fn(|| pace.take(late)).count(), 10_001);
        assert!(pace.next().is_some());
    }
}
