//! Counts of what was decided: `pod_security_evaluations_total`, `pod_security_exemptions_total` and
//! `pod_security_errors_total`. Every series has its place, so a count is one addition.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringbolt_apiserver::{
    admission::{Attributes, Operation},
    metrics::{Exposition, Family, Kind},
};

use super::{
    checks::NEWEST,
    policy::{Level, LevelVersion, Mode, Version},
};

const EVALUATIONS: Family = Family {
    name: "pod_security_evaluations_total",
    help: "[ALPHA] Pods and templates that were held against a policy, without those that are exempt.",
    kind: Kind::Counter,
};
const EXEMPTIONS: Family = Family {
    name: "pod_security_exemptions_total",
    help: "[ALPHA] Requests that no policy is for.",
    kind: Kind::Counter,
};
const ERRORS: Family = Family {
    name: "pod_security_errors_total",
    help: "[ALPHA] Policies that could not be read; the strictest stands in their place where pods are refused.",
    kind: Kind::Counter,
};

/// The outcomes that are counted, with their labels: of audits and warnings only what is wrong.
const OUTCOMES: [(&str, Mode); 4] =
    [("allow", Mode::Enforce), ("deny", Mode::Enforce), ("deny", Mode::Audit), ("deny", Mode::Warn)];
/// Every version up to the newest, then `latest`, then all that is still to come.
const VERSIONS: usize = NEWEST as usize + 3;
const OPERATIONS: [&str; 2] = ["create", "update"];
/// What requests are about, as labels say it: resource and subresource.
const TARGETS: [(&str, &str); 4] =
    [("pod", ""), ("pod", "ephemeralcontainers"), ("pod", "resize"), ("controller", "")];
/// Series of requests alone.
const REQUESTS: usize = OPERATIONS.len() * TARGETS.len();

/// The counts.
pub(super) struct Counters {
    evaluations: Box<[AtomicU64]>,
    exemptions: [AtomicU64; REQUESTS],
    /// Those after which evaluation went on, then those that ended it.
    errors: [[AtomicU64; REQUESTS]; 2],
}

impl Counters {
    pub(super) fn new() -> Self {
        let series = OUTCOMES.len() * Level::ALL.len() * VERSIONS * REQUESTS;
        Counters {
            evaluations: (0..series).map(|_| AtomicU64::new(0)).collect(),
            exemptions: Default::default(),
            errors: Default::default(),
        }
    }

    /// A pod was held against a policy.
    pub(super) fn evaluated(
        &self,
        attributes: &Attributes<'_>,
        mode: Mode,
        asked: LevelVersion,
        passed: bool,
    ) {
        let decision = if passed { "allow" } else { "deny" };
        let Some(outcome) = OUTCOMES.iter().position(|o| *o == (decision, mode)) else { return };
        let at = (outcome * Level::ALL.len() + asked.level as usize) * VERSIONS + version(asked);
        self.evaluations[at * REQUESTS + request(attributes)].fetch_add(1, Relaxed);
    }

    /// No policy was for a request.
    pub(super) fn exempted(&self, attributes: &Attributes<'_>) {
        self.exemptions[request(attributes)].fetch_add(1, Relaxed);
    }

    /// A policy could not be read.
    pub(super) fn failed(&self, attributes: &Attributes<'_>, fatal: bool) {
        self.errors[usize::from(fatal)][request(attributes)].fetch_add(1, Relaxed);
    }

    /// Shows them.
    pub(super) fn show(&self, out: &mut Exposition) {
        out.family(&EVALUATIONS);
        for (at, count) in self.evaluations.iter().enumerate() {
            let count = count.load(Relaxed);
            let (series, of_request) = (at / REQUESTS, at % REQUESTS);
            let (rest, version) = (series / VERSIONS, series % VERSIONS);
            let (outcome, level) = (rest / Level::ALL.len(), Level::ALL[rest % Level::ALL.len()]);
            let (operation, resource, subresource) = labels(of_request);
            // Two are there from the beginning.
            let usual = outcome == 0 && level == Level::Privileged && version == LATEST;
            if count == 0 && !(usual && (resource, subresource) == TARGETS[0]) {
                continue;
            }
            let version = match version {
                LATEST => "latest".to_owned(),
                FUTURE => "future".to_owned(),
                minor => format!("v1.{minor}"),
            };
            let labels = [
                ("decision", OUTCOMES[outcome].0),
                ("mode", OUTCOMES[outcome].1.name()),
                ("policy_level", level.name()),
                ("policy_version", &version),
                ("request_operation", operation),
                ("resource", resource),
                ("subresource", subresource),
            ];
            out.sample(&EVALUATIONS, &labels, count as f64);
        }
        out.family(&EXEMPTIONS);
        for (at, count) in self.exemptions.iter().enumerate() {
            let (count, (operation, resource, subresource)) = (count.load(Relaxed), labels(at));
            if count > 0 || subresource.is_empty() {
                let labels =
                    [("request_operation", operation), ("resource", resource), ("subresource", subresource)];
                out.sample(&EXEMPTIONS, &labels, count as f64);
            }
        }
        for (fatal, counts) in ["false", "true"].into_iter().zip(&self.errors) {
            for (at, count) in counts.iter().enumerate() {
                let (count, (operation, resource, subresource)) = (count.load(Relaxed), labels(at));
                if count > 0 {
                    let labels = [
                        ("fatal", fatal),
                        ("request_operation", operation),
                        ("resource", resource),
                        ("subresource", subresource),
                    ];
                    out.sample(&ERRORS, &labels, count as f64);
                }
            }
        }
    }
}

const LATEST: usize = NEWEST as usize + 1;
const FUTURE: usize = NEWEST as usize + 2;

/// The place of a version. What asks nothing is the same in all of them.
fn version(asked: LevelVersion) -> usize {
    match asked.version {
        Version::Latest => LATEST,
        Version::Minor(_) if asked.level == Level::Privileged => LATEST,
        Version::Minor(minor) if minor > NEWEST => FUTURE,
        Version::Minor(minor) => minor as usize,
    }
}

/// The place of a request.
fn request(attributes: &Attributes<'_>) -> usize {
    let facts = attributes.served.facts;
    let resource = if facts.resource == "pods" { "pod" } else { "controller" };
    let target = TARGETS.iter().position(|target| *target == (resource, attributes.subresource));
    let operation = usize::from(attributes.operation == Operation::Update);
    operation * TARGETS.len() + target.unwrap_or(0)
}

/// The labels of a place: operation, resource, subresource.
fn labels(request: usize) -> (&'static str, &'static str, &'static str) {
    let (resource, subresource) = TARGETS[request % TARGETS.len()];
    (OPERATIONS[request / TARGETS.len()], resource, subresource)
}
