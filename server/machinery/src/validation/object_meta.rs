//! `metadata`: what holds on create and what may not change on update.

use std::borrow::Cow;

use super::{
    labels::{validate_annotations, validate_labels},
    names::{name_is_dns_label, path_segment_errors, qualified_name_errors},
};
use crate::{
    field::{FieldError, child, index, is_print, quote},
    value::{Map, Value},
};

/// Longest `managedFields[].manager`.
const MANAGER_MAX: usize = 128;
/// Longest `managedFields[].subresource`.
const SUBRESOURCE_MAX: usize = 256;

/// Immutable values: the server sets them, an update must give them back or leave them out.
const IMMUTABLE: [&str; 6] =
    ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];

fn text<'v>(meta: Option<&'v Map<'_>>, key: &str) -> &'v str {
    meta.and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or("")
}

/// What is wrong with the metadata of a new object, name and namespace already filled in. `name_errors` is the
/// kind's rule: every message that applies to a name or, with `true`, to a `generateName` prefix. `path` is where
/// the metadata stands (`metadata`).
pub fn validate_object_meta<I: IntoIterator<Item = String>>(
    object: &Value<'_>,
    namespaced: bool,
    name_errors: &dyn Fn(&str, bool) -> I,
    path: &str,
) -> Vec<FieldError> {
    let meta = object.path(&["metadata"]).and_then(Value::as_map);
    let mut errors = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        let at = child(path, "generateName");
        errors.extend(
            name_errors(prefix, true).into_iter().map(|m| FieldError::invalid(at.clone(), prefix, m)),
        );
    }
    // Paths are made where there is something to say.
    let name = text(meta, "name");
    if name.is_empty() {
        errors.push(FieldError::required(child(path, "name"), "name or generateName is required"));
    } else {
        let messages = name_errors(name, false).into_iter();
        errors.extend(messages.map(|m| FieldError::invalid(child(path, "name"), name, m)));
    }
    let namespace = text(meta, "namespace");
    if !namespaced {
        if !namespace.is_empty() {
            errors.push(FieldError::forbidden(child(path, "namespace"), "not allowed on this type"));
        }
    } else if namespace.is_empty() {
        errors.push(FieldError::required(child(path, "namespace"), ""));
    } else {
        let messages = name_is_dns_label(namespace, false).into_iter();
        errors.extend(messages.map(|m| FieldError::invalid(child(path, "namespace"), namespace, m)));
    }
    let Some(meta) = meta else { return errors };
    generation_errors(meta, path, &mut errors);
    type Check = fn(Option<&Value<'_>>, &str) -> Vec<FieldError>;
    // With their paths in an object that is none within another one.
    let checks: [(&str, &str, Check); 4] = [
        ("labels", "metadata.labels", validate_labels),
        ("annotations", "metadata.annotations", validate_annotations),
        ("ownerReferences", "metadata.ownerReferences", validate_owner_references),
        ("finalizers", "metadata.finalizers", validate_finalizers),
    ];
    let below = |name, usual| match path {
        "metadata" => Cow::Borrowed(usual),
        path => Cow::Owned(child(path, name)),
    };
    for (name, usual, check) in checks {
        if let Some(value) = meta.get(name) {
            errors.extend(check(Some(value), &below(name, usual)));
        }
    }
    if let Some(entries) = meta.get("managedFields") {
        managed_fields_errors(Some(entries), &below("managedFields", "metadata.managedFields"), &mut errors);
    }
    errors
}

/// What is wrong with the metadata of a changed object, after the server has kept what it keeps (uid, timestamps).
/// The version is not looked at: who may leave it out is the strategy's matter.
pub fn validate_object_meta_update(
    object: &Value<'_>,
    old: &Value<'_>,
    namespaced: bool,
    path: &str,
) -> Vec<FieldError> {
    // Names are only held against what a URL path can carry: a kind's rule may have become stricter since.
    let mut errors = validate_object_meta(object, namespaced, &path_segment_errors, path);
    let (Some(meta), Some(old)) =
        (object.path(&["metadata"]).and_then(Value::as_map), old.path(&["metadata"]).and_then(Value::as_map))
    else {
        return errors;
    };
    if old.get("deletionTimestamp").is_some_and(|t| !t.is_null()) {
        new_finalizers_errors(meta, old, &child(path, "finalizers"), &mut errors);
    }
    let generation = |m: &Map<'_>| m.get("generation").and_then(Value::as_i64).unwrap_or(0);
    if generation(meta) < generation(old) {
        let at = child(path, "generation");
        errors.push(FieldError::invalid(at, generation(meta), "must not be decremented"));
    }
    for name in IMMUTABLE {
        let (new, was) = (meta.get(name), old.get(name));
        let absent = |v: Option<&Value<'_>>| v.is_none_or(Value::is_null);
        if new != was && !(absent(new) && absent(was)) {
            let shown = match new {
                Some(value) => value.clone(),
                None if name.ends_with("Timestamp") || name.ends_with("Seconds") => Value::Null,
                None => Value::String(""),
            };
            errors.push(FieldError::invalid(child(path, name), &shown, "field is immutable"));
        }
    }
    errors
}

fn generation_errors(meta: &Map<'_>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64).filter(|g| *g < 0) {
        let at = child(path, "generation");
        errors.push(FieldError::invalid(at, generation, "must be greater than or equal to 0"));
    }
}

/// Owner references: all four parts given, at most one controller.
pub fn validate_owner_references(references: Option<&Value<'_>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(references) = references.filter(|r| r.as_list().is_some()) else { return errors };
    let mut controller = None;
    for (at, reference) in references.as_list().into_iter().flatten().enumerate() {
        let at = || index(path, at);
        let version = reference.str_at(&["apiVersion"]).unwrap_or("");
        if version.is_empty() {
            errors.push(FieldError::required(child(&at(), "apiVersion"), "must not be empty"));
        } else if !is_group_version(version) {
            let message = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(child(&at(), "apiVersion"), version, message));
        }
        for part in ["kind", "name", "uid"] {
            if reference.str_at(&[part]).unwrap_or("").is_empty() {
                errors.push(FieldError::required(child(&at(), part), "must not be empty"));
            }
        }
        let kind = reference.str_at(&["kind"]).unwrap_or("");
        if version == "v1" && kind == "Event" {
            let message = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(at(), reference, message));
        }
        if reference.path(&["controller"]).and_then(Value::as_bool) == Some(true) {
            let name = reference.str_at(&["name"]).unwrap_or("");
            if let Some((other, of)) = controller {
                let message = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {other}/{of} and {kind}/{name}"
                );
                errors.push(FieldError::invalid(path, references, message));
            } else {
                controller = Some((kind, name));
            }
        }
    }
    errors
}

/// `version` or `group/version`; a single slash says neither.
fn is_group_version(text: &str) -> bool {
    let mut parts = text.as_bytes().split(|byte| *byte == b'/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(version), None, None) => !version.is_empty(),
        (Some(_), Some(version), None) => !version.is_empty(),
        _ => false,
    }
}

/// Finalizers are qualified names; orphaning and foreground deletion exclude each other.
pub fn validate_finalizers(finalizers: Option<&Value<'_>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(value) = finalizers.filter(|f| f.as_list().is_some()) else { return errors };
    let (mut orphan, mut foreground) = (false, false);
    for finalizer in value.as_list().into_iter().flatten() {
        let name = finalizer.as_str().unwrap_or("");
        errors.extend(qualified_name_errors(name).into_iter().map(|m| FieldError::invalid(path, name, m)));
        orphan |= name == "orphan";
        foreground |= name == "foregroundDeletion";
    }
    if orphan && foreground {
        let message = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, value, message));
    }
    errors
}

fn new_finalizers_errors(meta: &Map<'_>, old: &Map<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let names = |m: &Map<'_>| -> Vec<String> {
        let list = m.get("finalizers").and_then(Value::as_list);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let was = names(old);
    let mut extra: Vec<String> = names(meta).into_iter().filter(|f| !was.contains(f)).collect();
    extra.sort();
    extra.dedup();
    if !extra.is_empty() {
        let listed: Vec<String> = extra.iter().map(|f| quote(f)).collect();
        let message = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            listed.join(", ")
        );
        errors.push(FieldError::forbidden(path, message));
    }
}

fn managed_fields_errors(entries: Option<&Value<'_>>, path: &str, errors: &mut Vec<FieldError>) {
    for (at, entry) in entries.and_then(Value::as_list).into_iter().flatten().enumerate() {
        let at = |name: &str| child(&index(path, at), name);
        match entry.str_at(&["operation"]).unwrap_or("") {
            "" => errors.push(FieldError::required(at("operation"), "must not be empty")),
            "Apply" | "Update" => {}
            other => errors.push(FieldError::not_supported(at("operation"), other, &["Apply", "Update"])),
        }
        let fields_type = entry.str_at(&["fieldsType"]).unwrap_or("");
        if !fields_type.is_empty() && fields_type != "FieldsV1" {
            errors.push(FieldError::invalid(at("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        let manager = entry.str_at(&["manager"]).unwrap_or("");
        if !is_field_manager(manager) {
            errors.extend(validate_field_manager(manager, &at("manager")));
        }
        if entry.str_at(&["subresource"]).unwrap_or("").len() > SUBRESOURCE_MAX {
            errors.push(FieldError::too_long(at("subresource"), SUBRESOURCE_MAX));
        }
    }
}

/// Whether nothing is wrong with a field manager's name.
fn is_field_manager(manager: &str) -> bool {
    manager.len() <= MANAGER_MAX && manager.chars().all(is_print)
}

/// A field manager's name: short, printable.
pub fn validate_field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MANAGER_MAX {
        errors.push(FieldError::too_long(path, MANAGER_MAX));
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !is_print(*c)) {
        let message = format!("invalid character U+{:04X} (at position {at})", c as u32);
        errors.push(FieldError::invalid(path, manager, message));
    }
    errors
}
