//! What was handed out to services, and how much is left.

use std::time::Duration;

use ringbolt_apiserver::metrics::{Exposition, Family, Kind, LabelledCounter, LabelledHistogram};

use super::{account::Account, range::AddressRange};
use crate::limits::ALLOCATOR_SERIES_MAX;

const fn family(name: &'static str, help: &'static str, kind: Kind) -> Family {
    Family { name, help, kind }
}

const ALLOCATED_IPS: Family = family(
    "kube_apiserver_clusterip_allocator_allocated_ips",
    "[ALPHA] Addresses of a range that services have.",
    Kind::Gauge,
);
const AVAILABLE_IPS: Family = family(
    "kube_apiserver_clusterip_allocator_available_ips",
    "[ALPHA] Addresses of a range that no service has.",
    Kind::Gauge,
);
const IPS: Family = family(
    "kube_apiserver_clusterip_allocator_allocation_total",
    "[ALPHA] Addresses handed out, of the server's choice (dynamic) or the client's (static).",
    Kind::Counter,
);
const IP_ERRORS: Family = family(
    "kube_apiserver_clusterip_allocator_allocation_errors_total",
    "[ALPHA] Addresses that could not be handed out.",
    Kind::Counter,
);
const IP_DURATION: Family = family(
    "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
    "[ALPHA] Seconds that handing out an address took.",
    Kind::Histogram,
);
const ALLOCATED_PORTS: Family = family(
    "kube_apiserver_nodeport_allocator_allocated_ports",
    "[ALPHA] Ports of nodes that services have.",
    Kind::Gauge,
);
const AVAILABLE_PORTS: Family = family(
    "kube_apiserver_nodeport_allocator_available_ports",
    "[ALPHA] Ports of nodes that no service has.",
    Kind::Gauge,
);
const PORTS: Family = family(
    "kube_apiserver_nodeport_allocator_allocation_total",
    "[ALPHA] Ports of nodes handed out, of the server's choice (dynamic) or the client's (static).",
    Kind::Counter,
);
const PORT_ERRORS: Family = family(
    "kube_apiserver_nodeport_allocator_allocation_errors_total",
    "[ALPHA] Ports of nodes that could not be handed out.",
    Kind::Counter,
);
/// Bounds of Prometheus' histograms where nobody chose others.
const BOUNDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Whose choice something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The server's.
    Dynamic,
    /// The client's.
    Static,
}

impl Scope {
    fn as_str(self) -> &'static str {
        match self {
            Scope::Dynamic => "dynamic",
            Scope::Static => "static",
        }
    }
}

/// Counts of what was handed out. Dry runs take nothing and are not counted.
pub(super) struct Allocations {
    ips: LabelledCounter,
    ip_errors: LabelledCounter,
    ip_duration: LabelledHistogram,
    ports: LabelledCounter,
    port_errors: LabelledCounter,
}

impl Default for Allocations {
    fn default() -> Self {
        let counter = |family, names| LabelledCounter::new(family, names, ALLOCATOR_SERIES_MAX);
        Allocations {
            ips: counter(IPS, &["cidr", "scope"]),
            ip_errors: counter(IP_ERRORS, &["cidr", "scope"]),
            ip_duration: LabelledHistogram::new(IP_DURATION, &["cidr"], BOUNDS, ALLOCATOR_SERIES_MAX),
            ports: counter(PORTS, &["scope"]),
            port_errors: counter(PORT_ERRORS, &["scope"]),
        }
    }
}

impl Allocations {
    /// An address of a range was asked for.
    pub(super) fn address(&self, range: AddressRange, scope: Scope, is_given: bool, took: Duration) {
        let cidr = range.to_string();
        self.ip_duration.observe(&[&cidr], took);
        let counter = if is_given { &self.ips } else { &self.ip_errors };
        counter.add(&[&cidr, scope.as_str()]);
    }

    /// A port was asked for.
    pub(super) fn port(&self, scope: Scope, is_given: bool) {
        let counter = if is_given { &self.ports } else { &self.port_errors };
        counter.add(&[scope.as_str()]);
    }

    /// Shows them, and what the account has.
    pub(super) fn collect(&self, account: &mut Account, out: &mut Exposition) {
        account.catch_up();
        for range in &account.addresses {
            let cidr = range.to_string();
            let taken = account.addresses_within(*range) as u128;
            out.sample(&ALLOCATED_IPS, &[("cidr", &cidr)], taken as f64);
            out.sample(&AVAILABLE_IPS, &[("cidr", &cidr)], range.size().saturating_sub(taken) as f64);
        }
        let taken = account.ports_taken();
        out.sample(&ALLOCATED_PORTS, &[], taken as f64);
        out.sample(&AVAILABLE_PORTS, &[], account.ports.size().saturating_sub(taken) as f64);
        self.ips.collect(out);
        self.ip_errors.collect(out);
        self.ip_duration.collect(out);
        self.ports.collect(out);
        self.port_errors.collect(out);
    }
}
