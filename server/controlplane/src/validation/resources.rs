//! Resource requirements of containers.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    value::{Map, Value},
};

use super::Errors;
use crate::{quantity, tree::Members};

/// Requests and limits: nothing negative, no request above its limit, equal where a resource cannot be overcommitted.
pub(crate) fn validate(resources: &Map<'_>, path: &str, errors: &mut Errors) {
    let amount = |list: &str, name: &str| {
        resources.child(list).and_then(|m| m.get(name)).and_then(Value::as_str).and_then(quantity::parse)
    };
    for (name, text) in sorted(resources, "limits") {
        let at = key(&child(path, "limits"), name);
        negative(text, &at, errors);
    }
    for (name, text) in sorted(resources, "requests") {
        let at = key(&child(path, "requests"), name);
        negative(text, &at, errors);
        let (Some(request), Some(limit)) = (amount("requests", name), amount("limits", name)) else {
            continue;
        };
        let path = child(path, "requests");
        let shown = resources.child("limits").map_or("", |l| l.text(name));
        if request != limit && !may_overcommit(name) {
            let why = format!("must be equal to {name} limit of {shown}");
            errors.push(FieldError::invalid(path, text, why));
        } else if request > limit {
            let why = format!("must be less than or equal to {name} limit of {shown}");
            errors.push(FieldError::invalid(path, text, why));
        }
    }
}

fn negative(text: &str, path: &str, errors: &mut Errors) {
    if quantity::parse(text).is_some_and(|q| q.sign() < 0) {
        errors.push(FieldError::invalid(path, text, "must be greater than or equal to 0"));
    }
}

/// Native resources but huge pages may be requested below their limit.
fn may_overcommit(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    native && !name.starts_with("hugepages-")
}

fn sorted<'a>(resources: &Map<'a>, list: &str) -> Vec<(&'a str, &'a str)> {
    let mut entries: Vec<_> = resources
        .child(list)
        .map(|m| m.iter().map(|(k, v)| (k, v.as_str().unwrap_or(""))).collect())
        .unwrap_or_default();
    entries.sort_unstable();
    entries
}

/// The claims that a container takes part in are claims of its pod.
pub(crate) fn validate_claims(resources: &Map<'_>, claims: &[&str], path: &str, errors: &mut Errors) {
    let path = child(path, "claims");
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (at, claim) in resources.items("claims").iter().filter_map(Value::as_map).enumerate() {
        let (name, request) = (claim.text("name"), claim.text("request"));
        let path = index(&path, at);
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        if seen.contains(&(name, request)) {
            errors.push(FieldError::duplicate(path.clone(), name));
        }
        seen.push((name, request));
        if !claims.contains(&name) {
            let known = match claims {
                [] => "which is empty".to_owned(),
                _ => {
                    let mut sorted = claims.to_vec();
                    sorted.sort_unstable();
                    sorted.join(", ")
                }
            };
            let joint = if claims.is_empty() { " " } else { ": " };
            let mut error = FieldError::not_found(path, name);
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{joint}{known}");
            errors.push(error);
        }
    }
}
