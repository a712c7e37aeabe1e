//! Whether a pod names a secret anywhere.

use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Volumes that name a secret of the pod's namespace, and where in the source.
const VOLUMES: [(&str, &[&str]); 10] = [
    ("azureFile", &["secretName"]),
    ("secret", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("scaleIO", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("storageos", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
];

/// Whether the spec of a pod names a secret: to pull images, in variables of a container, or as a volume.
pub(super) fn references_secrets(spec: &Map<'_>) -> bool {
    let names = |of: &Map<'_>, path: &[&str]| {
        let (last, parents) = path.split_last().unwrap_or((&"", &[]));
        let parent = parents.iter().try_fold(of, |map, key| map.child(key));
        parent.is_some_and(|map| !map.text(last).is_empty())
    };
    let maps =
        |list: &[Value<'_>], test: &dyn Fn(&Map<'_>) -> bool| list.iter().filter_map(Value::as_map).any(test);
    let container = |container: &Map<'_>| {
        maps(container.items("envFrom"), &|source| names(source, &["secretRef", "name"]))
            || maps(container.items("env"), &|variable| {
                names(variable, &["valueFrom", "secretKeyRef", "name"])
            })
    };
    let volume = |volume: &Map<'_>| {
        let projected = volume.child("projected").map_or(&[][..], |p| p.items("sources"));
        maps(projected, &|source| names(source, &["secret", "name"]))
            || VOLUMES.iter().any(|(kind, path)| volume.child(kind).is_some_and(|source| names(source, path)))
    };
    maps(spec.items("imagePullSecrets"), &|reference| names(reference, &["name"]))
        || ["initContainers", "containers", "ephemeralContainers"]
            .iter()
            .any(|list| maps(spec.items(list), &container))
        || maps(spec.items("volumes"), &volume)
}
