//! One served resource as the handlers use it: its facts, its strategy, and the bytes put around its objects.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use ringbolt_machinery::{
    schema::{Resource, Schema, StructId},
    status::Status,
    table,
};
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::object::{EventKind, ResourceId};

use super::retirement::Retirement;
use crate::{
    admission::Admission,
    conversion::StoreNumber,
    limits::KEY_MAX_BYTES,
    registry::{Converter, Defaulter, ServedResource},
};

/// Another served version of a resource that shares its store.
pub(crate) struct OtherVersion {
    pub(crate) group_version: String,
    pub(crate) ty: StructId,
    pub(crate) defaulter: Defaulter,
    pub(crate) to_stored: Option<Converter>,
    pub(crate) from_stored: Option<Converter>,
}

/// A resource in one served version, with everything about it that does not change from request to request.
pub(crate) struct ResourceStore {
    /// What the control plane says of it.
    pub(crate) served: ServedResource,
    /// The Schema its types are in.
    pub(crate) schema: &'static Schema,
    /// The resource of namespaces.
    pub(crate) namespaces: ResourceId,
    /// What admits its writes.
    pub(crate) admission: Arc<dyn Admission>,
    /// Struct of `PartialObjectMetadata`.
    pub(crate) partial_type: StructId,
    /// Whether its objects have opaque text, which is stored as it came and compacted when it is shown, or are custom:
    /// their definition may have changed since they were stored.
    holds_opaque: bool,
    /// `{"kind":"K","apiVersion":"G/V",`: what an answer puts in front of a stored object.
    pub(crate) object_head: Bytes,
    /// `{"kind":"KList","apiVersion":"G/V","metadata":{"resourceVersion":"`.
    pub(crate) list_head: Bytes,
    /// `{"type":"T","object":` and `object_head`, by [`EventKind`].
    pub(crate) event_heads: [Bytes; 3],
    /// `G/V`, or `V` for core.
    pub(crate) group_version: String,
    /// `columnDefinitions` of its Tables, made when the first is asked for.
    columns: OnceLock<Vec<u8>>,
    /// The other versions; none until all resources of the server are there.
    pub(crate) other_versions: OnceLock<Vec<OtherVersion>>,
    /// `K.G`, or `K` for core: as `Invalid` messages name the kind.
    pub(crate) storage_path: String,
    /// Whether its paths are those of a custom resource: they take no strategic merge, and no router looks at their
    /// requests first.
    pub(crate) is_below_custom: bool,
    /// Whether it is over with the definition that it serves.
    pub(crate) retirement: Retirement,
    /// Whether its objects come from other versions by somebody else's work, which is waited for.
    pub(crate) converts: bool,
    /// By which conversions know it.
    pub(crate) number: StoreNumber,
}

/// Where Kubernetes keeps a resource in etcd. Conflicts quote it, and the first resources have kept the names that
/// they had before they were called what they are.
fn storage_folder(facts: &Resource) -> &'static str {
    match (facts.group, facts.resource) {
        ("", "endpoints") => "services/endpoints",
        ("", "nodes") => "minions",
        ("", "replicationcontrollers") => "controllers",
        ("", "services") => "services/specs",
        ("networking.k8s.io", "ingresses") => "ingress",
        // Of the servers before and behind the main one.
        (_, "apiservices") => "apiregistration.k8s.io/apiservices",
        (_, "customresourcedefinitions") => "apiextensions.k8s.io/customresourcedefinitions",
        (_, resource) => resource,
    }
}

impl ResourceStore {
    pub(crate) fn new(
        schema: &'static Schema,
        served: ServedResource,
        namespaces: ResourceId,
        admission: Arc<dyn Admission>,
    ) -> Arc<Self> {
        let is_below_custom = served.custom.is_some();
        Arc::new(Self::make(schema, served, namespaces, admission, is_below_custom))
    }

    /// What is shown below the paths of custom resources.
    pub(crate) fn below_custom(
        schema: &'static Schema,
        served: ServedResource,
        namespaces: ResourceId,
        admission: Arc<dyn Admission>,
    ) -> Arc<Self> {
        Arc::new(Self::make(schema, served, namespaces, admission, true))
    }

    fn make(
        schema: &'static Schema,
        served: ServedResource,
        namespaces: ResourceId,
        admission: Arc<dyn Admission>,
        is_below_custom: bool,
    ) -> Self {
        let facts = served.facts;
        let group_version = match facts.group {
            "" => facts.version.to_owned(),
            group => format!("{group}/{}", facts.version),
        };
        // Members of objects without a schema come in the order of their names.
        let object_head = match served.custom {
            None => format!("{{\"kind\":\"{}\",\"apiVersion\":\"{group_version}\",", facts.kind),
            Some(_) => format!("{{\"apiVersion\":\"{group_version}\",\"kind\":\"{}\",", facts.kind),
        };
        let event = |name: &str| Bytes::from(format!("{{\"type\":\"{name}\",\"object\":{object_head}"));
        let list_kind = match &served.custom {
            None => format!("{}List", facts.kind),
            Some(kind) => kind.list_kind().to_owned(),
        };
        let storage_path = match served.custom {
            None => format!("/registry/{}/", storage_folder(facts)),
            Some(_) => format!("/registry/{}/{}/", facts.group, facts.resource),
        };
        ResourceStore {
            schema,
            namespaces,
            admission,
            partial_type: schema
                .kind("meta.k8s.io", "v1", "PartialObjectMetadata")
                .map(|k| k.ty)
                .expect("the built-in table has the kinds of meta.k8s.io"),
            list_head: Bytes::from(format!(
                "{{\"kind\":\"{list_kind}\",\"apiVersion\":\"{group_version}\",\"metadata\":{{\"resourceVersion\":\""
            )),
            event_heads: [event("ADDED"), event("MODIFIED"), event("DELETED")],
            object_head: Bytes::from(object_head),
            holds_opaque: served.custom.is_some() || schema.holds_opaque(served.stored_type),
            storage_path,
            is_below_custom,
            retirement: Retirement::default(),
            converts: served.custom.as_ref().is_some_and(|kind| kind.conversion().is_some()),
            number: StoreNumber::next(),
            group_version,
            columns: OnceLock::new(),
            other_versions: OnceLock::new(),
            served,
        }
    }

    /// Gets to know the versions that share its store, of all resources of the server.
    pub(crate) fn know_versions(&self, stores: &[Arc<ResourceStore>]) {
        let others = stores
            .iter()
            .filter(|other| other.stored() == self.stored() && other.group_version != self.group_version);
        self.other_versions.get_or_init(|| {
            others
                .map(|other| OtherVersion {
                    group_version: other.group_version.clone(),
                    ty: other.served.facts.ty,
                    defaulter: other.served.defaulter,
                    to_stored: other.served.to_stored,
                    from_stored: other.served.from_stored,
                })
                .collect()
        });
    }

    pub(crate) fn group(&self) -> &'static str {
        self.served.facts.group
    }

    /// The group of the kind as validation names it: that of the kind which objects are stored as.
    pub(crate) fn kind_group(&self) -> &'static str {
        self.served.strategy.kind_group().unwrap_or(self.served.facts.group)
    }

    pub(crate) fn version(&self) -> &'static str {
        self.served.facts.version
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.served.facts.kind
    }

    pub(crate) fn resource(&self) -> &'static str {
        self.served.facts.resource
    }

    pub(crate) fn stored(&self) -> ResourceId {
        self.served.stored
    }

    /// The namespace a request is in; none for cluster-scoped resources, whatever the path says (the path of a
    /// namespace names it as its own).
    pub(crate) fn namespace<'r>(&self, info: &RequestInfo<'r>) -> &'r str {
        if self.served.facts.namespaced { info.namespace } else { "" }
    }

    /// `columnDefinitions` of its Tables.
    pub(crate) fn column_definitions(&self) -> &[u8] {
        match &self.served.custom {
            None => self.columns.get_or_init(|| table::column_definitions(&self.served.facts.columns)),
            Some(kind) => kind.column_definitions(),
        }
    }

    /// Whether this is the version that objects are stored in.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.served.from_stored.is_none()
    }

    /// Whether the real server reads it from its watch cache. Events, which expire, it does not keep there.
    pub(crate) fn is_cached(&self) -> bool {
        self.served.ttl_seconds == 0
    }

    /// Whether stored bytes are served as they are, whichever object they are of.
    pub(crate) fn serves_stored_bytes(&self) -> bool {
        self.is_storage_version() && !self.holds_opaque
    }

    /// Whether it is of a custom kind.
    pub(crate) fn is_custom(&self) -> bool {
        self.served.custom.is_some()
    }

    /// Whether it is the Scale of a custom resource.
    pub(crate) fn is_scale_of_custom(&self) -> bool {
        self.is_below_custom && !self.is_custom()
    }

    /// A subresource that takes and answers the whole object, by its name in discovery.
    pub(crate) fn whole_object_subresource(&self, name: &str) -> Option<&'static str> {
        let facts = self.served.facts;
        let found = facts.subresources.iter().find(|s| s.name == name)?;
        (found.kind == (facts.group, facts.version, facts.kind)).then_some(found.name)
    }

    /// The bytes in front of an event's object.
    pub(crate) fn event_head(&self, kind: EventKind) -> &Bytes {
        match kind {
            EventKind::Added => &self.event_heads[0],
            EventKind::Modified => &self.event_heads[1],
            EventKind::Deleted => &self.event_heads[2],
        }
    }

    /// Where the real server's storage has an object, as its errors say it. A dry run looks a layer above the one that puts
    /// the prefix in front.
    pub(crate) fn storage_key(&self, key: &str, dry_run: bool) -> String {
        let folder =
            if dry_run { self.storage_path.trim_start_matches("/registry") } else { &self.storage_path };
        format!("{folder}{key}")
    }

    /// 409 where an object is not the one that a precondition names (`storage.Preconditions`).
    pub(crate) fn precondition_failed(&self, key: &str, name: &str, why: &str, dry_run: bool) -> Status {
        let key = self.storage_key(key, dry_run);
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: {why}"
        );
        Status::conflict(self.group(), self.resource(), name, &why)
    }

    /// 404 for an object of this resource.
    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::not_found(self.group(), self.resource(), name)
    }
}

/// A storage key (`namespace/name`, or `name`) on the stack.
pub(crate) struct Key {
    bytes: [u8; KEY_MAX_BYTES],
    len: usize,
}

impl Key {
    /// The key of an object; `None` where it is longer than any valid one, so that nothing can be stored there.
    pub(crate) fn new(namespace: &str, name: &str) -> Option<Key> {
        let len = if namespace.is_empty() { name.len() } else { namespace.len() + 1 + name.len() };
        if len > KEY_MAX_BYTES {
            return None;
        }
        let mut bytes = [0; KEY_MAX_BYTES];
        if namespace.is_empty() {
            bytes[..len].copy_from_slice(name.as_bytes());
        } else {
            bytes[..namespace.len()].copy_from_slice(namespace.as_bytes());
            bytes[namespace.len()] = b'/';
            bytes[namespace.len() + 1..len].copy_from_slice(name.as_bytes());
        }
        Some(Key { bytes, len })
    }

    /// The key as text.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("made of two strings and a slash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_join_namespace_and_name() {
        assert_eq!(Key::new("ns", "ü").unwrap().as_str(), "ns/ü");
        assert_eq!(Key::new("", "node").unwrap().as_str(), "node");
        assert!(Key::new("ns", &"x".repeat(KEY_MAX_BYTES)).is_none());
    }
}
