//! What is counted of availability, under kube-aggregator's names.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ringbolt_apiserver::metrics::{Exposition, Family, Kind};

const UNAVAILABLE: Family = Family {
    name: "aggregator_unavailable_apiservice",
    help: "[ALPHA] Whether an APIService is not available, by its name.",
    kind: Kind::Gauge,
};
const TURNED: Family = Family {
    name: "aggregator_unavailable_apiservice_total",
    help: "[ALPHA] How often an APIService became unavailable, by its name and the reason.",
    kind: Kind::Counter,
};

/// Counts by APIService; those of one that is gone go with it.
#[derive(Default)]
pub(crate) struct Counts(Mutex<BTreeMap<String, Count>>);

#[derive(Default)]
struct Count {
    unavailable: bool,
    turned: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An APIService was looked at; `was` is what its condition said before.
    pub(crate) fn note(&self, name: &str, was: bool, is: bool, reason: &'static str) {
        let mut counts = self.counts();
        let count = counts.entry(name.to_owned()).or_default();
        count.unavailable = !is;
        if was && !is {
            *count.turned.entry(reason).or_default() += 1;
        }
    }

    /// It is gone.
    pub(crate) fn forget(&self, name: &str) {
        self.counts().remove(name);
    }

    /// Shows them.
    pub(crate) fn collect(&self, out: &mut Exposition) {
        for (name, count) in &*self.counts() {
            out.sample(&UNAVAILABLE, &[("name", name)], f64::from(u8::from(count.unavailable)));
            for (reason, turned) in &count.turned {
                out.sample(&TURNED, &[("name", name), ("reason", reason)], *turned as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_while_they_are_there() {
        let counts = Counts::default();
        counts.note("v1.a", false, false, "ServiceNotFound");
        counts.note("v1.b", true, false, "MissingEndpoints");
        counts.note("v1.b", false, true, "Passed");
        counts.note("v1.b", true, false, "MissingEndpoints");
        counts.note("v1.c", true, true, "Local");
        let text = || {
            let mut out = Exposition::default();
            counts.collect(&mut out);
            out.finish()
        };
        for line in [
            "aggregator_unavailable_apiservice{name=\"v1.a\"} 1\n",
            "aggregator_unavailable_apiservice{name=\"v1.b\"} 1\n",
            "aggregator_unavailable_apiservice{name=\"v1.c\"} 0\n",
            "aggregator_unavailable_apiservice_total{name=\"v1.b\",reason=\"MissingEndpoints\"} 2\n",
        ] {
            assert!(text().contains(line), "{line} in {}", text());
        }
        assert!(!text().contains("_total{name=\"v1.a\""), "it never was available");
        counts.forget("v1.b");
        assert!(!text().contains("v1.b"));
    }
}
