//! IPAddress objects: one for each address that a service has, stored with the service.

use std::net::IpAddr;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    json, scan,
    schema::{Schema, StructId},
    time::Moment,
    value::{Map, Value},
};
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{Attributes as Stored, EncodedObject, Object, ResourceId},
};

use super::{family, random};
use crate::{network, registry::Registry, tree::Members};

/// Who looks after such an object (`ipallocator.ControllerName`).
pub(super) const MANAGED_BY: &str = "ipallocator.k8s.io";

/// Makes the objects of services that are written.
pub(crate) struct ServiceAddresses {
    schema: &'static Schema,
    ip_addresses: ResourceId,
    ty: StructId,
}

/// The service that an object is of, as the store knows it; `None` where it is of something else.
pub(super) fn parent(object: &Object) -> Option<String> {
    let part = |name: &str| scan::scalar(&object.json, &["spec", "parentRef", name]).unwrap_or_default();
    (part("resource") == "services" && part("group").is_empty())
        .then(|| format!("{}/{}", part("namespace"), part("name")))
}

/// The addresses of a spec, each once; none for services without.
pub(super) fn addresses(spec: &Map<'_>) -> Vec<IpAddr> {
    spec.items("clusterIPs").iter().filter_map(Value::as_str).filter_map(network::parse_legacy_ip).collect()
}

/// An object as a client would send it, the metadata with `more` in it.
pub(super) fn text(address: IpAddr, namespace: &str, service: &str, more: &str) -> String {
    let family = family(address);
    format!(
        r#"{{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{{"name":"{address}"{more},"labels":{{"ipaddress.kubernetes.io/ip-family":"{family}","ipaddress.kubernetes.io/managed-by":"{MANAGED_BY}"}}}},"spec":{{"parentRef":{{"resource":"services","namespace":"{namespace}","name":"{service}"}}}}}}"#
    )
}

/// What the server writes of who wrote it.
const FIELDS: &str = r#"{"f:metadata":{"f:labels":{".":{},"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}"#;

impl ServiceAddresses {
    pub(crate) fn new(schema: &'static Schema, registry: &Registry) -> Self {
        let served = registry.find("networking.k8s.io", "v1", "ipaddresses");
        let served = served.unwrap_or_else(|| unreachable!("ipaddresses are built in"));
        ServiceAddresses { schema, ip_addresses: served.stored, ty: served.stored_type }
    }

    /// What must be stored with a service: an object for each address that is new to it. What lies there of
    /// another service is one that nobody has any more, for the allocator gave the address out.
    pub(crate) fn charges(
        &self,
        attributes: &Attributes<'_>,
        service: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> Vec<Write> {
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        if !writes || !attributes.is("", "services") {
            return Vec::new();
        }
        let of = |service: Option<&Value<'_>>| {
            let spec = service.and_then(|s| s.path(&["spec"])?.as_map());
            spec.map(addresses).unwrap_or_default()
        };
        let had = of(old);
        let name = service.str_at(&["metadata", "name"]).unwrap_or("");
        let mut charges = Vec::new();
        for address in of(Some(service)).into_iter().filter(|address| !had.contains(address)) {
            let key = address.to_string();
            if let Some(stale) = attributes.storage.get(self.ip_addresses, &key) {
                if parent(&stale).is_some_and(|parent| parent == format!("{}/{name}", attributes.namespace)) {
                    continue;
                }
                let precondition = Precondition::Revision(stale.revision);
                charges.push(self.write(&key, precondition, Action::Delete { last: None }));
            }
            if let Some(action) = self.put(address, attributes.namespace, name) {
                charges.push(self.write(&key, Precondition::Absent, action));
            }
        }
        charges
    }

    fn write(&self, key: &str, precondition: Precondition, action: Action) -> Write {
        let resource = self.ip_addresses;
        Write { resource, key: key.into(), namespace_len: 0, precondition, needs_namespace: false, action }
    }

    fn put(&self, address: IpAddr, namespace: &str, service: &str) -> Option<Action> {
        let now = Moment::now().to_time();
        let more = format!(
            r#","uid":"{}","creationTimestamp":"{now}","managedFields":[{{"manager":"kube-apiserver","operation":"Update","apiVersion":"networking.k8s.io/v1","time":"{now}","fieldsType":"FieldsV1","fieldsV1":{FIELDS}}}]"#,
            uuid()
        );
        let (arena, text) = (Bump::new(), text(address, namespace, service, &more));
        let tree =
            json::decode_typed(&arena, self.schema, self.ty, text.as_bytes(), json::Mode::Lenient).ok()?;
        let mut tree = tree.value;
        if let Some(map) = tree.as_map_mut() {
            map.remove("kind");
            map.remove("apiVersion");
        }
        let (json, splice) = json::encode_stored(self.schema, self.ty, &tree);
        let labels = scan::labels(&json).into();
        let attributes = Stored { labels, ..Stored::default() };
        Some(Action::Put { object: EncodedObject { json: Bytes::from(json), splice }, attributes, ttl: None })
    }
}

/// A version 4 UUID. Nobody has to guess it in vain: it only tells objects apart.
fn uuid() -> String {
    let (high, low) = (random(), random());
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_4() {
        for _ in 0..100 {
            let uuid = uuid();
            assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
            assert!(["8", "9", "a", "b"].contains(&&uuid[19..20]), "{uuid}");
        }
        assert_ne!(uuid(), uuid());
    }
}
