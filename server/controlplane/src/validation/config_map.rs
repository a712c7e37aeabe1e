//! ConfigMaps, and what they share with Secrets.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, key},
    validation::names::config_map_key_errors,
    value::Value,
};

use super::{Errors, each_invalid};
use crate::limits::SECRET_MAX_BYTES;

/// Entries of a member that is a map of strings, in key order.
pub(super) fn entries<'a>(object: &Value<'a>, member: &str) -> Vec<(&'a str, &'a str)> {
    let map = object.path(&[member]).and_then(Value::as_map);
    let mut entries: Vec<_> =
        map.map(|m| m.iter().map(|(k, v)| (k, v.as_str().unwrap_or(""))).collect()).unwrap_or_default();
    entries.sort_unstable();
    entries
}

/// Bytes that a base64 text stands for.
pub(super) fn decoded_len(base64: &str) -> usize {
    let padding = base64.bytes().rev().take_while(|b| *b == b'=').count();
    (base64.len() / 4 * 3).saturating_sub(padding)
}

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let (data, binary) = (entries(object, "data"), entries(object, "binaryData"));
    let mut size = 0;
    for (name, value) in &data {
        let path = key("data", name);
        each_invalid(config_map_key_errors(name), &path, name, errors);
        if binary.iter().any(|(other, _)| other == name) {
            errors.push(FieldError::invalid(path, *name, "duplicate of key present in binaryData"));
        }
        size += value.len();
    }
    for (name, value) in &binary {
        each_invalid(config_map_key_errors(name), &key("binaryData", name), name, errors);
        size += decoded_len(value);
    }
    if size > SECRET_MAX_BYTES {
        errors.push(FieldError::too_long("[]", SECRET_MAX_BYTES));
    }
}

/// Members of an object marked immutable stay what they are, and so does the mark.
pub(super) fn frozen(object: &Value<'_>, old: &Value<'_>, members: &[&str], errors: &mut Errors) {
    let marked = |v: &Value<'_>| v.path(&["immutable"]).and_then(Value::as_bool) == Some(true);
    if !marked(old) {
        return;
    }
    const WHY: &str = "field is immutable when `immutable` is set";
    if !marked(object) {
        errors.push(FieldError::forbidden("immutable", WHY));
    }
    for member in members {
        if entries(object, member) != entries(old, member) {
            errors.push(FieldError::forbidden(*member, WHY));
        }
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    frozen(object, old, &["data", "binaryData"], errors);
    validate(object, errors);
}
