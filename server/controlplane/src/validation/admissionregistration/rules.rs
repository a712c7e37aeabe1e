//! Rules that say which requests a webhook or policy is about.

use std::collections::HashSet;

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{names::path_segment_errors, validate_label_selector},
    value::{Map, Value},
};

use super::{
    super::{Errors, each_invalid, maps, one_of, one_of_optional},
    texts,
};
use crate::tree::Members;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MUTABLE: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// What a policy or binding matches.
pub(super) fn match_resources(resources: &Map<'_>, path: &str, errors: &mut Errors) {
    match resources.has("matchPolicy") {
        false => errors.push(FieldError::required(child(path, "matchPolicy"), "")),
        true => one_of(resources, "matchPolicy", path, &["Equivalent", "Exact"], errors),
    }
    for member in ["namespaceSelector", "objectSelector"] {
        let path = child(path, member);
        match resources.get(member).filter(|v| !v.is_null()) {
            None => errors.push(FieldError::required(path, "")),
            selector => errors.extend(validate_label_selector(selector, &path)),
        }
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        for (at, rule) in maps(resources.items(member)) {
            named(rule, &index(&child(path, member), at), errors);
        }
    }
}

/// Nothing can be changed of what is deleted.
pub(super) fn mutable(resources: &Map<'_>, path: &str, errors: &mut Errors) {
    for (_, rule) in maps(resources.items("resourceRules")) {
        for operation in texts(rule, "operations").filter(|o| !MUTABLE.contains(o)) {
            errors.push(FieldError::not_supported(
                child(path, "resourceRules.operations"),
                operation,
                &MUTABLE,
            ));
        }
    }
}

/// A rule that may name objects.
fn named(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (at, name) in texts(rule, "resourceNames").enumerate() {
        let path = index(&child(path, "resourceNames"), at);
        each_invalid(path_segment_errors(name, false), &path, name, errors);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
    validate(rule, path, errors);
}

/// A rule with its operations.
pub(super) fn validate(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    wildcard_alone(rule, "operations", "operations", path, errors);
    for (at, operation) in texts(rule, "operations").enumerate().filter(|(_, o)| !OPERATIONS.contains(o)) {
        let path = index(&child(path, "operations"), at);
        errors.push(FieldError::not_supported(path, operation, &OPERATIONS));
    }
    wildcard_alone(rule, "apiGroups", "API groups", path, errors);
    wildcard_alone(rule, "apiVersions", "API versions", path, errors);
    for (at, _) in texts(rule, "apiVersions").enumerate().filter(|(_, v)| v.is_empty()) {
        errors.push(FieldError::required(index(&child(path, "apiVersions"), at), ""));
    }
    resources(rule, &child(path, "resources"), errors);
    one_of_optional(rule, "scope", path, &["*", "Cluster", "Namespaced"], errors);
}

/// A list that must not be empty, and holds nothing else where it holds `*`.
fn wildcard_alone(rule: &Map<'_>, member: &str, what: &str, path: &str, errors: &mut Errors) {
    let list = rule.items(member);
    let path = child(path, member);
    if list.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if list.len() > 1 && texts(rule, member).any(|t| t == "*") {
        let shown = rule.get(member).unwrap_or(&Value::Null);
        errors.push(FieldError::invalid(
            path,
            shown,
            format!("if '*' is present, must not specify other {what}"),
        ));
    }
}

fn resources(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    let list = rule.items("resources");
    if list.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut whole, mut parts) = (HashSet::new(), HashSet::new());
    let (mut all_parts, mut all, mut plain) = (false, false, false);
    for (at, text) in texts(rule, "resources").enumerate() {
        let path = index(path, at);
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        all_parts |= text == "*/*";
        all |= text == "*";
        let Some((resource, part)) = text.split_once('/') else {
            // The last one without a part decides.
            plain = text != "*";
            continue;
        };
        let mut covered = |by: String| {
            let why = format!("if '{by}' is present, must not specify {text}");
            errors.push(FieldError::invalid(path.clone(), text, why));
        };
        if whole.contains(resource) {
            covered(format!("{resource}/*"));
        }
        if parts.contains(part) {
            covered(format!("*/{part}"));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            parts.insert(part);
        }
    }
    let shown = rule.get("resources").unwrap_or(&Value::Null);
    if list.len() > 1 && all_parts {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, shown, why));
    }
    if all && plain {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, shown, why));
    }
}
