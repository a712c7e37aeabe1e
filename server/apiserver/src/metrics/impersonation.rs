//! The families of impersonation: how often somebody wanted to be somebody else, and what was asked for it.

use std::time::Duration;

use super::{
    CoreMetrics,
    exposition::{Bounds, Exposition, Family, Kind},
    value::{Counter, Histogram, HistogramSnapshot},
};

/// Upper bounds in nanoseconds: a millisecond and its doubles.
const BOUNDS: [u64; 15] = bounds();

const fn bounds() -> [u64; 15] {
    let mut bounds = [1_000_000; 15];
    let mut at = 1;
    while at < bounds.len() {
        bounds[at] = 2 * bounds[at - 1];
        at += 1;
    }
    bounds
}

/// By which right it was: none, where it was refused, then the modes in their order.
pub const MODES: [&str; 6] =
    ["", "associated-node", "arbitrary-node", "serviceaccount", "user-info", "legacy"];
const DECISIONS: [&str; 2] = ["allowed", "denied"];

const ATTEMPTS: Family = Family {
    name: "apiserver_impersonation_attempts_total",
    help: "[ALPHA] Requests that were to run as somebody else, by mode and decision.",
    kind: Kind::Counter,
};
const ATTEMPT_DURATION: Family = Family {
    name: "apiserver_impersonation_attempts_duration_seconds",
    help: "[ALPHA] Seconds that it took to decide on them.",
    kind: Kind::Histogram,
};
const CHECKS: Family = Family {
    name: "apiserver_impersonation_authorization_attempts_total",
    help: "[ALPHA] What authorizers were asked for it, by mode and decision.",
    kind: Kind::Counter,
};
const CHECK_DURATION: Family = Family {
    name: "apiserver_impersonation_authorization_attempts_duration_seconds",
    help: "[ALPHA] Seconds that it took them to answer.",
    kind: Kind::Histogram,
};

/// One series.
#[derive(Default)]
struct Series {
    count: Counter,
    duration: Histogram<{ BOUNDS.len() }>,
}

/// What a core counts, by mode and decision.
#[derive(Default)]
pub(super) struct Impersonations {
    attempts: [[Series; 2]; MODES.len()],
    checks: [[Series; 2]; MODES.len()],
}

impl Impersonations {
    fn observe(of: &[[Series; 2]; MODES.len()], mode: usize, is_allowed: bool, took: Duration) {
        let series = &of[mode.min(MODES.len() - 1)][usize::from(!is_allowed)];
        series.count.add(1);
        series.duration.observe(&BOUNDS, took.as_nanos() as u64);
    }

    /// Somebody wanted to be somebody else; `mode` is a place in [`MODES`].
    pub(super) fn attempt(&self, mode: usize, is_allowed: bool, took: Duration) {
        Self::observe(&self.attempts, mode, is_allowed, took);
    }

    /// The authorizers were asked.
    pub(super) fn check(&self, mode: usize, is_allowed: bool, took: Duration) {
        Self::observe(&self.checks, mode, is_allowed, took);
    }

    pub(super) fn reset(&self) {
        for series in self.attempts.iter().chain(&self.checks).flatten() {
            series.count.reset();
            series.duration.reset();
        }
    }
}

/// Writes them, where there is anything to say.
pub(super) fn render(cores: &[CoreMetrics], out: &mut Exposition) {
    type Of = fn(&Impersonations) -> &[[Series; 2]; MODES.len()];
    let labels = BOUNDS.map(|bound| bound as f64 / 1e9);
    let families: [(&Family, &Family, Of); 2] =
        [(&ATTEMPTS, &ATTEMPT_DURATION, |all| &all.attempts), (&CHECKS, &CHECK_DURATION, |all| &all.checks)];
    for (total, duration, of) in families {
        out.family(total);
        out.family(duration);
        for (mode, name) in MODES.into_iter().enumerate() {
            for (at, decision) in DECISIONS.into_iter().enumerate() {
                let (mut count, mut snapshot) = (0, HistogramSnapshot::default());
                for core in cores {
                    let series = &of(&core.impersonations)[mode][at];
                    count += series.count.get();
                    series.duration.add_to(&mut snapshot);
                }
                if count > 0 {
                    let of = [("decision", decision), ("mode", name)];
                    out.sample(total, &of, count as f64);
                    out.histogram(duration, &of, Bounds { labels: &labels, scale: 1e9 }, &snapshot);
                }
            }
        }
    }
}
