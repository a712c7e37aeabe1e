//! What is counted of match conditions, under Kubernetes' names.

use std::time::Duration;

use ringbolt_apiserver::metrics::{
    Exposition, Family, Kind, LabelledCounter, LabelledHistogram, Metrics as ServerMetrics,
};

use crate::limits::CONDITION_SERIES_MAX;

const ERRORS: Family = Family {
    name: "apiserver_admission_match_condition_evaluation_errors_total",
    help: "[ALPHA] Match conditions that ended in errors, by what they belong to.",
    kind: Kind::Counter,
};
const EXCLUSIONS: Family = Family {
    name: "apiserver_admission_match_condition_exclusions_total",
    help: "[ALPHA] Requests that match conditions kept from what they belong to.",
    kind: Kind::Counter,
};
const SECONDS: Family = Family {
    name: "apiserver_admission_match_condition_evaluation_seconds",
    help: "[ALPHA] How long match conditions take that do not hold, by what they belong to.",
    kind: Kind::Histogram,
};

const BOUNDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const LABELS: &[&str] = &["kind", "name", "operation", "type"];

/// The counts.
pub struct ConditionMetrics {
    errors: LabelledCounter,
    exclusions: LabelledCounter,
    seconds: LabelledHistogram,
}

/// Whose conditions are looked at for which operation, to be counted.
#[derive(Clone, Copy)]
pub struct Counted<'a> {
    metrics: &'a ConditionMetrics,
    labels: [&'a str; 4],
}

impl Default for ConditionMetrics {
    fn default() -> Self {
        ConditionMetrics {
            errors: LabelledCounter::new(ERRORS, LABELS, CONDITION_SERIES_MAX),
            exclusions: LabelledCounter::new(EXCLUSIONS, LABELS, CONDITION_SERIES_MAX),
            seconds: LabelledHistogram::new(SECONDS, LABELS, BOUNDS, CONDITION_SERIES_MAX),
        }
    }
}

impl ConditionMetrics {
    /// Shows them among those of a server.
    pub fn register(self: &std::sync::Arc<Self>, metrics: &ServerMetrics) {
        let shown = self.clone();
        metrics.register(move |out| shown.collect(out));
    }

    fn collect(&self, out: &mut Exposition) {
        self.errors.collect(out);
        self.exclusions.collect(out);
        self.seconds.collect(out);
    }

    /// The conditions of a webhook; `step` is `admit` or `validating`.
    pub fn of_webhook<'a>(&'a self, name: &'a str, operation: &'a str, step: &'a str) -> Counted<'a> {
        Counted { metrics: self, labels: ["webhook", name, operation, step] }
    }

    /// The conditions of a policy: a mutating one is counted as the validating ones are, as kube-apiserver has it.
    pub fn of_policy<'a>(&'a self, name: &'a str, operation: &'a str) -> Counted<'a> {
        Counted { metrics: self, labels: ["policy", name, operation, "validate"] }
    }
}

impl Counted<'_> {
    /// A webhook was left out. kube-apiserver counts no policies that are, and calls the step `validate` here alone.
    pub fn excluded(&self) {
        let [kind, name, operation, step] = self.labels;
        let step = if step == "validating" { "validate" } else { step };
        self.metrics.exclusions.add(&[kind, name, operation, step]);
    }

    /// Not all hold, for `errors` of them.
    pub(super) fn not_all_hold(&self, errors: usize, took: Duration) {
        (0..errors).for_each(|_| self.metrics.errors.add(&self.labels));
        self.metrics.seconds.observe(&self.labels, took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_under_their_names() {
        let metrics = ConditionMetrics::default();
        let webhook = metrics.of_webhook("a.b.c", "CREATE", "validating");
        webhook.not_all_hold(2, Duration::from_millis(2));
        webhook.excluded();
        metrics.of_policy("p", "UPDATE").not_all_hold(1, Duration::from_secs(1));
        let mut out = Exposition::default();
        metrics.collect(&mut out);
        let text = out.finish();
        for line in [
            "errors_total{kind=\"webhook\",name=\"a.b.c\",operation=\"CREATE\",type=\"validating\"} 2\n",
            "exclusions_total{kind=\"webhook\",name=\"a.b.c\",operation=\"CREATE\",type=\"validate\"} 1\n",
            "seconds_bucket{kind=\"webhook\",name=\"a.b.c\",operation=\"CREATE\",type=\"validating\",le=\"0.005\"} 1\n",
            "errors_total{kind=\"policy\",name=\"p\",operation=\"UPDATE\",type=\"validate\"} 1\n",
            "seconds_count{kind=\"policy\",name=\"p\",operation=\"UPDATE\",type=\"validate\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
