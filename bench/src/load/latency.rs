//! Latencies: a histogram, and the curve it becomes.

use super::{error::LoadError, limits, outcome::LoadOutcome};
use hdrhistogram::Histogram;
use std::time::Duration;

/// The percentiles of a curve.
const PERCENTILES: [f64; 14] =
    [0.0, 10.0, 25.0, 50.0, 60.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// Latencies by the nanosecond, with three significant digits.
#[derive(Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    /// No latency yet.
    pub(crate) fn new() -> Result<Self, LoadError> {
        let max = limits::LATENCY_MAX.as_nanos() as u64;
        Histogram::new_with_bounds(1, max, 3)
            .map(Latencies)
            .map_err(|error| LoadError::new(error.to_string()))
    }

    /// Counts one latency.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1));
    }

    /// A percentile (0–100) in microseconds; 0 without latencies.
    pub(crate) fn percentile_us(&self, percentile: f64) -> f64 {
        self.0.value_at_percentile(percentile) as f64 / 1e3
    }

    /// (percentile, microseconds), rising; empty without latencies.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        PERCENTILES.iter().map(|&percentile| (percentile, self.percentile_us(percentile))).collect()
    }

    /// Writes median, 99th percentile and curve.
    pub(crate) fn report(&self, outcome: &mut LoadOutcome) {
        outcome.p50_us = self.percentile_us(50.0);
        outcome.p99_us = self.percentile_us(99.0);
        outcome.latency_curve = self.curve();
        outcome.latencies = Some(self.0.clone());
    }

    /// Adds the latencies of a window.
    pub(crate) fn add(&mut self, outcome: &LoadOutcome) {
        if let Some(latencies) = &outcome.latencies {
            // Made alike, so that none is out of range.
            let _ = self.0.add(latencies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut latencies = Latencies::new().unwrap();
        for micros in 1..=10_000 {
            latencies.record(Duration::from_micros(micros));
        }
        for (percentile, expect) in [(50.0, 5_000.0), (99.0, 9_900.0), (100.0, 10_000.0)] {
            let got = latencies.percentile_us(percentile);
            assert!((got - expect).abs() <= expect / 500.0, "p{percentile} {got}");
        }
    }

    #[test]
    fn the_curve_rises_and_ends_with_the_slowest() {
        let mut latencies = Latencies::new().unwrap();
        for micros in [3, 1, 500, 20, 20, 20, 9_000] {
            latencies.record(Duration::from_micros(micros));
        }
        let curve = latencies.curve();
        assert_eq!(curve.len(), PERCENTILES.len());
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{curve:?}");
        assert!((curve[0].1 - 1.0).abs() < 0.01 && (curve[13].1 - 9_000.0).abs() < 10.0, "{curve:?}");
    }

    #[test]
    fn nothing_has_no_curve_and_too_long_is_the_longest() {
        let mut latencies = Latencies::new().unwrap();
        assert!(latencies.curve().is_empty());
        latencies.record(Duration::from_secs(100_000));
        assert!(latencies.percentile_us(100.0) >= limits::LATENCY_MAX.as_micros() as f64);
    }
}
