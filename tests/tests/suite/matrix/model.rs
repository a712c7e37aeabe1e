//! The decision as it is described: a walk over all bindings and rules, in the words of the objects themselves.

use std::collections::{BTreeMap, BTreeSet};

use ringbolt_tests::http1::Connection;
use serde_json::{Map, Value, json};

use super::{policy::RBAC, questions::Question, users::User};

/// What a user hears.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Yes, for one of these reasons; the first by name of binding in front.
    Allowed(Vec<String>),
    /// No, and what was missing.
    Refused(String),
}

/// All roles and bindings of a server.
pub(super) struct Model {
    /// By namespace (empty for those of the cluster) and name.
    roles: BTreeMap<(String, String), Value>,
    /// Bindings of the cluster in front, each by name.
    bindings: BTreeMap<(String, String), Value>,
}

fn texts<'v>(object: &'v Value, field: &str) -> Vec<&'v str> {
    let list = object[field].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).collect()
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object[field].as_str().unwrap_or("")
}

/// Everything of some resources, by namespace and name.
fn read(admin: &mut Connection, resources: [&str; 2]) -> BTreeMap<(String, String), Value> {
    let mut all = BTreeMap::new();
    for resource in resources {
        let list = admin.get(&format!("{RBAC}/{resource}")).unwrap().json();
        for object in list["items"].as_array().expect("a list has items") {
            let metadata = &object["metadata"];
            let key = (text(metadata, "namespace").to_owned(), text(metadata, "name").to_owned());
            all.insert(key, object.clone());
        }
    }
    all
}

/// Which subject of a binding a user is, as reasons call it.
fn subject(binding: &Value, namespace: &str, user: &User) -> Option<String> {
    let subjects = binding["subjects"].as_array().map_or(&[][..], Vec::as_slice);
    subjects.iter().find_map(|subject| {
        let (kind, name, of) = (text(subject, "kind"), text(subject, "name"), text(subject, "namespace"));
        let of = if of.is_empty() { namespace } else { of };
        let (is_user, called) = match kind {
            "User" => (user.name == name, name.to_owned()),
            "Group" => (user.groups.iter().any(|group| group == name), name.to_owned()),
            _ => (user.name == format!("system:serviceaccount:{of}:{name}"), format!("{name}/{of}")),
        };
        is_user.then(|| format!("{kind} \"{called}\""))
    })
}

fn rule_allows(rule: &Value, question: &Question) -> bool {
    let has = |field: &str, wanted: &str| texts(rule, field).iter().any(|one| [wanted, "*"].contains(one));
    if !has("verbs", &question.verb) {
        return false;
    }
    if !question.path.is_empty() {
        return texts(rule, "nonResourceURLs").iter().any(|url| match url.strip_suffix('*') {
            Some(begin) => question.path.starts_with(begin),
            None => question.path == *url,
        });
    }
    let names = texts(rule, "resourceNames");
    let resource = match question.subresource.as_str() {
        "" => has("resources", &question.resource),
        sub => {
            has("resources", &format!("{}/{sub}", question.resource))
                || texts(rule, "resources").contains(&format!("*/{sub}").as_str())
        }
    };
    has("apiGroups", &question.group)
        && resource
        && (names.is_empty() || names.contains(&question.name.as_str()))
}

impl Model {
    /// What a server has.
    pub(super) fn read(admin: &mut Connection) -> Model {
        Model {
            roles: read(admin, ["roles", "clusterroles"]),
            bindings: read(admin, ["rolebindings", "clusterrolebindings"]),
        }
    }

    /// The bindings of a user: what gives, and its rules or why there are none.
    fn bound(&self, user: &User, namespace: &str) -> Vec<(String, Result<&Value, String>)> {
        let applies = |of: &str| of.is_empty() || of == namespace;
        let bindings = self.bindings.iter().filter(|((of, _), _)| applies(of));
        let bound = bindings.filter_map(|((of, name), binding)| {
            let subject = subject(binding, of, user)?;
            let (kind, role) = (text(&binding["roleRef"], "kind"), text(&binding["roleRef"], "name"));
            let role_of = if kind == "Role" { of.as_str() } else { "" };
            let rules = self.roles.get(&(role_of.to_owned(), role.to_owned())).map(|role| &role["rules"]);
            let (what, called) = match of.as_str() {
                "" => ("ClusterRoleBinding", name.clone()),
                of => ("RoleBinding", format!("{name}/{of}")),
            };
            let missing =
                || format!("{}.rbac.authorization.k8s.io \"{role}\" not found", kind.to_lowercase());
            let source = format!("RBAC: allowed by {what} \"{called}\" of {kind} \"{role}\" to {subject}");
            Some((source, rules.ok_or_else(missing)))
        });
        bound.collect()
    }

    /// Decides.
    pub(super) fn decide(&self, user: &User, question: &Question) -> Verdict {
        if user.groups.iter().any(|group| group == "system:masters") {
            return Verdict::Allowed(vec![String::new()]);
        }
        let (mut reasons, mut missing) = (Vec::new(), Vec::new());
        for (source, rules) in self.bound(user, &question.namespace) {
            match rules {
                Ok(rules) => {
                    let mut rules = rules.as_array().map_or(&[][..], Vec::as_slice).iter();
                    if rules.any(|rule| rule_allows(rule, question)) {
                        reasons.push(source);
                    }
                }
                Err(why) => missing.push(why),
            }
        }
        match reasons.is_empty() {
            false => Verdict::Allowed(reasons),
            true if missing.is_empty() => Verdict::Refused(String::new()),
            true => Verdict::Refused(format!("rbac: RBAC: {}", together(&missing))),
        }
    }

    /// The status of a SelfSubjectRulesReview.
    pub(super) fn rules(&self, user: &User, namespace: &str) -> Value {
        let (mut resource, mut non_resource, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (_, rules) in self.bound(user, namespace) {
            let rules = match rules {
                Ok(rules) => rules.as_array().map_or(&[][..], Vec::as_slice),
                Err(why) => {
                    missing.push(why);
                    continue;
                }
            };
            for rule in rules {
                let only = |fields: &[&str]| {
                    let there = fields.iter().filter(|field| rule.get(**field).is_some());
                    there.map(|field| ((*field).to_owned(), rule[field].clone())).collect::<Map<_, _>>()
                };
                if rule.get("resources").is_some() {
                    resource.push(only(&["verbs", "apiGroups", "resources", "resourceNames"]));
                }
                if rule.get("nonResourceURLs").is_some() {
                    non_resource.push(only(&["verbs", "nonResourceURLs"]));
                }
            }
        }
        let mut status =
            json!({"resourceRules": resource, "nonResourceRules": non_resource, "incomplete": false});
        if !missing.is_empty() {
            status["evaluationError"] = json!(together(&missing));
        }
        status
    }
}

/// Many reasons as one: each once, in brackets where there are several.
fn together(reasons: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let once: Vec<&str> = reasons.iter().map(String::as_str).filter(|reason| seen.insert(*reason)).collect();
    match once.as_slice() {
        [one] => (*one).to_owned(),
        all => format!("[{}]", all.join(", ")),
    }
}
