//! The health checks of the generic server, in the order of the real one.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use ringbolt_storage::storage::Storage;

use super::{hooks::Hooks, lifecycle_signals::LifecycleSignals};
use crate::{
    filters::chain::ChainConfig,
    healthz::{Check, HealthChecks},
    informer::Feed,
    routes::RouteTableBuilder,
};

/// The order in which kube-apiserver lists its hooks, and what else is checked of its start: those of its generic part, of the extensions server, of the main
/// server, of the aggregator. Here they are added wherever what they start is put together.
const ORDER: [&str; 37] = [
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "max-in-flight-filter",
    "storage-object-count-tracker-hook",
    "start-encryption-provider-config-automatic-reload",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-kube-apiserver-coordinated-leader-election-controller",
    "peer-endpoint-reconciler-controller",
    "mixed-version-proxy-handler",
    "local-discovery-cache-sync",
    "peer-discovery-workers",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "aggregator-reload-proxy-client-cert",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "autoregister-completion",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];

/// Puts `/healthz`, `/livez` and `/readyz` on the route table.
pub fn install(
    routes: &mut RouteTableBuilder,
    hooks: &Hooks,
    boot: Vec<Check>,
    storage: &Arc<dyn Storage>,
    chain: &ChainConfig,
    followers: &Arc<OnceLock<Arc<Feed>>>,
    livez_grace_period: Duration,
) {
    let signals = chain.signals.clone();
    checks(hooks, boot, storage, &chain.signals, followers, livez_grace_period).install(
        routes,
        &chain.metrics,
        move || signals.has_been_ready.signal(),
    );
}

fn checks(
    hooks: &Hooks,
    boot: Vec<Check>,
    storage: &Arc<dyn Storage>,
    signals: &Arc<LifecycleSignals>,
    followers: &Arc<OnceLock<Arc<Feed>>>,
    livez_grace_period: Duration,
) -> HealthChecks {
    let mut checks = HealthChecks::new();
    checks.add(Check::ping());
    // Log lines are written where they arise, so the log cannot fall behind.
    checks.add(Check::new("log", || Ok(())));
    // The server speaks to itself without a connection, and so without a certificate that could run out.
    checks.add_healthz(Check::new("loopback-serving-certificate", || Ok(())));
    checks.add_livez(Check::new("loopback-serving-certificate", || Ok(())));
    // Probes know the store by this name, whatever it is.
    let store = |name: &'static str| {
        let storage = storage.clone();
        Check::new(name, move || storage.health())
    };
    checks.add(store("etcd"));
    checks.add_readyz(store("etcd-readiness"));
    let followers = followers.clone();
    checks.add_readyz(Check::new("informer-sync", move || match followers.get() {
        Some(feed) if feed.has_synced() => Ok(()),
        Some(_) => Err("followers of the store read everything anew".to_owned()),
        None => Err("followers of the store have not started".to_owned()),
    }));
    let of_hooks = hooks.checks().map(|(name, done)| (name.to_owned(), Check::post_start_hook(name, &done)));
    let others = boot.into_iter().map(|check| (check.name().to_owned(), check));
    let mut start: Vec<_> = of_hooks.chain(others).collect();
    // Those that only this server has come last.
    start.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    for (_, check) in start {
        checks.add_boot_sequence(check, livez_grace_period);
    }
    let signals = signals.clone();
    checks.add_readyz(Check::new("shutdown", move || {
        if signals.shutdown_initiated.is_signaled() {
            Err("process is shutting down".to_owned())
        } else {
            Ok(())
        }
    }));
    checks
}

#[cfg(test)]
mod tests {
    use ringbolt_storage::{
        embedded::{Embedded, EmbeddedOptions},
        memory_disk::MemoryDisk,
        object::{Attributes, Inspect, ResourceId},
    };

    use super::*;

    struct NoAttributes;

    impl Inspect for NoAttributes {
        fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
            Attributes::default()
        }
    }

    #[test]
    fn names_in_order() {
        let mut hooks = Hooks::default();
        for name in ["start-own", "rbac/bootstrap-roles", "storage-readiness"] {
            hooks.add_post_start(name, Box::new(|_| Ok(()))).unwrap();
        }
        let options = EmbeddedOptions::new(Vec::new(), None, Arc::new(NoAttributes));
        let storage: Arc<dyn Storage> = Embedded::open(options, Box::new(MemoryDisk::default())).unwrap();
        let boot = vec![Check::new("autoregister-completion", || Ok(()))];
        let checks = checks(&hooks, boot, &storage, &Arc::default(), &Arc::default(), Duration::ZERO);
        let check =
            |endpoint: &str, expect: &[&str]| assert_eq!(checks.names(endpoint), expect, "{endpoint}");
        let all = [
            "ping",
            "log",
            "loopback-serving-certificate",
            "etcd",
            "poststarthook/storage-readiness",
            "poststarthook/rbac/bootstrap-roles",
            "autoregister-completion",
            "poststarthook/start-own",
        ];
        check("healthz", &all);
        check("livez", &all);
        check(
            "readyz",
            &[
                "ping",
                "log",
                "etcd",
                "etcd-readiness",
                "informer-sync",
                "poststarthook/storage-readiness",
                "poststarthook/rbac/bootstrap-roles",
                "autoregister-completion",
                "poststarthook/start-own",
                "shutdown",
            ],
        );
    }
}
