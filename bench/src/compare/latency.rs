//! Percentiles of latencies.

use super::limits;

/// Latencies of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    /// (percentile, microseconds), rising.
    pub curve: Vec<(f64, f64)>,
}

impl Latency {
    /// Of all latencies in microseconds.
    #[must_use]
    pub fn of(mut all: Vec<u32>) -> Latency {
        all.sort_unstable();
        let curve = limits::PERCENTILES
            .iter()
            .filter_map(|&percentile| {
                let rank = (percentile / 100.0 * all.len() as f64).ceil() as usize;
                all.get(rank.saturating_sub(1)).map(|&us| (percentile, f64::from(us)))
            })
            .collect();
        Latency { curve }
    }

    /// A percentile of the curve, if it has it.
    #[must_use]
    pub fn at(&self, percentile: f64) -> Option<f64> {
        self.curve.iter().find(|(p, _)| (p - percentile).abs() < 1e-6).map(|&(_, us)| us)
    }
}

#[cfg(test)]
mod tests {
    use super::Latency;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let latency = Latency::of((1..=100).rev().collect());
        assert_eq!(latency.at(50.0), Some(50.0));
        assert_eq!(latency.at(99.0), Some(99.0));
        assert_eq!(latency.at(100.0), Some(100.0));
        assert_eq!(latency.at(12.0), None);
        assert!(Latency::of(Vec::new()).curve.is_empty());
    }
}
