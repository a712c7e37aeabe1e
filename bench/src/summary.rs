//! Medians over the runs of a case: what the terminal table, the report and the budgets all read.

use crate::result::{Measurement, Shape, Side};
use std::collections::{BTreeMap, BTreeSet};

/// A client that used more of its core than this set the rate itself, so requests a second say nothing of the server.
pub const CLIENT_BUSY: f64 = 0.95;

/// One case, all its runs on all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseSummary {
    /// The case's name.
    pub case: String,
    /// The shape of its load.
    pub shape: Shape,
    /// What was measured; a server the case did not run on is absent.
    pub sides: BTreeMap<Side, SideSummary>,
}

/// The medians of one case on one server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideSummary {
    /// Runs these are the medians of.
    pub runs: usize,
    /// The client that drove it.
    pub client: String,
    /// CPU microseconds of all server processes a request. Nothing where no request was answered.
    pub cpu_us: Option<f64>,
    /// The lowest and the highest of the runs.
    pub cpu_us_range: Option<(f64, f64)>,
    /// [`SideSummary::cpu_us`] by process, in the order the runs name them.
    pub cpu_us_by_process: Vec<(String, f64)>,
    /// Requests (or events) a second.
    pub per_second: f64,
    /// Bytes a second that the client received.
    pub bytes_per_second: f64,
    /// Median latency, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
    /// Resident memory at the end, KiB.
    pub rss_kib: f64,
    /// Highest resident memory, KiB.
    pub peak_rss_kib: f64,
    /// Requests answered as they should be, all runs together.
    pub operations: u64,
    /// Failures of all runs together: a median would hide the run that failed.
    pub errors: u64,
    /// Share of one core that the client used.
    pub client_share: Option<f64>,
    /// The latency curve of the middle run by p99.
    pub latency_curve: Vec<(f64, f64)>,
    /// The memory curve of the middle run by peak.
    pub memory_curve: Vec<(f64, u64)>,
    /// What else the case measures, by name.
    pub extra: BTreeMap<String, f64>,
}

impl CaseSummary {
    /// What one server did, if the case ran on it.
    #[must_use]
    pub fn side(&self, side: Side) -> Option<&SideSummary> {
        self.sides.get(&side)
    }

    /// How many times more CPU a request the peer needs; below 1 Ringbolt needs more.
    #[must_use]
    pub fn cpu_ratio(&self) -> Option<f64> {
        let ours = self.side(Side::Ringbolt)?.cpu_us?;
        let peer = self.side(Side::Peer)?.cpu_us?;
        (ours > 0.0 && peer > 0.0).then(|| peer / ours)
    }
}

impl SideSummary {
    /// Whether the client was at its limit, not the server.
    #[must_use]
    pub fn client_was_busy(&self) -> bool {
        self.client_share.is_some_and(|share| share >= CLIENT_BUSY)
    }
}

/// Summarizes measurements, cases in the order they first appear in.
#[must_use]
pub fn summarize(measurements: &[Measurement]) -> Vec<CaseSummary> {
    let mut order: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<(&str, Side), Vec<&Measurement>> = BTreeMap::new();
    for measurement in measurements {
        if !order.contains(&measurement.case.as_str()) {
            order.push(&measurement.case);
        }
        groups.entry((&measurement.case, measurement.side)).or_default().push(measurement);
    }
    order
        .into_iter()
        .map(|case| {
            let mut summary =
                CaseSummary { case: case.to_owned(), shape: Shape::default(), sides: BTreeMap::new() };
            for (&(_, side), runs) in groups.range((case, Side::Ringbolt)..=(case, Side::Nginx)) {
                // Ringbolt's shape comes first and stands for all: a case asks every server for the same.
                if summary.sides.is_empty() {
                    summary.shape = runs[0].shape.clone();
                }
                summary.sides.insert(side, summarize_side(runs));
            }
            summary
        })
        .collect()
}

fn summarize_side(runs: &[&Measurement]) -> SideSummary {
    let cpu: Vec<f64> = runs.iter().filter_map(|run| run.cpu_us_per_operation()).collect();
    let seconds = |run: &Measurement| run.seconds.max(f64::MIN_POSITIVE);
    let of = |value: &dyn Fn(&Measurement) -> Option<f64>| {
        median(runs.iter().filter_map(|run| value(run)).collect::<Vec<f64>>())
    };
    let extra_names: BTreeSet<&String> = runs.iter().flat_map(|run| run.extra.keys()).collect();
    SideSummary {
        runs: runs.len(),
        client: runs.first().map(|run| run.client.clone()).unwrap_or_default(),
        cpu_us_range: cpu.iter().copied().reduce(f64::min).zip(cpu.iter().copied().reduce(f64::max)),
        cpu_us: median(cpu),
        cpu_us_by_process: by_process(runs),
        per_second: of(&|run| Some(run.operations as f64 / seconds(run))).unwrap_or(0.0),
        bytes_per_second: of(&|run| Some(run.bytes as f64 / seconds(run))).unwrap_or(0.0),
        p50_us: of(&|run| run.p50_us),
        p99_us: of(&|run| run.p99_us),
        rss_kib: of(&|run| Some(run.rss_kib as f64)).unwrap_or(0.0),
        peak_rss_kib: of(&|run| Some(run.peak_rss_kib as f64)).unwrap_or(0.0),
        operations: runs.iter().map(|run| run.operations).sum(),
        errors: runs.iter().map(|run| run.errors).sum(),
        client_share: of(&|run| {
            let cpu = run.client_cpu.as_ref()?;
            Some((cpu.user_seconds + cpu.system_seconds) / seconds(run))
        }),
        latency_curve: middle(runs, |run| {
            (!run.latency_curve.is_empty()).then_some(run.p99_us.unwrap_or(0.0))
        })
        .map(|run| run.latency_curve.clone())
        .unwrap_or_default(),
        memory_curve: middle(runs, |run| (!run.memory_curve.is_empty()).then_some(run.peak_rss_kib as f64))
            .map(|run| run.memory_curve.clone())
            .unwrap_or_default(),
        extra: extra_names
            .into_iter()
            .filter_map(|name| Some((name.clone(), of(&|run| run.extra.get(name).copied())?)))
            .collect(),
    }
}

/// The median CPU a request of each process; a run without it does not count as zero.
fn by_process(runs: &[&Measurement]) -> Vec<(String, f64)> {
    let mut values: Vec<(String, Vec<f64>)> = Vec::new();
    for run in runs.iter().filter(|run| run.operations > 0) {
        for cpu in &run.cpu {
            let us = (cpu.user_seconds + cpu.system_seconds) * 1e6 / run.operations as f64;
            match values.iter_mut().find(|(name, _)| *name == cpu.name) {
                Some((_, list)) => list.push(us),
                None => values.push((cpu.name.clone(), vec![us])),
            }
        }
    }
    values.into_iter().filter_map(|(name, list)| Some((name, median(list)?))).collect()
}

/// The median; the mean of the two middle ones of an even number.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[half]),
        _ => Some(f64::midpoint(values[half - 1], values[half])),
    }
}

/// The run in the middle by a key, the lower one of two. A curve made of medians point by point would be of no run.
fn middle<'a>(
    runs: &[&'a Measurement],
    key: impl Fn(&Measurement) -> Option<f64>,
) -> Option<&'a Measurement> {
    let mut keyed: Vec<(f64, &Measurement)> = runs.iter().filter_map(|run| Some((key(run)?, *run))).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = keyed.len().checked_sub(1)? / 2;
    keyed.get(middle).map(|(_, run)| *run)
}

impl Shape {
    /// The shape as a reader would say it: "8 connections × 32 streams, h2, JSON, objects of 1 KiB".
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        match (self.connections, self.streams) {
            (0, _) => {}
            (connections, 0 | 1) => parts.push(count(u64::from(connections), "connection")),
            (connections, streams) => {
                parts.push(format!(
                    "{} × {}",
                    count(u64::from(connections), "connection"),
                    count(u64::from(streams), "stream")
                ));
            }
        }
        // Said only where the connections and streams do not say it already.
        let lanes = self.connections.saturating_mul(self.streams.max(1));
        if self.in_flight != 0 && self.in_flight != lanes {
            parts.push(format!("{} in flight", thousands(u64::from(self.in_flight))));
        }
        if !self.protocol.is_empty() {
            parts.push(if self.protocol == "http/1.1" {
                "HTTP/1.1".to_owned()
            } else {
                self.protocol.clone()
            });
        }
        match self.encoding.as_str() {
            "" => {}
            "json" => parts.push("JSON".to_owned()),
            encoding => parts.push(encoding.to_owned()),
        }
        match (self.objects, self.object_bytes) {
            (0, 0) => {}
            (0, bytes) => parts.push(format!("objects of {}", bytes_in_words(bytes))),
            (objects, 0) => parts.push(count(objects, "object")),
            (objects, bytes) => {
                parts.push(format!("{} of {}", count(objects, "object"), bytes_in_words(bytes)))
            }
        }
        if self.updates_per_second != 0 {
            parts.push(format!("{} updates/s", thousands(u64::from(self.updates_per_second))));
        }
        parts.join(", ")
    }
}

fn count(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n), if n == 1 { "" } else { "s" })
}

fn bytes_in_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", trimmed(bytes as f64 / 1024.0)),
        _ => format!("{} MiB", trimmed(bytes as f64 / 1_048_576.0)),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A whole number in groups of three: `12,345`.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
