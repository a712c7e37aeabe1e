//! The built-in resources: what the main server serves and how each is stored.

use ringbolt_apiserver::registry::{Converter, Defaulter, ServedResource, Shared, Strategy};
use ringbolt_machinery::{
    schema::{Resource, Schema, StructId},
    table::Printer,
};
use ringbolt_storage::object::ResourceId;

use crate::{
    conversion, defaults, printers,
    services::ServiceAllocator,
    strategy::{self, ResourceStrategy},
};

/// Groups that other servers of the chain serve.
const ELSEWHERE: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// A resource that discovery lists and nothing is stored of: bindings, reviews, component statuses.
#[derive(Clone, Copy, Debug)]
pub struct VirtualResource {
    /// Facts of the Schema.
    pub facts: &'static Resource,
    /// How its objects are shown as rows of a Table.
    pub printer: &'static Printer,
}

/// Everything the main server serves.
pub struct Registry {
    /// Stored resources in discovery order, one entry a served version.
    pub served: Vec<ServedResource>,
    /// Resources that nothing is stored of, in discovery order.
    pub virtuals: Vec<VirtualResource>,
    /// Names of the stored resources (`pods`, `deployments.apps`): [`ResourceId`] is the index.
    pub stored_names: Vec<String>,
    /// The index of services.
    pub services: ResourceId,
    /// The index of the objects that stand for addresses of services.
    pub ip_addresses: ResourceId,
    /// The index of FlowSchemas.
    pub flow_schemas: ResourceId,
    /// The index of PriorityLevelConfigurations.
    pub priority_levels: ResourceId,
    /// Who hands out addresses and ports of services; it waits for [`ServiceAllocator::start`].
    pub allocator: &'static ServiceAllocator,
    /// The index of namespaces.
    pub namespaces: ResourceId,
}

/// A resource of another server of the chain, which knows what is decided about it.
pub struct Foreign {
    /// Group.
    pub group: &'static str,
    /// Plural name.
    pub resource: &'static str,
    /// What is decided about its objects.
    pub strategy: &'static dyn Strategy,
    /// Its defaults.
    pub defaulter: Defaulter,
    /// Its rows.
    pub printer: &'static Printer,
}

/// A resource that is kept in the store of another, in that one's version.
struct Alias {
    /// Group, version and plural of the resource.
    of: (&'static str, &'static str, &'static str),
    /// Group and version it is stored in.
    stored: (&'static str, &'static str),
    to_stored: Converter,
    from_stored: Converter,
}

const ALIASES: [Alias; 2] = [
    Alias {
        of: ("events.k8s.io", "v1", "events"),
        stored: ("", "v1"),
        to_stored: conversion::event::to_core,
        from_stored: conversion::event::from_core,
    },
    Alias {
        of: ("autoscaling", "v1", "horizontalpodautoscalers"),
        stored: ("autoscaling", "v2"),
        to_stored: conversion::autoscaling::to_v2,
        from_stored: conversion::autoscaling::from_v2,
    },
];

/// `deployments.apps`, `pods`.
fn stored_name(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// Builds the registry from the facts of a Schema that lives as long as the server.
pub fn build(schema: &'static Schema) -> Registry {
    let mut registry = Registry {
        served: Vec::new(),
        virtuals: Vec::new(),
        stored_names: Vec::new(),
        services: ResourceId(0),
        ip_addresses: ResourceId(0),
        flow_schemas: ResourceId(0),
        priority_levels: ResourceId(0),
        allocator: Box::leak(Box::default()),
        namespaces: ResourceId(0),
    };
    for facts in schema.resources.iter().filter(|r| r.on_by_default && !ELSEWHERE.contains(&r.group)) {
        match strategy::rules(facts.group, facts.resource) {
            None => {
                registry.virtuals.push(VirtualResource { facts, printer: printers::of(facts.resource) });
            }
            Some(rules) => {
                let alias = ALIASES.iter().find(|a| a.of == (facts.group, facts.version, facts.resource));
                let (group, stored_type) = match alias {
                    Some(alias) => {
                        (alias.stored.0, stored_struct(schema, alias.stored, facts.kind).unwrap_or(facts.ty))
                    }
                    None => (facts.group, facts.ty),
                };
                let stored = registry.store(&stored_name(group, facts.resource));
                // Strategies live as long as the server: there is one a resource, made here once.
                let mut strategy = ResourceStrategy::new(rules, schema, stored_type);
                if (facts.group, facts.resource) == ("", "services") {
                    strategy = strategy.with_allocator(registry.allocator);
                }
                let strategy = Box::leak(Box::new(strategy));
                registry.served.push(ServedResource {
                    facts,
                    stored,
                    stored_type,
                    defaulter: defaults::of(facts.group, facts.version, facts.resource),
                    to_stored: alias.map(|a| a.to_stored),
                    from_stored: alias.map(|a| a.from_stored),
                    strategy: Shared::Static(strategy),
                    printer: printers::of(facts.resource),
                    ttl_seconds: rules.ttl_seconds,
                    custom: None,
                });
            }
        }
    }
    registry.services = registry.store("services");
    registry.ip_addresses = registry.store("ipaddresses.networking.k8s.io");
    registry.namespaces = registry.store("namespaces");
    registry.flow_schemas = registry.store("flowschemas.flowcontrol.apiserver.k8s.io");
    registry.priority_levels = registry.store("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io");
    registry
}

fn stored_struct(schema: &Schema, (group, version): (&str, &str), kind: &str) -> Option<StructId> {
    schema.kind(group, version, kind).map(|k| k.ty)
}

impl Registry {
    /// The index of a stored resource, taken anew where it has none yet.
    fn store(&mut self, name: &str) -> ResourceId {
        let at = match self.stored_names.iter().position(|n| n == name) {
            Some(at) => at,
            None => {
                self.stored_names.push(name.to_owned());
                self.stored_names.len() - 1
            }
        };
        ResourceId(at as u16)
    }

    /// Adds what another server of the chain serves, in every version that the Schema has on by default.
    pub fn serve(&mut self, schema: &'static Schema, foreign: &Foreign) {
        let is =
            |r: &&Resource| r.on_by_default && (r.group, r.resource) == (foreign.group, foreign.resource);
        for facts in schema.resources.iter().filter(is) {
            let stored = self.store(&stored_name(facts.group, facts.resource));
            self.served.push(ServedResource {
                facts,
                stored,
                stored_type: facts.ty,
                defaulter: foreign.defaulter,
                to_stored: None,
                from_stored: None,
                strategy: Shared::Static(foreign.strategy),
                printer: foreign.printer,
                ttl_seconds: 0,
                custom: None,
            });
        }
    }

    /// The served resource of a group, version and plural name.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&ServedResource> {
        self.served
            .iter()
            .find(|s| s.facts.group == group && s.facts.version == version && s.facts.resource == resource)
    }
}
