//! What is wrong with objects of the built-in kinds, in the words of kube-apiserver. A check is here only where it
//! is exact: what it refuses, kube-apiserver refuses.

pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod config_map;
pub(crate) mod container;
pub(crate) mod coordination;
pub(crate) mod difference;
pub(crate) mod endpoint_slice;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod networking;
pub(crate) mod node;
pub(crate) mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod placement;
pub(crate) mod pod;
pub(crate) mod pod_spec;
pub(crate) mod policy;
pub(crate) mod probe;
pub(crate) mod rbac;
pub(crate) mod resource;
pub(crate) mod resources;
pub(crate) mod runtime_class;
pub(crate) mod scheduling;
pub(crate) mod secret;
pub(crate) mod security_context;
pub(crate) mod selector;
pub(crate) mod service;
pub(crate) mod storage;
pub(crate) mod volume;
pub(crate) mod workload;

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::names::percent_errors,
    value::{Map, Value},
};

use crate::tree::{Members, is_zero, same};

/// What validation found so far.
pub(crate) type Errors = Vec<FieldError>;

/// Adds an `Invalid value` for each message.
pub(crate) fn each_invalid(messages: Vec<String>, path: &str, value: &str, errors: &mut Errors) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

/// An integer that must not be negative.
pub(crate) fn non_negative(map: &Map<'_>, key: &str, path: &str, errors: &mut Errors) {
    if let Some(n) = map.int(key).filter(|n| *n < 0) {
        errors.push(FieldError::invalid(child(path, key), n, "must be greater than or equal to 0"));
    }
}

/// A string that must be one of a list.
pub(crate) fn one_of(map: &Map<'_>, key: &str, path: &str, supported: &[&str], errors: &mut Errors) {
    let text = map.text(key);
    if !supported.contains(&text) {
        errors.push(FieldError::not_supported(child(path, key), text, supported));
    }
}

/// Like [`one_of`] for a member that may be missing.
pub(crate) fn one_of_optional(map: &Map<'_>, key: &str, path: &str, supported: &[&str], errors: &mut Errors) {
    if map.has(key) {
        one_of(map, key, path, supported, errors);
    }
}

/// A member that must not change; absent and zero are the same.
pub(crate) fn immutable(new: &Map<'_>, old: &Map<'_>, key: &str, path: &str, errors: &mut Errors) {
    let absent = |v: Option<&Value<'_>>| v.is_none_or(is_zero);
    let (now, was) = (new.get(key), old.get(key));
    if same(now, was) || (absent(now) && absent(was)) {
        return;
    }
    let nothing = if was.is_some_and(|v| v.as_str().is_some()) { Value::String("") } else { Value::Null };
    let shown = now.cloned().unwrap_or(nothing);
    errors.push(FieldError::invalid(child(path, key), &shown, "field is immutable"));
}

/// A count or a percentage.
pub(crate) fn positive_int_or_percent(value: &Value<'_>, path: &str, errors: &mut Errors) {
    match value {
        Value::String(text) => each_invalid(percent_errors(text), path, text, errors),
        Value::Int(n) if *n < 0 => {
            errors.push(FieldError::invalid(path, *n, "must be greater than or equal to 0"));
        }
        _ => {}
    }
}

fn percent(value: &Value<'_>) -> Option<i64> {
    let text = value.as_str()?;
    if !percent_errors(text).is_empty() {
        return None;
    }
    text.strip_suffix('%')?.parse().ok()
}

/// A percentage of at most a hundred.
pub(crate) fn at_most_all(value: &Value<'_>, path: &str, errors: &mut Errors) {
    if percent(value).is_some_and(|p| p > 100) {
        errors.push(FieldError::invalid(path, value, "must not be greater than 100%"));
    }
}

/// The number in a count or percentage; 0 for anything else.
pub(crate) fn int_or_percent(value: Option<&Value<'_>>) -> i64 {
    let Some(value) = value else { return 0 };
    percent(value).or_else(|| value.as_i64()).or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

/// A root member as a map, an empty one where there is none.
pub(crate) fn with_map<R>(object: &Value<'_>, key: &str, f: impl FnOnce(&Map<'_>) -> R) -> R {
    match object.path(&[key]).and_then(Value::as_map) {
        Some(map) => f(map),
        None => {
            let arena = bumpalo::Bump::new();
            f(&Map::new_in(&arena))
        }
    }
}
