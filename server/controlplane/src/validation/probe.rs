//! Probes and lifecycle hooks.

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::names::{http_header_name_errors, inclusive_range_error, port_name_errors},
    value::{Map, Value},
};

use super::{Errors, each_invalid, non_negative, one_of};
use crate::tree::Members;

/// What a probe or hook does; exactly one of them.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// A probe; `liveness` ones (and startup probes) need exactly one success.
pub(crate) fn validate(probe: &Map<'_>, grace: Option<i64>, path: &str, errors: &mut Errors) {
    handler(probe, grace, path, errors);
    for member in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        non_negative(probe, member, path, errors);
    }
    if let Some(seconds) = probe.int("terminationGracePeriodSeconds").filter(|s| *s <= 0) {
        errors.push(FieldError::invalid(
            child(path, "terminationGracePeriodSeconds"),
            seconds,
            "must be greater than 0",
        ));
    }
}

/// A liveness or startup probe.
pub(crate) fn validate_single_success(probe: &Map<'_>, grace: Option<i64>, path: &str, errors: &mut Errors) {
    validate(probe, grace, path, errors);
    let successes = probe.int("successThreshold").unwrap_or(0);
    if successes != 1 {
        errors.push(FieldError::invalid(child(path, "successThreshold"), successes, "must be 1"));
    }
}

/// The handler of a probe or hook of a pod with `grace` seconds to end.
pub(crate) fn handler(handler: &Map<'_>, grace: Option<i64>, path: &str, errors: &mut Errors) {
    let mut found = 0;
    for kind in HANDLERS {
        if !handler.has(kind) {
            continue;
        }
        if found > 0 {
            let why = "may not specify more than 1 handler type";
            errors.push(FieldError::forbidden(child(path, kind), why));
            continue;
        }
        found += 1;
        let Some(map) = handler.child(kind) else { continue };
        let path = child(path, kind);
        match kind {
            "exec" if map.lacks("command") => {
                errors.push(FieldError::required(child(&path, "command"), ""));
            }
            "httpGet" => http_get(map, &path, errors),
            "tcpSocket" => port(map.get("port"), &child(&path, "port"), errors),
            "grpc" => port(map.get("port"), &child(&path, "port"), errors),
            "sleep" => {
                let seconds = map.int("seconds").unwrap_or(0);
                if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
                    let why =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    errors.push(FieldError::invalid(path, seconds, why));
                }
            }
            _ => {}
        }
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn http_get(action: &Map<'_>, path: &str, errors: &mut Errors) {
    if action.text("path").is_empty() {
        errors.push(FieldError::required(child(path, "path"), ""));
    }
    port(action.get("port"), &child(path, "port"), errors);
    one_of(action, "scheme", path, &["HTTP", "HTTPS"], errors);
    for header in action.items("httpHeaders").iter().filter_map(Value::as_map) {
        let name = header.text("name");
        each_invalid(http_header_name_errors(name), &child(path, "httpHeaders"), name, errors);
    }
}

/// A port by number or name.
pub(crate) fn port(value: Option<&Value<'_>>, path: &str, errors: &mut Errors) {
    match value {
        Some(Value::String(name)) => each_invalid(port_name_errors(name), path, name, errors),
        other => {
            let number = other.and_then(Value::as_i64).unwrap_or(0);
            if !(1..=65535).contains(&number) {
                errors.push(FieldError::invalid(path, number, inclusive_range_error(1, 65535)));
            }
        }
    }
}
