//! What is counted of webhooks, under Kubernetes' names.

use std::time::Duration;

use ringbolt_apiserver::metrics::{
    Exposition, Family, Kind, LabelledCounter, LabelledHistogram, Metrics as ServerMetrics,
};

use crate::limits::SERIES_MAX;

const WEBHOOK_DURATION: Family = Family {
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "[STABLE] How long webhooks take, by name, operation and type (validating or admit).",
    kind: Kind::Histogram,
};
const WEBHOOK_REJECTION: Family = Family {
    name: "apiserver_admission_webhook_rejection_count",
    help: "[ALPHA] Requests that webhooks kept from being carried out, and why.",
    kind: Kind::Counter,
};
const WEBHOOK_FAIL_OPEN: Family = Family {
    name: "apiserver_admission_webhook_fail_open_count",
    help: "[ALPHA] Failed calls to webhooks whose failure is ignored.",
    kind: Kind::Counter,
};
const WEBHOOK_REQUEST: Family = Family {
    name: "apiserver_admission_webhook_request_total",
    help: "[ALPHA] Calls to webhooks, by what came of them.",
    kind: Kind::Counter,
};

const WEBHOOK_BOUNDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];

/// Codes beyond are counted as this one.
const CODE_MAX: u16 = 600;

/// The counts.
pub struct Metrics {
    duration: LabelledHistogram,
    rejection: LabelledCounter,
    fail_open: LabelledCounter,
    request: LabelledCounter,
}

/// Why a webhook kept a request from being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectionKind {
    /// It could not be asked.
    CallingWebhook,
    /// What it said could not be done.
    Internal,
    /// It said so.
    NoError,
}

/// A webhook and what it was asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) operation: &'a str,
    /// `admit` or `validating`.
    pub(crate) step: &'a str,
}

impl Default for Metrics {
    fn default() -> Self {
        let counter = |family, names| LabelledCounter::new(family, names, SERIES_MAX);
        let histogram = |family, names, bounds| LabelledHistogram::new(family, names, bounds, SERIES_MAX);
        Metrics {
            duration: histogram(WEBHOOK_DURATION, &["name", "operation", "rejected", "type"], WEBHOOK_BOUNDS),
            rejection: counter(
                WEBHOOK_REJECTION,
                &["error_type", "name", "operation", "rejection_code", "type"],
            ),
            fail_open: counter(WEBHOOK_FAIL_OPEN, &["name", "type"]),
            request: counter(WEBHOOK_REQUEST, &["code", "name", "operation", "rejected", "type"]),
        }
    }
}

impl Metrics {
    /// Shows them among those of a server.
    pub fn register(self: &std::sync::Arc<Self>, metrics: &ServerMetrics) {
        let shown = self.clone();
        metrics.register(move |out| shown.collect(out));
    }

    fn collect(&self, out: &mut Exposition) {
        self.duration.collect(out);
        self.rejection.collect(out);
        self.fail_open.collect(out);
        self.request.collect(out);
    }

    pub(crate) fn called(&self, asked: Asked<'_>, took: Duration, rejected: bool, code: u16) {
        let Asked { name, operation, step } = asked;
        let code = code.min(CODE_MAX).to_string();
        let rejected = if rejected { "true" } else { "false" };
        self.request.add(&[&code, name, operation, rejected, step]);
        self.duration.observe(&[name, operation, rejected, step], took);
    }

    pub(crate) fn rejected(&self, asked: Asked<'_>, kind: RejectionKind, code: u16) {
        let kind = match kind {
            RejectionKind::CallingWebhook => "calling_webhook_error",
            RejectionKind::Internal => "apiserver_internal_error",
            RejectionKind::NoError => "no_error",
        };
        let code = code.min(CODE_MAX).to_string();
        self.rejection.add(&[kind, asked.name, asked.operation, &code, asked.step]);
    }

    pub(crate) fn failed_open(&self, asked: Asked<'_>) {
        self.fail_open.add(&[asked.name, asked.step]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_under_their_names() {
        let metrics = Metrics::default();
        let asked = Asked { name: "a.b.c", operation: "CREATE", step: "admit" };
        metrics.called(asked, Duration::from_millis(3), true, 777);
        metrics.rejected(asked, RejectionKind::NoError, 777);
        metrics.failed_open(asked);
        let mut out = Exposition::default();
        metrics.collect(&mut out);
        let text = out.finish();
        for line in [
            "apiserver_admission_webhook_request_total{code=\"600\",name=\"a.b.c\",operation=\"CREATE\",rejected=\"true\",type=\"admit\"} 1\n",
            "apiserver_admission_webhook_rejection_count{error_type=\"no_error\",name=\"a.b.c\",operation=\"CREATE\",rejection_code=\"600\",type=\"admit\"} 1\n",
            "apiserver_admission_webhook_fail_open_count{name=\"a.b.c\",type=\"admit\"} 1\n",
            "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.b.c\",operation=\"CREATE\",rejected=\"true\",type=\"admit\",le=\"0.005\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
