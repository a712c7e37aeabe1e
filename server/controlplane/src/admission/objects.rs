//! What plugins read of other objects: always the newest published state, never a wait.

use std::{borrow::Cow, sync::Arc};

use bumpalo::Bump;
use memchr::memmem::Finder;
use ringbolt_apiserver::admission::Attributes;
use ringbolt_machinery::{
    json, scan,
    schema::{Schema, StructId},
    value::Value,
};
use ringbolt_storage::{
    object::{Object, ResourceId},
    snapshot::Snapshot,
};

use crate::registry::Registry;

/// A kind that plugins look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    stored: ResourceId,
    ty: StructId,
}

impl Kind {
    /// The struct it is stored as.
    pub(super) fn ty(self) -> StructId {
        self.ty
    }
}

/// The kinds that plugins look up.
pub(super) struct Objects {
    schema: &'static Schema,
    pub(super) priority_classes: Kind,
    pub(super) storage_classes: Kind,
    pub(super) ingress_classes: Kind,
    pub(super) runtime_classes: Kind,
    pub(super) limit_ranges: Kind,
    pub(super) service_accounts: Kind,
    pub(super) resource_quotas: Kind,
    pub(super) namespaces: Kind,
    pub(super) pods: Kind,
    pub(super) nodes: Kind,
    pub(super) claims: Kind,
    pub(super) volumes: Kind,
    pub(super) csi_drivers: Kind,
}

impl Objects {
    pub(super) fn new(schema: &'static Schema, registry: &Registry) -> Self {
        let kind = |group: &str, version: &str, resource: &str| {
            let served = registry.find(group, version, resource);
            let served =
                served.unwrap_or_else(|| unreachable!("{resource} of {group}/{version} is built in"));
            Kind { stored: served.stored, ty: served.stored_type }
        };
        Objects {
            schema,
            priority_classes: kind("scheduling.k8s.io", "v1", "priorityclasses"),
            storage_classes: kind("storage.k8s.io", "v1", "storageclasses"),
            ingress_classes: kind("networking.k8s.io", "v1", "ingressclasses"),
            runtime_classes: kind("node.k8s.io", "v1", "runtimeclasses"),
            limit_ranges: kind("", "v1", "limitranges"),
            service_accounts: kind("", "v1", "serviceaccounts"),
            resource_quotas: kind("", "v1", "resourcequotas"),
            namespaces: kind("", "v1", "namespaces"),
            pods: kind("", "v1", "pods"),
            nodes: kind("", "v1", "nodes"),
            claims: kind("", "v1", "persistentvolumeclaims"),
            volumes: kind("", "v1", "persistentvolumes"),
            csi_drivers: kind("storage.k8s.io", "v1", "csidrivers"),
        }
    }

    /// The Schema of all kinds.
    pub(super) fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// The object under `key` (`name` or `namespace/name`).
    pub(super) fn get(&self, attributes: &Attributes<'_>, kind: Kind, key: &str) -> Option<Arc<Object>> {
        attributes.storage.get(kind.stored, key)
    }

    /// All objects of a kind.
    pub(super) fn all(&self, attributes: &Attributes<'_>, kind: Kind) -> Snapshot {
        attributes.storage.snapshot(kind.stored)
    }

    /// The objects of a kind in the namespace of a write, by name.
    pub(super) fn in_namespace(&self, attributes: &Attributes<'_>, kind: Kind) -> Vec<Arc<Object>> {
        let all = attributes.storage.snapshot(kind.stored);
        if all.is_empty() {
            return Vec::new();
        }
        all.range(&format!("{}/", attributes.namespace), None).cloned().collect()
    }

    /// An object as a tree. `None` where the store holds what the Schema cannot read, which it never wrote.
    pub(super) fn tree<'a>(&self, arena: &'a Bump, kind: Kind, object: &Object) -> Option<Value<'a>> {
        // What plugins take from it goes into the written object, so the arena has its text.
        json::decode_stored(arena, self.schema, kind.ty, arena.alloc_slice_copy(&object.json)).ok()
    }
}

/// Whether an object may have a member of a name, or an entry of a map under it: that takes a look instead of a walk.
/// What it has not is not there; the name may also be part of some text. For names that JSON writes as they are.
pub(super) fn mentions(object: &Object, name: &Finder<'_>) -> bool {
    name.find(&object.json).is_some()
}

/// A scalar of an object, read without decoding it.
pub(super) fn scalar<'o>(object: &'o Object, path: &[&str]) -> Option<Cow<'o, str>> {
    scan::scalar(&object.json, path)
}
