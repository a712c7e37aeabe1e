//! Defaults.

use serde_json::{Value as Json, json};

use super::{Kind, served};

fn check(group: &str, resource: &str, given: Json, expect: Json) {
    let registry = served();
    let version = if group == "autoscaling" { "v2" } else { "v1" };
    assert_eq!(Kind::of(&registry, group, version, resource).defaulted(given), expect, "{resource}");
}

#[test]
fn a_deployment_of_one_container() {
    check(
        "apps",
        "deployments",
        json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}]}}}}),
        json!({"spec": {
            "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"spec": {
                "containers": [{
                    "name": "c", "image": "i:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"
                }],
                "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
                "securityContext": {}, "terminationGracePeriodSeconds": 30
            }}
        }}),
    );
}

#[test]
fn secrets_take_plain_text() {
    check(
        "",
        "secrets",
        json!({"stringData": {"a": "b"}, "data": {"a": "eA==", "c": "eA=="}}),
        json!({"type": "Opaque", "data": {"a": "Yg==", "c": "eA=="}}),
    );
}

#[test]
fn services_by_type() {
    check(
        "",
        "services",
        json!({"spec": {"ports": [{"port": 80}], "sessionAffinity": "ClientIP"}}),
        json!({"spec": {
            "type": "ClusterIP", "internalTrafficPolicy": "Cluster", "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]
        }}),
    );
    check(
        "",
        "services",
        json!({"spec": {"type": "ExternalName", "externalName": "a.b"}}),
        json!({"spec": {"type": "ExternalName", "externalName": "a.b", "sessionAffinity": "None"}}),
    );
}

#[test]
fn jobs_default_by_what_they_give() {
    let spec = |given: Json| {
        let registry = served();
        Kind::of(&registry, "batch", "v1", "jobs").defaulted(json!({"spec": given}))["spec"].clone()
    };
    let plain = spec(json!({}));
    assert_eq!(
        (&plain["completions"], &plain["parallelism"], &plain["backoffLimit"]),
        (&json!(1), &json!(1), &json!(6))
    );
    assert_eq!(plain["podReplacementPolicy"], "TerminatingOrFailed");
    let indexed =
        spec(json!({"parallelism": 2, "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": []}}));
    assert_eq!((&indexed["completions"], &indexed["backoffLimit"]), (&Json::Null, &json!(i32::MAX)));
    assert_eq!(indexed["podReplacementPolicy"], "Failed");
}

#[test]
fn autoscalers_scale_by_cpu() {
    check(
        "autoscaling",
        "horizontalpodautoscalers",
        json!({"spec": {"maxReplicas": 3}}),
        json!({"spec": {"maxReplicas": 3, "minReplicas": 1, "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
        ]}}),
    );
}

#[test]
fn limits_are_completed_from_each_other() {
    check(
        "",
        "limitranges",
        json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}}),
        json!({"spec": {"limits": [{
            "type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"},
            "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}
        }]}}),
    );
}

#[test]
fn bindings_complete_their_groups() {
    let group = "rbac.authorization.k8s.io";
    check(
        group,
        "rolebindings",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
        json!({
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]
        }),
    );
}

#[test]
fn policies_name_what_they_are_about() {
    check(
        "networking.k8s.io",
        "networkpolicies",
        json!({"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}}),
        json!({"spec": {
            "podSelector": {}, "policyTypes": ["Ingress", "Egress"],
            "egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}]
        }}),
    );
}
