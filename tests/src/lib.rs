//! What tests against a running server share: starting the binary, finding the handed corpora, waiting with a
//! bound.
#![forbid(unsafe_code)]

pub mod server;
pub mod shared;

use std::time::{Duration, Instant};

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
