//! What a pod counts against quotas.

use std::collections::{BTreeMap, BTreeSet};

use ringbolt_machinery::value::{Map, Value};

use super::list::ResourceList;
use crate::{
    pod_resources::{Amounts, aggregate_by, amounts, is_pod_level},
    quantity,
    tree::Members,
};

/// What quotas of pods limit by name.
pub(super) const RESOURCES: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// What a container must name where a quota limits it.
const MUST_NAME: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const REQUESTS: &str = "requests.";
const HUGE_PAGES: &str = "hugepages-";
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a quota's resource is about pods.
pub(super) fn counts(name: &str) -> bool {
    let request = name.strip_prefix(REQUESTS);
    RESOURCES.contains(&name)
        || name.starts_with(HUGE_PAGES)
        || request.is_some_and(|r| r.starts_with(HUGE_PAGES) || r.starts_with(DEVICE_CLASS))
        || (request.is_some() && !is_native(name))
}

/// Whether Kubernetes itself names a resource so.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether it is a resource of devices that a pod may ask for by name.
fn is_extended(name: &str) -> bool {
    name.starts_with(DEVICE_CLASS) || (!is_native(name) && !name.starts_with(REQUESTS))
}

/// What a pod, or one container, counts for by what it requests and what it is limited to.
fn usage_of(requests: &Amounts<'_>, limits: &Amounts<'_>) -> ResourceList {
    let mut usage = ResourceList::default();
    usage.count("pods", 1);
    for (name, amount) in requests {
        if matches!(*name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with(HUGE_PAGES) {
            usage.set(*name, amount.clone());
            usage.set(format!("{REQUESTS}{name}"), amount.clone());
        } else if is_extended(name) {
            usage.set(format!("{REQUESTS}{name}"), amount.clone());
        }
    }
    for (name, amount) in limits.iter().filter(|(n, _)| matches!(**n, "cpu" | "memory" | "ephemeral-storage"))
    {
        usage.set(format!("limits.{name}"), amount.clone());
    }
    usage
}

/// What a pod counts for.
pub(super) fn usage(pod: &Value<'_>) -> ResourceList {
    let mut usage = ResourceList::default();
    usage.count("count/pods", 1);
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map).filter(|_| !has_ended(pod)) else {
        return usage;
    };
    let list = |name: &'static str| {
        let mut total = aggregate_by(spec, &|container| container_amounts(pod, container, name));
        for (name, amount) in own(spec, name) {
            total.insert(name, amount);
        }
        if let Some(overhead) = spec.child("overhead") {
            for (resource, amount) in overhead.iter() {
                let Some(amount) = amount.as_str().and_then(quantity::parse) else { continue };
                match total.get_mut(resource) {
                    // What has no limit has none with the overhead either.
                    Some(sum) if name == "requests" || !sum.is_zero() => sum.add(&amount),
                    None if name == "requests" => {
                        total.insert(resource, amount);
                    }
                    _ => {}
                }
            }
        }
        total
    };
    usage.add(&usage_of(&list("requests"), &list("limits")));
    usage
}

/// What the pod as a whole asks for.
fn own<'a>(spec: &Map<'a>, list: &str) -> Amounts<'a> {
    let mut own = amounts(spec, list);
    own.retain(|name, _| is_pod_level(name));
    own
}

/// What a container asks for, or what it has been given where that is more.
fn container_amounts<'a>(pod: &Value<'a>, container: &Map<'a>, list: &str) -> Amounts<'a> {
    let mut asked = amounts(container, list);
    let name = container.text("name");
    let status = pod.path(&["status"]).and_then(Value::as_map);
    let statuses = status.into_iter().flat_map(|s| {
        ["containerStatuses", "initContainerStatuses"].into_iter().flat_map(|member| s.items(member))
    });
    let given = statuses
        .filter_map(Value::as_map)
        .find(|status| status.text("name") == name && status.child("resources").is_some());
    let Some(given) = given else { return asked };
    let mut raise = |amounts: Amounts<'a>| {
        for (name, amount) in amounts {
            if asked.get(name).is_none_or(|asked| *asked < amount) {
                asked.insert(name, amount);
            }
        }
    };
    raise(amounts(given, list));
    if list == "requests" {
        let allocated = given.child("allocatedResources").into_iter().flat_map(Map::iter);
        raise(allocated.filter_map(|(name, v)| Some((name, quantity::parse(v.as_str()?)?))).collect());
    }
    asked
}

/// Whether a pod takes nothing any more: it ended, or should have by now.
fn has_ended(pod: &Value<'_>) -> bool {
    if matches!(pod.str_at(&["status", "phase"]), Some("Failed" | "Succeeded")) {
        return true;
    }
    let at = pod.str_at(&["metadata", "deletionTimestamp"]).and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let grace = pod.path(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    at.zip(grace).is_some_and(|(at, grace)| jiff::Timestamp::now().as_second() > at.as_second() + grace)
}

/// What the containers of a pod must name and do not: `must specify …`.
pub(super) fn constraints<'n>(
    required: impl Iterator<Item = &'n str>,
    pod: &Value<'_>,
) -> Result<(), String> {
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return Ok(()) };
    if !own(spec, "requests").is_empty() || !own(spec, "limits").is_empty() {
        return Ok(());
    }
    let required: Vec<&str> = required.filter(|name| MUST_NAME.contains(name)).collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in spec.items(list).iter().filter_map(Value::as_map) {
            let named = usage_of(&amounts(container, "requests"), &amounts(container, "limits"));
            for name in required.iter().filter(|name| named.get(name).is_none()) {
                missing.entry(name).or_default().insert(container.text("name"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = missing
        .iter()
        .map(|(name, containers)| {
            format!("{name} for: {}", containers.iter().copied().collect::<Vec<_>>().join(","))
        })
        .collect();
    Err(format!("must specify {}", parts.join("; ")))
}
