//! Objects that the benchmark stores: the same on both sides, of the sizes and shapes that clusters have.

use serde_json::{Value, json};

/// Namespace of everything but the pods of the large store.
pub const NAMESPACE: &str = "bench";
/// Nodes that pods are spread over in the large store.
pub const NODES: usize = 100;

/// A ConfigMap of about 1 KiB as it is sent.
#[must_use]
pub fn config_map(namespace: &str, name: &str) -> Value {
    let line = |n: usize| format!("setting-{n}=value of setting number {n} of this application\n");
    let file: String = (0..7).map(line).collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bench", "tier": "backend"}},
        "data": {"application.properties": file.clone(), "fallback.properties": file},
    })
}

/// A pod as a Deployment's controller would make it, already bound to a node. With what servers add to it and
/// [`pod_status`] it is about 4 KiB as it is served.
#[must_use]
pub fn pod(namespace: &str, number: usize) -> Value {
    let app = format!("app-{}", number % 100);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(number),
            "namespace": namespace,
            "labels": {"app": app, "pod-template-hash": "7c9d8f6b5d", "version": "v1"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-7c9d8f6b5d"),
                "uid": "0b8c3c1e-6f0a-4b6e-9d1f-2f6b3c7f5a11", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "nodeName": node_name(number),
            "serviceAccountName": "default",
            "automountServiceAccountToken": false,
            "containers": [container("main", &app, 8080)],
            "volumes": [{"name": "config", "configMap": {"name": "application-config"}}],
        },
    })
}

/// Group of the custom resources.
pub const CUSTOM_GROUP: &str = "bench.ringbolt.io";
/// Path of their collection in a namespace.
#[must_use]
pub fn widgets(namespace: &str) -> String {
    format!("/apis/{CUSTOM_GROUP}/v1/namespaces/{namespace}/widgets")
}

/// A definition of custom resources as projects have them: a schema of a few dozen nodes with defaults, enumerations,
/// patterns and lists by key, a status, columns.
#[must_use]
pub fn definition(plural: &str, kind: &str) -> Value {
    let text =
        || json!({"type": "string", "maxLength": 4096, "description": "A text that the controller reads."});
    let condition = json!({
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": {"type": "string", "maxLength": 316, "pattern": "^[A-Za-z][A-Za-z0-9_.-]*$"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": text(), "message": text(),
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        },
    });
    let port = json!({
        "type": "object",
        "required": ["name", "port"],
        "properties": {
            "name": text(), "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["image"],
                "properties": {
                    "image": text(), "sequence": text(), "padding": text(),
                    "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
                    "policy": {"type": "string", "enum": ["Always", "Never"], "default": "Always"},
                    "ports": {"type": "array", "maxItems": 16, "items": port,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
                    "settings": {"type": "object", "additionalProperties": {"type": "string"}},
                    "target": {"x-kubernetes-int-or-string": true},
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "readyReplicas": {"type": "integer", "format": "int32"},
                    "conditions": {"type": "array", "items": condition,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
                },
            },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{CUSTOM_GROUP}")},
        "spec": {
            "group": CUSTOM_GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}],
            }],
        },
    })
}

/// A custom resource of about 1 KiB as it is sent.
#[must_use]
pub fn widget(namespace: &str, name: &str) -> Value {
    let settings: serde_json::Map<String, Value> = (0..12)
        .map(|n| (format!("setting-{n}"), json!(format!("value of setting number {n} of this one"))))
        .collect();
    json!({
        "apiVersion": format!("{CUSTOM_GROUP}/v1"),
        "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bench", "tier": "backend"}},
        "spec": {
            "image": "registry.example.com/team/widget:1.4.2",
            "replicas": 3,
            "ports": [{"name": "http", "port": 8080}, {"name": "metrics", "port": 9090, "protocol": "TCP"}],
            "settings": settings,
            "target": "25%",
        },
    })
}

fn container(name: &str, image: &str, port: u16) -> Value {
    json!({
        "name": name,
        "image": format!("registry.example.com/team/{image}:1.4.2"),
        "args": ["--config=/etc/app/application.properties", "--verbose"],
        "ports": [{"name": "http", "containerPort": port}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": true}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 10},
    })
}

/// The status a kubelet would report, as a merge patch of the status subresource.
#[must_use]
pub fn pod_status(number: usize) -> Value {
    let address = format!("10.{}.{}.{}", 64 + number / 62_500, number / 250 % 250, number % 250 + 1);
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-05T09:30:04Z"});
    let running = |name: &str, image: &str| {
        json!({
            "name": name, "ready": true, "started": true, "restartCount": 0,
            "image": format!("registry.example.com/team/{image}:1.4.2"), "imageID": "",
            "state": {"running": {"startedAt": "2026-01-05T09:30:03Z"}},
        })
    };
    json!({"status": {
        "phase": "Running", "startTime": "2026-01-05T09:30:00Z", "hostIP": "192.168.7.21",
        "podIP": address.clone(), "podIPs": [{"ip": address}],
        "conditions": [condition("Ready"), condition("PodScheduled")],
        "containerStatuses": [running("main", &format!("app-{}", number % 100))],
    }})
}

/// Name of pod `number`.
#[must_use]
pub fn pod_name(number: usize) -> String {
    format!("app-{}-7c9d8f6b5d-{number:05}", number % 100)
}

/// The node pod `number` is bound to. Another step than the labels', so that the two selectors cut differently.
#[must_use]
pub fn node_name(number: usize) -> String {
    format!("node-{}", number / 7 % NODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_named() {
        let length = config_map(NAMESPACE, "settings").to_string().len();
        assert!((900..1150).contains(&length), "{length}");
        let length = widget(NAMESPACE, "widget-0").to_string().len();
        assert!((900..1150).contains(&length), "{length}");
    }

    #[test]
    fn addresses_and_names_are_valid_for_many_pods() {
        for number in [0, 249, 250, 9_999, 62_499, 62_500] {
            let status = pod_status(number);
            let address = status["status"]["podIP"].as_str().unwrap();
            assert!(address.parse::<std::net::Ipv4Addr>().is_ok(), "{address}");
        }
        assert_eq!(pod_name(17), "app-17-7c9d8f6b5d-00017");
    }
}
