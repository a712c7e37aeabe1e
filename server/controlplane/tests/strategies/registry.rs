//! What is served, and where it is stored.

use std::collections::BTreeSet;

use super::served;

#[test]
fn nothing_is_stored_of_reviews_and_bindings() {
    let registry = served();
    let virtuals: BTreeSet<&str> = registry.virtuals.iter().map(|v| v.facts.resource).collect();
    let expect = [
        "bindings",
        "componentstatuses",
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
        "tokenreviews",
    ];
    assert_eq!(virtuals, BTreeSet::from(expect));
    for served in &registry.served {
        assert!(
            served.facts.verbs.contains(&"list"),
            "{} is stored and cannot be listed",
            served.facts.resource
        );
    }
}

#[test]
fn stored_names_are_unique_and_every_one_is_served() {
    let registry = served();
    let names: BTreeSet<&String> = registry.stored_names.iter().collect();
    assert_eq!(names.len(), registry.stored_names.len());
    for (at, name) in registry.stored_names.iter().enumerate() {
        assert!(registry.served.iter().any(|s| s.stored.0 as usize == at), "{name} is not served");
    }
    assert_eq!(registry.stored_names[registry.namespaces.0 as usize], "namespaces");
    assert!(names.contains(&"deployments.apps".to_owned()));
}

#[test]
fn events_and_autoscalers_share_a_store() {
    let registry = served();
    let (core, new) =
        (registry.find("", "v1", "events").unwrap(), registry.find("events.k8s.io", "v1", "events").unwrap());
    assert_eq!((core.stored, core.stored_type), (new.stored, new.stored_type));
    assert!(core.to_stored.is_none() && new.to_stored.is_some() && new.from_stored.is_some());
    assert_eq!((core.ttl_seconds, new.ttl_seconds), (3600, 3600));
    let one = registry.find("autoscaling", "v1", "horizontalpodautoscalers").unwrap();
    let two = registry.find("autoscaling", "v2", "horizontalpodautoscalers").unwrap();
    assert_eq!((one.stored, one.stored_type), (two.stored, two.stored_type));
    assert!(one.to_stored.is_some() && two.to_stored.is_none());
}

#[test]
fn who_creates_on_put_and_who_needs_a_version() {
    let registry = served();
    let names = |keep: &dyn Fn(&ringbolt_apiserver::registry::ServedResource) -> bool| -> BTreeSet<String> {
        registry.served.iter().filter(|s| keep(s)).map(|s| s.facts.resource.to_owned()).collect()
    };
    let creates = names(&|s| s.strategy.allow_create_on_update());
    let expect = [
        "clusterrolebindings",
        "clusterroles",
        "endpoints",
        "events",
        "leases",
        "limitranges",
        "rolebindings",
        "roles",
        "runtimeclasses",
        "services",
    ];
    assert_eq!(creates, expect.map(str::to_owned).into());
    let conditional = names(&|s| !s.strategy.allow_unconditional_update());
    for resource in ["leases", "poddisruptionbudgets", "csinodes", "validatingwebhookconfigurations"] {
        assert!(conditional.contains(resource), "{resource}");
    }
    for resource in ["configmaps", "pods", "deployments", "storageclasses"] {
        assert!(!conditional.contains(resource), "{resource}");
    }
    let orphans = names(&|s| s.strategy.orphans_by_default());
    assert_eq!(orphans, ["jobs", "replicationcontrollers"].map(str::to_owned).into());
}

#[test]
fn fields_are_read_from_the_stored_form() {
    let registry = served();
    let check = |group: &str, resource: &str, json: &str, field: &str, expect: Option<&str>| {
        let strategy = registry.find(group, "v1", resource).unwrap().strategy.clone();
        let selectable = strategy.selectable();
        let fields = selectable.of_stored(json.as_bytes());
        let value = selectable.column(field).map(|column| fields.get(column));
        assert_eq!(value, expect.map(str::as_bytes), "{resource} {field}");
    };
    let pod = r#""metadata":{"name":"a"},"spec":{"nodeName":"n"},"status":{"podIPs":[{"ip":"10.1.1.1"}]}}"#;
    check("", "pods", pod, "spec.nodeName", Some("n"));
    check("", "pods", pod, "status.podIP", Some("10.1.1.1"));
    check("", "pods", pod, "spec.hostNetwork", Some("false"));
    check("", "pods", pod, "status.phase", Some(""));
    check("", "pods", pod, "spec.containers", None);
    check("", "nodes", r#""spec":{"unschedulable":true}}"#, "spec.unschedulable", Some("true"));
    check("", "secrets", r#""type":"Opaque"}"#, "type", Some("Opaque"));
    check("batch", "jobs", r#""spec":{}}"#, "status.successful", Some("0"));
    check("apps", "replicasets", r#""spec":{}}"#, "status.replicas", None);
    let event = r#""involvedObject":{"kind":"Pod"},"reportingComponent":"c","source":{"component":"s"}}"#;
    check("", "events", event, "source", Some("s"));
    check("", "events", event, "involvedObject.kind", Some("Pod"));
    check("events.k8s.io", "events", event, "regarding.kind", Some("Pod"));
    check("events.k8s.io", "events", event, "reportingController", Some("c"));
    check("events.k8s.io", "events", event, "involvedObject.kind", None);
}

#[test]
fn names_by_kind() {
    let registry = served();
    let check = |group: &str, resource: &str, name: &str, good: bool| {
        let strategy = registry.find(group, "v1", resource).unwrap().strategy.clone();
        assert_eq!(strategy.name_errors(name, false).is_empty(), good, "{resource} {name}");
    };
    check("", "services", "1a", true);
    check("", "services", "a.b", false);
    check("", "configmaps", "a.b", true);
    check("", "configmaps", "A", false);
    check("", "namespaces", "a.b", false);
    check("apps", "statefulsets", "a.b", false);
    check("rbac.authorization.k8s.io", "clusterroles", "system:Node", true);
    check("rbac.authorization.k8s.io", "clusterroles", "a/b", false);
    check("networking.k8s.io", "ipaddresses", "10.0.0.1", true);
    check("networking.k8s.io", "ipaddresses", "10.0.0.01", false);
}
