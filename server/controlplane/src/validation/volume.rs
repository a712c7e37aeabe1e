//! Volumes of pods.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::dns1123_label_errors,
    value::{Map, Value},
};

use super::{Errors, each_invalid};
use crate::tree::Members;

/// Members whose absence is an error in a source of their kind, with the path below the volume.
const REQUIRED: &[(&str, &str)] = &[
    ("secret", "secretName"),
    ("configMap", "name"),
    ("persistentVolumeClaim", "claimName"),
    ("hostPath", "path"),
    ("nfs", "server"),
    ("nfs", "path"),
    ("iscsi", "targetPortal"),
    ("iscsi", "iqn"),
    ("glusterfs", "endpoints"),
    ("glusterfs", "path"),
    ("csi", "driver"),
    ("gitRepo", "repository"),
    ("gcePersistentDisk", "pdName"),
    ("awsElasticBlockStore", "volumeID"),
    ("rbd", "image"),
    ("cinder", "volumeID"),
    ("flexVolume", "driver"),
    ("azureFile", "secretName"),
    ("azureFile", "shareName"),
    ("vsphereVolume", "volumePath"),
];

/// The volumes of a pod; answers with the names of those that are in order.
pub(crate) fn validate<'a>(volumes: &[Value<'a>], path: &str, errors: &mut Errors) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = Vec::new();
    for (at, volume) in volumes.iter().enumerate() {
        let path = index(path, at);
        let Some(volume) = volume.as_map() else { continue };
        let before = errors.len();
        source(volume, &path, errors);
        let (name, at) = (volume.text("name"), child(&path, "name"));
        if name.is_empty() {
            errors.push(FieldError::required(at.clone(), ""));
        } else {
            each_invalid(dns1123_label_errors(name), &at, name, errors);
        }
        if names.contains(&name) {
            errors.push(FieldError::duplicate(at, name));
        }
        if errors.len() == before {
            names.push(name);
        }
    }
    names
}

/// Kinds of sources in the order they are looked at, with the name that errors about a second one give them.
const KINDS: &[(&str, &str)] = &[
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

fn source(volume: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut found = 0;
    for (kind, shown) in KINDS {
        let Some(source) = volume.child(kind) else { continue };
        found += 1;
        if found > 1 {
            errors.push(FieldError::forbidden(child(path, shown), "may not specify more than 1 volume type"));
            continue;
        }
        let path = child(path, kind);
        for (_, member) in REQUIRED.iter().filter(|(k, _)| k == kind) {
            if source.lacks(member) {
                errors.push(FieldError::required(child(&path, member), ""));
            }
        }
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}
