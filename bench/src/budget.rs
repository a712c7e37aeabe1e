//! What Ringbolt has to reach, case by case, and whether a run reached it.
//!
//! Ratios are of CPU a request, the peer's (kube-apiserver and etcd together) by ours, both on one core with TLS.

use crate::{
    result::Side,
    summary::{CaseSummary, thousands},
};

/// One demand on one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The case it is on.
    pub case: &'static str,
    /// What it asks for.
    pub demand: Demand,
}

/// What a budget asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Demand {
    /// The peer needs at least so many times our CPU a request.
    CpuRatio(f64),
    /// We need at most so many microseconds of CPU a request.
    CpuUs(f64),
    /// We need less CPU a request than nginx with a static reply.
    CpuBelowNginx,
    /// Nothing failed and every event arrived.
    NothingLost,
    /// The 99th percentile is at most so many microseconds, or at most the peer's.
    P99UsOrPeer(f64),
    /// The median latency is at most so many times a bare flush of the same disk, measured in the same run.
    P50Flushes(f64),
    /// Resident memory at the end, MiB at most.
    RssMib(f64),
    /// Highest resident memory, MiB at most.
    PeakRssMib(f64),
    /// Operations a second, at least.
    PerSecond(f64),
}

/// The name under which a case reports how long one bare flush takes, microseconds.
pub const FLUSH_US: &str = "bare_flush_us";

const fn budget(case: &'static str, demand: Demand) -> Budget {
    Budget { case, demand }
}

/// All budgets, in the order a report shows them in.
pub const BUDGETS: &[Budget] = &[
    budget("get-h2", Demand::CpuRatio(40.0)),
    budget("get-h1", Demand::CpuRatio(20.0)),
    budget("get-h1", Demand::CpuBelowNginx),
    budget("list-pods-json", Demand::CpuRatio(20.0)),
    budget("list-pods-protobuf", Demand::CpuRatio(12.0)),
    budget("list-custom-json", Demand::CpuRatio(30.0)),
    budget("create-64", Demand::CpuRatio(15.0)),
    budget("update-64", Demand::CpuRatio(15.0)),
    budget("create-pods-64", Demand::CpuUs(60.0)),
    budget("merge-patch-64", Demand::CpuRatio(15.0)),
    budget("apply-64", Demand::CpuRatio(10.0)),
    budget("create-1", Demand::CpuRatio(6.0)),
    budget("create-1", Demand::P50Flushes(2.0)),
    budget("update-1", Demand::CpuRatio(6.0)),
    budget("update-1", Demand::P50Flushes(2.0)),
    budget("watch-10x100-200", Demand::NothingLost),
    budget("watch-10x100-200", Demand::CpuRatio(20.0)),
    budget("watch-10x100-200", Demand::P99UsOrPeer(20_000.0)),
    budget("watch-1000-200", Demand::NothingLost),
    budget("watch-1000-200", Demand::CpuRatio(5.0)),
    budget("idle-watches", Demand::RssMib(120.0)),
    budget("pods-resident", Demand::RssMib(100.0)),
    budget("pods-parallel-lists", Demand::PeakRssMib(150.0)),
    budget("store", Demand::PerSecond(200_000.0)),
];

/// What came of a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The budget.
    pub budget: Budget,
    /// What was measured, in words; empty where it was not.
    pub measured: String,
    /// Whether it is met. Nothing where what it needs was not measured.
    pub met: Option<bool>,
}

/// The verdicts of all budgets.
#[must_use]
pub fn verdicts(cases: &[CaseSummary]) -> Vec<Verdict> {
    BUDGETS
        .iter()
        .map(|&budget| {
            let judged =
                cases.iter().find(|case| case.case == budget.case).and_then(|case| budget.judge(case));
            match judged {
                Some((met, measured)) => Verdict { budget, measured, met: Some(met) },
                None => Verdict { budget, measured: String::new(), met: None },
            }
        })
        .collect()
}

impl Budget {
    fn judge(&self, case: &CaseSummary) -> Option<(bool, String)> {
        let ours = case.side(Side::Ringbolt)?;
        Some(match self.demand {
            Demand::CpuRatio(least) => {
                let ratio = case.cpu_ratio()?;
                (ratio >= least, format!("{}×", significant(ratio)))
            }
            Demand::CpuUs(most) => {
                let us = ours.cpu_us?;
                (us <= most, format!("{} µs", significant(us)))
            }
            Demand::CpuBelowNginx => {
                let (our_us, nginx_us) = (ours.cpu_us?, case.side(Side::Nginx)?.cpu_us?);
                (our_us < nginx_us, format!("{} against {} µs", significant(our_us), significant(nginx_us)))
            }
            Demand::NothingLost => {
                let text = if ours.errors == 0 {
                    "none lost".to_owned()
                } else {
                    format!("{} lost", thousands(ours.errors))
                };
                (ours.errors == 0 && ours.operations > 0, text)
            }
            Demand::P99UsOrPeer(most) => {
                let p99 = ours.p99_us?;
                let peer = case.side(Side::Peer).and_then(|side| side.p99_us);
                let text = match peer {
                    Some(peer) => {
                        format!("{} against {} ms", significant(p99 / 1e3), significant(peer / 1e3))
                    }
                    None => format!("{} ms", significant(p99 / 1e3)),
                };
                (p99 <= most.max(peer.unwrap_or(0.0)), text)
            }
            Demand::P50Flushes(most) => {
                let flush = ours.extra.get(FLUSH_US).copied().filter(|us| *us > 0.0)?;
                let p50 = ours.p50_us?;
                (p50 <= flush * most, format!("{} flushes", significant(p50 / flush)))
            }
            Demand::RssMib(most) => at_most_mib(ours.rss_kib, most)?,
            Demand::PeakRssMib(most) => at_most_mib(ours.peak_rss_kib, most)?,
            Demand::PerSecond(least) => {
                (ours.per_second >= least, format!("{}/s", thousands(ours.per_second.round() as u64)))
            }
        })
    }
}

/// A process without memory was not looked at.
fn at_most_mib(kib: f64, most: f64) -> Option<(bool, String)> {
    (kib > 0.0).then(|| (kib / 1024.0 <= most, format!("{} MiB", significant(kib / 1024.0))))
}

impl std::fmt::Display for Demand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Demand::CpuRatio(least) => write!(f, "CPU ≥ {least}×"),
            Demand::CpuUs(most) => write!(f, "CPU ≤ {most} µs"),
            Demand::CpuBelowNginx => f.write_str("CPU below nginx"),
            Demand::NothingLost => f.write_str("nothing lost"),
            Demand::P99UsOrPeer(most) => write!(f, "p99 ≤ {} ms or the peer’s", most / 1e3),
            Demand::P50Flushes(most) => write!(f, "p50 ≤ {most} bare flushes"),
            Demand::RssMib(most) => write!(f, "memory ≤ {most} MiB"),
            Demand::PeakRssMib(most) => write!(f, "peak memory ≤ {most} MiB"),
            Demand::PerSecond(least) => write!(f, "≥ {}/s", thousands(least as u64)),
        }
    }
}

/// A number with three significant digits, and no fewer than its whole part has: `4.27`, `42.7`, `427`, `4,273`.
#[must_use]
pub fn significant(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => {
            let sign = if value < 0.0 { "−" } else { "" };
            format!("{sign}{}", thousands(size.round() as u64))
        }
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
