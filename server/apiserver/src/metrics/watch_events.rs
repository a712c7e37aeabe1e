//! Events that go out to watches, gathered for a batch of them before they are counted for everyone to see: an event to
//! a thousand watchers is counted a thousand times.

use super::value::Histogram;

/// The lowest bound is two to this.
const LOWEST: u32 = 10;
/// How many bounds there are, each twice the one before.
const BOUNDS: usize = 8;

/// Bounds of `apiserver_watch_events_sizes`, in bytes: 1 KiB to 128 KiB.
pub(super) const EVENT_SIZE_BOUNDS: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let mut at = 0;
    while at < BOUNDS {
        bounds[at] = 1 << (LOWEST as usize + at);
        at += 1;
    }
    bounds
};

/// Events to one watch that are not counted yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch {
    /// By the bound they are within; those beyond all come last.
    counts: [u32; BOUNDS + 1],
    bytes: u64,
}

impl Batch {
    /// An event of so many bytes went out.
    pub fn add(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.counts[bucket(bytes)] += 1;
        self.bytes += bytes;
    }

    /// Whether nothing went out.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn add_to(&self, sizes: &Histogram<BOUNDS>) {
        sizes.add_counts(&self.counts, self.bytes);
    }
}

/// The first bound that is not below `bytes`, by the position of its highest bit.
fn bucket(bytes: u64) -> usize {
    let exponent = u64::BITS - bytes.saturating_sub(1).leading_zeros();
    (exponent.saturating_sub(LOWEST) as usize).min(BOUNDS)
}

#[cfg(test)]
mod tests {
    use super::{super::value::HistogramSnapshot, *};

    #[test]
    fn a_batch_is_what_single_events_come_to() {
        let sizes = [0, 1, 1023, 1024, 1025, 2048, 2049, 5000, 65_536, 131_072, 131_073, 3 << 20];
        let (together, singly) = (Histogram::default(), Histogram::default());
        let mut batch = Batch::default();
        for size in sizes {
            batch.add(size);
            singly.observe(&EVENT_SIZE_BOUNDS, size as u64);
        }
        batch.add_to(&together);
        batch.add_to(&together);
        let (mut twice, mut once) = (HistogramSnapshot::default(), HistogramSnapshot::default());
        together.add_to(&mut twice);
        singly.add_to(&mut once);
        assert_eq!(twice.buckets, once.buckets.map(|n| 2 * n));
        assert_eq!((twice.beyond, twice.sum), (2 * once.beyond, 2 * once.sum));
        assert!(!batch.is_empty() && Batch::default().is_empty());
    }
}
