//! Strategies of single kinds.

use bumpalo::Bump;
use ringbolt_apiserver::{authentication::UserInfo, registry::Part};
use ringbolt_machinery::{json::decode_untyped, value::Value};
use serde_json::{Value as Json, json};

use super::{Kind, served};

#[test]
fn status_is_the_servers() {
    let registry = served();
    let kind = Kind::of(&registry, "apps", "v1", "deployments");
    let object =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {"replicas": 5}});
    assert_eq!(kind.prepared(object.clone())["status"], Json::Null);
    let new = json!({"metadata": {"labels": {"a": "c"}}, "spec": {"replicas": 2}, "status": {"replicas": 9}});
    let main = kind.updated(Part::Main, new.clone(), &object);
    assert_eq!((&main["spec"]["replicas"], &main["status"]["replicas"]), (&json!(2), &json!(5)));
    let status = kind.updated(Part::Status, new, &object);
    assert_eq!((&status["spec"]["replicas"], &status["status"]["replicas"]), (&json!(1), &json!(9)));
    assert_eq!(status["metadata"]["labels"]["a"], "b");
}

/// A few kinds look closer than others: a list without items is not none, and what is dropped was given.
#[test]
fn generations_of_those_who_look_closer() {
    let registry = served();
    let old = json!({"metadata": {"generation": 3}, "spec": {"podSelector": {}}});
    let new = json!({"metadata": {"generation": 3}, "spec": {"podSelector": {"matchLabels": {}}}});
    assert!(Kind::of(&registry, "networking.k8s.io", "v1", "networkpolicies").counts(&new, &old));
    assert!(!Kind::of(&registry, "policy", "v1", "poddisruptionbudgets").counts(&new, &old));
    let slices = Kind::of(&registry, "resource.k8s.io", "v1", "resourceslices");
    let device = |attribute: Json| json!({"metadata": {"generation": 3}, "spec": {"devices": [{"name": "a", "attributes": {"b": attribute}}]}});
    let old = device(json!({"bool": true}));
    let counted = |new: Json| slices.updated(Part::Main, new, &old)["metadata"]["generation"].clone();
    assert_eq!(counted(device(json!({"bool": true, "ints": [1]}))), json!(4));
    assert_eq!(counted(old.clone()), json!(3));
}

#[test]
fn generations_count_what_matters() {
    let registry = served();
    let old = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"paused": false}, "status": {}});
    let check = |group: &str, resource: &str, change: fn(&mut Json), expect: bool| {
        let kind = Kind::of(&registry, group, "v1", resource);
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(kind.counts(&new, &old), expect, "{resource} {new}");
    };
    check("apps", "deployments", |o| o["metadata"]["labels"] = json!({}), false);
    check("apps", "deployments", |o| o["metadata"]["annotations"] = json!({"a": "b"}), true);
    check("apps", "replicasets", |o| o["metadata"]["annotations"] = json!({"a": "b"}), false);
    check("apps", "deployments", |o| o["spec"]["replicas"] = json!(2), true);
    check("apps", "deployments", |o| o["status"]["replicas"] = json!(2), false);
    // What has a zero value in Go is the same whether written or not; a pointer is not.
    check("apps", "deployments", |o| o["spec"]["minReadySeconds"] = json!(0), false);
    check("apps", "deployments", |o| o["spec"]["replicas"] = json!(0), true);
    check("", "configmaps", |o| o["data"] = json!({"a": "b"}), false);
    check("scheduling.k8s.io", "priorityclasses", |o| o["description"] = json!("x"), false);
    let strategy =
        |resource: &str, group: &str| registry.find(group, "v1", resource).unwrap().strategy.clone();
    assert!(strategy("priorityclasses", "scheduling.k8s.io").starts_generation());
    assert!(!strategy("csidrivers", "storage.k8s.io").starts_generation());
    assert!(strategy("csidrivers", "storage.k8s.io").counts_generation());
}

#[test]
fn grace_of_pods() {
    let registry = served();
    let strategy = registry.find("", "v1", "pods").unwrap().strategy.clone();
    let check = |json: Json, asked: Option<i64>, expect: i64| {
        let (arena, text) = (Bump::new(), json.to_string());
        let pod = decode_untyped(&arena, text.as_bytes()).unwrap();
        assert_eq!(strategy.grace(&pod, asked).unwrap().seconds, expect, "{json} {asked:?}");
    };
    let bound = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}});
    check(bound.clone(), None, 30);
    check(bound.clone(), Some(5), 5);
    check(bound.clone(), Some(-1), 1);
    check(bound.clone(), Some(0), 0);
    check(json!({"spec": {"terminationGracePeriodSeconds": 30}}), Some(5), 0);
    let mut finished = bound;
    finished["status"]["phase"] = json!("Succeeded");
    check(finished, None, 0);
    let config_maps = registry.find("", "v1", "configmaps").unwrap().strategy.clone();
    assert!(config_maps.grace(&Value::Null, Some(5)).is_none());
}

#[test]
fn priority_classes_of_the_system_stay() {
    let registry = served();
    let strategy = Kind::of(&registry, "scheduling.k8s.io", "v1", "priorityclasses").0.strategy.clone();
    for name in ["system-node-critical", "system-cluster-critical"] {
        let message = format!(
            "priorityclasses.scheduling.k8s.io {name:?} is forbidden: this is a system priority class and cannot be \
             deleted"
        );
        assert_eq!(
            strategy.check_delete(name).map(|status| (status.code, status.message)),
            Some((403, message))
        );
    }
    assert!(strategy.check_delete("system").is_none());
}

#[test]
fn namespaces_have_a_finalizer_a_phase_and_a_label() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "namespaces");
    let made = kind.prepared(json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["x/y"]}}));
    assert_eq!(made["spec"]["finalizers"], json!(["x/y", "kubernetes"]));
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "a");
    let strategy = kind.0.strategy.clone();
    for (name, stays) in
        [("default", true), ("kube-system", true), ("kube-public", true), ("kube-node-lease", false)]
    {
        assert_eq!(strategy.check_delete(name).is_some(), stays, "{name}");
    }
    assert_eq!(
        strategy.check_delete("default").unwrap().message,
        "namespaces \"default\" is forbidden: this namespace may not be deleted"
    );
    let dying = kind.on(&made, |arena, value| strategy.begin_deletion(arena, value));
    assert_eq!(dying["status"]["phase"], "Terminating");
    let (arena, text) = (Bump::new(), dying.to_string());
    assert!(strategy.holds_deletion(&decode_untyped(&arena, text.as_bytes()).unwrap()));
    let finalized =
        kind.updated(Part::Other("finalize"), json!({"metadata": {"name": "a"}, "spec": {}}), &dying);
    assert_eq!(finalized["spec"], json!({}));
    assert_eq!(finalized["status"]["phase"], "Terminating");
    let renewed = kind.updated(Part::Main, json!({"metadata": {"name": "a"}, "spec": {}}), &dying);
    assert_eq!(renewed["spec"]["finalizers"], json!(["x/y", "kubernetes"]));
}

#[test]
fn jobs_select_by_their_uid() {
    let registry = served();
    let kind = Kind::of(&registry, "batch", "v1", "jobs");
    let made =
        kind.prepared(json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"spec": {}}}}));
    assert_eq!(
        made["spec"]["template"]["metadata"]["labels"],
        json!({
            "job-name": "j", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"
        })
    );
    assert_eq!(made["spec"]["selector"]["matchLabels"], json!({"batch.kubernetes.io/controller-uid": "u"}));
    let manual =
        json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"manualSelector": true, "template": {}}});
    assert_eq!(kind.prepared(manual)["spec"]["selector"], Json::Null);
}

#[test]
fn jobs_without_labels_share_their_templates() {
    let registry = served();
    let kind = Kind::of(&registry, "batch", "v1", "jobs");
    let labels = |own: Json, template: Json| {
        let job = json!({
            "metadata": {"name": "j", "uid": "u", "labels": own}, "spec": {"template": {"metadata": {"labels": template}}}
        });
        let made = kind.on(&job, |arena, value| {
            (kind.0.defaulter)(arena, value);
            kind.0.strategy.prepare_for_create(arena, value);
        });
        made["metadata"]["labels"].clone()
    };
    let all = json!({
        "app": "a", "job-name": "j", "batch.kubernetes.io/job-name": "j", "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u"
    });
    assert_eq!(labels(Json::Null, json!({"app": "a"})), all);
    // Labels of its own stay as they are, also where they are the same.
    assert_eq!(labels(json!({"app": "a"}), json!({"app": "a"})), json!({"app": "a"}));
    assert_eq!(labels(json!({"x": "y"}), json!({"app": "a"})), json!({"x": "y"}));
}

#[test]
fn signing_requests_say_who_asks() {
    let registry = served();
    let kind = Kind::of(&registry, "certificates.k8s.io", "v1", "certificatesigningrequests");
    let object = json!({"spec": {"username": "root", "groups": ["g"], "signerName": "a/b"}});
    let prepared = kind.prepared(object);
    assert_eq!(prepared["spec"], json!({"signerName": "a/b"}));
    let user = UserInfo { name: "jane".into(), groups: vec!["dev".into()], ..UserInfo::default() };
    let made = kind.on(&prepared, |arena, value| kind.0.strategy.set_requester(arena, value, &user));
    assert_eq!(made["spec"], json!({"signerName": "a/b", "username": "jane", "groups": ["dev"]}));
    let approved = json!({"spec": {}, "status": {"conditions": [{"type": "Approved", "status": "True"}]}});
    let approved = kind.updated(Part::Other("approval"), approved, &made);
    assert_eq!(approved["spec"]["username"], "jane");
    assert!(approved["status"]["conditions"][0]["lastUpdateTime"].is_string());
}

#[test]
fn daemon_sets_count_their_templates() {
    let registry = served();
    let kind = Kind::of(&registry, "apps", "v1", "daemonsets");
    let of =
        |json: &Json| json["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone();
    let made = kind.prepared(json!({"metadata": {}, "spec": {"template": {"spec": {"hostname": "a"}}}}));
    assert_eq!(of(&made), "1");
    let same = kind.updated(Part::Main, json!({"metadata": {}, "spec": made["spec"]}), &made);
    assert_eq!(of(&same), "1");
    let other = json!({"metadata": {}, "spec": {"template": {"spec": {"hostname": "b"}}}});
    assert_eq!(of(&kind.updated(Part::Main, other, &made)), "2");
}

#[test]
fn claims_copy_their_data_source() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "persistentvolumeclaims");
    let source = json!({"kind": "PersistentVolumeClaim", "name": "a"});
    let made = kind.prepared(json!({"spec": {"dataSource": source}}));
    assert_eq!(made["spec"]["dataSourceRef"], source);
    let made = kind.prepared(json!({"spec": {"dataSourceRef": source}}));
    assert_eq!(made["spec"]["dataSource"], source);
    let made = kind.prepared(json!({"spec": {"dataSource": {"kind": "Other", "name": "a"}}}));
    assert_eq!(made["spec"], json!({}));
}

#[test]
fn pods_start_pending_with_a_class() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "pods");
    let made = kind.prepared(json!({
        "metadata": {}, "status": {"phase": "Running"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "schedulingGates": [{"name": "g"}]}
    }));
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["status"]["qosClass"], "Burstable");
    assert_eq!(made["status"]["conditions"][0]["reason"], "SchedulingGated");
    let limits =
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}});
    let made =
        kind.prepared(json!({"metadata": {}, "spec": {"containers": [{"name": "c", "resources": limits}]}}));
    assert_eq!(made["status"]["qosClass"], "Guaranteed");
}

#[test]
fn a_resize_changes_resources_only() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "pods");
    let old = json!({"metadata": {}, "spec": {"containers": [{"name": "c", "image": "a"}]}, "status": {"phase": "Running"}});
    let new = json!({"metadata": {}, "spec": {"containers": [{"name": "c", "image": "b", "resources": {"limits": {"cpu": "1"}}}]}});
    let resized = kind.updated(Part::Other("resize"), new, &old);
    assert_eq!(
        resized["spec"]["containers"][0],
        json!({"name": "c", "image": "a", "resources": {"limits": {"cpu": "1"}}})
    );
    assert_eq!(resized["status"]["phase"], "Running");
}

#[test]
fn services_keep_and_drop_by_type() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "services");
    let old = json!({"metadata": {}, "spec": {
        "type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "externalTrafficPolicy": "Cluster",
        "ports": [{"name": "a", "port": 80, "nodePort": 30000}]
    }});
    let same = json!({"metadata": {}, "spec": {"type": "NodePort", "ports": [{"name": "a", "port": 81}]}});
    let kept = kind.updated(Part::Main, same, &old);
    assert_eq!(kept["spec"]["clusterIPs"], json!(["10.0.0.1"]));
    assert_eq!(kept["spec"]["ports"][0]["nodePort"], 30000);
    let mut inner = old.clone();
    inner["spec"]["type"] = json!("ClusterIP");
    let inner = kind.updated(Part::Main, inner, &old);
    assert_eq!(inner["spec"]["ports"][0]["nodePort"], Json::Null);
    assert_eq!(inner["spec"]["externalTrafficPolicy"], Json::Null);
    assert_eq!(inner["spec"]["clusterIP"], "10.0.0.1");
    let external = json!({"metadata": {}, "spec": {"type": "ExternalName", "externalName": "a.b"}});
    assert_eq!(kind.updated(Part::Main, external, &old)["spec"]["clusterIP"], Json::Null);
}

#[test]
fn what_is_frozen_stays() {
    let registry = served();
    let maps = Kind::of(&registry, "", "v1", "configmaps");
    let old = json!({"immutable": true, "data": {"a": "b"}});
    assert_eq!(maps.update_errors(&old, &old), Vec::<String>::new());
    assert_eq!(
        maps.update_errors(&json!({"data": {"a": "c"}}), &old),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set"
        ]
    );
    let secrets = Kind::of(&registry, "", "v1", "secrets");
    assert_eq!(
        secrets.update_errors(&json!({"type": "a"}), &json!({"type": "b"})),
        ["type: Invalid value: \"a\": field is immutable"]
    );
    let bindings = Kind::of(&registry, "rbac.authorization.k8s.io", "v1", "rolebindings");
    let binding = |name: &str| json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}});
    assert_eq!(
        bindings.update_errors(&binding("b"), &binding("a")),
        [
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"b\"}: field is immutable"
        ]
    );
}

#[test]
fn pods_need_containers_and_names() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "pods");
    let pod = |containers: Json| kind.defaulted(json!({"metadata": {}, "spec": {"containers": containers}}));
    assert_eq!(kind.errors(&pod(json!([]))), ["spec.containers: Required value"]);
    assert_eq!(
        kind.errors(&pod(json!([{"name": "a", "image": "i"}, {"name": "a"}]))),
        ["spec.containers[1].image: Required value", "spec.containers[1].name: Duplicate value: \"a\""]
    );
    let mounted = json!([{"name": "a", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]);
    assert_eq!(kind.errors(&pod(mounted)), ["spec.containers[0].volumeMounts[0].name: Not found: \"v\""]);
}
