//! Resource quotas.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::FieldError,
    value::{Map, Value},
};

use super::{Errors, maps, resource_name, sorted, with_map};
use crate::tree::Members;

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// Whether a scope says something about a resource.
fn applies(scope: &str, resource: &str) -> bool {
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => resource == "pods" || COMPUTE.contains(&resource),
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// Pairs of scopes that exclude each other.
fn conflicts(scopes: &[&str]) -> usize {
    [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")]
        .iter()
        .filter(|(a, b)| scopes.contains(a) && scopes.contains(b))
        .count()
}

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| self::spec(spec, errors));
    with_map(object, "status", |status| {
        for member in ["hard", "used"] {
            resource_name::quota_list(status, member, "status", errors);
        }
    });
}

fn spec(spec: &Map<'_>, errors: &mut Errors) {
    resource_name::quota_list(spec, "hard", "spec", errors);
    let hard: Vec<&str> = sorted(spec.child("hard")).into_iter().map(|(name, _)| name).collect();
    let misapplied = |scope: &str| {
        hard.iter().filter(|r| resource_name::is_standard_quota(r) && !applies(scope, r)).count()
    };
    let null = Value::Null;
    let all = spec.get("scopes").unwrap_or(&null);
    let scopes: Vec<&str> = spec.items("scopes").iter().filter_map(Value::as_str).collect();
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            errors.push(FieldError::invalid("spec.scopes", all, "unsupported scope"));
        }
        for _ in 0..misapplied(scope) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid("spec.scopes", all, why));
        }
    }
    for _ in 0..conflicts(&scopes) {
        errors.push(FieldError::invalid("spec.scopes", all, "conflicting scopes"));
    }
    let Some(selector) = spec.child("scopeSelector") else { return };
    let path = "spec.scopeSelector.matchExpressions";
    let mut selected: Vec<&str> = Vec::new();
    for (_, requirement) in maps(selector.items("matchExpressions")) {
        let (scope, operator) = (requirement.text("scopeName"), requirement.text("operator"));
        if !SCOPES.contains(&scope) {
            errors.push(FieldError::invalid(format!("{path}.scopeName"), scope, "unsupported scope"));
        }
        for _ in 0..misapplied(scope) {
            let shown = super::go::text("core", "ScopeSelector", Some(&Value::Map(selector.clone())));
            let shown = ringbolt_machinery::field::Verbatim(&shown);
            errors.push(FieldError::invalid(path, shown, "unsupported scope applied to resource"));
        }
        let existing = matches!(
            scope,
            "BestEffort" | "NotBestEffort" | "Terminating" | "NotTerminating" | "CrossNamespacePodAffinity"
        );
        if existing && operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(FieldError::invalid(format!("{path}.operator"), operator, why));
        }
        let values = requirement.items("values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let shown = requirement.get("values").unwrap_or(&null);
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(FieldError::invalid(format!("{path}.values"), shown, why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(format!("{path}.operator"), operator, why));
            }
        }
        selected.push(scope);
    }
    for _ in 0..conflicts(&selected) {
        errors.push(FieldError::invalid(path, all, "conflicting scopes"));
    }
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Status {
        with_map(object, "status", |status| {
            for member in ["hard", "used"] {
                resource_name::quota_list(status, member, "status", errors);
            }
        });
        return;
    }
    with_map(object, "spec", |new| {
        spec(new, errors);
        with_map(old, "spec", |old| {
            let scopes = |spec: &Map<'_>| -> Vec<String> {
                let mut all: Vec<String> =
                    spec.items("scopes").iter().filter_map(Value::as_str).map(str::to_owned).collect();
                all.sort();
                all.dedup();
                all
            };
            if scopes(new) != scopes(old) {
                let shown = new.get("scopes").unwrap_or(&Value::Null);
                errors.push(FieldError::invalid("spec.scopes", shown, "field is immutable"));
            }
        });
    });
}
