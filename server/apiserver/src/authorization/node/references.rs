//! What pods and volumes refer to that a node needs to run them.

use std::borrow::Cow;

use ringbolt_machinery::value::{Map, Value};

use super::{graph::References, vertex::Kind};

/// Annotation of the pod that stands for one of a kubelet's own (`MirrorPodAnnotationKey`).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Volumes of pods that name a secret, and where in the source.
const SECRET_VOLUMES: [(&str, &[&str]); 10] = [
    ("azureFile", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("secret", &["secretName"]),
    ("scaleIO", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
];

/// Persistent volumes with one secret, and whether it is the claim's namespace where none is named.
const SECRET_SOURCES: [(&str, bool); 7] = [
    ("cephfs", true),
    ("cinder", false),
    ("flexVolume", true),
    ("rbd", true),
    ("scaleIO", true),
    ("iscsi", true),
    ("storageos", false),
];

/// The secrets of CSI volumes that nodes see. Those of controllers are none of theirs.
const CSI_SECRETS: [&str; 3] = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];

fn text<'a>(of: &Value<'a>, path: &[&str]) -> &'a str {
    of.str_at(path).unwrap_or("")
}

fn items<'v, 'a>(of: &'v Value<'a>, path: &[&str]) -> &'v [Value<'a>] {
    of.path(path).and_then(Value::as_list).map_or(&[], |list| list.as_slice())
}

fn is_set(of: &Value<'_>, field: &str) -> bool {
    of.path(&[field]).is_some_and(|value| !value.is_null())
}

/// The objects of a pod's namespace that it refers to, and whether they may become more while it runs.
pub(super) fn of_pod<'a>(pod: &Value<'a>, namespace: &'a str, name: &'a str) -> (References<'a>, bool) {
    let mut found = Vec::new();
    // A node must not get at objects by pods that it made itself.
    if pod.path(&["metadata", "annotations", MIRROR]).is_some() {
        return (found, false);
    }
    let mut add = |kind, name: Cow<'a, str>| found.push((kind, namespace, name));
    add(Kind::ServiceAccount, text(pod, &["spec", "serviceAccountName"]).into());
    for secret in items(pod, &["spec", "imagePullSecrets"]) {
        add(Kind::Secret, text(secret, &["name"]).into());
    }
    for containers in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(pod, &["spec", containers]) {
            for source in items(container, &["envFrom"]) {
                add(Kind::Secret, text(source, &["secretRef", "name"]).into());
                add(Kind::ConfigMap, text(source, &["configMapRef", "name"]).into());
            }
            for variable in items(container, &["env"]) {
                add(Kind::Secret, text(variable, &["valueFrom", "secretKeyRef", "name"]).into());
                add(Kind::ConfigMap, text(variable, &["valueFrom", "configMapKeyRef", "name"]).into());
            }
        }
    }
    for volume in items(pod, &["spec", "volumes"]) {
        of_volume(volume, name, &mut add);
    }
    let claims = items(pod, &["spec", "resourceClaims"]);
    for claim in claims {
        if is_set(claim, "resourceClaimName") {
            add(Kind::ResourceClaim, text(claim, &["resourceClaimName"]).into());
        } else if is_set(claim, "resourceClaimTemplateName") {
            let made = items(pod, &["status", "resourceClaimStatuses"]).iter();
            let made = made.into_iter().find(|made| text(made, &["name"]) == text(claim, &["name"]));
            add(Kind::ResourceClaim, made.map_or("", |made| text(made, &["resourceClaimName"])).into());
        }
    }
    let extended = text(pod, &["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    add(Kind::ResourceClaim, extended.into());
    let grows = !claims.is_empty()
        || !extended.is_empty()
        || !items(pod, &["spec", "ephemeralContainers"]).is_empty();
    (found, grows)
}

fn of_volume<'a>(volume: &Value<'a>, pod: &str, add: &mut impl FnMut(Kind, Cow<'a, str>)) {
    for (source, path) in SECRET_VOLUMES {
        if let Some(source) = volume.path(&[source]) {
            add(Kind::Secret, text(source, path).into());
        }
    }
    for source in items(volume, &["projected", "sources"]) {
        add(Kind::Secret, text(source, &["secret", "name"]).into());
        add(Kind::ConfigMap, text(source, &["configMap", "name"]).into());
    }
    add(Kind::ConfigMap, text(volume, &["configMap", "name"]).into());
    if is_set(volume, "persistentVolumeClaim") {
        add(Kind::PersistentVolumeClaim, text(volume, &["persistentVolumeClaim", "claimName"]).into());
    } else if is_set(volume, "ephemeral") {
        add(Kind::PersistentVolumeClaim, format!("{pod}-{}", text(volume, &["name"])).into());
    }
}

/// A persistent volume's claim, by namespace and name, and its secrets. `None` where it is bound to no claim.
pub(super) fn of_persistent_volume<'a>(volume: &Value<'a>) -> Option<((&'a str, &'a str), References<'a>)> {
    let claim = volume.path(&["spec", "claimRef"]).and_then(Value::as_map)?;
    let of = |claim: &Map<'a>, field| claim.get(field).and_then(Value::as_str).unwrap_or("");
    let (namespace, name) = (of(claim, "namespace"), of(claim, "name"));
    let mut found = Vec::new();
    let Some(spec) = volume.path(&["spec"]) else { return Some(((namespace, name), found)) };
    let mut add = |of: &'a str, secret: &'a str| found.push((Kind::Secret, of, secret.into()));
    let or_claims = |of: &'a str| if of.is_empty() { namespace } else { of };
    if let Some(source) = spec.path(&["azureFile"]) {
        add(or_claims(text(source, &["secretNamespace"])), text(source, &["secretName"]));
    }
    for (source, claims) in SECRET_SOURCES {
        if let Some(secret) = spec.path(&[source, "secretRef"]) {
            let of = text(secret, &["namespace"]);
            add(if claims { or_claims(of) } else { of }, text(secret, &["name"]));
        }
    }
    for secret in CSI_SECRETS {
        if let Some(secret) = spec.path(&["csi", secret]) {
            add(text(secret, &["namespace"]), text(secret, &["name"]));
        }
    }
    Some(((namespace, name), found))
}

#[cfg(test)]
#[path = "references_tests.rs"]
mod tests;
