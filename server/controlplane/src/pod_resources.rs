//! Resources of a pod as a whole: what its containers ask for together, and what of that becomes the pod's own.

use std::collections::BTreeMap;

use bumpalo::Bump;
use ringbolt_machinery::{
    quantity::Quantity,
    value::{Map, Value},
};

use crate::{quantity, tree::Members};

/// Amounts by the name of their resource.
pub(crate) type Amounts<'a> = BTreeMap<&'a str, Quantity>;

/// The requests or limits of a container.
pub(crate) fn amounts<'a>(container: &Map<'a>, list: &str) -> Amounts<'a> {
    let list = container.child("resources").and_then(|r| r.child(list));
    let entries = list.into_iter().flat_map(Map::iter);
    entries.filter_map(|(name, value)| Some((name, quantity::parse(value.as_str()?)?))).collect()
}

fn add<'a>(to: &mut Amounts<'a>, from: &Amounts<'a>) {
    for (name, amount) in from {
        match to.get_mut(name) {
            Some(sum) => sum.add(amount),
            None => {
                to.insert(name, amount.clone());
            }
        }
    }
}

fn raise<'a>(to: &mut Amounts<'a>, from: &Amounts<'a>) {
    for (name, amount) in from {
        if to.get(name).is_none_or(|old| old < amount) {
            to.insert(name, amount.clone());
        }
    }
}

/// Requests or limits of all containers: the sum of those that run together, or what an init container needs at
/// its time if that is more (KEP-753).
pub(crate) fn aggregate<'a>(spec: &Map<'a>, list: &str) -> Amounts<'a> {
    aggregate_by(spec, &|container| amounts(container, list))
}

/// The same of what `of` says of each container.
pub(crate) fn aggregate_by<'a>(spec: &Map<'a>, of: &dyn Fn(&Map<'a>) -> Amounts<'a>) -> Amounts<'a> {
    let mut total = Amounts::new();
    for container in spec.items("containers").iter().filter_map(Value::as_map) {
        add(&mut total, &of(container));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in spec.items("initContainers").iter().filter_map(Value::as_map) {
        let mut own = of(container);
        if container.text("restartPolicy") == "Always" {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            own = sidecars.clone();
        } else {
            add(&mut own, &sidecars);
        }
        raise(&mut peak, &own);
    }
    raise(&mut total, &peak);
    total
}

/// Resources that a pod as a whole may name.
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn put<'a>(arena: &'a Bump, resources: &mut Map<'a>, list: &'static str, name: &'a str, amount: &Quantity) {
    let text: &'a str = arena.alloc_str(&amount.to_string());
    resources.map_mut(list).insert(name, Value::String(text));
}

fn has(resources: &Map<'_>, list: &str, name: &str) -> bool {
    resources.child(list).is_some_and(|l| l.has(name))
}

/// Completes the resources of a pod that gives some of its own.
pub(crate) fn complete<'a>(arena: &'a Bump, spec: &mut Map<'a>) {
    let Some(given) = spec.child("resources") else { return };
    if given.lacks("requests") && given.lacks("limits") {
        return;
    }
    let (requests, limits) = (aggregate(spec, "requests"), aggregate(spec, "limits"));
    let every_container_limits = |name: &str| {
        let mut containers = ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(|list| spec.items(list))
            .filter_map(Value::as_map);
        containers.all(|c| c.child("resources").is_some_and(|r| has(r, "limits", name)))
    };
    let limited: Vec<&str> = limits.keys().copied().filter(|name| every_container_limits(name)).collect();
    let Some(resources) = spec.child_mut("resources") else { return };
    for (name, amount) in limits.iter().filter(|(name, _)| name.starts_with("hugepages-")) {
        if !has(resources, "requests", name) && !has(resources, "limits", name) {
            put(arena, resources, "limits", name, amount);
        }
    }
    for (name, amount) in requests.iter().filter(|(name, _)| matches!(**name, "cpu" | "memory")) {
        if !has(resources, "requests", name) {
            put(arena, resources, "requests", name, amount);
        }
    }
    let own: Vec<(&'a str, Value<'a>)> = resources
        .child("limits")
        .map(|l| l.iter().filter(|(n, _)| is_pod_level(n)).map(|(n, v)| (n, v.clone())).collect())
        .unwrap_or_default();
    for (name, limit) in own {
        if !has(resources, "requests", name) {
            resources.map_mut("requests").insert(name, limit);
        }
    }
    let requested: Vec<&'a str> = resources
        .child("requests")
        .map(|r| r.iter().map(|(n, _)| n).filter(|n| is_pod_level(n)).collect())
        .unwrap_or_default();
    for name in requested {
        let Some(sum) = limits.get(name).filter(|_| limited.contains(&name)) else { continue };
        if has(resources, "limits", name) {
            continue;
        }
        // The pod's own request may be above what its containers are limited to.
        let request = quantity::amount(resources.child("requests"), name);
        let limit = if request > *sum { &request } else { sum };
        put(arena, resources, "limits", name, limit);
    }
}
