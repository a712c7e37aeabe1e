//! Counts of what policies decided: `apiserver_validating_admission_policy_*` and
//! `apiserver_mutating_admission_policy_*`.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ringbolt_apiserver::metrics::{Exposition, Family, Kind};

use crate::limits::POLICY_SERIES_MAX;

const VALIDATING: [Family; 2] = [
    Family {
        name: "apiserver_validating_admission_policy_check_total",
        help: "[BETA] Checks of validating admission policies, by policy, binding, what went wrong, and what came of it.",
        kind: Kind::Counter,
    },
    Family {
        name: "apiserver_validating_admission_policy_check_duration_seconds",
        help: "[BETA] What single expressions of validating admission policies took.",
        kind: Kind::Histogram,
    },
];
const MUTATING: [Family; 2] = [
    Family {
        name: "apiserver_mutating_admission_policy_check_total",
        help: "[ALPHA] Checks of mutating admission policies, by policy, binding, and what went wrong.",
        kind: Kind::Counter,
    },
    Family {
        name: "apiserver_mutating_admission_policy_check_duration_seconds",
        help: "[ALPHA] What single expressions of mutating admission policies took.",
        kind: Kind::Histogram,
    },
];
/// Upper bounds of durations, in seconds.
const BOUNDS: [f64; 5] = [0.000_000_5, 0.001, 0.01, 0.1, 1.0];

/// What went wrong with a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ErrorType {
    None,
    Compile,
    Invalid,
    OutOfBudget,
}

impl ErrorType {
    /// By the text that was told.
    pub(super) fn of(message: &str) -> ErrorType {
        if message.starts_with("compilation") {
            ErrorType::Compile
        } else if message.starts_with("validation failed due to running out of cost budget") {
            ErrorType::OutOfBudget
        } else {
            ErrorType::Invalid
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            ErrorType::None => "no_error",
            ErrorType::Compile => "compile_error",
            ErrorType::Invalid => "invalid_error",
            ErrorType::OutOfBudget => "out_of_budget",
        }
    }
}

/// One series: policy, binding, what went wrong, what came of it (nothing for mutations).
type Series = (Box<str>, Box<str>, ErrorType, &'static str);

#[derive(Clone, Copy, Default)]
struct Counted {
    count: u64,
    seconds: f64,
    buckets: [u64; BOUNDS.len()],
}

/// The counts. Only writes that policies are about come here.
#[derive(Default)]
pub(super) struct Counters {
    validating: Mutex<BTreeMap<Series, Counted>>,
    mutating: Mutex<BTreeMap<Series, Counted>>,
}

impl Counters {
    /// A validation was checked; `action` is what came of it.
    pub(super) fn validated(
        &self,
        policy: &str,
        binding: &str,
        error: ErrorType,
        action: &'static str,
        took: Duration,
    ) {
        count(&self.validating, (policy.into(), binding.into(), error, action), took);
    }

    /// A mutation was made, or not.
    pub(super) fn mutated(&self, policy: &str, binding: &str, error: ErrorType, took: Duration) {
        count(&self.mutating, (policy.into(), binding.into(), error, ""), took);
    }

    /// Shows them.
    pub(super) fn show(&self, out: &mut Exposition) {
        for (families, series) in [(&VALIDATING, &self.validating), (&MUTATING, &self.mutating)] {
            let series = series.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for ((policy, binding, error, action), counted) in &series {
                let mut labels =
                    vec![("error_type", error.as_str()), ("policy", policy), ("policy_binding", binding)];
                if !action.is_empty() {
                    labels.insert(0, ("enforcement_action", action));
                }
                out.sample(&families[0], &labels, counted.count as f64);
                let bounds = (&BOUNDS[..], &counted.buckets[..]);
                out.counted(&families[1], &labels, bounds, counted.count, counted.seconds);
            }
        }
    }
}

fn count(all: &Mutex<BTreeMap<Series, Counted>>, series: Series, took: Duration) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= POLICY_SERIES_MAX && !all.contains_key(&series) {
        return;
    }
    let counted = all.entry(series).or_default();
    counted.count += 1;
    counted.seconds += took.as_secs_f64();
    if let Some(at) = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound) {
        counted.buckets[at] += 1;
    }
}
