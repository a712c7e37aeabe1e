//! Persistent volumes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, key},
    value::{Map, Value},
};

use super::{
    Errors, difference::difference, immutable, one_of, one_of_optional,
    persistent_volume_claim::access_modes, placement, resource_name, sorted, volume_source,
    volume_source::Owner, with_map,
};
use crate::{
    quantity,
    tree::{Members, same},
};

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
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    with_map(object, "spec", |spec| validate_spec(spec, name, false, "spec", errors));
}

/// A spec; `inline` where it stands in another object instead of one of its own.
pub(crate) fn validate_spec(spec: &Map<'_>, name: &str, inline: bool, path: &str, errors: &mut Errors) {
    const INLINE: &str = "may not be specified in the context of inline volumes";
    if inline {
        for member in ["claimRef", "capacity"] {
            if !spec.lacks(member) || (member == "claimRef" && spec.has(member)) {
                errors.push(FieldError::forbidden(child(path, member), INLINE));
            }
        }
        if !spec.has("csi") {
            let why = "has to be specified in the context of inline volumes";
            errors.push(FieldError::required(child(path, "csi"), why));
        }
    }
    if spec.lacks("accessModes") {
        errors.push(FieldError::required(child(path, "accessModes"), ""));
    }
    access_modes(spec, path, errors);
    if !inline {
        capacity(spec, path, errors);
    }
    let policy = spec.text("persistentVolumeReclaimPolicy");
    if inline && !matches!(policy, "" | "Retain") {
        let why = "may only be Retain in the context of inline volumes";
        errors.push(FieldError::forbidden(child(path, "persistentVolumeReclaimPolicy"), why));
    } else if !inline && !policy.is_empty() {
        let supported = ["Delete", "Recycle", "Retain"];
        one_of(spec, "persistentVolumeReclaimPolicy", path, &supported, errors);
    }
    if let Some(affinity) = spec.child("nodeAffinity") {
        let path = child(path, "nodeAffinity");
        match affinity.child("required") {
            _ if inline => errors.push(FieldError::forbidden(path, INLINE)),
            None => {
                let why = "must specify required node constraints";
                errors.push(FieldError::required(child(&path, "required"), why));
            }
            Some(required) => placement::node_selector(required, &child(&path, "required"), errors),
        }
    }
    let affine = spec.has("nodeAffinity") && !inline;
    volume_source::validate(spec, Owner::PersistentVolume(name), affine, path, errors);
    let root = spec.child("hostPath").is_some_and(|h| is_root(h.text("path")));
    if root && policy == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(FieldError::forbidden(child(path, "persistentVolumeReclaimPolicy"), why));
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        let path = child(path, "storageClassName");
        match inline {
            true => errors.push(FieldError::forbidden(path, INLINE)),
            false => super::subdomain(class, &path, errors),
        }
    }
    if !inline {
        one_of_optional(spec, "volumeMode", path, &["Block", "Filesystem"], errors);
    } else if spec.has("volumeMode") && spec.text("volumeMode") != "Filesystem" {
        let why = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.push(FieldError::forbidden(child(path, "volumeMode"), why));
    }
    if spec.has("volumeAttributesClassName") {
        let (class, at) = (spec.text("volumeAttributesClassName"), child(path, "volumeAttributesClassName"));
        match class {
            "" => errors.push(FieldError::required(at, "an empty string is disallowed")),
            class => super::subdomain(class, &at, errors),
        }
        if !spec.has("csi") {
            let why = "has to be specified when using volumeAttributesClassName";
            errors.push(FieldError::required(child(path, "csi"), why));
        }
    }
}

/// Whether a path means the root, however it is written.
fn is_root(path: &str) -> bool {
    path.starts_with('/') && path.split('/').all(|step| matches!(step, "" | "." | ".."))
}

fn capacity(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let amounts = sorted(spec.child("capacity"));
    let path = child(path, "capacity");
    if amounts.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    if amounts.len() > 1 || !amounts.iter().any(|(name, _)| *name == "storage") {
        let shown = spec.get("capacity").unwrap_or(&Value::Null);
        errors.push(FieldError::not_supported(path.clone(), shown, &["storage"]));
    }
    for (name, text) in amounts {
        let path = key(&path, name);
        if let Some(value) = quantity::parse(text).map(|q| q.value()).filter(|v| *v < 0) {
            errors.push(FieldError::invalid(path.clone(), value, "must be a valid resource quantity"));
        }
        resource_name::positive(text, &path, errors);
    }
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
            if !super::same_spec(("", "v1", "PersistentVolume"), &given, &before) {
                let why = "spec.persistentvolumesource is immutable after creation";
                let why = format!("{why}{}", difference("core", "PersistentVolumeSource", &before, &given));
                errors.push(FieldError::forbidden("spec.persistentvolumesource", why));
            }
            // The path names no spec: that is how clients know it.
            immutable(new, was, "volumeMode", "", errors);
            node_affinity(new, was, errors);
            let class = "volumeAttributesClassName";
            if was.has(class) && !new.has(class) {
                let why = "update from non-nil value to nil is forbidden";
                errors.push(FieldError::forbidden("spec.volumeAttributesClassName", why));
            }
        });
    });
}

/// Names of labels that nodes had before they were settled.
const RENAMED: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Where a volume can be reached from stays, but for the names of labels.
fn node_affinity(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let Some(before) = was.get("nodeAffinity").filter(|a| !a.is_null()) else { return };
    let now = new.get("nodeAffinity").filter(|a| !a.is_null());
    if !now.is_some_and(|now| renamed_only(now, before)) {
        let shown = super::go::text("core", "VolumeNodeAffinity", now);
        let why = "field is immutable, except for updating from beta label to GA";
        errors.push(FieldError::invalid("nodeAffinity", ringbolt_machinery::field::Verbatim(&shown), why));
    }
}

fn renamed_only(now: &Value<'_>, before: &Value<'_>) -> bool {
    match (now, before) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| renamed_only(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.iter().chain(b.iter()).all(|(member, _)| match (a.get(member), b.get(member)) {
                (Some(Value::String(now)), Some(Value::String(was))) if member == "key" => {
                    now == was || RENAMED.contains(&(was, now))
                }
                (Some(now), Some(was)) => renamed_only(now, was),
                (a, b) => same(a, b),
            })
        }
        (a, b) => a == b,
    }
}

/// The source alone.
fn source<'a>(spec: &Map<'a>) -> Map<'a> {
    let mut source = spec.clone();
    source.retain(|key, _| !NO_SOURCE.contains(&key));
    source
}
