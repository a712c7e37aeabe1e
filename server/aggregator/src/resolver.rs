//! From a service to an address (`ResolveEndpoint`, `ResolveCluster`).

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use bumpalo::Bump;
use ringbolt_machinery::{json, value::Value};
use ringbolt_outgoing::{Destination, ServiceResolver};
use ringbolt_storage::{object::Object, storage::Storage};

use crate::{
    api_service::ServiceReference,
    inbox::{Resources, SERVICE_NAME},
};

/// How services are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// By the address of the service.
    ClusterIp,
    /// By that of one of its endpoints (`--enable-aggregator-routing`).
    Endpoint,
}

/// The services of a cluster, for webhooks.
pub struct Services {
    /// Where they are read.
    pub storage: Arc<dyn Storage>,
    /// As what.
    pub resources: Resources,
    /// How they are reached.
    pub routing: Routing,
}

impl ServiceResolver for Services {
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), String> {
        let Services { storage, resources, routing } = self;
        let resolver = Resolver { storage: &**storage, resources: *resources, routing: *routing };
        let service = ServiceReference { namespace: namespace.to_owned(), name: name.to_owned(), port };
        let random = RandomState::new().hash_one(port);
        resolver.resolve(&service, random).map(|found| (found.host, found.port))
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'s> {
    pub(crate) storage: &'s dyn Storage,
    pub(crate) resources: Resources,
    pub(crate) routing: Routing,
}

/// A stored object as a tree.
pub(crate) fn tree<'a>(arena: &'a Bump, object: &Object) -> Option<Value<'a>> {
    let mut text = bumpalo::collections::Vec::with_capacity_in(object.json.len() + 1, arena);
    text.push(b'{');
    text.extend_from_slice(&object.json);
    json::decode_untyped(arena, text.into_bump_slice()).ok()
}

fn items<'v, 'a>(tree: &'v Value<'a>, path: &[&str]) -> &'v [Value<'a>] {
    tree.path(path).and_then(Value::as_list).map_or(&[], |list| list)
}

impl Resolver<'_> {
    /// An address where the service is found now; `random` picks among many. The error is for the log.
    pub(crate) fn resolve(&self, service: &ServiceReference, random: u64) -> Result<Destination, String> {
        let arena = Bump::new();
        let (namespace, name, port) = (&service.namespace, &service.name, service.port);
        let object = self.storage.get(self.resources.services, &format!("{namespace}/{name}"));
        let tree = object.as_ref().and_then(|object| tree(&arena, object));
        let tree = tree.ok_or_else(|| format!("service {name:?} not found"))?;
        let kind = tree.str_at(&["spec", "type"]).unwrap_or("");
        let declared = items(&tree, &["spec", "ports"])
            .iter()
            .find(|declared| declared.path(&["port"]).and_then(Value::as_i64) == Some(i64::from(port)));
        let declared = declared.ok_or_else(|| format!("no service port {port} found for service {name:?}"));
        let (host, port) = match (self.routing, kind) {
            (Routing::ClusterIp, "ExternalName") => {
                (tree.str_at(&["spec", "externalName"]).unwrap_or("").to_owned(), port)
            }
            (Routing::ClusterIp, "ClusterIP" | "LoadBalancer" | "NodePort") => {
                let address = tree.str_at(&["spec", "clusterIP"]).unwrap_or("");
                if kind == "ClusterIP" && address == "None" {
                    return Err("cannot route to service with ClusterIP \"None\"".to_owned());
                }
                declared?;
                (address.to_owned(), port)
            }
            (Routing::Endpoint, "ClusterIP" | "LoadBalancer" | "NodePort") => {
                let port_name = declared?.str_at(&["name"]).unwrap_or("");
                let family = items(&tree, &["spec", "ipFamilies"]).first().and_then(Value::as_str);
                self.endpoint(namespace, name, port_name, family.unwrap_or(""), random)
                    .ok_or_else(|| format!("no endpoints available for service {name:?}"))?
            }
            (_, kind) => return Err(format!("unsupported service type {kind:?}")),
        };
        Ok(Destination {
            host,
            port,
            server_name: format!("{name}.{namespace}.svc"),
            ..Destination::default()
        })
    }

    /// One of the ready endpoints, of the preferred family where there is one.
    fn endpoint(
        &self,
        namespace: &str,
        service: &str,
        port_name: &str,
        family: &str,
        random: u64,
    ) -> Option<(String, u16)> {
        let (mut preferred, mut others) = (Vec::new(), Vec::new());
        self.each_slice(namespace, service, |slice| {
            let Some(port) = port_named(slice, port_name).and_then(|port| u16::try_from(port).ok()) else {
                return;
            };
            let found =
                if slice.str_at(&["addressType"]) == Some(family) { &mut preferred } else { &mut others };
            for endpoint in items(slice, &["endpoints"]).iter().filter(|endpoint| is_ready(endpoint)) {
                let address = items(endpoint, &["addresses"]).first().and_then(Value::as_str);
                found.extend(address.map(|address| (address.to_owned(), port)));
            }
        });
        let found = if preferred.is_empty() { others } else { preferred };
        let at = usize::try_from(random % found.len().max(1) as u64).ok()?;
        found.into_iter().nth(at)
    }

    /// Calls `visit` with each EndpointSlice of a service; answers how many there are.
    pub(crate) fn each_slice(
        &self,
        namespace: &str,
        service: &str,
        mut visit: impl FnMut(&Value<'_>),
    ) -> usize {
        let snapshot = self.storage.snapshot(self.resources.endpoint_slices);
        let mut count = 0;
        for object in snapshot.range(&format!("{namespace}/"), None) {
            if !object.labels().any(|(key, value)| key == SERVICE_NAME && value == service) {
                continue;
            }
            let arena = Bump::new();
            if let Some(slice) = tree(&arena, object) {
                count += 1;
                visit(&slice);
            }
        }
        count
    }
}

/// The number of a slice's port.
pub(crate) fn port_named(slice: &Value<'_>, name: &str) -> Option<i64> {
    let named = |port: &&Value<'_>| port.path(&["name"]).and_then(Value::as_str) == Some(name);
    items(slice, &["ports"])
        .iter()
        .filter(named)
        .find_map(|port| port.path(&["port"]).and_then(Value::as_i64))
}

/// Whether an endpoint takes requests: one that says nothing does.
pub(crate) fn is_ready(endpoint: &Value<'_>) -> bool {
    endpoint.path(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false)
}
