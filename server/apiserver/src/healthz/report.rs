//! All checks of an endpoint, asked once.

use std::{
    collections::BTreeSet,
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use ringbolt_machinery::field::quote;
use ringbolt_protocol::query;

use super::Installed;
use crate::metrics::{Exposition, Family, Kind};

const HEALTHCHECK: Family = Family {
    name: "kubernetes_healthcheck",
    help: "[STABLE] Whether a health check passed the last time.",
    kind: Kind::Gauge,
};
const HEALTHCHECKS_TOTAL: Family = Family {
    name: "kubernetes_healthchecks_total",
    help: "[STABLE] Results of health checks.",
    kind: Kind::Counter,
};

/// What came of a check so far.
#[derive(Debug, Default)]
pub(super) struct Observed {
    passed: AtomicU64,
    failed: AtomicU64,
    last: AtomicU64,
}

impl Observed {
    fn add(&self, passed: bool) {
        if passed { &self.passed } else { &self.failed }.fetch_add(1, Relaxed);
        self.last.store(u64::from(passed), Relaxed);
    }

    /// Writes it down, once the check was asked at all.
    pub(super) fn collect(&self, out: &mut Exposition, name: &str, endpoint: &str) {
        let (passed, failed) = (self.passed.load(Relaxed), self.failed.load(Relaxed));
        if passed + failed == 0 {
            return;
        }
        out.sample(&HEALTHCHECK, &[("name", name), ("type", endpoint)], self.last.load(Relaxed) as f64);
        for (status, count) in [("success", passed), ("error", failed)] {
            if count > 0 {
                let labels = [("name", name), ("status", status), ("type", endpoint)];
                out.sample(&HEALTHCHECKS_TOTAL, &labels, count as f64);
            }
        }
    }
}

/// What came of asking all checks.
pub(super) struct Report {
    lines: String,
    endpoint: &'static str,
    /// `NAME: why` of each check that failed.
    failed: Vec<String>,
}

impl Report {
    /// Asks all checks but those that the query excludes.
    pub(super) fn make(endpoint: &'static str, checks: &[Installed], query: &str) -> Report {
        let excluded: BTreeSet<String> = query::pairs(query)
            .filter(|(key, _)| key == "exclude")
            .map(|(_, value)| value.into_owned())
            .collect();
        let mut unknown = excluded.clone();
        let mut report = Report { lines: String::new(), endpoint, failed: Vec::new() };
        for installed in checks {
            let name = installed.check.name.as_str();
            if excluded.contains(name) {
                unknown.remove(name);
                let _ = writeln!(report.lines, "[+]{name} excluded: ok");
                continue;
            }
            if let Some(group) = installed.check.group.filter(|group| excluded.contains(*group)) {
                unknown.remove(group);
                let _ = writeln!(report.lines, "[+]{name} excluded with {group}: ok");
                continue;
            }
            let result = installed.result();
            installed.observed.add(result.is_ok());
            match result {
                Ok(()) => {
                    let _ = writeln!(report.lines, "[+]{name} ok");
                }
                Err(why) => {
                    let _ = writeln!(report.lines, "[-]{name} failed: reason withheld");
                    report.failed.push(format!("{name}: {why}"));
                }
            }
        }
        if !unknown.is_empty() {
            let names: Vec<String> = unknown.iter().map(|name| quote(name)).collect();
            let _ = writeln!(
                report.lines,
                "warn: some health checks cannot be excluded: no matches for {}",
                names.join(",")
            );
        }
        report
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.failed.is_empty()
    }

    /// What failed and why, for the log.
    pub(super) fn failures(&self) -> String {
        self.failed.join("; ")
    }

    /// A line a check, then the verdict.
    pub(super) fn verbose(&self) -> String {
        let verdict = if self.is_healthy() { "passed" } else { "failed" };
        format!("{}{} check {verdict}\n", self.lines, self.endpoint)
    }
}
