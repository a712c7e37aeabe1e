//! Persistent volume claims.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    validation::validate_label_selector,
    value::{Map, Value},
};

use super::{Errors, one_of, with_map};
use crate::tree::Members;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The access modes of a claim or volume.
pub(super) fn access_modes(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let modes = spec.items("accessModes");
    let path = format!("{path}.accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(path.clone(), "at least 1 access mode is required"));
    }
    let mut single = false;
    for mode in modes {
        let mode = mode.as_str().unwrap_or("");
        single |= mode == "ReadWriteOncePod";
        if !ACCESS_MODES.contains(&mode) {
            errors.push(FieldError::not_supported(path.clone(), mode, &ACCESS_MODES));
        }
    }
    if single && modes.len() > 1 {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        errors.extend(validate_label_selector(spec.get("selector"), "spec.selector"));
        access_modes(spec, "spec", errors);
        let storage =
            spec.child("resources").and_then(|r| r.child("requests")).and_then(|r| r.get("storage"));
        if storage.is_none() {
            errors.push(FieldError::required("spec.resources[storage]", ""));
        }
        if spec.has("volumeMode") {
            one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"], errors);
        }
    });
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Main {
        // What was accepted once is not judged anew: only a changed list of modes is.
        let modes = |v: &Value<'_>| -> Vec<String> {
            let list = v.path(&["spec", "accessModes"]).and_then(Value::as_list);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        if modes(object) != modes(old) {
            validate(object, errors);
        }
    }
}
