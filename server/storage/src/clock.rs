//! Time as the store sees it, so that tests can turn it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A clock. Both readings may be turned by tests; only the second never goes back.
pub trait Clock: Send + Sync {
    /// Seconds since the epoch.
    fn unix_seconds(&self) -> u64;
    /// Time since some fixed moment.
    fn monotonic(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn unix_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
    }
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that stands until it is turned.
#[derive(Debug, Default)]
pub struct ManualClock {
    millis: AtomicU64,
}

impl ManualClock {
    /// A clock at `unix_seconds`.
    pub fn new(unix_seconds: u64) -> Self {
        ManualClock { millis: AtomicU64::new(unix_seconds * 1000) }
    }
    /// Turns it forward.
    pub fn advance(&self, by: Duration) {
        self.millis.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn unix_seconds(&self) -> u64 {
        self.millis.load(Ordering::SeqCst) / 1000
    }
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::SeqCst))
    }
}
