//! Durations that somebody else measures: what the store takes for a write.

use std::time::Duration;

use super::{
    exposition::{Bounds, Exposition, Family},
    families::DURATION_BOUNDS,
    value::{Histogram, HistogramSnapshot},
};

/// A histogram with the bounds of requests. Any thread counts.
#[derive(Debug, Default)]
pub struct Durations(Histogram<{ DURATION_BOUNDS.len() }>);

impl Durations {
    /// Counts one.
    pub fn observe(&self, took: Duration) {
        self.0.observe(&DURATION_BOUNDS, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Shows them; labels must be sorted by name.
    pub fn collect(&self, out: &mut Exposition, family: &Family, labels: &[(&str, &str)]) {
        const SECOND: f64 = 1e9;
        let mut counted = HistogramSnapshot::default();
        self.0.add_to(&mut counted);
        let bounds = DURATION_BOUNDS.map(|bound| bound as f64 / SECOND);
        out.histogram(family, labels, Bounds { labels: &bounds, scale: SECOND }, &counted);
    }
}

/// A histogram with bounds of its own, in nanoseconds and rising. Any thread counts.
#[derive(Debug)]
pub struct TimedBy<const B: usize> {
    bounds: &'static [u64; B],
    histogram: Histogram<B>,
}

impl<const B: usize> TimedBy<B> {
    /// An empty one.
    pub fn new(bounds: &'static [u64; B]) -> Self {
        TimedBy { bounds, histogram: Histogram::default() }
    }

    /// Counts one.
    pub fn observe(&self, took: Duration) {
        self.histogram.observe(self.bounds, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.snapshot().count()
    }

    fn snapshot(&self) -> HistogramSnapshot<B> {
        let mut counted = HistogramSnapshot::default();
        self.histogram.add_to(&mut counted);
        counted
    }

    /// Shows them; labels must be sorted by name.
    pub fn collect(&self, out: &mut Exposition, family: &Family, labels: &[(&str, &str)]) {
        const SECOND: f64 = 1e9;
        let bounds = self.bounds.map(|bound| bound as f64 / SECOND);
        out.histogram(family, labels, Bounds { labels: &bounds, scale: SECOND }, &self.snapshot());
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Kind, *};

    #[test]
    fn shown_in_seconds() {
        const FAMILY: Family = Family { name: "writes", help: "[ALPHA] Writes.", kind: Kind::Histogram };
        let durations = Durations::default();
        durations.observe(Duration::from_millis(4));
        durations.observe(Duration::from_millis(30));
        let mut out = Exposition::default();
        durations.collect(&mut out, &FAMILY, &[("operation", "write")]);
        let text = out.finish();
        for line in [
            "writes_bucket{operation=\"write\",le=\"0.005\"} 1\n",
            "writes_bucket{operation=\"write\",le=\"0.05\"} 2\n",
            "writes_sum{operation=\"write\"} 0.034\n",
            "writes_count{operation=\"write\"} 2\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
