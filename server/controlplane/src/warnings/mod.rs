//! What clients are warned of when they write a built-in kind: objects that are accepted but hardly mean what their
//! writers want.

mod admission;
mod containers;
mod networking;
mod pod_spec;
mod secret;
mod service;
mod storage;
mod virtual_paths;
mod workloads;

use ringbolt_machinery::{
    validation::names::dns1123_label_errors,
    value::{Map, Value},
};

pub(crate) use self::{
    admission::{static_suffix, webhooks},
    networking::{endpoint_slice, ingress, ingress_status},
    pod_spec::{pod, pod_beside_spec, pod_status, replication_controller},
    secret::secret,
    service::{service, service_status},
    storage::{capacity, claim, driver, resource_slice, runtime_class, storage_class, volume},
    workloads::{cron_job, daemon_set, deployment, job, pod_template, quota, replica_set, stateful_set},
};
use crate::{quantity, tree::Members};

/// Labels of nodes that others took the place of.
const DEPRECATED_NODE_LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

/// What is to be said of a node's label.
fn node_label(name: &str) -> Option<&'static str> {
    DEPRECATED_NODE_LABELS.iter().find(|(label, _)| *label == name).map(|(_, why)| *why)
}

/// A name that also goes where only a DNS label fits.
fn name_as_label(object: &Value<'_>, used: &str, warnings: &mut Vec<String>) {
    let wrong = dns1123_label_errors(object.str_at(&["metadata", "name"]).unwrap_or(""));
    if !wrong.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        ));
    }
}

/// A number of bytes that is no whole one; `path` is that of the list.
fn fractional_bytes(
    list: Option<&Map<'_>>,
    resource: &str,
    path: impl FnOnce() -> String,
    warnings: &mut Vec<String>,
) {
    let text = list.map_or("", |l| l.text(resource));
    if text.is_empty() || quantity::is_plainly_whole(text) {
        return;
    }
    if let Some(amount) = quantity::parse(text).filter(|amount| !amount.is_integer()) {
        let path = path();
        warnings.push(format!(
            "{path}[{resource}]: fractional byte value \"{amount}\" is invalid, must be an integer"
        ));
    }
}

/// Annotations of an object.
fn annotations<'v, 'a>(object: &'v Value<'a>) -> Option<&'v Map<'a>> {
    object.path(&["metadata", "annotations"]).and_then(Value::as_map)
}

/// Whether a change made a new generation.
fn new_generation(object: &Value<'_>, old: &Value<'_>) -> bool {
    let of = |v: &Value<'_>| v.path(&["metadata", "generation"]).and_then(Value::as_i64);
    of(object) != of(old)
}
