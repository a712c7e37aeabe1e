//! A day of somebody who works with kubectl, from an empty namespace to one that is gone. No controller manager runs:
//! where one would act, the day plays its part by writing a status, and looks at what the server does by itself.

use super::*;

mod apply;
mod cluster;
mod deletes;
mod workloads;

/// Runs all of it. `name` is the namespace the day makes for itself, and part of the names of what has none.
pub(super) fn run(program: &Path, cluster: &Cluster, name: &str) {
    let kubectl = Kubectl::new(program, &cluster.kubeconfig(), name);
    kubectl.prints(&format!("create namespace {name}"), &format!("namespace/{name} created"));
    kubectl.comes_to_print("get serviceaccount default -o name", "serviceaccount/default");
    kubectl.comes_to_print("get configmap kube-root-ca.crt -o name", "configmap/kube-root-ca.crt");
    workloads::run(&kubectl);
    apply::run(&kubectl);
    cluster::run(&kubectl, name);
    deletes::run(&kubectl, name);
}

/// Fails unless `text` has all of `parts`.
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in: {text}");
    }
}

/// Fails unless some line of `text` has these words first.
fn row(text: &str, words: &[&str]) {
    let starts =
        |line: &str| line.split_whitespace().zip(words).filter(|(a, b)| a == *b).count() == words.len();
    assert!(text.lines().any(starts), "{words:?} in: {text}");
}
