//! The main server: every built-in resource, discovery and version on a generic server.

use std::sync::Arc;

use ringbolt_apiserver::{
    admission::{Admission, dynamic::DynamicPlugins},
    authentication::service_account::openid,
    connector::Connector,
    endpoints,
    flowcontrol::consumer::FlowControlObjects,
    metrics::Deprecated,
    openapi,
    server::{CompletedConfig, DelegationTarget, GenericApiServer, hooks::HookContext},
    version, zpages,
};
use ringbolt_controllers as controllers;
use ringbolt_controlplane::{
    admission::Pipeline, bootstrap::policy::BootstrapPolicy, dynamic::ConditionMetrics, policies::Policies,
    registry::Registry, services::repair::Repair,
};
use ringbolt_extensions::{ConverterFactory, ExtensionsServer, definition};
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::object::ResourceId;

use crate::{bootstrap, flow_control, lifecycle, settings::Settings, trust::Trust, webhooks};

/// What was there before the server.
pub struct Parts {
    /// The certificate that service accounts are told.
    pub root_ca: String,
    /// Who vouches for clients.
    pub trust: Arc<Trust>,
    /// Admission policies, which a follower of the store keeps.
    pub policies: Policies,
    /// The webhooks that convert custom objects.
    pub converters: ConverterFactory,
    /// What goes to kubelets, pods and services.
    pub connector: Arc<dyn Connector>,
}

/// Puts the main server in front of `delegate`.
pub fn server(
    config: CompletedConfig,
    delegate: impl DelegationTarget,
    schema: &'static Schema,
    registry: Registry,
    settings: &Settings,
    Parts { root_ca, trust, policies, converters, connector }: Parts,
) -> Result<GenericApiServer, String> {
    let reviewers = config.reviewers();
    let mut server = GenericApiServer::new(config, delegate);
    registry.allocator.start(
        server.storage().clone(),
        registry.services,
        registry.ip_addresses,
        settings.service_addresses.clone(),
        settings.node_ports,
    );
    let wanted =
        controllers::Config::new(settings.controllers, schema, &registry, server.live().clone(), root_ca);
    let mut dynamic = DynamicPlugins::default();
    let conditions: Arc<ConditionMetrics> = Arc::default();
    conditions.register(server.metrics());
    let (enabled, authorizers) = (settings.admission.enabled, &reviewers.authorizers);
    policies.install(&mut dynamic, enabled, &server, authorizers, &registry, conditions.clone());
    webhooks::install(&mut dynamic, &mut server, &registry, settings, authorizers, conditions);
    let admission =
        Pipeline::new(schema, &registry, settings.admission.clone(), reviewers.authorizers.clone())
            .with_dynamic(dynamic);
    admission.register(server.metrics());
    let deprecated = registry.served.iter().filter(|served| served.strategy.deprecation_warning().is_some());
    let deprecated = deprecated.map(|served| {
        let facts = &served.facts;
        Deprecated { group: facts.group, version: facts.version, resource: facts.resource }
    });
    server.metrics().register_deprecated(deprecated.collect());
    let allocator = registry.allocator;
    server.metrics().register(move |out| allocator.collect(out));
    let admission: Arc<dyn Admission> = Arc::new(admission);
    let policy = BootstrapPolicy::new(schema, &registry);
    let repair = Repair { services: registry.services, ip_addresses: registry.ip_addresses };
    let objects =
        FlowControlObjects { flow_schemas: registry.flow_schemas, priority_levels: registry.priority_levels };
    flow_control::install(&mut server, objects).map_err(|e| e.to_string())?;
    let leases = registry
        .find("coordination.k8s.io", "v1", "leases")
        .map_or_else(|| unreachable!("they are built in"), |leases| leases.stored);
    let definitions = registry
        .find(definition::GROUP, definition::VERSION, definition::RESOURCE)
        .map_or_else(|| unreachable!("they are in the registry"), |found| (found.stored, found.stored_type));
    let extensions = ExtensionsServer {
        schema,
        definitions,
        namespaces: registry.namespaces,
        admission: admission.clone(),
        converters,
    };
    extensions.install(&mut server).map_err(|e| e.to_string())?;
    let Registry { served, virtuals, namespaces, stored_names, .. } = registry;
    let (mut served, virtuals) = (served, virtuals.iter().map(|r| (r.facts, r.printer)).collect::<Vec<_>>());
    let listed: Vec<_> = virtuals
        .iter()
        .map(|(facts, _)| *facts)
        .chain(served.iter().map(|r| r.facts))
        .map(std::ptr::from_ref)
        .collect();
    // Only events have one.
    for served in served.iter_mut().filter(|s| s.ttl_seconds > 0) {
        served.ttl_seconds = settings.event_ttl.as_secs();
    }
    endpoints::install_all(
        server.routes(),
        schema,
        endpoints::Resources { stored: served, not_stored: &virtuals },
        &reviewers,
        Some(connector),
        namespaces,
        &admission,
    );
    server.live().add_built_in(schema, |resource| listed.iter().any(|facts| std::ptr::eq(*facts, resource)));
    server.live().set_server_address(settings.advertised.to_string());
    version::install(server.routes());
    zpages::install(server.routes(), settings.flags.clone());
    let mut openid = false;
    if let Some(tokens) = &reviewers.authenticators.service_accounts {
        match openid::Metadata::new(&tokens.issuer.name, &settings.service_accounts.keys_uri, &tokens.keys) {
            Ok(metadata) => {
                metadata.install(server.routes());
                openid = true;
            }
            Err(error) => tracing::warn!(%error, "the keys of service accounts' tokens are not published"),
        }
    }
    let live = server.live().clone();
    openapi::install(server.routes(), schema, openid, &live);
    let storage = server.storage().clone();
    let (size, shown) = (storage.clone(), live.clone());
    server.metrics().register_storage(
        move |show| {
            for (number, name) in stored_names.iter().enumerate() {
                let (resource, group) = name.split_once('.').unwrap_or((name, ""));
                show(group, resource, storage.count(ResourceId(number as u16)) as u64);
            }
            for (group, resource, stored) in shown.published().custom_resources() {
                show(group, resource, storage.count(stored) as u64);
            }
        },
        move || size.size_bytes(),
    );
    let mut token_uses = Arc::default();
    if let Some(tokens) = &reviewers.authenticators.service_accounts {
        token_uses = tokens.uses.clone();
        let counts = tokens.counts.clone();
        server.metrics().register(move |out| counts.collect(out));
    }
    lifecycle::install(&mut server, settings, leases).map_err(|e| e.to_string())?;
    bootstrap::install(&mut server, settings, trust, token_uses, repair, objects, policy)
        .map_err(|e| e.to_string())?;
    if !settings.controllers.is_empty() {
        let start = Box::new(move |context: &HookContext| controllers::start(wanted, context));
        server.add_post_start_hook("start-embedded-controllers", start).map_err(|e| e.to_string())?;
    }
    Ok(server)
}
