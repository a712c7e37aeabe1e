//! Names of a kind.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::dns1035_label_errors,
    value::{Map, Value},
};

use super::Errors;

/// What is wrong with names that are there (`ValidateCustomResourceDefinitionNames`).
pub(super) fn validate(names: &Map<'_>, path: &str, errors: &mut Errors) {
    for name in ["plural", "singular"] {
        label(names.text(name), &child(path, name), errors);
    }
    for name in ["kind", "listKind"] {
        let value = names.text(name);
        let wrong = dns1035_label_errors(&value.to_lowercase());
        if !value.is_empty() && !wrong.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(child(path, name), value, why));
        }
    }
    each(names, "shortNames", path, errors);
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(child(path, "listKind"), list_kind, why));
    }
    each(names, "categories", path, errors);
}

fn label(value: &str, path: &str, errors: &mut Errors) {
    let wrong = dns1035_label_errors(value);
    if !value.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid(path, value, wrong.join(",")));
    }
}

/// Items of a list, which are there even where they are empty.
fn each(names: &Map<'_>, list: &str, path: &str, errors: &mut Errors) {
    for (at, value) in names.items(list).iter().enumerate() {
        let value = value.as_str().unwrap_or("");
        let wrong = dns1035_label_errors(value);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(index(&child(path, list), at), value, wrong.join(",")));
        }
    }
}

/// Those that a spec must have.
pub(super) fn required(names: Option<&Map<'_>>, path: &str, errors: &mut Errors) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let value = names.and_then(|names| names.get(name)).and_then(Value::as_str).unwrap_or("");
        if value.is_empty() {
            errors.push(FieldError::required(child(path, name), ""));
        }
    }
}
