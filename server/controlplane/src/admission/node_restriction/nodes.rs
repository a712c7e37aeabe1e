//! Nodes that kubelets write: their own, without what steers others' pods to it.

use std::collections::BTreeSet;

use ringbolt_apiserver::admission::Operation;
use ringbolt_machinery::{field::quote, status::Status, value::Value};

use super::Asked;
use crate::semantic;

/// Labels that kubelets may set though they are Kubernetes' own (`KubeletLabels`).
const KUBELET_LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// Prefixes of labels that kubelets may set.
const KUBELET_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The prefix of labels that no kubelet may set.
const RESTRICTED_PREFIX: &str = "node-restriction.kubernetes.io";
const KIND: (&str, &str, &str) = ("", "v1", "Node");

pub(super) fn admit(asked: &Asked<'_>) -> Result<(), Status> {
    let node = quote(asked.node);
    let name = asked.name();
    if name != asked.node {
        return asked.forbid(&format!("node {node} is not allowed to modify node {}", quote(name)));
    }
    match (asked.attributes.operation, asked.object, asked.old) {
        (Operation::Create, Some(new), _) => {
            if has_config_source(new) {
                // The message speaks of pods, though it is of nodes.
                return asked.forbid(&format!(
                    "node {node} is not allowed to create pods with a non-nil configSource"
                ));
            }
            let labels = forbidden_labels(new, None);
            if !labels.is_empty() {
                return asked
                    .forbid(&format!("node {node} is not allowed to set the following labels: {labels}"));
            }
        }
        (Operation::Update, Some(new), Some(old)) => {
            let same = |path: &[&str]| semantic::field_equal(KIND, path, new.path(path), old.path(path));
            if has_config_source(new) && !same(&["spec", "configSource"]) {
                return asked.forbid(&format!(
                    "node {node} is not allowed to update configSource to a new non-nil configSource"
                ));
            }
            if !same(&["spec", "taints"]) {
                return asked.forbid(&format!("node {node} is not allowed to modify taints"));
            }
            if !same(&["metadata", "ownerReferences"]) {
                return asked.forbid(&format!("node {node} is not allowed to modify ownerReferences"));
            }
            let labels = forbidden_labels(new, Some(old));
            if !labels.is_empty() {
                return asked.forbid(&format!("is not allowed to modify labels: {labels}"));
            }
        }
        _ => {}
    }
    Ok(())
}

fn has_config_source(node: &Value<'_>) -> bool {
    node.path(&["spec", "configSource"]).is_some_and(|source| !source.is_null())
}

/// The labels that differ and that a kubelet may not set, in order.
fn forbidden_labels(new: &Value<'_>, old: Option<&Value<'_>>) -> String {
    let labels = |of: Option<&Value<'_>>| -> BTreeSet<(String, String)> {
        let map = of.and_then(|of| of.path(&["metadata", "labels"])).and_then(Value::as_map);
        let pairs = map.into_iter().flat_map(|map| map.iter());
        pairs.map(|(key, value)| (key.to_owned(), value.as_str().unwrap_or("").to_owned())).collect()
    };
    let (new, old) = (labels(Some(new)), labels(old));
    let changed: BTreeSet<&str> = new.symmetric_difference(&old).map(|(key, _)| key.as_str()).collect();
    let forbidden: Vec<&str> = changed.into_iter().filter(|key| is_forbidden(key)).collect();
    forbidden.join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let is_of =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_kubernetes = is_of("kubernetes.io") || is_of("k8s.io");
    let is_kubelets = KUBELET_LABELS.contains(&label) || KUBELET_PREFIXES.iter().any(|domain| is_of(domain));
    is_of(RESTRICTED_PREFIX) || is_kubernetes && !is_kubelets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let check = |label: &str, expect: bool| assert_eq!(is_forbidden(label), expect, "{label}");
        check("foo", false);
        check("example.com/foo", false);
        check("notkubernetes.io/foo", false);
        check("kubernetes.io/foo", true);
        check("x.kubernetes.io/foo", true);
        check("k8s.io/foo", true);
        check("x.k8s.io/foo", true);
        check("kubernetes.io/hostname", false);
        check("topology.kubernetes.io/zone", false);
        check("topology.kubernetes.io/other", true);
        check("kubelet.kubernetes.io/foo", false);
        check("x.node.kubernetes.io/foo", false);
        check("xnode.kubernetes.io/foo", true);
        check("node-restriction.kubernetes.io/foo", true);
        check("x.node-restriction.kubernetes.io/foo", true);
        check("node-role.kubernetes.io/control-plane", true);
    }
}
