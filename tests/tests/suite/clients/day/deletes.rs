//! Deleting: by name, by label, all; with what belongs to it, before it, or without; and the namespace at last.

use super::*;

const OWNER: &str = "
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: owner}
spec: {replicas: 0, selector: {matchLabels: {k: v}}, template: {metadata: {labels: {k: v}}, spec: {containers: [{name: c, image: i}]}}}
";

pub(super) fn run(kubectl: &Kubectl, name: &str) {
    for pod in ["a", "b", "c"] {
        kubectl.ok(&format!("run {pod} --image=i --labels=batch=day"));
    }
    kubectl.ok("delete pod a --now");
    kubectl.prints("get pods -l batch=day -o name", "pod/b\npod/c");
    kubectl.ok("delete pods -l batch=day --force --grace-period=0");
    kubectl.prints("get pods -l batch=day -o name", "");
    kubectl.ok("delete pods --all --now");
    kubectl.prints("get pods -o name", "");

    let dependents = "get configmaps -l owned=yes -o name";
    owned(kubectl, "behind");
    kubectl.ok("delete replicaset owner");
    kubectl.comes_to_print(dependents, "");
    owned(kubectl, "before");
    kubectl.ok("delete replicaset owner --cascade=foreground");
    // kubectl waited for the owner, and the owner for its dependent.
    kubectl.prints(dependents, "");
    owned(kubectl, "left");
    kubectl.ok("delete replicaset owner --cascade=orphan");
    kubectl.comes_to_print("get configmap left -o jsonpath={.metadata.ownerReferences}", "");
    kubectl.prints(dependents, "configmap/left");

    kubectl.ok(r#"create configmap held --from-literal=a=1"#);
    kubectl.ok(r#"patch configmap held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'"#);
    kubectl.ok("delete configmap held --wait=false");
    let held = kubectl.json("configmap held");
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held}");
    kubectl.ok(r#"patch configmap held --type=merge -p '{"metadata":{"finalizers":null}}'"#);
    kubectl.prints("get configmap held --ignore-not-found", "");

    let all = kubectl.ok("delete all --all");
    has(
        &all,
        &["deployment.apps \"web\" deleted", "service \"web\" deleted", "cronjob.batch \"often\" deleted"],
    );
    kubectl.prints("get all -o name", "");
    kubectl.ok(&format!("delete namespace {name}"));
    let gone = kubectl.fails(&format!("get namespace {name}"), None);
    has(&gone, &["NotFound"]);
    kubectl.prints("get configmaps,serviceaccounts,secrets,events,pdb -o name", "");
}

/// An owner and a ConfigMap of the given name that belongs to it.
fn owned(kubectl: &Kubectl, dependent: &str) {
    kubectl.fed("create -f -", OWNER);
    let uid = kubectl.ok("get replicaset owner -o jsonpath={.metadata.uid}");
    kubectl.fed(
        "create -f -",
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {dependent}\n  labels: {{owned: 'yes'}}\n  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: owner, uid: {uid}, controller: true, blockOwnerDeletion: true}}]\n"
        ),
    );
}
