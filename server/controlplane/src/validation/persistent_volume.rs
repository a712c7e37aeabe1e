//! Persistent volumes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    value::{Map, Value},
};

use super::{
    Errors, difference::difference, immutable, one_of, persistent_volume_claim::access_modes, with_map,
};
use crate::tree::{Members, same};

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
        with_map(old, "spec", |was| {
            let (mut given, before) = (source(new), source(was));
            let expands = |m: &Map<'_>| m.child("csi").is_some_and(|c| c.has("controllerExpandSecretRef"));
            if was.has("csi")
                && !expands(&before)
                && let Some(csi) = given.child_mut("csi")
            {
                csi.remove("controllerExpandSecretRef");
            }
            let (given, before) = (Value::Map(given), Value::Map(before));
            if !same(Some(&given), Some(&before)) {
                let why = "spec.persistentvolumesource is immutable after creation";
                let why = format!("{why}{}", difference(&before, &given));
                errors.push(FieldError::forbidden("spec.persistentvolumesource", why));
            }
            // The path names no spec: that is how clients know it.
            immutable(new, was, "volumeMode", "", errors);
            let class = "volumeAttributesClassName";
            if was.has(class) && !new.has(class) {
                let why = "update from non-nil value to nil is forbidden";
                errors.push(FieldError::forbidden("spec.volumeAttributesClassName", why));
            }
        });
    });
}

/// The source alone.
fn source<'a>(spec: &Map<'a>) -> Map<'a> {
    let mut source = spec.clone();
    source.retain(|key, _| !NO_SOURCE.contains(&key));
    source
}
