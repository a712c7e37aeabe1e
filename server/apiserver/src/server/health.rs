//! The health checks of the generic server, in the order of the real one.

use std::{sync::Arc, time::Duration};

use ringbolt_storage::storage::Storage;

use super::{hooks::Hooks, lifecycle_signals::LifecycleSignals};
use crate::{
    filters::chain::ChainConfig,
    healthz::{Check, HealthChecks},
    routes::RouteTableBuilder,
};

/// Puts `/healthz`, `/livez` and `/readyz` on the route table.
pub fn install(
    routes: &mut RouteTableBuilder,
    hooks: &Hooks,
    storage: &Arc<dyn Storage>,
    chain: &ChainConfig,
    livez_grace_period: Duration,
) {
    let signals = chain.signals.clone();
    checks(hooks, storage, &chain.signals, livez_grace_period)
        .install(routes, &chain.metrics, move || signals.has_been_ready.signal());
}

fn checks(
    hooks: &Hooks,
    storage: &Arc<dyn Storage>,
    signals: &Arc<LifecycleSignals>,
    livez_grace_period: Duration,
) -> HealthChecks {
    let mut checks = HealthChecks::new();
    checks.add(Check::ping());
    // Log lines are written where they arise, so the log cannot fall behind.
    checks.add(Check::new("log", || Ok(())));
    // Probes know the store by this name, whatever it is.
    let store = |name: &'static str| {
        let storage = storage.clone();
        Check::new(name, move || storage.health())
    };
    checks.add(store("etcd"));
    checks.add_readyz(store("etcd-readiness"));
    for (name, done) in hooks.checks() {
        checks.add_boot_sequence(Check::post_start_hook(name, &done), livez_grace_period);
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
        for name in ["start-a", "rbac/b"] {
            hooks.add_post_start(name, Box::new(|_| Ok(()))).unwrap();
        }
        let options = EmbeddedOptions::new(Vec::new(), None, Arc::new(NoAttributes));
        let storage: Arc<dyn Storage> = Embedded::open(options, Box::new(MemoryDisk::default())).unwrap();
        let checks = checks(&hooks, &storage, &Arc::default(), Duration::ZERO);
        let check =
            |endpoint: &str, expect: &[&str]| assert_eq!(checks.names(endpoint), expect, "{endpoint}");
        let all = ["ping", "log", "etcd", "poststarthook/start-a", "poststarthook/rbac/b"];
        check("healthz", &all);
        check("livez", &all);
        check(
            "readyz",
            &[
                "ping",
                "log",
                "etcd",
                "etcd-readiness",
                "poststarthook/start-a",
                "poststarthook/rbac/b",
                "shutdown",
            ],
        );
    }
}
