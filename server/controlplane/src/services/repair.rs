//! Keeps the IPAddress objects of services as the services are: they go with the service, and come back where they are
//! missing. Follows the store's events; now and then it looks at everything.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_apiserver::server::hooks::HookContext;
use ringbolt_machinery::{json, scan, value::Value};
use ringbolt_storage::object::{Event, EventKind, Object, ResourceId};

use super::addresses::{MANAGED_BY, addresses, parent, text};

/// How often events are looked for. An address is free again after this at the latest.
const POLL: Duration = Duration::from_millis(50);
/// How often everything is looked at (`repairIPAddress` of kube-apiserver does it as often).
const RESYNC: Duration = Duration::from_secs(180);
/// How old an object without its service must be to go in such a round: the service may be on its way.
const GRACE_SECONDS: i64 = 60;
/// Where the objects are.
const COLLECTION: &str = "/apis/networking.k8s.io/v1/ipaddresses";

/// What the repair looks at.
#[derive(Clone, Copy, Debug)]
pub struct Repair {
    /// The resource that services are stored as.
    pub services: ResourceId,
    /// The resource of the objects.
    pub ip_addresses: ResourceId,
}

impl Repair {
    /// Looks at everything once, and goes on with it on a thread of its own until the server ends.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(self, context: &HookContext) -> Result<(), String> {
        let later = context.clone();
        context.spawn("service-ips", move || {
            let mut seen = self.resync(&later);
            let mut looked = Instant::now();
            while !later.signals.shutdown_initiated.wait(POLL) {
                if looked.elapsed() > RESYNC {
                    (seen, looked) = (self.resync(&later), Instant::now());
                }
                seen = self.follow(&later, seen);
            }
        })
    }

    /// Takes in what was committed after `seen`; answers up to where.
    fn follow(&self, context: &HookContext, seen: u64) -> u64 {
        let now = context.storage.revision();
        if now == seen {
            return seen;
        }
        let Ok(mut events) = context.storage.events_after(seen) else { return self.resync(context) };
        while let Some(event) = events.next(now) {
            self.take(context, &event);
        }
        now
    }

    fn take(&self, context: &HookContext, event: &Event) {
        let object = &event.object;
        if object.resource == self.ip_addresses && event.kind == EventKind::Deleted {
            // Whoever deleted it: the service still has the address.
            if let (Ok(address), Some(service)) = (object.name().parse(), self.service_of(context, object))
                && of_service(&service).contains(&address)
            {
                create(context, address, &service);
            }
            return;
        }
        if object.resource != self.services {
            return;
        }
        let now = if event.kind == EventKind::Deleted { Vec::new() } else { of_service(object) };
        let before = event.previous.as_deref().map(of_service).unwrap_or_default();
        for address in before.into_iter().filter(|address| !now.contains(address)) {
            self.release(context, address, &object.key);
        }
        for address in now {
            if context.storage.get(self.ip_addresses, &address.to_string()).is_none() {
                create(context, address, object);
            }
        }
    }

    /// The service that an object is of, as it is stored now.
    fn service_of(&self, context: &HookContext, object: &Object) -> Option<Arc<Object>> {
        context.storage.get(self.services, &parent(object)?)
    }

    /// Deletes the object of an address that the service `key` has no longer.
    fn release(&self, context: &HookContext, address: IpAddr, key: &str) {
        let Some(object) = context.storage.get(self.ip_addresses, &address.to_string()) else { return };
        let holds = |service: Arc<Object>| of_service(&service).contains(&address);
        if parent(&object).as_deref() == Some(key) && !self.service_of(context, &object).is_some_and(holds) {
            delete(context, &object);
        }
    }

    /// Looks at every service and every object. Answers the revision that it looked at.
    fn resync(&self, context: &HookContext) -> u64 {
        let services = context.storage.snapshot(self.services);
        for service in services.range("", None) {
            for address in of_service(service) {
                if context.storage.get(self.ip_addresses, &address.to_string()).is_none() {
                    create(context, address, service);
                }
            }
        }
        let now = jiff::Timestamp::now().as_second();
        for object in context.storage.snapshot(self.ip_addresses).range("", None) {
            let (Some(key), Ok(address)) = (parent(object), object.name().parse::<IpAddr>()) else {
                continue;
            };
            let created = scan::scalar(&object.json, &["metadata", "creationTimestamp"]);
            let created = created.and_then(|text| text.parse::<jiff::Timestamp>().ok());
            let managed = object
                .labels()
                .any(|(key, value)| key == "ipaddress.kubernetes.io/managed-by" && value == MANAGED_BY);
            if managed && created.is_none_or(|time| time.as_second() + GRACE_SECONDS < now) {
                self.release(context, address, &key);
            }
        }
        services.revision()
    }
}

/// The addresses that a stored service has.
fn of_service(service: &Object) -> Vec<IpAddr> {
    let arena = Bump::new();
    // The stored form lacks the brace that opens it.
    let text = arena.alloc_slice_fill_copy(service.json.len() + 1, b'{');
    text[1..].copy_from_slice(&service.json);
    let Ok(tree) = json::decode_untyped(&arena, text) else { return Vec::new() };
    tree.path(&["spec"]).and_then(Value::as_map).map(addresses).unwrap_or_default()
}

fn create(context: &HookContext, address: IpAddr, service: &Object) {
    let body = Bytes::from(text(address, service.namespace(), service.name(), ""));
    let target = format!("{COLLECTION}?fieldManager=kube-apiserver");
    report("POST", address, context.loopback.request("POST", target, body), 409);
}

fn delete(context: &HookContext, object: &Object) {
    let uid = scan::scalar(&object.json, &["metadata", "uid"]).unwrap_or_default();
    // Not one that has taken its place.
    let body = Bytes::from(format!(r#"{{"preconditions":{{"uid":"{uid}"}}}}"#));
    let target = format!("{COLLECTION}/{}", object.name());
    report("DELETE", object.name(), context.loopback.request("DELETE", target, body), 404);
}

/// What did not work is found again in the next round.
fn report(method: &str, name: impl std::fmt::Display, answer: Option<(u16, Vec<u8>)>, fine: u16) {
    match answer {
        Some((200..=299 | 409, _)) => {}
        Some((code, _)) if code == fine => {}
        Some((code, body)) => {
            tracing::warn!(code, body = %String::from_utf8_lossy(&body), "{method} of the IPAddress {name}");
        }
        None => tracing::warn!("{method} of the IPAddress {name}: no answer"),
    }
}
