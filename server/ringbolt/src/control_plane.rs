//! The main server: every built-in resource, discovery and version on a generic server.

use std::{sync::Arc, time::Duration};

use ringbolt_apiserver::{
    admission::Admission,
    authentication::service_account::openid,
    discovery::Discovery,
    endpoints, openapi,
    server::{CompletedConfig, DelegationTarget, GenericApiServer, hooks::HookContext},
    version,
};
use ringbolt_controllers as controllers;
use ringbolt_controlplane::{
    admission::Pipeline,
    bootstrap::{self, BootstrapObject},
    registry::Registry,
};
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::object::ResourceId;

use crate::settings::Settings;

/// How often the system namespaces are looked after, as kube-apiserver does it.
const NAMESPACES_RESYNC: Duration = Duration::from_secs(60);

/// Puts the main server in front of `delegate`. `root_ca` is the PEM of the authority its certificate is known by.
pub fn server(
    config: CompletedConfig,
    delegate: impl DelegationTarget,
    schema: &'static Schema,
    registry: Registry,
    settings: &Settings,
    root_ca: String,
) -> Result<GenericApiServer, String> {
    let reviewers = config.reviewers();
    let mut server = GenericApiServer::new(config, delegate);
    registry.allocator.start(
        server.storage().clone(),
        registry.services,
        settings.service_addresses.clone(),
        settings.node_ports,
    );
    let wanted = controllers::Config::new(settings.controllers, &registry, root_ca);
    let admission: Arc<dyn Admission> = Arc::new(Pipeline::new(schema, &registry, settings.admission));
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
    endpoints::install_all(server.routes(), schema, served, &virtuals, &reviewers, namespaces, &admission);
    openapi::install(server.routes(), schema);
    let discovery = Discovery::new(
        schema,
        |resource| listed.iter().any(|facts| std::ptr::eq(*facts, resource)),
        settings.advertised.to_string(),
    );
    discovery.install(server.routes());
    version::install(server.routes());
    if let Some(tokens) = &reviewers.authenticators.service_accounts {
        match openid::Metadata::new(&tokens.issuer.name, &settings.service_accounts.keys_uri, &tokens.keys) {
            Ok(metadata) => metadata.install(server.routes()),
            Err(error) => tracing::warn!(%error, "the keys of service accounts' tokens are not published"),
        }
    }
    let storage = server.storage().clone();
    let size = storage.clone();
    server.metrics().register_storage(
        move |show| {
            for (number, name) in stored_names.iter().enumerate() {
                let (resource, group) = name.split_once('.').unwrap_or((name, ""));
                show(group, resource, storage.count(ResourceId(number as u16)) as u64);
            }
        },
        move || size.size_bytes(),
    );
    server
        .add_post_start_hook("start-system-namespaces-controller", Box::new(system_namespaces))
        .map_err(|e| e.to_string())?;
    if !settings.controllers.is_empty() {
        let start = Box::new(move |context: &HookContext| controllers::start(wanted, context));
        server.add_post_start_hook("start-embedded-controllers", start).map_err(|e| e.to_string())?;
    }
    Ok(server)
}

/// Creates the system namespaces, and sees to it that they stay.
fn system_namespaces(context: &HookContext) -> Result<(), String> {
    create_bootstrap_objects(context)?;
    let context = context.clone();
    let keep = move || {
        while !context.signals.shutdown_initiated.wait(NAMESPACES_RESYNC) {
            if let Err(error) = create_bootstrap_objects(&context) {
                tracing::warn!(%error, "system namespaces");
            }
        }
    };
    std::thread::Builder::new().name("namespaces".to_owned()).spawn(keep).map(drop).map_err(|e| e.to_string())
}

/// Creates what is missing of the objects that every cluster has.
fn create_bootstrap_objects(context: &HookContext) -> Result<(), String> {
    for object in bootstrap::objects() {
        match context.loopback.request("POST", collection(object), object.json.as_bytes().into()) {
            // 409: it is there already.
            Some((200..=299 | 409, _)) => {}
            Some((code, body)) => {
                let body = String::from_utf8_lossy(&body);
                return Err(format!("{} {}: {code}: {body}", object.resource, object.name));
            }
            None => return Err(format!("{} {}: no answer", object.resource, object.name)),
        }
    }
    Ok(())
}

/// The path an object is created at.
fn collection(object: &BootstrapObject) -> String {
    let prefix = match object.group {
        "" => format!("/api/{}", object.version),
        group => format!("/apis/{group}/{}", object.version),
    };
    match object.namespace {
        "" => format!("{prefix}/{}", object.resource),
        namespace => format!("{prefix}/namespaces/{namespace}/{}", object.resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections() {
        let object = BootstrapObject {
            group: "",
            version: "v1",
            resource: "namespaces",
            namespace: "",
            name: "x",
            json: "{}",
        };
        assert_eq!(collection(&object), "/api/v1/namespaces");
        let object = BootstrapObject { group: "apps", resource: "deployments", namespace: "d", ..object };
        assert_eq!(collection(&object), "/apis/apps/v1/namespaces/d/deployments");
    }
}
