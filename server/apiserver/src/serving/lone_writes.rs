//! Whether somebody writes one object after the other, and what a core can expect then.
//!
//! Whoever waits for each write before the next one is sent is as fast as a single write is. A core stays awake for such
//! a write's flush, and for a moment for the next request. For writes that come now and then, or at a rate, nobody is
//! the faster for it, and the core sleeps.

use std::{cell::Cell, time::Instant};

use ringbolt_engine::{Expected, News, limits::VIGIL_MAX};

use crate::limits::{IN_A_ROW, NEXT_WRITE};

/// What a core knows of its writes that were alone.
#[derive(Debug, Default)]
pub(crate) struct LoneWrites {
    /// When the last write ended, if it was the only one under way.
    ended: Cell<Option<Instant>>,
    in_a_row: Cell<bool>,
}

impl LoneWrites {
    /// A write begins, by a request that came at `turn`.
    pub(crate) fn begins(&self, turn: Instant) {
        let follows = |last| turn.saturating_duration_since(last) <= IN_A_ROW;
        self.in_a_row.set(self.ended.get().is_some_and(follows));
    }

    /// A write ended at `now`, or one of several.
    pub(crate) fn ends(&self, alone: bool, now: impl FnOnce() -> Instant) {
        self.ended.set(alone.then(now));
    }

    /// What comes soon, with so many writes under way.
    pub(crate) fn expects(&self, now: Instant, under_way: u32) -> Option<Expected> {
        if !self.in_a_row.get() {
            return None;
        }
        // More of them share a flush and are served while the next one runs: they need not be waited for awake.
        if under_way == 1 {
            return Some(Expected { news: News::Wake, until: now + VIGIL_MAX });
        }
        let until = self.ended.get()? + NEXT_WRITE;
        (until > now).then_some(Expected { news: News::Bytes, until })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_rows_of_lone_writes_are_waited_for() {
        let writes = LoneWrites::default();
        let start = Instant::now();
        let at = |us| start + Duration::from_micros(us);
        let expected = |us, under_way| writes.expects(at(us), under_way).map(|expected| expected.news);

        writes.begins(start);
        assert_eq!(expected(10, 1), None, "the first of a row");
        writes.ends(true, || at(150));
        assert_eq!(expected(160, 0), None);
        writes.begins(at(200));
        assert_eq!(expected(210, 1), Some(News::Wake));
        writes.ends(true, || at(350));
        assert_eq!(expected(360, 0), Some(News::Bytes));
        assert_eq!(writes.expects(at(360), 0).unwrap().until, at(350) + NEXT_WRITE);
        assert_eq!(expected(450, 0), None, "it does not come any more");

        writes.begins(at(5000));
        assert_eq!(expected(5010, 1), None, "writes at a rate are no row");

        // Where several are under way, none of them is alone.
        writes.ends(true, || at(5100));
        writes.begins(at(5200));
        assert_eq!(expected(5210, 2), None);
        writes.ends(false, || unreachable!("nobody asks when"));
        writes.begins(at(5300));
        assert_eq!(expected(5310, 1), None);
    }
}
