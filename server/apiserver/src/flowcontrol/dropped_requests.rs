//! How long those are told to stay away whom a level turns away: longer while it goes on turning away many.

use std::collections::VecDeque;

/// Longest `Retry-After`, in seconds.
const RETRY_AFTER_MAX: i64 = 32;

/// What was dropped at a level lately (`droppedRequestsStats`). Seconds are of the Unix clock.
#[derive(Debug)]
pub(super) struct DroppedRequests {
    /// Counts by second, oldest first; of the last [`RETRY_AFTER_MAX`] seconds at most.
    history: VecDeque<(i64, i64)>,
    second: i64,
    count: i64,
    retry_after: i64,
    raised: i64,
}

impl Default for DroppedRequests {
    fn default() -> Self {
        DroppedRequests { history: VecDeque::new(), second: 0, count: 0, retry_after: 1, raised: 0 }
    }
}

impl DroppedRequests {
    /// One more is turned away: after how many seconds may it come again?
    pub(super) fn record(&mut self, second: i64) -> i64 {
        if second == self.second {
            self.count += 1;
            return self.retry_after;
        }
        self.history.push_back((self.second, self.count));
        let kept = (2 * self.retry_after).min(RETRY_AFTER_MAX);
        while self.history.front().is_some_and(|(then, _)| second - then > kept) {
            self.history.pop_front();
        }
        (self.second, self.count) = (second, 1);
        self.adjust(second);
        self.retry_after
    }

    /// Doubles it where three for each of its seconds were dropped within them, and takes one off where fewer were than
    /// one: as TCP goes about its window. It is raised once in its own time.
    fn adjust(&mut self, second: i64) {
        let recent =
            self.history.iter().filter(|(then, _)| second - then <= self.retry_after && *then < second);
        let dropped: i64 = recent.map(|(_, count)| count).sum();
        if second - self.raised >= self.retry_after && dropped >= 3 * self.retry_after {
            self.retry_after = (2 * self.retry_after).min(RETRY_AFTER_MAX);
            self.raised = second;
        } else if dropped < self.retry_after && self.retry_after > 1 {
            self.retry_after -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many drops in each second.
    fn run(dropped: &mut DroppedRequests, from: i64, counts: &[usize]) -> Vec<i64> {
        let seconds = (from..).zip(counts);
        seconds
            .map(|(second, count)| (0..*count).fold(dropped.retry_after, |_, _| dropped.record(second)))
            .collect()
    }

    #[test]
    fn many_drops_raise_it_and_few_let_it_sink() {
        let mut dropped = DroppedRequests::default();
        assert_eq!(run(&mut dropped, 1_000, &[5, 5, 5, 5, 5, 5]), [1, 2, 2, 4, 4, 4]);
        let mut dropped = DroppedRequests::default();
        let of_long = run(&mut dropped, 1_000, &[200; 120]);
        assert_eq!(of_long.last(), Some(&32));
        assert!(dropped.history.len() <= 33, "{}", dropped.history.len());
        assert_eq!(run(&mut dropped, 2_000, &[1]), [31], "nothing was dropped for long");
        let seldom: Vec<_> = (0..40).map(|at| dropped.record(3_000 + 100 * at)).collect();
        assert_eq!(seldom.last(), Some(&1));
        assert_eq!(run(&mut DroppedRequests::default(), 1_000, &[2, 2, 2, 2]), [1; 4]);
    }
}
