//! Objects the server makes sure of at start.

pub mod policy;
mod policy_table;
mod reconcile;

use std::{borrow::Cow, net::IpAddr};

use ringbolt_machinery::json::quote::write_string;

/// One object to create at start where it is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapObject {
    /// API group, empty for core.
    pub group: &'static str,
    /// Version of `json`.
    pub version: &'static str,
    /// Plural name of the resource.
    pub resource: &'static str,
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: &'static str,
    /// Name.
    pub name: &'static str,
    /// The object as a client would send it: it goes through the server's own write path.
    pub json: Cow<'static, str>,
}

/// The name of the service that this server is, and of what goes with it.
const KUBERNETES: &str = "kubernetes";
/// The port of that service.
const SERVICE_PORT: u16 = 443;

const fn namespace(name: &'static str, json: &'static str) -> BootstrapObject {
    let json = Cow::Borrowed(json);
    BootstrapObject { group: "", version: "v1", resource: "namespaces", namespace: "", name, json }
}

/// The system namespaces, in the order kube-apiserver makes them.
pub const SYSTEM_NAMESPACES: [BootstrapObject; 4] = [
    namespace("kube-system", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}"#),
    namespace("kube-public", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-public"}}"#),
    namespace(
        "kube-node-lease",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}}"#,
    ),
    namespace("default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#),
];

const fn priority_class(name: &'static str, json: &'static str) -> BootstrapObject {
    BootstrapObject {
        group: "scheduling.k8s.io",
        version: "v1",
        resource: "priorityclasses",
        namespace: "",
        name,
        json: Cow::Borrowed(json),
    }
}

/// The priorities of what a cluster or a node cannot do without.
pub const SYSTEM_PRIORITY_CLASSES: [BootstrapObject; 2] = [
    priority_class(
        "system-node-critical",
        r#"{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-node-critical"},"value":2000001000,"description":"Used for system critical pods that must not be moved from their current node."}"#,
    ),
    priority_class(
        "system-cluster-critical",
        r#"{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-cluster-critical"},"value":2000000000,"description":"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."}"#,
    ),
];

/// The service that clients within the cluster find this server by: `address` of the services, and the port that the
/// server listens on; `node_port` is a port of the nodes, 0 for none.
pub fn kubernetes_service(address: IpAddr, port: u16, node_port: u16) -> BootstrapObject {
    let (kind, node_port) = match node_port {
        0 => ("ClusterIP", String::new()),
        node_port => ("NodePort", format!(r#","nodePort":{node_port}"#)),
    };
    BootstrapObject {
        group: "",
        version: "v1",
        resource: "services",
        namespace: "default",
        name: KUBERNETES,
        json: Cow::Owned(format!(
            r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{KUBERNETES}","namespace":"default","labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"type":"{kind}","clusterIP":"{address}","ipFamilyPolicy":"SingleStack","sessionAffinity":"None","ports":[{{"name":"https","protocol":"TCP","port":{SERVICE_PORT},"targetPort":{port}{node_port}}}]}}}}"#
        )),
    }
}

/// The ConfigMap that says whose certificates the server takes.
pub const AUTHENTICATION_TRUST: &str = "extension-apiserver-authentication";
/// The ConfigMap that says since when the use of tokens without an end is noted.
pub const LEGACY_TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

/// A ConfigMap of kube-system.
pub fn config_map(name: &'static str, data: &[(&str, &str)]) -> BootstrapObject {
    let mut json = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"kube-system"}},"data":{{"#
    )
    .into_bytes();
    for (number, (key, value)) in data.iter().enumerate() {
        if number > 0 {
            json.push(b',');
        }
        write_string(&mut json, key);
        json.push(b':');
        write_string(&mut json, value);
    }
    json.extend_from_slice(b"}}");
    BootstrapObject {
        group: "",
        version: "v1",
        resource: "configmaps",
        namespace: "kube-system",
        name,
        json: Cow::Owned(String::from_utf8_lossy(&json).into_owned()),
    }
}

/// The addresses that the service stands for, in both forms.
pub fn kubernetes_endpoints(address: IpAddr, port: u16) -> [BootstrapObject; 2] {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let object = |group, version, resource, json| BootstrapObject {
        group,
        version,
        resource,
        namespace: "default",
        name: KUBERNETES,
        json: Cow::Owned(json),
    };
    [
        object(
            "",
            "v1",
            "endpoints",
            format!(
                r#"{{"apiVersion":"v1","kind":"Endpoints","metadata":{{"name":"{KUBERNETES}","namespace":"default","labels":{{"endpointslice.kubernetes.io/skip-mirror":"true"}}}},"subsets":[{{"addresses":[{{"ip":"{address}"}}],"ports":[{{"name":"https","port":{port},"protocol":"TCP"}}]}}]}}"#
            ),
        ),
        object(
            "discovery.k8s.io",
            "v1",
            "endpointslices",
            format!(
                r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"name":"{KUBERNETES}","namespace":"default","labels":{{"kubernetes.io/service-name":"{KUBERNETES}"}}}},"addressType":"{family}","endpoints":[{{"addresses":["{address}"],"conditions":{{"ready":true}}}}],"ports":[{{"name":"https","port":{port},"protocol":"TCP"}}]}}"#
            ),
        ),
    ]
}

/// The ranges that services get their addresses from, as text.
pub fn service_cidr(ranges: &[String]) -> BootstrapObject {
    let ranges: Vec<_> = ranges.iter().map(|range| format!("{range:?}")).collect();
    BootstrapObject {
        group: "networking.k8s.io",
        version: "v1",
        resource: "servicecidrs",
        namespace: "",
        name: KUBERNETES,
        json: Cow::Owned(format!(
            r#"{{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{{"name":"{KUBERNETES}"}},"spec":{{"cidrs":[{}]}}}}"#,
            ranges.join(",")
        )),
    }
}

/// What is applied to its status: that it may be used. `now` is a time as metadata has it.
pub fn service_cidr_ready(now: &str) -> String {
    format!(
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{{"name":"{KUBERNETES}"}},"status":{{"conditions":[{{"type":"Ready","status":"True","message":"Kubernetes default Service CIDR is ready","lastTransitionTime":"{now}"}}]}}}}"#
    )
}

impl BootstrapObject {
    /// The path that it is created at.
    pub fn collection(&self) -> String {
        let prefix = match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match self.namespace {
            "" => format!("{prefix}/{}", self.resource),
            namespace => format!("{prefix}/namespaces/{namespace}/{}", self.resource),
        }
    }

    /// Its own path.
    pub fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_they_say() {
        let v4: IpAddr = "10.0.0.1".parse().unwrap();
        let v6: IpAddr = "fd00::1".parse().unwrap();
        let ranges = ["10.0.0.0/24".to_owned(), "fd00::/108".to_owned()];
        let mut objects = SYSTEM_NAMESPACES.to_vec();
        objects.extend(SYSTEM_PRIORITY_CLASSES);
        objects.extend([kubernetes_service(v4, 6443, 0), kubernetes_service(v6, 6443, 30443)]);
        objects.extend(kubernetes_endpoints(v4, 6443));
        objects.extend(kubernetes_endpoints(v6, 6443));
        objects.push(service_cidr(&ranges));
        for object in objects {
            let json: serde_json::Value = serde_json::from_str(&object.json).unwrap();
            assert_eq!(json["metadata"]["name"], object.name);
            assert_eq!(json["metadata"]["namespace"].as_str().unwrap_or(""), object.namespace);
            let version = [object.group, object.version].join("/");
            assert_eq!(json["apiVersion"], version.trim_start_matches('/'));
        }
        let ready: serde_json::Value = serde_json::from_str(&service_cidr_ready("now")).unwrap();
        assert_eq!(ready["status"]["conditions"][0]["lastTransitionTime"], "now");
    }

    #[test]
    fn paths() {
        let [namespace, ..] = SYSTEM_NAMESPACES;
        assert_eq!(namespace.path(), "/api/v1/namespaces/kube-system");
        let [_, slice] = kubernetes_endpoints("10.0.0.1".parse().unwrap(), 1);
        assert_eq!(slice.collection(), "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices");
    }
}
