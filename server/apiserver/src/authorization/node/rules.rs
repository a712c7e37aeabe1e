//! What every node may do, whichever pods run on it (the part of `NodeRules` that is not subdivided).

use ringbolt_protocol::request_info::RequestInfo;

const READ: &[&str] = &["get", "list", "watch"];

/// Groups, resource, verbs.
const RULES: [(&[&str], &str, &[&str]); 10] = [
    (&["authentication.k8s.io"], "tokenreviews", &["create"]),
    (&["authorization.k8s.io"], "subjectaccessreviews", &["create"]),
    (&["authorization.k8s.io"], "localsubjectaccessreviews", &["create"]),
    (&[""], "services", READ),
    (&["", "events.k8s.io"], "events", &["create", "update", "patch"]),
    (&[""], "endpoints", &["get"]),
    (&["certificates.k8s.io"], "certificatesigningrequests", &["create", "get", "list", "watch"]),
    (&["certificates.k8s.io"], "clustertrustbundles", READ),
    (&["storage.k8s.io"], "csidrivers", READ),
    (&["node.k8s.io"], "runtimeclasses", READ),
];

/// Whether a rule allows a request about a resource.
pub(super) fn allow(verb: &str, info: &RequestInfo<'_>) -> bool {
    info.is_resource_request
        && info.subresource.is_empty()
        && RULES.iter().any(|(groups, resource, verbs)| {
            *resource == info.resource && groups.contains(&info.api_group) && verbs.contains(&verb)
        })
}
