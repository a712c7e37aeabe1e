//! LimitRanger: fills in what containers ask for by default, and holds pods and claims to a namespace's limits.

use std::{cmp::Ordering, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    quantity::Quantity,
    status::Status,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::objects::Objects;
use crate::{
    pod_resources::{Amounts, aggregate, amounts},
    quantity,
    tree::{Members, root},
};

/// Annotation that tells what was filled in.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Beyond this, thousandths do not fit an `int64` (`resource.MaxMilliValue`).
const MILLI_MAX: i64 = i64::MAX / 1000;

/// Fills in defaults of a pod's containers.
pub(super) fn admit<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    object: &mut Value<'a>,
    old: Option<&Value<'_>>,
) {
    if !attributes.is_part_of("", "pods") || !concerns(attributes, old) {
        return;
    }
    for range in ranges(objects, attributes) {
        let Some(range) = objects.tree(arena, objects.limit_ranges, &range) else { continue };
        fill(arena, object, &range);
    }
}

/// Holds a pod or a claim to the limits of its namespace.
pub(super) fn validate(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    object: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(object) = object.filter(|_| concerns(attributes, old)) else { return Ok(()) };
    for range in ranges(objects, attributes) {
        let Some(range) = objects.tree(arena, objects.limit_ranges, &range) else { continue };
        let mut errors = Vec::new();
        for limit in limits(&range) {
            match limit.text("type") {
                "Container" if attributes.is_part_of("", "pods") => {
                    check_containers(limit, object, &mut errors)
                }
                "Pod" if attributes.is_part_of("", "pods") => check_pod(limit, object, &mut errors),
                "PersistentVolumeClaim" if attributes.is("", "persistentvolumeclaims") => {
                    check_claim(limit, object, &mut errors);
                }
                _ => {}
            }
        }
        if !errors.is_empty() {
            return Err(attributes.forbidden(&joined(errors)));
        }
    }
    Ok(())
}

/// Several errors as one text, each once.
fn joined(errors: Vec<String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for error in errors {
        if !once.contains(&error) {
            once.push(error);
        }
    }
    match once.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Whether limits are about this write: new pods, resized pods, and claims, as long as they are not on their way out.
fn concerns(attributes: &Attributes<'_>, old: Option<&Value<'_>>) -> bool {
    if old.is_some_and(|o| o.path(&["metadata", "deletionTimestamp"]).is_some_and(|t| !t.is_null())) {
        return false;
    }
    match (attributes.operation, attributes.subresource) {
        (Operation::Update, "resize") => attributes.is_part_of("", "pods"),
        (Operation::Create, "") => attributes.is("", "pods") || attributes.is("", "persistentvolumeclaims"),
        (Operation::Update, "") => attributes.is("", "persistentvolumeclaims"),
        _ => false,
    }
}

fn ranges(objects: &Objects, attributes: &Attributes<'_>) -> Vec<Arc<Object>> {
    objects.in_namespace(attributes, objects.limit_ranges)
}

fn limits<'v, 'a>(range: &'v Value<'a>) -> impl Iterator<Item = &'v Map<'a>> {
    let limits = range.path(&["spec", "limits"]).and_then(Value::as_list);
    limits.into_iter().flatten().filter_map(Value::as_map)
}

/// What the ranges of one object give containers by default.
fn defaults<'a>(range: &Value<'a>, list: &'static str) -> Vec<(&'a str, Value<'a>)> {
    let mut found: Vec<(&'a str, Value<'a>)> = Vec::new();
    for limit in limits(range).filter(|l| l.text("type") == "Container") {
        for (name, amount) in limit.child(list).into_iter().flat_map(Map::iter) {
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = amount.clone(),
                None => found.push((name, amount.clone())),
            }
        }
    }
    found.sort_unstable_by_key(|(name, _)| *name);
    found
}

fn fill<'a>(arena: &'a Bump, pod: &mut Value<'a>, range: &Value<'a>) {
    let (limits, requests) = (defaults(range, "default"), defaults(range, "defaultRequest"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    let mut notes: Vec<String> = Vec::new();
    let spec = root(arena, pod).map_mut("spec");
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        spec.each_mut(list, |container| {
            let name = container.text("name");
            for (list, kind, defaults) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                let mut set = Vec::new();
                for (resource, amount) in defaults {
                    let amounts = container.map_mut("resources").map_mut(list);
                    if amounts.get(resource).is_none() {
                        amounts.insert(resource, amount.clone());
                        set.push(*resource);
                    }
                }
                if !set.is_empty() {
                    notes.push(format!("{} {kind} for {what} {name}", set.join(", ")));
                }
            }
        });
    }
    if !notes.is_empty() {
        let note = arena.alloc_str(&format!("LimitRanger plugin set: {}", notes.join("; ")));
        root(arena, pod).map_mut("metadata").map_mut("annotations").insert(ANNOTATION, Value::String(note));
    }
}

fn check_containers(limit: &Map<'_>, pod: &Value<'_>, errors: &mut Vec<String>) {
    for list in ["containers", "initContainers"] {
        let containers = pod.path(&["spec", list]).and_then(Value::as_list);
        for container in containers.into_iter().flatten().filter_map(Value::as_map) {
            check_use(limit, &amounts(container, "requests"), &amounts(container, "limits"), errors);
        }
    }
}

fn check_pod(limit: &Map<'_>, pod: &Value<'_>, errors: &mut Vec<String>) {
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return };
    let total = |list: &str| {
        let mut total = aggregate(spec, list);
        // What a pod asks for as a whole stands above what its containers add up to.
        let own = amounts(spec, list);
        total.extend(own.into_iter().filter(|(name, _)| matches!(*name, "cpu" | "memory")));
        total
    };
    check_use(limit, &total("requests"), &total("limits"), errors);
}

fn check_claim(limit: &Map<'_>, claim: &Value<'_>, errors: &mut Vec<String>) {
    let Some(spec) = claim.path(&["spec"]).and_then(Value::as_map) else { return };
    let requests = amounts(spec, "requests");
    let what = limit.text("type");
    for (name, bound) in bounds(limit, "min") {
        errors.extend(below_minimum(what, name, &bound, requests.get(name), None));
    }
    for (name, bound) in bounds(limit, "max") {
        errors.extend(match requests.get(name) {
            None => Some(format!("maximum {name} usage per {what} is {bound}.  No request is specified")),
            Some(request) => above(what, name, &bound, "request", request),
        });
    }
}

fn check_use(limit: &Map<'_>, requests: &Amounts<'_>, limits: &Amounts<'_>, errors: &mut Vec<String>) {
    let what = limit.text("type");
    for (name, bound) in bounds(limit, "min") {
        errors.extend(below_minimum(what, name, &bound, requests.get(name), limits.get(name)));
    }
    for (name, bound) in bounds(limit, "max") {
        errors.extend(match limits.get(name) {
            None => Some(format!("maximum {name} usage per {what} is {bound}.  No limit is specified")),
            Some(limit) => above(what, name, &bound, "limit", limit)
                .or_else(|| above(what, name, &bound, "request", requests.get(name)?)),
        });
    }
    for (name, bound) in bounds(limit, "maxLimitRequestRatio") {
        errors.extend(ratio_error(what, name, &bound, requests.get(name), limits.get(name)));
    }
}

/// The bounds of one list, by resource.
fn bounds<'a>(limit: &Map<'a>, list: &str) -> Vec<(&'a str, Quantity)> {
    let entries = limit.child(list).into_iter().flat_map(Map::iter);
    let mut bounds: Vec<_> =
        entries.filter_map(|(name, value)| Some((name, quantity::parse(value.as_str()?)?))).collect();
    bounds.sort_by_key(|(name, _)| *name);
    bounds
}

/// Compares by thousandths where they fit, else by units, as the real server does.
fn compare(amount: &Quantity, bound: &Quantity, other: Option<&Quantity>) -> Ordering {
    let fits = |q: &Quantity| q.value() <= MILLI_MAX;
    if fits(amount) && fits(bound) && other.is_none_or(fits) {
        amount.milli_value().cmp(&bound.milli_value())
    } else {
        amount.value().cmp(&bound.value())
    }
}

fn below_minimum(
    what: &str,
    name: &str,
    bound: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let head = format!("minimum {name} usage per {what} is {bound}");
    let Some(request) = request else { return Some(format!("{head}.  No request is specified")) };
    if compare(request, bound, limit).is_lt() {
        return Some(format!("{head}, but request is {request}"));
    }
    let limit = limit.filter(|limit| compare(limit, bound, Some(request)).is_lt())?;
    Some(format!("{head}, but limit is {limit}"))
}

fn above(what: &str, name: &str, bound: &Quantity, kind: &str, amount: &Quantity) -> Option<String> {
    compare(amount, bound, None)
        .is_gt()
        .then(|| format!("maximum {name} usage per {what} is {bound}, but {kind} is {amount}"))
}

fn ratio_error(
    what: &str,
    name: &str,
    bound: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let head = format!("{name} max limit to request ratio per {what} is {bound}");
    let milli = [request, limit, Some(bound)].into_iter().flatten().all(|q| q.value() <= MILLI_MAX);
    let number = |q: &Quantity| if milli { q.milli_value() } else { q.value() };
    let Some(request) = request.map(number).filter(|n| *n != 0) else {
        return Some(format!("{head}, but no request is specified or request is 0"));
    };
    let Some(limit) = limit.map(number).filter(|n| *n != 0) else {
        return Some(format!("{head}, but no limit is specified or limit is 0"));
    };
    let ratio = limit as f64 / request as f64;
    let over = if bound.value() <= MILLI_MAX {
        ratio * 1000.0 > bound.milli_value() as f64
    } else {
        ratio > bound.value() as f64
    };
    over.then(|| format!("{head}, but provided ratio is {ratio:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Option<Quantity> {
        (!text.is_empty()).then(|| quantity::parse(text).unwrap())
    }

    #[test]
    fn ratios() {
        let check = |request: &str, limit: &str, expect: Option<&str>| {
            let bound = quantity("3").unwrap();
            let error =
                ratio_error("Container", "cpu", &bound, quantity(request).as_ref(), quantity(limit).as_ref());
            let expect =
                expect.map(|e| format!("cpu max limit to request ratio per Container is 3, but {e}"));
            assert_eq!(error, expect, "{request} {limit}");
        };
        check("300m", "900m", None);
        check("200m", "900m", Some("provided ratio is 4.500000"));
        check("", "1", Some("no request is specified or request is 0"));
        check("1", "", Some("no limit is specified or limit is 0"));
    }

    #[test]
    fn bounds_of_one_resource() {
        let low = |request: &str, limit: &str| {
            let bound = quantity("100m").unwrap();
            below_minimum("Pod", "cpu", &bound, quantity(request).as_ref(), quantity(limit).as_ref())
        };
        assert_eq!(low("100m", "1"), None);
        assert_eq!(low("", "1").unwrap(), "minimum cpu usage per Pod is 100m.  No request is specified");
        assert_eq!(low("50m", "1").unwrap(), "minimum cpu usage per Pod is 100m, but request is 50m");
        assert_eq!(low("1", "50m").unwrap(), "minimum cpu usage per Pod is 100m, but limit is 50m");
        let bound = quantity("1Gi").unwrap();
        assert_eq!(above("Pod", "memory", &bound, "limit", &quantity("1Gi").unwrap()), None);
        assert_eq!(
            above("Pod", "memory", &bound, "limit", &quantity("2Gi").unwrap()).unwrap(),
            "maximum memory usage per Pod is 1Gi, but limit is 2Gi"
        );
    }
}
