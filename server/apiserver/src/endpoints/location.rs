//! Where kubelets and pods are, and what a proxy's path names.

use ringbolt_machinery::{
    json,
    status::{Reason, Status},
    value::Value,
};

use super::{get, resource::ResourceStore};
use crate::{
    connector::{Backend, Connector, Scheme, Trust},
    core::CoreContext,
};

/// What a node declares that speaks WebSockets itself.
const SPEAKS_WEBSOCKETS: &str = "ExtendWebSocketsToKubelet";

/// An object, port and scheme, as the path of a proxy names them: `name`, `name:port` or `scheme:name:port`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'t> {
    pub(super) scheme: Scheme,
    pub(super) name: &'t str,
    /// A number or a name; empty for none.
    pub(super) port: &'t str,
}

impl<'t> Target<'t> {
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        let scheme = match scheme {
            "" | "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        (!name.is_empty()).then_some(Target { scheme, name, port })
    }
}

/// The kubelet of a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kubelet {
    pub(super) host: String,
    pub(super) port: u16,
    /// It takes WebSockets as clients send them.
    pub(super) speaks_websockets: bool,
}

impl Kubelet {
    /// By the status of its node.
    pub(super) fn find(
        nodes: &ResourceStore,
        core: &CoreContext,
        node: &str,
        connector: &dyn Connector,
    ) -> Result<Kubelet, Status> {
        let object = get::lookup(nodes, core, "", node)?;
        core.with_arena(|arena| {
            let tree = decode(nodes, arena, &object.json)?;
            Kubelet::of(&tree, connector.address_types(), connector.kubelet_port())
        })
    }

    fn of(node: &Value<'_>, address_types: &[String], default_port: u16) -> Result<Kubelet, Status> {
        let addresses = list(node, &["status", "addresses"]);
        let of_type = |wanted: &String| {
            addresses.iter().find(|address| address.str_at(&["type"]) == Some(wanted))?.str_at(&["address"])
        };
        let Some(host) = address_types.iter().find_map(of_type) else {
            let known = addresses.iter().map(|address| {
                let text = |field: &str| address.str_at(&[field]).unwrap_or("");
                format!("{{{} {}}}", text("type"), text("address"))
            });
            let known = known.collect::<Vec<_>>().join(" ");
            let message = format!("no preferred addresses found; known addresses: [{known}]");
            return Err(Status::failure(500, Reason::Unknown, message));
        };
        let port =
            node.path(&["status", "daemonEndpoints", "kubeletEndpoint", "Port"]).and_then(Value::as_i64);
        let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let declared = list(node, &["status", "declaredFeatures"]);
        Ok(Kubelet {
            host: host.to_owned(),
            port: port.unwrap_or(default_port),
            speaks_websockets: declared.iter().any(|feature| feature.as_str() == Some(SPEAKS_WEBSOCKETS)),
        })
    }

    /// The place of a path there.
    pub(super) fn backend(&self, path: String, query: Vec<(&'static str, String)>) -> Backend {
        Backend {
            scheme: Scheme::Https,
            trust: Trust::Kubelet,
            host: self.host.clone(),
            port: self.port,
            only_global: false,
            path,
            query,
        }
    }
}

/// The port that a path names; none is that of the scheme.
pub(super) fn port(text: &str, scheme: Scheme) -> Result<u16, Status> {
    if text.is_empty() {
        return Ok(if scheme == Scheme::Https { 443 } else { 80 });
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit()).then_some(text);
    let port = digits.and_then(|digits| digits.parse().ok());
    port.ok_or_else(|| Status::bad_request(format!("invalid port {text:?}")))
}

/// What of a request's path goes on to who is behind a proxy: empty where it ends right behind `proxy`, else cleaned and
/// with the slash at its end that was there. `parts` are the segments from the resource on.
pub(super) fn proxied_path(path: &str, parts: usize) -> String {
    let segments = path.trim_matches('/').split('/');
    let before = segments.clone().count().saturating_sub(parts) + 3;
    let mut kept: Vec<&str> = Vec::new();
    for segment in segments.skip(before) {
        match segment {
            "" | "." => {}
            ".." => _ = kept.pop(),
            segment => kept.push(segment),
        }
    }
    let ends_in_slash = path.ends_with('/');
    if kept.is_empty() {
        let below = path.trim_matches('/').split('/').nth(before).is_some();
        return if ends_in_slash || below { "/".to_owned() } else { String::new() };
    }
    let slash = if ends_in_slash { "/" } else { "" };
    format!("/{}{slash}", kept.join("/"))
}

pub(super) fn decode<'a>(
    store: &ResourceStore,
    arena: &'a bumpalo::Bump,
    json: &'a [u8],
) -> Result<Value<'a>, Status> {
    json::decode_stored(arena, store.schema, store.served.stored_type, json)
        .map_err(|e| Status::internal_error(e.to_string()))
}

pub(super) fn list<'v, 'a>(value: &'v Value<'a>, path: &[&str]) -> &'v [Value<'a>] {
    value.path(path).and_then(Value::as_list).map_or(&[], |list| list)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    #[test]
    fn targets() {
        let check = |text: &str, expect: Option<(Scheme, &str, &str)>| {
            assert_eq!(Target::parse(text).map(|t| (t.scheme, t.name, t.port)), expect, "{text}");
        };
        check("a", Some((Scheme::Http, "a", "")));
        check("a:80", Some((Scheme::Http, "a", "80")));
        check("https:a:web", Some((Scheme::Https, "a", "web")));
        check(":a:", Some((Scheme::Http, "a", "")));
        check("ftp:a:80", None);
        check("", None);
        check("http::80", None);
        check("http:a:80:b", None);
    }

    #[test]
    fn kubelets() {
        let types: Vec<String> = ["Hostname", "InternalIP"].map(str::to_owned).into();
        let check = |node: &str, expect: Result<(&str, u16, bool), &str>| {
            let arena = Bump::new();
            let node = json::decode_untyped(&arena, arena.alloc_slice_copy(node.as_bytes())).unwrap();
            let found = Kubelet::of(&node, &types, 10250);
            let found = found.as_ref().map(|k| (&*k.host, k.port, k.speaks_websockets));
            assert_eq!(found.map_err(|s| &*s.message), expect, "{node:?}");
        };
        let both = r#"[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"n"}]"#;
        check(&format!(r#"{{"status":{{"addresses":{both}}}}}"#), Ok(("n", 10250, false)));
        check(
            r#"{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":7}},"declaredFeatures":["A","ExtendWebSocketsToKubelet"]}}"#,
            Ok(("10.0.0.1", 7, true)),
        );
        check("{}", Err("no preferred addresses found; known addresses: []"));
        check(
            r#"{"status":{"addresses":[{"type":"ExternalIP","address":"1.2.3.4"},{"type":"ExternalDNS","address":"x"}]}}"#,
            Err("no preferred addresses found; known addresses: [{ExternalIP 1.2.3.4} {ExternalDNS x}]"),
        );
    }

    #[test]
    fn paths_behind_proxies() {
        let check = |path: &str, expect: &str| {
            let info = ringbolt_protocol::request_info::RequestInfo::new("GET", path, "").unwrap();
            assert_eq!(proxied_path(path, info.parts.len()), expect, "{path}");
        };
        check("/api/v1/nodes/n/proxy", "");
        check("/api/v1/nodes/n/proxy/", "/");
        check("/api/v1/nodes/n/proxy/a/b", "/a/b");
        check("/api/v1/nodes/n/proxy/a/b/", "/a/b/");
        check("/api/v1/nodes/n/proxy//a//b", "/a/b");
        check("/api/v1/nodes/n/proxy/../../secrets", "/secrets");
        check("/api/v1/nodes/n/proxy/a/..", "/");
        check("/api/v1/namespaces/proxy/services/proxy/proxy/proxy", "/proxy");
        check("/api/v1/namespaces/d/pods/p:80/proxy/1/2/3/4/5/6/7/8/9", "/1/2/3/4/5/6/7/8/9");
    }
}
