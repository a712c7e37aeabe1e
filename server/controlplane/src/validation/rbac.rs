//! Roles and bindings.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::{
        names::{dns1123_subdomain_errors, path_segment_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{Errors, each_invalid, immutable};
use crate::tree::Members;

const GROUP: &str = "rbac.authorization.k8s.io";

fn rules(object: &Value<'_>, namespaced: bool, errors: &mut Errors) {
    let rules = object.path(&["rules"]).and_then(Value::as_list);
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        if let Some(rule) = rule.as_map() {
            policy_rule(rule, namespaced, &index("rules", at), errors);
        }
    }
}

/// Verbs are required; what declares that comes after everything else.
fn verbs(object: &Value<'_>, errors: &mut Errors) {
    let rules = object.path(&["rules"]).and_then(Value::as_list);
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        if rule.as_map().is_none_or(|r| r.lacks("verbs")) {
            errors.push(FieldError::required(child(&index("rules", at), "verbs"), ""));
        }
    }
}

fn policy_rule(rule: &Map<'_>, namespaced: bool, path: &str, errors: &mut Errors) {
    if let Some(urls) = rule.get("nonResourceURLs").filter(|_| !rule.lacks("nonResourceURLs")) {
        let path = child(path, "nonResourceURLs");
        if namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(path.clone(), urls, why));
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|m| !rule.lacks(m)) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(path, urls, why));
        }
        return;
    }
    if rule.lacks("apiGroups") {
        errors.push(FieldError::required(
            child(path, "apiGroups"),
            "resource rules must supply at least one api group",
        ));
    }
    if rule.lacks("resources") {
        errors.push(FieldError::required(
            child(path, "resources"),
            "resource rules must supply at least one resource",
        ));
    }
}

pub(crate) fn validate_role(object: &Value<'_>, errors: &mut Errors) {
    rules(object, true, errors);
    verbs(object, errors);
}

pub(crate) fn validate_cluster_role(object: &Value<'_>, errors: &mut Errors) {
    rules(object, false, errors);
    if let Some(aggregation) = object.path(&["aggregationRule"]).and_then(Value::as_map) {
        aggregation_rule(aggregation, errors);
    }
    verbs(object, errors);
}

fn aggregation_rule(aggregation: &Map<'_>, errors: &mut Errors) {
    let path = "aggregationRule.clusterRoleSelectors";
    if aggregation.lacks("clusterRoleSelectors") {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path, why));
    }
    for (at, selector) in aggregation.items("clusterRoleSelectors").iter().enumerate() {
        let found = validate_label_selector(Some(selector), &index(path, at));
        let unusable = !found.is_empty();
        errors.extend(found);
        if unusable {
            errors.push(FieldError::invalid(index(path, at), Verbatim("null"), "invalid label selector."));
        }
    }
}

fn binding(object: &Value<'_>, kinds: &[&str], namespaced: bool, errors: &mut Errors) {
    let reference = |member| object.str_at(&["roleRef", member]).unwrap_or("");
    if reference("apiGroup") != GROUP {
        errors.push(FieldError::not_supported("roleRef.apiGroup", reference("apiGroup"), &[GROUP]));
    }
    if !kinds.contains(&reference("kind")) {
        errors.push(FieldError::not_supported("roleRef.kind", reference("kind"), kinds));
    }
    let name = reference("name");
    if !name.is_empty() {
        each_invalid(path_segment_errors(name, false), "roleRef.name", name, errors);
    }
    let subjects = object.path(&["subjects"]).and_then(Value::as_list);
    for (at, subject) in subjects.into_iter().flatten().enumerate() {
        if let Some(map) = subject.as_map() {
            validate_subject(map, namespaced, &index("subjects", at), errors);
        }
    }
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
}

/// What is declared to be required comes last.
fn binding_required(object: &Value<'_>, errors: &mut Errors) {
    let subjects = object.path(&["subjects"]).and_then(Value::as_list);
    for (at, subject) in subjects.into_iter().flatten().enumerate() {
        if subject.str_at(&["name"]).unwrap_or("").is_empty() {
            errors.push(FieldError::required(child(&index("subjects", at), "name"), ""));
        }
    }
}

fn validate_subject(subject: &Map<'_>, namespaced: bool, path: &str, errors: &mut Errors) {
    let (name, group) = (subject.text("name"), subject.text("apiGroup"));
    match subject.text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                each_invalid(dns1123_subdomain_errors(name), &child(path, "name"), name, errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(child(path, "apiGroup"), group, &[""]));
            }
            if !namespaced && subject.text("namespace").is_empty() {
                errors.push(FieldError::required(child(path, "namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(child(path, "apiGroup"), group, &[GROUP]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(child(path, "kind"), other, &kinds));
        }
    }
}

fn role_reference(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        // The reference is shown as Go prints its struct: `apiGroup`, `kind`, `name` under their Go names.
        let mut found = Vec::new();
        immutable(new, old, "roleRef", "", &mut found);
        if let Some(mut error) = found.pop() {
            let of =
                |member| ringbolt_machinery::field::quote(object.str_at(&["roleRef", member]).unwrap_or(""));
            error.bad_value = format!(
                "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
                of("apiGroup"),
                of("kind"),
                of("name")
            );
            errors.push(error);
        }
    }
}

pub(crate) fn validate_role_binding(object: &Value<'_>, errors: &mut Errors) {
    binding(object, &["Role", "ClusterRole"], true, errors);
    binding_required(object, errors);
}

pub(crate) fn validate_role_binding_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    binding(object, &["Role", "ClusterRole"], true, errors);
    role_reference(object, old, errors);
    binding_required(object, errors);
}

pub(crate) fn validate_cluster_role_binding(object: &Value<'_>, errors: &mut Errors) {
    binding(object, &["ClusterRole"], false, errors);
    binding_required(object, errors);
}

pub(crate) fn validate_cluster_role_binding_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    binding(object, &["ClusterRole"], false, errors);
    role_reference(object, old, errors);
    binding_required(object, errors);
}
