//! `services/proxy`: which endpoint of a service a request would go to.
//!
//! Nothing is proxied yet: a request that would reach an endpoint gets 501, all others what the real server says.

use std::sync::Arc;

use ringbolt_machinery::{
    field::quote,
    json,
    status::{Reason, Status},
    value::Value,
};

use super::{answer, get, resource::ResourceStore};
use crate::{core::CoreContext, request::Request, response::Outcome, routes::ResourceEndpoint};

/// The label that says whose an EndpointSlice is.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The subresource, with the resources it is decided by.
pub(crate) struct ServiceProxy {
    pub(crate) services: Arc<ResourceStore>,
    pub(crate) slices: Arc<ResourceStore>,
    pub(crate) pods: Arc<ResourceStore>,
}

/// A service and its port, as a path names them.
#[derive(Debug, PartialEq, Eq)]
struct Target<'t> {
    name: &'t str,
    port: &'t str,
}

impl<'t> Target<'t> {
    /// From `name`, `name:port` or `scheme:name:port`.
    fn parse(text: &'t str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        (!name.is_empty() && matches!(scheme, "" | "http" | "https")).then_some(Target { name, port })
    }
}

impl ServiceProxy {
    /// Finds the endpoint; there is none where the answer is an error.
    fn locate(&self, core: &CoreContext, namespace: &str, id: &str) -> Result<(), Status> {
        let Some(target) = Target::parse(id) else {
            return Err(Status::bad_request(format!("invalid service request {}", quote(id))));
        };
        let name = quote(target.name);
        let mut port = target.port.to_owned();
        if let Ok(number) = target.port.parse::<i64>() {
            let service = get::lookup(&self.services, core, namespace, target.name)?;
            port = core
                .with_arena(|arena| {
                    let tree = decode(&self.services, arena, &service.json)?;
                    let declared = list(&tree, &["spec", "ports"])
                        .iter()
                        .find(|p| p.path(&["port"]).and_then(Value::as_i64) == Some(number));
                    Ok(declared.map(|p| p.str_at(&["name"]).unwrap_or("").to_owned()))
                })?
                .ok_or_else(|| unavailable(format!("no service port {number} found for service {name}")))?;
        }
        let snapshot = core.storage.snapshot(self.slices.stored());
        let prefix = format!("{namespace}/");
        for slice in snapshot.range(&prefix, None) {
            if !slice.labels().any(|(key, value)| key == SERVICE_NAME && value == target.name) {
                continue;
            }
            let found = core.with_arena(|arena| {
                let tree = decode(&self.slices, arena, &slice.json)?;
                let named = |p: &Value<'_>| {
                    p.str_at(&["name"]) == Some(&port) && p.path(&["port"]).is_some_and(|n| !n.is_null())
                };
                Ok::<_, Status>(
                    list(&tree, &["ports"]).iter().any(named)
                        && list(&tree, &["endpoints"]).iter().any(|e| self.is_pod(core, namespace, e)),
                )
            })?;
            if found {
                return Ok(());
            }
        }
        Err(unavailable(format!("no endpoints available for service {name}")))
    }

    /// Whether an endpoint is ready and the address of a pod of this namespace: nothing else is proxied to.
    fn is_pod(&self, core: &CoreContext, namespace: &str, endpoint: &Value<'_>) -> bool {
        let ready = endpoint.path(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false);
        let target = |field: &str| endpoint.str_at(&["targetRef", field]).unwrap_or("");
        let Some(address) = list(endpoint, &["addresses"]).first().and_then(Value::as_str) else {
            return false;
        };
        if !ready || target("namespace") != namespace {
            return false;
        }
        let Ok(pod) = get::lookup(&self.pods, core, namespace, target("name")) else { return false };
        core.with_arena(|arena| {
            let tree = decode(&self.pods, arena, &pod.json);
            tree.is_ok_and(|tree| {
                list(&tree, &["status", "podIPs"]).iter().any(|ip| ip.str_at(&["ip"]) == Some(address))
            })
        })
    }
}

fn decode<'a>(store: &ResourceStore, arena: &'a bumpalo::Bump, json: &'a [u8]) -> Result<Value<'a>, Status> {
    json::decode_stored(arena, store.schema, store.served.stored_type, json)
        .map_err(|e| Status::internal_error(e.to_string()))
}

fn list<'v, 'a>(value: &'v Value<'a>, path: &[&str]) -> &'v [Value<'a>] {
    value.path(path).and_then(Value::as_list).map_or(&[], |list| list)
}

fn unavailable(message: String) -> Status {
    Status::failure(503, Reason::ServiceUnavailable, message)
}

impl ResourceEndpoint for ServiceProxy {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let info = &request.info;
        let status = match self.locate(request.core, info.namespace, info.name) {
            Ok(()) => answer::not_built("services/proxy"),
            Err(status) => status,
        };
        answer::failed(request, &status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |text: &str, expect: Option<(&str, &str)>| {
            assert_eq!(Target::parse(text).map(|t| (t.name, t.port)), expect, "{text}");
        };
        check("a", Some(("a", "")));
        check("a:80", Some(("a", "80")));
        check("https:a:web", Some(("a", "web")));
        check(":a:", Some(("a", "")));
        check("ftp:a:80", None);
        check("", None);
        check("http::80", None);
        check("http:a:80:b", None);
    }
}
