//! What is wrong with objects of the built-in kinds, in the words of kube-apiserver. A check is here only where it
//! is exact: what it refuses, kube-apiserver refuses.

pub(crate) mod address;
pub(crate) mod admissionregistration;
pub(crate) mod annotations;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
mod certification_request;
mod condition;
pub(crate) mod config_map;
pub(crate) mod container;
pub(crate) mod coordination;
pub(crate) mod difference;
pub(crate) mod endpoint_slice;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod field_selector;
pub(crate) mod flow_schema;
pub(crate) mod gated;
pub(crate) mod go;
pub(crate) mod ingress;
pub(crate) mod job_indexes;
pub(crate) mod job_status;
pub(crate) mod limit_range;
pub(crate) mod networking;
pub(crate) mod node;
pub(crate) mod pem;
pub(crate) mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod placement;
pub(crate) mod pod;
pub(crate) mod pod_certificate_request;
pub(crate) mod pod_resize;
pub(crate) mod pod_resources;
pub(crate) mod pod_spec;
pub(crate) mod pod_status;
pub(crate) mod policy;
pub(crate) mod priority_level;
pub(crate) mod probe;
pub(crate) mod projected;
pub(crate) mod quota;
pub(crate) mod rbac;
pub(crate) mod resource;
pub(crate) mod resource_name;
pub(crate) mod resources;
pub(crate) mod runtime_class;
pub(crate) mod schedule;
pub(crate) mod scheduling;
pub(crate) mod secret;
pub(crate) mod security_context;
pub(crate) mod selector;
pub(crate) mod service;
pub(crate) mod service_addresses;
pub(crate) mod storage;
pub(crate) mod storage_migration;
pub(crate) mod volume;
pub(crate) mod volume_source;
pub(crate) mod windows;
pub(crate) mod workload;
pub(crate) mod workload_status;

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::{
        labels,
        names::{
            SUBDOMAIN_MAX, dns1123_label_errors, dns1123_subdomain_errors, inclusive_range_error,
            name_is_dns_subdomain, percent_errors, port_number_errors,
        },
    },
    value::{Map, Value},
};

use crate::tree::{Members, is_zero, same};

/// The text about what may not be below zero.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";

/// What validation found so far.
pub(crate) type Errors = Vec<FieldError>;

/// The name of a kind whose declarations speak of it, a DNS subdomain: told among what else is declared, and so behind what
/// is written out.
fn declared_name(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    if name.is_empty() {
        return;
    }
    let mut why = name_is_dns_subdomain(name, false);
    if name.len() > SUBDOMAIN_MAX
        && let Some(first) = why.first_mut()
    {
        // The one word that declarations have for themselves.
        *first = format!("must be no more than {SUBDOMAIN_MAX} bytes");
    }
    each_invalid(why, "metadata.name", name, errors);
}

/// Adds an `Invalid value` for each message.
pub(crate) fn each_invalid(messages: Vec<String>, path: &str, value: &str, errors: &mut Errors) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

/// A member that must be there and not be empty; answers whether it is.
pub(crate) fn required(map: &Map<'_>, key: &str, path: &str, errors: &mut Errors) -> bool {
    let there = !map.lacks(key);
    if !there {
        errors.push(FieldError::required(child(path, key), ""));
    }
    there
}

/// A DNS label.
pub(crate) fn label(name: &str, path: &str, errors: &mut Errors) {
    each_invalid(dns1123_label_errors(name), path, name, errors);
}

/// A DNS subdomain.
pub(crate) fn subdomain(name: &str, path: &str, errors: &mut Errors) {
    each_invalid(dns1123_subdomain_errors(name), path, name, errors);
}

/// A number of a port.
pub(crate) fn port_number(number: i64, path: &str, errors: &mut Errors) {
    errors.extend(port_number_errors(number).into_iter().map(|why| FieldError::invalid(path, number, why)));
}

/// The name of a CSI driver.
pub(crate) fn csi_driver_name(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    each_invalid(dns1123_subdomain_errors(&name.to_lowercase()), path, name, errors);
}

/// The number of a user or group.
pub(crate) fn id(value: Option<&Value<'_>>, path: String, errors: &mut Errors) {
    const MAX: i64 = i32::MAX as i64;
    if let Some(id) = value.and_then(Value::as_i64).filter(|id| !(0..=MAX).contains(id)) {
        errors.push(FieldError::invalid(path, id, inclusive_range_error(0, MAX)));
    }
}

/// Maps of a list with their places.
pub(crate) fn maps<'v, 'a>(list: &'v [Value<'a>]) -> impl Iterator<Item = (usize, &'v Map<'a>)> {
    list.iter().enumerate().filter_map(|(at, item)| Some((at, item.as_map()?)))
}

/// Looks at the entries of a map whose values are text, by key: errors that come from maps are in that order.
pub(crate) fn each_sorted<'a>(map: Option<&Map<'a>>, mut each: impl FnMut(&'a str, &'a str)) {
    labels::each_in_order(map, |key, value| each(key, value.as_str().unwrap_or("")));
}

/// Those entries as a list.
pub(crate) fn sorted<'a>(map: Option<&Map<'a>>) -> Vec<(&'a str, &'a str)> {
    let mut entries: Vec<_> =
        map.map(|m| m.iter().map(|(k, v)| (k, v.as_str().unwrap_or(""))).collect()).unwrap_or_default();
    entries.sort_unstable();
    entries
}

/// An integer that must not be negative.
pub(crate) fn non_negative(map: &Map<'_>, key: &str, path: &str, errors: &mut Errors) {
    if let Some(n) = map.int(key).filter(|n| *n < 0) {
        errors.push(FieldError::invalid(child(path, key), n, NEGATIVE));
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
    let shown = match now {
        Some(Value::Map(map)) if map.has("matchLabels") || map.has("matchExpressions") => {
            selector::shown(Some(map))
        }
        now => now.cloned().unwrap_or(nothing),
    };
    errors.push(FieldError::invalid(child(path, key), &shown, "field is immutable"));
}

/// The error about a field that its declaration keeps from changing: it shows no value.
pub(crate) fn declared_immutable(path: &str, errors: &mut Errors) {
    errors.push(FieldError::invalid(path, &Value::Null, "field is immutable"));
}

/// Whether two specs of a kind mean the same.
pub(crate) fn same_spec(kind: Kind, a: &Value<'_>, b: &Value<'_>) -> bool {
    crate::semantic::field_equal(kind, &["spec"], Some(a), Some(b))
}

/// Group, version and name of a kind.
pub(crate) type Kind = (&'static str, &'static str, &'static str);

/// A count or a percentage.
pub(crate) fn positive_int_or_percent(value: &Value<'_>, path: &str, errors: &mut Errors) {
    match value {
        Value::String(text) => each_invalid(percent_errors(text), path, text, errors),
        Value::Int(n) if *n < 0 => {
            errors.push(FieldError::invalid(path, *n, NEGATIVE));
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
