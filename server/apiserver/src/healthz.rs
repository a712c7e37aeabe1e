//! `/healthz`, `/livez`, `/readyz`: named checks, each with a path of its own.

mod check;
mod report;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ringbolt_protocol::query;

pub use self::check::{Check, Done};
use self::report::{Observed, Report};
use crate::{
    metrics::Metrics,
    response::{Outcome, Response, TEXT},
    response_writers,
    routes::RouteTableBuilder,
};

/// The checks of the three endpoints, each in the order it was added.
#[derive(Default)]
pub struct HealthChecks {
    healthz: Vec<Installed>,
    livez: Vec<Installed>,
    readyz: Vec<Installed>,
}

/// A check on one endpoint.
#[derive(Clone)]
struct Installed {
    check: Arc<Check>,
    /// Until then it passes without being asked.
    from: Option<Instant>,
    observed: Arc<Observed>,
}

impl Installed {
    fn new(check: &Arc<Check>, from: Option<Instant>) -> Self {
        Installed { check: check.clone(), from, observed: Arc::default() }
    }

    fn result(&self) -> Result<(), String> {
        if self.from.is_some_and(|from| Instant::now() < from) { Ok(()) } else { self.check.result() }
    }
}

impl HealthChecks {
    /// No checks.
    pub fn new() -> Self {
        HealthChecks::default()
    }

    /// Adds a check to all three.
    pub fn add(&mut self, check: Check) -> &mut Self {
        self.add_boot_sequence(check, Duration::ZERO)
    }

    /// Adds a check of the start to all three; `/livez` passes it for `livez_grace_period`.
    pub fn add_boot_sequence(&mut self, check: Check, livez_grace_period: Duration) -> &mut Self {
        let check = Arc::new(check);
        let from = (!livez_grace_period.is_zero()).then(|| Instant::now() + livez_grace_period);
        self.healthz.push(Installed::new(&check, None));
        self.livez.push(Installed::new(&check, from));
        self.readyz.push(Installed::new(&check, None));
        self
    }

    /// Adds a check to `/healthz`.
    pub fn add_healthz(&mut self, check: Check) -> &mut Self {
        self.healthz.push(Installed::new(&Arc::new(check), None));
        self
    }

    /// Adds a check to `/livez`.
    pub fn add_livez(&mut self, check: Check) -> &mut Self {
        self.livez.push(Installed::new(&Arc::new(check), None));
        self
    }

    /// Adds a check to `/readyz`.
    pub fn add_readyz(&mut self, check: Check) -> &mut Self {
        self.readyz.push(Installed::new(&Arc::new(check), None));
        self
    }

    /// Names of an endpoint's checks, in order.
    #[cfg(test)]
    pub(crate) fn names(&self, endpoint: &str) -> Vec<&str> {
        let checks = match endpoint {
            "healthz" => &self.healthz,
            "livez" => &self.livez,
            _ => &self.readyz,
        };
        checks.iter().map(|installed| installed.check.name.as_str()).collect()
    }

    /// Puts the endpoints and the path of every check on the route table, and their results among the metrics.
    /// `first_ready` is called the first time that `/readyz` passes.
    pub fn install(
        self,
        routes: &mut RouteTableBuilder,
        metrics: &Metrics,
        first_ready: impl Fn() + Send + Sync + 'static,
    ) {
        install(routes, metrics, "healthz", self.healthz, || {});
        install(routes, metrics, "livez", self.livez, || {});
        install(routes, metrics, "readyz", self.readyz, first_ready);
    }
}

fn install(
    routes: &mut RouteTableBuilder,
    metrics: &Metrics,
    endpoint: &'static str,
    checks: Vec<Installed>,
    first_healthy: impl Fn() + Send + Sync + 'static,
) {
    for installed in &checks {
        let installed = installed.clone();
        routes.path(format!("/{endpoint}/{}", installed.check.name), move |_| serve_one(&installed));
    }
    let observed: Vec<_> =
        checks.iter().map(|installed| (installed.check.clone(), installed.observed.clone())).collect();
    metrics.register_sli(move |out| {
        for (check, observed) in &observed {
            observed.collect(out, &check.name, endpoint);
        }
    });
    let was_healthy = AtomicBool::new(false);
    routes.path(format!("/{endpoint}"), move |request| {
        let report = Report::make(endpoint, &checks, request.head.query());
        if report.is_healthy() && !was_healthy.swap(true, Relaxed) {
            first_healthy();
        }
        serve_all(request.head.query(), &report, was_healthy.load(Relaxed))
    });
}

/// All checks of an endpoint.
fn serve_all(query: &str, report: &Report, was_healthy: bool) -> Outcome {
    if !report.is_healthy() {
        // Why is for the log; the path is open to everyone. While the server starts it is no news.
        if was_healthy {
            tracing::warn!(failed = report.failures(), "health check failed");
        } else {
            tracing::debug!(failed = report.failures(), "not healthy yet");
        }
        return Outcome::Ready(response_writers::plain_error(500, report.verbose().trim_end()));
    }
    let verbose = query::get(query, "verbose").is_some();
    let mut response =
        if verbose { Response::new(200, TEXT, report.verbose()) } else { Response::new(200, TEXT, "ok") };
    response.headers.push(("x-content-type-options", "nosniff".to_owned()));
    Outcome::Ready(response)
}

/// One check, by its own path, which tells why it failed.
fn serve_one(installed: &Installed) -> Outcome {
    Outcome::Ready(match installed.result() {
        Ok(()) => Response::new(200, TEXT, "ok"),
        Err(why) => response_writers::plain_error(500, &format!("internal server error: {why}")),
    })
}

#[cfg(test)]
#[path = "healthz/tests.rs"]
mod tests;
