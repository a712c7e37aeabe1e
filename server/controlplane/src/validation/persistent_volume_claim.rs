//! Persistent volume claims.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    validation::validate_label_selector,
    value::{Map, Value},
};

use super::{Errors, difference::difference, one_of, with_map};
use crate::{
    quantity,
    tree::{Members, same},
};

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

const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    validate(object, errors);
    let (Some(new), Some(was)) =
        (object.path(&["spec"]).and_then(Value::as_map), old.path(&["spec"]).and_then(Value::as_map))
    else {
        return;
    };
    let bound = object.str_at(&["status", "phase"]) == Some("Bound");
    let size = |m: &Map<'_>| {
        let requests = m.child("resources").and_then(|r| r.child("requests"));
        quantity::amount(requests, "storage")
    };
    let (given, before) = (size(new), size(was));
    let (restored, was) = (Value::Map(restore_mutable(new, was, bound)), Value::Map(was.clone()));
    if !same(Some(&restored), Some(&was)) {
        errors.push(FieldError::forbidden("spec", format!("{IMMUTABLE}{}", difference(&was, &restored))));
    }
    if given < before {
        let capacity = object.path(&["status", "capacity"]).and_then(Value::as_map);
        if given <= quantity::amount(capacity, "storage") {
            let why = "field can not be less than status.capacity";
            errors.push(FieldError::forbidden("spec.resources.requests.storage", why));
        }
    }
}

/// The new spec with everything that may change put back.
fn restore_mutable<'a>(new: &Map<'a>, was: &Map<'a>, bound: bool) -> Map<'a> {
    let mut spec = new.clone();
    // A claim is bound once; a class can be given later.
    for member in ["volumeName", "storageClassName"] {
        if was.lacks(member) && !was.has(member) {
            spec.put(member, was.get(member).cloned());
        }
    }
    if bound {
        spec.put("volumeAttributesClassName", was.get("volumeAttributesClassName").cloned());
        let storage = |m: &Map<'a>| {
            m.child("resources").and_then(|r| r.child("requests")).and_then(|r| r.get("storage")).cloned()
        };
        let before = storage(was);
        if let Some(requests) = spec.child_mut("resources").and_then(|r| r.child_mut("requests")) {
            requests.put("storage", before);
        }
    }
    spec
}
