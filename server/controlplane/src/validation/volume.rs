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

/// The volumes of a pod; answers with their names.
pub(crate) fn validate<'a>(volumes: &[Value<'a>], path: &str, errors: &mut Errors) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = Vec::new();
    for (at, volume) in volumes.iter().enumerate() {
        let path = index(path, at);
        let Some(volume) = volume.as_map() else { continue };
        source(volume, &path, errors);
        let (name, at) = (volume.text("name"), child(&path, "name"));
        if name.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let messages = dns1123_label_errors(name);
        if !messages.is_empty() {
            each_invalid(messages, &at, name, errors);
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(at, name));
        } else {
            names.push(name);
        }
    }
    names
}

fn source(volume: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut found = 0;
    for (kind, source) in volume.iter().filter(|(k, v)| *k != "name" && !v.is_null()) {
        found += 1;
        let path = child(path, kind);
        if found > 1 {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        let Some(source) = source.as_map() else { continue };
        for (_, member) in REQUIRED.iter().filter(|(k, _)| *k == kind) {
            if source.lacks(member) {
                errors.push(FieldError::required(child(&path, member), ""));
            }
        }
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}
