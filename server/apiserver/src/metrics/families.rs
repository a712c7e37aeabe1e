//! The families of metrics that the server counts itself, and how cores merge into them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AuthSeries, CODES, CoreMetrics, Deprecated, EachResource,
    exposition::{Bounds, Exposition, Family, Kind},
    labels::USERS,
    process::now_seconds,
    table::Table,
    value::{Counter, HistogramSnapshot},
    watch_events::EVENT_SIZE_BOUNDS,
};
use crate::version;

/// Bounds of `apiserver_request_duration_seconds`, in nanoseconds.
pub(super) const DURATION_BOUNDS: [u64; 23] = nanos([
    5, 25, 50, 100, 200, 400, 600, 800, 1_000, 1_250, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000,
    10_000, 15_000, 20_000, 30_000, 45_000, 60_000,
]);
/// Bounds of `apiserver_request_body_size_bytes`, in bytes: up to the largest body that is taken.
pub(super) const BODY_SIZE_BOUNDS: [u64; 31] = {
    let mut bounds = [50_000; 31];
    let mut at = 1;
    while at < bounds.len() {
        bounds[at] = bounds[at - 1] + 100_000;
        at += 1;
    }
    bounds
};
/// Bounds of `apiserver_response_sizes`, in bytes.
pub(super) const RESPONSE_SIZE_BOUNDS: [u64; 7] =
    [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// Bounds of `authentication_duration_seconds` and `authorization_duration_seconds`, in nanoseconds.
pub(super) const AUTH_BOUNDS: [u64; 13] = nanos([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096]);

const fn nanos<const N: usize>(mut millis: [u64; N]) -> [u64; N] {
    let mut i = 0;
    while i < N {
        millis[i] *= 1_000_000;
        i += 1;
    }
    millis
}

/// What a second has of the unit that durations are counted in.
const SECOND: f64 = 1e9;

const REQUEST_LABELS: [&str; 8] =
    ["component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"];

const fn family(name: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, help, kind }
}

const REQUEST_TOTAL: Family = family(
    "apiserver_request_total",
    "[STABLE] Answered requests by verb, dry run, group, version, resource, subresource, scope, component and code.",
    Kind::Counter,
);
const REQUEST_DURATION: Family = family(
    "apiserver_request_duration_seconds",
    "[STABLE] Seconds from a request's head to the end of its answer.",
    Kind::Histogram,
);
const REQUEST_SLI_DURATION: Family = family(
    "apiserver_request_sli_duration_seconds",
    "[ALPHA] As apiserver_request_duration_seconds, without waits in queues and for webhooks.",
    Kind::Histogram,
);
const RESPONSE_SIZES: Family =
    family("apiserver_response_sizes", "[STABLE] Bytes of the answers to reads.", Kind::Histogram);
const LONG_RUNNING: Family =
    family("apiserver_longrunning_requests", "[STABLE] Long-running requests that are open.", Kind::Gauge);
const TERMINATIONS: Family = family(
    "apiserver_request_terminations_total",
    "[ALPHA] Requests the server gave up to protect itself.",
    Kind::Counter,
);
const INFLIGHT: Family = family(
    "apiserver_current_inflight_requests",
    "[STABLE] Most requests in flight at once within the last second, by kind.",
    Kind::Gauge,
);
const WATCH_EVENTS: Family =
    family("apiserver_watch_events_total", "[BETA] Events sent to watches.", Kind::Counter);
const WATCH_EVENT_SIZES: Family =
    family("apiserver_watch_events_sizes", "[BETA] Bytes of the events sent to watches.", Kind::Histogram);
const TERMINATED_WATCHERS: Family = family(
    "apiserver_terminated_watchers_total",
    "[ALPHA] Watchers cut because they did not keep up.",
    Kind::Counter,
);
const INIT_EVENTS: Family = family(
    "apiserver_init_events_total",
    "[ALPHA] Objects that were there when a watch began and were sent first.",
    Kind::Counter,
);
const AUTHENTICATION_ATTEMPTS: Family =
    family("authentication_attempts", "[ALPHA] Attempts to authenticate by result.", Kind::Counter);
const AUTHENTICATION_DURATION: Family = family(
    "authentication_duration_seconds",
    "[ALPHA] Seconds that authentication took, by result.",
    Kind::Histogram,
);
const AUTHENTICATED_USERS: Family = family(
    "authenticated_user_requests",
    "[ALPHA] Authenticated requests by user, most users under one name.",
    Kind::Counter,
);
const AUTHORIZATION_ATTEMPTS: Family =
    family("authorization_attempts_total", "[ALPHA] Attempts to authorize by result.", Kind::Counter);
const AUTHORIZATION_DURATION: Family = family(
    "authorization_duration_seconds",
    "[ALPHA] Seconds that authorization took, by result.",
    Kind::Histogram,
);
const TLS_HANDSHAKE_ERRORS: Family =
    family("apiserver_tls_handshake_errors_total", "[ALPHA] TLS handshakes that failed.", Kind::Counter);
const BUILD_INFO: Family =
    family("kubernetes_build_info", "[BETA] Always 1; its labels tell the release.", Kind::Gauge);
const VERSION_INFO: Family = family(
    "version_info",
    "[ALPHA] Always 1; its labels tell which release the server is and behaves as.",
    Kind::Gauge,
);
const RESOURCE_OBJECTS: Family =
    family("apiserver_resource_objects", "[ALPHA] Stored objects by group and resource.", Kind::Gauge);
const STORAGE_SIZE: Family =
    family("apiserver_storage_size_bytes", "[STABLE] Bytes the store takes on disk.", Kind::Gauge);

const BODY_SIZES: Family = family(
    "apiserver_request_body_size_bytes",
    "[ALPHA] Bytes of the bodies of requests by resource and verb.",
    Kind::Histogram,
);
const DEPRECATED_APIS: Family = family(
    "apiserver_requested_deprecated_apis",
    "[STABLE] 1 for each deprecated API that was asked for.",
    Kind::Gauge,
);

/// A request series merged over the cores.
#[derive(Default)]
struct Merged {
    codes: [u64; CODES.len() + 1],
    terminated: [u64; CODES.len() + 1],
    duration: HistogramSnapshot<{ DURATION_BOUNDS.len() }>,
    sizes: HistogramSnapshot<{ RESPONSE_SIZE_BOUNDS.len() }>,
    long_running: i64,
}

/// Writes everything the cores counted.
pub(super) fn render(cores: &[CoreMetrics], deprecated: &[Deprecated], out: &mut Exposition) {
    requests(cores, deprecated, out);
    bodies(cores, out);
    watches(cores, out);
    by_resource(cores, out, &TERMINATED_WATCHERS, |core| &core.terminated_watchers);
    by_resource(cores, out, &INIT_EVENTS, |core| &core.init_events);
    let second = now_seconds();
    let peak = |of: fn(&CoreMetrics) -> &super::value::PeakGauge| {
        cores.iter().map(|core| of(core).get(second)).sum::<u64>() as f64
    };
    out.sample(&INFLIGHT, &[("request_kind", "readOnly")], peak(|core| &core.read_only_inflight));
    out.sample(&INFLIGHT, &[("request_kind", "mutating")], peak(|core| &core.mutating_inflight));
    for (at, result) in ["success", "failure", "error"].into_iter().enumerate() {
        let of = |core: usize| &cores[core].authentication[at];
        attempts(cores.len(), out, (&AUTHENTICATION_ATTEMPTS, &AUTHENTICATION_DURATION), result, of);
    }
    for (at, result) in ["allowed", "denied", "error", "no-opinion"].into_iter().enumerate() {
        let of = |core: usize| &cores[core].authorization[at];
        attempts(cores.len(), out, (&AUTHORIZATION_ATTEMPTS, &AUTHORIZATION_DURATION), result, of);
    }
    out.family(&AUTHENTICATED_USERS);
    for (at, user) in USERS.into_iter().enumerate() {
        let count: u64 = cores.iter().map(|core| core.users[at].get()).sum();
        if count > 0 {
            out.sample(&AUTHENTICATED_USERS, &[("username", user)], count as f64);
        }
    }
    let errors: u64 = cores.iter().map(|core| core.tls_handshake_errors.get()).sum();
    out.sample(&TLS_HANDSHAKE_ERRORS, &[], errors as f64);
    let build = [
        ("build_date", version::BUILD_DATE),
        ("compiler", version::COMPILER),
        ("git_commit", ""),
        ("git_tree_state", ""),
        ("git_version", version::GIT_VERSION),
        ("go_version", &version::language_version()),
        ("major", version::MAJOR),
        ("minor", version::MINOR),
        ("platform", &version::platform()),
    ];
    out.sample(&BUILD_INFO, &build, 1.0);
    let versions = [
        ("binary", version::GIT_VERSION.trim_start_matches('v').split('+').next().unwrap_or_default()),
        ("component", "kube"),
        ("emulation", &format!("{}.{}", version::MAJOR, version::MINOR)),
        ("min_compat", &format!("{}.{}", version::MAJOR, version::MIN_COMPATIBILITY_MINOR)),
    ];
    out.sample(&VERSION_INFO, &versions, 1.0);
}

fn requests(cores: &[CoreMetrics], deprecated: &[Deprecated], out: &mut Exposition) {
    let mut merged: BTreeMap<[&str; 8], Merged> = BTreeMap::new();
    for series in cores.iter().flat_map(|core| core.requests.iter()) {
        let total = merged.entry(series.labels.each_ref().map(|l| &**l)).or_default();
        let add = |totals: &mut [u64], counters: &[Counter]| {
            totals.iter_mut().zip(counters).for_each(|(total, n)| *total += n.get());
        };
        add(&mut total.codes, &series.value.codes);
        add(&mut total.terminated, &series.value.terminated);
        series.value.duration.add_to(&mut total.duration);
        series.value.sizes.add_to(&mut total.sizes);
        total.long_running += series.value.long_running.get();
    }
    for family in [
        &REQUEST_TOTAL,
        &REQUEST_DURATION,
        &REQUEST_SLI_DURATION,
        &RESPONSE_SIZES,
        &LONG_RUNNING,
        &TERMINATIONS,
        &DEPRECATED_APIS,
    ] {
        out.family(family);
    }
    let durations = DURATION_BOUNDS.map(|n| n as f64 / SECOND);
    let durations = Bounds { labels: &durations, scale: SECOND };
    let sizes = RESPONSE_SIZE_BOUNDS.map(|n| n as f64);
    let sizes = Bounds { labels: &sizes, scale: 1.0 };
    let mut asked: BTreeSet<[&str; 4]> = BTreeSet::new();
    for (values, total) in &merged {
        let [_, _, group, resource, _, subresource, _, version] = *values;
        if deprecated.iter().any(|d| (d.group, d.version, d.resource) == (group, version, resource))
            && (total.long_running > 0 || total.codes.iter().any(|count| *count > 0))
        {
            asked.insert([group, resource, subresource, version]);
        }
        let all: [(&str, &str); 8] = std::array::from_fn(|i| (REQUEST_LABELS[i], values[i]));
        let but_dry_run: [(&str, &str); 7] = std::array::from_fn(|i| all[if i < 1 { 0 } else { i + 1 }]);
        let with_code = |out: &mut Exposition, family: &Family, labels: &[(&str, &str)], counts: &[u64]| {
            for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let code = CODES.get(at).copied().unwrap_or(0).to_string();
                let mut labels = labels.to_vec();
                labels.insert(0, ("code", &code));
                out.sample(family, &labels, *count as f64);
            }
        };
        with_code(out, &REQUEST_TOTAL, &all, &total.codes);
        with_code(out, &TERMINATIONS, &but_dry_run, &total.terminated);
        if total.duration.count() > 0 {
            out.histogram(&REQUEST_DURATION, &all, durations, &total.duration);
            // Dry runs are no part of the indicator; nothing else waits yet.
            if values[1].is_empty() {
                sli_duration(out, &but_dry_run, &total.duration);
            }
        }
        if total.sizes.count() > 0 {
            out.histogram(&RESPONSE_SIZES, &but_dry_run, sizes, &total.sizes);
        }
        if total.long_running != 0 {
            out.sample(&LONG_RUNNING, &but_dry_run, total.long_running as f64);
        }
    }
    for [group, resource, subresource, version] in asked {
        let labels = [
            ("group", group),
            // What is deprecated in this release is to stay.
            ("removed_release", ""),
            ("resource", resource),
            ("subresource", subresource),
            ("version", version),
        ];
        out.sample(&DEPRECATED_APIS, &labels, 1.0);
    }
}

fn bodies(cores: &[CoreMetrics], out: &mut Exposition) {
    let mut merged: BTreeMap<[&str; 3], HistogramSnapshot<{ BODY_SIZE_BOUNDS.len() }>> = BTreeMap::new();
    for series in cores.iter().flat_map(|core| core.bodies.iter()) {
        series.value.add_to(merged.entry(series.labels.each_ref().map(|l| &**l)).or_default());
    }
    out.family(&BODY_SIZES);
    let bounds = BODY_SIZE_BOUNDS.map(|n| n as f64);
    for ([group, resource, verb], sizes) in merged.iter().filter(|(_, sizes)| sizes.count() > 0) {
        let labels = [("group", *group), ("resource", *resource), ("verb", *verb)];
        out.histogram(&BODY_SIZES, &labels, Bounds { labels: &bounds, scale: 1.0 }, sizes);
    }
}

/// The same values with the two lowest bounds left out.
fn sli_duration(
    out: &mut Exposition,
    labels: &[(&str, &str)],
    duration: &HistogramSnapshot<{ DURATION_BOUNDS.len() }>,
) {
    const SKIPPED: usize = 2;
    let mut coarse = HistogramSnapshot::<{ DURATION_BOUNDS.len() - SKIPPED }>::default();
    coarse.buckets.copy_from_slice(&duration.buckets[SKIPPED..]);
    coarse.buckets[0] += duration.buckets[..SKIPPED].iter().sum::<u64>();
    (coarse.beyond, coarse.sum) = (duration.beyond, duration.sum);
    let bounds = DURATION_BOUNDS.map(|n| n as f64 / SECOND);
    out.histogram(
        &REQUEST_SLI_DURATION,
        labels,
        Bounds { labels: &bounds[SKIPPED..], scale: SECOND },
        &coarse,
    );
}

fn watches(cores: &[CoreMetrics], out: &mut Exposition) {
    let mut merged: BTreeMap<[&str; 3], HistogramSnapshot<{ EVENT_SIZE_BOUNDS.len() }>> = BTreeMap::new();
    for series in cores.iter().flat_map(|core| core.watches.iter()) {
        series.value.sizes().add_to(merged.entry(series.labels.each_ref().map(|l| &**l)).or_default());
    }
    out.family(&WATCH_EVENTS);
    out.family(&WATCH_EVENT_SIZES);
    let bounds = EVENT_SIZE_BOUNDS.map(|n| n as f64);
    for ([group, resource, version], sizes) in merged.iter().filter(|(_, sizes)| sizes.count() > 0) {
        let labels = [("group", *group), ("resource", *resource), ("version", *version)];
        out.sample(&WATCH_EVENTS, &labels, sizes.count() as f64);
        out.histogram(&WATCH_EVENT_SIZES, &labels, Bounds { labels: &bounds, scale: 1.0 }, sizes);
    }
}

fn by_resource(
    cores: &[CoreMetrics],
    out: &mut Exposition,
    family: &Family,
    of: fn(&CoreMetrics) -> &Table<2, Counter>,
) {
    let mut merged: BTreeMap<[&str; 2], u64> = BTreeMap::new();
    for series in cores.iter().flat_map(|core| of(core).iter()) {
        *merged.entry(series.labels.each_ref().map(|l| &**l)).or_default() += series.value.get();
    }
    out.family(family);
    for ([group, resource], count) in merged.into_iter().filter(|(_, count)| *count > 0) {
        out.sample(family, &[("group", group), ("resource", resource)], count as f64);
    }
}

fn attempts<'c>(
    cores: usize,
    out: &mut Exposition,
    (total, duration): (&Family, &Family),
    result: &str,
    of: impl Fn(usize) -> &'c AuthSeries,
) {
    let mut snapshot = HistogramSnapshot::default();
    let mut count = 0;
    for core in 0..cores {
        count += of(core).attempts.get();
        of(core).duration.add_to(&mut snapshot);
    }
    out.family(total);
    out.family(duration);
    if count > 0 {
        let bounds = AUTH_BOUNDS.map(|n| n as f64 / SECOND);
        out.sample(total, &[("result", result)], count as f64);
        out.histogram(duration, &[("result", result)], Bounds { labels: &bounds, scale: SECOND }, &snapshot);
    }
}

/// Writes what the store tells.
pub(super) fn storage(out: &mut Exposition, objects: &dyn Fn(&mut EachResource<'_>), size_bytes: u64) {
    objects(&mut |group, resource, count| {
        out.sample(&RESOURCE_OBJECTS, &[("group", group), ("resource", resource)], count as f64);
    });
    out.sample(&STORAGE_SIZE, &[("storage_cluster_id", "embedded")], size_bytes as f64);
}
