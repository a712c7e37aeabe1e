//! Containers.

use std::collections::HashSet;

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{
        config_map_key_errors, environment_variable_name_errors, inclusive_range_error,
        name_is_dns_subdomain, port_name_errors,
    },
    value::{Map, Value},
};

use super::{
    Errors, each_invalid, field_selector, label, maps, one_of, probe, required, resource_name, resources,
    security_context, volume::Volume, volume_source,
};
use crate::{
    seen::Seen,
    tree::{Members, is_zero},
};

/// What a container refers to in its pod.
pub(crate) struct Surroundings<'s> {
    /// Volumes that are in order.
    pub(crate) volumes: Vec<Volume<'s>>,
    /// Names of resource claims.
    pub(crate) claims: Vec<&'s str>,
    /// The pod's restart policy.
    pub(crate) restart_policy: &'s str,
    /// Seconds that the pod has to end.
    pub(crate) grace: Option<i64>,
    /// Whether the pod is in the user namespace of its node.
    pub(crate) host_users: bool,
}

/// Members that an ephemeral container may not set, in Go's order.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// Most rules about restarts, and most exit codes of one.
const RESTART_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const NO_POLICY: &str = "must specify restartPolicy when restart rules are used";

/// Members that belong to containers that stay.
const STAYING: [&str; 4] = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

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
            hooks(lifecycle, around, &child(&path, "lifecycle"), errors);
        }
        probes(container, around, &path, errors);
        restart_policy(container, &path, errors);
    }
    host_ports(maps(containers), path, errors);
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
        let item = index(path, at);
        common(container, &item, around, errors);
        if container.has("restartPolicy") {
            restart_policy(container, &item, errors);
        } else if !container.lacks("restartPolicyRules") {
            errors.push(FieldError::required(child(&item, "restartPolicy"), NO_POLICY));
        }
        unique(container, &item, &mut names, errors);
        // Alone in its list as far as ports of the host go.
        host_ports(std::iter::once((0, container)), path, errors);
        let path = item;
        if container.text("restartPolicy") == "Always" {
            if let Some(lifecycle) = container.child("lifecycle") {
                hooks(lifecycle, around, &child(&path, "lifecycle"), errors);
            }
            probes(container, around, &path, errors);
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
            // What is a pointer in Go counts even where it points to nothing much.
            let value = container.get(member).filter(|v| !v.is_null());
            let pointer = STAYING.contains(&member) || member == "restartPolicy";
            let is_list = matches!(value, Some(Value::List(_)));
            if value.is_some_and(|v| pointer || is_list || !is_zero(v)) {
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
        label(name, &at, errors);
    }
    required(container, "image", path, errors);
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
        resources::validate(requirements, resource_name::of_container, &path, errors);
        resources::validate_claims(requirements, &around.claims, &path, errors);
    }
    resize_policy(container, path, around, errors);
    if let Some(context) = container.child("securityContext") {
        let path = child(path, "securityContext");
        security_context::validate_container(context, around.host_users, &path, errors);
    }
}

fn resize_policy(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "resizePolicy");
    let mut seen = Seen::default();
    for (at, policy) in maps(container.items("resizePolicy")) {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if !seen.insert(resource) {
            errors.push(FieldError::duplicate(index(&path, at), resource));
        }
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

fn restart_policy(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let rules = container.items("restartPolicyRules");
    let at = child(path, "restartPolicy");
    if container.has("restartPolicy") {
        one_of(container, "restartPolicy", path, &["Always", "Never", "OnFailure"], errors);
    } else if !rules.is_empty() {
        errors.push(FieldError::required(at, NO_POLICY));
    }
    let path = child(path, "restartPolicyRules");
    if rules.len() > RESTART_RULES_MAX {
        errors.push(FieldError::too_many(path.clone(), rules.len(), RESTART_RULES_MAX));
    }
    for (at, rule) in maps(rules) {
        let path = index(&path, at);
        one_of(rule, "action", &path, &["Restart", "RestartAllContainers"], errors);
        let at = child(&path, "exitCodes");
        let Some(codes) = rule.child("exitCodes") else {
            errors.push(FieldError::required(at, "must be specified"));
            continue;
        };
        one_of(codes, "operator", &at, &["In", "NotIn"], errors);
        let values = codes.items("values").len();
        if values > EXIT_CODES_MAX {
            errors.push(FieldError::too_many(child(&at, "values"), values, EXIT_CODES_MAX));
        }
    }
}

fn hooks(lifecycle: &Map<'_>, around: &Surroundings<'_>, path: &str, errors: &mut Errors) {
    for hook in ["postStart", "preStop"] {
        if let Some(handler) = lifecycle.child(hook) {
            probe::handler(handler, around.grace, &child(path, hook), errors);
        }
    }
}

fn probes(container: &Map<'_>, around: &Surroundings<'_>, path: &str, errors: &mut Errors) {
    if let Some(liveness) = container.child("livenessProbe") {
        probe::validate_single_success(liveness, around.grace, &child(path, "livenessProbe"), errors);
    }
    if let Some(readiness) = container.child("readinessProbe") {
        let path = child(path, "readinessProbe");
        probe::validate(readiness, around.grace, &path, errors);
        if let Some(seconds) = readiness.int("terminationGracePeriodSeconds") {
            let path = child(&path, "terminationGracePeriodSeconds");
            errors.push(FieldError::invalid(path, seconds, "must not be set for readinessProbes"));
        }
    }
    if let Some(startup) = container.child("startupProbe") {
        probe::validate_single_success(startup, around.grace, &child(path, "startupProbe"), errors);
    }
}

fn ports(container: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "ports");
    let mut names = Seen::default();
    for (at, port) in maps(container.items("ports")) {
        let path = index(&path, at);
        let name = port.text("name");
        if !name.is_empty() {
            let messages = port_name_errors(name);
            if !messages.is_empty() {
                each_invalid(messages, &child(&path, "name"), name, errors);
            } else if !names.insert(name) {
                errors.push(FieldError::duplicate(child(&path, "name"), name));
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
fn host_ports<'v, 'a: 'v>(
    containers: impl Iterator<Item = (usize, &'v Map<'a>)>,
    path: &str,
    errors: &mut Errors,
) {
    let mut taken: HashSet<String> = HashSet::new();
    for (at, container) in containers {
        for (i, port) in maps(container.items("ports")) {
            let Some(number) = port.int("hostPort").filter(|n| *n != 0) else { continue };
            let this = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if taken.contains(&this) {
                let path = child(&index(&child(&index(path, at), "ports"), i), "hostPort");
                errors.push(FieldError::duplicate(path, this));
            } else {
                taken.insert(this);
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
    for kind in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let Some(source) = from.child(kind) else { continue };
        sources += 1;
        let path = child(path, kind);
        match kind {
            "fieldRef" => field_selector::object_field(source, true, &path, errors),
            "resourceFieldRef" => field_selector::resource_field(source, false, &path, errors),
            "fileKeyRef" => file_key(source, &path, errors),
            _ => {
                super::subdomain(source.text("name"), &child(&path, "name"), errors);
                if required(source, "key", &path, errors) {
                    let key = source.text("key");
                    each_invalid(config_map_key_errors(key), &child(&path, "key"), key, errors);
                }
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

fn file_key(source: &Map<'_>, path: &str, errors: &mut Errors) {
    if required(source, "key", path, errors) {
        let key = source.text("key");
        each_invalid(environment_variable_name_errors(key), &child(path, "key"), key, errors);
    }
    if required(source, "volumeName", path, errors) {
        label(source.text("volumeName"), &child(path, "volumeName"), errors);
    }
    if required(source, "path", path, errors) {
        volume_source::no_backsteps(source.text("path"), &child(path, "path"), errors);
    }
}

/// Files that variables come from are in volumes that the pod makes. Looked at when all else is.
pub(crate) fn file_volumes(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    for (path, container) in super::windows::containers(spec, path) {
        for (at, variable) in maps(container.items("env")) {
            let Some(file) = variable.child("valueFrom").and_then(|v| v.child("fileKeyRef")) else {
                continue;
            };
            let path = format!("{path}.env[{at}].valueFrom.fileKeyRef.volumeName");
            let name = file.text("volumeName");
            match maps(spec.items("volumes")).filter(|(_, v)| v.text("name") == name).last() {
                None => errors.push(FieldError::not_found(path, name)),
                Some((_, volume)) if !volume.has("emptyDir") => {
                    let why = "referenced volume must be of type emptyDir";
                    errors.push(FieldError::invalid(path, name, why));
                }
                Some(_) => {}
            }
        }
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
            let path = child(&index(&path, at), kind);
            if required(source, "name", &path, errors) {
                let name = source.text("name");
                // Prefixes would do: a name that ends in a dash is let through.
                each_invalid(name_is_dns_subdomain(name, true), &child(&path, "name"), name, errors);
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

fn mounts(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "volumeMounts");
    let devices: Vec<_> = maps(container.items("volumeDevices")).map(|(_, d)| d).collect();
    let mut points = Seen::default();
    for (at, mount) in maps(container.items("volumeMounts")) {
        let item = index(&path, at);
        let (name, point) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&item, "name"), ""));
        }
        if !around.volumes.iter().any(|v| v.name == name) {
            errors.push(FieldError::not_found(child(&item, "name"), name));
        }
        if point.is_empty() {
            errors.push(FieldError::required(child(&item, "mountPath"), ""));
        }
        if !points.insert(point) {
            errors.push(FieldError::invalid(child(&item, "mountPath"), point, "must be unique"));
        }
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
            volume_source::descending(below, &child(&path, "subPath"), errors);
        }
        if !expression.is_empty() {
            if !below.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(child(&item, "subPathExpr"), expression, why));
            }
            volume_source::descending(expression, &child(&path, "subPathExpr"), errors);
        }
        mount_modes(mount, container, &path, errors);
    }
}

/// How a mount sees other mounts. The paths name no mount either.
fn mount_modes(mount: &Map<'_>, container: &Map<'_>, path: &str, errors: &mut Errors) {
    let propagation = mount.text("mountPropagation");
    if mount.has("mountPropagation") {
        let supported = ["Bidirectional", "HostToContainer", "None"];
        one_of(mount, "mountPropagation", path, &supported, errors);
        let privileged = container.child("securityContext").is_some_and(|c| c.flag("privileged"));
        if propagation == "Bidirectional" && !privileged {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(FieldError::forbidden(child(path, "mountPropagation"), why));
        }
    }
    if !mount.has("recursiveReadOnly") {
        return;
    }
    match mount.text("recursiveReadOnly") {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            let at = child(path, "recursiveReadOnly");
            if !mount.flag("readOnly") {
                errors.push(FieldError::forbidden(at.clone(), "may only be specified when readOnly is true"));
            }
            if mount.has("mountPropagation") && propagation != "None" {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(at, why));
            }
        }
        _ => {
            let supported = ["Disabled", "Enabled", "IfPossible"];
            one_of(mount, "recursiveReadOnly", path, &supported, errors);
        }
    }
}

fn devices(container: &Map<'_>, path: &str, around: &Surroundings<'_>, errors: &mut Errors) {
    let path = child(path, "volumeDevices");
    let (mut names, mut points) = (Seen::default(), Seen::default());
    for (at, device) in maps(container.items("volumeDevices")) {
        let path = index(&path, at);
        let (name, point) = (device.text("name"), device.text("devicePath"));
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        }
        if names.contains(name) {
            errors.push(FieldError::invalid(child(&path, "name"), name, "must be unique"));
        }
        match around.volumes.iter().find(|v| v.name == name) {
            None => errors.push(FieldError::not_found(child(&path, "name"), name)),
            Some(volume) if !volume.is_claim => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.push(FieldError::invalid(child(&path, "name"), name, why));
            }
            Some(_) => {}
        }
        if point.is_empty() {
            errors.push(FieldError::required(child(&path, "devicePath"), ""));
        }
        if points.contains(point) {
            errors.push(FieldError::invalid(child(&path, "devicePath"), point, "must be unique"));
        }
        if point.split('/').any(|step| step == "..") {
            let why = "can not contain backsteps ('..')";
            errors.push(FieldError::invalid(child(&path, "devicePath"), point, why));
        } else {
            points.insert(point);
        }
        if maps(container.items("volumeMounts")).any(|(_, m)| m.text("name") == name) {
            let why = "must not already exist in volumeMounts";
            errors.push(FieldError::invalid(child(&path, "name"), name, why));
        }
        if maps(container.items("volumeMounts")).any(|(_, m)| m.text("mountPath") == point) {
            let why = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(child(&path, "devicePath"), point, why));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
