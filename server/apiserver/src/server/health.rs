//! The health checks of the generic server, in the order of the real one.

use std::{sync::Arc, time::Duration};

use ringbolt_storage::storage::Storage;

use super::hooks::Hooks;
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
    let signals = chain.signals.clone();
    checks.add_readyz(Check::new("shutdown", move || {
        if signals.shutdown_initiated.is_signaled() {
            Err("process is shutting down".to_owned())
        } else {
            Ok(())
        }
    }));
    let signals = chain.signals.clone();
    checks.install(routes, &chain.metrics, move || signals.has_been_ready.signal());
}
