//! What a shutdown waits for, told from core to core, and when each watch ends.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::limits;

/// The state of a shutdown that all cores share. A request costs none of it anything: counts of requests are the
/// cores' own, and they report them when they are woken after no new request is taken.
#[derive(Debug)]
pub struct Draining {
    /// What each core has in work; [`UNKNOWN`] until it has said.
    reports: Box<[AtomicU64]>,
    plan: OnceLock<Plan>,
    tickets: AtomicU64,
}

/// No core has so much in work.
const UNKNOWN: u64 = u64::MAX;

/// Requests that are waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InWork {
    /// Requests that are not long-running.
    pub requests: u32,
    /// Watches, where they are counted.
    pub watches: u32,
}

/// When watches end.
#[derive(Clone, Copy, Debug)]
struct Plan {
    begun: Instant,
    interval: Duration,
    grace: Duration,
}

impl Draining {
    /// Nobody has reported, and watches end at once.
    pub fn new(cores: usize) -> Self {
        Draining {
            reports: (0..cores).map(|_| AtomicU64::new(UNKNOWN)).collect(),
            plan: OnceLock::new(),
            tickets: AtomicU64::new(0),
        }
    }

    /// A core that takes no new requests says what it has left. From then on it has no more than that.
    pub fn report(&self, core: usize, left: InWork) {
        if let Some(report) = self.reports.get(core) {
            report.store(u64::from(left.requests) << 32 | u64::from(left.watches), Ordering::Release);
        }
    }

    /// What all cores have left, once each has said.
    pub fn left(&self) -> Option<InWork> {
        self.reports.iter().try_fold(InWork::default(), |sum, report| {
            let left = match report.load(Ordering::Acquire) {
                UNKNOWN => return None,
                left => left,
            };
            Some(InWork {
                requests: sum.requests.saturating_add((left >> 32) as u32),
                watches: sum.watches.saturating_add(left as u32),
            })
        })
    }

    /// From `now` on `watches` end one after the other, so that their clients do not all come back at once: the last
    /// within `grace`, and sooner where that needs no more than [`limits::WATCH_TERMINATION_RATE`] a second.
    pub fn end_watches(&self, now: Instant, watches: u32, grace: Duration) {
        let rate = (f64::from(watches) / grace.as_secs_f64()).max(limits::WATCH_TERMINATION_RATE);
        let interval = Duration::from_secs_f64(1.0 / rate);
        // Only the first plan counts.
        let _ = self.plan.set(Plan { begun: now, interval, grace });
    }

    /// The time at which one more watch ends; `None` where it ends at once.
    pub fn next_end(&self) -> Option<Instant> {
        let plan = self.plan.get()?;
        let number = self.tickets.fetch_add(1, Ordering::Relaxed);
        let after = plan.interval.saturating_mul(number.try_into().unwrap_or(u32::MAX)).min(plan.grace);
        Some(plan.begun + after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_when_every_core_has_said() {
        let draining = Draining::new(2);
        assert_eq!(draining.left(), None);
        draining.report(1, InWork { requests: 3, watches: 70_000 });
        assert_eq!(draining.left(), None);
        draining.report(0, InWork { requests: 4, watches: 1 });
        assert_eq!(draining.left(), Some(InWork { requests: 7, watches: 70_001 }));
        draining.report(0, InWork::default());
        draining.report(1, InWork::default());
        assert_eq!(draining.left(), Some(InWork::default()));
        assert_eq!(Draining::new(0).left(), Some(InWork::default()));
    }

    #[test]
    fn watches_end_one_after_the_other() {
        let check = |watches: u32, grace: u64, expect: &[(usize, u64)]| {
            let draining = Draining::new(1);
            assert_eq!(draining.next_end(), None, "without a plan at once");
            let now = Instant::now();
            draining.end_watches(now, watches, Duration::from_secs(grace));
            let ends: Vec<_> = (0..watches).map_while(|_| draining.next_end()).collect();
            assert_eq!(ends.len(), watches as usize);
            assert!(ends.is_sorted());
            for &(number, after_ms) in expect {
                assert_eq!((ends[number] - now).as_millis() as u64, after_ms, "watch {number} of {watches}");
            }
        };
        // 200 a second however long the grace.
        check(100, 60, &[(0, 0), (1, 5), (99, 495)]);
        check(400, 2, &[(0, 0), (399, 1995)]);
        // More where there are more.
        check(4000, 2, &[(0, 0), (2, 1), (3999, 1999)]);
        // Those that nobody counted end with the grace.
        let draining = Draining::new(1);
        let now = Instant::now();
        draining.end_watches(now, 1, Duration::from_millis(10));
        let last = (0..100).filter_map(|_| draining.next_end()).max();
        assert_eq!(last, Some(now + Duration::from_millis(10)));
    }
}
