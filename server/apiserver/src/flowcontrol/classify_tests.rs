//! Classification, by what kube-apiserver 1.37.2 answers to the same requests with the objects of a new cluster, and
//! with schemas of the test.

use ringbolt_protocol::request_info::RequestInfo;

use super::{
    classify::Classifier,
    config::{
        Config, FlowSchema, NonResourcePolicyRule, PolicyRulesWithSubjects, ResourcePolicyRule, Subject,
    },
};
use crate::authentication::UserInfo;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn found(config: &Config, user: &UserInfo, method: &str, target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let info = RequestInfo::new(method, path, query).expect("a well-formed path");
    let place = Classifier::new(config).classify(user, &info);
    config.flow_schemas()[place].name.clone()
}

#[test]
fn schemas_of_a_new_cluster() {
    let config = Config::builtin();
    let known = "system:authenticated";
    let admin = user("admin", &["system:masters", known]);
    let alice = user("alice", &[known]);
    let nobody = user("system:anonymous", &["system:unauthenticated"]);
    let node = user("system:node:a", &["system:nodes", known]);
    let manager = user("system:kube-controller-manager", &[known]);
    let scheduler = user("system:kube-scheduler", &[known]);
    let account = |namespace: &str| {
        let of = format!("system:serviceaccounts:{namespace}");
        user(&format!("system:serviceaccount:{namespace}:a"), &["system:serviceaccounts", &of, known])
    };
    let (own, other) = (account("kube-system"), account("kube-systems"));
    let check = |user: &UserInfo, method: &str, target: &str, expect: &str| {
        assert_eq!(found(&config, user, method, target), expect, "{} {method} {target}", user.name);
    };
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l";
    check(&admin, "GET", "/api/v1/pods", "exempt");
    check(&admin, "GET", "/healthz", "exempt");
    for (path, expect) in [
        ("/healthz", "probes"),
        ("/healthz/etcd", "probes"),
        ("/readyz", "probes"),
        ("/livez", "probes"),
        ("/healthzz", "global-default"),
        ("/version", "global-default"),
        ("/", "global-default"),
    ] {
        check(&alice, "GET", path, expect);
        check(&nobody, "GET", path, expect);
    }
    check(&alice, "POST", "/healthz", "global-default");
    check(&manager, "GET", LEASE, "system-leader-election");
    check(&scheduler, "PUT", LEASE, "system-leader-election");
    check(&own, "POST", LEASE, "system-leader-election");
    check(&manager, "PATCH", LEASE, "kube-controller-manager");
    check(&scheduler, "DELETE", LEASE, "kube-scheduler");
    check(&own, "GET", "/api/v1/pods", "kube-system-service-accounts");
    check(&other, "GET", LEASE, "service-accounts");
    check(&manager, "GET", "/metrics", "kube-controller-manager");
    check(&node, "GET", "/api/v1/nodes/a", "system-node-high");
    check(&node, "PATCH", "/api/v1/nodes/a/status", "system-node-high");
    check(&node, "GET", "/api/v1/nodes/a/proxy", "system-nodes");
    check(
        &node,
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a",
        "system-node-high",
    );
    check(&node, "GET", "/apis/coordination.k8s.io/v1/leases", "system-nodes");
    check(&node, "GET", "/api/v1/pods?watch=1", "system-nodes");
    check(&node, "GET", "/metrics", "system-nodes");
    check(&alice, "GET", LEASE, "global-default");
    check(&user("ghost", &[]), "GET", "/api/v1/pods", "catch-all");
    check(&user("system:kube-scheduler:x", &[known]), "GET", "/api/v1/pods", "global-default");
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn schema(name: &str, subject: Subject, rule: ResourcePolicyRule, paths: &[&str]) -> FlowSchema {
    FlowSchema {
        name: name.to_owned(),
        matching_precedence: 50,
        priority_level: "catch-all".to_owned(),
        rules: vec![PolicyRulesWithSubjects {
            subjects: vec![subject],
            resource_rules: vec![rule],
            non_resource_rules: vec![NonResourcePolicyRule {
                verbs: texts(&["get", "post"]),
                non_resource_urls: texts(paths),
            }],
        }],
        ..FlowSchema::default()
    }
}

#[test]
fn rules() {
    let rule = |verbs: &[&str], groups: &[&str], resources: &[&str], cluster_scope, namespaces: &[&str]| {
        ResourcePolicyRule {
            verbs: texts(verbs),
            api_groups: texts(groups),
            resources: texts(resources),
            cluster_scope,
            namespaces: texts(namespaces),
        }
    };
    let account = |namespace: &str, name: &str| Subject::ServiceAccount {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let config = Config::new(
        vec![
            schema(
                "a-pods-of-a",
                Subject::User("alice".to_owned()),
                rule(&["get", "list"], &[""], &["pods", "pods/log", "configmaps"], false, &["a", "b"]),
                &["/x", "/logs/*", "/y/"],
            ),
            schema(
                "b-everything-cluster",
                Subject::Group("ops".to_owned()),
                rule(&["*"], &["*"], &["*"], true, &[]),
                &["/only", "*"],
            ),
            schema("c-account", account("ns", "sa"), rule(&["*"], &["apps"], &["*"], true, &["*"]), &[]),
            schema("d-accounts", account("ns", "*"), rule(&["*"], &["*"], &["pods"], false, &["*"]), &["/z"]),
            schema(
                "e-all-users",
                Subject::User("*".to_owned()),
                rule(&["watch"], &["*"], &["secrets"], true, &["*"]),
                &["/q*"],
            ),
            schema(
                "f-all-groups",
                Subject::Group("*".to_owned()),
                // A wildcard counts where it is alone.
                rule(&["delete", "*"], &["*"], &["*", "events"], true, &["*"]),
                &["/r"],
            ),
        ],
        Vec::new(),
    );
    let alice = user("alice", &[]);
    let check = |user: &UserInfo, method: &str, target: &str, expect: &str| {
        assert_eq!(found(&config, user, method, target), expect, "{} {method} {target}", user.name);
    };
    check(&alice, "GET", "/api/v1/namespaces/a/pods/p", "a-pods-of-a");
    check(&alice, "GET", "/api/v1/namespaces/b/pods", "a-pods-of-a");
    check(&alice, "GET", "/api/v1/namespaces/a/pods/p/log", "a-pods-of-a");
    check(&alice, "GET", "/api/v1/namespaces/a/pods/p/status", "catch-all");
    check(&alice, "GET", "/api/v1/namespaces/c/pods/p", "catch-all");
    check(&alice, "GET", "/api/v1/pods", "catch-all");
    check(&alice, "POST", "/api/v1/namespaces/a/pods", "catch-all");
    check(&alice, "GET", "/api/v1/namespaces/a/pods?watch=1", "catch-all");
    check(&alice, "GET", "/apis/apps/v1/namespaces/a/pods/p", "catch-all");
    check(&alice, "GET", "/x", "a-pods-of-a");
    check(&alice, "POST", "/x/y", "a-pods-of-a");
    check(&alice, "PUT", "/x", "catch-all");
    check(&alice, "GET", "/xy", "catch-all");
    check(&alice, "GET", "/logs/kubelet", "a-pods-of-a");
    check(&alice, "GET", "/logs", "catch-all");
    check(&alice, "GET", "/y/", "a-pods-of-a");
    check(&alice, "GET", "/y", "catch-all");
    let ops = user("olga", &["dev", "ops"]);
    check(&ops, "DELETE", "/api/v1/nodes/n", "b-everything-cluster");
    check(&ops, "GET", "/api/v1/pods", "b-everything-cluster");
    check(&ops, "GET", "/api/v1/namespaces/a/pods", "catch-all");
    check(&ops, "GET", "/whatever", "b-everything-cluster");
    let account = user("system:serviceaccount:ns:sa", &[]);
    check(&account, "GET", "/apis/apps/v1/namespaces/x/deployments", "c-account");
    check(&account, "GET", "/api/v1/namespaces/x/pods", "d-accounts");
    check(&account, "GET", "/z", "d-accounts");
    check(&user("system:serviceaccount:ns:other", &[]), "GET", "/api/v1/namespaces/x/pods", "d-accounts");
    check(&user("system:serviceaccount:n:s", &[]), "GET", "/api/v1/namespaces/x/pods", "catch-all");
    check(&user("anyone", &[]), "GET", "/api/v1/secrets?watch=1", "e-all-users");
    check(&user("anyone", &[]), "GET", "/q/a", "e-all-users");
    check(&user("anyone", &[]), "GET", "/qa", "catch-all");
    check(&user("anyone", &["g"]), "DELETE", "/api/v1/namespaces/x/events/e", "f-all-groups");
    check(&user("anyone", &["g"]), "DELETE", "/api/v1/namespaces/x/pods/e", "catch-all");
    check(&user("anyone", &[]), "GET", "/r", "f-all-groups");
}
