//! What tests against a running server share: starting the binary, speaking to it byte by byte, finding the handed
//! corpora, waiting with a bound.
#![forbid(unsafe_code)]

pub mod frames;
pub mod http1;
pub mod peer;
pub mod server;
pub mod shared;
pub mod tls;

use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Calls `check` until it answers `Some`, at most for `limit`.
pub fn wait_for<T>(limit: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = check() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Prints a line past the capture of the test harness: a figure that ought to be seen, or what was left out and why.
pub fn note(line: &str) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Keeps apart the tests that fill the machine or look at its clock: they wait for each other, all others run beside
/// them.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed while it was alone is over; the next may begin.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers that look random, from a seed that a failure can print.
pub struct Dice(u64);

impl Dice {
    /// Seeded by the clock.
    pub fn new() -> Dice {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Dice::seeded(u64::from(now.subsec_nanos()) ^ now.as_secs())
    }

    /// Seeded by `seed`.
    pub fn seeded(seed: u64) -> Dice {
        Dice(seed | 1)
    }

    /// What it was seeded with, while nothing was drawn yet.
    pub fn seed(&self) -> u64 {
        self.0
    }

    /// A number from `0` to below `end` (xorshift).
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

impl Default for Dice {
    fn default() -> Dice {
        Dice::new()
    }
}
