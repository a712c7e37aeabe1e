//! Containers.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{
        config_map_key_errors, dns1123_label_errors, environment_variable_name_errors, inclusive_range_error,
        port_name_errors,
    },
    value::{Map, Value},
};

use super::{Errors, each_invalid, one_of, probe, resources};
use crate::tree::Members;

/// Containers of one list. `volumes` are the pod's; `names` are those taken so far in the whole pod.
pub(crate) fn validate_list<'a>(
    containers: &[Value<'a>],
    path: &str,
    volumes: &[&str],
    names: &mut Vec<&'a str>,
    kind: Kind,
    errors: &mut Errors,
) {
    for (at, container) in containers.iter().enumerate() {
        if let Some(container) = container.as_map() {
            validate(container, &index(path, at), volumes, names, kind, errors);
        }
    }
}

/// Which list a container is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs as long as the pod.
    Regular,
    /// Runs before the others.
    Init,
}

fn validate<'a>(
    container: &Map<'a>,
    path: &str,
    volumes: &[&str],
    names: &mut Vec<&'a str>,
    kind: Kind,
    errors: &mut Errors,
) {
    let (name, at) = (container.text("name"), child(path, "name"));
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else {
        let messages = dns1123_label_errors(name);
        if !messages.is_empty() {
            each_invalid(messages, &at, name, errors);
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(at, name));
        } else {
            names.push(name);
        }
    }
    let image = container.text("image");
    if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(child(path, "image"), image, why));
    } else if image.is_empty() {
        errors.push(FieldError::required(child(path, "image"), ""));
    }
    match container.text("terminationMessagePolicy") {
        "" => errors.push(FieldError::required(child(path, "terminationMessagePolicy"), "")),
        _ => one_of(container, "terminationMessagePolicy", path, &["FallbackToLogsOnError", "File"], errors),
    }
    ports(container, path, errors);
    environment(container, path, errors);
    mounts(container, path, volumes, errors);
    match container.text("imagePullPolicy") {
        "" => errors.push(FieldError::required(child(path, "imagePullPolicy"), "")),
        _ => one_of(container, "imagePullPolicy", path, &["Always", "IfNotPresent", "Never"], errors),
    }
    if let Some(requirements) = container.child("resources") {
        resources::validate(requirements, &child(path, "resources"), errors);
    }
    let sidecar = container.text("restartPolicy") == "Always";
    if kind == Kind::Regular || sidecar {
        probes(container, path, errors);
    }
}

fn probes(container: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(lifecycle) = container.child("lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.child(hook) {
                probe::handler(handler, &child(&child(path, "lifecycle"), hook), errors);
            }
        }
    }
    if let Some(liveness) = container.child("livenessProbe") {
        probe::validate_single_success(liveness, &child(path, "livenessProbe"), errors);
    }
    if let Some(readiness) = container.child("readinessProbe") {
        probe::validate(readiness, &child(path, "readinessProbe"), errors);
    }
    if let Some(startup) = container.child("startupProbe") {
        probe::validate_single_success(startup, &child(path, "startupProbe"), errors);
    }
}

fn ports(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "ports");
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in container.items("ports").iter().enumerate() {
        let path = index(&path, at);
        let Some(port) = port.as_map() else { continue };
        let name = port.text("name");
        if !name.is_empty() {
            let messages = port_name_errors(name);
            if !messages.is_empty() {
                each_invalid(messages, &child(&path, "name"), name, errors);
            } else if names.contains(&name) {
                errors.push(FieldError::duplicate(child(&path, "name"), name));
            } else {
                names.push(name);
            }
        }
        let number = port.int("containerPort").unwrap_or(0);
        if number == 0 {
            errors.push(FieldError::required(child(&path, "containerPort"), ""));
        } else if !(1..=65535).contains(&number) {
            errors.push(FieldError::invalid(
                child(&path, "containerPort"),
                number,
                inclusive_range_error(1, 65535),
            ));
        }
        let host = port.int("hostPort").unwrap_or(0);
        if host != 0 && !(1..=65535).contains(&host) {
            errors.push(FieldError::invalid(child(&path, "hostPort"), host, inclusive_range_error(1, 65535)));
        }
        match port.text("protocol") {
            "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
            _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
        }
    }
}

fn environment(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "env");
    for (at, variable) in container.items("env").iter().enumerate() {
        let path = index(&path, at);
        let Some(variable) = variable.as_map() else { continue };
        let name = variable.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else {
            each_invalid(environment_variable_name_errors(name), &child(&path, "name"), name, errors);
        }
        if let Some(from) = variable.child("valueFrom") {
            value_from(from, variable, &child(&path, "valueFrom"), errors);
        }
    }
}

fn value_from(from: &Map<'_>, variable: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut sources = 0;
    for (kind, source) in from.iter().filter(|(_, v)| !v.is_null()) {
        sources += 1;
        let (path, Some(source)) = (child(path, kind), source.as_map()) else { continue };
        if matches!(kind, "configMapKeyRef" | "secretKeyRef") {
            if source.text("name").is_empty() {
                errors.push(FieldError::required(child(&path, "name"), ""));
            }
            let key = source.text("key");
            if key.is_empty() {
                errors.push(FieldError::required(child(&path, "key"), ""));
            } else {
                each_invalid(config_map_key_errors(key), &child(&path, "key"), key, errors);
            }
        }
    }
    if sources == 0 {
        let known = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.push(FieldError::invalid(path, "", known));
    } else if !variable.text("value").is_empty() {
        errors.push(FieldError::invalid(path, "", "may not be specified when `value` is not empty"));
    } else if sources > 1 {
        errors.push(FieldError::invalid(path, "", "may not have more than one field specified at a time"));
    }
}

fn mounts(container: &Map<'_>, path: &str, volumes: &[&str], errors: &mut Errors) {
    let path = child(path, "volumeMounts");
    let mut points: Vec<&str> = Vec::new();
    for (at, mount) in container.items("volumeMounts").iter().enumerate() {
        let path = index(&path, at);
        let Some(mount) = mount.as_map() else { continue };
        let (name, point) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if !volumes.contains(&name) {
            errors.push(FieldError::not_found(child(&path, "name"), name));
        }
        if point.is_empty() {
            errors.push(FieldError::required(child(&path, "mountPath"), ""));
        }
        if points.contains(&point) {
            errors.push(FieldError::invalid(child(&path, "mountPath"), point, "must be unique"));
        }
        points.push(point);
    }
}
