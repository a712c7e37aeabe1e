//! Labels of request metrics: what they call verbs, scopes and paths.

use ringbolt_protocol::{
    head::Head,
    query,
    request_info::{RequestInfo, Verb},
};

/// The labels a request is counted under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLabels<'r> {
    /// `GET`, `LIST`, `WATCH`, `APPLY`, `CONNECT`, …
    pub verb: &'static str,
    /// `All`, `invalid`, or empty.
    pub dry_run: &'static str,
    /// Group.
    pub group: &'r str,
    /// Version.
    pub version: &'r str,
    /// Resource.
    pub resource: &'r str,
    /// Subresource; the path where it is about no resource.
    pub subresource: &'r str,
    /// `resource`, `namespace`, `cluster`, or empty.
    pub scope: &'static str,
    /// `apiserver`; empty for health checks.
    pub component: &'static str,
    /// Sizes are counted of reads only.
    pub is_read: bool,
}

impl<'r> RequestLabels<'r> {
    /// The labels of a request; `None` for paths that are not counted.
    pub fn of(head: &Head<'r>, info: &RequestInfo<'r>) -> Option<RequestLabels<'r>> {
        let scope = scope(info);
        let verb = verb(head, info, scope);
        let is_read = matches!(info.verb, Verb::Get | Verb::List);
        let labels = RequestLabels {
            verb,
            dry_run: dry_run(head.query()),
            group: info.api_group,
            version: info.api_version,
            resource: info.resource,
            subresource: info.subresource,
            scope,
            component: "apiserver",
            is_read,
        };
        if info.is_resource_request {
            return Some(labels);
        }
        let (subresource, component) = match info.path {
            "/healthz" | "/livez" | "/readyz" => (info.path, ""),
            "/api" | "/api/" => ("api", "apiserver"),
            "/apis" | "/apis/" => ("apis", "apiserver"),
            "/openapi/v2" => ("openapi/v2", ""),
            path if path.starts_with("/openapi/v3") => ("openapi/v3", ""),
            _ => return None,
        };
        Some(RequestLabels { group: "", version: "", resource: "", subresource, component, ..labels })
    }

    pub(super) fn values(&self) -> [&str; 8] {
        [
            self.component,
            self.dry_run,
            self.group,
            self.resource,
            self.scope,
            self.subresource,
            self.verb,
            self.version,
        ]
    }
}

/// The scope label.
pub fn scope(info: &RequestInfo<'_>) -> &'static str {
    if !info.name.is_empty() || info.verb == Verb::Create {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else if info.is_resource_request {
        "cluster"
    } else {
        ""
    }
}

/// The verb label: methods in upper case, and what they come to.
fn verb(head: &Head<'_>, info: &RequestInfo<'_>, scope: &str) -> &'static str {
    if info.is_resource_request
        && matches!(info.subresource, "log" | "exec" | "portforward" | "attach" | "proxy")
    {
        return "CONNECT";
    }
    if info.verb_via_path_prefix && info.verb == Verb::Watch {
        return "WATCH";
    }
    match head.method {
        "GET" if query::is_watch(head.query()) => "WATCH",
        "GET" | "HEAD" if !matches!(scope, "resource" | "") => "LIST",
        "GET" | "HEAD" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" if head.header("content-type") == Some(b"application/apply-patch+yaml") => "APPLY",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "CONNECT" => "CONNECT",
        _ => "OTHER",
    }
}

fn dry_run(query: &str) -> &'static str {
    if !query.contains("dryRun") {
        return "";
    }
    let values = || query::pairs(query).filter(|(key, _)| key == "dryRun").map(|(_, value)| value);
    match values().next() {
        None => "",
        Some(_) if values().all(|value| value == "All") => "All",
        Some(_) => "invalid",
    }
}

/// The few user names that metrics tell apart.
pub(super) const USERS: [&str; 7] = [
    "admin",
    "client",
    "kube_proxy",
    "kubelet",
    "system:serviceaccount:kube-system:default",
    "email_id",
    "other",
];

/// Which of [`USERS`] a user counts as.
pub(super) fn user(name: &str) -> usize {
    USERS[..5].iter().position(|known| *known == name).unwrap_or(if name.contains('@') { 5 } else { 6 })
}

#[cfg(test)]
mod tests {
    use ringbolt_protocol::head::{BodyLength, HeaderSpan, Span, Version};

    use super::*;

    fn check(method: &str, target: &str, content_type: &str, expect: Option<[&str; 8]>) {
        let buffer = format!("content-type{content_type}");
        let at = |start: usize, end: usize| Span { start: start as u32, end: end as u32 };
        let headers = [HeaderSpan { name: at(0, 12), value: at(12, buffer.len()) }];
        let head = Head {
            buffer: buffer.as_bytes(),
            method,
            target,
            authority: "",
            version: Version::Http2,
            headers: &headers,
            body: BodyLength::None,
        };
        let info = RequestInfo::new(method, head.path(), head.query()).expect("a kind");
        let labels = RequestLabels::of(&head, &info);
        assert_eq!(labels.as_ref().map(RequestLabels::values), expect, "{method} {target}");
    }

    #[test]
    fn of_requests() {
        let pods = |scope, sub, verb| Some(["apiserver", "", "", "pods", scope, sub, verb, "v1"]);
        check("GET", "/api/v1/namespaces/a/pods/p", "", pods("resource", "", "GET"));
        check("GET", "/api/v1/namespaces/a/pods", "", pods("namespace", "", "LIST"));
        check("GET", "/api/v1/pods", "", pods("cluster", "", "LIST"));
        check("GET", "/api/v1/pods?watch=1", "", pods("cluster", "", "WATCH"));
        check("GET", "/api/v1/watch/pods", "", pods("cluster", "", "WATCH"));
        check("POST", "/api/v1/namespaces/a/pods", "", pods("resource", "", "POST"));
        check("PUT", "/api/v1/namespaces/a/pods/p/status", "", pods("resource", "status", "PUT"));
        check("GET", "/api/v1/namespaces/a/pods/p/log", "", pods("resource", "log", "CONNECT"));
        check(
            "PATCH",
            "/api/v1/namespaces/a/pods/p",
            "application/merge-patch+json",
            pods("resource", "", "PATCH"),
        );
        check(
            "PATCH",
            "/api/v1/namespaces/a/pods/p",
            "application/apply-patch+yaml",
            pods("resource", "", "APPLY"),
        );
        check("DELETE", "/api/v1/namespaces/a/pods", "", pods("namespace", "", "DELETE"));
        check("FOO", "/api/v1/namespaces/a/pods", "", pods("namespace", "", "OTHER"));
        let dry = |value| Some(["apiserver", value, "", "pods", "resource", "", "POST", "v1"]);
        check("POST", "/api/v1/namespaces/a/pods?dryRun=All", "", dry("All"));
        check("POST", "/api/v1/namespaces/a/pods?dryRun=x", "", dry("invalid"));
        check("GET", "/healthz", "", Some(["", "", "", "", "", "/healthz", "GET", ""]));
        check("GET", "/apis", "", Some(["apiserver", "", "", "", "", "apis", "GET", ""]));
        check("GET", "/apis/apps/v1", "", None);
        check("GET", "/nothing", "", None);
    }

    #[test]
    fn few_users_are_told_apart() {
        let check = |name: &str, expect: &str| assert_eq!(USERS[user(name)], expect, "{name}");
        check("admin", "admin");
        check("me@example.com", "email_id");
        check("system:node:n", "other");
    }
}
