//! The roles and bindings of a new cluster, and what becomes of those that are there already.

use std::collections::HashMap;

use ringbolt_controlplane::bootstrap::policy::{BootstrapPolicy, Change, Need};
use serde_json::{Value as Json, json};

use super::admission::{Rig, rig_without};

const ROLES: &str = "clusterroles";
const BINDINGS: &str = "clusterrolebindings";
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// A store with the namespaces of the policy, and those requests made that it asks for.
struct Cluster {
    rig: Rig,
    policy: BootstrapPolicy,
}

impl Cluster {
    fn new() -> Self {
        let rig = rig_without(&[]);
        let policy = BootstrapPolicy::new(rig.schema, &rig.registry);
        assert_eq!(policy.missing_namespaces(&*rig.storage), ["kube-system", "kube-public"]);
        for namespace in ["kube-system", "kube-public"] {
            let text = format!(r#"{{"metadata":{{"name":"{namespace}"}}}}"#);
            rig.store("/v1/namespaces", "", &text);
        }
        assert_eq!(policy.missing_namespaces(&*rig.storage), [""; 0]);
        Cluster { rig, policy }
    }

    /// With the whole policy, as a start makes it.
    fn started() -> Self {
        let cluster = Cluster::new();
        cluster.start();
        cluster
    }

    /// Does what has to be done; answers how often an object was created, changed and removed.
    fn start(&self) -> HashMap<&'static str, usize> {
        let mut methods = HashMap::new();
        for _ in 0..3 {
            // All at once, as the server does it.
            let needs: Vec<_> =
                (0..self.policy.count()).map(|n| self.policy.need(&*self.rig.storage, n)).collect();
            let mut quiet = true;
            for need in needs {
                quiet &= need == Need::Nothing;
                if let Need::Change(change) = need {
                    *methods.entry(change.method).or_default() += 1;
                    self.make(&change);
                }
            }
            if quiet {
                return methods;
            }
        }
        panic!("there is always something to do: {methods:?}");
    }

    fn make(&self, change: &Change) {
        let path: Vec<_> = change.path.split('/').collect();
        let (namespace, resource) = match path[..] {
            ["", "apis", _, "v1", "namespaces", namespace, resource, ..] => (namespace, resource),
            ["", "apis", _, "v1", resource, ..] => ("", resource),
            _ => panic!("{}", change.path),
        };
        let name = match change.method {
            "POST" => String::new(),
            _ => path.last().map(|name| (*name).to_owned()).unwrap(),
        };
        if change.method != "POST" {
            self.remove(resource, namespace, &name);
        }
        if change.method != "DELETE" {
            self.write(resource, namespace, &change.body);
        }
    }

    fn write(&self, resource: &str, namespace: &str, body: &[u8]) {
        let body = std::str::from_utf8(body).unwrap();
        self.rig.store(&format!("rbac.authorization.k8s.io/v1/{resource}"), namespace, body);
    }

    fn remove(&self, resource: &str, namespace: &str, name: &str) {
        self.rig.remove(&format!("rbac.authorization.k8s.io/v1/{resource}"), namespace, name);
    }

    fn get(&self, resource: &str, namespace: &str, name: &str) -> Json {
        let stored = self.rig.get(&format!("rbac.authorization.k8s.io/v1/{resource}"), namespace, name);
        stored.unwrap_or_else(|| panic!("{resource} {name} is not there"))
    }

    /// Changes an object behind the policy's back.
    fn edit(&self, resource: &str, name: &str, edit: impl FnOnce(&mut Json)) {
        let mut object = self.get(resource, "", name);
        edit(&mut object);
        self.remove(resource, "", name);
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        self.write(resource, "", object.to_string().as_bytes());
    }
}

#[test]
fn a_new_cluster_has_all_of_it_at_once() {
    let cluster = Cluster::new();
    assert_eq!(cluster.start(), HashMap::from([("POST", 141)]));
    assert_eq!(cluster.start(), HashMap::new(), "nothing is left to do");
    let admin = cluster.get(ROLES, "", "admin");
    assert_eq!(
        (&admin["rules"], &admin["aggregationRule"]),
        (
            &Json::Null,
            &json!({"clusterRoleSelectors":
                [{"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}}]})
        )
    );
    let view = cluster.get(ROLES, "", "view");
    assert_eq!(
        view["metadata"]["labels"],
        json!({"kubernetes.io/bootstrapping": "rbac-defaults",
            "rbac.authorization.k8s.io/aggregate-to-edit": "true"})
    );
    assert_eq!(view["metadata"]["annotations"], json!({AUTO_UPDATE: "true"}));
    let node = cluster.get(BINDINGS, "", "system:node");
    assert_eq!(node.get("subjects"), None, "nodes have an authorizer of their own");
    let locks = cluster.get("rolebindings", "kube-system", "system::leader-locking-kube-scheduler");
    assert_eq!(
        (&locks["roleRef"], &locks["subjects"]),
        (
            &json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                "name": "system::leader-locking-kube-scheduler"}),
            &json!([
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:kube-scheduler"},
                {"kind": "ServiceAccount", "name": "kube-scheduler", "namespace": "kube-system"},
            ])
        )
    );
}

#[test]
fn roles_of_namespaces_wait_for_them() {
    let rig = rig_without(&[]);
    let policy = BootstrapPolicy::new(rig.schema, &rig.registry);
    let count = |wanted: &dyn Fn(&Need) -> bool| {
        (0..policy.count()).filter(|n| wanted(&policy.need(&*rig.storage, *n))).count()
    };
    assert_eq!(count(&|need| *need == Need::Later), 14);
    assert_eq!(count(&|need| matches!(need, Need::Change(_))), 127);
}

#[test]
fn what_is_missing_is_added() {
    let cluster = Cluster::started();
    cluster.edit(ROLES, "system:kube-dns", |role| {
        role["rules"] = json!([
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["list"], "apiGroups": [""], "resources": ["endpoints", "services"]},
        ]);
        role["metadata"]["labels"] = json!({"mine": "yes"});
        role["metadata"]["annotations"] = json!({AUTO_UPDATE: "yes"});
    });
    cluster.edit(BINDINGS, "system:kube-dns", |binding| {
        binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "kube-dns", "namespace": "other"}]);
    });
    cluster.edit(ROLES, "edit", |role| {
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    });
    cluster.edit(ROLES, "system:heapster", |role| {
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    });
    cluster.remove(ROLES, "", "system:discovery");
    assert_eq!(cluster.start(), HashMap::from([("PUT", 4), ("POST", 1)]));
    let role = cluster.get(ROLES, "", "system:kube-dns");
    assert_eq!(
        role["rules"],
        json!([
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["list"], "apiGroups": [""], "resources": ["endpoints", "services"]},
            {"verbs": ["watch"], "apiGroups": [""], "resources": ["endpoints"]},
            {"verbs": ["watch"], "apiGroups": [""], "resources": ["services"]},
        ]),
        "part by part"
    );
    assert_eq!(
        role["metadata"]["labels"],
        json!({"kubernetes.io/bootstrapping": "rbac-defaults", "mine": "yes"})
    );
    assert_eq!(role["metadata"]["annotations"], json!({AUTO_UPDATE: "yes"}), "what is said stays");
    assert_eq!(
        cluster.get(BINDINGS, "", "system:kube-dns")["subjects"],
        json!([
            {"kind": "ServiceAccount", "name": "kube-dns", "namespace": "other"},
            {"kind": "ServiceAccount", "name": "kube-dns", "namespace": "kube-system"},
        ])
    );
    assert_eq!(
        cluster.get(ROLES, "", "edit")["aggregationRule"]["clusterRoleSelectors"],
        json!([
            {"matchLabels": {"a": "b"}},
            {"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
        ])
    );
    assert_eq!(cluster.get(ROLES, "", "system:heapster").get("aggregationRule"), None);
}

#[test]
fn what_is_there_beyond_it_stays() {
    let cluster = Cluster::started();
    cluster.edit(ROLES, "system:kube-dns", |role| {
        role["rules"] = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    });
    cluster.edit(BINDINGS, "system:discovery", |binding| {
        let more = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "x"});
        binding["subjects"].as_array_mut().unwrap().push(more);
    });
    cluster.edit(ROLES, "admin", |role| {
        role["rules"] = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    });
    assert_eq!(cluster.start(), HashMap::new());
}

#[test]
fn who_does_not_follow_is_left_alone() {
    let cluster = Cluster::started();
    for (resource, name) in [(ROLES, "system:discovery"), (BINDINGS, "system:discovery")] {
        cluster.edit(resource, name, |object| {
            object["metadata"]["annotations"] = json!({AUTO_UPDATE: "false"});
            object["metadata"]["labels"] = json!({});
            let content = if resource == ROLES { "rules" } else { "subjects" };
            object[content] = json!([]);
        });
    }
    assert_eq!(cluster.start(), HashMap::new());
}

#[test]
fn a_binding_of_another_role_is_made_anew() {
    let cluster = Cluster::started();
    cluster.edit(BINDINGS, "system:basic-user", |binding| {
        binding["roleRef"]["name"] = json!("cluster-admin");
        binding["metadata"]["uid"] = json!("u");
    });
    assert_eq!(cluster.start(), HashMap::from([("DELETE", 1), ("POST", 1)]));
    let binding = cluster.get(BINDINGS, "", "system:basic-user");
    assert_eq!(binding["roleRef"]["name"], "system:basic-user");
}

/// Before they were made of parts, roles had rules of their own, and those may have been changed.
#[test]
fn rules_of_before_aggregation_are_kept() {
    let cluster = Cluster::started();
    cluster.remove(ROLES, "", "system:aggregate-to-view");
    cluster.edit(ROLES, "view", |role| {
        role.as_object_mut().unwrap().remove("aggregationRule");
        role["rules"] = json!([{"verbs": ["own"], "apiGroups": [""], "resources": ["pods"]}]);
    });
    // The copy, what it lacks, and only then the role itself.
    assert_eq!(cluster.start(), HashMap::from([("POST", 1), ("PUT", 2)]));
    let part = cluster.get(ROLES, "", "system:aggregate-to-view");
    assert_eq!(part["rules"][0]["verbs"], json!(["own"]));
    assert_eq!(part["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true");
    assert!(cluster.get(ROLES, "", "view").get("aggregationRule").is_some());
}

#[test]
fn a_binding_that_was_split_off_has_the_subjects_of_the_other() {
    let cluster = Cluster::started();
    cluster.remove(BINDINGS, "", "system:public-info-viewer");
    cluster.edit(BINDINGS, "system:discovery", |binding| {
        binding["subjects"] = json!([]);
        binding["metadata"]["annotations"] = json!({AUTO_UPDATE: "false"});
    });
    assert_eq!(cluster.start(), HashMap::from([("POST", 1)]));
    let binding = cluster.get(BINDINGS, "", "system:public-info-viewer");
    assert_eq!(binding.get("subjects"), None);
    assert_eq!(binding["metadata"]["annotations"], json!({AUTO_UPDATE: "false"}));
}
