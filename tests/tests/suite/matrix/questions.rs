//! What is asked: of resources and of paths, as attributes of a review and as requests that change nothing.

use ringbolt_tests::Dice;
use serde_json::{Value, json};

use super::policy::NAMESPACES;

/// A question about a resource, or about a path where that is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    pub(super) verb: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) subresource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) path: String,
}

/// Groups and resources, with subresources that are asked for.
const RESOURCES: [(&str, &str, &[&str]); 11] = [
    ("", "pods", &["", "", "log", "exec", "status"]),
    ("", "configmaps", &[""]),
    ("", "secrets", &[""]),
    ("", "services", &["", "status"]),
    ("", "nodes", &["", "status"]),
    ("", "events", &[""]),
    ("apps", "deployments", &["", "scale", "status"]),
    ("apps", "statefulsets", &["", "scale"]),
    ("batch", "jobs", &["", "status"]),
    ("rbac.authorization.k8s.io", "roles", &[""]),
    ("things.example.com", "widgets", &["", "status", "scale"]),
];
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/// Verbs that no request has.
const SPECIAL: [&str; 7] = ["use", "bind", "escalate", "impersonate", "approve", "*", "GET"];
const NAMES: [&str; 4] = ["only", "special", "other", "web-0"];
const PATHS: [&str; 20] = [
    "/healthz",
    "/healthz/ping",
    "/livez",
    "/readyz/etcd",
    "/version",
    "/version/",
    "/metrics",
    "/metrics/cadvisor",
    "/logs/a/b",
    "/logs",
    "/debug/pprof/profile-of-nothing",
    "/nothing",
    "/apis",
    "/api/",
    "/openapi/v9",
    "/custom/a",
    "/custom/a/b",
    "/customs",
    "/.well-known/nothing",
    "/",
];

/// Four hundred questions, always the same.
pub(crate) fn questions() -> Vec<Question> {
    let mut dice = Dice::seeded(20_260_601);
    let mut all = Vec::new();
    for path in PATHS {
        for verb in ["get", "post", "head"] {
            all.push(Question { verb: verb.to_owned(), path: path.to_owned(), ..Question::default() });
        }
    }
    while all.len() < 400 {
        let question = about_resource(&mut dice);
        let text = format!("{question:?}");
        if all.iter().all(|other| format!("{other:?}") != text) {
            all.push(question);
        }
    }
    all
}

fn one<'l>(dice: &mut Dice, of: &[&'l str]) -> &'l str {
    of[dice.below(of.len() as u64) as usize]
}

fn about_resource(dice: &mut Dice) -> Question {
    let (group, resource, subresources) = RESOURCES[dice.below(RESOURCES.len() as u64) as usize];
    let subresource = one(dice, subresources);
    let verb = match dice.below(8) {
        0 => one(dice, &SPECIAL),
        _ if subresource.is_empty() => one(dice, &VERBS),
        _ => one(dice, &["get", "create", "update", "patch"]),
    };
    // A request has a name or not by its verb; a subresource is always that of something.
    let has_name = match verb {
        "list" | "watch" | "deletecollection" => false,
        "create" => !subresource.is_empty(),
        _ => true,
    };
    let namespace = match resource {
        "nodes" => "",
        _ => one(dice, &[NAMESPACES[0], NAMESPACES[0], NAMESPACES[1], NAMESPACES[2], "default", ""]),
    };
    Question {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: if has_name { one(dice, &NAMES).to_owned() } else { String::new() },
        path: String::new(),
    }
}

impl Question {
    /// What only the last bindings give.
    pub(super) fn last(namespace: &str) -> Question {
        let [verb, group, resource] = ["get", "last.example.com", "lasts"].map(str::to_owned);
        Question { verb, group, resource, namespace: namespace.to_owned(), ..Question::default() }
    }

    /// May somebody ask for his rules?
    pub(super) fn of_rules() -> Question {
        let [verb, group, resource] =
            ["create", "authorization.k8s.io", "selfsubjectrulesreviews"].map(str::to_owned);
        Question { verb, group, resource, ..Question::default() }
    }

    /// As attributes of a review.
    pub(super) fn attributes(&self) -> Value {
        if !self.path.is_empty() {
            return json!({"nonResourceAttributes": {"verb": self.verb, "path": self.path}});
        }
        json!({"resourceAttributes": {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }})
    }

    /// As a request that finds nothing, or that is refused for what it says once it may ask: method and target.
    pub(super) fn request(&self) -> Option<(&'static str, String)> {
        if !self.path.is_empty() {
            let method = match self.verb.as_str() {
                "get" => "GET",
                "post" => "POST",
                _ => "HEAD",
            };
            // An answer to HEAD has no message that could be compared.
            return (method != "HEAD").then(|| (method, self.path.clone()));
        }
        let (method, query) = match self.verb.as_str() {
            "get" => ("GET", ""),
            "list" => ("GET", "?limit=1"),
            "watch" => ("GET", "?watch=true&fieldSelector=none"),
            "create" => ("POST", "?dryRun=All"),
            "update" => ("PUT", "?dryRun=All"),
            "patch" => ("PATCH", "?dryRun=All"),
            "delete" => ("DELETE", "?dryRun=All"),
            "deletecollection" => ("DELETE", "?dryRun=All"),
            _ => return None,
        };
        let mut path = match self.group.as_str() {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/v1"),
        };
        if !self.namespace.is_empty() {
            path += &format!("/namespaces/{}", self.namespace);
        }
        for part in [&self.resource, &self.name, &self.subresource].into_iter().filter(|p| !p.is_empty()) {
            path += &format!("/{part}");
        }
        Some((method, path + query))
    }

    /// The message of the 403, but for the reasons.
    pub(super) fn refusal(&self, user: &str) -> String {
        let user = quoted(user);
        let verb = &self.verb;
        if !self.path.is_empty() {
            return format!("forbidden: User {user} cannot {verb} path \"{}\"", self.path);
        }
        let dot = if self.group.is_empty() { "" } else { "." };
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        let Question { group, resource, subresource, name, namespace, .. } = self;
        let name = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        let place = match namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{namespace}\""),
        };
        format!(
            "{resource}{dot}{group}{name} is forbidden: User {user} cannot {verb} resource \
             \"{resource}{slash}{subresource}\" in API group \"{group}\" {place}"
        )
    }
}

/// A name as it stands in a message: quoted, and then without markup.
fn quoted(name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}
