//! What a load measured: the one line it prints.

use super::limits;
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
}
