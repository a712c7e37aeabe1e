//! Pods that kubelets write: mirrors of their own, and the status and the end of what runs on their node.

use ringbolt_apiserver::admission::Operation;
use ringbolt_machinery::{
    field::quote,
    status::Status,
    value::{Map, Value},
};

use super::Asked;
use crate::{
    admission::secret_references::references_secrets,
    semantic,
    tree::{Members, same},
};

/// Annotation of the pod that stands for one of a kubelet's own (`MirrorPodAnnotationKey`).
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Volumes that need no other object of the API.
const WITHOUT_OBJECTS: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
/// Volumes that do, and what that is called.
const WITH_OBJECTS: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];
/// The same of sources of projected volumes.
const PROJECTED: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

pub(super) fn admit(asked: &Asked<'_>) -> Result<(), Status> {
    let node = quote(asked.node);
    match (asked.attributes.operation, asked.object, asked.old) {
        (Operation::Create, Some(pod), _) => admit_create(asked, pod),
        // A collection has no name, and there is no pod without: each of its pods is passed over as if it were gone.
        (Operation::Delete, ..) if asked.attributes.name.is_empty() => Err(Status::not_found("", "pod", "")),
        (Operation::Delete, _, Some(pod)) if runs_on(pod) != asked.node => {
            asked.forbid(&format!("node {node} can only delete pods with spec.nodeName set to itself"))
        }
        (Operation::Delete, ..) => Ok(()),
        _ => asked.forbid(&format!(
            "unexpected operation {}, node {node} can only create and delete mirror pods",
            asked.operation()
        )),
    }
}

fn runs_on<'a>(pod: &Value<'a>) -> &'a str {
    pod.str_at(&["spec", "nodeName"]).unwrap_or("")
}

fn admit_create(asked: &Asked<'_>, pod: &Value<'_>) -> Result<(), Status> {
    let node = quote(asked.node);
    if pod.path(&["metadata", "annotations", MIRROR]).is_none() {
        let mirror = quote(MIRROR);
        return asked.forbid(&format!(
            "pod does not have {mirror} annotation, node {node} can only create mirror pods"
        ));
    }
    if runs_on(pod) != asked.node {
        return asked.forbid(&format!("node {node} can only create pods with spec.nodeName set to itself"));
    }
    let owners = pod.path(&["metadata", "ownerReferences"]).and_then(Value::as_list);
    let with_owner = |what: &str| asked.forbid(&format!("node {node} can only create pods with {what}"));
    let owner = match owners.map_or(&[][..], |owners| owners.as_slice()) {
        [Value::Map(owner)] => owner,
        [] | [_] => return with_owner("an owner reference set to itself"),
        _ => return with_owner("a single owner reference set to itself"),
    };
    let is_node = owner.text("apiVersion") == "v1" && owner.text("kind") == "Node";
    if !is_node || owner.text("name") != asked.node {
        return with_owner("an owner reference set to itself");
    }
    if !owner.flag("controller") {
        return with_owner("a controller owner reference set to itself");
    }
    if owner.flag("blockOwnerDeletion") {
        return asked.forbid(&format!("node {node} must not set blockOwnerDeletion on an owner reference"));
    }
    let uid = asked.uid(asked.objects.nodes, "", asked.node);
    let uid = uid.ok_or_else(|| Status::not_found("", "node", asked.node))?;
    if owner.text("uid") != uid {
        let (node, claimed) = (asked.node, owner.text("uid"));
        return asked.forbid(&format!("node {node} UID mismatch: expected {claimed} got {uid}"));
    }
    match pod.path(&["spec"]).and_then(Value::as_map).map(references_objects) {
        None | Some(Ok(None)) => Ok(()),
        Some(Ok(Some(what))) => {
            asked.forbid(&format!("node {node} can not create pods that reference {what}"))
        }
        Some(Err(why)) => asked.forbid(&format!("error checking mirror pod for API references: {why}")),
    }
}

/// What kind of other objects a pod needs, if any (`HasAPIObjectReference`).
fn references_objects(spec: &Map<'_>) -> Result<Option<&'static str>, String> {
    if !spec.lacks("serviceAccountName") {
        return Ok(Some("serviceaccounts"));
    }
    if references_secrets(spec) {
        return Ok(Some("secrets"));
    }
    if references_config_maps(spec) {
        return Ok(Some("configmaps"));
    }
    if !spec.items("resourceClaims").is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec.items("volumes").iter().filter_map(Value::as_map) {
        if WITHOUT_OBJECTS.iter().any(|source| volume.has(source)) {
            continue;
        }
        if let Some((_, what)) = WITH_OBJECTS.iter().find(|(source, _)| volume.has(source)) {
            return Ok(Some(what));
        }
        let name = quote(volume.text("name"));
        let Some(projected) = volume.child("projected") else {
            return Err(format!("unknown volume type for volume  {name}"));
        };
        for source in projected.items("sources").iter().filter_map(Value::as_map) {
            match PROJECTED.iter().find(|(kind, _)| source.has(kind)) {
                Some((_, what)) => return Ok(Some(what)),
                None if source.has("downwardAPI") => {}
                None => return Err(format!("unknown source for projected volume {name}")),
            }
        }
    }
    Ok(None)
}

/// Whether a pod names a config map anywhere.
fn references_config_maps(spec: &Map<'_>) -> bool {
    let maps =
        |list: &[Value<'_>], test: &dyn Fn(&Map<'_>) -> bool| list.iter().filter_map(Value::as_map).any(test);
    let named = |of: Option<&Map<'_>>| of.is_some_and(|of| !of.text("name").is_empty());
    let container = |container: &Map<'_>| {
        maps(container.items("envFrom"), &|source| named(source.child("configMapRef")))
            || maps(container.items("env"), &|variable| {
                named(variable.child("valueFrom").and_then(|from| from.child("configMapKeyRef")))
            })
    };
    let volume = |volume: &Map<'_>| {
        let projected = volume.child("projected").map_or(&[][..], |p| p.items("sources"));
        named(volume.child("configMap")) || maps(projected, &|source| named(source.child("configMap")))
    };
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .any(|list| maps(spec.items(list), &container))
        || maps(spec.items("volumes"), &volume)
}

pub(super) fn admit_status(asked: &Asked<'_>) -> Result<(), Status> {
    let node = quote(asked.node);
    let (Operation::Update, Some(new), Some(old)) = (asked.attributes.operation, asked.object, asked.old)
    else {
        return asked.forbid(&format!("unexpected operation {}", asked.operation()));
    };
    if runs_on(old) != asked.node {
        return asked.forbid(&format!(
            "node {node} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    let labels = ["metadata", "labels"];
    if !same(old.path(&labels), new.path(&labels)) {
        return asked.forbid(&format!("node {node} cannot update labels through pod status"));
    }
    // What devices a pod has is the scheduler's and the claims' controller's to say.
    for (field, what) in [
        ("resourceClaimStatuses", "resource claim statues"),
        ("extendedResourceClaimStatus", "extended resource claim status"),
        ("nodeAllocatableResourceClaimStatuses", "node allocatable resource claim statuses"),
    ] {
        let path = ["status", field];
        if !semantic::field_equal(("", "v1", "Pod"), &path, old.path(&path), new.path(&path)) {
            return asked.forbid(&format!("node {node} cannot update {what}"));
        }
    }
    Ok(())
}

pub(super) fn admit_eviction(asked: &Asked<'_>) -> Result<(), Status> {
    if asked.attributes.operation != Operation::Create {
        return asked.forbid(&format!("unexpected operation {}", asked.attributes.operation.as_str()));
    }
    let pod = asked.attributes.name;
    let runs_on = asked.scalar(asked.objects.pods, asked.attributes.namespace, pod, &["spec", "nodeName"]);
    match runs_on {
        None => Err(Status::not_found("", "pod", pod)),
        Some(node) if node != asked.node => {
            asked.forbid(&format!("node {} can only evict pods with spec.nodeName set to itself", asked.node))
        }
        Some(_) => Ok(()),
    }
}
