//! Containers.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{
        config_map_key_errors, dns1123_label_errors, environment_variable_name_errors, inclusive_range_error,
        port_name_errors,
    },
    value::{Map, Value},
};

use super::{Errors, each_invalid, one_of, probe, resources, security_context};
use crate::tree::{Members, is_zero};

/// What a container refers to in its pod.
pub(crate) struct Surroundings<'s> {
    /// Names of volumes that are in order.
    pub(crate) volumes: Vec<&'s str>,
    /// Names of resource claims.
    pub(crate) claims: Vec<&'s str>,
    /// The pod's restart policy.
    pub(crate) restart_policy: &'s str,
}

/// Members that an ephemeral container may not set, in Go's order.
const NOT_EPHEMERAL: [&str; 8] = [
    "ports",
    "resources",
    "resizePolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "restartPolicy",
];

/// Members that belong to containers that stay.
const STAYING: [&str; 4] = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

fn maps<'v, 'a>(list: &'v [Value<'a>]) -> impl Iterator<Item = (usize, &'v Map<'a>)> {
    list.iter().enumerate().filter_map(|(at, item)| Some((at, item.as_map()?)))
}

/// The containers that make the pod.
pub(crate) fn validate_regular(
    containers: &[Value<'_>],
    path: &str,
    around: &Surroundings<'_>,
    errors: &mut Errors,
) {
    if containers.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, container) in maps(containers) {
        let path = index(path, at);
        common(container, &path, around, errors);
        unique(container, &path, &mut names, errors);
        if let Some(lifecycle) = container.child("lifecycle") {
            hooks(lifecycle, &child(&path, "lifecycle"), errors);
        }
        probes(container, &path, errors);
    }
    host_ports(containers, path, errors);
}

/// Init containers; `regular` are the pod's others.
pub(crate) fn validate_init(
    containers: &[Value<'_>],
    regular: &[Value<'_>],
    path: &str,
    around: &Surroundings<'_>,
    errors: &mut Errors,
) {
    let mut names: Vec<&str> = maps(regular).map(|(_, c)| c.text("name")).collect();
    for (at, container) in maps(containers) {
        let path = index(path, at);
        common(container, &path, around, errors);
        unique(container, &path, &mut names, errors);
        if container.text("restartPolicy") == "Always" {
            if let Some(lifecycle) = container.child("lifecycle") {
                hooks(lifecycle, &child(&path, "lifecycle"), errors);
            }
            probes(container, &path, errors);
            continue;
        }
        for member in STAYING {
            if container.has(member) {
                let why = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(child(&path, member), why));
            }
        }
        for (at, policy) in maps(container.items("resizePolicy")) {
            if policy.text("restartPolicy") == "RestartContainer" {
                let path = child(&index(&child(&path, "resizePolicy"), at), "restartPolicy");
                let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                errors.push(FieldError::invalid(path, "RestartContainer", why));
            }
        }
    }
}

/// Ephemeral containers; `others` are the names of all other containers.
pub(crate) fn validate_ephemeral<'a>(
    containers: &[Value<'a>],
    others: &[&'a str],
    path: &str,
    around: &Surroundings<'_>,
    errors: &mut Errors,
) {
    let mut names = others.to_vec();
    for (at, container) in maps(containers) {
        let path = index(path, at);
        common(container, &path, around, errors);
        only_for_pod(container, &path, errors);
        unique(container, &path, &mut names, errors);
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            errors.push(FieldError::not_found(child(&path, "targetContainerName"), target));
        }
        let why = "cannot be set for an Ephemeral Container";
        for member in NOT_EPHEMERAL {
            if container.get(member).is_some_and(|v| !is_zero(v)) {
                errors.push(FieldError::forbidden(child(&path, member), why));
            }
        }
        for (at, mount) in maps(container.items("volumeMounts")) {
            for member in ["subPath", "subPathExpr"] {
                if !mount.lacks(member) {
                    let path = child(&index(&child(&path, "volumeMounts"), at), member);
                    errors.push(FieldError::forbidden(path, why));
                }
            }
        }
    }
}

/// What a template may say and a pod may not.
pub(crate) fn only_for_pod(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let image = container.text("image");
    if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(child(path, "image"), image, why));
    }
}

fn unique<'a>(container: &Map<'a>, path: &str, names: &mut Vec<&'a str>, errors: &mut Errors) {
    let name = container.text("name");
    if names.contains(&name) {
        errors.push(FieldError::duplicate(child(path, "name"), name));
    } else if !name.is_empty() {
        names.push(name);
    }
}

fn common(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let (name, at) = (container.text("name"), child(path, "name"));
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else {
        each_invalid(dns1123_label_errors(name), &at, name, errors);
    }
    if container.text("image").is_empty() {
        errors.push(FieldError::required(child(path, "image"), ""));
    }
    match container.text("terminationMessagePolicy") {
        "" => errors.push(FieldError::required(child(path, "terminationMessagePolicy"), "")),
        _ => one_of(container, "terminationMessagePolicy", path, &["File", "FallbackToLogsOnError"], errors),
    }
    ports(container, path, errors);
    environment(container, path, errors);
    environment_sources(container, path, errors);
    mounts(container, path, around, errors);
    devices(container, path, around, errors);
    match container.text("imagePullPolicy") {
        "" => errors.push(FieldError::required(child(path, "imagePullPolicy"), "")),
        _ => one_of(container, "imagePullPolicy", path, &["Always", "IfNotPresent", "Never"], errors),
    }
    if let Some(requirements) = container.child("resources") {
        let path = child(path, "resources");
        resources::validate(requirements, &path, errors);
        resources::validate_claims(requirements, &around.claims, &path, errors);
    }
    resize_policy(container, path, around, errors);
    if let Some(context) = container.child("securityContext") {
        security_context::validate_container(context, &child(path, "securityContext"), errors);
    }
}

fn resize_policy(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "resizePolicy");
    let mut seen: Vec<&str> = Vec::new();
    for (at, policy) in maps(container.items("resizePolicy")) {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if seen.contains(&resource) {
            errors.push(FieldError::duplicate(index(&path, at), resource));
        }
        seen.push(resource);
        for (value, supported) in
            [(resource, ["cpu", "memory"]), (restart, ["NotRequired", "RestartContainer"])]
        {
            if value.is_empty() {
                errors.push(FieldError::required(path.clone(), ""));
            } else if !supported.contains(&value) {
                errors.push(FieldError::not_supported(path.clone(), value, &supported));
            }
        }
        if around.restart_policy == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path.clone(), restart, why));
        }
    }
}

fn hooks(lifecycle: &Map<'_>, path: &str, errors: &mut Errors) {
    for hook in ["postStart", "preStop"] {
        if let Some(handler) = lifecycle.child(hook) {
            probe::handler(handler, &child(path, hook), errors);
        }
    }
}

fn probes(container: &Map<'_>, path: &str, errors: &mut Errors) {
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
    for (at, port) in maps(container.items("ports")) {
        let path = index(&path, at);
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
        }
        for (member, number) in [("containerPort", number), ("hostPort", port.int("hostPort").unwrap_or(0))] {
            if number != 0 && !(1..=65535).contains(&number) {
                errors.push(FieldError::invalid(
                    child(&path, member),
                    number,
                    inclusive_range_error(1, 65535),
                ));
            }
        }
        match port.text("protocol") {
            "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
            _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
        }
    }
}

/// A port of the host can be taken once.
fn host_ports(containers: &[Value<'_>], path: &str, errors: &mut Errors) {
    let mut taken: Vec<String> = Vec::new();
    for (at, container) in maps(containers) {
        for (i, port) in maps(container.items("ports")) {
            let Some(number) = port.int("hostPort").filter(|n| *n != 0) else { continue };
            let this = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if taken.contains(&this) {
                let path = child(&index(&child(&index(path, at), "ports"), i), "hostPort");
                errors.push(FieldError::duplicate(path, this));
            } else {
                taken.push(this);
            }
        }
    }
}

fn environment(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "env");
    for (at, variable) in maps(container.items("env")) {
        let path = index(&path, at);
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

fn environment_sources(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "envFrom");
    for (at, from) in maps(container.items("envFrom")) {
        let prefix = from.text("prefix");
        if !prefix.is_empty() {
            let path = child(&index(&path, at), "prefix");
            each_invalid(environment_variable_name_errors(prefix), &path, prefix, errors);
        }
        let mut sources = 0;
        for kind in ["configMapRef", "secretRef"] {
            let Some(source) = from.child(kind) else { continue };
            sources += 1;
            if source.text("name").is_empty() {
                errors.push(FieldError::required(child(&child(&index(&path, at), kind), "name"), ""));
            }
        }
        match sources {
            0 => {
                let why = "must specify one of: `configMapRef` or `secretRef`";
                errors.push(FieldError::invalid(path.clone(), "", why));
            }
            1 => {}
            _ => {
                let why = "may not have more than one field specified at a time";
                errors.push(FieldError::invalid(path.clone(), "", why));
            }
        }
    }
}

/// A path below a volume: relative, and not out of it.
fn descending(target: &str, path: &str, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    if target.split('/').any(|step| step == "..") {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

fn mounts(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "volumeMounts");
    let devices: Vec<_> = maps(container.items("volumeDevices")).map(|(_, d)| d).collect();
    let mut points: Vec<&str> = Vec::new();
    for (at, mount) in maps(container.items("volumeMounts")) {
        let item = index(&path, at);
        let (name, point) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&item, "name"), ""));
        }
        if !around.volumes.contains(&name) {
            errors.push(FieldError::not_found(child(&item, "name"), name));
        }
        if point.is_empty() {
            errors.push(FieldError::required(child(&item, "mountPath"), ""));
        }
        if points.contains(&point) {
            errors.push(FieldError::invalid(child(&item, "mountPath"), point, "must be unique"));
        }
        points.push(point);
        if devices.iter().any(|d| d.text("name") == name) {
            let why = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(child(&item, "name"), name, why));
        }
        if devices.iter().any(|d| d.text("devicePath") == point) {
            let why = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(child(&item, "mountPath"), point, why));
        }
        // The paths of these two name no mount: that is how clients know them.
        let (below, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        if !below.is_empty() {
            descending(below, &child(&path, "subPath"), errors);
        }
        if !expression.is_empty() {
            if !below.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(child(&item, "subPathExpr"), expression, why));
            }
            descending(expression, &child(&path, "subPathExpr"), errors);
        }
    }
}

fn devices(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "volumeDevices");
    let (mut names, mut points): (Vec<&str>, Vec<&str>) = Default::default();
    for (at, device) in maps(container.items("volumeDevices")) {
        let path = index(&path, at);
        let (name, point) = (device.text("name"), device.text("devicePath"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        }
        if names.contains(&name) {
            errors.push(FieldError::invalid(child(&path, "name"), name, "must be unique"));
        }
        if !around.volumes.contains(&name) {
            errors.push(FieldError::not_found(child(&path, "name"), name));
        }
        if point.is_empty() {
            errors.push(FieldError::required(child(&path, "devicePath"), ""));
        }
        if points.contains(&point) {
            errors.push(FieldError::invalid(child(&path, "devicePath"), point, "must be unique"));
        }
        if point.split('/').any(|step| step == "..") {
            let why = "can not contain backsteps ('..')";
            errors.push(FieldError::invalid(child(&path, "devicePath"), point, why));
        } else {
            points.push(point);
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
}
