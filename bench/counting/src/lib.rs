//! An allocator that counts, for tests and measurements. No product code depends on it.
//!
//! A binary that counts makes it its global allocator, around the one it would have had:
//!
//! ```
//! use std::alloc::System;
//!
//! use ringbolt_counting_allocator::{Counting, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting<System> = Counting(System);
//!
//! assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
//! ```
//!
//! An allocator is the one thing that cannot be counted without `unsafe`; it lies in a module of its own, `counting`.
#![deny(unsafe_code)]

mod counting;

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

pub use counting::Counting;

/// What was asked of an allocator. A reallocation counts as one, with the bytes it grew by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Calls.
    pub allocations: u64,
    /// Bytes.
    pub bytes: u64,
}

impl std::ops::Sub for Count {
    type Output = Count;
    fn sub(self, before: Count) -> Count {
        Count { allocations: self.allocations - before.allocations, bytes: self.bytes - before.bytes }
    }
}

thread_local! {
    static OF_THREAD: Cell<Count> = const { Cell::new(Count { allocations: 0, bytes: 0 }) };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    // A thread that is ending has no count of its own any more, and nobody asks for it.
    let _ = OF_THREAD.try_with(|count| {
        let Count { allocations, bytes: so_far } = count.get();
        count.set(Count { allocations: allocations + 1, bytes: so_far + bytes as u64 });
    });
}

/// What all threads have asked for since the process began.
pub fn total() -> Count {
    Count { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

/// What this thread has asked for since it began.
pub fn of_thread() -> Count {
    OF_THREAD.with(Cell::get)
}

/// Allocations of this thread while `work` ran.
pub fn allocations(work: impl FnOnce()) -> usize {
    let before = of_thread();
    work();
    (of_thread() - before).allocations as usize
}
