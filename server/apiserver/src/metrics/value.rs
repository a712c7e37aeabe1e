//! What a series counts: counters, gauges, histograms. One core writes, any thread reads.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
    pub(super) fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicI64);

impl Gauge {
    pub(super) fn add(&self, n: i64) {
        self.0.fetch_add(n, Relaxed);
    }
    pub(super) fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

/// The highest value of a gauge within the current or last second.
#[derive(Debug, Default)]
pub(super) struct PeakGauge {
    /// The second (upper half) and its highest value (lower half).
    peak: AtomicU64,
    current: AtomicU64,
}

impl PeakGauge {
    pub(super) fn set(&self, second: u32, value: u32) {
        self.current.store(u64::from(value), Relaxed);
        let peak = self.peak.load(Relaxed);
        if peak >> 32 != u64::from(second) || peak as u32 <= value {
            self.peak.store(u64::from(second) << 32 | u64::from(value), Relaxed);
        }
    }
    pub(super) fn get(&self, second: u32) -> u64 {
        let (peak, current) = (self.peak.load(Relaxed), self.current.load(Relaxed));
        if (peak >> 32) as u32 >= second.saturating_sub(1) {
            current.max(u64::from(peak as u32))
        } else {
            current
        }
    }
}

/// Counts by upper bound. `B` bounds, the values beyond the last one counted apart. Sums are whole numbers in a
/// unit of the caller's choice.
#[derive(Debug)]
pub(super) struct Histogram<const B: usize> {
    buckets: [AtomicU64; B],
    beyond: AtomicU64,
    sum: AtomicU64,
}

impl<const B: usize> Default for Histogram<B> {
    fn default() -> Self {
        Histogram {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            beyond: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }
}

impl<const B: usize> Histogram<B> {
    /// Counts a value, the bounds being in the same unit and rising.
    pub(super) fn observe(&self, bounds: &[u64; B], value: u64) {
        let bucket = bounds.iter().position(|bound| value <= *bound);
        bucket.map_or(&self.beyond, |at| &self.buckets[at]).fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Counts `count` values that add up to `sum`, all in the bucket of one bound (or beyond the last one).
    ///
    /// Without locked instructions, since one core alone counts. A reset by another thread at the same time may be
    /// lost.
    pub(super) fn add_to_bucket(&self, bucket: usize, count: u64, sum: u64) {
        let add = |total: &AtomicU64, n: u64| total.store(total.load(Relaxed) + n, Relaxed);
        add(self.buckets.get(bucket).unwrap_or(&self.beyond), count);
        add(&self.sum, sum);
    }

    pub(super) fn reset(&self) {
        self.buckets.iter().chain([&self.beyond, &self.sum]).for_each(|n| n.store(0, Relaxed));
    }

    /// Adds what was counted here to a snapshot.
    pub(super) fn add_to(&self, snapshot: &mut HistogramSnapshot<B>) {
        for (total, bucket) in snapshot.buckets.iter_mut().zip(&self.buckets) {
            *total += bucket.load(Relaxed);
        }
        snapshot.beyond += self.beyond.load(Relaxed);
        snapshot.sum += self.sum.load(Relaxed);
    }
}

/// A histogram merged over the cores.
#[derive(Clone, Debug)]
pub(super) struct HistogramSnapshot<const B: usize> {
    pub(super) buckets: [u64; B],
    pub(super) beyond: u64,
    pub(super) sum: u64,
}

impl<const B: usize> Default for HistogramSnapshot<B> {
    fn default() -> Self {
        HistogramSnapshot { buckets: [0; B], beyond: 0, sum: 0 }
    }
}

impl<const B: usize> HistogramSnapshot<B> {
    /// How many values there were.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().sum::<u64>() + self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram() {
        let histogram: Histogram<3> = Histogram::default();
        for value in [0, 10, 11, 100, 1000, 1001] {
            histogram.observe(&[10, 100, 1000], value);
        }
        let mut snapshot = HistogramSnapshot::default();
        histogram.add_to(&mut snapshot);
        histogram.add_to(&mut snapshot);
        assert_eq!((snapshot.buckets, snapshot.beyond, snapshot.sum), ([4, 4, 2], 2, 4244));
        assert_eq!(snapshot.count(), 12);
        histogram.reset();
        let mut after = HistogramSnapshot::<3>::default();
        histogram.add_to(&mut after);
        assert_eq!((after.count(), after.sum), (0, 0));
    }

    #[test]
    fn peak_is_that_of_the_last_second() {
        let gauge = PeakGauge::default();
        gauge.set(10, 5);
        gauge.set(10, 2);
        assert_eq!((gauge.get(10), gauge.get(11), gauge.get(12)), (5, 5, 2));
        gauge.set(12, 1);
        assert_eq!(gauge.get(12), 1);
    }
}
