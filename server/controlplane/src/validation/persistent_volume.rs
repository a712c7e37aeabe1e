//! Persistent volumes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{field::FieldError, value::Value};

use super::{Errors, immutable, one_of, persistent_volume_claim::access_modes, with_map};
use crate::tree::Members;

/// Members of a spec that are not its source.
const NO_SOURCE: [&str; 9] = [
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        access_modes(spec, "spec", errors);
        if spec.lacks("capacity") {
            errors.push(FieldError::required("spec.capacity", ""));
        }
        if !spec.lacks("persistentVolumeReclaimPolicy") {
            let supported = ["Delete", "Recycle", "Retain"];
            one_of(spec, "persistentVolumeReclaimPolicy", "spec", &supported, errors);
        }
        let sources = spec.iter().filter(|(k, v)| !NO_SOURCE.contains(k) && !v.is_null()).count();
        if sources == 0 {
            errors.push(FieldError::required("spec", "must specify a volume type"));
        }
    });
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    validate(object, errors);
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| immutable(new, old, "volumeMode", "spec", errors));
    });
}
