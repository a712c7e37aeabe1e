//! `proxy` of pods, nodes and services: where a request goes.

use std::sync::Arc;

use ringbolt_machinery::{
    field::quote,
    status::{Reason, Status},
    value::Value,
};
use ringbolt_protocol::request_info::Verb;

use super::{
    connecting::{self, Connects},
    get,
    location::{Kubelet, Target, decode, list, port, proxied_path},
    resource::ResourceStore,
};
use crate::{
    connector::{Backend, Connector, Purpose, Scheme, Start, Trust},
    core::CoreContext,
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// The label that says whose an EndpointSlice is.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// What a proxy leads to.
pub(crate) enum Proxied {
    Pods(Arc<ResourceStore>),
    Nodes(Arc<ResourceStore>),
    Services(Services),
}

/// The resources that services are resolved by.
pub(crate) struct Services {
    pub(crate) services: Arc<ResourceStore>,
    pub(crate) slices: Arc<ResourceStore>,
    pub(crate) pods: Arc<ResourceStore>,
}

/// The subresource.
pub(crate) struct Proxy {
    pub(crate) proxied: Proxied,
    pub(crate) connector: Arc<dyn Connector>,
}

/// Where a request goes, but for its path.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    scheme: Scheme,
    trust: Trust,
    host: String,
    port: u16,
    only_global: bool,
}

impl Connects for Proxy {
    fn prepare(&self, request: &Request<'_>) -> Result<Start, Status> {
        let info = request.info;
        if info.verb == Verb::None && request.head.method != "OPTIONS" {
            return Err(Status::method_not_allowed());
        }
        let place = match &self.proxied {
            Proxied::Pods(pods) => pod(pods, request.core, info.namespace, info.name),
            Proxied::Nodes(nodes) => node(nodes, request.core, info.name, &*self.connector),
            Proxied::Services(services) => services.find(request.core, info.namespace, info.name),
        }?;
        let Place { scheme, trust, host, port, only_global } = place;
        let path = proxied_path(info.path, info.parts.len());
        let backend = Backend { scheme, trust, host, port, only_global, path, query: Vec::new() };
        Ok(self.connector.prepare(request, backend, Purpose::Proxy))
    }
}

impl ResourceEndpoint for Proxy {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        connecting::serve(self, request)
    }
}

fn pod(pods: &ResourceStore, core: &CoreContext, namespace: &str, id: &str) -> Result<Place, Status> {
    let invalid = || Status::bad_request(format!("invalid pod request {}", quote(id)));
    let target = Target::parse(id).ok_or_else(invalid)?;
    let object = get::lookup(pods, core, namespace, target.name)?;
    core.with_arena(|arena| pod_place(&target, &decode(pods, arena, &object.json)?))
}

/// A pod's address, and the port that is named or is the first that it declares.
fn pod_place(target: &Target<'_>, pod: &Value<'_>) -> Result<Place, Status> {
    let declared = || {
        let ports = list(pod, &["spec", "containers"]).iter().find_map(|c| list(c, &["ports"]).first())?;
        ports.path(&["containerPort"]).and_then(Value::as_i64).map(|port| port.to_string())
    };
    let named = if target.port.is_empty() { declared().unwrap_or_default() } else { target.port.to_owned() };
    let ips = list(pod, &["status", "podIPs"]);
    let host = ips.first().and_then(|ip| ip.str_at(&["ip"])).unwrap_or("");
    if host.parse::<std::net::IpAddr>().is_err() {
        return Err(Status::bad_request("address not allowed"));
    }
    let port = port(&named, target.scheme)?;
    Ok(Place { scheme: target.scheme, trust: Trust::Anyone, host: host.to_owned(), port, only_global: true })
}

fn node(
    nodes: &ResourceStore,
    core: &CoreContext,
    id: &str,
    connector: &dyn Connector,
) -> Result<Place, Status> {
    let invalid = || Status::bad_request(format!("invalid node request {}", quote(id)));
    let target = Target::parse(id).ok_or_else(invalid)?;
    let kubelet = Kubelet::find(nodes, core, target.name, connector)?;
    node_place(&target, kubelet)
}

/// The kubelet, unless another port of its node is named.
fn node_place(target: &Target<'_>, kubelet: Kubelet) -> Result<Place, Status> {
    let Kubelet { host, port: of_kubelet, .. } = kubelet;
    if target.port.is_empty() || target.port == of_kubelet.to_string() {
        let (scheme, trust) = (Scheme::Https, Trust::Kubelet);
        return Ok(Place { scheme, trust, host, port: of_kubelet, only_global: true });
    }
    let port = port(target.port, target.scheme)?;
    Ok(Place { scheme: target.scheme, trust: Trust::Anyone, host, port, only_global: true })
}

impl Services {
    /// One of a service's endpoints: it must be a pod of its namespace, and nothing else is proxied to.
    fn find(&self, core: &CoreContext, namespace: &str, id: &str) -> Result<Place, Status> {
        let invalid = || Status::bad_request(format!("invalid service request {}", quote(id)));
        let target = Target::parse(id).ok_or_else(invalid)?;
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
        let found = self.endpoint(core, namespace, target.name, &port)?;
        let (host, port) =
            found.ok_or_else(|| unavailable(format!("no endpoints available for service {name}")))?;
        Ok(Place { scheme: target.scheme, trust: Trust::Anyone, host, port, only_global: false })
    }

    /// Slices of the first family come first, and the endpoints of a slice in an order that chance begins.
    fn endpoint(
        &self,
        core: &CoreContext,
        namespace: &str,
        service: &str,
        port: &str,
    ) -> Result<Option<(String, u16)>, Status> {
        let snapshot = core.storage.snapshot(self.slices.stored());
        let of_service = |key: &str, value: &str| key == SERVICE_NAME && value == service;
        let mut other_families = None;
        for slice in snapshot.range(&format!("{namespace}/"), None) {
            if !slice.labels().any(|(key, value)| of_service(key, value)) {
                continue;
            }
            let found = core.with_arena(|arena| {
                let tree = decode(&self.slices, arena, &slice.json)?;
                let is_first = tree.str_at(&["addressType"]) == Some("IPv4");
                let start = core.random_u64();
                let found = in_slice(&tree, port, start, |e| self.is_pod(core, namespace, e));
                Ok::<_, Status>(found.map(|found| (is_first, found)))
            })?;
            match found {
                Some((true, found)) => return Ok(Some(found)),
                Some((false, found)) => _ = other_families.get_or_insert(found),
                None => {}
            }
        }
        Ok(other_families)
    }

    fn is_pod(&self, core: &CoreContext, namespace: &str, endpoint: &Value<'_>) -> bool {
        let target = |field: &str| endpoint.str_at(&["targetRef", field]).unwrap_or("");
        let Some(address) = first_address(endpoint) else { return false };
        if target("namespace") != namespace {
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

fn first_address<'a>(endpoint: &Value<'a>) -> Option<&'a str> {
    list(endpoint, &["addresses"]).first().and_then(Value::as_str)
}

/// A ready endpoint of a slice that has the port, looked for from one on that `start` picks.
fn in_slice(
    slice: &Value<'_>,
    port: &str,
    start: u64,
    takes: impl Fn(&Value<'_>) -> bool,
) -> Option<(String, u16)> {
    let number = list(slice, &["ports"])
        .iter()
        .filter(|declared| declared.str_at(&["name"]) == Some(port))
        .find_map(|declared| declared.path(&["port"]).and_then(Value::as_i64))?;
    let endpoints = list(slice, &["endpoints"]);
    let start = usize::try_from(start % endpoints.len().max(1) as u64).ok()?;
    let endpoint = endpoints[start..].iter().chain(&endpoints[..start]).find(|endpoint| {
        let ready = endpoint.path(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false);
        ready && takes(endpoint)
    })?;
    Some((first_address(endpoint)?.to_owned(), u16::try_from(number).ok()?))
}

fn unavailable(message: String) -> Status {
    Status::failure(503, Reason::ServiceUnavailable, message)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    fn tree<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
        json::decode_untyped(arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
    }

    #[test]
    fn pods() {
        let check = |id: &str, pod: &str, expect: Result<(Scheme, &str, u16), &str>| {
            let arena = Bump::new();
            let found = pod_place(&Target::parse(id).unwrap(), &tree(&arena, pod));
            let found = found.as_ref().map(|p| (p.scheme, &*p.host, p.port)).map_err(|s| &*s.message);
            assert_eq!(found, expect, "{id}");
        };
        let pod = r#"{"spec":{"containers":[{"name":"a"},{"ports":[{"containerPort":8080},{"containerPort":9}]}]},
            "status":{"podIPs":[{"ip":"10.0.0.9"}]}}"#;
        check("p", pod, Ok((Scheme::Http, "10.0.0.9", 8080)));
        check("p:81", pod, Ok((Scheme::Http, "10.0.0.9", 81)));
        check("https:p:", pod, Ok((Scheme::Https, "10.0.0.9", 8080)));
        let bare = r#"{"status":{"podIPs":[{"ip":"fd00::9"}]}}"#;
        check("p", bare, Ok((Scheme::Http, "fd00::9", 80)));
        check("https:p:", bare, Ok((Scheme::Https, "fd00::9", 443)));
        check("p:http", pod, Err(r#"invalid port "http""#));
        check("p", "{}", Err("address not allowed"));
        check("p:1", r#"{"status":{"podIPs":[{"ip":"x"}]}}"#, Err("address not allowed"));
    }

    #[test]
    fn nodes() {
        let check = |id: &str, expect: (Scheme, Trust, u16)| {
            let kubelet = Kubelet { host: "n".to_owned(), port: 10250, speaks_websockets: false };
            let found = node_place(&Target::parse(id).unwrap(), kubelet).unwrap();
            assert!(found.only_global && found.host == "n");
            assert_eq!((found.scheme, found.trust, found.port), expect, "{id}");
        };
        check("n", (Scheme::Https, Trust::Kubelet, 10250));
        check("http:n:10250", (Scheme::Https, Trust::Kubelet, 10250));
        check("n:80", (Scheme::Http, Trust::Anyone, 80));
        check("https:n:80", (Scheme::Https, Trust::Anyone, 80));
    }

    #[test]
    fn endpoints_of_slices() {
        let text = r#"{"ports":[{"name":"a","port":1},{"name":"","port":2},{"name":"none"}],"endpoints":[
            {"addresses":["10.0.0.1"]},{"addresses":["10.0.0.2"],"conditions":{"ready":false}},{"addresses":["10.0.0.3"]}]}"#;
        let arena = Bump::new();
        let slice = tree(&arena, text);
        let check = |port: &str, start: u64, expect: Option<(&str, u16)>| {
            let found = in_slice(&slice, port, start, |_| true);
            assert_eq!(found.as_ref().map(|(ip, port)| (&**ip, *port)), expect, "{port} {start}");
        };
        check("a", 0, Some(("10.0.0.1", 1)));
        check("a", 1, Some(("10.0.0.3", 1)));
        check("", 5, Some(("10.0.0.3", 2)));
        check("none", 0, None);
        check("b", 0, None);
        assert_eq!(in_slice(&slice, "a", 0, |_| false), None);
        assert_eq!(in_slice(&tree(&arena, r#"{"ports":[{"name":"a","port":1}]}"#), "a", 3, |_| true), None);
    }
}
