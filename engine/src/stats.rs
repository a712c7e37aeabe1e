//! Counters of an engine that all its cores share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What the cores share.
pub(crate) struct Shared {
    /// Connections of each core.
    pub(crate) open: Box<[AtomicUsize]>,
    /// Listening sockets, one a core and address.
    pub(crate) listening: AtomicUsize,
    pub(crate) accepted: AtomicU64,
    pub(crate) handed_over: AtomicU64,
    pub(crate) handshake_errors: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) output_overflows: AtomicU64,
    pub(crate) buffer_shortages: AtomicU64,
}

impl Shared {
    pub(crate) fn new(cores: usize) -> Shared {
        Shared {
            open: (0..cores).map(|_| AtomicUsize::new(0)).collect(),
            listening: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            handed_over: AtomicU64::new(0),
            handshake_errors: AtomicU64::new(0),
            accept_errors: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            output_overflows: AtomicU64::new(0),
            buffer_shortages: AtomicU64::new(0),
        }
    }

    pub(crate) fn open_total(&self) -> usize {
        self.open.iter().map(|open| open.load(Ordering::Relaxed)).sum()
    }

    /// The core with the fewest connections; `here` where it is one of them.
    pub(crate) fn least_loaded(&self, here: usize) -> usize {
        let load = |core: usize| self.open[core].load(Ordering::Relaxed);
        (0..self.open.len()).min_by_key(|&core| (load(core), core != here)).unwrap_or(here)
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            accepted: get(&self.accepted),
            handed_over: get(&self.handed_over),
            handshake_errors: get(&self.handshake_errors),
            accept_errors: get(&self.accept_errors),
            panics: get(&self.panics),
            output_overflows: get(&self.output_overflows),
            buffer_shortages: get(&self.buffer_shortages),
        }
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: u64,
    /// Of those, connections given to another core than the one that accepted them.
    pub handed_over: u64,
    /// TLS handshakes that failed or took too long.
    pub handshake_errors: u64,
    /// Accepts that failed, for want of descriptors for example.
    pub accept_errors: u64,
    /// Calls of the application (or of TLS) that panicked; each cost a connection.
    pub panics: u64,
    /// Connections ended because a core's output limit was reached.
    pub output_overflows: u64,
    /// Receives that found no free buffer and were armed again.
    pub buffer_shortages: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_loaded_core_is_chosen_and_ties_stay() {
        let shared = Shared::new(3);
        let check = |loads: [usize; 3], here, expect| {
            for (open, load) in shared.open.iter().zip(loads) {
                open.store(load, Ordering::Relaxed);
            }
            assert_eq!(shared.least_loaded(here), expect, "{loads:?} on {here}");
        };
        check([0, 0, 0], 1, 1);
        check([0, 0, 0], 2, 2);
        check([3, 2, 2], 0, 1);
        check([3, 2, 2], 2, 2);
        check([1, 2, 3], 2, 0);
    }
}
