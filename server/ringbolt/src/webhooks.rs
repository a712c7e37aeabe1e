//! Admission webhooks: which of them are on, and what they get of the server.

use std::sync::Arc;

use ringbolt_aggregator::Services;
use ringbolt_apiserver::{
    admission::dynamic::DynamicPlugins, authorization::Authorizers, server::GenericApiServer,
};
use ringbolt_controlplane::{
    admission::{Enabled, Plugin},
    dynamic::ConditionMetrics,
    registry::Registry,
};
use ringbolt_outgoing::Outgoing;
use ringbolt_storage::object::ResourceId;
use ringbolt_webhooks::{Metrics, WebhookResources, Webhooks};

use crate::{aggregation, settings::Settings};

/// Adds those that are on, kept as their configurations are.
pub fn install(
    plugins: &mut DynamicPlugins,
    server: &mut GenericApiServer,
    registry: &Registry,
    settings: &Settings,
    authorizers: &Arc<Authorizers>,
    conditions: Arc<ConditionMetrics>,
) {
    let stored = |resource: &str| -> ResourceId {
        let found = registry.find("admissionregistration.k8s.io", "v1", resource);
        found.map_or_else(|| unreachable!("{resource} are built in"), |found| found.stored)
    };
    let enabled: Enabled = settings.admission.enabled;
    let metrics: Arc<Metrics> = Arc::default();
    metrics.register(server.metrics());
    let services = Services {
        storage: server.storage().clone(),
        resources: aggregation::resources(registry),
        routing: settings.aggregation.routing,
    };
    let webhooks = Webhooks {
        resources: WebhookResources {
            mutating: stored("mutatingwebhookconfigurations"),
            validating: stored("validatingwebhookconfigurations"),
        },
        outgoing: Outgoing::default(),
        services: Arc::new(services),
        authorizers: authorizers.clone(),
        metrics,
        conditions,
        mutating: enabled.has(Plugin::MutatingAdmissionWebhook),
        validating: enabled.has(Plugin::ValidatingAdmissionWebhook),
    };
    for follower in ringbolt_webhooks::install(plugins, webhooks) {
        server.follow(follower);
    }
}
