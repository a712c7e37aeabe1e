//! The index against a plain walk over the objects, and what it says in words.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::object::{Attributes, Event, EventKind, Object, ResourceId};

use super::{Rbac, RbacFollower, RbacKinds};
use crate::{
    authentication::UserInfo,
    authorization::{Authorizer, Decision, Rules, rules::collected},
    informer::Follower,
    limits::{MERGED_ENTRIES, MISSING_ROLES_TOLD, ROLE_RULES_WALKED, ROLES_WALKED, RULE_NAMES_WALKED},
};

pub(crate) const KINDS: RbacKinds = RbacKinds {
    roles: ResourceId(1),
    cluster_roles: ResourceId(2),
    role_bindings: ResourceId(3),
    cluster_role_bindings: ResourceId(4),
};

/// A generator of numbers that says how it began.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
    fn one<'l>(&mut self, of: &[&'l str]) -> &'l str {
        of[self.below(of.len())]
    }
    /// Up to `max` of a list, seldom none, in any order, some more than once.
    fn some(&mut self, of: &[&str], max: usize) -> Vec<String> {
        let count = if self.below(8) == 0 { 0 } else { 1 + self.below(max) };
        (0..count).map(|_| self.one(of).to_owned()).collect()
    }
}

#[derive(Clone, Default)]
struct Rule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    paths: Vec<String>,
}

#[derive(Clone)]
struct Binding {
    /// `Role` or `ClusterRole`, and the name.
    role: (String, String),
    /// Kind, namespace and name.
    subjects: Vec<[String; 3]>,
}

/// All objects as they are written, by namespace (empty for those of the cluster) and name.
#[derive(Default)]
struct Model {
    roles: BTreeMap<(String, String), Vec<Rule>>,
    bindings: BTreeMap<(String, String), Binding>,
}

struct Question<'q> {
    verb: &'q str,
    info: RequestInfo<'q>,
}

/// What the model says: the binding that allows, in words; or what is missing.
#[derive(Debug, PartialEq)]
enum Said {
    Allowed(String),
    Refused(Vec<String>),
}

impl Rule {
    fn allows(&self, question: &Question<'_>) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let info = &question.info;
        if !has(&self.verbs, question.verb) {
            return false;
        }
        if !info.is_resource_request {
            return self.paths.iter().any(|path| match path.strip_suffix('*') {
                Some(prefix) => info.path.starts_with(prefix),
                None => info.path == path,
            });
        }
        let resource = match info.subresource {
            "" => has(&self.resources, info.resource),
            sub => {
                has(&self.resources, &format!("{}/{sub}", info.resource))
                    || self.resources.contains(&format!("*/{sub}"))
            }
        };
        let name = self.names.is_empty() || self.names.iter().any(|name| name == info.name);
        has(&self.groups, info.api_group) && resource && name
    }
}

impl Binding {
    fn applies(&self, user: &UserInfo, namespace: &str) -> Option<String> {
        self.subjects.iter().find_map(|[kind, of, name]| {
            let of = if of.is_empty() { namespace } else { of };
            let (applies, called) = match kind.as_str() {
                "User" => (user.name == *name, name.clone()),
                "Group" => (user.groups.contains(name), name.clone()),
                _ => {
                    let user_name = format!("system:serviceaccount:{of}:{name}");
                    (!of.is_empty() && user.name == user_name, format!("{name}/{of}"))
                }
            };
            applies.then(|| format!("{kind} \"{called}\""))
        })
    }
}

impl Model {
    /// Bindings that apply, what they are called, and their rules where the role is there.
    fn bound(&self, user: &UserInfo, namespace: &str) -> Vec<(String, Result<&Vec<Rule>, String>)> {
        let mut bound = Vec::new();
        let scopes = if namespace.is_empty() { vec![""] } else { vec!["", namespace] };
        for scope in scopes {
            for ((of, name), binding) in self.bindings.iter().filter(|((of, _), _)| of == scope) {
                let Some(subject) = binding.applies(user, of) else { continue };
                let (kind, role) = &binding.role;
                let role_of = if kind == "Role" { of.as_str() } else { "" };
                // A role of no namespace is none.
                let rules = match kind == "Role" && of.is_empty() {
                    true => None,
                    false => self.roles.get(&(role_of.to_owned(), role.clone())),
                };
                let (what, called) = match of.as_str() {
                    "" => ("ClusterRoleBinding", name.clone()),
                    of => ("RoleBinding", format!("{name}/{of}")),
                };
                let missing =
                    || format!("{}.rbac.authorization.k8s.io \"{role}\" not found", kind.to_lowercase());
                let source = format!("{what} \"{called}\" of {kind} \"{role}\" to {subject}");
                bound.push((source, rules.ok_or_else(missing)));
            }
        }
        bound
    }

    fn ask(&self, user: &UserInfo, question: &Question<'_>) -> Said {
        let mut missing = Vec::new();
        for (source, rules) in self.bound(user, question.info.namespace) {
            match rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(question)) => return Said::Allowed(source),
                Ok(_) => {}
                Err(why) => missing.push(why),
            }
        }
        let mut once = Vec::new();
        for why in missing {
            if !once.contains(&why) {
                once.push(why);
            }
        }
        Said::Refused(once)
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", quoted.join(","))
}

fn role_json(rules: &[Rule]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|rule| {
            let lists = [
                ("verbs", &rule.verbs),
                ("apiGroups", &rule.groups),
                ("resources", &rule.resources),
                ("resourceNames", &rule.names),
                ("nonResourceURLs", &rule.paths),
            ];
            let fields = lists.iter().filter(|(_, names)| !names.is_empty());
            let fields: Vec<String> =
                fields.map(|(field, names)| format!("\"{field}\":{}", list(names))).collect();
            format!("{{{}}}", fields.join(","))
        })
        .collect();
    format!("\"metadata\":{{}},\"rules\":[{}]}}", rules.join(","))
}

fn binding_json(binding: &Binding) -> String {
    let (kind, name) = &binding.role;
    let subjects: Vec<String> = binding
        .subjects
        .iter()
        .map(|[kind, namespace, name]| match namespace.as_str() {
            "" => format!("{{\"kind\":\"{kind}\",\"name\":\"{name}\"}}"),
            of => format!("{{\"kind\":\"{kind}\",\"name\":\"{name}\",\"namespace\":\"{of}\"}}"),
        })
        .collect();
    let subjects = subjects.join(",");
    format!(
        "\"metadata\":{{}},\"roleRef\":{{\"kind\":\"{kind}\",\"name\":\"{name}\"}},\"subjects\":[{subjects}]}}"
    )
}

fn event(resource: ResourceId, namespace: &str, name: &str, json: Option<String>) -> Event {
    let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    let kind = if json.is_some() { EventKind::Modified } else { EventKind::Deleted };
    let object = Arc::new(Object {
        resource,
        key: key.into(),
        namespace_len: namespace.len() as u16,
        revision: 1,
        json: Bytes::from(json.unwrap_or_default()),
        splice: 0..0,
        attributes: Attributes::default(),
        expires: 0,
        protobuf: Default::default(),
    });
    Event { revision: 1, kind, object, previous: None }
}

/// An authorizer that goes by these objects: resource, namespace, name, and the JSON behind the metadata.
pub(crate) fn rbac_of(objects: &[(ResourceId, &str, &str, &str)]) -> Arc<Rbac> {
    let rbac = Arc::new(Rbac::default());
    let mut follower = RbacFollower::new(rbac.clone(), KINDS);
    for (resource, namespace, name, json) in objects {
        follower.observe(&event(*resource, namespace, name, Some((*json).to_owned())));
    }
    follower.settle();
    rbac
}

/// The rules that hold for a user, and what is missing.
fn bound_rules(rbac: &Rbac, user: &UserInfo, namespace: &str) -> (Vec<Arc<super::PolicyRule>>, Vec<String>) {
    let mut rules = Rules::default();
    rbac.rules_for(user, namespace, &mut rules);
    collected(&rules)
}

/// Model and follower side by side.
struct Both {
    model: Model,
    rbac: Arc<Rbac>,
    follower: RbacFollower,
}

impl Both {
    fn new() -> Both {
        let rbac = Arc::new(Rbac::default());
        Both { model: Model::default(), follower: RbacFollower::new(rbac.clone(), KINDS), rbac }
    }

    fn role(&mut self, namespace: &str, name: &str, rules: Option<Vec<Rule>>) {
        let resource = if namespace.is_empty() { KINDS.cluster_roles } else { KINDS.roles };
        let json = rules.as_deref().map(role_json);
        self.follower.observe(&event(resource, namespace, name, json));
        let key = (namespace.to_owned(), name.to_owned());
        match rules {
            Some(rules) => self.model.roles.insert(key, rules),
            None => self.model.roles.remove(&key),
        };
    }

    fn binding(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        let resource = if namespace.is_empty() { KINDS.cluster_role_bindings } else { KINDS.role_bindings };
        let json = binding.as_ref().map(binding_json);
        self.follower.observe(&event(resource, namespace, name, json));
        let key = (namespace.to_owned(), name.to_owned());
        match binding {
            Some(binding) => self.model.bindings.insert(key, binding),
            None => self.model.bindings.remove(&key),
        };
    }

    fn check(&self, user: &UserInfo, question: &Question<'_>, context: &str) -> bool {
        let expect = self.model.ask(user, question);
        let found = match self.rbac.authorize(user, question.verb, &question.info) {
            Decision::Allow => {
                let why = self.rbac.explain(user, question.verb, &question.info);
                let why = why.strip_prefix("RBAC: allowed by ").unwrap_or_else(|| panic!("{why}"));
                Said::Allowed(why.to_owned())
            }
            Decision::NoOpinion(reason) => {
                assert_eq!(self.rbac.explain(user, question.verb, &question.info), "");
                let reason = reason.strip_prefix("rbac: RBAC: ").unwrap_or(&reason);
                let reason = reason.strip_prefix('[').and_then(|r| r.strip_suffix(']')).unwrap_or(reason);
                let parts = reason.split(", ").filter(|part| !part.is_empty());
                Said::Refused(parts.map(str::to_owned).collect())
            }
        };
        let Question { verb, info } = question;
        assert_eq!(found, expect, "{context}: {user:?} {verb} {info:?}");
        matches!(found, Said::Allowed(_))
    }

    fn check_rules(&self, user: &UserInfo, namespace: &str) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for (_, found) in self.model.bound(user, namespace) {
            match found {
                Ok(found) => rules.extend(found.iter().map(|rule| rule.verbs.clone())),
                Err(why) => errors.push(why),
            }
        }
        let (bound, missing) = bound_rules(&self.rbac, user, namespace);
        let verbs = |rule: &Arc<super::PolicyRule>| rule.verbs.iter().map(|v| v.to_string()).collect();
        let found: Vec<Vec<String>> = bound.iter().map(verbs).collect();
        assert_eq!((found, missing), (rules, errors), "{user:?} in {namespace:?}");
    }
}

const VERBS: [&str; 6] = ["get", "list", "delete", "deletecollection", "use", "*"];
const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 8] =
    ["pods", "pods/log", "secrets", "*", "*/log", "*/scale", "deployments/scale", "deployments"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const PATHS: [&str; 6] = ["/healthz", "/healthz/*", "/api/*", "*", "/version", "/heal*"];
const NAMESPACES: [&str; 4] = ["", "n1", "n2", "n3"];
const ROLES: [&str; 6] = ["r0", "r1", "r2", "r3", "r4", "r5"];
const SUBJECTS: [&str; 5] = ["s0", "s1", "s2", "s3", "system:serviceaccount:n1:s0"];

fn random_rule(random: &mut Random) -> Rule {
    Rule {
        verbs: random.some(&VERBS, 4),
        groups: random.some(&GROUPS, 2),
        resources: random.some(&RESOURCES, 4),
        names: if random.below(3) == 0 { random.some(&NAMES, 2) } else { Vec::new() },
        paths: if random.below(3) == 0 { random.some(&PATHS, 2) } else { Vec::new() },
    }
}

fn random_user(random: &mut Random) -> UserInfo {
    let name = match random.below(3) {
        0 => format!("system:serviceaccount:{}:{}", random.one(&NAMESPACES[1..]), random.one(&SUBJECTS)),
        _ => random.one(&SUBJECTS).to_owned(),
    };
    UserInfo { name, groups: random.some(&SUBJECTS, 3), ..UserInfo::default() }
}

fn ask(both: &Both, random: &mut Random, context: &str) -> bool {
    let user = random_user(random);
    let info = match random.below(4) {
        0 => RequestInfo {
            path: random.one(&["/healthz", "/healthz/x", "/api", "/api/v1", "/version", "/heal"]),
            ..RequestInfo::default()
        },
        _ => RequestInfo {
            is_resource_request: true,
            namespace: random.one(&NAMESPACES),
            api_group: random.one(&["", "apps", "batch"]),
            resource: random.one(&["pods", "secrets", "deployments"]),
            subresource: random.one(&["", "", "log", "scale"]),
            name: random.one(&["", "a", "b", "d"]),
            ..RequestInfo::default()
        },
    };
    let verb = random.one(&["get", "list", "delete", "watch", "use", "sign", "deletecollection"]);
    both.check_rules(&user, info.namespace);
    both.check(&user, &Question { verb, info }, context)
}

fn change(both: &mut Both, random: &mut Random) {
    let namespace = random.one(&NAMESPACES);
    if random.below(2) == 0 {
        let rules = (0..random.below(6)).map(|_| random_rule(random)).collect();
        let rules = (random.below(6) != 0).then_some(rules);
        both.role(namespace, random.one(&ROLES), rules);
        return;
    }
    let subjects = (0..random.below(5)).map(|_| {
        let kind = random.one(&["User", "Group", "ServiceAccount"]);
        let of = if kind == "ServiceAccount" { random.one(&NAMESPACES) } else { "" };
        [kind.to_owned(), of.to_owned(), random.one(&SUBJECTS).to_owned()]
    });
    let subjects = subjects.collect();
    let role = (random.one(&["Role", "ClusterRole"]).to_owned(), random.one(&ROLES).to_owned());
    let binding = (random.below(6) != 0).then_some(Binding { role, subjects });
    both.binding(namespace, random.one(&["b0", "b1", "b2", "b3", "b4", "b5"]), binding);
}

#[test]
fn random_policies_are_decided_as_a_plain_walk_decides() {
    let (mut allowed, mut refused) = (0, 0);
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut both = Both::new();
        for step in 0..100 {
            for _ in 0..random.below(4) {
                change(&mut both, &mut random);
            }
            both.follower.settle();
            for _ in 0..10 {
                match ask(&both, &mut random, &format!("seed {seed}, step {step}")) {
                    true => allowed += 1,
                    false => refused += 1,
                }
            }
        }
    }
    // Questions that are all answered alike would show nothing.
    assert!(allowed > 2_500 && refused > 2_500, "{allowed} allowed, {refused} refused");
}

/// A subject with more roles than are walked one by one: the table of all of them decides alike.
#[test]
fn many_roles_of_one_subject() {
    let mut random = Random(7);
    let mut both = Both::new();
    let count = ROLES_WALKED * 2;
    let subjects = ["s0", "s1"].map(|name| ["Group".to_owned(), String::new(), name.to_owned()]).to_vec();
    let (mut allowed, mut refused) = (0, 0);
    for round in 0..6 {
        for number in 0..count {
            let name = format!("many-{number:03}");
            // In the last round so many go that the others are walked again.
            let is_there = random.below(10) != 0 && (round < 5 || number < 20);
            let rules = (random.below(8) != 0).then(|| vec![random_rule(&mut random)]);
            let binding = Binding { role: ("Role".to_owned(), name.clone()), subjects: subjects.clone() };
            both.role("n1", &name, rules);
            both.binding("n1", &name, is_there.then_some(binding));
            if number % 16 == 0 {
                both.follower.settle();
            }
        }
        both.follower.settle();
        assert_eq!(both.follower.index.sizes()[2], if round < 5 { 2 } else { 0 }, "round {round}");
        for _ in 0..300 {
            match ask(&both, &mut random, &format!("round {round}")) {
                true => allowed += 1,
                false => refused += 1,
            }
        }
    }
    assert!(allowed > 100 && refused > 100, "{allowed} allowed, {refused} refused");
}

/// Many roles of one secret each, and rules with more combinations than have an entry of their own.
#[test]
fn roles_by_name() {
    let mut both = Both::new();
    let subjects = vec![["User".to_owned(), String::new(), "s0".to_owned()]];
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let secret = |name: String| Rule {
        verbs: texts(&["get", "watch"]),
        groups: texts(&[""]),
        resources: texts(&["secrets"]),
        names: vec![name],
        ..Rule::default()
    };
    let mut rules: Vec<Rule> = (0..200).map(|n| secret(format!("s{n}"))).collect();
    let many = |what: &str| (0..70).map(|n| format!("{what}{n}")).collect::<Vec<_>>();
    // Too many with verbs, and too many without.
    rules.push(Rule { verbs: many("verb"), groups: texts(&["g"]), resources: many("r"), ..Rule::default() });
    rules.push(Rule { verbs: texts(&["get"]), groups: many("g"), resources: many("w"), ..Rule::default() });
    for (number, rule) in rules.into_iter().enumerate() {
        let name = format!("role{number}");
        both.role("n1", &name, Some(vec![rule]));
        let binding = Binding { role: ("Role".to_owned(), name.clone()), subjects: subjects.clone() };
        both.binding("n1", &name, Some(binding));
    }
    both.follower.settle();
    let user = UserInfo { name: "s0".to_owned(), ..UserInfo::default() };
    let check = |verb, api_group, resource, name, expect| {
        let info = RequestInfo {
            is_resource_request: true,
            namespace: "n1",
            api_group,
            resource,
            name,
            ..RequestInfo::default()
        };
        assert_eq!(
            both.check(&user, &Question { verb, info }, "by name"),
            expect,
            "{verb} {resource} {name}"
        );
    };
    check("get", "", "secrets", "s77", true);
    check("watch", "", "secrets", "s199", true);
    check("get", "", "secrets", "s200", false);
    check("list", "", "secrets", "s77", false);
    check("get", "", "pods", "s77", false);
    check("verb69", "g", "r69", "any", true);
    check("verb70", "g", "r69", "any", false);
    check("get", "g69", "w0", "any", true);
    check("get", "g70", "w0", "any", false);
    check("get", "g69", "r0", "any", false);
}

/// Where the tables of all subjects are full, roles are walked; where there is room again, not any more.
#[test]
fn no_room_for_a_table() {
    let mut both = Both::new();
    let subjects = vec![["User".to_owned(), String::new(), "s0".to_owned()]];
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let count = ROLES_WALKED + 1;
    let names = MERGED_ENTRIES / count / 4 + 1;
    for number in 0..count {
        let role = format!("role{number}");
        let rule = Rule {
            verbs: texts(&["get", "list", "watch", "delete"]),
            groups: texts(&[""]),
            resources: texts(&["secrets"]),
            names: (0..names).map(|n| format!("s{number}-{n}")).collect(),
            ..Rule::default()
        };
        both.role("n1", &role, Some(vec![rule]));
        let binding = Binding { role: ("Role".to_owned(), role.clone()), subjects: subjects.clone() };
        both.binding("n1", &role, Some(binding));
    }
    let user = UserInfo { name: "s0".to_owned(), ..UserInfo::default() };
    let check = |both: &Both, name, expect| {
        let info = RequestInfo {
            is_resource_request: true,
            namespace: "n1",
            resource: "secrets",
            name,
            ..RequestInfo::default()
        };
        assert_eq!(both.check(&user, &Question { verb: "get", info }, "full"), expect, "{name}");
    };
    both.follower.settle();
    assert_eq!(both.follower.index.sizes()[4], 0);
    check(&both, "s7-0", true);
    check(&both, "s7", false);
    both.role("n1", "role7", Some(Vec::new()));
    both.follower.settle();
    assert_eq!(both.follower.index.sizes()[4], (count - 1) * names * 4);
    check(&both, "s7-0", false);
    check(&both, "s8-0", true);
}

#[test]
fn nothing_is_left_of_what_is_gone() {
    let mut random = Random(3);
    let mut both = Both::new();
    for _ in 0..500 {
        change(&mut both, &mut random);
    }
    assert!(both.follower.index.sizes()[0] > 0);
    for namespace in NAMESPACES {
        for role in ROLES {
            both.role(namespace, role, None);
        }
        for binding in ["b0", "b1", "b2", "b3", "b4", "b5"] {
            both.binding(namespace, binding, None);
        }
    }
    let [slots, bindings, large, free, entries] = both.follower.index.sizes();
    assert_eq!((slots, bindings, large, entries), (0, 0, 0, 0));
    assert!(free > 0, "slots are given back");
    both.follower.settle();
    let user = UserInfo { name: "s0".to_owned(), groups: vec!["s1".to_owned()], ..UserInfo::default() };
    assert!(bound_rules(&both.rbac, &user, "n1").1.is_empty());
}

#[test]
fn words() {
    let mut both = Both::new();
    let subject = |kind: &str, of: &str, name: &str| [kind.to_owned(), of.to_owned(), name.to_owned()];
    let binding = |kind: &str, role: &str, subjects: &[[String; 3]]| {
        Some(Binding { role: (kind.to_owned(), role.to_owned()), subjects: subjects.to_vec() })
    };
    let pods = Rule {
        verbs: vec!["get".to_owned()],
        groups: vec![String::new()],
        resources: vec!["pods".to_owned()],
        ..Rule::default()
    };
    both.role("", "reader", Some(vec![pods]));
    let account = [subject("Group", "", "other"), subject("ServiceAccount", "", "bot")];
    both.binding("n1", "b", binding("ClusterRole", "reader", &account));
    let alice = [subject("User", "", "alice"), subject("Group", "", "team")];
    both.binding("n1", "m1", binding("Role", "gone", &alice));
    both.binding("n1", "m2", binding("ClusterRole", "gone", &alice[1..]));
    both.binding("n1", "m3", binding("ClusterRole", "gone", &alice));
    both.follower.settle();
    let info = RequestInfo {
        is_resource_request: true,
        namespace: "n1",
        resource: "pods",
        name: "p",
        ..RequestInfo::default()
    };
    let user = |name: &str, groups: &[&str]| UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..UserInfo::default()
    };
    let bot = user("system:serviceaccount:n1:bot", &[]);
    assert_eq!(
        both.rbac.explain(&bot, "get", &info),
        r#"RBAC: allowed by RoleBinding "b/n1" of ClusterRole "reader" to ServiceAccount "bot/n1""#
    );
    let refused = |user: &UserInfo| match both.rbac.authorize(user, "get", &info) {
        Decision::NoOpinion(reason) => reason,
        Decision::Allow => panic!("{user:?} may not"),
    };
    assert_eq!(
        refused(&user("alice", &[])),
        r#"rbac: RBAC: [role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]"#
    );
    assert_eq!(
        refused(&user("bob", &["team"])),
        refused(&user("alice", &[])),
        "a role that two bindings miss is said once"
    );
    assert_eq!(refused(&user("carol", &[])), "");
    let (_, missing) = bound_rules(&both.rbac, &user("alice", &[]), "n1");
    assert_eq!(
        Rules::evaluation_error(&missing),
        r#"[role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]"#
    );
}

/// A role whose rules are found by name, and rules of lists that are found by a table.
#[test]
fn large_roles_are_decided_as_small_ones_are() {
    let mut random = Random(11);
    let mut both = Both::new();
    let subjects = ["s0", "s1", "s2"].map(|name| ["Group".to_owned(), String::new(), name.to_owned()]);
    let (mut allowed, mut refused) = (0, 0);
    for round in 0..12 {
        let count = if round % 3 == 0 { 8 } else { ROLE_RULES_WALKED * 3 };
        let rules: Vec<Rule> = (0..count)
            .map(|number| {
                let mut rule = random_rule(&mut random);
                if random.below(4) != 0 {
                    rule.names = vec![format!("o{}", random.below(60))];
                }
                let lists = [&mut rule.verbs, &mut rule.groups, &mut rule.resources, &mut rule.names];
                if let Some(list) = lists.into_iter().nth(random.below(40)) {
                    list.extend((0..RULE_NAMES_WALKED * 2).map(|n| format!("x{number}-{n}")));
                }
                rule
            })
            .collect();
        both.role("", "large", Some(rules.clone()));
        for (number, subject) in subjects.iter().enumerate() {
            let binding = Binding {
                role: ("ClusterRole".to_owned(), "large".to_owned()),
                subjects: vec![subject.clone()],
            };
            both.binding("", &format!("b{number}"), Some(binding.clone()));
            both.binding("n1", &format!("b{number}"), Some(binding));
        }
        both.follower.settle();
        for _ in 0..300 {
            let name = format!("o{}", random.below(80));
            let user = random_user(&mut random);
            let info = RequestInfo {
                is_resource_request: true,
                namespace: random.one(&NAMESPACES),
                api_group: random.one(&["", "apps", "batch"]),
                resource: random.one(&["pods", "secrets", "deployments"]),
                subresource: random.one(&["", "", "log", "scale"]),
                name: if random.below(4) == 0 { "" } else { &name },
                ..RequestInfo::default()
            };
            let verb = random.one(&["get", "list", "delete", "watch", "use"]);
            match both.check(&user, &Question { verb, info }, &format!("round {round}")) {
                true => allowed += 1,
                false => refused += 1,
            }
        }
        // What long lists hold at their ends is found as well.
        for (number, rule) in rules.iter().enumerate() {
            let user = UserInfo { groups: vec!["s1".to_owned()], ..UserInfo::default() };
            let last = |list: &[String]| list.last().cloned().unwrap_or_default();
            let (verb, group) = (last(&rule.verbs), last(&rule.groups));
            let (resource, name) = (last(&rule.resources), last(&rule.names));
            let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
            let info = RequestInfo {
                is_resource_request: true,
                api_group: &group,
                resource,
                subresource,
                name: &name,
                ..RequestInfo::default()
            };
            both.check(&user, &Question { verb: &verb, info }, &format!("round {round}, rule {number}"));
        }
    }
    assert!(allowed > 300 && refused > 300, "{allowed} allowed, {refused} refused");
}

#[test]
fn a_refusal_tells_so_many_missing_roles_and_no_more() {
    let mut both = Both::new();
    let subjects = vec![["User".to_owned(), String::new(), "s0".to_owned()]];
    for number in 0..MISSING_ROLES_TOLD + 10 {
        let binding =
            Binding { role: ("ClusterRole".to_owned(), format!("gone{number}")), subjects: subjects.clone() };
        both.binding("", &format!("b{number}"), Some(binding));
    }
    both.follower.settle();
    let user = UserInfo { name: "s0".to_owned(), ..UserInfo::default() };
    match both.rbac.authorize(&user, "get", &RequestInfo::default()) {
        Decision::NoOpinion(reason) => assert_eq!(reason.matches("not found").count(), MISSING_ROLES_TOLD),
        Decision::Allow => panic!("nothing allows it"),
    }
}
