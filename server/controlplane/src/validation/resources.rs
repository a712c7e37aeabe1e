//! Resource requirements of containers and pods.

use ringbolt_machinery::{
    field::{FieldError, child, index, key},
    value::{Map, Value},
};

use super::{Errors, each_sorted, label, resource_name};
use crate::{quantity::Amount, tree::Members};

/// Requests and limits: names and amounts that can be, no request above its limit, equal where a resource cannot
/// be overcommitted. `name` checks the names.
pub(crate) fn validate(
    resources: &Map<'_>,
    name_of: fn(&str, &str, &mut Errors),
    path: &str,
    errors: &mut Errors,
) {
    let (mut computes, mut pages) = (false, false);
    let limits = child(path, "limits");
    let all_limits = resources.child("limits");
    each_sorted(all_limits, |name, text| {
        let at = key(&limits, name);
        name_of(name, &at, errors);
        resource_name::amount(name, text, &at, errors);
        resource_name::whole_pages(name, text, &at, errors);
        computes |= matches!(name, "cpu" | "memory");
        pages |= resource_name::is_huge_page(name);
    });
    let requests = child(path, "requests");
    each_sorted(resources.child("requests"), |name, text| {
        let at = key(&requests, name);
        name_of(name, &at, errors);
        resource_name::amount(name, text, &at, errors);
        let shown = all_limits.map_or("", |l| l.text(name));
        let differ = |request: Amount<'_>, limit| request.compare(limit).is_ne();
        match (Amount::of(text), Amount::of(shown)) {
            (Some(request), Some(limit))
                if differ(request, limit) && !resource_name::may_overcommit(name) =>
            {
                let why = format!("must be equal to {name} limit of {shown}");
                errors.push(FieldError::invalid(requests.clone(), text, why));
            }
            (Some(request), Some(limit)) if request.compare(limit).is_gt() => {
                let why = format!("must be less than or equal to {name} limit of {shown}");
                errors.push(FieldError::invalid(requests.clone(), text, why));
            }
            (Some(_), None) if !resource_name::may_overcommit(name) => {
                let why = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(limits.clone(), why));
            }
            _ => {}
        }
        resource_name::whole_pages(name, text, &at, errors);
        computes |= matches!(name, "cpu" | "memory");
        pages |= resource_name::is_huge_page(name);
    });
    if pages && !computes {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
}

/// The claims that a container takes part in are claims of its pod.
pub(crate) fn validate_claims(resources: &Map<'_>, claims: &[&str], path: &str, errors: &mut Errors) {
    let path = child(path, "claims");
    let mut seen: Vec<String> = Vec::new();
    for (at, claim) in resources.items("claims").iter().filter_map(Value::as_map).enumerate() {
        let (name, request) = (claim.text("name"), claim.text("request"));
        let path = index(&path, at);
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        if seen.iter().any(|s| s == name) {
            errors.push(FieldError::duplicate(path.clone(), name));
        } else {
            let mut whole = name.to_owned();
            if !request.is_empty() {
                label(request, &child(&path, "request"), errors);
                whole = format!("{name}/{request}");
            }
            if seen.contains(&whole) {
                errors.push(FieldError::duplicate(path.clone(), whole.as_str()));
            } else if request.is_empty() {
                let parts = seen.iter().filter(|s| s.split_once('/').is_some_and(|(n, _)| n == name));
                for _ in parts {
                    errors.push(FieldError::duplicate(path.clone(), name));
                }
            }
            seen.push(whole);
        }
        if !claims.contains(&name) {
            let mut error = FieldError::not_found(path, name);
            let mut known: Vec<_> = claims.iter().copied().filter(|name| !name.is_empty()).collect();
            known.sort_unstable();
            known.dedup();
            let known = match known.as_slice() {
                [] => " which is empty".to_owned(),
                _ => format!(": {}", known.join(", ")),
            };
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.push(error);
        }
    }
}
