//! Persistent volume claims.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, key},
    validation::{
        names::{name_is_dns_label, qualified_name_errors},
        validate_annotations, validate_label_selector, validate_labels,
    },
    value::{Map, Value},
};

use super::{
    Errors, difference::difference, each_invalid, immutable, one_of, required, resource_name, sorted,
    with_map,
};
use crate::{
    quantity,
    tree::{Members, same},
};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The access modes of a claim or volume.
pub(super) fn access_modes(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = format!("{path}.accessModes");
    let (mut single, mut others) = (false, false);
    for mode in spec.items("accessModes") {
        let mode = mode.as_str().unwrap_or("");
        if !ACCESS_MODES.contains(&mode) {
            errors.push(FieldError::not_supported(path.clone(), mode, &ACCESS_MODES));
        } else if mode == "ReadWriteOncePod" {
            single = true;
        } else {
            others = true;
        }
    }
    if single && others {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| validate_spec(spec, "spec", false, errors));
}

/// A claim that a pod makes.
pub(super) fn template(template: &Map<'_>, path: &str, errors: &mut Errors) {
    template_metadata(template.child("metadata"), &child(path, "metadata"), errors);
    match template.child("spec") {
        Some(spec) => validate_spec(spec, &child(path, "spec"), false, errors),
        None => {
            let nothing = Map::new_in(template.arena());
            validate_spec(&nothing, &child(path, "spec"), false, errors);
        }
    }
}

/// A claim that a stateful set makes: its metadata is looked at when it is made.
pub(super) fn claimed(claim: &Map<'_>, path: &str, errors: &mut Errors) {
    let nothing = Map::new_in(claim.arena());
    validate_spec(claim.child("spec").unwrap_or(&nothing), &child(path, "spec"), false, errors);
}

/// What a template says of the objects made from it: labels and annotations, nothing else.
pub(super) fn template_metadata(metadata: Option<&Map<'_>>, path: &str, errors: &mut Errors) {
    let member = |name: &str| metadata.and_then(|m| m.get(name));
    errors.extend(validate_annotations(member("annotations"), &child(path, "annotations")));
    errors.extend(validate_labels(member("labels"), &child(path, "labels")));
    // A list that is there counts without items too, and a number that Go points at counts as 0.
    let is_set = |m: &Map<'_>, name: &str| {
        !m.lacks(name)
            || matches!(m.get(name), Some(Value::List(_)))
            || name == "deletionGracePeriodSeconds" && m.has(name)
    };
    for name in METADATA.iter().copied().filter(|name| metadata.is_some_and(|m| is_set(m, name))) {
        // Go's name of the field with its first letter small.
        let shown = if name == "uid" { "uID" } else { name };
        errors.push(FieldError::forbidden(child(path, shown), "cannot be set"));
    }
}

/// Metadata that the claim of a pod may not have.
const METADATA: [&str; 13] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// A spec; `lenient` about groups of data sources where one was there before.
fn validate_spec(spec: &Map<'_>, path: &str, lenient: bool, errors: &mut Errors) {
    if spec.lacks("accessModes") {
        errors.push(FieldError::required(child(path, "accessModes"), "at least 1 access mode is required"));
    }
    errors.extend(validate_label_selector(spec.get("selector"), &child(path, "selector")));
    access_modes(spec, path, errors);
    let storage = spec.child("resources").and_then(|r| r.child("requests")).and_then(|r| r.get("storage"));
    let at = key(&child(path, "resources"), "storage");
    match storage.and_then(Value::as_str) {
        None => errors.push(FieldError::required(at, "")),
        Some(text) => resource_name::positive(text, &at, errors),
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        super::subdomain(class, &child(path, "storageClassName"), errors);
    }
    if spec.has("volumeMode") {
        one_of(spec, "volumeMode", path, &["Block", "Filesystem"], errors);
    }
    for member in ["dataSource", "dataSourceRef"] {
        if let Some(source) = spec.child(member) {
            data_source(source, lenient, &child(path, member), errors);
        }
    }
    let reference = spec.child("dataSourceRef");
    let elsewhere = reference.is_some_and(|r| !r.text("namespace").is_empty());
    if let Some(source) = spec.child("dataSource") {
        let agree = reference
            .is_none_or(|r| ["apiGroup", "kind", "name"].iter().all(|m| same(source.get(m), r.get(m))));
        // Where the value should be Go has the path, a structure without a member to show.
        let nothing = Verbatim("{}");
        if elsewhere {
            let why = "may not be specified when dataSourceRef.namespace is specified";
            errors.push(FieldError::invalid(path, nothing, why));
        } else if !agree {
            errors.push(FieldError::invalid(path, nothing, "must match dataSourceRef"));
        }
    }
    let class = spec.text("volumeAttributesClassName");
    if !class.is_empty() {
        super::subdomain(class, &child(path, "volumeAttributesClassName"), errors);
    }
}

fn data_source(source: &Map<'_>, lenient: bool, path: &str, errors: &mut Errors) {
    required(source, "name", path, errors);
    required(source, "kind", path, errors);
    let (group, kind) = (source.text("apiGroup"), source.text("kind"));
    if group.is_empty() {
        if kind != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(FieldError::invalid(path, kind, why));
        }
    } else if !lenient {
        super::subdomain(group, &child(path, "apiGroup"), errors);
    }
    let namespace = source.text("namespace");
    if !namespace.is_empty() {
        each_invalid(name_is_dns_label(namespace, false), &child(path, "namespace"), namespace, errors);
    }
}

const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// Where a claim's class was said before there was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let (Some(new), Some(was)) =
        (object.path(&["spec"]).and_then(Value::as_map), old.path(&["spec"]).and_then(Value::as_map))
    else {
        return;
    };
    if part == Part::Status {
        return status(object, new, errors);
    }
    let grouped = ["dataSource", "dataSourceRef"]
        .iter()
        .any(|m| was.child(m).is_some_and(|source| source.has("apiGroup")));
    validate_spec(new, "spec", grouped, errors);
    let annotated =
        |v: &Value<'_>| v.str_at(&["metadata", "annotations", CLASS_ANNOTATION]).map(str::to_owned);
    let (now, before) = (annotated(object), annotated(old));
    let class = new.text("storageClassName");
    let first_class = new.has("storageClassName") && !was.has("storageClassName");
    // A class that was annotated may become the field.
    let moved = first_class
        && before.as_deref() == Some(class)
        && now.as_deref().is_none_or(|now| Some(now) == before.as_deref());
    if !moved && now.as_deref().unwrap_or("") != before.as_deref().unwrap_or("") {
        let path = format!("metadata.annotations.{CLASS_ANNOTATION}");
        errors.push(FieldError::invalid(path, now.as_deref().unwrap_or(""), "field is immutable"));
    }
    let free = first_class && before.as_deref().is_none_or(|before| before == class);
    let bound = object.str_at(&["status", "phase"]) == Some("Bound");
    let size = |m: &Map<'_>| {
        let requests = m.child("resources").and_then(|r| r.child("requests"));
        quantity::amount(requests, "storage")
    };
    let (given, past) = (size(new), size(was));
    let (restored, before) = (Value::Map(restore_mutable(new, was, bound, free)), Value::Map(was.clone()));
    if !super::same_spec(("", "v1", "PersistentVolumeClaim"), &restored, &before) {
        errors.push(FieldError::forbidden(
            "spec",
            format!("{IMMUTABLE}{}", difference("core", "PersistentVolumeClaimSpec", &before, &restored)),
        ));
    }
    if given < past {
        let capacity = object.path(&["status", "capacity"]).and_then(Value::as_map);
        if given <= quantity::amount(capacity, "storage") {
            let why = "field can not be less than status.capacity";
            errors.push(FieldError::forbidden("spec.resources.requests.storage", why));
        }
    }
    // The path names no spec: that is how clients know it.
    immutable(new, was, "volumeMode", "", errors);
    attributes_class(old, new, was, errors);
}

fn attributes_class(old: &Value<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    const MEMBER: &str = "volumeAttributesClassName";
    let current = old.path(&["status", "currentVolumeAttributesClassName"]).is_some_and(|c| !c.is_null());
    let changed = new.has(MEMBER) != was.has(MEMBER) || new.text(MEMBER) != was.text(MEMBER);
    if !changed || !current {
        return;
    }
    let what = match (new.has(MEMBER), new.text(MEMBER)) {
        (false, _) => "nil",
        (true, "") => "empty string",
        _ => return,
    };
    let why =
        format!("update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.push(FieldError::forbidden(child("spec", MEMBER), why));
}

const RESIZE_STATUSES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn status(object: &Value<'_>, spec: &Map<'_>, errors: &mut Errors) {
    if spec.lacks("accessModes") {
        errors.push(FieldError::required("Spec.accessModes", ""));
    }
    let basic = |text: &str, path: &str, errors: &mut Errors| {
        let negative = quantity::parse(text).map(|q| q.value()).filter(|v| *v < 0);
        if let Some(value) = negative {
            errors.push(FieldError::invalid(path, value, "must be a valid resource quantity"));
        }
        negative.is_none()
    };
    with_map(object, "status", |status| {
        for (name, text) in sorted(status.child("capacity")) {
            basic(text, &key("status.capacity", name), errors);
        }
        let path = "status.allocatedResourceStatuses";
        for (name, text) in sorted(status.child("allocatedResourceStatuses")) {
            resource_key(name, path, errors);
            if !RESIZE_STATUSES.contains(&text) {
                let mut known = RESIZE_STATUSES;
                known.sort_unstable();
                errors.push(FieldError::not_supported(path, name, &known));
            }
        }
        let path = "status.allocatedResources";
        for (name, text) in sorted(status.child("allocatedResources")) {
            let at = key(path, name);
            if resource_key(name, path, errors) && basic(text, &at, errors) {
                resource_name::amount("storage", text, &at, errors);
            }
        }
    });
}

/// The name of a resource of a claim: storage, or one of someone else. Answers whether it is.
fn resource_key(name: &str, path: &str, errors: &mut Errors) -> bool {
    let wrong = qualified_name_errors(name);
    let native = wrong.is_empty() && resource_name::is_native(name) && name != "storage";
    let fine = wrong.is_empty() && !native;
    each_invalid(wrong, path, name, errors);
    if native {
        errors.push(FieldError::not_supported(path, name, &["storage"]));
    }
    fine
}

/// The new spec with everything that may change put back; `free` says that the class may be given now.
fn restore_mutable<'a>(new: &Map<'a>, was: &Map<'a>, bound: bool, free: bool) -> Map<'a> {
    let mut spec = new.clone();
    // A claim is bound once.
    if was.lacks("volumeName") {
        spec.put("volumeName", was.get("volumeName").cloned());
    }
    if free {
        spec.put("storageClassName", was.get("storageClassName").cloned());
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
