//! What a load measured: the one line it prints.

use super::{error::LoadError, latency::Latencies, limits};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one load measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// Requests that were answered as they should be in the window; for watches, events delivered.
    pub operations: u64,
    /// Requests that failed or were answered otherwise; for watches, events lost, doubled or out of order.
    pub errors: u64,
    /// Length of the window.
    pub seconds: f64,
    /// Bytes of bodies that came in the window.
    pub bytes: u64,
    /// Median latency in microseconds; for watches, from sending the update to delivery.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// (percentile 0–100, microseconds), rising.
    pub latency_curve: Vec<(f64, f64)>,
    /// Answers by their HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// What else was measured, by name with unit.
    pub extra: BTreeMap<String, f64>,
    /// The first failures in words.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Requests that were sent, in the window and outside of it; of loads that count them.
    #[serde(default)]
    pub sent: u64,
    /// Answers to them by their HTTP status; 0 where none came.
    #[serde(default)]
    pub answered: BTreeMap<u16, u64>,
    /// The latencies of the window, for whoever puts windows together.
    #[serde(skip)]
    pub(crate) latencies: Option<Histogram<u64>>,
}

impl LoadOutcome {
    /// Keeps what happened in words, unless there are enough.
    pub(crate) fn note(&mut self, what: &str, body: &[u8]) {
        if self.notes.len() < limits::NOTES_MAX {
            let body = &body[..body.len().min(limits::NOTE_BYTES_MAX)];
            self.notes.push(
                format!("{what}: {}", String::from_utf8_lossy(body)).trim_end_matches([':', ' ']).to_owned(),
            );
        }
    }

    /// Counts an answer's status.
    pub(crate) fn status(&mut self, status: u16) {
        *self.statuses.entry(status).or_default() += 1;
    }

    /// Counts an answer of the window or of any other time; of one that was cut off, too.
    pub(crate) fn answer(&mut self, status: u16, whole: bool) {
        *self.answered.entry(if whole { status } else { 0 }).or_default() += 1;
    }
}

/// Puts the windows of one load together that it had at different times.
pub(crate) fn joined<'o>(parts: impl Iterator<Item = &'o LoadOutcome>) -> Result<LoadOutcome, LoadError> {
    let mut all = LoadOutcome::default();
    let mut latencies = Latencies::new()?;
    for part in parts {
        all.operations += part.operations;
        all.errors += part.errors;
        all.seconds += part.seconds;
        all.bytes += part.bytes;
        all.sent += part.sent;
        for (into, from) in [(&mut all.statuses, &part.statuses), (&mut all.answered, &part.answered)] {
            for (status, count) in from {
                *into.entry(*status).or_default() += count;
            }
        }
        all.notes.extend(part.notes.iter().cloned());
        latencies.add(part);
    }
    all.notes.truncate(limits::NOTES_MAX);
    latencies.report(&mut all);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn windows_are_put_together() {
        let part = |micros: &[u64], status: u16| {
            let mut latencies = Latencies::new().unwrap();
            micros.iter().for_each(|micros| latencies.record(Duration::from_micros(*micros)));
            let mut outcome = LoadOutcome { sent: 3, seconds: 1.0, ..LoadOutcome::default() };
            outcome.operations = micros.len() as u64;
            outcome.status(status);
            outcome.answer(status, true);
            outcome.answer(status, false);
            latencies.report(&mut outcome);
            outcome
        };
        let parts = [part(&[10, 20, 30], 200), part(&[40, 5_000], 429), part(&[], 200)];
        let all = joined(parts.iter()).unwrap();
        assert_eq!((all.operations, all.sent, all.seconds), (5, 9, 3.0));
        assert!((all.p50_us - 30.0).abs() < 0.1 && (all.p99_us - 5_000.0).abs() < 10.0, "{all:?}");
        assert_eq!(all.statuses, [(200, 2), (429, 1)].into());
        assert_eq!(all.answered, [(0, 3), (200, 2), (429, 1)].into());
    }
}
