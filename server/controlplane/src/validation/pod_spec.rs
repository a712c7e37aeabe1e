//! Pod specs, of pods and of templates.

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::{
        names::{dns1123_label_errors, dns1123_subdomain_errors},
        validate_annotations, validate_labels,
    },
    value::{Map, Value},
};

use super::{Errors, container, each_invalid, one_of, volume};
use crate::tree::Members;

/// A pod's spec.
pub(crate) fn validate(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let volumes = volume::validate(spec.items("volumes"), &child(path, "volumes"), errors);
    let mut names = Vec::new();
    let containers = spec.items("containers");
    let at = child(path, "containers");
    if containers.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else {
        container::validate_list(containers, &at, &volumes, &mut names, container::Kind::Regular, errors);
    }
    let at = child(path, "initContainers");
    container::validate_list(
        spec.items("initContainers"),
        &at,
        &volumes,
        &mut names,
        container::Kind::Init,
        errors,
    );
    match spec.text("restartPolicy") {
        "" => errors.push(FieldError::required(child(path, "restartPolicy"), "")),
        _ => one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"], errors),
    }
    match spec.text("dnsPolicy") {
        "" => errors.push(FieldError::required(child(path, "dnsPolicy"), "")),
        _ => one_of(
            spec,
            "dnsPolicy",
            path,
            &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
            errors,
        ),
    }
    for (member, rule) in [
        ("serviceAccountName", dns1123_subdomain_errors as fn(&str) -> Vec<String>),
        ("nodeName", dns1123_subdomain_errors),
    ] {
        let name = spec.text(member);
        if !name.is_empty() {
            each_invalid(rule(name), &child(path, member), name, errors);
        }
    }
    if let Some(seconds) = spec.int("activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let why = format!("must be between 1 and {}, inclusive", i32::MAX);
        errors.push(FieldError::invalid(child(path, "activeDeadlineSeconds"), seconds, why));
    }
    for member in ["hostname", "subdomain"] {
        let name = spec.text(member);
        if !name.is_empty() {
            each_invalid(dns1123_label_errors(name), &child(path, member), name, errors);
        }
    }
    let class = spec.text("priorityClassName");
    if !class.is_empty() {
        each_invalid(dns1123_subdomain_errors(class), &child(path, "priorityClassName"), class, errors);
    }
    let class = spec.text("runtimeClassName");
    if !class.is_empty() {
        each_invalid(dns1123_subdomain_errors(class), &child(path, "runtimeClassName"), class, errors);
    }
}

/// A pod template: its labels, annotations and spec.
pub(crate) fn validate_template(template: &Map<'_>, path: &str, errors: &mut Errors) {
    let meta = |member: &str| template.child("metadata").and_then(|m| m.get(member));
    errors.extend(validate_labels(meta("labels"), &child(path, "labels")));
    errors.extend(validate_annotations(meta("annotations"), &child(path, "annotations")));
    if let Some(spec) = template.get("spec").and_then(Value::as_map) {
        validate(spec, &child(path, "spec"), errors);
        if !spec.lacks("ephemeralContainers") {
            let why = "ephemeral containers not allowed in pod template";
            errors.push(FieldError::forbidden(child(&child(path, "spec"), "ephemeralContainers"), why));
        }
    } else {
        errors.push(FieldError::required(child(&child(path, "spec"), "containers"), ""));
    }
}
