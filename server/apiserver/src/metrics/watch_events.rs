//! Events that go out to watches. An event to a thousand watchers is counted a thousand times, so counting it is a few
//! plain instructions: those of one stream's turn that are about as large are added at once.

use std::sync::Arc;

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

/// Counts the events of one resource's watches on one core, by their sizes. A watch holds it, so that it need not look
/// for its series.
#[derive(Clone, Debug, Default)]
pub struct WatchCounter(Arc<Histogram<BOUNDS>>);

impl WatchCounter {
    pub(super) fn sizes(&self) -> &Histogram<BOUNDS> {
        &self.0
    }
}

/// Counts what goes out to one watch in a turn; dropped, it has counted all of it.
pub struct Sent<'m> {
    /// `None` where nobody counts.
    sizes: Option<&'m Histogram<BOUNDS>>,
    /// The bound that what is not counted yet is within.
    bucket: usize,
    count: u64,
    bytes: u64,
}

impl<'m> Sent<'m> {
    /// A turn of a watch, counted by `counter` if there is one.
    #[inline]
    pub fn new(counter: Option<&'m WatchCounter>) -> Self {
        Sent { sizes: counter.map(|counter| &*counter.0), bucket: 0, count: 0, bytes: 0 }
    }

    /// An event of so many bytes went out.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        let bucket = bucket(bytes);
        if bucket != self.bucket {
            self.settle();
            self.bucket = bucket;
        }
        self.count += 1;
        self.bytes += bytes;
    }

    #[inline]
    fn settle(&mut self) {
        if let Some(sizes) = self.sizes.filter(|_| self.count > 0) {
            sizes.add_to_bucket(self.bucket, self.count, self.bytes);
        }
        (self.count, self.bytes) = (0, 0);
    }
}

impl Drop for Sent<'_> {
    #[inline]
    fn drop(&mut self) {
        self.settle();
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
    fn a_turn_is_what_single_events_come_to() {
        let sizes = [0, 1, 1023, 1024, 1025, 2048, 1, 2049, 5000, 65_536, 131_072, 131_073, 3 << 20, 3 << 20];
        let (together, singly) = (WatchCounter::default(), Histogram::default());
        for _ in 0..2 {
            let mut sent = Sent::new(Some(&together));
            sizes.into_iter().for_each(|size| sent.add(size));
        }
        sizes.into_iter().for_each(|size| singly.observe(&EVENT_SIZE_BOUNDS, size as u64));
        drop(Sent::new(Some(&together)));
        let (mut twice, mut once) = (HistogramSnapshot::default(), HistogramSnapshot::default());
        together.sizes().add_to(&mut twice);
        singly.add_to(&mut once);
        assert_eq!(twice.buckets, once.buckets.map(|n| 2 * n));
        assert_eq!((twice.beyond, twice.sum), (2 * once.beyond, 2 * once.sum));
    }
}
