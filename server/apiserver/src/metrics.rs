//! Metrics under Kubernetes' names. Each core counts for itself in tables of fixed size, without locks and, once a
//! series is there, without allocation; a scrape merges the cores.

mod durations;
mod exposition;
mod families;
mod flow_control;
pub mod impersonation;
mod labelled;
mod labels;
mod process;
mod table;
mod value;
mod watch_events;

use std::{
    sync::{Arc, OnceLock, RwLock},
    time::Duration,
};

pub use self::{
    durations::{Durations, TimedBy},
    exposition::{Exposition, Family, Kind},
    labelled::{LabelledCounter, LabelledHistogram},
    labels::{RequestLabels, scope},
    table::SeriesId,
    watch_events::{Sent, WatchCounter},
};
use self::{
    families::{AUTH_BOUNDS, BODY_SIZE_BOUNDS, DURATION_BOUNDS, RESPONSE_SIZE_BOUNDS},
    impersonation::Impersonations,
    table::Table,
    value::{Counter, Gauge, Histogram, PeakGauge},
};
use crate::{
    flowcontrol::FlowControl,
    limits,
    response::{Outcome, Response, TEXT},
    routes::RouteTableBuilder,
};

/// What counts elsewhere and is asked at each scrape.
pub type Collector = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// Takes group, resource and count of stored objects.
pub type EachResource<'a> = dyn FnMut(&str, &str, u64) + 'a;

/// All metrics of a server.
pub struct Metrics {
    cores: Box<[CoreMetrics]>,
    collectors: RwLock<Vec<Collector>>,
    slis: RwLock<Vec<Collector>>,
    flow_control: OnceLock<Arc<FlowControl>>,
    deprecated: OnceLock<Vec<Deprecated>>,
}

/// A resource that clients are warned of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecated {
    /// API group; empty for core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Resource.
    pub resource: &'static str,
}

/// What one core counts.
struct CoreMetrics {
    requests: Table<8, RequestSeries>,
    bodies: Table<3, Histogram<{ BODY_SIZE_BOUNDS.len() }>>,
    watches: Table<3, WatchCounter>,
    terminated_watchers: Table<2, Counter>,
    init_events: Table<2, Counter>,
    read_only_inflight: PeakGauge,
    mutating_inflight: PeakGauge,
    authentication: [AuthSeries; 3],
    authorization: [AuthSeries; 4],
    impersonations: Impersonations,
    users: [Counter; labels::USERS.len()],
    tls_handshake_errors: Counter,
}

#[derive(Default)]
struct RequestSeries {
    codes: [Counter; CODES.len() + 1],
    terminated: [Counter; CODES.len() + 1],
    duration: Histogram<{ DURATION_BOUNDS.len() }>,
    sizes: Histogram<{ RESPONSE_SIZE_BOUNDS.len() }>,
    long_running: Gauge,
}

#[derive(Default)]
struct AuthSeries {
    attempts: Counter,
    duration: Histogram<{ AUTH_BOUNDS.len() }>,
}

/// Status codes that are told apart; others are counted as 0.
const CODES: [u16; 27] = [
    101, 200, 201, 202, 204, 301, 302, 304, 307, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422,
    429, 500, 502, 503, 504, 507,
];

/// How an attempt to authenticate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Known, anonymous included.
    Success,
    /// Unknown.
    Failure,
    /// Could not be told.
    Error,
}

/// How an attempt to authorize ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// Allowed.
    Allowed,
    /// Denied.
    Denied,
    /// Could not be told.
    Error,
    /// Nobody has an opinion, which denies.
    NoOpinion,
}

impl CoreMetrics {
    fn new() -> Self {
        CoreMetrics {
            requests: Table::new(limits::REQUEST_SERIES),
            bodies: Table::new(limits::RESOURCE_SERIES),
            watches: Table::new(limits::RESOURCE_SERIES),
            terminated_watchers: Table::new(limits::RESOURCE_SERIES),
            init_events: Table::new(limits::RESOURCE_SERIES),
            read_only_inflight: PeakGauge::default(),
            mutating_inflight: PeakGauge::default(),
            authentication: Default::default(),
            authorization: Default::default(),
            impersonations: Impersonations::default(),
            users: Default::default(),
            tls_handshake_errors: Counter::default(),
        }
    }
}

/// Calls name the core they are made on; a core that is not there is taken for the first one.
impl Metrics {
    /// Metrics of a server of so many cores.
    pub fn new(cores: usize) -> Arc<Metrics> {
        Arc::new(Metrics {
            cores: (0..cores.max(1)).map(|_| CoreMetrics::new()).collect(),
            collectors: RwLock::default(),
            slis: RwLock::default(),
            flow_control: OnceLock::new(),
            deprecated: OnceLock::new(),
        })
    }

    /// Asks `collector` at each scrape.
    pub fn register(&self, collector: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.collectors.write().unwrap_or_else(|e| e.into_inner()).push(Box::new(collector));
    }

    /// Asks `collector` at each scrape of `/metrics` and of `/metrics/slis`.
    pub fn register_sli(&self, collector: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.slis.write().unwrap_or_else(|e| e.into_inner()).push(Box::new(collector));
    }

    /// Shows how many objects are stored, as (group, resource, count), and the bytes the store takes on disk.
    pub fn register_storage(
        &self,
        objects: impl Fn(&mut EachResource<'_>) + Send + Sync + 'static,
        size_bytes: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.register(move |out| families::storage(out, &objects, size_bytes()));
    }

    /// Shows what priority and fairness counts.
    pub fn register_flow_control(&self, flow_control: Arc<FlowControl>) {
        // There is one of a server.
        let _ = self.flow_control.set(flow_control);
    }

    /// Says which resources clients are warned of: who was asked for is shown.
    pub fn register_deprecated(&self, resources: Vec<Deprecated>) {
        // They are the same as long as the server runs.
        let _ = self.deprecated.set(resources);
    }

    fn core(&self, core: usize) -> &CoreMetrics {
        self.cores.get(core).unwrap_or(&self.cores[0])
    }

    /// A request was answered. `known` says whether the route table has its resource: a name that only a client
    /// made up becomes no label. `bytes` is the size of the answer's body.
    pub fn observe_request(
        &self,
        core: usize,
        labels: &RequestLabels<'_>,
        known: bool,
        code: u16,
        duration: Duration,
        bytes: u64,
    ) {
        let requests = &self.core(core).requests;
        let series = requests.value(requests.find(labels.values(), known));
        series.codes[code_index(code)].add(1);
        series.duration.observe(&DURATION_BOUNDS, duration.as_nanos() as u64);
        if labels.is_read {
            series.sizes.observe(&RESPONSE_SIZE_BOUNDS, bytes);
        }
    }

    /// A request came with a body, which is handled now; the verb is Kubernetes' own (`create`).
    pub fn observe_body(&self, core: usize, group: &str, resource: &str, verb: &str, bytes: u64) {
        let bodies = &self.core(core).bodies;
        bodies.value(bodies.find([group, resource, verb], true)).observe(&BODY_SIZE_BOUNDS, bytes);
    }

    /// The server gave a request up to protect itself (too many requests, deadline).
    pub fn observe_termination(&self, core: usize, labels: &RequestLabels<'_>, known: bool, code: u16) {
        let requests = &self.core(core).requests;
        requests.value(requests.find(labels.values(), known)).terminated[code_index(code)].add(1);
    }

    /// A long-running request begins; tell [`Metrics::end_long_running`] the same series when it ends.
    pub fn begin_long_running(&self, core: usize, labels: &RequestLabels<'_>, known: bool) -> SeriesId {
        let requests = &self.core(core).requests;
        let series = requests.find(labels.values(), known);
        requests.value(series).long_running.add(1);
        series
    }

    /// A long-running request ended.
    pub fn end_long_running(&self, core: usize, series: SeriesId) {
        self.core(core).requests.value(series).long_running.add(-1);
    }

    /// Requests within the chain on this core, as they are now.
    pub fn set_inflight(&self, core: usize, read_only: u32, mutating: u32) {
        self.set_inflight_at(process::now_seconds(), core, read_only, mutating);
    }

    /// The same, for who knows the second.
    pub fn set_inflight_at(&self, second: u32, core: usize, read_only: u32, mutating: u32) {
        let core = self.core(core);
        core.read_only_inflight.set(second, read_only);
        core.mutating_inflight.set(second, mutating);
    }

    /// What counts the events of a watch on this core.
    pub fn watch_counter(&self, core: usize, group: &str, version: &str, resource: &str) -> WatchCounter {
        let watches = &self.core(core).watches;
        watches.value(watches.find([group, resource, version], true)).clone()
    }

    /// A watcher was cut because it did not keep up.
    pub fn watcher_terminated(&self, core: usize, group: &str, resource: &str) {
        let table = &self.core(core).terminated_watchers;
        table.value(table.find([group, resource], true)).add(1);
    }

    /// A watch began with so many objects that were there already.
    pub fn observe_init_events(&self, core: usize, group: &str, resource: &str, events: u64) {
        let table = &self.core(core).init_events;
        table.value(table.find([group, resource], true)).add(events);
    }

    /// An attempt to authenticate; `user` where it succeeded.
    pub fn observe_authentication(
        &self,
        core: usize,
        result: Authentication,
        user: Option<&str>,
        took: Duration,
    ) {
        let core = self.core(core);
        let series = &core.authentication[result as usize];
        series.attempts.add(1);
        series.duration.observe(&AUTH_BOUNDS, took.as_nanos() as u64);
        if let Some(user) = user {
            core.users[labels::user(user)].add(1);
        }
    }

    /// An attempt to authorize.
    pub fn observe_authorization(&self, core: usize, result: Authorization, took: Duration) {
        let series = &self.core(core).authorization[result as usize];
        series.attempts.add(1);
        series.duration.observe(&AUTH_BOUNDS, took.as_nanos() as u64);
    }

    /// Somebody wanted to be somebody else; `mode` is a place in [`impersonation::MODES`].
    pub fn observe_impersonation(&self, core: usize, mode: usize, is_allowed: bool, took: Duration) {
        self.core(core).impersonations.attempt(mode, is_allowed, took);
    }

    /// The authorizers were asked about that.
    pub fn observe_impersonation_check(&self, core: usize, mode: usize, is_allowed: bool, took: Duration) {
        self.core(core).impersonations.check(mode, is_allowed, took);
    }

    /// A TLS handshake failed.
    pub fn tls_handshake_error(&self, core: usize) {
        self.core(core).tls_handshake_errors.add(1);
    }

    /// Sets all counters and histograms back; gauges stay.
    pub fn reset(&self) {
        for core in &self.cores {
            for series in core.requests.iter() {
                series.value.codes.iter().chain(&series.value.terminated).for_each(Counter::reset);
                series.value.duration.reset();
                series.value.sizes.reset();
            }
            core.bodies.iter().for_each(|series| series.value.reset());
            for series in core.watches.iter() {
                series.value.sizes().reset();
            }
            core.terminated_watchers.iter().chain(core.init_events.iter()).for_each(|s| s.value.reset());
            for series in core.authentication.iter().chain(&core.authorization) {
                series.attempts.reset();
                series.duration.reset();
            }
            core.users.iter().for_each(Counter::reset);
            core.impersonations.reset();
            core.tls_handshake_errors.reset();
        }
        if let Some(flow_control) = self.flow_control.get() {
            flow_control::reset(flow_control);
        }
    }

    /// The text of `/metrics`.
    pub fn render(&self) -> String {
        let mut out = Exposition::default();
        families::render(&self.cores, self.deprecated.get().map_or(&[], Vec::as_slice), &mut out);
        impersonation::render(&self.cores, &mut out);
        process::collect(&mut out);
        if let Some(flow_control) = self.flow_control.get() {
            flow_control::collect(flow_control, &mut out);
        }
        for collectors in [&self.collectors, &self.slis] {
            collectors.read().unwrap_or_else(|e| e.into_inner()).iter().for_each(|collect| collect(&mut out));
        }
        out.finish()
    }

    /// The text of `/metrics/slis`.
    pub fn render_slis(&self) -> String {
        let mut out = Exposition::default();
        self.slis.read().unwrap_or_else(|e| e.into_inner()).iter().for_each(|collect| collect(&mut out));
        out.finish()
    }

    /// Puts `/metrics` and `/metrics/slis` on the route table. DELETE resets when `profiling` is on.
    pub fn install(self: &Arc<Self>, routes: &mut RouteTableBuilder, profiling: bool) {
        let (all, slis) = (self.clone(), self.clone());
        routes.path("/metrics", move |request| {
            if profiling && request.head.method == "DELETE" {
                all.reset();
                return Outcome::Ready(Response::new(200, TEXT, "metrics reset\n"));
            }
            exposition_response(all.render())
        });
        routes.path("/metrics/slis", move |_| exposition_response(slis.render_slis()));
    }
}

fn exposition_response(text: String) -> Outcome {
    let mut response =
        Response::new(200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", text);
    if let Some(started) = process::start_time() {
        response.headers.push(("process-start-time-unix", (started as u64).to_string()));
    }
    Outcome::Ready(response)
}

fn code_index(code: u16) -> usize {
    CODES.binary_search(&code).unwrap_or(CODES.len())
}

#[cfg(test)]
#[path = "metrics/tests.rs"]
mod tests;
