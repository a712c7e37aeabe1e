//! Ringbolt against the peer, figure by figure: which way is better, and what is worse.

use crate::{
    result::Side,
    summary::{CaseSummary, SideSummary},
};

/// Medians that differ by less are the same: a machine that does nothing else still varies by about this much.
pub const NOISE: f64 = 0.02;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// KiB.
    Kib,
    /// A count, or a number without a unit.
    Count,
    /// A rate.
    PerSecond,
}

/// One figure that both servers have.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The case.
    pub case: String,
    /// What was measured, in words or by the name the case gives it.
    pub figure: String,
    /// The unit of both values.
    pub unit: Unit,
    /// Ringbolt's median.
    pub ours: f64,
    /// The peer's median.
    pub peer: f64,
    /// Whether the lower value is the better one.
    pub lower_is_better: bool,
}

impl Comparison {
    /// Whether Ringbolt is worse by more than [`NOISE`].
    #[must_use]
    pub fn is_worse(&self) -> bool {
        if self.lower_is_better {
            self.ours > self.peer * (1.0 + NOISE)
        } else {
            self.ours < self.peer * (1.0 - NOISE)
        }
    }
}

/// CPU a request.
pub const CPU: &str = "CPU a request";
/// Requests a second.
pub const RATE: &str = "requests a second";
/// Median latency.
pub const P50: &str = "p50 latency";
/// 99th percentile.
pub const P99: &str = "p99 latency";
/// Memory at the end.
pub const MEMORY: &str = "memory at the end";
/// Highest memory.
pub const PEAK_MEMORY: &str = "peak memory";
/// Failures.
pub const ERRORS: &str = "failures";

/// All figures of a case that both servers have.
#[must_use]
pub fn compare(case: &CaseSummary) -> Vec<Comparison> {
    let (Some(ours), Some(peer)) = (case.side(Side::Ringbolt), case.side(Side::Peer)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut add =
        |figure: &str, unit: Unit, lower_is_better: bool, value: &dyn Fn(&SideSummary) -> Option<f64>| {
            if let (Some(ours), Some(peer)) = (value(ours), value(peer)) {
                all.push(Comparison {
                    case: case.case.clone(),
                    figure: figure.to_owned(),
                    unit,
                    ours,
                    peer,
                    lower_is_better,
                });
            }
        };
    let measured = |value: f64| (value > 0.0).then_some(value);
    add(CPU, Unit::Us, true, &|side| side.cpu_us);
    add(RATE, Unit::PerSecond, false, &|side| measured(side.per_second));
    add(P50, Unit::Us, true, &|side| side.p50_us);
    add(P99, Unit::Us, true, &|side| side.p99_us);
    add(MEMORY, Unit::Kib, true, &|side| measured(side.rss_kib));
    add(PEAK_MEMORY, Unit::Kib, true, &|side| measured(side.peak_rss_kib));
    add(ERRORS, Unit::Count, true, &|side| Some(side.errors as f64));
    for name in ours.extra.keys() {
        if let Some((unit, scale, lower_is_better)) = direction(name) {
            // No time and no memory means that there was nothing to measure; no failures means none.
            let counts = unit == Unit::Count;
            add(name, unit, lower_is_better, &|side| {
                side.extra.get(name).map(|value| value * scale).filter(|value| counts || *value > 0.0)
            });
        }
    }
    all
}

/// The unit of an extra figure by the end of its name, what turns it into that unit, and whether lower is better.
/// Nothing where the name does not say.
#[must_use]
pub fn direction(name: &str) -> Option<(Unit, f64, bool)> {
    // Properties of the disk and of the client, not of a server.
    if name == crate::budget::FLUSH_US || name.starts_with("client_") {
        return None;
    }
    let (_, end) = name.rsplit_once('_')?;
    match end {
        "second" if name.ends_with("_per_second") => Some((Unit::PerSecond, 1.0, false)),
        "us" => Some((Unit::Us, 1.0, true)),
        "ms" => Some((Unit::Us, 1e3, true)),
        "seconds" => Some((Unit::Us, 1e6, true)),
        "kib" => Some((Unit::Kib, 1.0, true)),
        "mib" => Some((Unit::Kib, 1024.0, true)),
        "imbalance" | "errors" | "lost" | "missing" => Some((Unit::Count, 1.0, true)),
        _ => None,
    }
}
