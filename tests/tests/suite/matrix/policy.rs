//! The policy: roles of every sort, bound to users, groups and accounts of several namespaces, some of them missing.

use ringbolt_tests::{Dice, http1::Connection, wait_for};
use serde_json::{Value, json};

use super::PATIENCE;

pub(super) const NAMESPACES: [&str; 3] = ["matrix-a", "matrix-b", "matrix-c"];
pub(super) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Cluster roles that bindings pick from. The last two are never made.
const CLUSTER_ROLES: [&str; 17] = [
    "mx-pods",
    "mx-apps",
    "mx-any-status",
    "mx-any-scale",
    "mx-names",
    "mx-sub",
    "mx-pods-star",
    "mx-paths",
    "mx-all-paths",
    "mx-special",
    "mx-widgets",
    "mx-aggregate",
    "mx-mixed",
    "mx-empty",
    "mx-all",
    "mx-gone",
    "mx-gone-too",
];
/// Roles of each namespace; the last is never made.
const ROLES: [&str; 4] = ["reader", "editor", "creator", "gone"];

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
}

fn paths(verbs: &[&str], paths: &[&str]) -> Value {
    json!({"verbs": verbs, "nonResourceURLs": paths})
}

fn cluster_roles() -> Vec<(&'static str, Vec<Value>)> {
    let all = ["*"];
    vec![
        ("mx-pods", vec![rule(&all, &[""], &["pods"], &[])]),
        ("mx-apps", vec![rule(&["get", "list", "watch"], &["apps"], &all, &[])]),
        ("mx-any-status", vec![rule(&["patch", "update"], &all, &["*/status"], &[])]),
        ("mx-any-scale", vec![rule(&["get", "update"], &["apps", "things.example.com"], &["*/scale"], &[])]),
        (
            "mx-names",
            vec![
                rule(&["get", "update", "delete"], &[""], &["configmaps", "secrets"], &["only", "special"]),
                rule(&["list"], &[""], &["secrets"], &["only"]),
            ],
        ),
        ("mx-sub", vec![rule(&["get", "create"], &[""], &["pods/log", "pods/exec"], &[])]),
        ("mx-pods-star", vec![rule(&all, &[""], &["pods/*"], &[])]),
        (
            "mx-paths",
            vec![
                paths(&["get", "post"], &["/metrics", "/logs/*", "/custom/*"]),
                paths(&["head"], &["/custom*"]),
            ],
        ),
        ("mx-all-paths", vec![paths(&["get"], &["*"])]),
        (
            "mx-special",
            vec![
                rule(&["use", "impersonate"], &["", "apps"], &["*"], &[]),
                rule(&["bind", "escalate"], &["rbac.authorization.k8s.io"], &["roles"], &["only"]),
                rule(&["GET"], &[""], &["pods", "secrets"], &[]),
            ],
        ),
        ("mx-widgets", vec![rule(&all, &all, &["widgets"], &[])]),
        (
            "mx-mixed",
            vec![
                rule(&["create", "patch"], &["batch", ""], &["jobs", "events", "nodes"], &[]),
                rule(&["deletecollection", "delete"], &all, &["jobs", "configmaps"], &[]),
                paths(&all, &["/version/", "/debug/*"]),
            ],
        ),
        ("mx-empty", Vec::new()),
        ("mx-all", vec![rule(&all, &all, &all, &[]), paths(&all, &all)]),
    ]
}

fn roles() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        (
            "reader",
            vec![rule(&["get", "list", "watch"], &["", "batch"], &["pods", "configmaps", "jobs"], &[])],
        ),
        (
            "editor",
            vec![
                rule(&["update", "patch"], &["apps"], &["deployments", "deployments/scale"], &["web-0"]),
                rule(&["update"], &["", "apps"], &["services", "statefulsets/scale"], &[]),
            ],
        ),
        ("creator", vec![rule(&["create"], &all_groups(), &["*"], &[])]),
    ]
}

fn all_groups() -> [&'static str; 1] {
    ["*"]
}

fn subject(dice: &mut Dice) -> Value {
    let number = dice.below(12);
    match dice.below(8) {
        0..3 => json!({"kind": "User", "name": format!("user-{number}")}),
        3..5 => json!({"kind": "Group", "name": format!("team-{}", number % 4)}),
        5 => json!({"kind": "ServiceAccount", "name": "bot", "namespace": NAMESPACES[number as usize % 3]}),
        6 => {
            json!({"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACES[number as usize % 2]})
        }
        _ => match number {
            0..3 => json!({"kind": "User", "name": "system:serviceaccount:matrix-a:reader"}),
            3..5 => json!({"kind": "Group", "name": "system:serviceaccounts"}),
            5..7 => json!({"kind": "Group", "name": "system:serviceaccounts:matrix-c"}),
            7..9 => json!({"kind": "User", "name": "system:anonymous"}),
            _ => json!({"kind": "Group", "name": "system:bootstrappers:kubeadm:default-node-token"}),
        },
    }
}

fn binding(dice: &mut Dice, name: &str, kind: &str, role: &str) -> Value {
    let subjects: Vec<Value> = (0..=dice.below(3)).map(|_| subject(dice)).collect();
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": subjects,
    })
}

fn post(admin: &mut Connection, path: &str, object: &Value) {
    let answer = admin.post(path, object).unwrap();
    assert_eq!(answer.status, 201, "{path} {object}: {}", answer.text());
}

/// Makes all of it.
pub(super) fn create(admin: &mut Connection) {
    let mut dice = Dice::seeded(7_061_204);
    for namespace in NAMESPACES {
        post(admin, "/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
    }
    let cluster = format!("{RBAC}/clusterroles");
    for (name, rules) in cluster_roles() {
        post(admin, &cluster, &json!({"metadata": {"name": name}, "rules": rules}));
    }
    aggregated(admin, &cluster);
    let roles_of = |namespace| format!("{RBAC}/namespaces/{namespace}/roles");
    for namespace in NAMESPACES {
        for (name, rules) in roles() {
            post(admin, &roles_of(namespace), &json!({"metadata": {"name": name}, "rules": rules}));
        }
    }
    for (number, role) in CLUSTER_ROLES.iter().enumerate() {
        // What gives all is given to few.
        for again in 0..if *role == "mx-all" { 1 } else { 2 } {
            let binding = binding(&mut dice, &format!("mx-{again}-{number}"), "ClusterRole", role);
            post(admin, &format!("{RBAC}/clusterrolebindings"), &binding);
        }
    }
    for namespace in NAMESPACES {
        for number in 0..18 {
            let role = CLUSTER_ROLES[dice.below(CLUSTER_ROLES.len() as u64) as usize];
            let of_namespace = ROLES[dice.below(ROLES.len() as u64) as usize];
            let (kind, role) = if number % 3 == 0 { ("ClusterRole", role) } else { ("Role", of_namespace) };
            let binding = binding(&mut dice, &format!("mx-{number}"), kind, role);
            post(admin, &format!("{RBAC}/namespaces/{namespace}/rolebindings"), &binding);
        }
    }
    last(admin, &cluster, &roles_of(NAMESPACES[0]));
}

/// A cluster role that a controller fills with the rules of two others.
fn aggregated(admin: &mut Connection, cluster: &str) {
    let parts = [
        ("mx-part-1", rule(&["get", "list"], &["batch"], &["jobs"], &[])),
        ("mx-part-2", rule(&["list", "watch"], &[""], &["services", "nodes"], &[])),
    ];
    for (name, rule) in parts {
        let metadata = json!({"name": name, "labels": {"aggregate-to-mx": "true"}});
        post(admin, cluster, &json!({"metadata": metadata, "rules": [rule]}));
    }
    let selectors = json!([{"matchLabels": {"aggregate-to-mx": "true"}}]);
    let rule = json!({"clusterRoleSelectors": selectors});
    post(admin, cluster, &json!({"metadata": {"name": "mx-aggregate"}, "aggregationRule": rule}));
    let rules = wait_for(PATIENCE, || {
        let role = admin.get(&format!("{cluster}/mx-aggregate")).unwrap().json();
        role["rules"].as_array().filter(|rules| rules.len() == 2).map(Vec::len)
    });
    assert!(rules.is_some(), "no controller puts the rules together");
}

/// The last object of each kind, by which one sees that those before it count.
fn last(admin: &mut Connection, cluster: &str, roles: &str) {
    let rules = json!([rule(&["get"], &["last.example.com"], &["lasts"], &[])]);
    let role = json!({"metadata": {"name": "zz-last"}, "rules": rules});
    post(admin, cluster, &role);
    post(admin, roles, &role);
    let binding = |kind: &str, user: &str| {
        json!({
            "metadata": {"name": "zz-last"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "zz-last"},
            "subjects": [{"kind": "User", "name": user}],
        })
    };
    post(admin, &format!("{RBAC}/clusterrolebindings"), &binding("ClusterRole", "last-of-cluster"));
    let in_namespace = format!("{RBAC}/namespaces/{}/rolebindings", NAMESPACES[0]);
    post(admin, &in_namespace, &binding("Role", "last-of-namespace"));
}
