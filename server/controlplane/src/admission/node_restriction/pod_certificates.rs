//! Requests of certificates for pods: of a kubelet, for a pod that runs on its node and has a volume for it.

use ringbolt_apiserver::admission::Operation;
use ringbolt_machinery::{field::quote, status::Status, value::Value};

use super::{Asked, pods::MIRROR};
use crate::{
    admission::permissions::{about, may},
    tree::Members,
};

/// What may be right in a moment is no refusal, so that it is tried again.
fn not_yet(why: String) -> Result<(), Status> {
    Err(Status::unknown_error(why))
}

pub(super) fn admit(asked: &Asked<'_>) -> Result<(), Status> {
    let attributes = asked.attributes;
    if attributes.operation != Operation::Create {
        return asked.forbid(&format!("unexpected operation {}", attributes.operation.as_str()));
    }
    if !attributes.subresource.is_empty() {
        return asked.forbid(&format!("unexpected subresource {}", attributes.subresource));
    }
    let spec = |field: &str| asked.text(&["spec", field]);
    let namespace = attributes.namespace;
    let node = quote(spec("nodeName"));
    if spec("nodeName") != asked.node {
        return asked.forbid(&format!(
            "PodCertificateRequest.Spec.NodeName={node}, which is not the requesting node {}",
            quote(asked.node)
        ));
    }
    let Some(uid) = asked.uid(asked.objects.nodes, "", asked.node) else {
        return not_yet(format!(
            "while retrieving node {node} named in the PodCertificateRequest: node {node} not found"
        ));
    };
    let pod_name = quote(&format!("{namespace}/{}", spec("podName")));
    if spec("nodeUID") != uid {
        return not_yet(format!(
            "PodCertificateRequest for pod {pod_name} names node UID {}, inconsistent with the running node ({})",
            quote(spec("nodeUID")),
            quote(&uid)
        ));
    }
    let Some(pod) = asked.tree(asked.objects.pods, namespace, spec("podName")) else {
        return not_yet(format!(
            "while retrieving pod {pod_name} named in the PodCertificateRequest: pod {} not found",
            quote(spec("podName"))
        ));
    };
    let of_pod = |path: &[&str]| pod.str_at(path).unwrap_or("");
    if spec("podUID") != of_pod(&["metadata", "uid"]) {
        return not_yet(format!(
            "PodCertificateRequest for pod {pod_name} contains pod UID ({}) which differs from running pod {}",
            quote(spec("podUID")),
            quote(of_pod(&["metadata", "uid"]))
        ));
    }
    if of_pod(&["spec", "nodeName"]) != spec("nodeName") {
        return asked.forbid(&format!(
            "pod {pod_name} is not running on node {node} named in the PodCertificateRequest"
        ));
    }
    if pod.path(&["metadata", "annotations", MIRROR]).is_some() {
        return asked.forbid(&format!("pod {pod_name} is a mirror pod"));
    }
    admit_account(asked, &pod, &pod_name)?;
    admit_signer(asked, &pod, &pod_name)
}

/// The account must be the pod's.
fn admit_account(asked: &Asked<'_>, pod: &Value<'_>, pod_name: &str) -> Result<(), Status> {
    let namespace = asked.attributes.namespace;
    let account = asked.text(&["spec", "serviceAccountName"]);
    let runs_as = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or("");
    if account != runs_as {
        return asked.forbid(&format!(
            "PodCertificateRequest for pod {pod_name} contains serviceAccountName ({}) that differs from running pod \
             ({})",
            quote(account),
            quote(runs_as)
        ));
    }
    let Some(uid) = asked.uid(asked.objects.service_accounts, namespace, account) else {
        return not_yet(format!(
            "while retrieving service account {} named in the PodCertificateRequest: serviceaccount {} not found",
            quote(&format!("{namespace}/{account}")),
            quote(account)
        ));
    };
    let claimed = asked.text(&["spec", "serviceAccountUID"]);
    if claimed != uid {
        return not_yet(format!(
            "PodCertificateRequest for pod {pod_name} names service account UID {}, which differs from the running \
             service account ({})",
            quote(claimed),
            quote(&uid)
        ));
    }
    Ok(())
}

/// The pod must have a volume with a certificate of the signer. Else the kubelet must be let to ask for it.
fn admit_signer(asked: &Asked<'_>, pod: &Value<'_>, pod_name: &str) -> Result<(), Status> {
    let signer = asked.text(&["spec", "signerName"]);
    let volumes = pod.path(&["spec", "volumes"]).and_then(Value::as_list).into_iter().flatten();
    let mut sources = volumes.flat_map(|volume| {
        let sources = volume.path(&["projected", "sources"]).and_then(Value::as_list);
        sources.into_iter().flatten().filter_map(|source| source.as_map()?.child("podCertificate"))
    });
    if sources.any(|source| source.text("signerName") == signer) {
        return Ok(());
    }
    // As in names of bundles of trust: names in policies have no slashes.
    let resource = signer.replace('/', ":");
    let facts = asked.attributes.served.facts;
    let account = asked.text(&["spec", "serviceAccountName"]);
    let question = about((facts.group, facts.version, &resource), asked.attributes.namespace, account);
    if may(asked.authorizers, asked.attributes, "request-serviceaccounts-podcertificate-signer", &question) {
        return Ok(());
    }
    let signer = quote(signer);
    asked.forbid(&format!(
        "pod {pod_name} does not mount a podCertificate projected volume for signer {signer}"
    ))
}
