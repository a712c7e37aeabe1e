//! Medians of runs, and how the sides stand to each other.

use std::collections::BTreeMap;

use crate::result::{Measurement, Side};

/// A case on a side: medians of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Side.
    pub side: Side,
    /// Operations a second.
    pub per_second: f64,
    /// CPU microseconds an operation.
    pub cpu_us: Option<f64>,
    /// Median latency, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Resident memory, KiB.
    pub rss_kib: f64,
    /// Peak of it.
    pub peak_rss_kib: f64,
    /// Errors of all runs.
    pub errors: u64,
    /// Whether the client was at its limit in a run.
    pub client_bound: bool,
    /// Medians of what else was measured.
    pub extra: BTreeMap<String, f64>,
}

/// Median; the mean of the middle two of an even number.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.into_iter().collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(all[middle]),
        _ => Some(f64::midpoint(all[middle - 1], all[middle])),
    }
}

/// Summaries of a case's measurements, a side each, in the order of [`Side`].
#[must_use]
pub fn of_case(measurements: &[Measurement], case: &str) -> Vec<Summary> {
    let mut sides: Vec<Side> = measurements.iter().filter(|m| m.case == case).map(|m| m.side).collect();
    sides.sort_unstable();
    sides.dedup();
    sides
        .into_iter()
        .map(|side| {
            let runs: Vec<&Measurement> =
                measurements.iter().filter(|m| m.case == case && m.side == side).collect();
            of_runs(side, &runs)
        })
        .collect()
}

fn of_runs(side: Side, runs: &[&Measurement]) -> Summary {
    let rate = |amount: u64, seconds: f64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    let mut extra: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.iter().flat_map(|run| &run.extra) {
        extra.entry(name.clone()).or_default().push(*value);
    }
    let client_bound = extra.remove("client_core_share").is_some();
    Summary {
        side,
        per_second: median(runs.iter().map(|run| rate(run.operations, run.seconds))).unwrap_or(0.0),
        cpu_us: median(runs.iter().filter_map(|run| run.cpu_us_per_operation())),
        p50_us: median(runs.iter().filter_map(|run| run.p50_us)),
        p99_us: median(runs.iter().filter_map(|run| run.p99_us)),
        bytes_per_second: median(runs.iter().map(|run| rate(run.bytes, run.seconds))).unwrap_or(0.0),
        rss_kib: median(runs.iter().map(|run| run.rss_kib as f64)).unwrap_or(0.0),
        peak_rss_kib: median(runs.iter().map(|run| run.peak_rss_kib as f64)).unwrap_or(0.0),
        errors: runs.iter().map(|run| run.errors).sum(),
        client_bound,
        extra: extra.into_iter().filter_map(|(name, values)| Some((name, median(values)?))).collect(),
    }
}

/// How many times the CPU of `ours` `theirs` takes for an operation.
#[must_use]
pub fn cpu_ratio(ours: &Summary, theirs: &Summary) -> Option<f64> {
    Some(theirs.cpu_us? / ours.cpu_us.filter(|us| *us > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([]), None);
    }
}
