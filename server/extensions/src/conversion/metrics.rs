//! What is counted of conversions, under the real server's names.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ringbolt_apiserver::metrics::{Exposition, Family, Kind, TimedBy};

use crate::limits::CONVERSION_SERIES_MAX;

const BY_DEFINITION: Family = Family {
    name: "apiserver_crd_conversion_webhook_duration_seconds",
    help: "[ALPHA] How long conversions of custom objects by webhooks took, by definition and versions.",
    kind: Kind::Histogram,
};
const DURATION: Family = Family {
    name: "apiserver_conversion_webhook_duration_seconds",
    help: "[ALPHA] How long requests to conversion webhooks took, by their results.",
    kind: Kind::Histogram,
};
const REQUESTS: Family = Family {
    name: "apiserver_conversion_webhook_request_total",
    help: "[ALPHA] Requests to conversion webhooks, by their results.",
    kind: Kind::Counter,
};

const MILLISECOND: u64 = 1_000_000;
/// From a millisecond, each twice the one before.
const BY_DEFINITION_BOUNDS: [u64; 15] = {
    let mut bounds = [MILLISECOND; 15];
    let mut at = 1;
    while at < bounds.len() {
        bounds[at] = bounds[at - 1] * 2;
        at += 1;
    }
    bounds
};
/// From 5 milliseconds to a minute.
const DURATION_BOUNDS: [u64; 15] = {
    let mut bounds = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 45_000, 60_000];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] *= MILLISECOND;
        at += 1;
    }
    bounds
};

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    /// There was no answer, or none that is a review.
    Call,
    /// The review says no success, or is about something else.
    Malformed,
    /// There are too few objects in it, or too many.
    Partial,
    /// An object in it is none that may be.
    Object,
}

impl Failure {
    fn name(self) -> &'static str {
        match self {
            Failure::Call => "conversion_webhook_call_failure",
            Failure::Malformed => "conversion_webhook_malformed_response_failure",
            Failure::Partial => "conversion_webhook_partial_response_failure",
            Failure::Object => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    definition: String,
    from: String,
    to: String,
    succeeded: bool,
}

/// Counts. They are touched once a call.
#[derive(Default)]
pub(super) struct Counts(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    by_definition: BTreeMap<Series, TimedBy<15>>,
    requests: BTreeMap<Option<Failure>, TimedBy<15>>,
}

impl Counts {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Objects of a definition came from one version into another, or did not.
    pub(super) fn note(&self, (definition, from, to): (&str, &str, &str), succeeded: bool, took: Duration) {
        let series =
            Series { definition: definition.to_owned(), from: from.to_owned(), to: to.to_owned(), succeeded };
        let mut counted = self.counted();
        let counts = &mut counted.by_definition;
        if counts.len() < CONVERSION_SERIES_MAX || counts.contains_key(&series) {
            counts.entry(series).or_insert_with(|| TimedBy::new(&BY_DEFINITION_BOUNDS)).observe(took);
        }
    }

    /// A webhook was asked.
    pub(super) fn note_request(&self, failure: Option<Failure>, took: Duration) {
        let mut counted = self.counted();
        counted.requests.entry(failure).or_insert_with(|| TimedBy::new(&DURATION_BOUNDS)).observe(took);
    }

    /// Shows them.
    pub(super) fn collect(&self, out: &mut Exposition) {
        let counted = self.counted();
        for (series, timed) in &counted.by_definition {
            let Series { definition, from, to, succeeded } = series;
            let succeeded = if *succeeded { "true" } else { "false" };
            let labels = [
                ("crd_name", definition.as_str()),
                ("from_version", from),
                ("succeeded", succeeded),
                ("to_version", to),
            ];
            timed.collect(out, &BY_DEFINITION, &labels);
        }
        for (failure, timed) in &counted.requests {
            let (result, failure) = match failure {
                None => ("success", ""),
                Some(failure) => ("failure", failure.name()),
            };
            let labels = [("failure_type", failure), ("result", result)];
            timed.collect(out, &DURATION, &labels);
            out.sample(&REQUESTS, &labels, timed.count() as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_result() {
        let counts = Counts::default();
        let widgets = ("widgets.ex.io", "v1", "v2");
        counts.note(widgets, true, Duration::from_millis(3));
        counts.note_request(None, Duration::from_millis(3));
        counts.note(widgets, false, Duration::from_secs(30));
        counts.note_request(Some(Failure::Call), Duration::from_secs(30));
        let mut out = Exposition::default();
        counts.collect(&mut out);
        let text = out.finish();
        for line in [
            "apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name=\"widgets.ex.io\",from_version=\"v1\",succeeded=\"true\",to_version=\"v2\",le=\"0.004\"} 1\n",
            "apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"widgets.ex.io\",from_version=\"v1\",succeeded=\"false\",to_version=\"v2\"} 1\n",
            "apiserver_conversion_webhook_duration_seconds_bucket{failure_type=\"conversion_webhook_call_failure\",result=\"failure\",le=\"30\"} 1\n",
            "apiserver_conversion_webhook_request_total{failure_type=\"\",result=\"success\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
