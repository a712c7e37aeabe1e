//! What clients are warned of, one kind of object a row.

use ringbolt_apiserver::registry::Part;
use serde_json::{Value as Json, json};

use crate::{Kind, served};

/// Warnings about a new object of a kind.
fn check(group: &str, version: &str, resource: &str, object: &Json, expect: &[&str]) {
    let registry = served();
    let kind = Kind::of(&registry, group, version, resource);
    assert_eq!(kind.warnings(Part::Main, object, None), expect, "{resource} {object}");
}

#[test]
fn pods_are_looked_at_when_they_come() {
    let pod = |spec: Json| json!({"metadata": {"name": "a"}, "spec": spec});
    let check = |spec: Json, expect: &[&str]| check("", "v1", "pods", &pod(spec), expect);
    check(json!({"containers": [{"name": "c"}]}), &[]);
    check(
        json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
        &[
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
        ],
    );
    check(
        json!({"topologySpreadConstraints": [{"topologyKey": "x"}]}),
        &["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
    );
    check(
        json!({"volumes": [{"name": "a", "rbd": {}}, {"name": "b", "gitRepo": {}}, {"name": "c", "storageos": {}}]}),
        &[
            "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+",
            "spec.volumes[1].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
            "spec.volumes[2].storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    );
    check(
        json!({"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]}),
        &[
            "spec.imagePullSecrets[1].name: duplicate name \"a\"",
            "spec.imagePullSecrets[2].name: invalid empty name \"\"",
        ],
    );
    check(
        json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}),
        &[
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: \
           a null labelSelector results in matching no pod",
        ],
    );
    check(
        json!({"terminationGracePeriodSeconds": -1}),
        &[
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ],
    );
}

#[test]
fn files_of_a_volume_may_cover_each_other() {
    let volume = |source: Json| json!({"metadata": {"name": "a"}, "spec": {"volumes": [source]}});
    let check = |source: Json, expect: &[&str]| check("", "v1", "pods", &volume(source), expect);
    let items = json!([{"key": "a", "path": "x/"}, {"key": "b", "path": "x/y"}, {"key": "c", "path": "xy"}]);
    check(
        json!({"name": "v", "configMap": {"name": "m", "items": items}}),
        &["volume \"v\" (ConfigMap \"m\"): overlapping paths: \"x/y\" with \"x\""],
    );
    let sources = json!([
        {"secret": {"name": "s", "items": [{"key": "a", "path": "token"}]}},
        {"serviceAccountToken": {"path": "token"}},
        {}
    ]);
    check(
        json!({"name": "v", "projected": {"sources": sources}}),
        &[
            "volume \"v\" (Projected): overlapping paths: \"token\" (ServiceAccountToken) with \"token\" (Secret \"s\")",
            "volume \"v\" (Projected) has no sources provided",
        ],
    );
}

#[test]
fn containers_may_hide_and_repeat() {
    let pod = |container: Json| json!({"metadata": {"name": "a"}, "spec": {"containers": [container]}});
    let check = |container: Json, expect: &[&str]| check("", "v1", "pods", &pod(container), expect);
    check(
        json!({"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "x$(A)"}, {"name": "A"}]}),
        &[
            "spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply",
        ],
    );
    check(
        json!({"name": "c", "resources": {"limits": {"memory": "1500m"}}}),
        &[
            "spec.containers[0].resources.limits[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
        ],
    );
    let port = |host: &str, number: i64| json!({"containerPort": 80, "protocol": "TCP", "hostIP": host, "hostPort": number});
    check(
        json!({"name": "c", "ports": [port("", 1), port("", 1), port("10.0.0.1", 1), port("", 0), port("10.0.0.1", 0)]}),
        &[
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
            "spec.containers[0].ports[2]: dangerously ambiguous port definition with spec.containers[0].ports[0]",
            "spec.containers[0].ports[2]: dangerously ambiguous port definition with spec.containers[0].ports[1]",
            "spec.containers[0].ports[3]: overlapping port definition with spec.containers[0].ports[0]",
            "spec.containers[0].ports[3]: overlapping port definition with spec.containers[0].ports[1]",
            "spec.containers[0].ports[3]: overlapping port definition with spec.containers[0].ports[2]",
            "spec.containers[0].ports[4]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}",
            "spec.containers[0].ports[4]: overlapping port definition with spec.containers[0].ports[0]",
            "spec.containers[0].ports[4]: overlapping port definition with spec.containers[0].ports[1]",
            "spec.containers[0].ports[4]: overlapping port definition with spec.containers[0].ports[2]",
            "spec.containers[0].ports[4]: overlapping port definition with spec.containers[0].ports[3]",
        ],
    );
}

/// As many pairs as the ports' square: what no answer has room for is not made.
#[test]
fn ports_that_overlap_are_bounded() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "pods");
    let pod = |host_port: &dyn Fn(usize) -> usize| {
        let container =
            |n| json!({"name": format!("c{n}"), "ports": [{"containerPort": 80, "hostPort": host_port(n)}]});
        let containers: Vec<Json> = (0..3000).map(container).collect();
        json!({"metadata": {"name": "a"}, "spec": {"containers": containers}})
    };
    let alike = kind.warnings(Part::Main, &pod(&|_| 0), None);
    assert_eq!(alike.len(), 4096);
    let third = "spec.containers[2].ports[0]: duplicate port definition with spec.containers[1].ports[0]";
    assert_eq!(alike[2], third);
    assert_eq!(kind.warnings(Part::Main, &pod(&|n| n + 1), None), Vec::<String>::new());
}

#[test]
fn templates_are_looked_at_with_each_generation() {
    let registry = served();
    let kind = Kind::of(&registry, "apps", "v1", "deployments");
    let object = |generation: i64| {
        json!({
            "metadata": {"name": "a", "generation": generation},
            "spec": {"template": {"spec": {"terminationGracePeriodSeconds": -1}}}
        })
    };
    let why = "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be \
               treated as 1";
    assert_eq!(kind.warnings(Part::Main, &object(1), None), [why]);
    assert_eq!(kind.warnings(Part::Main, &object(2), Some(&object(1))), [why]);
    assert!(kind.warnings(Part::Main, &object(1), Some(&object(1))).is_empty());
    assert!(kind.warnings(Part::Status, &object(2), Some(&object(1))).is_empty());
}

#[test]
fn other_kinds_have_their_own() {
    check(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        &json!({"addressType": "FQDN"}),
        &["spec.addressType: FQDN endpoints are deprecated"],
    );
    check(
        "networking.k8s.io",
        "v1",
        "ingresses",
        &json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}}),
        &[
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
        ],
    );
    check(
        "",
        "v1",
        "persistentvolumes",
        &json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle", "cephfs": {"monitors": []}}}),
        &[
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning.",
            "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
        ],
    );
    check(
        "",
        "v1",
        "persistentvolumeclaims",
        &json!({"spec": {"resources": {"requests": {"storage": "1500m"}}}}),
        &["spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer"],
    );
    check(
        "",
        "v1",
        "resourcequotas",
        &json!({"spec": {"hard": {"cpu": "2", "limits.cpu": "1"}}}),
        &["ResourceQuota cpu (2) should be less than limits.cpu (1)"],
    );
    check(
        "storage.k8s.io",
        "v1",
        "csidrivers",
        &json!({"spec": {"tokenRequests": [{"audience": "a"}]}}),
        &[
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
           possible logging of tokens in volume attributes",
        ],
    );
    check(
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        &json!({"webhooks": [{"rules": [{"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"]}]}]}),
        &[
            "webhooks[0].rules[0]: subjectaccessreviews.authorization.k8s.io is excluded from admission webhooks; this \
           rule will have no effect",
        ],
    );
}
