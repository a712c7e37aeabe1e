//! restrictedVolumes: volumes of the cluster's own sorts only.

use std::collections::BTreeSet;

use ringbolt_machinery::value::Map;

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Violation, plural, quoted},
    },
    tree::Members,
};

/// Sorts that anybody may use.
const ALLOWED: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The others.
const RESTRICTED: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let (mut volumes, mut sorts) = (Vec::new(), BTreeSet::new());
    for volume in pod.volumes().filter(|volume| sort(volume, &ALLOWED).is_none()) {
        volumes.push(volume.text("name"));
        sorts.insert(sort(volume, &RESTRICTED).unwrap_or("unknown"));
    }
    if volumes.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural(volumes.len(), "volume", "volumes"),
        quoted(volumes.iter().copied()),
        plural(volumes.len(), "uses", "use"),
        plural(sorts.len(), "restricted volume type", "restricted volume types"),
        quoted(sorts)
    );
    Violation::new("restricted volume types", detail)
}

/// The first of these sorts that a volume is of.
fn sort(volume: &Map<'_>, sorts: &[&'static str]) -> Option<&'static str> {
    sorts.iter().copied().find(|sort| volume.child(sort).is_some())
}
